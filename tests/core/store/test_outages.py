"""How long the threads of a run wait for a database that is away, and what they say."""

import json
import time
from itertools import count
from threading import Timer

import pytest
from sqlalchemy.exc import OperationalError

from judgeboard.imports import importing
from judgeboard.store.outages import Patience
from judgeboard.store.tables import RESPONSE
from judging_log import address
from stored_rows import row_count

REFUSED = OperationalError("SELECT", {}, Exception("connection refused"))


def test_an_outage_is_said_once_whatever_the_order_in_which_its_tries_end(caplog):
    patience = Patience(60)
    before, away = time.monotonic(), time.monotonic()
    assert patience.wait(REFUSED, away)
    patience.end_wait(before)  # a slow try that had its connection before the outage
    assert patience.wait(REFUSED, away)
    late = time.monotonic()  # begins in the outage, and fails after its end
    patience.end_wait(time.monotonic())
    assert patience.wait(REFUSED, late)
    first, again = caplog.messages
    assert "connection refused" in first
    assert "60 s" in first
    assert "used again" in again
    assert patience.wait(REFUSED, time.monotonic())
    assert len(caplog.messages) == 3


def test_who_gives_up_waits_for_no_outage():
    patience = Patience(60)
    patience.end_wait(time.monotonic())
    patience.give_up()
    assert not patience.wait(REFUSED, time.monotonic())
    assert not patience.wait(REFUSED, 0.0)


@pytest.mark.postgres
def test_commands_wait_while_postgresql_restarts_and_say_so_once(
    postgres_process, postgres_store, tmp_path, caplog, shell, monkeypatch
):
    log, exported = tmp_path / "log.jsonl", tmp_path / "answers.jsonl"
    log.write_text(
        "".join(
            json.dumps({"id": str(n), "query": "q", "answer": f"a {n}"}) + "\n" for n in range(250)
        )
    )
    batches, count_raised = count(1), importing.count_raised

    def restart():
        postgres_process.stop()
        Timer(1.5, postgres_process.start).start()

    def restart_in_the_third_batch(*arguments):
        if next(batches) == 3:
            restart()
        return count_raised(*arguments)

    monkeypatch.setattr(importing, "BATCH_ROWS", 50)
    monkeypatch.setattr(importing, "count_raised", restart_in_the_third_batch)
    imported = shell(f"import {log}", "--db", address(postgres_store))
    assert row_count(postgres_store, RESPONSE) == 250
    assert "250 new" in imported
    caplog.clear()
    restart()
    shell(f"export responses -o {exported}", "--db", address(postgres_store))
    assert caplog.text.count("cannot be used") == 1
    assert len(exported.read_text().splitlines()) == 250
