"""A SQLite file that can only be read: one line says so and what to do."""

import pytest
from sqlalchemy import event

from judgeboard.errors import BadInput
from judgeboard.store.engine import Store
from judgeboard.store.settings import set_setting

GIVE_RIGHTS = "this user needs write access to the file and its folder"


def test_a_write_that_is_not_possible_says_what_to_do(sqlite_store: Store) -> None:
    sqlite_store.close()
    event.listen(sqlite_store.engine, "connect", lambda raw, _record: raw.execute("PRAGMA query_only = ON"))
    with pytest.raises(BadInput, match=GIVE_RIGHTS), sqlite_store.writing() as connection:
        set_setting(connection, "low_quality", 1, "Mara")
