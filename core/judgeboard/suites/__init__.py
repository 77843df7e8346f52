"""Evaluation suites: a candidate answers cases, a rubric judge scores the answers, a gate says pass or fail."""

from judgeboard.suites.candidates import Candidate, make_candidate
from judgeboard.suites.checks import Check
from judgeboard.suites.results import SuiteResult, suite_result
from judgeboard.suites.running import run_suite, run_suite_async
from judgeboard.suites.suite_file import Case, Suite, read_suite

__all__ = [
    "Candidate",
    "Case",
    "Check",
    "Suite",
    "SuiteResult",
    "make_candidate",
    "read_suite",
    "run_suite",
    "run_suite_async",
    "suite_result",
]
