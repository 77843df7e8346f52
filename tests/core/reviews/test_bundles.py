"""A slice of a queue goes out as a file and comes back: whole, once, and without what is hidden."""

import json
import re
from datetime import timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engines import on_sqlite
from judgeboard.domain import QueueOrder, Role
from judgeboard.errors import BadInput, NotAllowed, NotFound
from judgeboard.formats.label_schema import schema_in
from judgeboard.reviews.bundles import (
    CHANGED,
    ELSEWHERE,
    OTHER_CONTENT,
    TAKEN,
    WITHDRAWN,
    export_bundle,
    merge_bundle,
)
from judgeboard.reviews.queues import add_schema, create_queue
from judgeboard.reviews.submissions import LOST
from judgeboard.store.forgetting import forget_response
from judgeboard.store.queues import new_queue
from judgeboard.store.reviewers import store_reviewer
from judgeboard.store.tables import PREFERENCE_SCORE
from pair_log import add_pairs
from queue_case import CONFIRM, DISMISS


def exported(case, file, items=50, **more):
    """Give Mara a bundle; return its items."""
    export_bundle(case.store, "q", case.mara, file, items=items, by=case.lead, now=case.now, **more)
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()][1:]


def bundled(case, folder, *scores, **more):
    """Give Mara a bundle of flagged answers; return its file."""
    case.queue_of(*scores)
    file = folder / "b.jsonl"
    exported(case, file, **more)
    return file


def fill(file, *filled):
    """Write into the items of a bundle, in their order."""
    head, *lines = file.read_text(encoding="utf-8").splitlines()
    merged = [json.loads(line) | fields for line, fields in zip(lines, filled, strict=False)]
    rest = lines[len(merged) :]
    texts = [head, *(json.dumps(line, ensure_ascii=False) for line in merged), *rest]
    file.write_text("\n".join(texts), encoding="utf-8")


def merged(case, file):
    return merge_bundle(case.store, file, by=case.lead, now=case.now)


def counts(came):
    return came.merged, came.already, came.unfilled, len(came.refused)


def test_a_bundle_holds_texts_and_empty_fields_and_nothing_that_anybody_said(case, tmp_path):
    (response_id,) = case.add(
        "secret-free", metadata={"score": "METADATA"}, generator_model="MODEL"
    )
    case.judge(response_id, 0.123)
    case.decide(case.flags()[0]["id"], case.jon, DISMISS)
    case.judge(response_id, 0.124, version=2)
    case.queue(guidelines="Read on.", grades=("label", "quality", "relevance"))
    (line,) = exported(case, tmp_path / "b.jsonl")
    assert line | {"token": "", "item": 0} == {
        "item": 0,
        "token": "",
        "id": "secret-free",
        "query_type": "QA",
        "question": "q?",
        "passages": ["p"],
        "answer": "answer secret-free",
        "decision": None,
        "label": None,
        "quality": None,
        "scores": {"relevance": None},
        "note": None,
        "corrected_answer": None,
        "seconds": None,
    }
    whole = (tmp_path / "b.jsonl").read_text()
    head = json.loads(whole.splitlines()[0])
    assert head["guidelines"] == "Read on."
    assert head["required"] == ["decision", "label", "quality", "relevance"]
    assert not any(
        word in whole
        for word in ("0.12", "rag", "low_groundedness", "METADATA", "MODEL", "Jon", "dismissed")
    )


@on_sqlite
def test_what_is_filled_in_comes_back_once_and_the_rest_later(case, tmp_path):
    ids = case.flagged(0.1, 0.2, 0.3)
    case.queue()
    file = tmp_path / "b.jsonl"
    exported(case, file)
    assert case.take(case.jon) is None
    fill(
        file,
        {"decision": "confirm", "quality": 1, "note": " a note ", "seconds": 30.5},
        {"decision": "dismiss"},
    )
    assert counts(merged(case, file)) == (2, 0, 1, 0)
    assert [
        (row["response_id"], row["decision"], row["note"], row["seconds"]) for row in case.reviews()
    ] == [
        (ids[0], "confirm", "a note", 30.5),
        (ids[1], "dismiss", None, None),
    ]
    assert case.item_states() == ["agreed", "agreed", "open"]
    assert case.flag_states() == ["confirmed", "dismissed", "open"]
    fill(file, {}, {}, {"decision": "unsure"})
    assert counts(merged(case, file)) == (1, 2, 0, 0)
    assert counts(merged(case, file)) == (0, 3, 0, 0)
    assert len(case.reviews()) == 3


