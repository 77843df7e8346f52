"""The clock of the database counts, also for a worker whose machine has another time."""

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pytest
from sqlalchemy import DateTime, func, select

from job_steps import ANSWERS, fill
from judgeboard.runs.judging_rules import add_rule
from judgeboard.store.clock import CHECK_SECONDS, DatabaseClock
from judgeboard.store.tables import EVENT, JUDGMENT, METADATA, RUN
from judging_log import address, judgments, until
from served import fork_server
from stored_rows import read, row_count, values_of
from worker_with_other_time import work_with_other_time

TEN_MINUTES = 600


@pytest.mark.postgres
@pytest.mark.parametrize("ahead", [-TEN_MINUTES, TEN_MINUTES], ids=["slow", "fast"])
def test_a_worker_with_another_time_judges_everything_and_stores_the_time_of_the_database(
    postgres_store, ahead
):
    add_rule(postgres_store, "live", judge={"kind": "lexical"}, actor="Mara")
    began = read(postgres_store, time_of_database)
    fill(postgres_store)
    worker = fork_server().Process(
        target=work_with_other_time, args=(address(postgres_store), ahead), daemon=True
    )
    worker.start()
    try:
        until(lambda: len(judgments(postgres_store)) == ANSWERS, "a judgment of each answer")
        until(lambda: values_of(postgres_store, RUN.c.state) == ["done"], "the end of the run")
    finally:
        worker.terminate()
        worker.join()
    ended = read(postgres_store, time_of_database)
    for table in METADATA.sorted_tables:
        for column in table.columns:
            if isinstance(getattr(column.type, "impl", None), DateTime):
                times = values_of(postgres_store, column, column.is_not(None))
                strange = [time for time in times if not began - _RULE_ADDED <= time <= ended]
                assert not strange, column
    for table in (EVENT, JUDGMENT, RUN):
        assert row_count(postgres_store, table) > 0


_RULE_ADDED = timedelta(seconds=30)  # what the test stored before it read the clock


def time_of_database(connection):
    return connection.scalar(select(func.clock_timestamp()))


@pytest.fixture
def machine():
    """The seconds of a machine, and the time that its database tells, which a test sets."""
    return SimpleNamespace(seconds=1000.0, told=datetime(2026, 11, 25, 12, tzinfo=UTC))


@pytest.fixture
def clock(machine):
    return DatabaseClock(elapsed=lambda: machine.seconds)


def test_setting_the_time_of_the_machine_changes_nothing_once_the_database_told_its_time(
    machine, clock
):
    assert abs(clock.now() - datetime.now(UTC)) < timedelta(minutes=1)
    clock.set_by(lambda: machine.told, anew=True)
    machine.seconds += 30
    assert clock.now() == machine.told + timedelta(seconds=30)


def test_the_database_is_asked_once_a_minute_and_with_each_new_connection(machine, clock):
    def connect(*, anew=False):
        clock.set_by(lambda: machine.told, anew=anew)
        return clock.now() - machine.told

    connect()
    machine.told += timedelta(hours=1)
    assert connect() == -timedelta(hours=1)
    assert connect(anew=True) == timedelta(0)
    machine.seconds += CHECK_SECONDS
    assert connect() == timedelta(0)


def test_a_database_that_answers_slowly_does_not_move_a_clock_that_is_right(machine, clock):
    def tell():
        machine.seconds += 5
        return datetime.now(UTC) + timedelta(seconds=5)

    before = datetime.now(UTC)
    clock.set_by(tell, anew=True)
    assert abs(clock.now() - timedelta(seconds=5) - before) < timedelta(seconds=1)
