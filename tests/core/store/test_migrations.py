"""Migrations end at this program's tables, guards and search index; an older database is refused."""

import gzip
import io
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import sqlalchemy
from alembic.script import ScriptDirectory
from sqlalchemy import insert, make_url, select, text, update
from sqlalchemy.exc import IntegrityError

from command_lines import run_line
from job_steps import ended, working
from judgeboard.domain import AlertCondition, RunState
from judgeboard.errors import BadInput, MissingDatabase, SchemaMismatch
from judgeboard.judges import lexical
from judgeboard.receiving.keys import create_key
from judgeboard.runs.jobs import open_jobs, recent_jobs, request_rejudge
from judgeboard.store import engine, opening
from judgeboard.store.alerts import unclosed_events
from judgeboard.store.api_keys import key_of_token, list_keys, token_hash
from judgeboard.store.copying import copy_database
from judgeboard.store.engine import Store, connect
from judgeboard.store.leases import lease_taken_at
from judgeboard.store.migrations import HEAD, OLDEST, run
from judgeboard.store.migrations.run import alembic_config
from judgeboard.store.opening import current_revision, open_store, upgrade
from judgeboard.store.rules import insert_rule, rule_named
from judgeboard.store.tables import LEASE, METADATA, RESPONSE, AlertRule, Level
from judgeboard.store.triggers import install_guards, install_search
from judging_log import address, runs
from released_database import (
    FIGURES,
    LOG_FIGURES,
    assign_blind_queues,
    columns_of_tables,
    differences,
    exports,
    figures,
    load,
    rows_of_tables,
    unpack,
)
from stored_rows import made_row, read, values_of, write_to

NOW = datetime(2026, 11, 20, 9, tzinfo=UTC)
RELEASED = {
    "0007": "be5264f6"
}  # revisions of which a database is recorded, each with its last commit


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def empty(request, tmp_path):
    """A database without any table."""
    if request.param == "sqlite":
        address = f"sqlite:///{tmp_path / 'empty.db'}"
    else:
        address = request.getfixturevalue("empty_postgres")
    store = Store(connect(make_url(address), create=True))
    yield store
    store.close()


@pytest.fixture
def head(empty):
    return str(ScriptDirectory.from_config(read(empty, alembic_config)).get_current_head())


def test_the_program_works_with_the_newest_revision(head):
    assert head == HEAD


def test_an_empty_database_is_brought_up(empty):
    assert current_revision(empty) is None
    assert upgrade(empty) is None
    assert current_revision(empty) == HEAD
    assert upgrade(empty) == HEAD


def test_a_database_keeps_its_rows_when_it_is_brought_up_again(empty):
    upgrade(empty)
    add_answers(empty, "a", "b")
    assert upgrade(empty) == HEAD
    assert values_of(empty, RESPONSE.c.external_id) == ["a", "b"]
    if empty.is_sqlite:
        found = text("SELECT rowid FROM response_search WHERE response_search MATCH 'climb'")
        with empty.reading() as connection:
            assert list(connection.scalars(found)) == [1, 2]


def database_at(revision, folder):
    """The path of a database that names this revision."""
    path = folder / "log.db"
    open_store(path, create=True).close()
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE alembic_version SET version_num = ?", [revision])
    return path


@pytest.mark.parametrize("revision", ["0001", "0002", "0003", "0004", "0005"])
def test_an_older_database_is_refused_with_how_to_move_its_rows(tmp_path, revision):
    path = database_at(revision, tmp_path)
    for refusing in (open_store, bring_up):
        with pytest.raises(SchemaMismatch, match="export all -o"):
            refusing(path)


def bring_up(path):
    with closing(Store(connect(make_url(f"sqlite:///{path}"), create=False))) as store:
        upgrade(store)


def test_a_newer_database_is_not_opened_and_not_said_to_be_migrated(tmp_path):
    with pytest.raises(SchemaMismatch) as refused:
        open_store(database_at("9999", tmp_path))
    assert "migrate" not in str(refused.value)


