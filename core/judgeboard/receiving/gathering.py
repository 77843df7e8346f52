"""Makes responses of the traces that are ready, in a thread of the server.

Results of evaluations (OpenTelemetry) and scores of Langfuse are log records of the trace, and wait
with the spans. When the trace has an answer, thumbs become feedback on the answer, and other scores
become a verdict of the evaluator.
"""

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import accumulate
from shlex import quote
from typing import NamedTuple

from sqlalchemy import Connection, select
from sqlalchemy.exc import OperationalError

from judgeboard.domain import Feedback
from judgeboard.imports.exports.entry import user_feedback
from judgeboard.imports.exports.traced import Score, scored, scores_of
from judgeboard.imports.fields import Cells, Unusable
from judgeboard.imports.recorded import VerdictImport
from judgeboard.imports.responses import feedback_in
from judgeboard.receiving.keys import Sender
from judgeboard.settings.model import load_settings
from judgeboard.store.clock import utc_now
from judgeboard.store.engine import Store
from judgeboard.store.outages import is_outage, reason_of
from judgeboard.store.responses import responses_named
from judgeboard.store.storing import add_feedback, reapply_flags, store_responses
from judgeboard.store.tables import RESPONSE, Trace
from judgeboard.store.traces import (
    LATE,
    TraceOutcome,
    complete_response,
    expire_feedback,
    feedback_times,
    lock_unchanged,
    ready_traces,
    records_of,
    rules_by_source,
    store_outcomes,
    take_feedback,
    traces_wait,
)
from judgeboard.text import storable
from judgeboard.traces.answers import Taken, answer_of, time_at
from judgeboard.traces.maps import SCORE, Rule, scales_of
from judgeboard.traces.spans import LogRecord, Span

POLL_SECONDS = 0.5  # while a trace waits for its end
IDLE_SECONDS = 15.0  # while none waits; a request ends this pause
BUSY_SECONDS = 0.01  # between two looks whether requests are under way
FEEDBACK_SECONDS = 5.0  # between two looks at waiting feedback
RECENT_SECONDS = 60.0  # an answer finds earlier feedback; simultaneous feedback, for so long
AT_ONCE, MOST_SPANS = 200, 2_000  # traces and spans of one round, which are in memory
MOST_RECORDS = 10_000  # spans and log records of a larger trace, which has a separate round
ELSEWHERE = "The answer of this trace was pulled or imported before, and does not change."

_log = logging.getLogger("judgeboard.receiving")


class Gatherer:
    """A thread that gathers traces. Several threads on one database do no harm: a trace becomes an answer only once."""

    def __init__(self, store: Callable[[], Store], is_busy: Callable[[], bool]) -> None:
        self._store = store
        self._is_busy = is_busy
        self._closing = threading.Event()
        self._news = threading.Event()
        self._thread = threading.Thread(target=self._work, name="judgeboard-gathering", daemon=True)

    def start(self) -> None:
        """Start to gather."""
        self._thread.start()

    def stop(self) -> None:
        """End after the round that is under way."""
        self._closing.set()
        self._news.set()
        self._thread.join()

    def wake(self) -> None:
        """Look again soon: a trace has come."""
        self._news.set()

    def _work(self) -> None:
        looked: datetime | None = None
        while not self._closing.is_set():
            outcomes, waiting, began = 0, True, time.monotonic()
            self._news.clear()
            try:
                now = utc_now()
                outcomes = gather(self._store(), now)
                with self._store().reading() as connection:
                    waiting = traces_wait(connection)
                if looked is None or now - looked > timedelta(seconds=FEEDBACK_SECONDS):
                    since = None if looked is None else looked - timedelta(seconds=RECENT_SECONDS)
                    attach_feedback(self._store(), now, since)
                    looked = now
            except Exception as error:  # noqa: BLE001 - the database may come back
                if isinstance(error, OperationalError):
                    _log.warning("cannot gather: %s", reason_of(error))
                else:
                    _log.error("cannot gather", exc_info=error)
                self._closing.wait(FEEDBACK_SECONDS)
            if not waiting and not self._closing.is_set():
                self._news.wait(IDLE_SECONDS)
            elif not outcomes:
                self._closing.wait(POLL_SECONDS)
            # Requests come first: senders wait, and give up after seconds.
            until = time.monotonic() + min(2.0, 2 * (time.monotonic() - began))
            while outcomes and self._is_busy() and time.monotonic() < until:
                if self._closing.wait(BUSY_SECONDS):
                    break


