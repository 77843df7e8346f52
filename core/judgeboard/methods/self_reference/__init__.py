"""Self-reference: before a judge compares two answers, it answers the question itself, several times.

The samples of its answers are in `store/samples.py`: files have them too, and they belong to pairs.
"""

from judgeboard.registry.methods import Page, Registration

REGISTRATION = Registration(
    commands={
        ("Measure", "compare", "ssr"): f"{__name__}.command",
        ("Measure", "compare", "make-pairs"): f"{__name__}.pairs_command",
    },
    pages={"self_reference": Page("Comparisons", "Self-reference", "how-to/compare.md", before="verdicts")},
    runs={"ssr": "Measuring self-reference"},
)
