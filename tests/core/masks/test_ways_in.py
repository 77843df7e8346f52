"""No way into the database lets personal data through."""

import json
import zlib
from dataclasses import dataclass

import pytest
from sqlalchemy import select

from judgeboard.board import Board
from judgeboard.domain import Grade, Response
from judgeboard.imports.importing import import_file
from judgeboard.imports.kinds import KINDS
from judgeboard.masks.tables import MASK_COUNT
from judgeboard.mcp.drafts import add_draft, list_drafts
from judgeboard.mcp.tables import DraftKind
from judgeboard.people.roster import ensure_reviewer
from judgeboard.receiving.api import SentGrade
from judgeboard.reports.stats import measure_log
from judgeboard.reviews.changes import comment
from judgeboard.reviews.submissions import Submission, submit
from judgeboard.store.clock import utc_now
from judgeboard.store.own_reviews import save_draft
from judgeboard.store.storing import store_responses
from judgeboard.store.tables import FEEDBACK, METADATA, RESPONSE, REVIEW, SPAN
from result_fields import check_fields
from sent_traces import Sent, gathered, receiving, send_spans
from stored_rows import columns, read, row_count, values_of, write_to

MAIL, PHONE, CARD = "jane.doe@example.org", "+49 151 1234567", "4111 1111 1111 1111"
IBAN, ADDRESS = "DE89370400440532013000", "192.168.1.10"
VALUES = (MAIL, PHONE, CARD, IBAN, ADDRESS)
TEXT = f"Ask {MAIL} or {PHONE} about {CARD}, {IBAN} at {ADDRESS}."
SETTINGS = json.dumps({"key": "a key of this test"})
NESTED = [{"role": "user", "content": TEXT}]
ANSWER = {
    "external_id": "r1",
    "query": TEXT,
    "answer": TEXT,
    "context": [TEXT],
    "messages": NESTED,
    "reference": TEXT,
    "metadata": {"at": {MAIL: [TEXT]}},
    "left_over": TEXT,
    "feedback": {"stars": 2, "user": MAIL, "comment": TEXT},
}
PAIR = {"external_id": "p1", "question": TEXT, "answer_a": TEXT, "answer_b": f"{TEXT}!"}
ROWS = {
    "responses": ANSWER,
    "grades": {
        "response_id": "r1",
        "annotator": "ann",
        "label": "hallucinated",
        "note": TEXT,
        "corrected_answer": TEXT,
        "spans": [{"start": 0, "end": 3, "text": TEXT}],
    },
    "verdicts": {
        "response_id": "r1",
        "judge": "j",
        "label": "grounded",
        "reasoning": TEXT,
        "claims": [{"text": TEXT, "status": "supported", "quote": TEXT}],
        "raw": TEXT,
    },
    "feedback": {"response_id": "r1", "stars": 4, "user": MAIL, "comment": TEXT},
    "pairs": PAIR
    | {"options": [TEXT], "reference": TEXT, "metadata": {"x": TEXT}, "judge": "j"}
    | {"verdict_order_ab": "a", "raw": TEXT},
    "comparisons": {"pair_id": "p1", "judge": "k", "order": "ab", "verdict": "a"}
    | {"reasoning": TEXT, "raw": TEXT, "reference": TEXT},
    "audits": {"response_id": "r1", "judge": "j", "supreme_judge": "s", "correct": True}
    | {"reasoning": TEXT, "raw": TEXT},
    "samples": PAIR
    | {"external_id": "p2", "judge": "k", "samples": ["a", "b"], "raw": [TEXT, TEXT]},
    "repeats": {
        "external_id": "r2",
        "question": TEXT,
        "answer": TEXT,
        "judge": "k",
        "rubric": "How good?",
        "scale": "1-5",
        "samples": [1, 2],
        "raw": [TEXT, TEXT],
        "metadata": {"x": TEXT},
    },
}
BEFORE = dict.fromkeys(("grades", "verdicts", "feedback"), ("responses",)) | {
    "audits": ("responses", "verdicts"),
    "comparisons": ("pairs",),
}


@pytest.fixture(autouse=True)
def masks(monkeypatch):
    monkeypatch.setenv("JUDGEBOARD_MASKS", SETTINGS)


def contents(store):
    """Everything that the tables hold, packed bodies unpacked."""
    parts = []
    with store.reading() as connection:
        for table in METADATA.sorted_tables:
            for row in connection.execute(select(table)):
                parts += [
                    zlib.decompress(each).decode()
                    if isinstance(each, bytes) and table is SPAN
                    else repr(each)
                    for each in row
                ]
    return "\n".join(parts)