def test_after_its_time_others_take_what_did_not_come_back_and_late_words_are_kept(case, tmp_path):
    file = bundled(case, tmp_path, 0.1, 0.2, lease=timedelta(days=2))
    case.later(days=1)
    assert case.take(case.jon) is None
    case.later(days=1, minutes=1)
    case.review(case.jon, DISMISS)
    fill(file, {"decision": "confirm", "note": "made up"}, {"decision": "confirm"})
    for times in (0, 1):
        came = merged(case, file)
        assert counts(came) == (1 - times, times, 0, 1)
        (conflict,) = came.refused
        assert (conflict.line, conflict.kept) == (2, True)
        assert conflict.reason.startswith(LOST)
    reviews = [
        (row["reviewer_id"], row["decision"], row["note"], row["queue_item_id"])
        for row in case.reviews()
    ]
    assert (case.mara.id, None, "made up", None) in reviews
    assert len(reviews) == 3


@on_sqlite
def test_an_item_that_its_reviewer_decided_at_a_page_after_all_is_a_conflict(case, tmp_path):
    file = bundled(case, tmp_path, 0.1, lease=timedelta(hours=1))
    case.later(hours=2)
    case.review(case.mara, DISMISS)
    fill(file, {"decision": "confirm"})
    (conflict,) = merged(case, file).refused
    assert (conflict.reason, conflict.kept) == (ELSEWHERE, False)
    assert case.flag_states() == ["dismissed"]


def test_an_item_that_its_reviewer_took_at_a_page_since_is_said_to_wait_there(case, tmp_path):
    case.queue_of(0.1)
    file = tmp_path / "b.jsonl"
    (line,) = exported(case, file)
    assert case.take_item(line["item"], case.mara) is not None
    fill(file, {"decision": "confirm"})
    (conflict,) = merged(case, file).refused
    assert conflict.reason == TAKEN


@on_sqlite
def test_what_lies_in_a_bundle_is_not_served_at_a_page_as_well(case, tmp_path):
    ids = case.flagged(0.1, 0.2)
    case.queue()
    (line,) = exported(case, tmp_path / "b.jsonl", items=1)
    leased = case.lease(case.mara)
    assert (leased.response_id, line["id"]) == (ids[1], "a0")
    assert exported_nothing(case, tmp_path / "c.jsonl")


@on_sqlite
def test_a_line_that_was_taken_back_is_refused_and_its_item_is_served_at_the_page(case, tmp_path):
    file = bundled(case, tmp_path, 0.1)
    fill(file, {"decision": "confirm"})
    merged(case, file)
    case.undo(case.reviews()[0]["id"], case.mara)
    fill(file, {"decision": "dismiss", "note": "on second thought"})
    came = merged(case, file)
    assert counts(came) == (0, 0, 0, 1)
    assert came.refused[0].reason == WITHDRAWN
    case.review(case.mara, DISMISS)
    assert case.flag_states() == ["dismissed"]
    fill(file, {"decision": "confirm", "note": None})  # as it was merged
    assert counts(merged(case, file)) == (0, 0, 0, 1)


def test_pairs_go_out_in_their_reviewers_order_and_come_back_as_stored(case, tmp_path):
    add_pairs(case.store, 6)
    case.queue(subject="pairs", order=QueueOrder.OLDEST)
    file = tmp_path / "b.jsonl"
    lines = exported(case, file)
    assert {line["left"].partition("-")[0] for line in lines} == {"left", "right"}
    assert not any(
        name in line for line in lines for name in ("id", "pair", "shown", "gold", "model")
    )
    fill(file, *({"preference": "left", "note": "n"} for _ in lines[:5]), {"note": "no side"})
    with pytest.raises(BadInput, match="line 7, preference:"):
        merged(case, file)
    fill(file, {}, {}, {}, {}, {}, {"note": None})
    assert counts(merged(case, file)) == (5, 0, 1, 0)
    better = [row["preference"] for row in case.rows(PREFERENCE_SCORE)]
    assert better == ["a" if line["left"].startswith("left") else "b" for line in lines[:5]]
    fill(file, {}, {}, {}, {}, {"preference": "tie"})
    came = merged(case, file)
    assert counts(came) == (0, 4, 1, 1)
    assert came.refused[0].reason == OTHER_CONTENT


