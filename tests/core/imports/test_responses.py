"""A row becomes a response with an id, passages and feedback; a differing row names its fields."""

import json
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engines import on_sqlite
from judgeboard.domain import Feedback, FeedbackKind, Rejected, Response, ResponseKind
from judgeboard.imports.kinds import SeenIds
from judgeboard.imports.responses import NO_PASSAGES, differing
from judgeboard.store.responses import content, content_hash, find_contents, key_of
from judgeboard.store.storing import store_responses
from judgeboard.store.tables import FEEDBACK, RESPONSE
from judgeboard.text import as_utc
from stored_rows import values_of
from tool_files import counts

ROW = {"query": "q", "answer": "a"}


def test_without_an_id_a_row_gets_its_content_hash_and_equal_rows_are_numbered(several):
    other = {**ROW, "answer": "b"}
    items = several(ROW, other, ROW, ROW, other)
    first, second = content_hash(items[0]), content_hash(items[1])
    assert [item.external_id for item in items] == [
        first,
        second,
        f"{first}-2",
        f"{first}-3",
        f"{second}-2",
    ]


def test_an_id_names_one_answer_in_a_file(several):
    others = ({"id": f"y{n}", **ROW} for n in range(60))
    rows = [{"id": id_, **ROW} for id_ in ("x", "x", 1)]
    items = several(*others, *rows, {"id": "1", **ROW, "answer": "other"})[60:]
    assert [type(item) for item in items] == [Response, Response, Response, Rejected]
    assert items[-1].field == "external_id"


def test_a_column_that_repeats_is_no_id(several):
    items = several(*({"id": n % 3, "query": f"q{n}", "answer": f"a{n}"} for n in range(9)))
    assert len({item.external_id for item in items}) == 9
    assert [item.metadata["id"] for item in items[:4]] == [0, 1, 2, 0]


def test_one_id_in_two_sources_is_two_ids(several):
    items = several(*({"source": source, "external_id": "x", **ROW} for source in ("a", "b")))
    assert all(isinstance(item, Response) for item in items)


def test_the_id_of_a_rejected_row_stays_free(several):
    bad, good = several({"id": "x", "query": "q"}, {"id": "x", **ROW})
    assert isinstance(bad, Rejected)
    assert good.external_id == "x"


def test_texts_stay_exactly_as_they_are(one):
    text = "  = \r\n\t<b>ä</b> \u202e😀 "
    response = one({"query": text, "answer": text, "reference": text, "id": " x "})
    assert {response.query, response.answer, response.reference} == {text}
    assert response.external_id == " x "


@pytest.mark.parametrize(
    ("extra", "field"),
    [
        ({"id": True}, "external_id"),
        ({"id": 1.5}, "external_id"),
        ({"id": ["x"]}, "external_id"),
        ({"id": "x" * 513}, "external_id"),
        ({"query_type": {"a": 1}}, "query_type"),
        ({"query_type": "x" * 129}, "query_type"),
        ({"model": ["m"]}, "generator_model"),
        ({"cost": -1}, "generator_cost"),
        ({"cost": "cheap"}, "generator_cost"),
        ({"cost": True}, "generator_cost"),
        ({"messages": "hello"}, "messages"),
        ({"messages": [{"content": "no role"}]}, "messages"),
        ({"messages": ["hello"]}, "messages"),
        ({"reference": 42}, "reference"),
        ({"asked_at": "yesterday"}, "asked_at"),
        ({"ts": True}, "asked_at"),
        ({"metadata": ["a"]}, "metadata"),
        ({"metadata": "{'a': 1}"}, "metadata"),
        ({"metadata": '{"a": "\\u0000"}'}, "metadata"),
    ],
)
def test_an_unusable_optional_field_is_kept_in_metadata_and_counted(reading, extra, field):
    records = reading(json.dumps({**ROW, **extra}).encode())
    (response,) = records
    ((column, value),) = extra.items()
    assert response.metadata == {column: value}
    assert {name: (each.ours, each.times) for name, each in records.unread.items()} == {
        column: (field, 1)
    }


def test_an_unknown_kind_of_an_own_export_rejects_the_row(refused):
    assert refused({**ROW, "external_id": "x", "kind": "nonsense"})[0] == "kind"