def assert_masked(store, *, least=1):
    stored = contents(store)
    assert [value for value in VALUES if value in stored] == []
    assert stored.count("<email ") >= least


def the_answer(store):
    with store.reading() as connection:
        return connection.execute(select(RESPONSE)).one()


def imported(store, tmp_path, kind, **changes):
    file = tmp_path / f"{kind}.jsonl"
    file.write_text(json.dumps(ROWS[kind] | changes) + "\n")
    return import_file(store, file, kind=kind, source="shop" if kind == "responses" else None)


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_of_file_is_masked_and_the_same_file_changes_nothing(store, tmp_path, kind):
    for each in BEFORE.get(kind, ()):
        imported(store, tmp_path, each)
    first = imported(store, tmp_path, kind)
    assert first.rejected == 0, first.first_rejected
    assert first.new + first.feedback_added >= 1
    assert_masked(store, least=2)
    before = contents(store)
    again = imported(store, tmp_path, kind)
    check_fields(again, new=0, feedback_added=0, rejected=0)
    assert contents(store) == before


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("rows.csv", lambda frame, file: frame.to_csv(file, index=False)),
        ("rows.json", lambda frame, file: frame.to_json(file, orient="records")),
        ("rows.jsonl", lambda frame, file: frame.to_json(file, orient="records", lines=True)),
        ("rows.parquet", lambda frame, file: frame.to_parquet(file)),
    ],
)
def test_each_format_is_masked(sqlite_store, tmp_path, name, write):
    import pandas as pd

    row = {
        name: json.dumps(value) if isinstance(value, list | dict) else value
        for name, value in ANSWER.items()
    }
    frame, file = pd.DataFrame([row]), tmp_path / name
    write(frame, file)
    assert import_file(sqlite_store, file).new == 1
    assert_masked(sqlite_store, least=5)


def test_rows_of_python_are_masked(sqlite_store):
    assert Board(sqlite_store).add([ANSWER | {"source": "shop"}]).new == 1
    assert_masked(sqlite_store)


def test_one_value_has_one_mask_in_all_texts_of_an_answer(sqlite_store, tmp_path):
    imported(sqlite_store, tmp_path, "responses")
    imported(sqlite_store, tmp_path, "verdicts")
    answer = the_answer(sqlite_store)
    [comment_] = values_of(sqlite_store, FEEDBACK.c.comment)
    assert answer.query == answer.answer == answer.passages[0] == answer.reference == comment_
    assert answer.messages[0]["content"] == answer.extra["left_over"] == answer.query
    assert MAIL not in json.dumps(answer.extra)


def test_marks_of_grades_are_at_their_places_in_the_masked_answer(store, tmp_path):
    answer = f"See it. {TEXT} It is far. It is near."
    texts = "See it.", f"Ask {MAIL}", "It is far.", "no such text"
    spans = [
        {"start": (at := max(answer.find(text), 0)), "end": at + len(text), "text": text}
        for text in texts
    ]
    imported(store, tmp_path, "responses", answer=answer)
    assert imported(store, tmp_path, "grades", spans=spans).new == 1
    masked = the_answer(store).answer
    [placed] = values_of(store, REVIEW.c.spans)
    assert [masked[each["start"] : each["end"]] for each in placed[:3]] == columns(
        placed[:3], "text"
    )
    assert placed[1]["text"].startswith("Ask <email ")
    assert imported(store, tmp_path, "grades", spans=spans).unchanged == 1


def test_ids_times_and_numbers_stay(sqlite_store, tmp_path):
    summary = imported(
        sqlite_store,
        tmp_path,
        "responses",
        external_id=MAIL,
        generator_model="m-192.168.1.10",
        ts="2026-10-12T14:05:09Z",
    )
    assert summary.new == 1
    answer = the_answer(sqlite_store)
    check_fields(answer, external_id=MAIL, generator_model="m-192.168.1.10")
    assert answer.asked_at.isoformat().startswith("2026-10-12T14:05:09")


def test_an_id_that_is_made_of_the_content_does_not_tell_what_was_masked(
    sqlite_store, tmp_path, monkeypatch
):
    row = {name: value for name, value in ANSWER.items() if name != "external_id"}
    for settings in (SETTINGS, ""):
        monkeypatch.setenv("JUDGEBOARD_MASKS", settings)
        Board(sqlite_store).add([row])
    with_masks, without = values_of(sqlite_store, RESPONSE.c.external_id)
    assert with_masks != without


