"""Suites: a candidate answers the same cases after each change, and a judge scores the answers."""

from judgeboard.registry.methods import Dataset, Page, Registration

REGISTRATION = Registration(
    tables=f"{__name__}.tables",
    commands={("Improve", "suite"): f"{__name__}.command:suite_command"},
    pages={"suites": Page("Tests & pairs", "Suites", "how-to/suite.md", before="pairs")},
    runs={"suite": "Running a suite"},
    datasets={"suite": Dataset(f"{__name__}.dataset:SHAPE", "corrected answers as test cases")},
    sample=f"{__name__}.sample:add_sample",
)
