"""Whether the server is ready, and what it logs of a request that it cannot store."""

from pathlib import Path

from sqlalchemy import create_engine, event, text

from judgeboard.store.engine import ONE_PAGE, Store
from sent_traces import receiving


def test_a_server_is_ready_while_its_database_can_be_used(store):
    with receiving(store, "203.0.113.9") as http:
        assert http.get("/readyz").status_code == 200
        assert http.get("/healthz").text == "ok"
        with store.writing() as connection:
            connection.execute(text("UPDATE alembic_version SET version_num = '0001'"))
        old = http.get("/readyz")
        with store.writing() as connection:
            connection.execute(text("DROP TABLE alembic_version"))
        gone = http.get("/readyz")
        assert http.get("/healthz").status_code == 200
    assert old.status_code == 503
    assert "judgeboard db migrate" in old.text
    assert gone.status_code == 503
    assert gone.text.endswith("read")
    assert str(store.engine.url.database) not in old.text + gone.text


def test_a_server_is_not_ready_while_its_database_does_not_answer():
    gone = create_engine("postgresql+psycopg://judge:secret@127.0.0.1:1/log")
    with receiving(Store(gone), "203.0.113.9") as http:
        reply = http.get("/readyz")
        assert reply.status_code == 503
        assert reply.text.endswith("read")
        assert http.get("/healthz").status_code == 200


def test_a_server_is_not_ready_while_nothing_can_be_written(store, caplog):
    with receiving(store, "203.0.113.9") as http:
        assert http.get("/readyz").status_code == 200

        def refuse(connection, *_):
            statement = "PRAGMA query_only = ON" if store.is_sqlite else "SET TRANSACTION READ ONLY"
            connection.cursor().execute(statement)

        event.listen(store.engine, "checkout", refuse)
        reply = http.get("/readyz")
        event.remove(store.engine, "checkout", refuse)
    assert reply.status_code == 503
    assert "written" in reply.text
    assert [record.getMessage().partition(": not ready: ")[0] for record in caplog.records] == [
        "GET /readyz"
    ]


def test_a_server_is_not_ready_while_only_small_rows_can_be_written_and_its_probe_leaves_nothing(
    sqlite_store,
):
    file = Path(str(sqlite_store.engine.url.database))
    log = Path(f"{file}-wal")

    def fill_up(connection, *_):
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
    assert reply.status_code == 503
    assert "written" in reply.text


def test_a_request_that_cannot_be_stored_is_one_log_line_with_route_and_cause(
    sqlite_store, http, caplog
):
    with sqlite_store.writing() as connection:
        fault = "SELECT RAISE(ABORT, 'database or disk is full')"
        connection.exec_driver_sql(
            f"CREATE TRIGGER bad BEFORE INSERT ON response BEGIN {fault}; END"
        )
    assert (
        http.post(
            "/api/responses", json={"id": "1", "query": "q", "answer": "a secret"}
        ).status_code
        == 503
    )
    (line,) = [record.getMessage() for record in caplog.records]
    cause = "database or disk is full (free some disk space and try again)"
    assert line == f"POST '/api/responses' failed: {cause}"


def test_a_lost_file_is_not_made_again(sqlite_store, http):
    file = Path(str(sqlite_store.engine.url.database))
    assert http.get("/readyz").status_code == 200
    file.unlink()
    assert http.get("/readyz").status_code == 503
    assert not file.exists()
