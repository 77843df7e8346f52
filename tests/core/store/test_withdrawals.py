"""An import that is undone leaves nothing that a query could find; copies of all its rows are kept."""

import json
from contextlib import nullcontext
from datetime import UTC, datetime

import pytest
from sqlalchemy import (
    insert,
    select,
    text,
    update,
)
from sqlalchemy.exc import DBAPIError

from engines import on_sqlite
from judgeboard.domain import JudgeVersion, Status, Verdict
from judgeboard.errors import BadInput, NotFound
from judgeboard.imports import importing
from judgeboard.imports.importing import import_file, undo_import
from judgeboard.receiving.keys import create_key
from judgeboard.store import withdrawals
from judgeboard.store.forgetting import forget_response
from judgeboard.store.judge_versions import ensure_version
from judgeboard.store.judgments import NewJudgment
from judgeboard.store.responses import responses_named
from judgeboard.store.runs import start_import_run
from judgeboard.store.storing import start_batch, store_judgments
from judgeboard.store.tables import (
    JUDGMENT,
    METADATA,
    RESPONSE,
    REVIEW,
    REVIEWER,
    TRACE,
    WITHDRAWN_ROW,
)
from judgeboard.store.withdrawals import get_batch, plan_undo
from sent_traces import receiving
from stored_rows import made_row, read, rows_of, write_to

NOW = datetime(2026, 3, 1, tzinfo=UTC)
EARLIER = [
    {"id": f"e{number}", "question": f"q{number}", "answer": "a", "thumbs": "down"}
    for number in range(3)
]
LOG = [
    {"id": f"n{number}", "question": f"other {number}", "answer": "b", "passages": ["p"]}
    for number in range(3)
]


@pytest.fixture
def logged(store, tmp_path):
    """A database with a judged and reviewed log."""
    log = Log(store, tmp_path)
    log.imported(EARLIER)
    log.judge("e0", "e1", "e2")
    log.review("e0")
    return log


class Log:
    def __init__(self, store, folder):
        self.store = store
        self.folder = folder

    def imported(self, rows, kind="responses", **options):
        file = self.folder / f"{kind}.jsonl"
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return import_file(self.store, file, kind=kind, **options)

    def id_of(self, external_id):
        return read(self.store, responses_named, [external_id])[external_id][0].id

    def version(self, name="rag"):
        return write_to(self.store, ensure_version, JudgeVersion(name, name))

    def judge(self, *external_ids, name="rag", run_id=None):
        items = [
            NewJudgment(self.id_of(each), 0, 0, Verdict(Status.OK, groundedness=0.1, quality=1))
            for each in external_ids
        ]
        version = self.version(name)
        write_to(self.store, store_judgments, version, run_id, items)

    def review(self, external_id):
        with self.store.writing() as connection:
            known = connection.scalar(select(REVIEWER.c.id).where(REVIEWER.c.name == "Mara"))
            person = {"origin": "page", "name": "Mara", "created_at": NOW}
            reviewer = known or connection.scalar(insert(REVIEWER).returning(REVIEWER.c.id), person)
            row = {
                "response_id": self.id_of(external_id),
                "reviewer_id": reviewer,
                "label": "grounded",
                "at": NOW,
            }
            connection.execute(insert(REVIEW), row | {"request_key": external_id})

    def undo(self, **options):
        return undo_import(self.store, **options)

    def contents(self):
        """Return every row that a page, an export or a figure can read."""
        with self.store.reading() as connection:
            return {
                name: sorted(
                    (dict(row) for row in connection.execute(select(table)).mappings()), key=str
                )
                for name, table in METADATA.tables.items()
                if name not in {"change", "event", "import_batch", "withdrawn_row"}
            }

    def search(self, words):
        with self.store.reading() as connection:
            if not self.store.is_sqlite:
                return 0
            found = text("SELECT count(*) FROM response_search WHERE response_search MATCH :words")
            return int(connection.scalar(found, {"words": words}))


def about_answers():
    """Yield the tables with rows about an answer, directly or through another table; but a trace stays."""
    named = {"response"}
    for table in METADATA.sorted_tables:
        if table.name == "answer_fact":  # each stored answer has its facts
            continue
        if table is not TRACE and {key.column.table.name for key in table.foreign_keys} & named:
            named.add(table.name)
            if table is not RESPONSE:
                yield table


def filled(store, tables, ids):
    """Insert a row into each of the tables that refers to the rows with these ids, and add its id."""
    for table in tables:
        with store.writing() as connection:
            connection.execute(insert(table), made_row(table, ids))
            if "id" in table.c and table.name != "job":
                ids[table.name] = connection.scalar(
                    select(table.c.id).order_by(table.c.id.desc()).limit(1)
                )