def gather(store: Store, now: datetime) -> int:
    """Make answers of the traces that are ready, at most 200; return how many. Idempotent."""
    settings = load_settings()
    quiet = timedelta(seconds=settings.trace_quiet)
    longest = timedelta(seconds=settings.trace_longest)
    with store.reading() as connection:
        ready = ready_traces(connection, now, quiet=quiet, longest=longest, limit=AT_ONCE)
        sizes = accumulate(trace.spans for trace in ready)
        ready = [
            trace for trace, size in zip(ready, sizes, strict=True) if size <= MOST_SPANS
        ] or ready[:1]
        if not ready:
            return 0
        records = records_of(connection, [trace.id for trace in ready], MOST_RECORDS)
        rules = rules_by_source(connection)
    results = {trace.id: _taken(trace, *records[trace.id], rules) for trace in ready}
    try:
        return _store_answers(store, ready, results, now)
    except Exception as error:
        if is_outage(error):
            raise
        # One trace must not stop the others.
        return sum(_store_alone(store, trace, results[trace.id], now) for trace in ready)


def attach_feedback(store: Store, now: datetime, since: datetime | None = None) -> None:
    """Move feedback that came ``since`` a time (default: all) to answers, and delete feedback that waited too long."""
    expired = now - timedelta(days=load_settings().feedback_days)
    with store.reading() as connection:
        times = feedback_times(connection)
    if times is None or (times[0] >= expired and since is not None and times[1] < since):
        return
    with store.writing() as connection:
        add_feedback(connection, take_feedback(connection, since=since), (), None, now)
        expire_feedback(connection, expired, now)


class _Read(NamedTuple):
    """The results of a trace's records: source, answer, and the scores of other evaluators."""

    source: str
    result: Taken
    scores: Sequence[Score] = ()


def _taken(
    trace: Trace,
    spans: Sequence[Span],
    logs: Sequence[LogRecord],
    rules: Mapping[str, Sequence[Rule]],
) -> _Read:
    records: list[Span | LogRecord] = [*spans, *logs]
    # A root comes first, then the time decides.
    first = min(
        records,
        key=lambda record: (
            (record.parent_id is not None, record.started_ns)
            if isinstance(record, Span)
            else (True, record.at_ns)
        ),
    )
    # The first answer names the source: the root of another service may come later, and must not
    # make a second answer.
    known_source = trace.source if trace.response_id is not None else None
    source = trace.owner or known_source or Sender().source_of(first.resource)
    try:
        result = answer_of(spans, logs, rules.get(source, ()), source)
        if trace.spans > MOST_RECORDS:
            half, total = f"{MOST_RECORDS // 2:,}", f"{trace.spans:,}"
            partial = (
                f"Only the first and the last {half} of {total} spans and log records were read."
            )
            result = replace(result, reason=" ".join(filter(None, (result.reason, partial))))
        scales = scales_of(rules.get(source, ()))
        scores = [replace(score, scale=scales.get(score.name)) for score in scores_of(spans, logs)]
        return _Read(source, result, scores)
    except Exception:  # noqa: BLE001 - any text may come; the trace says so
        _log.exception("trace %s cannot be read", trace.external_id)
        return _Read(
            source, Taken(None, "The trace cannot be read; the server's log has the details.")
        )


def _store_answers(
    store: Store, ready: Sequence[Trace], results: dict[int, _Read], now: datetime
) -> int:
    """Store the answers of the traces that did not change after reading, and return how many."""
    with store.writing() as connection:
        unchanged = lock_unchanged(connection, ready)
        traces = [trace for trace in ready if trace.id in unchanged]
        elsewhere = _stored_elsewhere(connection, traces, results)
        with_answer = [
            trace
            for trace in traces
            if trace.id not in elsewhere and results[trace.id].result.response is not None
        ]
        responses = [
            answer
            for trace in with_answer
            if (answer := results[trace.id].result.response) is not None
        ]
        outcome = store_responses(connection, responses, now=now)
        response_ids = elsewhere | {
            trace.id: id_ for trace, id_ in zip(with_answer, outcome.ids, strict=True)
        }
        # Answers that came another way: the trace must never change such an answer.
        new = set(outcome.new)
        others = {
            trace.id
            for trace in traces
            if (id_ := response_ids.get(trace.id)) is not None
            and id_ not in new
            and (trace.response_id != id_ or not trace.used)
        }
        reasons = {trace.id: results[trace.id].result.reason for trace in traces} | dict.fromkeys(
            others, ELSEWHERE
        )
        for index in outcome.differing:
            trace = with_answer[index]
            if trace.id not in others:
                answer_id = response_ids[trace.id]
                if complete_response(connection, answer_id, responses[index]):
                    reasons[trace.id] = None
                    reapply_flags(connection, [answer_id], now)
                else:
                    reasons[trace.id] = LATE
        outcomes = []
        for trace in traces:
            source, result, _ = results[trace.id]
            response_id = response_ids.get(trace.id, trace.response_id)
            uses = () if trace.id in others else result.used or trace.used or ()
            outcomes.append(TraceOutcome(trace.id, source, response_id, reasons[trace.id], uses))
        scores = {
            each.response_id: results[each.id].scores
            for each in outcomes
            if each.response_id is not None
        }
        unused = store_scores(
            connection, {id_: of_answer for id_, of_answer in scores.items() if of_answer}, now
        )
        store_outcomes(
            connection,
            [
                _with_unused(each, unused.get(each.response_id or 0, ()), results[each.id].scores)
                for each in outcomes
            ],
        )
        add_feedback(connection, take_feedback(connection, traces=unchanged), (), None, now)
    return len(outcomes)


