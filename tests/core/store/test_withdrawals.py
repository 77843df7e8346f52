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
from judgeboard.store.reviewers import store_reviewer
from judgeboard.store.runs import start_import_run
from judgeboard.store.storing import start_batch, store_judgments
from judgeboard.store.tables import (
    EVENT,
    JUDGMENT,
    METADATA,
    RESPONSE,
    REVIEW,
    TRACE,
    WITHDRAWN_ROW,
)
from judgeboard.store.withdrawals import get_batch, plan_undo
from sent_traces import receiving
from stored_rows import insert_row, made_row, read, row_count, rows_of, values_of, write_to

EARLIER = [{"id": f"e{n}", "question": f"q{n}", "answer": "a", "thumbs": "down"} for n in range(3)]
LOG = [
    {"id": f"n{n}", "question": f"other {n}", "answer": "b", "passages": ["p"]} for n in range(3)
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
        verdict = Verdict(Status.OK, groundedness=0.1, quality=1)
        items = [NewJudgment(self.id_of(each), 0, 0, verdict) for each in external_ids]
        write_to(self.store, store_judgments, self.version(name), run_id, items)

    def review(self, external_id):
        mara = write_to(self.store, store_reviewer, "page", "Mara")
        ids = {"response": self.id_of(external_id), "reviewer": mara.id}
        insert_row(self.store, REVIEW, ids, request_key=external_id, label="grounded")

    def undo(self, **options):
        return undo_import(self.store, **options)

    def answers(self):
        return set(values_of(self.store, RESPONSE.c.external_id))

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


def about_answers():
    """Yield the tables with rows about an answer, directly or through another table; but a trace stays."""
    named = {"response"}
    for table in METADATA.sorted_tables:
        # Each stored answer has its facts.
        if table.name not in {"response", "answer_fact", "trace"} and (
            named & {key.column.table.name for key in table.foreign_keys}
        ):
            named.add(table.name)
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
    parents = "reviewer", "label_schema", "judge_version", "run", "queue", "anchor_set", "suite_run"
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
    copies = {row["table_name"] for row in rows_of(logged.store, WITHDRAWN_ROW)}
    assert copies == {"response", *(table.name for table in about)} - {"current_judgment"}
    assert undone.kept == ()
    assert values_of(logged.store, EVENT.c.id, EVENT.c.response_id.is_not(None)) == []
    if logged.store.is_sqlite:
        search = text("SELECT rowid FROM response_search WHERE response_search MATCH 'other'")
        with logged.store.reading() as connection:
            assert connection.execute(search).all() == []


def test_the_copies_hold_every_value(logged):
    logged.imported(LOG)
    answer = rows_of(logged.store, RESPONSE)[3]
    logged.undo()
    copy = rows_of(logged.store, WITHDRAWN_ROW)[0]
    texts = {
        name: value for name, value in answer.items() if isinstance(value, str | int | float | dict)
    }
    assert texts["external_id"] == "n0"
    assert copy["content"] == copy["content"] | texts
    id_ = answer["id"]
    assert copy == copy | {"table_name": "response", "row_key": str(id_), "response_id": id_}
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
    assert logged.answers() == {"e0", "e1", "e2", "n1"}
    undone = logged.undo(with_reviews=True)
    assert (undone.rows["response"], undone.rows["review"], undone.kept) == (1, 1, ())
    assert logged.answers() == {"e0", "e1", "e2"}
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
    seen = values_of(logged.store, JUDGMENT.c.id)[-1]
    ids = {"response": logged.id_of("e2"), "reviewer": 1}
    insert_row(logged.store, REVIEW, ids, judgment_seen_id=seen, decision="confirm")
    for with_reviews in (False, True):  # the review is about an answer that stays
        assert logged.undo(with_reviews=with_reviews).kept == ("e2",)
    assert values_of(logged.store, JUDGMENT.c.id)[3:] == [seen]


@on_sqlite
def test_verdicts_that_an_earlier_version_imported_are_not_told_apart(logged):
    batch = {"file": "verdicts.jsonl", "sha256": None, "importer": "jsonl", "kind": "verdicts"}
    write_to(logged.store, start_batch, **batch, actor="me", now=datetime.now(UTC))
    run = write_to(logged.store, start_import_run, logged.version("other"), "me").id
    logged.judge("e0", name="other", run_id=run)
    with pytest.raises(BadInput):
        logged.undo()


@pytest.mark.parametrize("broken_off", [False, True])
def test_a_verdict_that_was_sent_during_an_import_stays(logged, monkeypatch, broken_off):
    key = {"x-api-key": create_key(logged.store, "shop", by="test")}
    sent = {"response_id": "e0", "groundedness": 0.3}
    verdicts = [sent | {"judge": judge} for judge in ("sent", "other")]

    def send(*_):
        with receiving(logged.store) as http:
            assert http.post("/api/judgments", json=verdicts, headers=key).json()["stored"] == 2
        if broken_off:
            raise KeyboardInterrupt

    monkeypatch.setattr(importing, "BATCH_ROWS", len(VERDICTS))
    with pytest.raises(KeyboardInterrupt) if broken_off else nullcontext():
        logged.imported(VERDICTS, "verdicts", on_progress=send)
    before = row_count(logged.store, JUDGMENT)
    assert logged.undo().rows["judgment"] == len(VERDICTS)
    left = [(row["response_id"], row["groundedness"]) for row in rows_of(logged.store, JUDGMENT)]
    assert len(left) == before - len(VERDICTS)
    assert left.count((logged.id_of("e0"), 0.3)) == 2


@on_sqlite
def test_a_verdict_that_an_earlier_version_received_stays(logged):
    logged.imported(VERDICTS, "verdicts")
    imported_at = read(logged.store, get_batch, None).at
    version = logged.version("sent")
    run = write_to(logged.store, start_import_run, version, "receiver", imported_at).id
    logged.judge("e0", name="sent", run_id=run)
    assert logged.undo().rows["judgment"] == len(VERDICTS)


def test_an_answer_that_was_received_too_comes_from_its_trace_again(logged):
    logged.imported(LOG[:1])
    insert_row(logged.store, TRACE, {"response": logged.id_of("n0")}, state="made")
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
    copies = str(values_of(logged.store, WITHDRAWN_ROW.c.content))
    assert "other 0" not in copies
    assert "other 1" in copies
    with pytest.raises(NotFound):
        write_to(logged.store, forget_response, "n0", actor="me")


@on_sqlite
def test_an_unknown_import_is_answered_with_the_latest(logged):
    with pytest.raises(NotFound, match=r"import 7; .* 1 \(responses\.jsonl\)"):
        logged.undo(number=7)
