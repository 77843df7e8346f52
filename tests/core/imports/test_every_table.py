"""Each table that `judgeboard export` writes, except two with a reason, is read again into an empty database."""

import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from judgeboard.cli.app import run
from judgeboard.cli.export import TABLES
from judgeboard.domain import Decision, FlagState, IssueState
from judgeboard.errors import BadInput
from judgeboard.formats.label_schema import stored_schema
from judgeboard.imports.importing import import_file, undo_import
from judgeboard.imports.kinds import KINDS, NOT_IMPORTED, TABLE_KINDS
from judgeboard.reviews.changes import comment, edit_comment, withdraw_comment
from judgeboard.reviews.decisions import decide
from judgeboard.reviews.failure_modes import save_mode
from judgeboard.reviews.issues import save_issue
from judgeboard.store.engine import Store
from judgeboard.store.export import export_tables, exports
from judgeboard.store.filters import RowFilter
from judgeboard.store.forgetting import forget_response
from judgeboard.store.issues import Issue
from judgeboard.store.label_schemas import ensure_schema
from judgeboard.store.opening import open_store
from judgeboard.store.reviewers import store_reviewer
from judgeboard.store.tables import FLAG, IMPORT_BATCH, RESPONSE
from stored_rows import rows_of as rows_of_table

# In the order of their references, as the help of `judgeboard export` has it.
ORDER = (
    *("failure_modes", "label_schemas", "responses", "pairs", "samples", "judgments", "comparisons", "audits"),
    *("flags", "reviews", "preferences", "comments", "issues"),
)
CALLS = "run created_at prompt_tokens completion_tokens latency_ms cost model_reported"
# Ids of rows are those of one database, as are the versions of recorded judges and what their calls cost. Every
# imported person is a person of the origin `import`, whose preferences are also with their pairs.
OF_ONE_DATABASE = {
    "pairs": "human",
    "judgments": f"judge_version {CALLS}",
    "comparisons": f"judge_version {CALLS}",
    "samples": "judge_version",
    "audits": f"judge_version supreme_judge_version judgment {CALLS}",
    "flags": "flag decided_before raise_key judged_by_version created_at",
    "reviews": "review replaces judgment_seen origin flags",
    "preferences": "review replaces origin",
    "comments": "comment replaces origin",
    "label_schemas": "label_schema",
}
NOW = datetime(2026, 3, 1, 9, 41, tzinfo=UTC)
FORGOTTEN = "the forgotten text"


def rows_of(store: Store, table: str) -> list[str]:
    """Return the rows of an export that no database changes. Superseded flags are not compared."""
    left_out = OF_ONE_DATABASE.get(table, "").split()
    names = [column.name for column in exports()[table].columns if column.name not in left_out]
    with store.reading() as connection:
        rows = [row for row in exports()[table].rows(connection) if row.get("state") is not FlagState.SUPERSEDED]
    return sorted(json.dumps({name: row.get(name) for name in names}, sort_keys=True, default=str) for row in rows)


def chains(store: Store) -> list[list[str | None]]:
    """Return the texts of each comment, the last one first."""
    with store.reading() as connection:
        rows = {row["comment"]: row for row in exports()["comments"].rows(connection)}
    ends = rows.keys() - {row["replaces"] for row in rows.values()}

    def texts(number: int | None) -> list[str | None]:
        return [] if number is None else [rows[number]["text"], *texts(rows[number]["replaces"])]

    return sorted((texts(number) for number in ends), key=str)