def _with_unused(
    outcome: TraceOutcome, numbers: Sequence[str], scores: Sequence[Score]
) -> TraceOutcome:
    """Return an outcome that names the unused scores: ``numbers`` on unknown scales, people's, sessions'."""
    why = []
    if numbers:
        rule = f"judgeboard sources map {quote(outcome.source)} {quote(f'{SCORE}{numbers[0]}=1-5')}"
        names = ", ".join(numbers)
        why.append(
            f"Scores that are not between 0 and 1 are not used: {names}. Name their scale, such as `{rule}`."
        )
    if sessions := [each.name for each in scores if each.of_session]:
        why.append(f"Scores of sessions are not used: {', '.join(sessions)}.")
    by_people = [each for each in scores if each.human and not each.of_session]
    if people := [each.name for each in by_people if user_feedback(each.name, each.value) is None]:
        names = ", ".join(people)
        why.append(
            f"Annotations of people are not used: {names}. `judgeboard import` reads them from a file of spans."
        )
    if not why:
        return outcome
    return replace(outcome, reason=storable(" ".join(filter(None, (outcome.reason, *why))))[0])


def _stored_elsewhere(
    connection: Connection, traces: Sequence[Trace], results: Mapping[int, _Read]
) -> dict[int, int]:
    """Return, by trace, the response with the trace's id in another source; none for traces of a source's key."""
    with_answer = [
        trace
        for trace in traces
        if not trace.owner and results[trace.id].result.response is not None
    ]
    responses = (
        responses_named(connection, {trace.external_id for trace in with_answer})
        if with_answer
        else {}
    )
    return {
        trace.id: same_id[0].id
        for trace in with_answer
        if (same_id := responses.get(trace.external_id))
        and results[trace.id].source not in {each.source for each in same_id}
    }


def _store_alone(store: Store, trace: Trace, result: _Read, now: datetime) -> int:
    try:
        return _store_answers(store, [trace], {trace.id: result}, now)
    except Exception as error:
        if is_outage(error):
            raise
        _log.exception("trace %s cannot be stored", trace.external_id)
        with store.writing() as connection:
            if not lock_unchanged(connection, [trace]):
                return 0
            why = f"The answer cannot be stored ({type(error).__name__}); the server's log has the details."
            outcome = TraceOutcome(
                trace.id, result.source, trace.response_id, why, trace.used or ()
            )
            store_outcomes(connection, [outcome])
        return 1


ACTOR = "receiver"


def store_scores(
    connection: Connection, scores: Mapping[int, Sequence[Score]], now: datetime
) -> dict[int, list[str]]:
    """Store the new scores of answers by response.

    Return, by response, the names of unused scores, whose scale is unknown.
    """
    query = select(RESPONSE.c.id, RESPONSE.c.external_id, RESPONSE.c.source).where(
        RESPONSE.c.id.in_(scores)
    )
    kind = VerdictImport(None, ACTOR)
    kind.newer_counts = True
    verdicts = []
    feedback: dict[int, tuple[Feedback, ...]] = {}
    unused: dict[int, list[str]] = {}
    for response_id, external_id, source in connection.execute(query).all() if scores else ():
        entry = scored(scores[response_id])
        # Keep the time: when the trace is read again, its thumbs must not be newer than later
        # feedback.
        parts = [
            part | ({"at": at} if (at := time_at(score.at_ns)) else {})
            for score in scores[response_id]
            if not score.of_session
            and (part := user_feedback(score.name, score.value, score.reason)) is not None
        ]
        feedback[response_id] = feedback_in(Cells.of({"feedback": parts}))
        for row in entry.verdicts:
            numbers = [
                name for name, value in row.get("raw", {}).items() if isinstance(value, int | float)
            ]
            if numbers:
                unused.setdefault(response_id, []).extend(numbers)
            if row.get("status") != "error":  # only scores on other scales
                with suppress(Unusable):
                    verdicts.append(
                        kind.build(Cells.of({"external_id": external_id, "source": source, **row}))
                    )
    add_feedback(connection, feedback, (), None, now)
    if verdicts:
        kind.store(connection, verdicts, now)
    return unused
