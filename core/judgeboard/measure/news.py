"""The news of a log: when the share of bad answers changed last, where, and what else changed there at that time."""

from collections.abc import Iterator

import numpy as np
from sqlalchemy import Connection

from judgeboard.measure.corrected_trend import (
    CorrectedPanel,
    CorrectedTrend,
    dated_answers,
    version_of,
)
from judgeboard.measure.notes import Value, note
from judgeboard.measure.result import ALL, About, Result, Row
from judgeboard.measure.trend_figures import ALL_ANSWERS, Change
from judgeboard.stats.arrays import BoolArray, FloatArray, IntArray
from judgeboard.stats.estimates import measured
from judgeboard.store.filters import MISSING, RowFilter
from judgeboard.store.metadata import LENGTH, MOST_GROUPS, fields_of

MOST_READ = 2_000
"""So many answers before a change, and as many since then, are searched for coincidences: the nearest to the change."""
_LEAST = 0.1  # of the change; a coincidence that accounts for less is no news
_MOST_SHOWN = 5
SHARES = ("bad_before", "bad_since")
COINCIDENCES = ("share_before", "share_since", "accounts")


def news(connection: Connection, trend: CorrectedTrend) -> Result | None:
    """Return the latest change that the detectors of a trend found in the share of bad answers; None without one.

    Of changes in the same week, the largest one in a query type counts. ``about.where`` selects the
    answers since the change. Rows ``bad_before`` and ``bad_since`` are the shares of bad answers.
    Each coincidence, such as "generator model large-3", is a slice. ``share_before`` and
    ``share_since`` are the shares of the answers with this coincidence, and ``accounts`` is the
    part of the change that the coincidence accounts for. A coincidence is no cause.
    """
    changes = [
        (change, panel)
        for panel in trend.panels
        if (monitor := panel.monitor()) is not None
        for change in monitor.changes
    ]
    if not changes:
        return None
    change, panel = max(
        changes,
        key=lambda each: (
            each[0].from_day,
            each[1].query_type != ALL_ANSWERS,
            abs((each[0].after.value or 0.0) - (each[0].before.value or 0.0)),
        ),
    )
    is_whole = panel.query_type == ALL_ANSWERS
    coincidences = [*_coincidences(connection, trend, panel, change)]
    values: dict[str, Value] = {
        "day": change.from_day,
        "part": "all answers" if is_whole else f"{panel.query_type} answers",
    }
    code = "more_bad" if change.direction == "rose" else "fewer_bad"
    if coincidences:
        code += "_with"
        values["coincidence"] = str(coincidences[0].slice)
    panel_changes = [
        (change, panel),
        *(each for each in changes if each[1].query_type == ALL_ANSWERS and not is_whole),
    ]
    return Result(
        about=About(
            judges=(trend.judge,) if trend.judge else (),
            where=RowFilter(
                query_types=() if is_whole else (panel.query_type,), day_from=change.from_day
            ).as_dict(),
        ),
        headline=note(code, **values),
        rows=(
            *(
                Row.of(figure, ALL if of.query_type == ALL_ANSWERS else of.query_type, estimate)
                for each, of in panel_changes
                for figure, estimate in zip(SHARES, (each.before, each.after), strict=True)
            ),
            *coincidences,
        ),
        caveats=(note("coincidences"),) if coincidences else (),
    )


def _coincidences(
    connection: Connection, trend: CorrectedTrend, panel: CorrectedPanel, change: Change
) -> Iterator[Row]:
    """Yield the rows of the coincidences; coincidences that account for most of the change come first."""
    answers = dated_answers(connection, version_of(connection, trend.version_id))[0][
        panel.query_type
    ]
    alarm = panel.acknowledged.get("bad_share")
    before, bad_before = answers.badness(
        0 if alarm is None else alarm.from_day, change.from_day - 1
    )
    since, bad_since = answers.badness(change.from_day, panel.points[-1].end)
    ids = np.concatenate([before[-MOST_READ:], since[:MOST_READ]]).tolist()
    badness = np.concatenate([bad_before[-MOST_READ:], bad_since[:MOST_READ]])
    is_since = np.arange(len(ids)) >= min(len(before), MOST_READ)
    fields = fields_of(connection, ids)
    coincidences = []
    for name in dict.fromkeys(name for each in fields.values() for name in each):
        values = [fields.get(id_, {}).get(name, MISSING) for id_ in ids]
        if name == LENGTH:
            middle = int(np.median(np.array(values, dtype=np.float64)))
            spans = f"over {middle:,} characters", "at most that"
            values = [spans[float(each) <= middle] for each in values]
        groups, codes = np.unique(list(map(str, values)), return_inverse=True)
        if (
            1 < len(groups) <= MOST_GROUPS
            and (part := accounted(codes, is_since, badness)) >= _LEAST
        ):
            shares = [
                np.bincount(codes[each], minlength=len(groups)) / each.sum()
                for each in (~is_since, is_since)
            ]
            grown = int(np.argmax(shares[1] - shares[0]))
            coincidences.append(
                (part, f"{name} {groups[grown]}", shares[0][grown], shares[1][grown])
            )
    for part, title, *shares in sorted(coincidences, key=lambda each: -each[0])[:_MOST_SHOWN]:
        for figure, value in zip(COINCIDENCES, (*shares, part), strict=True):
            yield Row.of(
                figure, title, measured(float(value), len(ids), reason="a count, not an estimate")
            )


def accounted(groups: IntArray, is_since: BoolArray, badness: FloatArray) -> float:
    """Return the part of a change of mean badness that the shares of groups account for (Kitagawa, 1955).

    If each group keeps its average badness, the mean changes only because the shares of the groups
    change. The part is reduced by what as many groups account for by chance, like an adjusted R².
    """
    n, counts = len(groups), np.bincount(groups)
    shifts = np.bincount(groups, np.where(is_since, 1 / is_since.sum(), -1 / (~is_since).sum()))
    change = badness[is_since].mean() - badness[~is_since].mean()
    if not change or n <= len(counts):
        return 0.0
    part = float(shifts @ (np.bincount(groups, badness) / counts)) / float(change)
    return min(1.0, 1 - (1 - part) * (n - 1) / (n - len(counts)))
