"""The figures for Prometheus are those of the database, and whether the server is ready."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics_in
from prometheus_client.parser import text_string_to_metric_families as metrics_in
from sqlalchemy import create_engine, event, text

from judgeboard.domain import Status, Verdict
from judgeboard.receiving.keys import create_key
from judgeboard.receiving.metrics import Metrics
from judgeboard.runs.judging_rules import add_rule, rule_progress
from judgeboard.store.engine import ONE_PAGE, Store
from judgeboard.store.jobs import register_worker
from judgeboard.store.judge_versions import get_version
from judgeboard.store.judgments import NewJudgment
from judgeboard.store.overview import count_flags, count_judgments, count_open_flags
from judgeboard.store.storing import store_judgments
from judgeboard.store.traces import list_sources
from query_plans import statements_of
from queue_case import queue_case
from sent_traces import PROTOBUF, Sent, gathered, receiving, request, trace

Figures = dict[tuple[str, tuple[str, ...]], float]
COUNTING_TRACES = "FROM trace GROUP BY"


def figures_in(page: str, read=metrics_in) -> Figures:
    return {
        (sample.name.removeprefix("judgeboard_"), tuple(sample.labels.values())): sample.value
        for family in read(page)
        for sample in family.samples
        if sample.name.startswith("judgeboard_")
    }


def test_the_figures_are_those_of_the_database(store: Store) -> None:
    case = queue_case(store)
    case.now = datetime.now(UTC)
    case.flagged(0.1, 0.2, 0.3, 0.9)
    with store.writing() as connection:
        version = get_version(connection, "rag")
        failed = NewJudgment(1, 9, 0, Verdict(Status.UNPARSABLE, cost_micro=1_500_000))
        store_judgments(connection, version, None, [failed], case.now)
        register_worker(connection, "w")
    case.queue()
    case.review(case.mara)
    case.lease(case.jon)
    add_rule(store, 'a "rule"', judge={"kind": "lexical"}, existing=True, actor="test")
    with receiving(store) as http:
        for body in (request([*trace(1), *trace(2)]), request([Sent(3, 1)]), b"\xff"):
            http.post("/v1/traces", content=body, headers=PROTOBUF)
        gathered(store)
        with statements_of(store) as sent:
            page = http.get("/metrics")
            figures = figures_in(page.text)
            again = http.get(
                "/metrics", headers={"accept": "application/openmetrics-text; version=1.0.0"}
            )
        assert (
            sum(COUNTING_TRACES in statement for statement in sent) == 1
        )  # the second scrape counts nothing
        assert page.headers["content-type"].startswith("text/plain")
        assert (
            figures_in(again.text, openmetrics_in).items() >= {("reviews_total", ()): 1.0}.items()
        )

    with store.reading() as connection:
        (shop,) = list_sources(connection)
        flags, open_flags = count_flags(connection), count_open_flags(connection)
        judged = count_judgments(connection)[version.id]
    (rule,) = rule_progress(store)
    assert {labels: n for (name, labels), n in figures.items() if name == "flags"} == {
        (rule_, state): n for rule_, states in flags.items() for state, n in states.items()
    }
    assert (
        sum(n for (name, labels), n in figures.items() if name == "flags" and labels[1] == "open")
        == open_flags
        > 0
    )
    assert judged.unparsable == 1
    expected = {
        ("traces", ("shop", "made")): shop.made,
        ("traces", ("shop", "waiting")): shop.waiting,
        ("spans_total", ()): 5,
        ("last_span_timestamp_seconds", ("shop",)): shop.last_at.timestamp(),
        ("responses_total", ("shop",)): 2,
        ("responses_total", ("log",)): 4,
        ("requests_total", ("unknown", "200")): 2,
        ("requests_total", ("unknown", "400")): 1,
        ("judgments_total", ("rag v1", "ok")): judged.ok,
        ("judgments_total", ("rag v1", "unparsable")): 1,
        ("judgments_unpriced_total", ("rag v1",)): judged.ok,
        ("judgment_cost_dollars_total", ("rag v1",)): 1.5,
        ("judging_waiting", ('a "rule"',)): rule.waiting,
        ("judging_oldest_timestamp_seconds", ('a "rule"',)): rule.oldest
        and rule.oldest.timestamp(),
        ("judging_rule_state", ('a "rule"', "active")): 1,
        ("judging_rule_state", ('a "rule"', "paused")): 0,
        ("judging_cost_today_dollars", ('a "rule"',)): 0,
        ("queue_items", ("q", "open")): 2,
        ("queue_leased_items", ("q",)): 1,
        ("reviews_total", ()): 1,
        ("jobs", ("waiting",)): 0,
        ("workers", ()): 1,
    }
    assert {key: figures.get(key) for key in expected} == expected


def test_other_machines_read_the_figures_with_a_key_that_may_read(sqlite_store: Store) -> None:
    with receiving(sqlite_store, "203.0.113.9") as http:
        assert http.get("/metrics").status_code == 401
        keys = {
            scope: create_key(sqlite_store, scope, scopes=[scope], by="test")
            for scope in ("ingest", "read")
        }
        one_source = create_key(sqlite_store, "shop", scopes=["read"], source="shop", by="test")
        for token, status in ((keys["ingest"], 403), (one_source, 403), (keys["read"], 200)):
            assert (
                http.get("/metrics", headers={"authorization": f"Bearer {token}"}).status_code
                == status
            )
        assert (
            http.post("/v1/traces", content=request(trace(1)), headers=PROTOBUF).status_code == 401
        )


def test_a_server_is_ready_while_its_database_can_be_used(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    with receiving(store, "203.0.113.9") as http:
        assert (http.get("/readyz").status_code, http.get("/healthz").text) == (200, "ok")
        with store.writing() as connection:
            connection.execute(text("UPDATE alembic_version SET version_num = '0001'"))
        old = http.get("/readyz")
        with store.writing() as connection:
            connection.execute(text("DROP TABLE alembic_version"))
        gone = http.get("/readyz")
        assert http.get("/healthz").status_code == 200
    assert (old.status_code, "judgeboard db migrate" in old.text) == (503, True)
    assert (gone.status_code, gone.text.endswith("read")) == (503, True)
    assert str(store.engine.url.database) not in old.text + gone.text


def test_a_server_is_not_ready_while_its_database_does_not_answer() -> None:
    gone = create_engine("postgresql+psycopg://judge:secret@127.0.0.1:1/log")
    with receiving(Store(gone), "203.0.113.9") as http:
        reply = http.get("/readyz")
        assert (reply.status_code, reply.text.endswith("read")) == (503, True)
        assert http.get("/healthz").status_code == 200


def test_a_server_is_not_ready_while_nothing_can_be_written(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    with receiving(store, "203.0.113.9") as http:
        assert http.get("/readyz").status_code == 200

        def refuse(connection: Any, *_: object) -> None:
            statement = "PRAGMA query_only = ON" if store.is_sqlite else "SET TRANSACTION READ ONLY"
            connection.cursor().execute(statement)

        event.listen(store.engine, "checkout", refuse)
        reply = http.get("/readyz")
        event.remove(store.engine, "checkout", refuse)
    assert (reply.status_code, "written" in reply.text) == (503, True)
    assert [record.getMessage().partition(": not ready: ")[0] for record in caplog.records] == [
        "GET /readyz"
    ]


def test_a_server_is_not_ready_while_only_small_rows_can_be_written_and_its_probe_leaves_nothing(
    sqlite_store: Store,
) -> None:
    file = Path(str(sqlite_store.engine.url.database))
    log = Path(f"{file}-wal")

    def fill_up(connection: Any, *_: object) -> None:
        (pages,) = connection.cursor().execute("PRAGMA page_count").fetchone()
        connection.cursor().execute(f"PRAGMA max_page_count = {pages + 4}")

    with receiving(sqlite_store, "203.0.113.9") as http:
        assert http.get("/readyz").status_code == 200
        sizes = file.stat().st_size, log.stat().st_size
        # A long answer reached the disk.
        assert sizes[1] > 64 * 1024
        assert [http.get("/readyz").status_code for _ in range(5)] == [200] * 5
        assert file.stat().st_size == sizes[0]
        # It was written over the one before.
        assert log.stat().st_size < sizes[1] + 6 * (ONE_PAGE + 24)
        event.listen(sqlite_store.engine, "checkout", fill_up)
        reply = http.get("/readyz")
        event.remove(sqlite_store.engine, "checkout", fill_up)
    assert (reply.status_code, "written" in reply.text) == (503, True)


def test_a_request_that_cannot_be_stored_is_one_log_line_with_route_and_cause(
    sqlite_store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    with sqlite_store.writing() as connection:
        fault = "SELECT RAISE(ABORT, 'database or disk is full')"
        connection.exec_driver_sql(
            f"CREATE TRIGGER bad BEFORE INSERT ON response BEGIN {fault}; END"
        )
    with receiving(sqlite_store) as http:
        assert (
            http.post(
                "/api/responses", json={"id": "1", "query": "q", "answer": "a secret"}
            ).status_code
            == 503
        )
    (line,) = [record.getMessage() for record in caplog.records]
    cause = "database or disk is full (free some disk space and try again)"
    assert line == f"POST '/api/responses' failed: {cause}"


def test_a_lost_file_is_not_made_again(sqlite_store: Store) -> None:
    file = Path(str(sqlite_store.engine.url.database))
    with receiving(sqlite_store) as http:
        assert http.get("/readyz").status_code == 200
        file.unlink()
        assert http.get("/readyz").status_code == 503
    assert not file.exists()


def test_a_request_during_a_scrape_does_not_break_the_page(sqlite_store: Store) -> None:
    requests: dict[tuple[str, int], int] = {}

    class CountedMeanwhile(int):
        def __str__(self) -> str:
            requests["another key", 401] = 1
            return "200"

    requests["a key", CountedMeanwhile(200)] = 1
    page, _ = Metrics(lambda: sqlite_store, requests).page("text/plain")
    assert figures_in(page.decode())["requests_total", ("a key", "200")] == 1