@pytest.mark.parametrize("revision", ["ae1027a6acf", None])
def test_a_database_of_another_program_is_called_that(tmp_path, revision):
    path = tmp_path / "other.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executescript(
            "CREATE TABLE alembic_version (version_num TEXT); CREATE TABLE other (id INTEGER)"
        )
        if revision is not None:
            connection.execute("INSERT INTO alembic_version VALUES (?)", [revision])
    for refusing in (lambda path: open_store(path, create=True), bring_up):
        with pytest.raises((SchemaMismatch, BadInput), match=r"other\.db"):
            refusing(path)


def test_a_folder_is_not_a_database(tmp_path):
    with pytest.raises(BadInput, match=f"{tmp_path} is a folder"):
        open_store(tmp_path, create=True)


def test_a_locked_database_is_not_upgraded_and_the_advice_is_given(tmp_path, monkeypatch):
    monkeypatch.setattr(engine, "BUSY_SECONDS", 0.05)
    path = database_at(HEAD, tmp_path)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        with pytest.raises(BadInput, match="locked"):
            bring_up(path)


def test_a_missing_database_is_not_made(tmp_path):
    with pytest.raises(MissingDatabase, match="judgeboard import FILE"):
        open_store(tmp_path / "none.db")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.postgres
def test_an_empty_database_of_a_server_is_to_be_migrated_before_a_log_is_imported(empty_postgres):
    steps = "has no tables of Judgeboard yet.*`judgeboard db migrate --db .*, then .*`judgeboard import FILE --db "
    with pytest.raises(MissingDatabase, match=steps):
        open_store(empty_postgres)


def test_migrations_and_models_describe_the_same_database(empty):
    upgrade(empty)
    migrated = catalogue(empty)
    with empty.writing() as connection:
        drop_everything(connection)
        METADATA.create_all(connection)
        install_guards(connection)
        install_search(connection)
    assert catalogue(empty) == migrated
    assert ("trigger", "guard_judgment_delete") in migrated or not empty.is_sqlite


def test_a_copied_database_is_the_same_as_a_new_one(empty, tmp_path):
    upgrade(empty)
    new = catalogue(empty)
    write_to(empty, drop_everything)
    with closing(open_store(tmp_path / "source.db", create=True)) as source:
        copy_database(source, empty)
        assert catalogue(empty) == new
        copy_database(source, empty)  # into tables without rows, as `db migrate` makes them
    assert catalogue(empty) == new


def test_a_database_of_the_oldest_revision_becomes_the_same_database(empty):
    schema = Path(__file__).parents[2] / "data" / f"schema_{OLDEST}_{empty.engine.dialect.name}.sql"
    with empty.writing() as connection:
        for statement in schema.read_text(encoding="utf-8").splitlines():
            connection.exec_driver_sql(statement)
    assert upgrade(empty) == OLDEST
    upgraded = catalogue(empty)
    write_to(empty, drop_everything)
    upgrade(empty)
    assert upgraded == catalogue(empty)


def test_an_upgrade_keeps_who_has_which_lease(empty, tmp_path):
    load(empty, "0007", tmp_path)
    held = {"reviewer_id": 1, "token": "secret", "taken_at": NOW}
    held["until"] = NOW + timedelta(minutes=10)
    with empty.writing() as connection:
        lease_id, item_id = connection.execute(
            select(LEASE.c.id, LEASE.c.queue_item_id).where(LEASE.c.reviewer_id.is_(None))
        ).first()
        connection.execute(update(LEASE).where(LEASE.c.id == lease_id).values(held))
    assert upgrade(empty) == "0007"
    assert read(empty, lease_taken_at, item_id, 1, "secret") == NOW
    assert read(empty, lease_taken_at, item_id, 1, "another") is None


