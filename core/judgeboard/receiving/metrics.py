"""The figures of the service for Prometheus. The first scrape imports `prometheus_client` and the judging rules."""

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from importlib.metadata import version
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import Connection

from judgeboard.store.clock import utc_now
from judgeboard.store.engine import Readable, Store
from judgeboard.store.jobs import live_workers, unfinished_jobs
from judgeboard.store.overview import count_flags
from judgeboard.store.queues import count_items, count_leases, list_queues
from judgeboard.store.service_counts import (
    count_all_judgments,
    count_all_reviews,
    count_answers,
    count_failed_jobs,
    count_traces,
    method_costs,
    oldest_open_flags,
)
from judgeboard.store.traces import count_waiting_feedback

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry, Metric

FRESH_SECONDS = 5.0
SHARE = 0.1  # of the time may go into counting: a large database is counted less often
_MICRO = 1_000_000


class Meaning(NamedTuple):
    """What a metric counts, and its labels."""

    help: str
    labels: tuple[str, ...] = ()


METRICS: Mapping[str, Meaning] = MappingProxyType(
    {
        "traces": Meaning("Traces by source and state.", ("source", "state")),
        "spans_total": Meaning("Spans and log records stored."),
        "last_span_timestamp_seconds": Meaning(
            "Arrival of the latest span of a source.", ("source",)
        ),
        "responses_total": Meaning("Logged answers stored, by source.", ("source",)),
        "feedback_waiting": Meaning("Feedback whose answer has not come."),
        "requests_total": Meaning(
            "Requests to this process, by key and HTTP status.", ("key", "status")
        ),
        "judging_waiting": Meaning("Answers that wait for a judging rule.", ("rule",)),
        "judging_oldest_timestamp_seconds": Meaning(
            "When the oldest answer that waits was stored.", ("rule",)
        ),
        "judging_rule_state": Meaning(
            "1 for the state of a judging rule, else 0.", ("rule", "state")
        ),
        "judging_calls_today": Meaning("Calls of a judging rule since midnight UTC.", ("rule",)),
        "judging_failed_today": Meaning(
            "Calls of a judging rule without a verdict since midnight UTC.", ("rule",)
        ),
        "judging_cost_today_dollars": Meaning(
            "Cost of a judging rule since midnight UTC, if known.", ("rule",)
        ),
        "judgments_total": Meaning(
            "Judgments by judge version; all but ok are unusable.", ("judge", "status")
        ),
        "judgments_unpriced_total": Meaning("Judgments whose cost is unknown.", ("judge",)),
        "judgment_cost_dollars_total": Meaning("Known cost of judgments.", ("judge",)),
        "method_cost_dollars_total": Meaning("Known cost of other calls, by table.", ("table",)),
        "flags": Meaning("Flags by rule and state.", ("rule", "state")),
        "flag_oldest_open_timestamp_seconds": Meaning(
            "When the oldest open flag of a rule was raised.", ("rule",)
        ),
        "reviews_total": Meaning("Reviews stored, also replaced and withdrawn ones."),
        "queue_items": Meaning("Items of an open queue, by state.", ("queue", "state")),
        "queue_leased_items": Meaning(
            "Items of an open queue that a reviewer has leased.", ("queue",)
        ),
        "jobs": Meaning("Unfinished jobs by state.", ("state",)),
        "jobs_failed_total": Meaning(
            "Jobs that could not start or go on, or that stopped with answers that failed."
        ),
        "workers": Meaning("Workers with a heartbeat in the last 15 seconds."),
    }
)
"""The metrics, without the prefix `judgeboard_`. A name that ends in total is a counter, any other a gauge."""

Sample = tuple[str, tuple[str, ...], float]


def samples(store: Readable, now: datetime) -> Iterator[Sample]:
    """Yield the figures of a database: metric, values of its labels, and value."""
    from judgeboard.runs.judging_rules import RULE_STATES, rule_progress

    with store.reading() as connection:
        yield from _ingested(connection)
        yield from _judged(connection)
        yield from _reviewed(connection, now)
        yield from _worked(connection)
    for each in rule_progress(store, now):
        name = each.rule.name
        yield "judging_waiting", (name,), each.waiting
        if each.oldest is not None:
            yield "judging_oldest_timestamp_seconds", (name,), each.oldest.timestamp()
        for state in RULE_STATES:
            yield "judging_rule_state", (name, state), state == each.state
        yield "judging_calls_today", (name,), each.calls_today
        yield "judging_failed_today", (name,), each.failed_today
        if each.cost_micro is not None:
            yield "judging_cost_today_dollars", (name,), each.cost_micro / _MICRO


