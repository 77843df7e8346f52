"""What a plan of labels reads, and the draw of its answers: by lot within strata of flagged or not, and verdict."""

from dataclasses import dataclass
from heapq import nsmallest
from typing import Any

import numpy as np
from sqlalchemy import Connection, select

from judgeboard.flags.rules import sampling_number
from judgeboard.stats.arrays import BoolArray, IntArray, among, no_ints
from judgeboard.stats.sample_size import allocated
from judgeboard.store.filter_conditions import response_conditions
from judgeboard.store.filters import RowFilter
from judgeboard.store.settings import thresholds
from judgeboard.store.statements import read_columns
from judgeboard.store.strata import BAD, GOOD, UNUSABLE, judged_answers, picked_answers
from judgeboard.store.tables import RESPONSE, REVIEW

LEAST_OF_STRATUM = 2
"""A plan draws at least so many answers of each stratum. Otherwise all strata have the same probability."""

_VERDICTS = {GOOD: "good", BAD: "bad", UNUSABLE: "unusable"}
_READ_AT_ONCE = 10_000  # answers


@dataclass(frozen=True, slots=True)
class DrawnStratum:
    """A stratum of a draw: ``drawn`` of its ``answers``, of which ``labelled`` count already and are not drawn.

    ``picked`` is whether a rule flagged its answers; ``verdict`` is good, bad or unusable, None without a judge.
    """

    picked: bool
    verdict: str | None
    answers: int
    labelled: int
    drawn: int

    @property
    def inclusion_probability(self) -> float:
        """The probability that an answer of the stratum without a label is drawn."""
        free = self.answers - self.labelled
        return self.drawn / free if free else 1.0

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON values, as a queue stores it."""
        names = ("picked", "verdict", "answers", "labelled", "drawn", "inclusion_probability")
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

    ``labelled`` are ids of answers, ascending, whose labels are a random sample already. They are not drawn again.
    """

    version_id: int | None = None
    judge: str | None = None
    labelled: IntArray | None = None


def draw_by_stratum(
    connection: Connection, where: RowFilter, plan: DrawPlan, n: int, seed: str
) -> tuple[tuple[DrawnStratum, ...], list[DrawnAnswer]]:
    """Draw ``n`` answers by lot, with the same probability in each stratum; return the strata and the answers in order.

    With a judge version, answers that it was not asked about are left out. The seed alone decides the draw.
    """
    judged = judged_answers(connection, plan.version_id, thresholds(connection).cuts, where)
    order = np.argsort(judged.response_ids)
    ids = judged.response_ids[order]
    codes = 3 * among(ids, picked_answers(connection)) + judged.verdicts[order]
    is_labelled = among(ids, no_ints() if plan.labelled is None else plan.labelled)
    free, first = _lots(connection, where, ids, codes, ~is_labelled, n, seed)
    answers = np.bincount(codes, minlength=6)
    kept = [code for code in (3 + BAD, 3 + GOOD, 3 + UNUSABLE, BAD, GOOD, UNUSABLE) if answers[code]]
    counts = allocated(n, [int(free[code]) for code in kept], least=LEAST_OF_STRATUM)
    strata = tuple(
        DrawnStratum(
            code >= 3,
            None if plan.version_id is None else _VERDICTS[code % 3],
            int(answers[code]),
            int(answers[code] - free[code]),
            drawn,
        )
        for code, drawn in zip(kept, counts, strict=True)
    )
    chosen = [
        DrawnAnswer(id_, row.source, row.external_id, row.asked_day, stratum, position)
        for stratum, (code, drawn) in enumerate(zip(kept, counts, strict=True))
        for position, id_, row in first[code][:drawn]
    ]
    return strata, sorted(chosen, key=lambda answer: (answer.position, answer.response_id))


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


def median_review_seconds(connection: Connection) -> float | None:
    """Return the median time of a review in seconds, None if no time was measured."""
    (seconds,) = read_columns(connection, select(REVIEW.c.seconds).where(REVIEW.c.seconds.is_not(None)))
    return float(np.median(seconds)) if len(seconds) else None