def test_an_upgrade_keeps_alert_rules_with_their_events(empty, tmp_path):
    load(empty, "0007", tmp_path)
    rule = {"id": 70, "name": "late", "state": "active", "by": "Lea", "at": NOW}
    rule |= {"condition": "old_flags", "subjects": "[]", "destinations": "[]"}
    event = {"id": 70, "alert_rule_id": 70, "subject": "", "sentence": "Late.", "messages": 0}
    event |= {"closed": False, "opened_at": NOW, "seen_at": NOW}
    write_to(empty, insert_row, "alert_rule", rule)
    write_to(empty, insert_row, "alert_event", event)
    assert upgrade(empty) == "0007"
    level = Level(
        measure="quality", criterion=None, judge=None, direction="below", answers=100, days=None
    )
    with empty.writing() as connection:
        kept = rule_named(connection, AlertRule, "late")
        assert (kept.id, kept.condition, kept.level) == (70, AlertCondition.OLD_FLAGS, None)
        assert [each.sentence for each in unclosed_events(connection, 70)] == ["Late."]
        new = kept.changed(id=None, name="low", condition=AlertCondition.LEVEL, level=level)
        insert_rule(connection, new)
        assert rule_named(connection, AlertRule, "low").level == level
    for condition, other in ((AlertCondition.LEVEL, None), (AlertCondition.OLD_FLAGS, level)):
        mixed = kept.changed(id=None, name="mixed", condition=condition, level=other)
        with pytest.raises(IntegrityError):
            write_to(empty, insert_rule, mixed)


def test_an_upgrade_keeps_keys_and_frees_the_names_of_revoked_ones(empty, tmp_path):
    load(empty, "0007", tmp_path)
    key = {"created_by": "Lea", "scopes": '["ingest"]', "max_body_mb": 64.0, "created_at": NOW}
    old = {"id": 71, "name": "old", "hash": "a", "revoked_at": NOW}
    used = {"id": 72, "name": "used", "hash": token_hash("jb_1")}
    for each in (old, used):
        write_to(empty, insert_row, "api_key", key | each)
    upgrade(empty)
    assert create_key(empty, "old", by="Lea")
    with pytest.raises(BadInput, match="'used'"):
        create_key(empty, "used", by="Lea")
    kept = read(empty, key_of_token, "jb_1")
    listed = [(each.name, each.unusable(NOW)) for each in read(empty, list_keys)]
    assert (kept.id, kept.scopes, kept.created_at) == (72, ("ingest",), NOW)
    assert {("old", "revoked"), ("old", None), ("used", None)} <= set(listed)


def insert_row(connection, name, row):
    """Insert a row of an earlier schema."""
    table = sqlalchemy.table(name, *map(sqlalchemy.column, row))
    connection.execute(insert(table), row)


def catalogue(store):
    """Everything that the database knows of its own shape, by kind and name."""
    return read(store, sqlite_catalogue if store.is_sqlite else postgres_catalogue)


def sqlite_catalogue(connection):
    found = {}
    master = connection.execute(text("SELECT type, name, tbl_name, sql FROM sqlite_master")).all()
    for kind, name, table, sql in master:
        if "alembic_version" in table or name.startswith("sqlite_autoindex"):
            continue
        if kind == "table" and not name.startswith("response_search"):
            found[kind, name] = (
                sorted(
                    tuple(row[1:])  # without the position, which PostgreSQL's has neither
                    for row in connection.execute(text(f'PRAGMA table_info("{name}")'))
                ),
                sorted(
                    tuple(row[2:])
                    for row in connection.execute(text(f'PRAGMA foreign_key_list("{name}")'))
                ),
                constraints(sql),
            )
        else:
            found[kind, name] = " ".join((sql or "").replace('"', "").split())
    return found


def constraints(sql):
    """The named constraints of a CREATE TABLE, wherever they stand; foreign keys have a list of their own."""
    flat = " ".join(sql.replace('"', "").split())
    found = []
    for name in re.finditer(r"CONSTRAINT (\w+) (CHECK|UNIQUE|PRIMARY KEY)", flat):
        at, depth = flat.index("(", name.end()), 0
        for end in range(at, len(flat)):
            depth += (flat[end] == "(") - (flat[end] == ")")
            if depth == 0:
                found.append(f"{name[1]} {name[2]} {flat[at : end + 1]}")
                break
    return sorted(found)


