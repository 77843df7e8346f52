"""One process makes a run: its lock ends with the process, and is taken again if the database lost it."""

from pathlib import Path

import pytest
from sqlalchemy import text

from judgeboard.errors import BadInput
from judgeboard.runs.locks import hold_run, holder_of

RUN = 7
REFUSED = r"process \d+ on .* since \d\d:\d\d:\d\d UTC makes this run: wait for its end"


def end_connections(store):
    """End all connections but this one, as a restart of the server does."""
    with store.reading() as connection:
        others = (
            "FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        connection.execute(text(f"SELECT pg_terminate_backend(pid, 60000) {others}"))


def test_a_run_has_one_holder_at_a_time(store):
    assert holder_of(store, RUN) is None
    with hold_run(store, RUN):
        assert "process" in str(holder_of(store, RUN))
        with pytest.raises(BadInput, match=REFUSED), hold_run(store, RUN):
            pass
        with hold_run(store, RUN + 1):
            pass
    with hold_run(store, RUN):
        pass
    assert holder_of(store, RUN) is None
    if store.is_sqlite:
        assert not list(Path(str(store.engine.url.database)).parent.glob("*.lock"))


@pytest.mark.postgres
def test_a_lock_that_the_database_lost_is_taken_again_or_ends_the_run(postgres_store):
    with hold_run(postgres_store, RUN) as keep:
        end_connections(postgres_store)
        keep()
        with pytest.raises(BadInput, match=REFUSED), hold_run(postgres_store, RUN):
            pass
        end_connections(postgres_store)
        with hold_run(postgres_store, RUN), pytest.raises(BadInput, match=REFUSED):
            keep()
