"""A against B: two judge versions, or two windows of time."""

from collections.abc import Sequence
from dataclasses import dataclass

from judgeboard.domain import Estimate
from judgeboard.measure.notes import Note, note
from judgeboard.measure.result import About, Result, Row
from judgeboard.stats.estimates import complement
from judgeboard.stats.paired import Conclusion, conclusion


@dataclass(frozen=True, slots=True, kw_only=True)
class Contrast(Result):
    """The second of two sides against the first. The figure ``change`` is its value minus that of the first.

    ``within`` is the loss that still counts as "as good" in the ``conclusion``, which is about all
    answers.
    """

    sides: tuple[str, str]
    within: float
    conclusion: Conclusion


def contrast(
    kind: str,
    sides: tuple[str, str],
    change: Estimate,
    *,
    rows: Sequence[Row],
    about: About,
    is_loss: bool = False,
    within: float = 0.0,
    headline: Note | None = None,
) -> Contrast:
    """Return what the ``change`` of all answers shows.

    Args:
        kind: Begins the codes of the headlines: "version" or "windows".
        sides: The names of both sides.
        change: The value of the second side minus that of the first.
        rows: All figures, with the ``change``.
        about: What the figures count.
        is_loss: A change above 0 is a loss.
        within: The loss that still counts as "as good".
        headline: The headline, if it is another one.
    """
    reached = conclusion(complement(change, 0) if is_loss else change, within)
    if headline is None:
        first, second = sides
        if (
            change.low is None and change.reason is not None
        ):  # a change alone would pass for a result
            headline = note("contrast_unknown", first=first, second=second, reason=change.reason)
        else:
            headline = note(f"{kind}_{reached.value}", first=first, second=second, change=change)
    return Contrast(
        about=about,
        headline=headline,
        rows=tuple(rows),
        sides=sides,
        within=within,
        conclusion=reached,
    )
