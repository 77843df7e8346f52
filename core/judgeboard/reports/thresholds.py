"""Thresholds and calibration maps as tables, and as lines for a terminal."""

from collections.abc import Iterator

from judgeboard.formats.output import Column, Table
from judgeboard.measure.calibration import CalibrationResult
from judgeboard.measure.threshold_figures import AtThreshold, QueueChange
from judgeboard.measure.thresholds import ChosenThreshold, ThresholdResult
from judgeboard.stats.estimates import percent, percent_words
from judgeboard.text import counted

_ALL = "all"


def thresholds_table(result: ThresholdResult) -> Table:
    """Return the proposed threshold and that in force: flags of all answers, recall and precision.

    `threshold_notes` says on which labels they are measured. The labels that were not used to choose a threshold are
    only half of all, so its figures are shown only with an interval.
    """
    is_omission = result.goal.aim == "false_omission"
    columns = (
        Column("Query type"),
        Column("Threshold"),
        Column("Groundedness below"),
        Column("Flags", "count"),
        Column("Of all answers", "share"),
        Column("Recall", "share estimate"),
        Column("Precision", "share estimate"),
        *([Column("False omission rate", "share estimate")] if is_omission else []),
    )
    rows = []
    for each in result.thresholds:
        not_advised = "costs more" if each.is_costlier else "not shown to be cheaper"
        best = "proposed" if each.is_advised else not_advised
        for name, at in ((best, _proposed(each)), ("in force", each.in_force)):
            if at is not None:
                set_for_all = each.query_type is None and name == "in force"
                below = result.in_force.words if set_for_all else f"{at.low_groundedness:g}"
                share = at.flags / max(each.judged, 1)
                is_shown = name == "in force"
                shares = (at.recall, at.precision, *([at.false_omission] if is_omission else []))
                figures = [each if is_shown or each.low is not None else None for each in shares]
                rows.append((each.query_type or _ALL, name, below, at.flags, share, *figures))
    return Table(columns, tuple(rows))


def threshold_notes(result: ThresholdResult) -> tuple[str, ...]:
    """Return on which labels the table of thresholds is measured, and which answers below a threshold have no flag."""
    in_force = [each.in_force for each in result.thresholds if each.in_force is not None]
    proposed = [at for each in result.thresholds if (at := _proposed(each)) is not None]
    if not in_force:
        return ()
    other = "the proposed threshold" if any(each.is_advised for each in result.thresholds) else "the other threshold"
    notes = ["Recall and precision are measured on all labels, weighted as in `labels rate`."]
    if proposed:
        half = f"the {counted(proposed[0].flagged.n, 'label')}" if len(result.thresholds) == 1 else "the labels"
        of_other = f"{other} only on {half} that were not used to choose it"
        notes = [f"The threshold in force is measured on all labels, weighted as in `labels rate`, {of_other}."]
    if result.label_differs:
        notes[0] += " All figures are of groundedness; `labels rate` measures the judge's label, which differs."
    if proposed and len(result.thresholds) == 1:
        notes += _on_the_same_labels(result.thresholds[0])
    if len(result.thresholds) > 1 and result.goal.aim != "cost":
        each, all_types = (
            percent(delta) for delta in (1 - result.goal.delta / len(result.thresholds), result.goal.delta)
        )
        types = f"the {all_types} in which a goal may be missed are shared among {len(result.thresholds)} query types"
        notes.append(f"{each} confidence for each: {types}.")
    of_rows = (("the threshold in force", in_force), (other, proposed))
    parts = [
        f"{excused:,} of {sum(at.flags for at in rows) + excused:,} answers below {name}"
        for name, rows in of_rows
        if (excused := sum(at.excused for at in rows))
    ]
    if parts:
        words = f"The rule does not flag {result.excuses}: {' and '.join(parts)}."
        differs = " `labels rate` and `agreement` count them as judged bad, so their figures differ."
        notes.append(words + (differs if result.decides_verdicts else ""))
    return tuple(notes)


def _on_the_same_labels(chosen: ChosenThreshold) -> Iterator[str]:
    """Yield the figures of the threshold in force on the labels that measure the other one, if both have intervals."""
    same = chosen.in_force_held_out
    if same is not None and same.recall.low is not None and same.precision.low is not None:
        figures = f"a recall of {percent_words(same.recall)} and a precision of {percent_words(same.precision)}"
        yield f"To compare the two: on these labels, the threshold in force has {figures}."


def _proposed(each: ChosenThreshold) -> AtThreshold | None:
    """Return the threshold to compare with that in force, None if there is none or that in force is kept."""
    return None if each.is_kept else each.chosen


def trade_off_table(chosen: ChosenThreshold) -> Table:
    """Return what twenty thresholds do, and what they change in the queue, on all labels that count."""
    columns = (
        Column("Groundedness below"),
        Column("Recall", "share estimate"),
        Column("Precision", "share estimate"),
        Column("Flags", "count"),
        Column("Flags, change", right=True),
        Column("Bad answers found, change", right=True),
    )
    rows = (
        (f"{at.low_groundedness:g}", at.recall, at.precision, at.flags, f"{at.change.flags:+,}", _found(at.change))
        for at in chosen.curve
    )
    return Table(columns, tuple(rows))


def _found(change: QueueChange) -> str | None:
    """Return how many more bad answers are found, with the 95 % interval: "+61 [+44, +80]"."""
    bad = change.bad
    if bad.value is None or bad.low is None or bad.high is None:
        return None
    ends = (bad.low, bad.high) if change.flags > 0 else (-bad.high, -bad.low)
    value = bad.value if change.flags > 0 else -bad.value
    return f"{round(value):+,} [{round(ends[0]):+,}, {round(ends[1]):+,}]"


def meaning_table(result: CalibrationResult) -> Table:
    """Return for some scores the share of such answers that people call grounded; no rows for a map of a wrong form."""
    columns = (Column("Score", "number"), Column("People call grounded, by the map", "share estimate"))
    return Table(columns, () if result.has_wrong_form else result.meaning)


def calibration_lines(result: CalibrationResult) -> Iterator[str]:
    """Yield how good the scores are, before and after the map."""
    change = result.brier_change
    if change is None or result.brier_before is None or result.brier_after is None:
        return
    interval = (
        "" if change.low is None or change.high is None else f" (95 % CI {change.low:+.4f} to {change.high:+.4f})"
    )
    yield (
        f"Brier score (lower is better): {result.brier_before:.4f} before, {result.brier_after:.4f} after, "
        f"{change.value:+.4f}{interval}; {result.constant_brier:.4f} with one probability for all."
    )
    yield (
        f"Calibration error (ECE): {result.ece_before:.4f} before, {result.ece_after:.4f} after; n = {result.n:,}. "
        f"Both include luck: with these labels, right scores would show about {result.ece_by_luck:.4f} before and "
        f"{result.ece_after_by_luck:.4f} after."
    )
    if result.how == "platt" and meaning_table(result).rows:
        yield "Intervals cover the sampling error of the labels, not a map of the wrong form."