def _ingested(connection: Connection) -> Iterator[Sample]:
    spans, latest = 0, dict[str, float]()
    for each in count_traces(connection):
        yield "traces", (each.source, each.state), each.traces
        spans += each.spans
        latest[each.source] = max(latest.get(each.source, 0.0), each.last_at.timestamp())
    yield "spans_total", (), spans
    for source, at in latest.items():
        yield "last_span_timestamp_seconds", (source,), at
    for source, answers in count_answers(connection).items():
        yield "responses_total", (source,), answers
    yield "feedback_waiting", (), count_waiting_feedback(connection)


def _judged(connection: Connection) -> Iterator[Sample]:
    sums: dict[tuple[str, str], float] = {}
    for each in count_all_judgments(connection):
        yield "judgments_total", (each.judge, each.status), each.judgments
        for name, value in (
            ("judgments_unpriced_total", each.unpriced),
            ("judgment_cost_dollars_total", each.cost_micro / _MICRO),
        ):
            sums[name, each.judge] = sums.get((name, each.judge), 0) + value
    for (name, judge), value in sums.items():
        yield name, (judge,), value
    for table, cost in method_costs(connection).items():
        yield "method_cost_dollars_total", (table,), cost / _MICRO


def _reviewed(connection: Connection, now: datetime) -> Iterator[Sample]:
    for rule, states in count_flags(connection).items():
        for state, flags in states.items():
            yield "flags", (rule, state), flags
    for rule, raised in oldest_open_flags(connection).items():
        yield "flag_oldest_open_timestamp_seconds", (rule,), raised.timestamp()
    yield "reviews_total", (), count_all_reviews(connection)
    for queue in list_queues(connection, only_open=True):
        items: dict[str, int] = {}
        for each in count_items(connection, queue.id):
            items[each.state] = items.get(each.state, 0) + each.items
        for state, n in items.items():
            yield "queue_items", (queue.name, state), n
        yield "queue_leased_items", (queue.name,), count_leases(connection, queue.id, now)[0]


def _worked(connection: Connection) -> Iterator[Sample]:
    jobs = unfinished_jobs(connection)
    waiting = sum(job.run_id is None for job in jobs)
    yield "jobs", ("waiting",), waiting
    yield "jobs", ("running",), len(jobs) - waiting
    yield "jobs_failed_total", (), count_failed_jobs(connection)
    yield "workers", (), len(live_workers(connection))


class Metrics:
    """The page of metrics. The database is counted at most every 5 seconds, and less often if that takes long.

    ``requests`` counts the requests to this process, by key and status.
    """

    def __init__(self, store: Callable[[], Store], requests: Mapping[tuple[str, int], int]) -> None:
        self._store = store
        self._requests = requests
        self._counting = threading.Lock()
        self._counted: list[Sample] = []
        self._fresh_until = float("-inf")
        self._registry: CollectorRegistry | None = None

    def page(self, accept: str) -> tuple[bytes, str]:
        """Return the page and its media type, which the Accept header chooses. Raises the errors of the database."""
        from prometheus_client import CollectorRegistry, ProcessCollector
        from prometheus_client.exposition import choose_encoder

        with self._counting:
            if self._registry is None:
                self._registry = CollectorRegistry(auto_describe=False)
                ProcessCollector(registry=self._registry)
                self._registry.register(self)
            began = time.monotonic()
            if began >= self._fresh_until:
                self._counted = list(samples(self._store(), utc_now()))
                ended = time.monotonic()
                self._fresh_until = ended + max(FRESH_SECONDS, (ended - began) / SHARE)
            encode, media_type = choose_encoder(accept)
            return encode(self._registry), media_type

    def collect(self) -> Iterator["Metric"]:
        """Yield the metrics; `prometheus_client` calls this."""
        from prometheus_client.metrics_core import (
            CounterMetricFamily,
            GaugeMetricFamily,
            InfoMetricFamily,
        )

        about = {"version": version("judgeboard"), "database": self._store().engine.dialect.name}
        yield InfoMetricFamily("judgeboard_build", "The running program.", about)
        counted = list(
            self._requests.items()
        )  # a copy: requests are counted in other threads meanwhile
        requests = [("requests_total", (key, str(status)), n) for (key, status), n in counted]
        families: dict[str, Any] = {}
        for name, labels, value in (*self._counted, *requests):
            if name not in families:
                family = CounterMetricFamily if name.endswith("_total") else GaugeMetricFamily
                families[name] = family(
                    f"judgeboard_{name}", METRICS[name].help, labels=METRICS[name].labels
                )
            families[name].add_metric(labels, value)
        yield from families.values()