def test_optional_fields_are_read(one):
    messages = [{"role": "user", "content": "q"}]
    row = {
        **ROW,
        "messages": messages,
        "metadata": '{"a": 1}',
        "ideal": ["x", "y"],
        "type": 3,
        "cost": 1e-7,
    }
    response = one(row)
    assert response.messages == tuple(messages)
    assert (response.metadata, response.reference, response.query_type) == ({"a": 1}, "x\ny", "3")
    assert response.generator_cost == 0  # costs are kept in whole millionths


def test_a_row_without_optional_fields_has_the_defaults(one):
    response = one({**ROW, "type": " ", "id": ""}, source="mine")
    assert (response.query_type, response.source, response.metadata) == ("unspecified", "mine", {})
    assert response.external_id == content_hash(response)


@pytest.mark.parametrize(
    ("context", "passages"),
    [
        (None, None),
        ([], ()),
        ("", ()),
        ("a text", ("a text",)),
        ('["not", "csv"]', ('["not", "csv"]',)),
        (["p1", "", "p2"], ("p1", "", "p2")),
        ({"name": "Ämt", "n": 1}, ('{"name": "Ämt", "n": 1}',)),
        (['{"name": "record"}'], ('{"name": "record"}',)),
        ([{"a": 1}], ('{"a": 1}',)),
    ],
)
def test_passages_are_read(one, context, passages):
    response = one({**ROW, "context": context})
    assert (response.passages, response.metadata) == (passages, {})


def test_of_passage_objects_the_text_is_taken_and_the_rest_is_kept(one):
    context = [
        {"page_content": "p1", "score": 0.9},
        {"document": {"content": "p2", "id": 4}, "rank": 2},
        "p3",
    ]
    response = one({**ROW, "context": context})
    assert response.passages == ("p1", "p2", "p3")
    details = [{"score": 0.9}, {"rank": 2, "document": {"id": 4}}, {}]
    assert response.metadata == {"context_details": details}


@pytest.mark.parametrize(
    "context",
    [["p", 3], [None], [["p"]], 7, True],
)
def test_what_is_no_passage_is_kept_in_metadata(one, context):
    response = one({**ROW, "context": context})
    assert (response.passages, response.metadata) == (None, {"context": context})


@pytest.mark.parametrize("context", ["", "  ", "nan", "None", "[]", "N/A"])
def test_a_word_for_nothing_is_no_passage(one, context):
    assert not one({**ROW, "context": context}).passages


UP, DOWN = Feedback(FeedbackKind.THUMBS, 1), Feedback(FeedbackKind.THUMBS, 0)


def stars(value):
    return Feedback(FeedbackKind.STARS, value)


@pytest.mark.parametrize(
    ("column", "value", "expected"),
    [
        ("thumbs", 1, UP),
        ("thumbs_up", True, UP),
        ("star_rating", 4.5, stars(4.5)),
        ("feedback", "up", UP),
        ("feedback", " Down ", DOWN),
        ("feedback", "👍🏽", UP),
        ("feedback", "👎", DOWN),
        ("feedback", False, DOWN),
        ("rating", 4, stars(4)),
        ("feedback", {"thumbs": "up"}, UP),
        ("feedback", {"thumbs": 0}, DOWN),
        ("feedback", {"stars": 4}, stars(4)),
        ("feedback", '{"stars": 4}', stars(4)),
        ("feedback", {"kind": "stars", "value": 1}, stars(1)),
        ("feedback", {"rating": "up"}, UP),
        ("feedback", {"User Rating": 4}, stars(4)),
        ("feedback", {"liked": False}, DOWN),
    ],
)
def test_feedback_is_read(one, column, value, expected):
    response = one({**ROW, column: value})
    assert (response.feedback, response.metadata) == ((expected,), {})


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("thumbs", 0.5),
        ("stars", 0),
        ("stars", "up"),
        ("stars", True),
        ("feedback", "so-so"),
        ("feedback", {"score": 1}),
        ("feedback", [1]),
        ("feedback", {"thumbs": 1, "stars": 5}),
        ("feedback", {"stars": "4"}),
        ("feedback", -2),
        ("feedback", {"stars": 4, "at": "yesterday"}),
        ("feedback", {"rating": 1}),
        ("feedback", {"rating": "up", "user_rating": 4}),
        ("feedback", {"rating": None}),
    ],
)
def test_what_is_no_feedback_is_kept_in_metadata(one, column, value):
    response = one({**ROW, column: value})
    assert (response.feedback, response.metadata) == ((), {column: value})


