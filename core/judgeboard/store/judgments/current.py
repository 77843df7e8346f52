"""Keeps current_judgment equal to its definition: the latest ok judgment of each judge version and judge name."""

from collections.abc import Collection, Sequence
from typing import Any

from sqlalchemy import Connection, bindparam, delete, select, tuple_

from judgeboard.store.judgments.signals import Said
from judgeboard.store.schema.tables import CURRENT
from judgeboard.store.sql.insertion import upsert

_KEY = ("judge_version_id", "response_id")
_COLUMNS = tuple(column.name for column in CURRENT.columns)
_IS_CURRENT = _COLUMNS.index("is_current")
_STORED = select(CURRENT).where(CURRENT.c.response_id.in_(bindparam("ids", expanding=True)))


def keep_current(connection: Connection, said: Sequence[Said]) -> int:
    """Bring the kept rows of these responses in line with what is said of them; return how many changed."""
    ids = [one.response.id for one in said]
    kept = {tuple(row[:2]): tuple(row) for row in connection.execute(_STORED, {"ids": ids})}
    wanted = {key: row for one in said for key, row in _wanted(one).items()}
    changed = [row for key, row in wanted.items() if kept.get(key) != row]
    gone = kept.keys() - wanted.keys()
    if gone:
        _delete(connection, gone)
    if changed:
        # The judge's former current steps back before the new one steps up: there is one at any moment.
        changed.sort(key=lambda row: row[_IS_CURRENT])
        connection.execute(
            upsert(connection, CURRENT, *_KEY), [dict(zip(_COLUMNS, row, strict=True)) for row in changed]
        )
    return len(changed) + len(gone)


def _wanted(said: Said) -> dict[tuple[int, int], tuple[Any, ...]]:
    response = said.response
    user_quality = None if said.feedback is None else said.feedback.quality
    return {
        (version_id, response.id): (
            version_id,
            response.id,
            row.id,
            row.kind,
            row.name,
            said.by_judge[row.kind, row.name].id == row.id,
            response.kind,
            response.query_type,
            response.source,
            response.asked_day,
            response.evidence_group,
            row.groundedness,
            row.quality,
            row.label,
            user_quality,
        )
        for version_id, row in said.by_version.items()
    }


def _delete(connection: Connection, keys: Collection[tuple[Any, ...]]) -> None:
    key = tuple_(CURRENT.c.judge_version_id, CURRENT.c.response_id)
    connection.execute(delete(CURRENT).where(key.in_(keys)))