def test_nothing_that_was_derived_from_the_answers_is_left(logged):
    about = list(about_answers())
    ids = {}
    parents = (
        "reviewer",
        "label_schema",
        "judge_version",
        "run",
        "queue",
        "anchor_set",
        "suite_run",
    )
    filled(logged.store, (METADATA.tables[name] for name in parents), ids)
    before = logged.contents()
    logged.imported(LOG[:1])
    filled(logged.store, iter(about), ids | {"response": logged.id_of("n0")})
    full = logged.contents()
    assert all(
        len(full[table.name]) > len(before[table.name]) for table in about if table.name in before
    )

    assert logged.undo().kept == ("n0",)
    assert logged.contents() == full
    undone = logged.undo(with_reviews=True)

    assert logged.contents() == before
    assert logged.search("other") == 0
    copies = {row["table_name"] for row in rows_of(logged.store, WITHDRAWN_ROW)}
    assert copies == {"response", *(table.name for table in about)} - {"current_judgment"}
    assert undone.kept == ()
    with logged.store.reading() as connection:
        of_answers = connection.execute(
            text("SELECT id FROM event WHERE response_id IS NOT NULL")
        ).all()
    assert of_answers == []


def test_the_copies_hold_every_value(logged):
    logged.imported(LOG)
    (answer, *_) = [row for row in rows_of(logged.store, RESPONSE) if row["external_id"] == "n0"]
    logged.undo()
    (copy, *_) = rows_of(logged.store, WITHDRAWN_ROW)
    texts = {
        name: value for name, value in answer.items() if isinstance(value, str | int | float | dict)
    }
    assert copy["content"].items() >= texts.items()
    assert (copy["table_name"], copy["row_key"], copy["response_id"]) == (
        "response",
        str(answer["id"]),
        answer["id"],
    )
    with pytest.raises(DBAPIError, match="append-only"), logged.store.writing() as connection:
        connection.execute(update(WITHDRAWN_ROW).values(content={"other": 1}))


@on_sqlite
def test_the_same_file_can_be_imported_again_and_gives_new_answers(logged):
    logged.imported(LOG)
    logged.judge("n0", "n1", "n2")
    old = [logged.id_of(row["id"]) for row in LOG]
    undone = logged.undo()
    assert (undone.rows["response"], undone.rows["judgment"]) == (3, 3)
    again = logged.imported(LOG)
    assert (again.new, again.before) == (3, None)
    assert min(logged.id_of(row["id"]) for row in LOG) > max(old)
    assert all(row["response_id"] not in old for row in rows_of(logged.store, JUDGMENT))


def test_answers_on_which_people_decided_stay_unless_their_reviews_go_too(logged):
    logged.imported(LOG)
    logged.judge("n0", "n1", "n2")
    logged.review("n1")
    assert read(logged.store, plan_undo).kept == ("n1",)
    undone = logged.undo()
    assert (undone.rows["response"], undone.rows["judgment"], undone.kept) == (2, 2, ("n1",))
    assert {row["external_id"] for row in rows_of(logged.store, RESPONSE)} == {
        "e0",
        "e1",
        "e2",
        "n1",
    }
    undone = logged.undo(with_reviews=True)
    assert (undone.rows["response"], undone.rows["review"], undone.kept) == (1, 1, ())
    assert {row["external_id"] for row in rows_of(logged.store, RESPONSE)} == {"e0", "e1", "e2"}
    with pytest.raises(BadInput, match="import 2 "):
        logged.undo(number=2)


VERDICTS = [{"response_id": row["id"], "judge": "other", "groundedness": 0.9} for row in EARLIER]
GRADES = [{"response_id": row["id"], "annotator": "ann", "label": "grounded"} for row in EARLIER]
RATINGS = [{"response_id": row["id"], "stars": 5, "user": "u"} for row in EARLIER]


@pytest.mark.parametrize(
    ("kind", "rows"), [("verdicts", VERDICTS), ("grades", GRADES), ("feedback", RATINGS)]
)
def test_what_an_import_added_to_stored_answers_is_taken_back_alone(logged, kind, rows):
    before = logged.contents()
    logged.imported(rows, kind)
    assert logged.contents() != before
    assert "response" not in logged.undo().rows
    after = logged.contents()
    # A flag whose reason came and went is open again, as another row.
    for contents in (before, after):
        contents["flag"] = [
            (row["response_id"], row["rule"])
            for row in contents["flag"]
            if row["state"] != "superseded"
        ]
    assert after == before


