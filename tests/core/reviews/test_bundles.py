"""A slice of a queue goes out as a file and comes back: whole, once, and without what is hidden."""

import json
import re
from datetime import timedelta
from itertools import zip_longest

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
from queue_case import DISMISS
from result_fields import check_fields
from stored_rows import columns, write_to

CONFIRMED = {"decision": "confirm"}


@pytest.fixture
def file(tmp_path):
    return tmp_path / "b.jsonl"


def exported(case, file, who=None, by=None, name="q", items=50, **more):
    """Give Mara, or another person, a bundle; return its items."""
    given = {"items": items, "by": by or case.lead, "now": case.now} | more
    export_bundle(case.store, name, who or case.mara, file, **given)
    return lines_of(file)[1:]


def lines_of(file):
    """The first line of a bundle, which is about the whole, and its items."""
    return [json.loads(line) for line in file.read_text().splitlines()]


def write_lines(file, lines):
    file.write_text("\n".join(json.dumps(line, ensure_ascii=False) for line in lines))


def bundle(case, file, *scores, **more):
    """Give Mara a bundle of flagged answers."""
    case.queue_of(*scores)
    return exported(case, file, **more)


def fill(file, *filled):
    """Write into the items of a bundle, in their order."""
    head, *items = lines_of(file)
    given = zip_longest(items, filled, fillvalue={})
    write_lines(file, [head, *(item | fields for item, fields in given)])


def merged(case, file, by=None):
    """Merge a bundle; return how many lines were new, known and empty, and those that were refused."""
    merge = merge_bundle(case.store, file, by=by or case.lead, now=case.now)
    return merge.merged, merge.already, merge.unfilled, [*merge.refused]


def refused(case, file):
    """Merge a bundle of which one line is refused, and nothing is new; return the refusal."""
    new, *_, (refusal,) = merged(case, file)
    assert new == 0
    return refusal


def assert_not_merged(case, file, message):
    with pytest.raises(BadInput, match=message):
        merged(case, file)


def test_a_bundle_holds_texts_and_empty_fields_and_nothing_that_anybody_said(case, file):
    (response_id,) = case.add(
        "secret-free", metadata={"score": "METADATA"}, generator_model="MODEL"
    )
    case.judge(response_id, 0.123)
    case.decide(case.flags()[0]["id"], case.jon, DISMISS)
    case.judge(response_id, 0.124, version=2)
    case.queue(guidelines="Read on.", grades=("label", "quality", "relevance"))
    (line,) = exported(case, file)
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
    required = ["decision", "label", "quality", "relevance"]
    check_fields(lines_of(file)[0], guidelines="Read on.", required=required)
    hidden = ("0.12", "rag", "low_groundedness", "METADATA", "MODEL", "Jon", "dismissed")
    assert [word for word in hidden if word in file.read_text()] == []


@on_sqlite
def test_what_is_filled_in_comes_back_once_and_the_rest_later(case, file):
    bundle(case, file, 0.1, 0.2, 0.3)
    assert case.take(case.jon) is None
    graded = CONFIRMED | {"quality": 1, "note": " a note ", "seconds": 30.5}
    fill(file, graded, {"decision": "dismiss"})
    assert merged(case, file) == (2, 0, 1, [])
    assert columns(case.reviews(), "response_id", "decision", "note", "seconds") == [
        (1, "confirm", "a note", 30.5),
        (2, "dismiss", None, None),
    ]
    assert case.item_states() == ["agreed", "agreed", "open"]
    assert case.flag_states() == ["confirmed", "dismissed", "open"]
    fill(file, {}, {}, {"decision": "unsure"})
    assert merged(case, file) == (1, 2, 0, [])
    assert merged(case, file) == (0, 3, 0, [])
    assert len(case.reviews()) == 3