def exported_nothing(case, file):
    with pytest.raises(BadInput, match="q has nothing left for Mara"):
        exported(case, file)
    return not file.exists()


def test_changed_texts_and_forgotten_answers_are_conflicts_of_which_nothing_is_stored(
    case, tmp_path
):
    case.queue_of(0.1, 0.2, 0.3)
    file = tmp_path / "b.jsonl"
    lines = exported(case, file)
    with case.store.writing() as connection:
        forget_response(connection, lines[1]["id"], actor="test")
    fields = {"decision": "confirm", "note": "n"}
    fill(file, fields | {"answer": "another answer"}, fields, fields)
    came = merged(case, file)
    assert counts(came) == (1, 0, 0, 2)
    assert [(one.reason, one.kept) for one in came.refused] == [(CHANGED, False)] * 2
    assert len(case.reviews()) == 1


@on_sqlite
def test_in_a_closed_queue_a_note_is_kept_and_nothing_is_graded(case, tmp_path):
    file = bundled(case, tmp_path, 0.1)
    case.close()
    fill(file, {"decision": "confirm", "quality": 2, "note": "made up"})
    (conflict,) = merged(case, file).refused
    assert conflict.kept
    assert [(row["decision"], row["quality"], row["note"]) for row in case.reviews()] == [
        (None, None, "made up")
    ]
    assert case.flag_states() == ["open"]


@on_sqlite
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"quality": 7}, "line 3, quality: must be a whole number from 1 to 4, not 7"),
        ({"groundedness": "high"}, "line 3, groundedness: .* not 'high'"),
        (
            {"decision": "maybe"},
            "line 3, decision: must be one of confirm, dismiss, unsure, not 'maybe'",
        ),
        (
            {"scores": {"relevance": 9}},
            "line 3, scores.relevance: must be a whole number from 1 to 5, not 9",
        ),
        ({"note": "\x00"}, "line 3, note: cannot be stored: NUL"),
        ({"seconds": -1}, "line 3, seconds"),
        ({"qualty": 2}, "line 3, qualty: is not a field"),
        ({"token": "1.x"}, "line 3, token"),
        ({"item": "1"}, "line 3, item"),
    ],
)
def test_a_line_that_cannot_be_used_is_named_and_nothing_of_the_file_is_stored(
    changes, message, case, tmp_path
):
    file = bundled(case, tmp_path, 0.1, 0.2)
    fill(file, {"decision": "confirm"}, {"decision": "confirm"} | changes)
    with pytest.raises(BadInput, match=f"b.jsonl, {message}"):
        merged(case, file)
    assert case.reviews() == []


@on_sqlite
def test_a_file_that_is_no_bundle_or_half_a_line_says_where(case, tmp_path):
    case.queue_of(0.1)
    file = tmp_path / "b.jsonl"
    file.write_text('{"query": "q"}\n')
    with pytest.raises(BadInput, match="line 1, judgeboard_bundle"):
        merged(case, file)
    file.unlink()
    exported(case, file)
    whole = file.read_text()
    file.write_text(whole.rstrip()[:-5])
    with pytest.raises(BadInput, match="line 2: not JSON"):
        merged(case, file)
    file.write_text(whole + whole.splitlines()[1])
    with pytest.raises(BadInput, match=r"line 3, item:.*2:"):
        merged(case, file)
    file.write_text(whole.replace('"Mara"', '"Nobody"'))
    with pytest.raises(NotFound):
        merged(case, file)
    with pytest.raises(BadInput, match="exists already"):
        exported(case, file)


@on_sqlite
@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"queue": "q\ud800"}, "queue: cannot be stored: lone surrogate U.D800 at character 2"),
        (
            {"reviewer": {"origin": "page", "name": "a\0"}},
            "reviewer: cannot be stored: NUL at character 2",
        ),
        ({"judgeboard_bundle": 2}, "judgeboard_bundle: version 2 is not supported, only 1"),
        ({"judgeboard_bundle": True}, "judgeboard_bundle: this file does not come from"),
        ({"items": -5}, "items: differs from the exported file"),
    ],
)
def test_a_first_line_that_cannot_be_used_names_its_field(changes, said, case, tmp_path):
    file = bundled(case, tmp_path, 0.1)
    head, *lines = file.read_text(encoding="utf-8").splitlines()
    file.write_text("\n".join([json.dumps(json.loads(head) | changes), *lines]), encoding="utf-8")
    with pytest.raises(BadInput, match=f"b.jsonl, line 1, {said}"):
        merged(case, file)


