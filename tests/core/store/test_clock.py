"""The clock of the database counts, also for a worker whose machine has another time."""

from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import DateTime, func, select

from job_steps import ANSWERS, fill
from judgeboard.runs.judging_rules import add_rule
from judgeboard.store.clock import CHECK_SECONDS, DatabaseClock
from judgeboard.store.tables import EVENT, JUDGMENT, METADATA, RUN
from judging_log import address, judgments, until
from served import fork_server
from worker_with_other_time import work_with_other_time

TEN_MINUTES = 600


@pytest.mark.postgres
@pytest.mark.parametrize("ahead", [-TEN_MINUTES, TEN_MINUTES], ids=["slow", "fast"])
def test_a_worker_with_another_time_judges_everything_and_stores_the_time_of_the_database(
    postgres_store, ahead
):
    add_rule(postgres_store, "live", judge={"kind": "lexical"}, actor="Mara")
    with postgres_store.reading() as connection:
        began = connection.scalar(select(func.clock_timestamp()))
    fill(postgres_store)
    worker = fork_server().Process(
        target=work_with_other_time, args=(address(postgres_store), ahead), daemon=True
    )
    worker.start()
    try:
        until(lambda: len(judgments(postgres_store)) == ANSWERS, "a judgment of each answer")
        until(lambda: _states(postgres_store) == ["done"], "the end of the run")
    finally:
        worker.terminate()
        worker.join()
    with postgres_store.reading() as connection:
        ended = connection.scalar(select(func.clock_timestamp()))
        for table in METADATA.sorted_tables:
            for column in table.columns:
                if isinstance(getattr(column.type, "impl", None), DateTime):
                    times = connection.scalars(select(column).where(column.is_not(None))).all()
                    strange = [time for time in times if not began - _RULE_ADDED <= time <= ended]
                    assert not strange, column
        for table in (EVENT, JUDGMENT, RUN):
            assert connection.scalar(select(func.count()).select_from(table)) > 0


_RULE_ADDED = timedelta(seconds=30)  # what the test stored before it read the clock


def _states(store):
    with store.reading() as connection:
        return [str(state) for state in connection.scalars(select(RUN.c.state))]


def test_setting_the_time_of_the_machine_changes_nothing_once_the_database_told_its_time():
    seconds, told = [1000.0], [datetime(2026, 11, 25, 12, tzinfo=UTC)]
    clock = DatabaseClock(elapsed=lambda: seconds[0])
    assert abs(clock.now() - datetime.now(UTC)) < timedelta(minutes=1)
    clock.set_by(lambda: told[0], anew=True)
    seconds[0] += 30
    assert clock.now() == told[0] + timedelta(seconds=30)


def test_the_database_is_asked_once_a_minute_and_with_each_new_connection():
    seconds, told = [1000.0], [datetime(2026, 11, 25, 12, tzinfo=UTC)]
    clock = DatabaseClock(elapsed=lambda: seconds[0])
    clock.set_by(lambda: told[0], anew=False)
    told[0] += timedelta(hours=1)
    clock.set_by(lambda: told[0], anew=False)
    assert clock.now() == told[0] - timedelta(hours=1)
    clock.set_by(lambda: told[0], anew=True)
    assert clock.now() == told[0]
    seconds[0] += CHECK_SECONDS
    clock.set_by(lambda: told[0], anew=False)
    assert clock.now() == told[0]


def test_a_database_that_answers_slowly_does_not_move_a_clock_that_is_right():
    seconds = [1000.0]
    clock = DatabaseClock(elapsed=lambda: seconds[0])

    def read():
        seconds[0] += 5
        return datetime.now(UTC) + timedelta(seconds=5)

    before = datetime.now(UTC)
    clock.set_by(read, anew=True)
    assert abs(clock.now() - timedelta(seconds=5) - before) < timedelta(seconds=1)
