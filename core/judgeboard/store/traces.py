"""Stores spans on arrival, finds the traces that are ready, and stores the outcome of each trace."""

import hashlib
import zlib
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import product
from operator import attrgetter

import orjson
from sqlalchemy import (
    ColumnElement,
    Connection,
    bindparam,
    delete,
    func,
    insert,
    literal_column,
    or_,
    select,
    text,
    update,
)

from judgeboard.domain import Feedback, JudgeInput, Response
from judgeboard.registry.masks import count_masks
from judgeboard.store.answer_facts import store_facts
from judgeboard.store.clock import utc_now
from judgeboard.store.engine import Store
from judgeboard.store.events import record_event
from judgeboard.store.responses import Named, completed_row, judge_inputs
from judgeboard.store.statements import (
    AT_ONCE,
    any_row,
    batches,
    columns_of,
    count_rows,
    first_row,
    grouped,
    insert_or_skip,
    listed,
    record_of,
    rows_of,
)
from judgeboard.store.tables import RESPONSE, SETTING, SPAN, TRACE, WAITING_FEEDBACK, Trace
from judgeboard.store.triggers import unread
from judgeboard.traces.maps import Rule, rules_of
from judgeboard.traces.spans import LogRecord, Span, SpanEvent

WAITING, MADE, NONE, FORGOTTEN = "waiting", "made", "none", "forgotten"
_RECENT = 100  # traces whose reasons are counted
LATE = "A judge has read the answer, or it is flagged, reviewed or in a queue: later spans and rules do not change it."


@dataclass(frozen=True, slots=True)
class NewSpan:
    """A received span or log record (``kind``) as JSON; ``source`` is the name of the service that sent the record."""

    trace_id: str
    span_id: str
    kind: str
    source: str
    is_root: bool
    body: bytes

    @classmethod
    def of(cls, record: Span | LogRecord, source: str) -> "NewSpan":
        """Return the row of a record. Raises TypeError for a value that JSON cannot hold."""
        json = orjson.dumps(record, default=_json_value, option=orjson.OPT_NON_STR_KEYS)
        body = zlib.compress(json, 1)
        if isinstance(record, Span):
            is_root = record.parent_id is None or record.remote_parent is True
            return cls(record.trace_id, record.span_id, "span", source, is_root, body)
        # Log records have no id. Equal records count as one record.
        key = f"{record.span_id}:{hashlib.blake2b(json, digest_size=8).hexdigest()}"
        return cls(record.trace_id, key, "log", source, is_root=False, body=body)


def _json_value(value: object) -> str:
    if isinstance(value, bytes):
        return value.hex()
    raise TypeError(f"{type(value).__name__} has no JSON form")


def store_spans(connection: Connection, spans: Iterable[NewSpan], owner: str, now: datetime) -> int:
    """Store spans that are not stored yet, and return how many are new; ``owner`` is the source of the sender's key.

    A trace with new spans waits again: the spans make an answer or complete the answer. Spans of a
    forgotten trace are not stored.
    """
    unique = {(span.trace_id, span.kind, span.span_id): span for span in spans}
    # The spans of a trace are in the order of arrival.
    by_trace = grouped((trace_id, span) for (trace_id, _, _), span in unique.items())
    in_order = sorted(by_trace.items())  # so that two processes never wait for each other
    return sum(_store_traces(connection, dict(batch), owner, now) for batch in batches(in_order))


