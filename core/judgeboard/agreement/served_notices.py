"""Labels of people on the answers that `serve_answer` served, by the notice that their readers saw."""

from dataclasses import dataclass

import numpy as np
from sqlalchemy import select

from judgeboard.agreement.ratings import PairSource
from judgeboard.domain import Estimate
from judgeboard.judges.evidence_alignment import NOTICE, SERVED, Level
from judgeboard.stats.arrays import BoolArray
from judgeboard.stats.proportions import share
from judgeboard.store.grades import HALLUCINATED
from judgeboard.store.statements import rows_with
from judgeboard.store.tables import RESPONSE


@dataclass(frozen=True, slots=True)
class NoticeLabels:
    """How many of the labelled answers with a notice are bad; ``query_type`` None means all query types."""

    notice: str
    query_type: str | None
    bad: Estimate


def labels_by_notice(source: PairSource) -> tuple[NoticeLabels, ...]:
    """Return the share of bad answers among those that people labelled, by notice and query type.

    The levels have the order of `Level`; each has a line for all query types first, if it has several. Answers that
    were not served by `serve_answer`, or without a notice, are left out.
    """
    people = source.people("label")
    notice = RESPONSE.c.extra[(SERVED, NOTICE)].as_string().label("notice")
    columns = (RESPONSE.c.id, notice, RESPONSE.c.query_type, RESPONSE.c.evidence_group)
    query = select(*columns).where(notice.in_([level.value for level in Level]))
    served = list(rows_with(source.connection, query, RESPONSE.c.id, people.response_ids.tolist()))
    if not served:
        return ()
    at = np.searchsorted(people.response_ids, [row.id for row in served])
    bad = people.values[at] == HALLUCINATED
    groups = np.array([row.evidence_group for row in served])
    notices, types = (np.array([getattr(row, name) for row in served]) for name in ("notice", "query_type"))

    def line(level: str, query_type: str | None, rows: BoolArray) -> NoticeLabels:
        return NoticeLabels(level, query_type, share(bad[rows], groups[rows]))

    lines: list[NoticeLabels] = []
    for level in Level:
        of_level = notices == level.value
        names = sorted(set(types[of_level].tolist()))
        if len(names) > 1:
            lines.append(line(level.value, None, of_level))
        lines += (line(level.value, name, of_level & (types == name)) for name in names)
    return tuple(lines)