def test_after_its_time_others_take_what_did_not_come_back_and_late_words_are_kept(case, file):
    bundle(case, file, 0.1, 0.2, lease=timedelta(days=2))
    case.later(days=1)
    assert case.take(case.jon) is None
    case.later(days=1, minutes=1)
    case.review(case.jon, DISMISS)
    fill(file, CONFIRMED | {"note": "made up"}, CONFIRMED)
    for times in (0, 1):
        *counts, (refusal,) = merged(case, file)
        assert counts == [1 - times, times, 0]
        check_fields(refusal, line=2, kept=True)
        assert refusal.reason.startswith(LOST)
    reviews = columns(case.reviews(), "reviewer_id", "decision", "note", "queue_item_id")
    assert (case.mara.id, None, "made up", None) in reviews
    assert len(reviews) == 3


@on_sqlite
def test_an_item_that_its_reviewer_decided_at_a_page_after_all_is_a_conflict(case, file):
    bundle(case, file, 0.1, lease=timedelta(hours=1))
    case.later(hours=2)
    case.review(case.mara, DISMISS)
    fill(file, CONFIRMED)
    check_fields(refused(case, file), reason=ELSEWHERE, kept=False)
    assert case.flag_states() == ["dismissed"]


def test_an_item_that_its_reviewer_took_at_a_page_since_is_said_to_wait_there(case, file):
    (line,) = bundle(case, file, 0.1)
    assert case.take_item(line["item"], case.mara)
    fill(file, CONFIRMED)
    assert refused(case, file).reason == TAKEN


@on_sqlite
def test_what_lies_in_a_bundle_is_not_served_at_a_page_as_well(case, file, tmp_path):
    (line,) = bundle(case, file, 0.1, 0.2, items=1)
    assert (case.lease(case.mara).response_id, line["id"]) == (2, "a0")
    other = tmp_path / "c.jsonl"
    with pytest.raises(BadInput, match="q has nothing left for Mara"):
        exported(case, other)
    assert not other.exists()


@on_sqlite
def test_a_line_that_was_taken_back_is_refused_and_its_item_is_served_at_the_page(case, file):
    bundle(case, file, 0.1)
    fill(file, CONFIRMED)
    merged(case, file)
    case.undo(case.reviews()[0]["id"], case.mara)
    fill(file, {"decision": "dismiss", "note": "on second thought"})
    assert refused(case, file).reason == WITHDRAWN
    case.review(case.mara, DISMISS)
    assert case.flag_states() == ["dismissed"]
    fill(file, CONFIRMED | {"note": None})  # as it was merged
    assert refused(case, file)


def test_pairs_go_out_in_their_reviewers_order_and_come_back_as_stored(case, file):
    add_pairs(case.store, 6)
    case.queue(subject="pairs", order=QueueOrder.OLDEST)
    lines = exported(case, file)
    assert {line["left"].partition("-")[0] for line in lines} == {"left", "right"}
    assert not {name for line in lines for name in line} & {"id", "pair", "shown", "gold", "model"}
    fill(file, *[{"preference": "left", "note": "n"}] * 5, {"note": "no side"})
    assert_not_merged(case, file, "line 7, preference:")
    fill(file, *[{}] * 5, {"note": None})
    assert merged(case, file) == (5, 0, 1, [])
    better = columns(case.rows(PREFERENCE_SCORE), "preference")
    assert better == ["a" if line["left"].startswith("left") else "b" for line in lines[:5]]
    fill(file, *[{}] * 4, {"preference": "tie"})
    *counts, (refusal,) = merged(case, file)
    assert (counts, refusal.reason) == ([0, 4, 1], OTHER_CONTENT)


def test_changed_texts_and_forgotten_answers_are_conflicts_of_which_nothing_is_stored(case, file):
    lines = bundle(case, file, 0.1, 0.2, 0.3)
    write_to(case.store, forget_response, lines[1]["id"], actor="test")
    fields = CONFIRMED | {"note": "n"}
    fill(file, fields | {"answer": "another answer"}, fields, fields)
    *counts, refusals = merged(case, file)
    assert counts == [1, 0, 0]
    assert [(one.reason, one.kept) for one in refusals] == [(CHANGED, False)] * 2
    assert len(case.reviews()) == 1