@on_sqlite
def test_every_line_that_cannot_be_used_is_named_up_to_twenty(case, tmp_path):
    file = bundled(case, tmp_path, *[0.1] * 24)
    fill(file, {"decision": "confirm"}, {"quality": 7}, {"decision": "confirm"}, {"note": 5})
    with pytest.raises(BadInput) as refused:
        merged(case, file)
    assert re.findall(r"line (\d+), (\w+)", str(refused.value)) == [("3", "quality"), ("5", "note")]
    fill(file, {"decision": "confirm"}, *({"quality": 7} for _ in range(23)))
    with pytest.raises(BadInput, match=r"and 3 more$") as refused:
        merged(case, file)
    assert re.findall(r"line (\d+)", str(refused.value)) == [str(line) for line in range(3, 23)]
    assert case.reviews() == []


@on_sqlite
def test_a_bundle_that_was_cut_off_at_the_end_of_a_line_is_refused_and_one_without_a_count_is_not(
    case, tmp_path
):
    file = bundled(case, tmp_path, 0.1, 0.2, 0.3)
    fill(file, {"decision": "confirm"})
    head, *lines = file.read_text(encoding="utf-8").splitlines()
    file.write_text("\n".join([head, *lines[:2]]), encoding="utf-8")
    with pytest.raises(BadInput, match=r"\b2\b.*\b3\b"):
        merged(case, file)
    assert case.reviews() == []
    older = {name: value for name, value in json.loads(head).items() if name != "items"}
    file.write_text("\n".join([json.dumps(older), *lines[:2]]), encoding="utf-8")
    assert counts(merged(case, file)) == (1, 0, 1, 0)


@on_sqlite
def test_a_bundle_goes_to_somebody_who_may_review(case, tmp_path):
    case.queue_of(0.1)
    with case.store.writing() as connection:
        gone = store_reviewer(connection, "oidc", "gone@example.org", role=Role.NONE)
    with pytest.raises(NotAllowed):
        export_bundle(case.store, "q", gone, tmp_path / "b", items=1, by=case.lead, now=case.now)
    assert not (tmp_path / "b").exists()


@on_sqlite
def test_where_the_file_cannot_be_written_nothing_is_held(case, tmp_path):
    case.queue_of(0.1)
    with pytest.raises(BadInput, match="cannot be written"):
        exported(case, tmp_path / "no such folder" / "b.jsonl")
    assert case.take(case.jon) is not None


def test_a_reviewer_exports_their_own_slice_and_not_another_ones(case, tmp_path):
    case.queue_of(0.1)
    with case.store.writing() as connection:
        ann = store_reviewer(connection, "oidc", "ann@example.org", role=Role.REVIEWER)
        lea = store_reviewer(connection, "oidc", "lea@example.org", role=Role.LEAD)
    with pytest.raises(NotAllowed):
        export_bundle(case.store, "q", case.mara, tmp_path / "x", items=1, by=ann)
    file = tmp_path / "b.jsonl"
    export_bundle(case.store, "q", ann, file, items=1, by=ann, now=case.now)
    fill(file, {"decision": "confirm"})
    assert counts(merge_bundle(case.store, file, by=ann, now=case.now)) == (1, 0, 0, 0)
    assert counts(merge_bundle(case.store, file, by=lea, now=case.now)) == (0, 1, 0, 0)
    case.flagged(0.1)
    exported(case, tmp_path / "mara.jsonl")
    with pytest.raises(NotAllowed):
        merge_bundle(case.store, tmp_path / "mara.jsonl", by=ann, now=case.now)


CONTRADICTIONS = {("dismiss", "hallucinated"), ("confirm", "grounded")}
TEXTS = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\x00"), max_size=30)
GRADES = st.fixed_dictionaries(
    {},
    optional={
        "decision": st.sampled_from(["confirm", "dismiss", "unsure", None]),
        "label": st.sampled_from(["grounded", "hallucinated", None]),
        "groundedness": st.none() | st.floats(0, 1),
        "quality": st.none() | st.integers(1, 4),
        "scores": st.dictionaries(
            st.sampled_from(["relevance", "Stil"]), st.none() | st.integers(1, 5)
        ),
        "note": st.none() | TEXTS,
        "seconds": st.none() | st.floats(0, 1e6),
    },
).filter(lambda filled: (filled.get("decision"), filled.get("label")) not in CONTRADICTIONS)


