"""Responses and feedback entering the store, their hashes, and the starts of texts in lists."""

from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta, timezone

import pytest

from engines import on_sqlite
from judgeboard.domain import Feedback, FeedbackKind, Response, ResponseKind
from judgeboard.errors import BadInput
from judgeboard.store.responses import (
    answer_starts,
    content_hash,
    evidence_group,
    find_contents,
    key_of,
)
from judgeboard.store.tables import FEEDBACK, RESPONSE

UP = Feedback(FeedbackKind.THUMBS, 1, "u-1", datetime(2026, 3, 1, 9, tzinfo=UTC))
DOWN = Feedback(FeedbackKind.THUMBS, 0)


def known(stored):
    return len(stored.new), stored.unchanged, stored.feedback_added


def logged(external_id, answer="an answer", **fields):
    return Response("log", external_id, "a query", answer, **fields)


@on_sqlite
def test_a_response_comes_back_as_it_went_in(case):
    asked_at = datetime(2026, 3, 1, 23, 30, tzinfo=timezone(timedelta(hours=-2)))
    given = logged(
        "a",
        passages=("one", "two"),
        query_type="sql",
        generator_model="m",
        generator_cost=0.0123,
        messages=({"role": "user", "content": "hi"},),
        reference="ref",
        asked_at=asked_at,
        metadata={"session": "s-1"},
    )
    stored = case.add(given)
    [row] = case.rows(RESPONSE)
    assert stored.new == [row["id"]]
    assert case.read(find_contents, [key_of(given)]) == {key_of(given): given}
    assert row["asked_at"].tzinfo == row["imported_at"].tzinfo == UTC
    assert (row["kind"], row["asked_day"]) == ("log", 20_514)  # 2 March 2026 in UTC


@on_sqlite
def test_absent_passages_are_not_an_empty_list(case):
    case.add(logged("absent"), logged("none", passages=()))
    assert [row["passages"] for row in case.rows(RESPONSE)] == [None, ()]


def test_ids_follow_the_order_of_the_log(case):
    names = [f"a{number}" for number in range(300)]
    new = case.add(*map(logged, names)).new
    assert [row["external_id"] for row in case.rows(RESPONSE)] == names
    assert new == sorted(new)


@on_sqlite
def test_the_same_again_changes_nothing(case):
    batch = [logged("a", feedback=(UP,)), logged("b")]
    case.add(*batch)
    again = case.add(*batch)
    assert (known(again), again.differing) == ((0, 2, 0), [])
    assert len(case.rows(FEEDBACK)) == 1


@on_sqlite
def test_other_content_under_a_known_id_is_not_stored(case):
    case.add(logged("a"), logged("b"))
    stored = case.add(logged("c"), logged("b", "another answer", feedback=(DOWN,)))
    assert (known(stored), stored.differing) == ((1, 0, 0), [1])
    assert [row["answer"] for row in case.rows(RESPONSE)] == ["an answer"] * 3


@on_sqlite
def test_an_id_of_another_source_is_another_response(case):
    stored = case.add(logged("a"), Response("other log", "a", "a query", "another answer"))
    assert len(stored.new) == 2


@on_sqlite
def test_an_id_repeated_within_a_batch_is_stored_once(case):
    stored = case.add(logged("a"), logged("a", feedback=(UP,)), logged("a", "another answer"))
    assert (known(stored), stored.differing) == ((1, 1, 1), [2])


@on_sqlite
def test_new_feedback_on_a_known_row_is_appended(case):
    case.add(logged("a", feedback=(UP,)))
    stored = case.add(logged("a", feedback=(UP, DOWN, DOWN)))
    assert known(stored) == (0, 1, 1)
    assert case.add(logged("a", feedback=(DOWN,))).feedback_added == 0
    assert [(row["value"], row["user"], row["at"]) for row in case.rows(FEEDBACK)] == [
        (1, "u-1", UP.at),
        (0, None, None),
    ]