@on_sqlite
def test_a_verdict_that_a_reviewer_saw_stays(logged):
    logged.imported(VERDICTS, "verdicts")
    with logged.store.writing() as connection:
        seen = connection.scalar(select(JUDGMENT.c.id).order_by(JUDGMENT.c.id.desc()).limit(1))
        row = {
            "response_id": logged.id_of("e2"),
            "reviewer_id": 1,
            "judgment_seen_id": seen,
            "at": NOW,
        }
        connection.execute(insert(REVIEW), row | {"request_key": "k", "decision": "confirm"})
    for with_reviews in (False, True):  # the review is about an answer that stays
        assert logged.undo(with_reviews=with_reviews).kept == ("e2",)
    assert [row["id"] for row in rows_of(logged.store, JUDGMENT)][3:] == [seen]


@on_sqlite
def test_verdicts_that_an_earlier_version_imported_are_not_told_apart(logged):
    with logged.store.writing() as connection:
        batch = {"file": "verdicts.jsonl", "sha256": None, "importer": "jsonl", "actor": "me"}
        start_batch(connection, **batch, kind="verdicts", now=datetime.now(UTC))
    version = logged.version("other")
    run = write_to(logged.store, start_import_run, version, "me").id
    logged.judge("e0", name="other", run_id=run)
    with pytest.raises(BadInput):
        logged.undo()


@pytest.mark.parametrize("broken_off", [False, True])
def test_a_verdict_that_was_sent_during_an_import_stays(logged, monkeypatch, broken_off):
    key = {"x-api-key": create_key(logged.store, "shop", by="test")}
    sent = {"response_id": "e0", "groundedness": 0.3}

    def send(*_):
        with receiving(logged.store) as http:
            verdicts = [sent | {"judge": judge} for judge in ("sent", "other")]
            assert http.post("/api/judgments", json=verdicts, headers=key).json()["stored"] == 2
        if broken_off:
            raise KeyboardInterrupt

    monkeypatch.setattr(importing, "BATCH_ROWS", len(VERDICTS))
    with pytest.raises(KeyboardInterrupt) if broken_off else nullcontext():
        logged.imported(VERDICTS, "verdicts", on_progress=send)
    before = len(rows_of(logged.store, JUDGMENT))
    assert logged.undo().rows["judgment"] == len(VERDICTS)
    left = [(row["response_id"], row["groundedness"]) for row in rows_of(logged.store, JUDGMENT)]
    assert len(left) == before - len(VERDICTS)
    assert left.count((logged.id_of("e0"), 0.3)) == 2


@on_sqlite
def test_a_verdict_that_an_earlier_version_received_stays(logged):
    logged.imported(VERDICTS, "verdicts")
    version = logged.version("sent")
    with logged.store.writing() as connection:
        run = start_import_run(connection, version, "receiver", get_batch(connection, None).at).id
    logged.judge("e0", name="sent", run_id=run)
    assert logged.undo().rows["judgment"] == len(VERDICTS)


def test_an_answer_that_was_received_too_comes_from_its_trace_again(logged):
    logged.imported(LOG[:1])
    with logged.store.writing() as connection:
        row = {
            "external_id": "n0",
            "owner": "",
            "source": "default",
            "first_at": NOW,
            "last_at": NOW,
            "spans": 1,
        }
        connection.execute(
            insert(TRACE), row | {"state": "made", "response_id": logged.id_of("n0")}
        )
    logged.undo()
    (trace,) = rows_of(logged.store, TRACE)
    assert (trace["state"], trace["response_id"]) == ("waiting", None)


def test_an_import_that_breaks_off_while_it_is_undone_is_whole(logged, monkeypatch):
    logged.imported(LOG)
    logged.judge("n0", "n1")
    before = logged.contents()
    delete = withdrawals._delete

    def killed(connection, table, keys):
        if table is RESPONSE:
            raise KeyboardInterrupt
        delete(connection, table, keys)

    monkeypatch.setattr(withdrawals, "_delete", killed)
    with pytest.raises(KeyboardInterrupt):
        logged.undo()
    assert logged.contents() == before
    assert rows_of(logged.store, WITHDRAWN_ROW) == []


def test_a_withdrawn_answer_can_be_forgotten(logged):
    logged.imported(LOG)
    logged.judge("n0", "n1")
    logged.undo()
    write_to(logged.store, forget_response, "n0", actor="me")
    copies = rows_of(logged.store, WITHDRAWN_ROW)
    assert "other 0" not in json.dumps([copy["content"] for copy in copies])
    assert "other 1" in json.dumps([copy["content"] for copy in copies])
    with pytest.raises(NotFound), logged.store.writing() as connection:
        forget_response(connection, "n0", actor="me")


@on_sqlite
def test_an_unknown_import_is_answered_with_the_latest(logged):
    with pytest.raises(NotFound, match=r"import 7; .* 1 \(responses\.jsonl\)"):
        logged.undo(number=7)