@on_sqlite
def test_in_a_closed_queue_a_note_is_kept_and_nothing_is_graded(case, file):
    bundle(case, file, 0.1)
    case.close()
    fill(file, CONFIRMED | {"quality": 2, "note": "made up"})
    assert refused(case, file).kept
    assert columns(case.reviews(), "decision", "quality", "note") == [(None, None, "made up")]
    assert case.flag_states() == ["open"]


@on_sqlite
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"quality": 7}, "quality: must be a whole number from 1 to 4, not 7"),
        ({"groundedness": "high"}, "groundedness: .* not 'high'"),
        (
            {"decision": "maybe"},
            "decision: must be one of confirm, dismiss, unsure, not 'maybe'",
        ),
        (
            {"scores": {"relevance": 9}},
            "scores.relevance: must be a whole number from 1 to 5, not 9",
        ),
        ({"note": "\x00"}, "note: cannot be stored: NUL"),
        ({"seconds": -1}, "seconds"),
        ({"qualty": 2}, "qualty: is not a field"),
        ({"token": "1.x"}, "token"),
        ({"item": "1"}, "item"),
    ],
)
def test_a_line_that_cannot_be_used_is_named_and_nothing_of_the_file_is_stored(
    changes, message, case, file
):
    bundle(case, file, 0.1, 0.2)
    fill(file, CONFIRMED, CONFIRMED | changes)
    assert_not_merged(case, file, f"b.jsonl, line 3, {message}")
    assert case.reviews() == []


@on_sqlite
def test_a_file_that_is_no_bundle_or_half_a_line_says_where(case, file):
    bundle(case, file, 0.1)
    whole = file.read_text()
    for text, message in (
        ('{"query": "q"}\n', "line 1, judgeboard_bundle"),
        (whole.rstrip()[:-5], "line 2: not JSON"),
        (whole + whole.splitlines()[1], "line 3, item:.*2:"),
    ):
        file.write_text(text)
        assert_not_merged(case, file, message)
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
def test_a_first_line_that_cannot_be_used_names_its_field(changes, said, case, file):
    bundle(case, file, 0.1)
    head, *items = file.read_text().splitlines()
    file.write_text("\n".join([json.dumps(json.loads(head) | changes), *items]))
    assert_not_merged(case, file, f"b.jsonl, line 1, {said}")


@on_sqlite
def test_every_line_that_cannot_be_used_is_named_up_to_twenty(case, file):
    bundle(case, file, *[0.1] * 24)
    fill(file, CONFIRMED, {"quality": 7}, CONFIRMED, {"note": 5})
    with pytest.raises(BadInput) as few:
        merged(case, file)
    assert re.findall(r"line (\d+), (\w+)", str(few.value)) == [("3", "quality"), ("5", "note")]
    fill(file, CONFIRMED, *[{"quality": 7}] * 23)
    with pytest.raises(BadInput, match=r"and 3 more$") as many:
        merged(case, file)
    assert re.findall(r"line (\d+)", str(many.value)) == [str(line) for line in range(3, 23)]
    assert case.reviews() == []


@on_sqlite
def test_a_bundle_that_was_cut_off_at_the_end_of_a_line_is_refused_and_one_without_a_count_is_not(
    case, file
):
    bundle(case, file, 0.1, 0.2, 0.3)
    fill(file, CONFIRMED)
    head, *items = lines_of(file)
    write_lines(file, [head, *items[:2]])
    assert_not_merged(case, file, r"\b2\b.*\b3\b")
    assert case.reviews() == []
    del head["items"]  # as earlier releases wrote it
    write_lines(file, [head, *items[:2]])
    assert merged(case, file) == (1, 0, 1, [])


@on_sqlite
def test_a_bundle_goes_to_somebody_who_may_review(case, file):
    case.queue_of(0.1)
    gone = write_to(case.store, store_reviewer, "oidc", "gone@example.org", role=Role.NONE)
    with pytest.raises(NotAllowed):
        exported(case, file, who=gone)
    assert not file.exists()


@on_sqlite
def test_where_the_file_cannot_be_written_nothing_is_held(case, tmp_path):
    case.queue_of(0.1)
    with pytest.raises(BadInput, match="cannot be written"):
        exported(case, tmp_path / "no such folder" / "b.jsonl")
    assert case.take(case.jon)