@on_sqlite
def test_more_than_one_statement_can_hold_is_stored_whole(case):
    # 2,500 rows of 18 columns are more variables than SQLite takes at once.
    answers = [logged(f"a{number}", feedback=(UP,)) for number in range(2_500)]
    assert known(case.add(*answers)) == (2_500, 0, 2_500)
    answers[2_400] = logged("a2400", "x")
    stored = case.add(*answers)
    assert (known(stored), stored.differing) == ((0, 2_499, 0), [2_400])


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"answer": "a\x00b"}, "answer of 'a' contains NUL at character 2"),
        (
            {"passages": ("p", "x\ud800")},
            "passages of 'a' contains lone surrogate U[+]D800 at character 2",
        ),
        ({"external_id": "a\x00"}, r"external_id of 'a.x00' contains NUL at character 2"),
    ],
)
def test_what_not_both_engines_can_hold_is_refused(case, fields, said):
    with pytest.raises(BadInput, match=said):
        case.add(logged("before"), logged(**{"external_id": "a", **fields}))
    assert case.rows(RESPONSE) == []


@pytest.mark.parametrize(
    "text", ["'); DROP TABLE response; --", "𝄞 אב\u202e <script>", "line\r\nline"]
)
def test_hostile_text_is_only_text(case, text):
    case.add(Response(text, text, text, text, (text,), query_type=text, metadata={text: text}))
    [row] = case.rows(RESPONSE)
    same = dict.fromkeys(("source", "external_id", "answer"), text)
    assert row == row | same | {"passages": (text,)}


BASE = Response("default", "1", "why?", "because", ("p",), metadata={"a": 1, "b": [None, "é"]})
FILLED = {
    "query_type": "QA",
    "generator_model": "m",
    "generator_cost": 0.1234567,
    "messages": ({"role": "user", "content": "why?"},),
    "reference": "r",
    "asked_at": datetime(2026, 3, 1, 12, 30, 0, 5, tzinfo=timezone(timedelta(hours=2))),
    "kind": ResponseKind.CONTROL,
}
OTHERS = FILLED | {
    "query": "why not?",
    "answer": "so",
    "passages": None,
    "generator_cost": 0.000001,
    "metadata": {"a": 2},
}
WHOLE = replace(BASE, passages=("p", "é"), **FILLED)


@pytest.mark.parametrize("name", OTHERS)
def test_every_stored_field_changes_the_hash(name):
    assert content_hash(replace(BASE, **{name: OTHERS[name]})) != content_hash(BASE)


def test_identity_and_feedback_do_not_change_it():
    other = replace(BASE, source="s", external_id="2", feedback=(DOWN,), derived_from=7)
    assert content_hash(other) == content_hash(BASE)


@pytest.mark.parametrize(
    ("response", "stored"),
    [
        (
            replace(BASE, metadata={}, passages=None),
            "ad94b9a12a1e109e44f619842107a67d8e53ac350d810d374c4b689c733bdf31",
        ),
        (
            replace(BASE, metadata={}, passages=()),
            "345365af189f903d783c7fb735182fd5ecce980bbb39e4551e53b1d21d40f16d",
        ),
        (WHOLE, "e832526c0e1804cc9772cffffe36d98006f060390de3da20cf6451d8b2d7d7d2"),
    ],
)
def test_the_hashes_of_stored_responses_stay_what_they_are(response, stored):
    assert content_hash(response) == stored


def test_no_field_is_forgotten():
    assert set(OTHERS) | {"source", "external_id", "feedback", "derived_from"} == {
        one.name for one in fields(Response)
    }


def test_the_order_of_metadata_does_not_matter():
    assert content_hash(replace(BASE, metadata={"b": [None, "é"], "a": 1})) == content_hash(BASE)


def test_absent_passages_are_other_evidence_than_none():
    hashes = {evidence_group("q", passages) for passages in (None, (), ("",), ("a", "b"), ("ab",))}
    assert len(hashes) == 5
    assert evidence_group("q", ["a"]) == evidence_group("q", ("a",))


def test_the_evidence_group_fits_a_bigint():
    groups = {evidence_group(f"q{number}", None) for number in range(200)}
    assert len(groups) == 200
    assert min(groups) < 0 < max(groups)
    assert all(-(2**63) <= group < 2**63 for group in groups)


@pytest.mark.parametrize(
    ("question", "start"),
    [
        ("a" * 300, "a" * 300),
        ("a" * 301, f"{'a' * 299}…"),
        (f"{'ä' * 297}  more words", f"{'ä' * 297}…"),
        ("short", "short"),
    ],
)
def test_a_cut_text_ends_with_an_ellipsis(case, question, start):
    (stored,) = case.add(Response("log", "a1", question, "an answer")).new
    assert case.read(answer_starts, [stored])[stored].question == start
