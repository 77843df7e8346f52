"""What a plan of labels reads, and the draw of its answers: at random within strata of flagged or not, and verdict."""

from dataclasses import dataclass
from heapq import nsmallest
from typing import Any, NamedTuple

import numpy as np
from sqlalchemy import Connection, select

from judgeboard.domain import ItemState
from judgeboard.flags.rules import sampling_number
from judgeboard.stats.arrays import BoolArray, IntArray, among, no_ints
from judgeboard.stats.sample_size import allocated
from judgeboard.store.filter_conditions import response_conditions
from judgeboard.store.filters import RowFilter
from judgeboard.store.settings import thresholds
from judgeboard.store.statements import read_columns
from judgeboard.store.strata import BAD, GOOD, UNUSABLE, judged_answers, picked_answers
from judgeboard.store.tables import QUEUE_ITEM, RESPONSE, REVIEW

LEAST_OF_STRATUM = 2
"""A plan draws at least so many answers of each stratum. Otherwise all strata have the same probability."""

STORED_AS = {"version_id": "judge_version_id", "other_id": "other_judge_version_id"}
_VERDICTS = {GOOD: "good", BAD: "bad", UNUSABLE: "unusable"}
_READ_AT_ONCE = 10_000  # answers


@dataclass(frozen=True, slots=True)
class DrawnStratum:
    """A stratum of a draw: ``drawn`` of its ``answers``, of which ``labelled`` count already and are not drawn.

    ``picked`` is whether a rule flagged its answers, None if this makes no stratum; ``verdict`` is good, bad or
    unusable, None without a judge. All answers of the stratum with a position below ``next_position`` are drawn or
    labelled.
    """

    picked: bool | None
    verdict: str | None
    answers: int
    labelled: int
    drawn: int
    next_position: float = 1.0

    @property
    def inclusion_probability(self) -> float:
        """The probability that an answer of the stratum without a label is drawn."""
        free = self.answers - self.labelled
        return self.drawn / free if free else 1.0

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON values, as a queue stores it."""
        names = ("picked", "verdict", "answers", "labelled", "drawn", "inclusion_probability", "next_position")
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True, slots=True)
class DrawnAnswer:
    """An answer of a draw: the position of its stratum, and its own position in the random order (0 to 1)."""

    response_id: int
    source: str
    external_id: str
    asked_day: int | None
    stratum: int
    position: float


@dataclass(frozen=True, slots=True, eq=False)
class DrawPlan:
    """What decides a draw beside the filter: the judge version with its title (None: no judge), and sampled labels.

    ``labelled`` are ids of answers, ascending, whose labels count already. They are not drawn again. With another judge
    version, ``other_id``, only answers are drawn on which the verdicts of both differ.
    """

    version_id: int | None = None
    judge: str | None = None
    labelled: IntArray | None = None
    other_id: int | None = None
    other_judge: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON values, without the labels, as a queue stores it."""
        names = ("version_id", "judge", "other_id", "other_judge")
        return {STORED_AS.get(name, name): getattr(self, name) for name in names}


def draw_by_stratum(
    connection: Connection, where: RowFilter, plan: DrawPlan, n: int, seed: str
) -> tuple[tuple[DrawnStratum, ...], list[DrawnAnswer]]:
    """Draw ``n`` answers at random, with the same probability in each stratum; return the strata and these answers.

    The answers are in random order. With a judge version, answers that it was not asked about are left out. The seed
    alone decides the draw.
    """
    ids, codes = _strata(connection, where, plan)
    is_labelled = among(ids, no_ints() if plan.labelled is None else plan.labelled)
    free, first = _lots(connection, where, ids, codes, ~is_labelled, n + 1, seed)
    answers = np.bincount(codes, minlength=6)
    kept = [code for code in (3 + BAD, 3 + GOOD, 3 + UNUSABLE, BAD, GOOD, UNUSABLE) if answers[code]]
    counts = allocated(n, [int(free[code]) for code in kept], least=LEAST_OF_STRATUM)
    strata = tuple(
        DrawnStratum(
            None if plan.other_id else code >= 3,
            None if plan.version_id is None else _VERDICTS[code % 3],
            int(answers[code]),
            int(answers[code] - free[code]),
            drawn,
            first[code][drawn][0] if drawn < len(first[code]) else 1.0,
        )
        for code, drawn in zip(kept, counts, strict=True)
    )
    chosen = [
        DrawnAnswer(id_, row.source, row.external_id, row.asked_day, stratum, position)
        for stratum, (code, drawn) in enumerate(zip(kept, counts, strict=True))
        for position, id_, row in first[code][:drawn]
    ]
    return strata, sorted(chosen, key=lambda answer: (answer.position, answer.response_id))