def test_a_reviewer_exports_their_own_slice_and_not_another_ones(case, file, tmp_path):
    case.queue_of(0.1)
    ann, lea = (
        write_to(case.store, store_reviewer, "oidc", f"{name}@example.org", role=role)
        for name, role in (("ann", Role.REVIEWER), ("lea", Role.LEAD))
    )
    with pytest.raises(NotAllowed):
        exported(case, tmp_path / "x", by=ann)
    exported(case, file, who=ann, by=ann)
    fill(file, CONFIRMED)
    assert merged(case, file, ann) == (1, 0, 0, [])
    assert merged(case, file, lea) == (0, 1, 0, [])
    case.flagged(0.1)
    of_mara = tmp_path / "mara.jsonl"
    exported(case, of_mara)
    with pytest.raises(NotAllowed):
        merged(case, of_mara, ann)


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
    case.queue_of(*[0.1] * len(filled), name=name)
    file = tmp_path / f"{name}.jsonl"
    exported(case, file, name=name)
    fill(file, *filled)
    before = len(case.reviews())
    new, known, unfilled, _ = merged(case, file)
    stored = case.reviews()[before:]
    wanted = [
        review
        for review in map(_values, filled)
        if any(part not in (None, {}) for part in review[:-1])
    ]
    assert columns(stored, "decision", "label", "groundedness", "quality", "note", "seconds") == [
        review[:4] + review[5:] for review in wanted
    ]
    assert (new, known) == (len(wanted), 0)
    assert merged(case, file) == (0, len(wanted), unfilled, [])
    assert len(case.reviews()) == before + len(wanted)
    case.close(name)
    for flag in case.flags():
        if flag["state"] == "open":
            case.decide(flag["id"], case.lead)


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
def test_a_bundle_asks_for_the_fields_of_the_label_schema_and_checks_them(case, file):
    case.flagged(*[0.1] * 4)
    add_schema(case.store, SCHEMA, by=case.lead)
    create_queue(case.store, new_queue("q"), by=case.lead, schema="support", now=case.now)
    line, *_ = exported(case, file)
    assert line["fields"] == {"verdict": None, "tone": None, "why": None, "errors": None}
    head = lines_of(file)[0]
    assert head["required"] == ["decision", "verdict"]
    assert columns(head["fields"], "name") == ["verdict", "tone", "why", "errors"]
    spans = [{"type": "fact", "start": 0, "end": 6}]
    fields = {"verdict": "fix", "tone": 2, "why": " made up ", "errors": spans}
    for wrong, reason in (
        ({"tone": 3}, "line 2, fields: tone: .* 1 to 2, not 3"),
        ({"shade": "red"}, "line 2, fields: .*'shade'"),
    ):
        fill(file, CONFIRMED | {"fields": wrong})
        assert_not_merged(case, file, reason)
    outside = {"verdict": "fix", "errors": [{"type": "fact", "start": 0, "end": 999}]}
    fill(
        file,
        CONFIRMED | {"label": "hallucinated", "fields": fields},
        CONFIRMED | {"fields": {"tone": 1}},
        CONFIRMED | {"fields": outside},
        {
            "decision": "dismiss",
            "fields": {"verdict": "send", "why": "not asked"},
            "corrected_answer": "Better.",
        },
    )
    for numbers in ([2, 0, 0], [0, 2, 0]):
        *counts, (missing, beyond) = merged(case, file)
        assert counts == numbers
    assert missing.reason == "required: verdict"
    assert re.findall(r"\d+", beyond.reason) == ["9", "0", "999"]
    first, last = case.reviews()
    check_fields(first, label="hallucinated", choices={"verdict": "fix"}, texts={"why": "made up"})
    assert first["spans"] == [spans[0] | {"field": "errors"}]
    check_fields(last, choices={"verdict": "send"}, texts=None, corrected_answer="Better.")
    fill(file, {"fields": fields | {"tone": 1}})
    *_, (changed, _, _) = merged(case, file)
    assert changed.reason == OTHER_CONTENT