def postgres_catalogue(connection):
    queries = {
        "column": """
            SELECT table_name || '.' || column_name, data_type, is_nullable, column_default
            FROM information_schema.columns WHERE table_schema = 'public'""",
        "constraint": """
            SELECT conname, conrelid::regclass::text, pg_get_constraintdef(oid)
            FROM pg_constraint WHERE connamespace = 'public'::regnamespace""",
        "index": "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'public'",
        "trigger": """
            SELECT tgname || ' ' || tgrelid::regclass, pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal""",
        "function": "SELECT proname, prosrc FROM pg_proc WHERE pronamespace = 'public'::regnamespace AND prolang <> 13",
    }
    return {
        (kind, name): tuple(rest)
        for kind, query in queries.items()
        for name, *rest in connection.execute(text(query))
        if "alembic_version" not in f"{name} {rest}"
    }


def drop_everything(connection):
    if connection.dialect.name == "postgresql":
        connection.execute(text("DROP SCHEMA public CASCADE"))
        connection.execute(text("CREATE SCHEMA public"))
        return
    connection.execute(text("PRAGMA defer_foreign_keys = ON"))
    for kind in ("trigger", "table"):
        names = connection.scalars(
            text("SELECT name FROM sqlite_master WHERE type = :kind"), {"kind": kind}
        )
        for name in list(names):
            if not name.startswith("response_search_"):  # these go with their virtual table
                connection.execute(text(f'DROP {kind} "{name}"'))


def add_answers(store, *external_ids):
    row = made_row(RESPONSE, {}) | {"query": "how to climb"}
    with store.writing() as connection:
        connection.execute(insert(RESPONSE), [row | {"external_id": each} for each in external_ids])


@pytest.fixture
def following(tmp_path, monkeypatch):
    """The revision after this program's, as a later release has it: it adds a column."""
    folder = tmp_path / "migrations"
    shutil.copytree(Path(run.__file__).parent, folder)
    following = f"{int(HEAD) + 1:04}"
    revision = f'revision, down_revision = "{following}", "{HEAD}"\n'
    (folder / "versions" / f"{following}_language.py").write_text(revision + NEXT_REVISION)
    monkeypatch.setattr(run, "__file__", str(folder / "run.py"))
    monkeypatch.setattr(opening, "HEAD", following)
    return following


NEXT_REVISION = """
import sqlalchemy as sa
from alembic import op


def upgrade():
    op.add_column("response", sa.Column("language", sa.String()))
"""


def test_a_new_revision_upgrades_a_database_with_its_rows(empty, request):
    upgrade(empty)
    add_answers(empty, "a")
    following = request.getfixturevalue("following")

    empty.engine.dispose()
    if empty.is_sqlite:  # a file is upgraded by whoever opens it
        open_store(str(empty.engine.url.database)).close()
    else:
        with pytest.raises(SchemaMismatch, match="judgeboard db migrate"):
            open_store(empty.engine.url.render_as_string(hide_password=False))
        assert upgrade(empty) == HEAD
    assert current_revision(empty) == following
    with empty.reading() as connection:
        rows = connection.execute(text("SELECT external_id, language FROM response")).all()
    assert [tuple(row) for row in rows] == [("a", None)]


def test_a_revision_defines_its_own_tables():
    for revision in (Path(run.__file__).parent / "versions").glob("*.py"):
        # A revision that imports the tables would change with them.
        assert "judgeboard." not in revision.read_text(encoding="utf-8"), revision.name


