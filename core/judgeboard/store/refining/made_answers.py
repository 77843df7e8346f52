"""Answers made from others, and the calls that made them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, select

from judgeboard.domain import Response, StepRecord
from judgeboard.store.landing import land_responses
from judgeboard.store.responses.response_rows import RESPONSE, key_of
from judgeboard.store.runs.step_rows import step_columns
from judgeboard.store.schema.method_tables import GenerationRow
from judgeboard.store.sql.insertion import insert_or_skip

GENERATION = GenerationRow.__table__


@dataclass(frozen=True, slots=True)
class NewGeneration:
    """A call to a generator: which try of what, its account, and the answer that it made (None where it made none)."""

    subject: str
    number: int
    model: str | None
    record: StepRecord
    made: Response | None


def land_generations(connection: Connection, run_id: int, new: Sequence[NewGeneration], now: datetime) -> None:
    """Store calls with the answers that they made; one that is stored already counts as done."""
    if not new:
        return
    made = [one.made for one in new if one.made is not None]
    land_responses(connection, made, now=now)
    ids = made_ids(connection, made)
    rows = [
        {
            "subject": one.subject,
            "number": one.number,
            "model": one.model,
            "response_id": None if one.made is None else ids.get(key_of(one.made)),
            **step_columns(one.record, run_id, now),
        }
        for one in new
    ]
    connection.execute(insert_or_skip(connection, GENERATION, "run_id", "subject", "number"), rows)


def made_ids(connection: Connection, made: Iterable[Response]) -> dict[tuple[str, str], int]:
    """Return the ids of made answers that are stored with just this text, by (source, external id).

    Where two processes made an answer at the same time, the one that came first is stored: what was said of the other
    must not be stored as said of it.
    """
    texts = {key_of(one): one.answer for one in made}
    if not texts:
        return {}
    rows = connection.execute(
        select(RESPONSE.c.source, RESPONSE.c.external_id, RESPONSE.c.id, RESPONSE.c.answer).where(
            RESPONSE.c.source.in_({source for source, _ in texts}),
            RESPONSE.c.external_id.in_({external_id for _, external_id in texts}),
        )
    )
    found = {(row.source, row.external_id): row for row in rows}
    return {key: found[key].id for key, text in texts.items() if key in found and found[key].answer == text}