def _strata(connection: Connection, where: RowFilter, plan: DrawPlan) -> tuple[IntArray, IntArray]:
    """Return the ids, ascending, of the answers that a plan is about, and the code of each one's stratum."""
    cuts = thresholds(connection).cuts
    judged = judged_answers(connection, plan.version_id, cuts, where, score=None)
    order = np.argsort(judged.response_ids)
    ids, verdicts = judged.response_ids[order], judged.verdicts[order]
    if plan.other_id is None:
        return ids, 3 * among(ids, picked_answers(connection)) + verdicts
    other = judged_answers(connection, plan.other_id, cuts, where, score=None)
    ids, at, at_other = np.intersect1d(ids, other.response_ids, assume_unique=True, return_indices=True)
    verdicts, others = verdicts[at], other.verdicts[at_other]
    differ = (verdicts != others) & (verdicts != UNUSABLE) & (others != UNUSABLE)
    return ids[differ], verdicts[differ]


def _lots(
    connection: Connection, where: RowFilter, ids: IntArray, codes: IntArray, may_be_drawn: BoolArray, n: int, seed: str
) -> tuple[IntArray, list[list[tuple[float, int, Any]]]]:
    """Return for each code of a stratum how many answers may be drawn, and the first ``n`` of them in random order."""
    columns = (RESPONSE.c.id, RESPONSE.c.source, RESPONSE.c.external_id, RESPONSE.c.asked_day)
    query = select(*columns).where(*response_conditions(connection, where), RESPONSE.c.answer.is_not(None))
    free, first = np.zeros(6, dtype=np.int64), list[list[tuple[float, int, Any]]]([[] for _ in range(6)])
    for rows in connection.execute(query, execution_options={"yield_per": _READ_AT_ONCE}).partitions():
        batch = np.array([row.id for row in rows], dtype=np.int64)
        known = among(batch, ids)
        at = np.searchsorted(ids, batch[known])
        drawable = may_be_drawn[at]
        lots: list[list[tuple[float, int, Any]]] = [[] for _ in range(6)]
        for row_at, code in zip(np.flatnonzero(known)[drawable].tolist(), codes[at][drawable].tolist(), strict=True):
            row = rows[row_at]
            lots[code].append((sampling_number(f"{seed}:order", row.source, row.external_id), row.id, row))
        for code, candidates in enumerate(lots):
            free[code] += len(candidates)
            if candidates:
                first[code] = nsmallest(n, [*first[code], *candidates], key=lambda lot: lot[:2])
    return free, first


class PlannedItem(NamedTuple):
    """An item of a planned queue: the position of its stratum, its own in the random order, and whether it is open."""

    response_id: int
    stratum: int
    position: float
    is_open: bool


def planned_items(connection: Connection, queue_id: int) -> list[PlannedItem]:
    """Return the items that a planned queue got at its creation, in random order."""
    columns = (QUEUE_ITEM.c.response_id, QUEUE_ITEM.c.stratum, QUEUE_ITEM.c.position, QUEUE_ITEM.c.state)
    own = (QUEUE_ITEM.c.queue_id == queue_id, QUEUE_ITEM.c.stratum.is_not(None), QUEUE_ITEM.c.repeat_for.is_(None))
    rows = connection.execute(select(*columns).where(*own).order_by(QUEUE_ITEM.c.position, QUEUE_ITEM.c.response_id))
    return [PlannedItem(id_, stratum, position, state == ItemState.OPEN) for id_, stratum, position, state in rows]


def median_review_seconds(connection: Connection) -> float | None:
    """Return the median time of a review in seconds, None if no time was measured."""
    (seconds,) = read_columns(connection, select(REVIEW.c.seconds).where(REVIEW.c.seconds.is_not(None)))
    return float(np.median(seconds)) if len(seconds) else None