def _store_traces(
    connection: Connection, by_trace: dict[str, list[NewSpan]], owner: str, now: datetime
) -> int:
    rows = [
        {
            "external_id": trace_id,
            "owner": owner,
            "source": spans[0].source,
            "first_at": now,
            "last_at": now,
        }
        for trace_id, spans in by_trace.items()
    ]
    connection.execute(insert_or_skip(connection, TRACE, "external_id", "owner"), rows)
    query = select(TRACE.c.id, TRACE.c.external_id).where(
        TRACE.c.external_id.in_(by_trace), TRACE.c.owner == owner, TRACE.c.state != FORGOTTEN
    )
    # The lock ensures that a trace that is being forgotten gets no new spans.
    query_with_lock = query.order_by(TRACE.c.id).with_for_update(key_share=True)
    ids = {external_id: id_ for id_, external_id in connection.execute(query_with_lock)}
    spans = [
        {
            "trace_id": ids[trace_id],
            "external_id": span.span_id,
            "kind": span.kind,
            "body": span.body,
        }
        for trace_id, of_trace in by_trace.items()
        if trace_id in ids
        for span in of_trace
    ]
    if not spans:
        return 0
    statement = insert_or_skip(connection, SPAN, "trace_id", "kind", "external_id").returning(
        SPAN.c.trace_id
    )
    new = Counter[int]()
    for batch in batches(spans):
        new.update(connection.scalars(statement, batch))
    updates = [
        {"trace": id_, "more": new[id_], "root": any(span.is_root for span in by_trace[trace_id])}
        for id_, trace_id in sorted((id_, trace_id) for trace_id, id_ in ids.items())
        if id_ in new
    ]
    if updates:
        update_statement = update(TRACE).where(TRACE.c.id == bindparam("trace"))
        values = {
            "spans": TRACE.c.spans + bindparam("more"),
            "root_ended": or_(TRACE.c.root_ended, bindparam("root", type_=TRACE.c.root_ended.type)),
        }
        connection.execute(update_statement.values(last_at=now, state=WAITING, **values), updates)
    return new.total()


_RULES = "trace_rules:"  # with the source, the key of a setting


def set_rules(
    connection: Connection, source: str, rules: Sequence[str], by: str, now: datetime
) -> int:
    """Replace the rules of a source, and mark the traces of the source to be read again; return how many.

    Raises BadInput for a wrong rule.
    """
    rules_of(rules)
    connection.execute(
        insert(SETTING), {"key": _RULES + source, "value": list(rules), "by": by, "at": now}
    )
    record_event(
        connection, "set_trace_rules", by, details={"source": source, "rules": len(rules)}, now=now
    )
    statement = update(TRACE).where(TRACE.c.source == source, TRACE.c.state.in_([MADE, NONE]))
    return connection.execute(statement.values(state=WAITING)).rowcount


def rules_by_source(connection: Connection) -> dict[str, tuple[Rule, ...]]:
    """Return the rules of every source that has some."""
    query = select(SETTING.c.key, SETTING.c.value).where(
        SETTING.c.key.startswith(_RULES, autoescape=True)
    )
    latest_rules = {
        key.removeprefix(_RULES): value
        for key, value in connection.execute(query.order_by(SETTING.c.id))
    }
    return {source: rules_of(rules) for source, rules in latest_rules.items() if rules}


def ready_traces(
    connection: Connection, now: datetime, *, quiet: timedelta, longest: timedelta, limit: int
) -> list[Trace]:
    """Return traces that are ready: root ended and no span for the ``quiet`` time, or ``longest`` time is over.

    The longest time counts from the first span if the root has ended, otherwise from the last span.
    The latest traces come first, so that a new trace does not wait for old traces that are read
    again with new rules.
    """
    long_ago = now - longest
    root_ended = TRACE.c.root_ended.is_(True) & or_(
        TRACE.c.last_at <= now - quiet, TRACE.c.first_at <= long_ago
    )
    query = (
        select(Trace)
        .where(_IS_WAITING, TRACE.c.spans > 0, or_(root_ended, TRACE.c.last_at <= long_ago))
        .order_by(TRACE.c.last_at.desc())
        .limit(limit)
    )
    return rows_of(connection, query)


def traces_wait(connection: Connection) -> bool:
    """Return whether a trace with spans waits to become an answer."""
    return any_row(connection, _IS_WAITING, TRACE.c.spans > 0)


# SQLite uses the partial index only with this text.
_IS_WAITING: ColumnElement[bool] = literal_column("trace.state = 'waiting'")


