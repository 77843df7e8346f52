"""How verdicts and preferences are said: of the stored answers in lists, of left and right beside the texts."""

from judgeboard.domain import Preference
from judgeboard.pairs.report import Listed, PairLine

LISTED = {
    Listed.ALL: "All pairs",
    Listed.INCONSISTENT: "Inconsistent",
    Listed.WRONG: "Wrong",
    Listed.UNMEASURED: "Unmeasured",
    Listed.UNJUDGED: "Not judged by people",
}
SIDES = {"left": "the left answer is better", "right": "the right answer is better", "tie": "neither is better"}
_STORED = {Preference.A: "A", Preference.B: "B", Preference.TIE: "tie"}


def stored_words(preference: Preference | None) -> str | None:
    """Return A, B or tie; None where there is nothing to say."""
    return None if preference is None else _STORED[preference]


def verdict_words(line: PairLine) -> str:
    """Return the judge's verdict on a pair, or why there is none."""
    return stored_words(line.verdict) or ("inconsistent" if line.inconsistent else "unmeasured")


def people_words(line: PairLine) -> str | None:
    """Return "B (3)", "split (2)", None where nobody said anything."""
    if line.people is None:
        return None
    return f"{stored_words(line.people.majority) or 'split'} ({line.people.people:,})"