def test_with_other_masks_a_stored_answer_counts_as_one_with_other_content(
    sqlite_store, tmp_path, monkeypatch
):
    imported(sqlite_store, tmp_path, "responses")
    before = contents(sqlite_store)
    monkeypatch.setenv("JUDGEBOARD_MASKS", "")
    again = imported(sqlite_store, tmp_path, "responses")
    check_fields(again, new=0, differing=1)
    assert contents(sqlite_store) == before


def test_what_is_sent_to_the_server_is_masked(store):
    with receiving(store) as http:
        waiting = {"response_id": "later", "stars": 1, "user": MAIL, "comment": TEXT}
        assert http.post("/api/feedback", json=waiting).status_code == 200
        assert_masked(store)
        row = {("id" if name == "external_id" else name): value for name, value in ANSWER.items()}
        assert http.post("/api/responses", json=row).json()["stored"] == 1
        assert http.post("/api/feedback", json=waiting | {"response_id": "r1"}).status_code == 200
        verdict = {**ROWS["verdicts"], "judge": "sent"}
        assert http.post("/api/judgments", json=verdict).status_code == 200
    assert_masked(store, least=8)


@dataclass(frozen=True)
class SentTexts(Sent):
    """A span whose texts have personal data, one of them in JSON with escapes."""

    @property
    def attributes(self):
        attributes = {
            name: TEXT if "value" in name or "content" in name else value
            for name, value in super().attributes.items()
        }
        escaped = json.dumps({"a": f"\n{TEXT}"}).replace("@", "\\u0040")
        if "output.value" in attributes:
            attributes["output.value"] += "!"  # an answer that repeats the question is none
        return attributes | {"metadata": escaped, "user.id": MAIL}


def test_spans_are_masked_while_they_wait_and_as_an_answer(store):
    with receiving(store) as http:
        assert send_spans(http, [SentTexts(1, 1), SentTexts(1)]).status_code == 200
    assert_masked(store, least=3)
    gathered(store)
    assert_masked(store, least=6)
    answer = the_answer(store)
    assert answer.answer == f"{answer.query}!"
    assert [*answer.passages] == [answer.query]


def test_an_answer_that_the_library_stores_is_masked(store):
    write_to(
        store, store_responses, [Response("s", "1", TEXT, TEXT, (TEXT,), metadata={"x": TEXT})]
    )
    assert_masked(store, least=4)


def test_what_people_type_is_masked(store):
    person = ensure_reviewer(store, "local", "ann")
    [id_] = write_to(store, store_responses, [Response("s", "1", "Who?", "Nobody.")]).ids
    write_to(store, save_draft, person.id, id_, {"note": TEXT}, utc_now())
    assert_masked(store)
    about = {"reviewer": person, "request_key": "k", "response_id": id_}
    comment(store, **about, text=TEXT)
    submit(store, Submission(**about, grade=Grade(quality=1, note=TEXT, corrected_answer=TEXT)))
    assert_masked(store, least=3)


def test_what_an_agent_drafts_is_masked_and_its_name_is_not(store):
    draft, by = SentGrade(quality=1, note=TEXT), f"key:{MAIL}"
    add_draft(store, DraftKind.REVIEW, draft, by=by)
    [stored] = read(store, list_drafts, by=by)
    assert stored.content["quality"] == 1
    assert not any(value in str(stored.content) for value in VALUES)


def test_masked_values_are_counted_by_kind_with_the_version(store, tmp_path, monkeypatch):
    imported(store, tmp_path, "responses")
    totals = measure_log(store).masks
    assert {(each.kind, each.masked, each.answers) for each in totals} == {
        (kind, 1, 1) for kind in ("email", "phone", "card", "iban", "ip")
    }
    [version] = {each.version for each in totals}
    monkeypatch.setenv("JUDGEBOARD_MASKS", json.dumps({"key": "another key of this test"}))
    imported(store, tmp_path, "responses", external_id="r3", left_over=f"{TEXT} b@x.org c@x.org")
    assert {
        (each.version == version, each.masked)
        for each in measure_log(store).masks
        if each.kind == "email"
    } == {(True, 1), (False, 3)}


def test_without_masks_nothing_changes_and_nothing_is_counted(sqlite_store, tmp_path, monkeypatch):
    monkeypatch.setenv("JUDGEBOARD_MASKS", "")
    imported(sqlite_store, tmp_path, "responses")
    assert the_answer(sqlite_store).answer == TEXT
    assert row_count(sqlite_store, MASK_COUNT) == 0