def records_of(
    connection: Connection, trace_ids: Collection[int], most: int
) -> dict[int, tuple[list[Span], list[LogRecord]]]:
    """Return the spans and the log records of traces, in the order of arrival.

    If there are more than ``most`` records, the first half and the last half of ``most`` are
    returned: children arrive first, and the root arrives last.
    """
    records: dict[int, tuple[list[Span], list[LogRecord]]] = {id_: ([], []) for id_ in trace_ids}
    ids = select(SPAN.c.id).where(SPAN.c.trace_id.in_(listed(connection, trace_ids)))
    first, last = (
        ids.order_by(SPAN.c.id).limit(most // 2),
        ids.order_by(SPAN.c.id.desc()).limit(most - most // 2),
    )
    query = select(SPAN.c.trace_id, SPAN.c.kind, SPAN.c.body).where(
        or_(SPAN.c.id.in_(first), SPAN.c.id.in_(last))
    )
    for trace_id, kind, body in connection.execute(query.order_by(SPAN.c.id)):
        values = orjson.loads(zlib.decompress(body))
        if kind == "log":
            records[trace_id][1].append(LogRecord(**values))
        else:
            events = tuple(SpanEvent(**event) for event in values.pop("events"))
            records[trace_id][0].append(Span(**values, events=events))
    return records


def lock_unchanged(connection: Connection, traces: Iterable[Trace]) -> set[int]:
    """Lock the traces that are unchanged since they were read, and return the ids of these traces."""
    spans = {trace.id: trace.spans for trace in traces}
    query = select(TRACE.c.id, TRACE.c.spans).where(
        TRACE.c.id.in_(listed(connection, spans)), TRACE.c.state == WAITING
    )
    rows = connection.execute(query.order_by(TRACE.c.id).with_for_update(skip_locked=True))
    return {id_ for id_, now in rows if now == spans[id_]}


@dataclass(frozen=True, slots=True)
class TraceOutcome:
    """The outcome of a trace: an answer (``response_id``), or the ``reason`` why there is none."""

    id: int
    source: str
    response_id: int | None = None
    reason: str | None = None
    used: Sequence[Sequence[str]] = ()


def store_outcomes(connection: Connection, outcomes: Sequence[TraceOutcome]) -> None:
    """Store the outcomes of traces."""
    rows = [
        {
            "trace": each.id,
            "of": each.source,
            "answer": each.response_id,
            "to": NONE if each.response_id is None else MADE,
            "why": each.reason,
            "taken": [list(pair) for pair in each.used],
        }
        for each in outcomes
    ]
    values = {
        "source": bindparam("of"),
        "response_id": bindparam("answer"),
        "state": bindparam("to"),
        "reason": bindparam("why"),
        "used": bindparam("taken", type_=TRACE.c.used.type),
    }
    if rows:
        connection.execute(
            update(TRACE).where(TRACE.c.id == bindparam("trace")).values(**values), rows
        )


def complete_response(connection: Connection, response_id: int, response: Response) -> bool:
    """Replace the content of a response from a trace and return True; False if other rows refer to the response."""
    statement = update(RESPONSE).where(RESPONSE.c.id == response_id, text(unread("response.id")))
    if connection.execute(statement.values(completed_row(response))).rowcount == 0:
        return False
    store_facts(connection, [(response_id, response.query, response.answer, response.passages)])
    count_masks(connection, {response_id: response})
    return True


def inputs_to_judge(store: Store, response_ids: Sequence[int]) -> dict[int, JudgeInput]:
    """Return the inputs of responses for a judge, by id, without forgotten responses. The inputs no longer change."""
    keep_unchanged(store, response_ids)
    with store.reading() as connection:
        return judge_inputs(connection, response_ids)


def keep_unchanged(store: Store, response_ids: Collection[int]) -> None:
    """Store that a judge reads these responses: late spans cause no more changes. Call this function before reading."""
    with store.reading() as connection:
        query = select(TRACE.c.id).where(
            TRACE.c.response_id.in_(listed(connection, response_ids)), TRACE.c.read_at.is_(None)
        )
        if connection.scalar(query.limit(1)) is None:
            return
    with store.writing() as connection:
        # The lock waits for a process that completes a response. The receiver locks traces in the
        # same order.
        query_with_lock = query.order_by(TRACE.c.id).with_for_update(key_share=True)
        ids = list(connection.scalars(query_with_lock))
        connection.execute(update(TRACE).where(TRACE.c.id.in_(ids)).values(read_at=utc_now()))


def responses_of_trace(connection: Connection, trace_id: str) -> list[Named]:
    """Return the responses of a trace with this id, one for each sender's source."""
    query = select(RESPONSE.c.id, RESPONSE.c.source).join(
        TRACE, TRACE.c.response_id == RESPONSE.c.id
    )
    rows = connection.execute(query.where(TRACE.c.external_id == trace_id).order_by(RESPONSE.c.id))
    return [Named(*row) for row in rows]


def received_among(connection: Connection, response_ids: Collection[int]) -> set[int]:
    """Return which of these responses have a received trace."""
    query = select(TRACE.c.response_id).where(
        TRACE.c.response_id.in_(listed(connection, response_ids))
    )
    return set(connection.scalars(query))


def forget_traces(connection: Connection, response_ids: Sequence[int]) -> None:
    """Delete the spans of the traces of these responses. Later spans of these traces are not stored."""
    _forget(connection, TRACE.c.response_id.in_(response_ids))


def forget_unused_traces(
    connection: Connection,
    *,
    trace_id: str | None = None,
    source: str | None = None,
    before: datetime | None = None,
) -> int:
    """Delete the spans of traces without an answer, and return the number of traces.

    With ``trace_id``, only this trace is deleted, even if the trace still waits. Otherwise, all
    traces whose last span came ``before`` a time (default: any time) are deleted. A call deletes at
    most `AT_ONCE` traces. Later spans of these traces are not stored.
    """
    conditions = _unused(trace_id, source, before)
    # The conditions stand twice: a trace may become an answer before the lock.
    first = select(TRACE.c.id).where(*conditions).limit(AT_ONCE)
    return _forget(connection, *conditions, TRACE.c.id.in_(first))


def count_unused_traces(connection: Connection, *, source: str, before: datetime) -> int:
    """Return how many traces of a source `forget_unused_traces` would delete."""
    return count_rows(connection, TRACE, *_unused(None, source, before))


def _unused(
    trace_id: str | None, source: str | None, before: datetime | None
) -> list[ColumnElement[bool]]:
    conditions: list[ColumnElement[bool]] = [TRACE.c.response_id.is_(None)]
    if trace_id is None:
        conditions.append(TRACE.c.state == NONE)
    else:
        conditions += [TRACE.c.external_id == trace_id, TRACE.c.state != FORGOTTEN]
    conditions += [] if source is None else [TRACE.c.source == source]
    conditions += [] if before is None else [TRACE.c.last_at < before]
    return conditions


def _forget(connection: Connection, *conditions: ColumnElement[bool]) -> int:
    statement = (
        update(TRACE).where(*conditions).values(state=FORGOTTEN, reason=None).returning(TRACE.c.id)
    )
    ids = connection.scalars(statement).all()
    connection.execute(delete(SPAN).where(SPAN.c.trace_id.in_(listed(connection, ids))))
    return len(ids)


@dataclass(frozen=True, slots=True)
class NewFeedback:
    """Feedback on the answer with a response id, a trace id or a span id; ``owner`` is the source, "" if not known."""

    feedback: Feedback
    owner: str
    response_key: str | None = None
    trace_key: str | None = None
    span_key: str | None = None


def store_feedback(
    connection: Connection, entries: Iterable[NewFeedback], now: datetime
) -> list[int]:
    """Store feedback whose answer is not known yet; return the ids of the rows."""
    rows = [
        {
            **{
                name: getattr(entry, name)
                for name in ("owner", "response_key", "trace_key", "span_key")
            },
            **{
                name: getattr(entry.feedback, name)
                for name in ("kind", "value", "user", "at", "comment")
            },
            "received_at": now,
        }
        for entry in entries
    ]
    return list(connection.scalars(insert(WAITING_FEEDBACK).returning(WAITING_FEEDBACK.c.id), rows))


def feedback_times(connection: Connection) -> tuple[datetime, datetime] | None:
    """Return when the first and the last entry of the waiting feedback came; None without waiting feedback."""
    at = WAITING_FEEDBACK.c.received_at
    # Two queries, because SQLite reads the whole index for both functions in one query.
    first, last = (connection.scalar(select(function(at))) for function in (func.min, func.max))
    return None if first is None or last is None else (first, last)


def take_feedback(
    connection: Connection,
    *,
    ids: Collection[int] | None = None,
    responses: Collection[int] | None = None,
    traces: Collection[int] | None = None,
    since: datetime | None = None,
) -> dict[int, list[Feedback]]:
    """Return the waiting feedback whose answer is known, by response, and delete these waiting entries.

    If answers of several sources have the id, feedback without a source is for the first of them.
    One argument limits the search: ``ids`` of waiting feedback, ids of new ``responses``, ids of
    ``traces``, or the feedback that came ``since`` a time (default: all waiting feedback).
    """
    if feedback_times(connection) is None:
        return {}
    entry = WAITING_FEEDBACK.c
    of_trace = TRACE.c.response_id.is_not(None)
    own_source = or_(entry.owner == "", entry.owner == RESPONSE.c.source)
    own_trace = or_(entry.owner == "", entry.owner == TRACE.c.source)
    columns = (*columns_of(Feedback, WAITING_FEEDBACK), entry.id.label("row"))
    by_response = select(RESPONSE.c.id.label("response"), *columns).where(
        entry.response_key == RESPONSE.c.external_id, own_source
    )
    by_trace = select(TRACE.c.response_id.label("response"), *columns).where(
        entry.trace_key == TRACE.c.external_id, of_trace, own_trace
    )
    by_span = select(TRACE.c.response_id.label("response"), *columns).where(
        entry.span_key == SPAN.c.external_id, SPAN.c.trace_id == TRACE.c.id, of_trace, own_trace
    )
    queries = [by_response, by_trace, by_span]
    if responses is not None:
        queries = [by_response.where(RESPONSE.c.id.in_(listed(connection, responses)))]
    elif traces is not None:
        queries = [
            query.where(TRACE.c.id.in_(listed(connection, traces))) for query in (by_trace, by_span)
        ]
    elif ids is not None:
        queries = [query.where(entry.id.in_(listed(connection, ids))) for query in queries]
    elif since is not None:
        queries = [query.where(entry.received_at >= since) for query in queries]
    entries: dict[int, tuple[int, Feedback]] = {}
    for query in queries:
        # Sorted here, because SQLite would read all answers to read them in order.
        for row in sorted(connection.execute(query), key=attrgetter("response")):
            entries.setdefault(row.row, (row.response, record_of(Feedback, row)))
    if entries:
        connection.execute(
            delete(WAITING_FEEDBACK).where(entry.id.in_(listed(connection, entries)))
        )
    return grouped(entries[id_] for id_ in sorted(entries))


def expire_feedback(connection: Connection, before: datetime, now: datetime) -> None:
    """Delete feedback that came ``before`` a time and has no answer yet."""
    statement = delete(WAITING_FEEDBACK).where(WAITING_FEEDBACK.c.received_at < before)
    if entries := connection.execute(statement).rowcount:
        record_event(
            connection, "expire_feedback", "receiver", details={"entries": entries}, now=now
        )


@dataclass(frozen=True, slots=True)
class SourceState:
    """The traces of a source by state; ``last_at`` is the arrival of the latest span."""

    source: str
    made: int
    none: int
    waiting: int
    last_at: datetime

    @property
    def traces(self) -> int:
        """All traces of the source."""
        return self.made + self.none + self.waiting


def list_sources(connection: Connection) -> list[SourceState]:
    """Return every source that sent traces, by name."""
    numbers = [func.count().filter(TRACE.c.state == state) for state in (MADE, NONE, WAITING)]
    query = select(TRACE.c.source, *numbers, func.max(TRACE.c.last_at)).where(
        TRACE.c.state != FORGOTTEN
    )
    rows = connection.execute(query.group_by(TRACE.c.source).order_by(TRACE.c.source))
    return [SourceState(*row) for row in rows]


def last_spans(connection: Connection) -> dict[str, datetime]:
    """Return when the last span of each source came, by source."""
    times: dict[str, datetime] = {}
    for source in _sources(connection):
        for state in (
            MADE,
            NONE,
            WAITING,
        ):  # one query each: the index has the latest trace of a source and a state
            of_state = TRACE.c.source == source, TRACE.c.state == state
            last_at = connection.scalar(select(func.max(TRACE.c.last_at)).where(*of_state))
            if last_at is not None:
                times[source] = max(last_at, times.get(source, last_at))
    return times


def latest_traces(
    connection: Connection, source: str | None = None, *, unused: bool = False, limit: int = 50
) -> list[Trace]:
    """Return the latest traces of a source (default: of all), newest first; ``unused`` traces have no answer."""
    sources = _sources(connection) if source is None else [source]
    traces: list[Trace] = []
    for name, state in product(
        sources, [NONE] if unused else [MADE, NONE, WAITING]
    ):  # each in the order of the index
        query = select(Trace).where(TRACE.c.source == name, TRACE.c.state == state)
        latest = query.order_by(TRACE.c.last_at.desc(), TRACE.c.id.desc()).limit(limit)
        traces += rows_of(connection, latest)
    return sorted(traces, key=lambda trace: (trace.last_at, trace.id), reverse=True)[:limit]


def trace_of_response(connection: Connection, response_id: int) -> Trace | None:
    """Return the (first) trace of a response; None if no trace was received or the trace is hidden."""
    query = select(Trace).where(TRACE.c.response_id == response_id).order_by(TRACE.c.id)
    return first_row(connection, query)


def _sources(connection: Connection) -> list[str]:
    """Return the names of the sources. One query per source uses the index; a DISTINCT would read every trace."""
    names: list[str] = []
    name = connection.scalar(select(func.min(TRACE.c.source)))
    while name is not None:
        names.append(name)
        name = connection.scalar(select(func.min(TRACE.c.source)).where(TRACE.c.source > name))
    return names


@dataclass(frozen=True, slots=True)
class UnusedTraces:
    """The number of traces without an answer; the source with most such traces, and the most common recent reason."""

    traces: int
    source: str
    of_source: int
    reason: str | None


def unused_traces(connection: Connection, since: datetime) -> UnusedTraces | None:
    """Return the traces without an answer whose last span came ``since`` a time; None without such traces."""
    conditions = TRACE.c.state == NONE, TRACE.c.last_at >= since
    counts = {
        name: count_rows(connection, TRACE, TRACE.c.source == name, *conditions)
        for name in _sources(connection)
    }
    if not any(counts.values()):
        return None
    source = max(counts, key=counts.__getitem__)
    traces = latest_traces(connection, source, unused=True, limit=min(counts[source], _RECENT))
    reasons = Counter(trace.reason for trace in traces if trace.reason).most_common(1)
    return UnusedTraces(
        sum(counts.values()), source, counts[source], reasons[0][0] if reasons else None
    )


def count_waiting_feedback(connection: Connection) -> int:
    """Return the number of feedback entries whose answer has not come."""
    return count_rows(connection, WAITING_FEEDBACK)
