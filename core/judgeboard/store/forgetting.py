"""Removes the texts of a response or of a trace from every place of the store."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import permutations
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Select,
    TableClause,
    delete,
    exists,
    or_,
    select,
    update,
)

from judgeboard.domain import ItemState, ResponseKind
from judgeboard.errors import BadInput, NotFound
from judgeboard.store.clock import utc_now
from judgeboard.store.columns import columns_that
from judgeboard.store.engine import Store
from judgeboard.store.events import record_event
from judgeboard.store.filter_conditions import response_conditions
from judgeboard.store.filters import RowFilter, conditions_of, describe
from judgeboard.store.health import ANSWER_OF
from judgeboard.store.queue_items import UNFINISHED, close_flags, flags_of, set_item_state
from judgeboard.store.responses import responses_named
from judgeboard.store.statements import AT_ONCE, count_rows, rows_of
from judgeboard.store.tables import (
    BEGINNINGS,
    DRAFT,
    EVENT,
    GENERATION,
    JUDGMENT,
    METADATA,
    PAIR,
    QUEUE_ITEM,
    RESPONSE,
    QueueItem,
)
from judgeboard.store.traces import forget_traces, forget_unused_traces
from judgeboard.store.withdrawals import forget_copies, withdrawn_answers
from judgeboard.text import iso_z


def forget_response(
    connection: Connection, name: str, *, source: str | None = None, actor: str
) -> list[int]:
    """Blank every text of a response, of derived responses and of the pairs of both; return the response ids.

    The other answer of a pair is blanked if the answer was stored for the pair, because such an
    answer repeats the question. All attempts at a prompt are blanked together, because attempts
    repeat the prompt and earlier reasoning.

    Scores, labels, decisions and hashes stay, so that no statistic changes. The triggers allow
    blanking only after the forget event is written, so this function writes the event first, in the
    same transaction.

    ``source`` is required if several sources have the external id ``name``. The name can also be
    the id of a trace without an answer: the spans are deleted, and no response is returned.

    The copies of withdrawn answers with this id are blanked too, with all rows about these answers.

    Raises:
        NotFound: No response and no trace has this id.
        BadInput: Several sources have this id.
    """
    matches = [
        row
        for row in responses_named(connection, [name]).get(name, ())
        if source in {None, row.source}
    ]
    withdrawn_rows = [
        row for row in withdrawn_answers(connection, name) if source in {None, row.source}
    ]
    sources = sorted({row.source for row in (*matches, *withdrawn_rows)})
    if len(sources) > 1:
        raise BadInput(f"{name!r} is in the sources {', '.join(sources)}: use --source")
    if withdrawn_rows:
        _overwrite_deleted(connection)
        forget_copies(connection, [row.id for row in withdrawn_rows])
        if not matches:
            record_event(connection, "forget", actor, details={"withdrawn": len(withdrawn_rows)})
            return [row.id for row in withdrawn_rows]
    if not matches and forget_unused(connection, trace_id=name, source=source, actor=actor):
        return []
    if not matches:
        raise NotFound(f"no response {name!r}" + (f" in source {source!r}" if source else ""))
    return forget_answers(connection, {matches[0].id: (name, matches[0].source)}, actor)


@dataclass(frozen=True, slots=True)
class ForgottenAnswers:
    """How many answers of a filter were forgotten, and how many derived answers."""

    answers: int
    derived: int


def forget_matching(connection: Connection, where: RowFilter, *, actor: str) -> ForgottenAnswers:
    """Forget every answer of a filter as `forget_response` does, and record an event with the counts.

    The event has the fields of the filter without the values, which may be personal data or texts.
    Answers that were forgotten before are left out. Raises NotFound if no answer is left.
    """
    query = (
        select(RESPONSE.c.id, RESPONSE.c.external_id, RESPONSE.c.source)
        .where(*_with_texts(connection, where))
        .order_by(RESPONSE.c.id)
        .limit(_AT_ONCE)
    )
    answers, derived = 0, 0
    while roots := {row.id: (row.external_id, row.source) for row in connection.execute(query)}:
        ids = forget_answers(connection, roots, actor)
        answers, derived = answers + len(roots), derived + len(ids) - len(roots)
    if not answers:
        raise NotFound(f"no answer with a text matches: {describe(where)}")
    fields = sorted(
        {condition.partition("=")[0].rstrip("<>") for condition in conditions_of(where)}
    )
    record_event(
        connection,
        "forget_answers",
        actor,
        details={"answers": answers, "derived": derived, "fields": fields},
    )
    return ForgottenAnswers(answers, derived)


def count_to_forget(connection: Connection, where: RowFilter) -> int:
    """Return how many answers of a filter have texts."""
    return count_rows(connection, RESPONSE, *_with_texts(connection, where))


_AT_ONCE = 200  # answers that one statement names


def _with_texts(connection: Connection, where: RowFilter) -> list[ColumnElement[bool]]:
    is_forgotten = exists().where(EVENT.c.kind == "forget", EVENT.c.response_id == RESPONSE.c.id)
    return [*response_conditions(connection, where), ~is_forgotten]


def forget_answers(
    connection: Connection, roots: Mapping[int, tuple[str, str]], actor: str
) -> list[int]:
    """Blank every text of these answers (by id: external id and source) and of all derived answers."""
    _overwrite_deleted(connection)
    ids = with_derived(connection, roots)
    now = utc_now()
    for response_id in ids:
        record_event(connection, "forget", actor, response_id=response_id, now=now)
    for table in METADATA.sorted_tables:
        columns = columns_that("forgotten", table)
        blank: dict[str, object] = {column: {} if column == "extra" else None for column in columns}
        if blank:
            connection.execute(update(table).where(_is_about(table, ids)).values(blank))
    connection.execute(delete(DRAFT).where(_is_about(DRAFT, ids)))
    forget_copies(connection, ids)
    forget_traces(connection, ids)
    # A trace with the id of an answer that came another way has no answer of its own, but repeats
    # the texts.
    for external_id, source in roots.values():
        forget_unused_traces(connection, trace_id=external_id, source=source)
    of_pair = QUEUE_ITEM.c.pair_id.in_(select(PAIR.c.id).where(_is_about(PAIR, ids)))
    # The unfinished items of these answers or pairs in all queues, including repeats.
    query = (
        select(QueueItem)
        .where((QUEUE_ITEM.c.response_id.in_(ids) | of_pair), QUEUE_ITEM.c.state.in_(UNFINISHED))
        .order_by(QUEUE_ITEM.c.id)
    )
    items = rows_of(connection, query)
    for item in items:
        set_item_state(connection, item, ItemState.LEFT, now)
    flags = flags_of(connection, [item.id for item in items])
    close_flags(connection, {flag for of_item in flags.values() for flag in of_item})
    return ids


def forget_unused(
    connection: Connection,
    *,
    trace_id: str | None = None,
    source: str | None = None,
    before: datetime | None = None,
    actor: str,
) -> int:
    """Delete the spans of one trace, or of some traces without an answer; return the number of traces.

    Spans of these traces that come later are not stored.
    """
    _overwrite_deleted(connection)
    traces = forget_unused_traces(connection, trace_id=trace_id, source=source, before=before)
    if traces:
        details = {
            "traces": traces,
            "trace": trace_id,
            "source": source,
            "before": before and iso_z(before),
        }
        event_details = {name: value for name, value in details.items() if value is not None}
        record_event(connection, "forget_traces", actor, details=event_details)
    return traces


def forget_all_unused(
    store: Store, *, source: str | None = None, before: datetime | None = None, actor: str
) -> Iterator[int]:
    """Delete the spans of all traces without an answer, of a source and before a time; yield how many, by transaction.

    Transactions are small, so that other connections can write between two transactions.
    """
    traces = AT_ONCE
    while traces:
        with store.writing() as connection:
            traces = forget_unused(connection, source=source, before=before, actor=actor)
        yield traces


def _overwrite_deleted(connection: Connection) -> None:
    if connection.dialect.name == "sqlite":
        # With this pragma, SQLite overwrites blanked pages instead of only releasing them.
        connection.exec_driver_sql("PRAGMA secure_delete = ON")


def _is_about(table: TableClause, ids: list[int]) -> ColumnElement[bool]:
    """The rows about one of these responses, directly or through another table."""
    columns = table.c
    if "pair_id" in columns:
        of_pair = columns.pair_id.in_(select(PAIR.c.id).where(_is_about(PAIR, ids)))
        return of_pair | columns.response_id.in_(ids) if "response_id" in columns else of_pair
    if "judgment_id" in columns and "response_id" not in columns:
        return columns.judgment_id.in_(select(JUDGMENT.c.id).where(JUDGMENT.c.response_id.in_(ids)))
    if table is RESPONSE:
        return columns.id.in_(ids)
    condition = or_(
        *(
            each.in_(ids)
            for each in columns
            if any(key.column is RESPONSE.c.id for key in each.foreign_keys)
        )
    )
    if table is not GENERATION:
        return condition
    for other, column in BEGINNINGS:
        same = other.c.run_id == columns.run_id, other.c.subject == columns.subject
        condition |= exists(select(other.c.id).where(*same, other.c[column].in_(ids)))
    return condition | exists(_attempts_at_a_prompt(ids, columns.run_id, columns.subject))


def with_derived(connection: Connection, roots: Iterable[int]) -> list[int]:
    """Return these answers, and all answers that must be forgotten at the same time."""
    ids = dict.fromkeys(roots)
    new = [*ids]
    while new:
        queries: list[Select[Any]] = [select(RESPONSE.c.id).where(RESPONSE.c.derived_from.in_(new))]
        # The other answer of a pair, if it was stored only for the pair.
        for side, other in permutations((PAIR.c.response_a_id, PAIR.c.response_b_id)):
            beside = select(RESPONSE.c.id).join(PAIR, RESPONSE.c.id == other)
            queries.append(beside.where(side.in_(new), RESPONSE.c.kind == ResponseKind.PAIR_SIDE))
        # The other attempts at the prompts of these attempts.
        attempts = _attempts_at_a_prompt(new, GENERATION.c.run_id, GENERATION.c.subject)
        of_attempts = select(GENERATION.c.response_id).where(
            GENERATION.c.response_id.is_not(None), exists(attempts)
        )
        queries.append(of_attempts)
        # Control answers to other questions that repeat the text of one of these answers.
        repeats = RESPONSE.c.extra[ANSWER_OF].as_integer().in_(new)
        controls = select(RESPONSE.c.id).where(RESPONSE.c.kind == ResponseKind.CONTROL, repeats)
        queries.append(controls)
        linked_ids = [id_ for query in queries for id_ in connection.scalars(query)]
        new = [id_ for id_ in dict.fromkeys(linked_ids) if id_ not in ids]
        ids |= dict.fromkeys(new)
    return [*ids]


def _attempts_at_a_prompt(
    ids: list[int], run_id: ColumnElement[Any], subject: ColumnElement[Any]
) -> Select[Any]:
    """Return the query for the answers among these that this run generated for this subject from a prompt."""
    generation, answer = GENERATION.alias("made"), RESPONSE.alias("answer")
    return (
        select(generation.c.id)
        .join(answer, answer.c.id == generation.c.response_id)
        .where(
            generation.c.response_id.in_(ids),
            generation.c.run_id == run_id,
            generation.c.subject == subject,
            answer.c.kind == ResponseKind.REGENERATED,
            answer.c.derived_from.is_(None),
        )
    )
