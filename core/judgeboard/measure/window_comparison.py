"""Two windows of time compared: the corrected shares of bad answers in both, and their change."""

from dataclasses import dataclass, replace

from sqlalchemy import Connection

from judgeboard.domain import Estimate
from judgeboard.errors import BadInput
from judgeboard.measure.corrected_trend import BAD_SHARE, dated_answers, version_of
from judgeboard.measure.notes import Note, note
from judgeboard.measure.samples import no_share_words
from judgeboard.stats.estimates import complement, points_words
from judgeboard.stats.monitor import WindowChange, rate_error, window_change
from judgeboard.text import day_words

_HIDDEN = "answers are hidden from you"


@dataclass(frozen=True, slots=True)
class WindowLine:
    """The shares of all answers or of a query type in two windows, and their change."""

    query_type: str
    before: Estimate
    after: Estimate
    change: WindowChange


@dataclass(frozen=True, slots=True)
class WindowComparison:
    """Two windows (first and last UTC day since 1970-01-01), a line for all answers and for each query type.

    The intervals of the changes hold together with 95 % confidence, for as many lines as are ``tested``. ``hidden`` is
    why a window has no figure, if answers are hidden from the viewer.
    """

    judge: str | None
    before: tuple[int, int]
    after: tuple[int, int]
    lines: tuple[WindowLine, ...]
    tested: int
    hidden: str | None = None

    @property
    def headline(self) -> Note:
        """Whether the share of all answers rose or fell between the windows, or which change would have been found."""
        if self.hidden is not None:
            return Note("hidden", no_share_words(self.hidden), {})
        line, change = self.lines[0], self.lines[0].change.change
        if change.value is None:
            return note("windows_unknown", reason=change.reason or "")
        if not line.change.is_shown:
            return BAD_SHARE.unchanged(line.change.seen, "the two windows")
        code, size = ("windows_rose", change) if change.value > 0 else ("windows_fell", complement(change, 0))
        return note(code, before=line.before, since=line.after, size=points_words(size))


def compare_windows(
    connection: Connection, before: tuple[int, int], after: tuple[int, int], *, judge: int | str | None = None
) -> WindowComparison:
    """Compare the corrected shares of two windows of UTC days: of all answers, and of each query type.

    Raises:
        BadInput: A window ends before it begins, or the second does not begin after the end of the first.
    """
    for first, last in (before, after):
        if last < first:
            raise BadInput(f"the window from {day_words(first)} to {day_words(last)} ends before it begins")
    if after[0] <= before[1]:
        raise BadInput("the second window must begin after the end of the first")
    version = version_of(connection, judge)
    lines, (named, _) = [], dated_answers(connection, version)
    hidden = next((why for each in named.values() for window in (before, after) if (why := each.hidden(*window))), None)
    windows = {name: (answers.window(*before), answers.window(*after)) for name, answers in named.items()}
    comparable = {name for name, both in windows.items() if all(each.rate.value is not None for each in both)}
    for name, both in windows.items():
        effect = None
        if name in comparable:
            errors = [rate_error(each.strata) for each in both]
            effect = named[name].change_effect("bad_share", (before, after), errors)
        change = window_change(*both, effect, tests=max(len(comparable), 1))
        shares = [
            replace(each.rate, reason=_HIDDEN) if each.rate.value is None and hidden else each.rate for each in both
        ]
        lines.append(WindowLine(name, shares[0], shares[1], change))
    return WindowComparison(
        None if version is None else version.title,
        before,
        after,
        tuple(lines),
        len(comparable),
        hidden,
    )
