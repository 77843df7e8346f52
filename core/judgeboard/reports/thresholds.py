"""Thresholds as tables."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from judgeboard.formats.output import Column, Table
from judgeboard.measure.result import Result
from judgeboard.measure.threshold_figures import AtThreshold, QueueChange
from judgeboard.measure.thresholds import CHOSEN, HELD_OUT, IN_FORCE, KEPT, Aim
from judgeboard.measure.words import FIGURES

_NAMES = {
    "threshold_costs_more": "costs more",
    "threshold_cost_not_shown": "not shown to be cheaper",
}


def thresholds_table(results: Sequence[Result], aim: Aim) -> Table:
    """Return the proposed threshold and that in force, on labels that chose neither; the latter on all labels too."""
    shares = ("recall", "precision", *(["false_omission"] if aim == "false_omission" else []))
    columns = (
        Column("Query type"),
        Column("Threshold"),
        Column("Measured on"),
        Column("Groundedness below"),
        Column("Flags", "count"),
        Column("Of all answers", "share"),
        *(FIGURES[each] for each in shares),
    )
    rows = []
    for result in results:
        counts, hides_chosen = (
            result.about.counts,
            result.headline.code in KEPT or CHOSEN not in result.slices,
        )
        labels = {IN_FORCE: "all labels"}
        if not hides_chosen:
            labels = dict.fromkeys((CHOSEN, HELD_OUT), f"other half: {counts['other_half']:,}")
            labels[IN_FORCE] = f"all labels: {counts['labels']:,}"
        for slice_ in labels if result.rows else ():
            name = "in force" if slice_ != CHOSEN else _NAMES.get(result.headline.code, "proposed")
            below, flags = (
                result.figure(each, slice_).value or 0.0 for each in ("low_groundedness", "flags")
            )
            # Half of the labels may be too few for an interval. A share then says little, so the
            # cell gives the reason.
            estimates = (result.figure(each, slice_) for each in shares)
            figures = [
                each if slice_ == IN_FORCE or each.low is not None else replace(each, value=None)
                for each in estimates
            ]
            query_type = result.about.where.get("query_type", "all")
            of_all = flags / max(counts["judged"], 1)
            rows.append(
                (query_type, name, labels[slice_], f"{below:g}", int(flags), of_all, *figures)
            )
    return Table(columns, tuple(rows))


def trade_off_table(curve: Sequence[AtThreshold]) -> Table:
    """Return the effects of twenty thresholds, also on the queue, from all labels that count."""
    columns = (
        Column("Groundedness below"),
        Column("Recall", "share estimate"),
        Column("Precision", "share estimate"),
        Column("Flags", "count"),
        Column("Flags, change", right=True),
        Column("Bad answers found, change", right=True),
    )
    rows = (
        (
            f"{at.low_groundedness:g}",
            at.recall,
            at.precision,
            at.flags,
            f"{at.change.flags:+,}",
            _found(at.change),
        )
        for at in curve
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


def limits_and_next(results: Sequence[Result]) -> Iterator[str]:
    """Yield each caveat, then each next step; with the query types in front, unless all query types have it."""
    for name in ("caveats", "next"):
        types_by_text: dict[str, list[str]] = {}
        for result in results:
            for each in getattr(result, name):
                types_by_text.setdefault(each.text, []).append(
                    result.about.where.get("query_type", "all")
                )
        for text, types in types_by_text.items():
            yield text if len(types) == len(results) else f"{', '.join(types)}: {text}"