@pytest.mark.parametrize(
    ("column", "value"),
    [("feedback", 1), ("feedback", 0), ("rating", 1), ("rating", 1.0), ("user_feedback", 0)],
)
def test_a_bare_one_or_nought_is_left_out_and_its_row_is_read(one, column, value):
    response = one({**ROW, column: value})
    assert (response.answer, response.feedback, response.metadata) == ("a", (), {})


@pytest.mark.parametrize(("scale", "expected"), [("thumbs", UP), ("stars", stars(1))])
def test_a_bare_one_is_told_by_the_mapping(one, scale, expected):
    response = one({**ROW, "rating": 1}, mapping={"rating": scale})
    assert response.feedback == (expected,)


def test_several_feedbacks_with_user_and_time_are_kept(one):
    given = [
        {"kind": "thumbs", "value": 0, "user": "u", "at": "2026-03-01"},
        {"stars": 2, "user": None},
    ]
    response = one({**ROW, "feedback": given})
    assert response.feedback == (
        Feedback(FeedbackKind.THUMBS, 0, "u", as_utc("2026-03-01")),
        stars(2),
    )


@on_sqlite
def test_feedback_with_a_comment_is_added_to_a_stored_answer_and_its_other_keys_are_named(
    store, bring_answers
):
    first, second = {"id": "r1", **ROW}, {"id": "r2", **ROW}
    ann = {"thumbs": "up", "comment": "fine", "user": "ann", "device": "phone"}
    bring_answers(first | {"feedback": ann}, second)
    bob = {"thumbs": "down", "comment": "no, wrong", "user": "bob"}
    later = bring_answers(
        first | {"feedback": bob}, second | {"feedback": ann | {"comment": "good"}}
    )
    assert (counts(later), later.feedback_added) == ((0, 2, 0), 2)
    assert values_of(store, RESPONSE.c.extra) == [{}, {}]
    assert values_of(store, FEEDBACK.c.comment) == ["fine", "no, wrong", "good"]
    named, *others = later.messages
    assert "feedback.device (1 time)" in named
    assert others == [NO_PASSAGES]


@on_sqlite
def test_rows_without_an_id_keep_theirs_when_a_comment_is_added_to_their_feedback(
    store, bring_answers
):
    row = {**ROW, "feedback": {"thumbs": "down"}}
    bring_answers(row, row)
    commented = {**ROW, "feedback": {"thumbs": "down", "comment": "wrong"}}
    assert counts(bring_answers(commented, row)) == (0, 2, 0)


WHOLE = Response(
    "log",
    "1",
    "why?",
    "because",
    ("p",),
    "QA",
    "m",
    0.1234567,
    ({"role": "user", "content": "why?"},),
    "r",
    datetime(2026, 3, 1, 12, 30, 0, 5, tzinfo=UTC),
    {"a": [1, None]},
)
BARE = Response("log", "2", "why?", "because")
OTHERS = {
    "query": "how?",
    "answer": "so",
    "passages": None,
    "query_type": "chat",
    "generator_model": None,
    "generator_cost": 0.2,
    "messages": None,
    "reference": None,
    "asked_at": None,
    "metadata": {},
    "kind": ResponseKind.CONTROL,
}


@pytest.mark.parametrize("field", OTHERS)
def test_each_field_is_named_as_a_column_is_mapped_to_it(field):
    name = {"passages": "context"}.get(field, field)
    assert differing(replace(WHOLE, **{field: OTHERS[field]}), WHOLE) == [name]


def test_no_field_of_the_content_is_left_out():
    assert len(differing(replace(WHOLE, **OTHERS), WHOLE)) == len(content(WHOLE)) == len(OTHERS)


@on_sqlite
@pytest.mark.parametrize("response", [WHOLE, BARE])
def test_what_is_stored_says_what_came_in(store, response):
    with store.writing() as connection:
        store_responses(connection, [response], None, datetime.now(UTC))
        stored = find_contents(connection, [key_of(response)])[key_of(response)]
    assert differing(response, stored) == []
    assert content_hash(response) == content_hash(stored)


@given(st.lists(st.text(max_size=3)))
def test_it_remembers_as_a_set_does(keys):
    seen, expected = SeenIds(), set()
    for key in keys:
        assert seen.add(key) == (key not in expected)
        expected.add(key)
