"""Lands logged responses."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection

from judgeboard.domain import Response
from judgeboard.landings.differing import differing
from judgeboard.landings.landing import Landed, Problem
from judgeboard.store.landing import land_responses
from judgeboard.store.responses.response_rows import find_contents, key_of


class ResponseLanding:
    """Stores logged responses; a known id with other content is a conflict."""

    def __init__(self, _actor: str) -> None:
        pass

    def land(self, connection: Connection, records: Sequence[Response], batch_id: int, now: datetime) -> Landed:
        """Store responses that are new, and feedback that is new on known ones."""
        stored = land_responses(connection, records, batch_id, now)
        landed = Landed(len(stored.new), stored.unchanged, stored.feedback_added)
        given = [records[conflict.index] for conflict in stored.conflicts]
        kept = find_contents(connection, [key_of(record) for record in given])
        for conflict, record in zip(stored.conflicts, given, strict=True):
            other = differing(record, kept[key_of(record)]) if key_of(record) in kept else []
            reason = f"{conflict.external_id!r} is stored with other content"
            reason += f": {', '.join(other)} {'differs' if len(other) == 1 else 'differ'}" if other else ""
            landed.problems.append(Problem(conflict.index, "id", reason, conflict=True))
        return landed

    def finish(self, connection: Connection, now: datetime) -> int:  # noqa: ARG002 - the shape of all landings
        """Nothing is open."""
        return 0

    def shown(self, record: Response) -> dict[str, Any]:
        """Return the response as an import would take it again."""
        return {
            "source": record.source,
            "external_id": record.external_id,
            "query": record.query,
            "context": record.passages,
            "answer": record.answer,
            "query_type": record.query_type,
            "asked_at": None if record.asked_at is None else record.asked_at.isoformat(),
            "metadata": record.metadata,
        }
