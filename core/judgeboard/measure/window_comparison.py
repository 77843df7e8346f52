"""Two windows of time compared: the corrected shares of bad answers in both, and their change."""

from dataclasses import replace

from sqlalchemy import Connection

from judgeboard.domain import Estimate
from judgeboard.errors import BadInput
from judgeboard.measure.contrast import Contrast, contrast
from judgeboard.measure.corrected_trend import BAD_SHARE, dated_answers, version_of
from judgeboard.measure.notes import Note, note
from judgeboard.measure.result import ALL, About, Row
from judgeboard.measure.trend_figures import ALL_ANSWERS
from judgeboard.stats.estimates import complement, measured, points_words, unmeasured
from judgeboard.stats.monitor import WindowChange, rate_error, window_change
from judgeboard.text import day_words

_HIDDEN = "answers are hidden from you"


def compare_windows(
    connection: Connection,
    before: tuple[int, int],
    after: tuple[int, int],
    *,
    judge: int | str | None = None,
) -> Contrast:
    """Compare the corrected shares of two windows of UTC days: of all answers, and of each query type.

    A window is its first and last day since 1970-01-01. The intervals of all changes hold together
    with 95 % confidence.

    Raises:
        BadInput: A window ends before it begins, or the second does not begin after the end of the
            first.
    """
    sides = (
        f"{day_words(before[0])} to {day_words(before[1])}",
        f"{day_words(after[0])} to {day_words(after[1])}",
    )
    for (first, last), words in zip((before, after), sides, strict=True):
        if last < first:
            raise BadInput(f"the window from {words} ends before it begins")
    if after[0] <= before[1]:
        raise BadInput("the second window must begin after the end of the first")
    version = version_of(connection, judge)
    named, _ = dated_answers(connection, version)
    hidden = next(
        (
            why
            for each in named.values()
            for window in (before, after)
            if (why := each.hidden(*window))
        ),
        None,
    )
    windows = {
        name: (answers.window(*before), answers.window(*after)) for name, answers in named.items()
    }
    comparable = {
        name for name, both in windows.items() if all(each.rate.value is not None for each in both)
    }
    rows, changes = list[Row](), dict[str, WindowChange]()
    for name, both in windows.items():
        effect = None
        if name in comparable:
            errors = [rate_error(each.strata) for each in both]
            effect = named[name].change_effect("bad_share", (before, after), errors)
        changes[name] = change = window_change(*both, effect, tests=max(len(comparable), 1))
        detectable = unmeasured(0, "too few answers")
        if change.seen is not None:
            detectable = measured(change.seen, 0, reason="found in 80 % of cases")
        slice_ = ALL if name == ALL_ANSWERS else name
        figures = {"bad_before": both[0].rate, "bad_since": both[1].rate, "change": change.change}
        for figure, each in figures.items():
            why = _HIDDEN if hidden is not None and each.value is None else each.reason
            rows.append(Row.of(figure, slice_, replace(each, reason=why)))
        rows.append(Row.of("detectable", slice_, detectable))
    of_all = changes[ALL_ANSWERS]
    before_rate, since_rate = (each.rate for each in windows[ALL_ANSWERS])
    headline = _headline(before_rate, since_rate, of_all)
    if hidden is not None:
        headline = note("hidden", why=hidden)
    about = About(judges=() if version is None else (version.title,), by="query_type")
    made = contrast(
        "windows", sides, of_all.change, rows=rows, about=about, is_loss=True, headline=headline
    )
    together = (note("together", n=len(comparable)),) if len(comparable) > 1 else ()
    return replace(made, caveats=(*together, note("detectable")))


def _headline(before: Estimate, since: Estimate, change: WindowChange) -> Note:
    """Return whether the share of all answers rose or fell, or which change would have been found."""
    size = change.change
    if size.value is None:
        return note("windows_unknown", reason=size.reason or "")
    if not change.is_shown:
        return BAD_SHARE.unchanged(change.seen, "the two windows")
    code, size = ("windows_rose", size) if size.value > 0 else ("windows_fell", complement(size, 0))
    return note(code, before=before, since=since, size=points_words(size))