@pytest.fixture(scope="module")
def filled(demo: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """The demo with what it lacks: comments, label schemas, changes of modes and issues, a forgotten answer."""
    path = tmp_path_factory.mktemp("filled") / "demo.db"
    shutil.copyfile(demo, path)
    store = open_store(str(path))
    fill(store)
    yield store
    store.close()


def fill(store: Store) -> None:
    with store.writing() as connection:
        mara, jon = (store_reviewer(connection, "page", name) for name in ("Ada L", "Bo M"))
        for name in ("polite", "kind"):  # the same schema, changed
            ensure_schema(
                connection,
                stored_schema("tone", [{"name": name, "type": "yes_no"}, {"name": "why", "type": "text"}]),
                "lead",
                NOW,
            )
    answers = [row["id"] for row in rows_of_table(store, RESPONSE) if row["kind"] == "log"]
    first, second, third, last = *answers[:3], answers[-1]
    keys = iter(map(str, range(100)))
    of_mara = {"reviewer": mara, "now": NOW}
    comment(store, response_id=first, text="=1+1 & <b>so</b>\nor, not", request_key=next(keys), **of_mara)
    other = comment(store, response_id=first, text="@Bo why?", request_key=next(keys), reviewer=jon, now=NOW)
    edited = edit_comment(store, comment_id=other, reviewer=jon, text="why?", request_key=next(keys))
    edit_comment(store, comment_id=edited, reviewer=jon, text="why not?", request_key=next(keys))
    gone = comment(store, response_id=second, text="never mind", request_key=next(keys), **of_mara)
    withdraw_comment(store, comment_id=gone, reviewer=mara, request_key=next(keys))
    comment(store, response_id=last, text=FORGOTTEN, request_key=next(keys), **of_mara)
    save_mode(store, "rude", "not polite", key="k", by="library")
    save_mode(store, "rude", "not polite, or too short", key="l", by="library")
    save_mode(store, "slow", by="library")
    save_mode(store, "slow", retired=True, by="library")
    issue = save_issue(store, Issue("Ropes", RowFilter(failure_modes=("rude",)), "many"), by="library")
    save_issue(store, replace(issue, state=IssueState.FIXED), by="library")
    own = {"label": "grounded", "failure_modes": ["rude"], "label_schema": "tone v2"}
    labels = Path(str(store.engine.url.database)).with_name("labels.jsonl")
    named = {row["id"]: row for row in rows_of_table(store, RESPONSE)}
    of_answer = {"external_id": named[third]["external_id"], "source": named[third]["source"], "annotator": "Ada L"}
    labels.write_text(json.dumps(of_answer | own | {"fields": {"kind": True, "why": "it says please"}}))
    assert import_file(store, labels, kind="grades").new == 1
    flags = [row for row in rows_of_table(store, FLAG) if row["state"] == "open"]
    for flag, decision in zip(flags[:3], (Decision.CONFIRM, Decision.DISMISS, Decision.UNSURE), strict=True):
        decide(store, flag_id=flag["id"], reviewer=jon, decision=decision, request_key=next(keys), now=NOW)
    with store.writing() as connection:
        forget_response(connection, named[last]["external_id"], source=named[last]["source"], actor="library")


@pytest.mark.parametrize(
    ("store", "format_name"),
    [("sqlite", "csv"), pytest.param("postgres", "jsonl", marks=pytest.mark.postgres)],
    indirect=["store"],
)
def test_every_exported_table_comes_back(filled: Store, store: Store, tmp_path: Path, format_name: str) -> None:
    files = {table: tmp_path / f"{table}.{format_name}" for table in ORDER}
    export_tables(filled, files, format=format_name)
    forgotten = {}
    for table, file in files.items():
        summary = import_file(store, file, kind=TABLE_KINDS.get(table, table))
        forgotten[table] = summary.rejected
        assert {row.reason.partition(" ")[0] for row in summary.first_rejected} <= {"no"}, table
    assert all(FORGOTTEN not in file.read_text("utf-8") for file in files.values())
    for table in ORDER:
        expected = rows_of(filled, table)
        if forgotten[table]:  # rows about the answer that is forgotten, which no export has
            with filled.reading() as connection:
                known = {row["external_id"] for row in exports()["responses"].rows(connection)}
            kept = [row for row in expected if json.loads(row)["external_id"] in known]
            assert len(kept) < len(expected)
            expected = kept
        assert rows_of(store, table) == expected != [], table
    assert chains(store) == [each for each in chains(filled) if each != [None]]  # the last is forgotten
    for table, file in files.items():
        for again in (store, filled) if store.is_sqlite else (store,):  # the filled one is the same for both engines
            repeated = import_file(again, file, kind=TABLE_KINDS.get(table, table))
            assert (repeated.new, table) == (0, table)


def test_rows_of_tables_that_cannot_be_stored_name_the_field_and_the_mend(
    filled: Store, store: Store, tmp_path
) -> None:
    """Nothing that a row of a file says may change what is stored, nor show what is forgotten."""

    def bring(kind: str, *rows: dict[str, object], into: Store = store) -> list[tuple[str | None, str]]:
        file = tmp_path / f"{kind}.jsonl"
        file.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
        summary = import_file(into, file, kind=kind)
        return [(row.field, row.reason) for row in summary.first_rejected]

    answer = {"external_id": "a", "source": "log"}
    bring("responses", answer | {"query": "q", "answer": "it is"})
    first = answer | {"comment": 1, "reviewer": "ann", "text": "so", "at": "2026-03-01T00:00:00Z"}
    edit = first | {"comment": 2, "replaces": 1, "text": "not so", "at": "2026-03-02T00:00:00Z"}
    assert bring("comments", first | {"external_id": "b"}) == [
        ("external_id", "no response 'b' in source 'log': import the responses first")
    ]
    assert bring("comments", first | {"text": "x" * 5_001}) == [("text", "longer than 5,000 characters")]
    assert bring("comments", first | {"text": None}) == [("text", "no text: the comment was forgotten")]
    assert bring("comments", edit) == [("replaces", "no earlier row of this file has the comment 1: import it too")]
    assert bring("comments", first, edit | {"reviewer": "bob"}) == [
        ("replaces", "comment 1 is not by this person on this answer")
    ]
    assert bring("comments", first, edit) == []
    assert bring("comments", first, edit | {"text": "another"}) == [
        ("replaces", "comment 1 was edited or withdrawn in this database")
    ]
    gone = next(row for row in rows_of_table(filled, RESPONSE) if row["kind"] == "log" and row["answer"] is None)
    of_gone = first | {"external_id": gone["external_id"], "source": gone["source"], "text": FORGOTTEN}
    assert bring("comments", of_gone, into=filled) == [
        ("external_id", "its answer is forgotten: its comments are not stored")
    ]
    mode = {"name": "rude", "retired": False, "key": "K", "by": "ann", "at": "2026-03-02T00:00:00Z"}
    assert bring("failure_modes", mode, mode | {"name": "slow"}, mode | {"name": "Rude", "key": None}) == [
        ("key", "'rude' has the key K: leave it out, or change one"),
        ("name", "the failure mode is stored as 'rude': write it like this"),
    ]
    assert bring("failure_modes", mode | {"name": "slow", "key": "C"}) == [
        ("key", "'C' is not one of the letters ABDEFGHIJKLMNOPQSTUVWXYZ")
    ], "a press of C is Streamlit's own"
    assert bring("failure_modes", mode | {"key": None, "at": "2026-03-01T00:00:00Z"}) == [
        ("name", "'rude' was changed in this database later")
    ]
    issue = {"number": 1, "version": 1, "title": "Ropes", "filter": {"sources": ["log"]}, "by": "ann"}
    issue |= {"at": "2026-03-01T00:00:00Z"}
    assert bring("issues", issue, issue | {"title": "Walls"}) == []  # two databases had an issue 1
    assert {json.loads(row)["number"] for row in rows_of(store, "issues")} == {1, 2}
    assert bring("issues", issue | {"number": 7, "version": 2}, issue | {"filter": {"color": 1}}) == [
        ("filter", "this filter has an unknown field: color"),
        ("number", "no earlier row of this file has version 1 of issue 7: import it too"),
    ]
    assert bring("issues", issue | {"title": "Own", "filter": {"response_ids": [1]}}) == [
        ("filter", "response_ids names rows of another database by their ids: choose answers by other fields")
    ]
    assert bring("issues", issue | {"title": "Far", "filter": {"day_from": "soon"}}) == [
        ("filter", "day_from is not a day since 1970-01-01")
    ]
    schema = {"name": "tone", "number": 1, "fields": [{"name": "polite", "type": "yes_no"}]}
    assert bring("label_schemas", schema, schema | {"number": 2}) == [
        ("number", "these fields are tone v1 in this database")
    ]
    ((field, reason),) = bring("label_schemas", schema | {"fields": [{"name": "polite", "type": "joke"}]})
    assert (field, "joke" in reason, "line" in reason) == ("fields", True, False)
    flag = answer | {"rule": "low_quality", "severity": 0.5}
    assert bring("flags", flag | {"severity": 2}) == [("severity", "2 is not between 0 and 1")]
    ((field, reason),) = bring("flags", flag | {"rule": "mood"})
    assert (field, reason.startswith("'mood' is not one of low_groundedness")) == ("rule", True)
    assert bring("flags", flag | {"judged_by": "j"}) == [
        ("judged_by", "no judgment of 'a' by j: import the verdicts first")
    ]
    with pytest.raises(BadInput, match="comments do not record the import that stored them"):
        undo_import(store, next(row["id"] for row in rows_of_table(store, IMPORT_BATCH) if row["kind"] == "comments"))


def test_every_table_is_imported_or_refused_with_a_reason(tmp_path: Path, capsys) -> None:
    assert {*ORDER, *NOT_IMPORTED} == {*TABLES, "ratings"}
    assert {TABLE_KINDS.get(table, table) for table in ORDER} <= KINDS.keys()
    for table, reason in NOT_IMPORTED.items():
        assert run(["import", "--kind", table, str(tmp_path / "x.jsonl")]) == 2
        assert f"{table} cannot be imported: {reason}" in capsys.readouterr().err
    assert run(["export", "--help"]) == 0
    help_text = " ".join(capsys.readouterr().out.split())
    assert all(table in help_text for table in ORDER)