# What an upgrade may change: it ends the work of all processes, and records that as events.
ENDED_WORK = {"run": {"state", "finished_at", "why_stopped"}, "job": {"failed"}}
PROCESSES = {"worker", "claim", "alembic_version"}
# Places in the exports and figures that differ on purpose since a revision was recorded, each with
# the reason.
CHANGED_ON_PURPOSE = {
    r"/figures/(rate( by type)?|threshold|stand|plan)/": "They are rows: `equal_figures.py` compares them.",
    r"/figures/(agreement[^/]*|compare)/(?!statistics)": "Slices and parts are rows: `equal_figures.py` compares them.",
    r"/figures/.+/statistics/\w+/(method|unit|level|left_out)": "A row has none of these.",
    r"/figures/.+/statistic/reason": "Reasons are shorter.",
    r"/figures/trends[^/]*/left_out/\d+/words": "The number stands beside the words.",
    r"/figures/.+/(sentence|notes|warnings)": "Sentences are codes with their numbers.",
    r"/figures/queue list/queues/[02]/assigned_to": "The test assigns them: a blind queue must name its people.",
    r"/figures/queue list/queues/\d+/rules": "Rules are labels with values.",
    r"/figures/agreement/statistics/auroc/(low|high|method)": "The interval holds near 1 and with few bad answers.",
    r"/figures/health/checks/\d+/(sentence|statistic/(low|high|method))": "The same interval of AUROC.",
    r"/figures/health/checks/11/statistic/(value|n)": "Only graded answers that stand for all judged ones count.",
    r"/figures/trends( of flags| corrected)?/panels": "All answers come before the query types.",
    r"/figures/agreement of pairs/statistics/macro_\w+/": "No interval with fewer than 15 rows of a class.",
    r"/figures/agreement by people/statistics/fleiss_kappa/": "No interval with fewer than 12 items of a category.",
    r"/figures/health/checks/\d+/also/per_100_characters/(low|high)": "The error of a slope counts leverage.",
    r"/figures/health/checks/14/state": "An interval that includes chance shows nothing.",
    r"/figures/anchors report/": "Comparisons are slices of figures.",
    r"/exports/reviews/\d+/scale: missing": "Each score of a review has its own scale, as an import reads it.",
    r"/exports/preferences/\d+/preference: missing": "The id of a review has one name: review.",
    r"/figures/.+/statistics/(scott_pi|linear_kappa|ac2|weighted_f1|auprc|(lower|upper)_limit|mean_\w*kappa|"
    r"\w+_(within|between|without_ties)|pooled_agreement|icc_\w+|mean_(pearson|spearman|kendall)): missing": (
        "These statistics are no longer computed."
    ),
    r"/figures/health/checks/\d+/command": "The commands are a tree: `test controls`.",
    r"/figures/queue list/queues/\d+/queue/label_schema: missing": "`rules` has its title.",
}
# In this log people labelled what was flagged, and a random sample: these figures are now of all
# answers, and have no interval, and slices no value, with fewer than ten labels in a part of the
# answers.
OF_CHOSEN_LABELS = (
    r"/figures/(agreement|stats/agreement/\d+)/statistics/(agreement|accuracy|kappa|sensitivity|specificity)/",
    r"/figures/(agreement|stats/agreement/\d+)/statistics/(precision|f1|scott_pi|ac1|macro_recall|mcc)/",
    r"/figures/stats/agreement/\d+/n",
)


# An empty cell of the table of judge and people makes these intervals wider, and never narrower.
INTERVAL_OF_TABLE = re.compile(
    r"/figures/.+/statistics/(?:weighted_kappa|kappa|scott_pi|alpha_nominal|ac1|mcc)/"
    r"(low|high): was (-?[\d.e-]+), is (-?[\d.e-]+)"
)


def is_wider(place):
    """Whether the end of such an interval moved outwards."""
    found = INTERVAL_OF_TABLE.fullmatch(place)
    return found is not None and (float(found[3]) < float(found[2])) == (found[1] == "low")


def unexplained(places, *more):
    """The places that do not differ on purpose."""
    known = re.compile("|".join((*CHANGED_ON_PURPOSE, *more)))
    return [place for place in places if not (known.match(place) or is_wider(place))]


def all_shown(database, folder, names=FIGURES):
    """Exports and figures, with the rows of all answers also by name, as `agreement` printed statistics before."""
    shown = {"exports": exports(database, folder), "figures": figures(database, names)}
    for figure in shown["figures"].values():
        if "statistics" not in figure and "rows" in figure:
            figure["statistics"] = {
                row["figure"]: row for row in figure["rows"] if row["slice"] is None
            }
    return shown