@on_sqlite
@given(filled=st.lists(GRADES, min_size=1, max_size=4))
@settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_any_grades_survive_the_way_out_and_back(filled, case, tmp_path):
    name = f"q{next(case.keys)}"
    case.flagged(*(0.1 for _ in filled))
    case.queue(name)
    file = tmp_path / f"{name}.jsonl"
    export_bundle(case.store, name, case.mara, file, items=4, by=case.lead, now=case.now)
    fill(file, *filled)
    before = len(case.reviews())
    came = merged(case, file)
    stored = case.reviews()[before:]
    wanted = [
        review
        for review in map(_values, filled)
        if any(part not in (None, {}) for part in review[:-1])
    ]
    assert [
        (
            row["decision"],
            row["label"],
            row["groundedness"],
            row["quality"],
            row["note"],
            row["seconds"],
        )
        for row in stored
    ] == [review[:4] + review[5:] for review in wanted]
    assert counts(came)[:2] == (len(wanted), 0)
    again = merged(case, file)
    assert counts(again) == (0, len(wanted), came.unfilled, 0)
    assert len(case.reviews()) == before + len(wanted)
    case.close(name)
    for flag in case.flags():
        if flag["state"] == "open":
            case.decide(flag["id"], case.lead, CONFIRM)


def _values(filled):
    note = (filled.get("note") or "").strip() or None
    scores = {
        name: value for name, value in (filled.get("scores") or {}).items() if value is not None
    }
    values = tuple(filled.get(name) for name in ("decision", "label", "groundedness", "quality"))
    return (*values, scores, note, filled.get("seconds"))


SCHEMA = schema_in("""
name: support
fields:
  - label
  - {name: verdict, type: category, required: true, options: [send, fix]}
  - {name: tone, type: scale, levels: {1: rude, 2: friendly}}
  - {name: why, type: text, shown_when: {verdict: fix}}
  - {name: errors, type: spans, options: [fact]}
""")


@on_sqlite
def test_a_bundle_asks_for_the_fields_of_the_label_schema_and_checks_them(case, tmp_path):
    case.flagged(*[0.1] * 4)
    add_schema(case.store, SCHEMA, by=case.lead)
    create_queue(case.store, new_queue("q"), by=case.lead, schema="support", now=case.now)
    file = tmp_path / "b.jsonl"
    line, *_ = exported(case, file)
    assert line["fields"] == {"verdict": None, "tone": None, "why": None, "errors": None}
    head = json.loads(file.read_text().splitlines()[0])
    assert head["required"] == ["decision", "verdict"]
    assert [each["name"] for each in head["fields"]] == ["verdict", "tone", "why", "errors"]
    spans = [{"type": "fact", "start": 0, "end": 6}]
    fields = {"verdict": "fix", "tone": 2, "why": " made up ", "errors": spans}
    for wrong, reason in (
        ({"tone": 3}, "line 2, fields: tone: .* 1 to 2, not 3"),
        ({"shade": "red"}, "line 2, fields: .*'shade'"),
    ):
        fill(file, {"decision": "confirm", "fields": wrong})
        with pytest.raises(BadInput, match=reason):
            merged(case, file)
    outside = {"verdict": "fix", "errors": [{"type": "fact", "start": 0, "end": 999}]}
    fill(
        file,
        {"decision": "confirm", "label": "hallucinated", "fields": fields},
        {"decision": "confirm", "fields": {"tone": 1}},
        {"decision": "confirm", "fields": outside},
        {
            "decision": "dismiss",
            "fields": {"verdict": "send", "why": "not asked"},
            "corrected_answer": "Better.",
        },
    )
    assert counts(merged(case, file)) == (2, 0, 0, 2)
    assert counts(merged(case, file)) == (0, 2, 0, 2)
    first, last = case.reviews()
    assert (first["label"], first["choices"], first["texts"]) == (
        "hallucinated",
        {"verdict": "fix"},
        {"why": "made up"},
    )
    assert first["spans"] == [spans[0] | {"field": "errors"}]
    assert (last["choices"], last["texts"], last["corrected_answer"]) == (
        {"verdict": "send"},
        None,
        "Better.",
    )
    missing, beyond = (line.reason for line in merged(case, file).refused)
    assert missing == "required: verdict"
    assert re.findall(r"\d+", beyond) == ["9", "0", "999"]
    fill(file, {"fields": fields | {"tone": 1}})
    assert merged(case, file).refused[0].reason == OTHER_CONTENT
