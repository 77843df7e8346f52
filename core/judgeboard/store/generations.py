"""Answers that models made: the calls to generators, and the first verdicts on these answers."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, select

from judgeboard.domain import Response, StepRecord
from judgeboard.registry.masks import masked
from judgeboard.store.judgments import step_values
from judgeboard.store.responses import key_of
from judgeboard.store.statements import insert_or_skip, rows_by_key
from judgeboard.store.storing import store_responses
from judgeboard.store.tables import CURRENT, GENERATION, JUDGMENT, RESPONSE


@dataclass(frozen=True, slots=True)
class NewGeneration:
    """A call to a generator for an attempt at a subject, with the answer if there is one."""

    subject: str
    number: int
    model: str | None
    record: StepRecord
    made: Response | None


def store_generations(
    connection: Connection, run_id: int, new: Sequence[NewGeneration], now: datetime
) -> None:
    """Store calls to generators with their answers; a call that is already stored does not change."""
    if not new:
        return
    new = masked(new)
    answers = [generation.made for generation in new if generation.made is not None]
    store_responses(connection, answers, now=now)
    ids = stored_ids(connection, answers)
    rows = [
        {
            "subject": generation.subject,
            "number": generation.number,
            "model": generation.model,
            "response_id": None if generation.made is None else ids.get(key_of(generation.made)),
            **step_values(generation.record, run_id, now),
        }
        for generation in new
    ]
    connection.execute(insert_or_skip(connection, GENERATION, "run_id", "subject", "number"), rows)


def stored_ids(connection: Connection, responses: Iterable[Response]) -> dict[tuple[str, str], int]:
    """Return the ids of generated answers that are stored with exactly this text, by (source, external id).

    If two processes generate an answer at the same time, only the first is stored, and the other
    must not be judged.
    """
    texts = {key_of(response): response.answer for response in responses}
    rows = rows_by_key(connection, RESPONSE, texts, RESPONSE.c.id, RESPONSE.c.answer)
    return {key: row.id for key, row in rows.items() if row.answer == texts[key]}


@dataclass(frozen=True, slots=True)
class JudgedAnswer:
    """The judgment of a response by one judge version, and its groundedness."""

    judgment_id: int
    groundedness: float | None


def judged_answers(
    connection: Connection, version_id: int, response_ids: Collection[int], *, first: bool = False
) -> dict[int, JudgedAnswer]:
    """Return a judge version's current verdict on each response; with ``first``, the first judgment, usable or not."""
    judgment_id = JUDGMENT.c.id if first else CURRENT.c.judgment_id
    table = judgment_id.table.c
    query = select(table.response_id, judgment_id, table.groundedness).where(
        table.judge_version_id == version_id, table.response_id.in_(response_ids)
    )
    if first:
        query = query.where(JUDGMENT.c.ask == 0, JUDGMENT.c.repeat == 0)
    return {
        response_id: JudgedAnswer(*judgment) for response_id, *judgment in connection.execute(query)
    }