@pytest.mark.parametrize("revision", RELEASED)
def test_an_upgraded_database_keeps_every_row_and_shows_the_same(
    empty, tmp_path, revision, following
):
    shown = load(empty, revision, tmp_path)
    columns = {
        table: [name for name in names if name not in ENDED_WORK.get(table, ())]
        for table, names in columns_of_tables(empty).items()
        if table not in PROCESSES
    }
    before = rows_of_tables(empty, columns)
    assert all(
        before[table]
        for table in ("trace", "span", "draft", "anchor_judgment", "judging_rule", "api_key")
    )

    assert upgrade(empty) == revision
    assert current_revision(empty) == following
    for table, rows in rows_of_tables(empty, columns).items():
        assert not before[table] - rows, table
        assert table == "event" or not rows - before[table], table
    assign_blind_queues(empty)
    now = all_shown(address(empty), tmp_path / "now")
    shown["figures"] = {name: shown["figures"][name] for name in FIGURES}
    checks = {check["name"] for check in shown["figures"]["health"]["checks"]}
    health = now["figures"]["health"]
    health["checks"] = [check for check in health["checks"] if check["name"] in checks]
    assert unexplained(differences(shown, now), *OF_CHOSEN_LABELS) == []


@pytest.mark.parametrize("commit", RELEASED.values())
def test_a_log_of_real_answers_that_a_release_stored_shows_the_same(
    shared, tmp_path, commit, request
):
    """The program of that commit imports the log: real data are not copied into the project."""
    root = Path(__file__).parents[3]
    packed = subprocess.run(
        ["git", "archive", commit, "core"], cwd=root, stdout=subprocess.PIPE, check=False
    ).stdout
    if not packed:
        pytest.skip(f"the history of the project is not here: commit {commit} is missing")
    unpack(io.BytesIO(packed), tmp_path)
    files, kept = [], set()
    for name, kind in (("responses", "responses"), ("human", "grades"), ("judgements", "verdicts")):
        with gzip.open(shared / "data" / f"ragtruth.{name}.jsonl.gz") as lines:
            rows = list(map(json.loads, lines))
        # Of every kind of question, and enough for every figure.
        kept = kept or {row["id"] for row in rows[::4]}
        file = tmp_path / f"{name}.jsonl"
        of_kept = (row for row in rows if row.get("response_id", row.get("id")) in kept)
        file.write_text("".join(f"{json.dumps(row)}\n" for row in of_kept))
        files += [file, kind]
    database = str(tmp_path / "log.db")
    program = os.environ | {"PYTHONPATH": f"{tmp_path / 'core'}{os.pathsep}{root / 'tests'}"}
    script = [sys.executable, root / "tests" / "released_database.py"]
    subprocess.run([*script, database, tmp_path, *files], env=program, check=True)
    shown = json.loads((tmp_path / "shown.json").read_text())

    request.getfixturevalue("following")
    bring_up(Path(database))
    now = all_shown(database, tmp_path / "now", LOG_FIGURES)
    assert unexplained(differences(shown, now)) == []


def test_work_that_an_upgrade_interrupted_continues_when_a_person_starts_it_again(
    empty, tmp_path, following, monkeypatch
):
    # A run does not continue with another version of its judge.
    monkeypatch.setattr(lexical, "FORMULA", 1)
    load(empty, max(RELEASED), tmp_path)
    upgrade(empty)
    assert current_revision(empty) == following
    waiting, begun = recent_jobs(empty)
    assert {(job.state, job.why) for job in (waiting, begun)} == {("failed", run.UPGRADED)}
    assert open_jobs(empty) == []
    states = run_states(empty)
    assert RunState.RUNNING not in states.values()
    assert states.pop(begun.run_id) == RunState.INTERRUPTED

    (killed,) = [id_ for id_, state in states.items() if state == RunState.INTERRUPTED]
    judging = "judge --judge lexical --where query_type=sql --rejudge all"
    assert run_line(judging, "--db", address(empty)) == 0
    with working(empty):
        again = []
        for job in (begun, waiting):
            asked = {"judge": job.judge, "where": job.where, "mode": job.mode}
            again.append(ended(empty, request_rejudge(empty, **asked, actor="Mara")))
    assert [job.state for job in again] == ["done", "done"]
    assert again[0].run_id == begun.run_id
    assert run_states(empty)[killed] == RunState.DONE


def run_states(store):
    return {stored["id"]: stored["state"] for stored in runs(store)}
