"""A copy has every row, figure and export of its source on both engines; killed ones go on where they stopped."""

import sqlite3
from contextlib import closing

import pytest
from sqlalchemy import delete, func, insert, select, text, update
from sqlalchemy.exc import DatabaseError

from command_lines import run_line
from judgeboard.domain import RunState
from judgeboard.errors import BadInput, SchemaMismatch
from judgeboard.runs.locks import hold_run
from judgeboard.store import copying
from judgeboard.store.changes import Changes
from judgeboard.store.columns import row_of
from judgeboard.store.copying import copy_database
from judgeboard.store.engine import Store, connect, database_url
from judgeboard.store.jobs import record_heartbeat
from judgeboard.store.metadata import index_metadata, indexed_fields
from judgeboard.store.opening import current_revision, open_store, upgrade
from judgeboard.store.tables import CHANGE, METADATA, RESPONSE, REVIEWER, RUN, WORKER
from judging_log import address
from killed_at import copy, copy_in_small_batches, count_moments, kill_at
from released_database import FIGURES, assign_blind_queues, command, load
from stored_rows import NOW, made_row, read, row_count, rows_of, write_to

COPIED = [table for table in METADATA.sorted_tables if not row_of(table).of_process]
PERSON = {
    "origin": "import",
    "name": "Ĵo \N{REPLACEMENT CHARACTER}'\\",
    "role": "reviewer",
    "created_at": NOW,
}


def new(place):
    """A database without tables, open."""
    return Store(connect(database_url(place), create=True))


def fill_every_table(store, folder):
    """Store the log of a released database, and a row in each table that it leaves empty."""
    folder.mkdir()
    load(store, "0007", folder)
    upgrade(store)
    assign_blind_queues(store)
    index_metadata(store, "tenant")
    ids = {}
    for table in METADATA.sorted_tables:
        with store.writing() as connection:
            if not connection.scalar(select(func.count()).select_from(table)):
                connection.execute(insert(table), made_row(table, ids, whole=True))
            if "id" in table.c and table.name != "job":
                ids[table.name] = connection.scalar(select(func.max(table.c.id)))
    with store.writing() as connection:  # a row that refers to a later one
        first, later = (
            connection.execute(
                insert(REVIEWER), PERSON | {"origin": origin}
            ).inserted_primary_key.id
            for origin in ("import", "page")
        )
        connection.execute(update(REVIEWER).where(REVIEWER.c.id == first).values(same_as=later))


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def source(request, tmp_path, fill_once):
    """A database of each engine with rows in every table."""
    postgres = request.param == "postgres"
    place = request.getfixturevalue("empty_postgres") if postgres else tmp_path / "source.db"
    with closing(new(place)) as store:
        fill_once("every table", store, lambda each: fill_every_table(each, tmp_path / "released"))
        yield store


@pytest.fixture
def other_engine(source, tmp_path, request):
    """The address of an empty database of the other engine."""
    if source.is_sqlite:
        return request.getfixturevalue("empty_postgres")
    return str(tmp_path / "target.db")


@pytest.fixture
def counts(source, other_engine, fill_once):
    """The numbers of rows of a copy of the source on the other engine, copied once for all tests."""
    with closing(new(other_engine)) as target:
        return fill_once("copy", target, lambda _: copy(address(source), other_engine))


def stored(store):
    """All rows of the tables that are copied."""
    with store.reading() as connection:
        return {
            table.name: sorted(map(repr, connection.execute(select(table)))) for table in COPIED
        }


def texts_of(place):
    """All rows of a SQLite file as the file has them."""
    rows = {}
    with closing(sqlite3.connect(place)) as file:
        for table in COPIED:
            columns = ", ".join(f'"{name}"' for name in table.c.keys())  # noqa: SIM118 - no dict
            stored_rows = file.execute(f'SELECT {columns} FROM "{table.name}"')
            rows[table.name] = sorted(map(repr, stored_rows))
    return rows


def shown(database, folder):
    """What every export and every figure prints."""
    command("export", "all", "--format", "jsonl", "-o", str(folder), database=database)
    exported = {path.name: path.read_text(encoding="utf-8") for path in folder.glob("*.jsonl")}
    assert exported
    return exported | {
        name: command(*words, "--json", database=database) for name, words in FIGURES.items()
    }


def test_a_copy_has_every_row_and_shows_the_same_figures_and_exports(
    source, other_engine, counts, tmp_path
):
    before = stored(source)
    assert all(before.values()), "each table has rows"
    assert counts == {name: len(rows) for name, rows in before.items()}
    with closing(open_store(other_engine)) as target:
        assert stored(target) == before
        assert read(target, indexed_fields) == {"tenant"}
    expected = shown(address(source), tmp_path / "before")
    assert shown(other_engine, tmp_path / "after") == expected


@pytest.mark.postgres
@pytest.mark.parametrize("source", ["sqlite"], indirect=True)
@pytest.mark.usefixtures("counts")
def test_a_database_comes_back_as_it_was(source, other_engine, tmp_path):
    second, third = (str(tmp_path / f"{name}.db") for name in ("second", "third"))
    for place, target in ((other_engine, second), (second, third)):
        copy(place, target)
    assert texts_of(address(source)) == texts_of(second) == texts_of(third)


