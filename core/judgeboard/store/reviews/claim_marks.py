"""What a person said of single statements as a JSON column, back and forth, and the claims that it may speak of."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from sqlalchemy import Connection, select

from judgeboard.domain import Claim, ClaimMark, ClaimStatus
from judgeboard.store.judgments.verdict_json import claims_from
from judgeboard.store.schema.tables import JUDGMENT


def marks_json(marks: Iterable[ClaimMark]) -> list[dict[str, Any]] | None:
    """Return marks as a JSON value in the order given, keys without a value left out; None where there is none."""
    listed = [_json(mark) for mark in marks]
    return listed or None


def marks_from(stored: Iterable[Mapping[str, Any]] | None) -> tuple[ClaimMark, ...]:
    """Return stored marks; none where none were given, or they are forgotten."""
    return tuple(ClaimMark(**{**mark, "status": ClaimStatus(mark["status"])}) for mark in stored or ())


def claims_by_judgment(
    connection: Connection, judgment_ids: Collection[int], response_id: int
) -> dict[int, tuple[Claim, ...]]:
    """Return the claims of those of these judgments that are of this response, by judgment."""
    query = select(JUDGMENT.c.id, JUDGMENT.c.claims).where(
        JUDGMENT.c.id.in_(judgment_ids), JUDGMENT.c.response_id == response_id
    )
    return {row.id: claims_from(row.claims) or () for row in connection.execute(query)}


def _json(mark: ClaimMark) -> dict[str, Any]:
    fields = {name: getattr(mark, name) for name in ClaimMark.__dataclass_fields__}
    return {name: value for name, value in fields.items() if value is not None} | {"status": mark.status.value}