@pytest.mark.usefixtures("counts")
def test_a_copy_is_used_as_its_source_was(other_engine):
    with closing(open_store(other_engine)) as target:
        changes = Changes()
        read(target, changes.new)
        assert row_count(target, CHANGE) == 0
        answer = rows_of(target, RESPONSE)[-1]
        following = answer.pop("id") + 1
        row = answer | {"external_id": "new", "query": "What is xylophagous?"}
        with target.writing() as connection:
            added = connection.execute(insert(RESPONSE), row).inserted_primary_key
        assert added == (following,)
        assert read(target, changes.new) == {following}
        with pytest.raises(DatabaseError, match="append-only"), target.writing() as connection:
            connection.execute(delete(RESPONSE))
        if target.is_sqlite:
            match = text(
                "SELECT rowid FROM response_search WHERE response_search MATCH 'xylophagous'"
            )
            assert read(target, lambda each: each.scalars(match).all()) == [following]
        assert upgrade(target) == current_revision(target)


def test_a_copy_that_was_killed_goes_on_where_it_stopped(source, other_engine, tmp_path):
    before, place = stored(source), address(source)
    source.close()
    scratch = str(tmp_path / "scratch.db")
    moments = count_moments(copy_in_small_batches, place, scratch)
    revisions = set()
    with closing(new(other_engine)) as target:
        for tenth in (1, 4, 6, 8, 10):
            killed = kill_at(moments * tenth // 11, copy_in_small_batches, place, other_engine)
            revision = current_revision(target)
            revisions.add(revision and revision[:5])
            if not killed:  # what was left took fewer moments
                break
            if revision is not None:
                with pytest.raises(SchemaMismatch, match="db copy"):  # no server works on it
                    open_store(other_engine)
    assert revisions >= {None, "copy "}
    if killed:
        copy(place, other_engine)
    with closing(open_store(other_engine)) as target:
        assert stored(target) == before


def test_a_target_is_empty_or_an_unfinished_copy_of_the_same_source(source, other_engine, tmp_path):
    place = address(source)
    with pytest.raises(BadInput, match="the database itself"):
        copy(place, place)
    upgrade(target := new(other_engine))
    with target.writing() as connection:
        connection.execute(insert(REVIEWER), PERSON)
    with pytest.raises(BadInput, match="has rows"):
        copy(place, other_engine)
    with target.writing() as connection:
        connection.execute(delete(REVIEWER))
    target.close()
    # Of no rows, the tables of `db migrate` are as good as none.
    assert copy(place, other_engine)["reviewer"] == 6

    unfinished, other = str(tmp_path / "unfinished.db"), str(tmp_path / "other.db")
    open_store(other, create=True).close()
    with closing(new(unfinished)) as third:
        copying._make_bare_tables(third, copying._mark(source))
    with pytest.raises(BadInput, match="unfinished copy of another database"):
        copy(other, unfinished)
    assert copy(place, unfinished)["reviewer"] == 6


def test_a_source_that_changes_meanwhile_is_not_called_copied(source, other_engine):
    def change(done, total):
        if done == total:
            with source.writing() as connection:
                connection.execute(update(REVIEWER).where(REVIEWER.c.id == 1).values(name="other"))

    with (
        closing(new(other_engine)) as target,
        pytest.raises(BadInput, match="reviewer: row 1 is not as in the source"),
    ):
        copy_database(source, target, change)
    with pytest.raises(SchemaMismatch):
        open_store(other_engine)


def test_nothing_is_copied_while_others_work_on_the_source(source, other_engine, shell):
    line = f"db copy {address(source)} {other_engine}"
    write_to(source, record_heartbeat, "a-server")
    assert "stop them first" in shell(line, code=2)
    with source.writing() as connection:
        connection.execute(delete(WORKER))
        row = {"state": RunState.RUNNING, "finished_at": None}
        run_id = connection.scalar(
            insert(RUN).values(made_row(RUN, {}, whole=True) | row).returning(RUN.c.id)
        )
    with hold_run(source, run_id):
        assert "makes this run" in shell(line, code=2)
    with closing(new(other_engine)) as target:
        assert current_revision(target) is None


@pytest.mark.postgres
def test_the_command_shows_counts_and_no_password(sqlite_store, empty_postgres, capsys):
    with sqlite_store.writing() as connection:
        connection.execute(insert(REVIEWER), PERSON)
    target = database_url(empty_postgres).set(password="a-long-password")
    place = target.render_as_string(hide_password=False)
    for _ in range(2):  # the second time, it is an error
        code = run_line("db copy", address(sqlite_store), place)
        printed = capsys.readouterr()
        assert "a-long-password" not in printed.out + printed.err
    assert code == 2
    assert "has rows" in printed.err


@pytest.mark.postgres
def test_what_postgresql_cannot_hold_is_named(tmp_path, empty_postgres):
    place = str(tmp_path / "source.db")
    with closing(open_store(place, create=True)) as source, source.writing() as connection:
        connection.execute(insert(REVIEWER), PERSON | {"name": "a\0b"})
    with pytest.raises(BadInput, match=r"reviewer, after row 0: .*NUL"):
        copy(place, empty_postgres)
