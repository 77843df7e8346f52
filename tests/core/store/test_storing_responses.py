"""Responses and feedback entering the store."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from engines import on_sqlite
from judgeboard.domain import Feedback, FeedbackKind, Response, ResponseKind
from judgeboard.errors import BadInput
from judgeboard.store.tables import FEEDBACK, FLAG, RESPONSE

UP = Feedback(FeedbackKind.THUMBS, 1, "u-1", datetime(2026, 3, 1, 9, tzinfo=UTC))
DOWN = Feedback(FeedbackKind.THUMBS, 0)


def logged(external_id: str, answer: str = "an answer", **fields: Any) -> Response:
    return Response("log", external_id, "a query", answer, **fields)


@on_sqlite
def test_a_response_comes_back_as_it_went_in(case) -> None:
    asked_at = datetime(2026, 3, 1, 23, 30, tzinfo=timezone(timedelta(hours=-2)))
    stored = case.add(
        logged(
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
    )
    [row] = case.rows(RESPONSE)
    assert stored.new == [row["id"]]
    assert (row["passages"], row["query_type"], row["generator_cost"]) == (("one", "two"), "sql", 0.0123)
    assert (row["messages"], row["extra"]) == ([{"role": "user", "content": "hi"}], {"session": "s-1"})
    assert (row["asked_at"], row["asked_at"].tzinfo) == (asked_at, UTC)
    assert row["asked_day"] == (datetime(2026, 3, 2, tzinfo=UTC) - datetime(1970, 1, 1, tzinfo=UTC)).days
    assert (row["kind"], row["imported_at"].tzinfo) == ("log", UTC)


@on_sqlite
def test_absent_passages_are_not_an_empty_list(case) -> None:
    case.add(logged("absent"), logged("none", passages=()))
    assert [row["passages"] for row in case.rows(RESPONSE)] == [None, ()]


def test_ids_follow_the_order_of_the_log(case) -> None:
    new = case.add(*(logged(f"a{number}") for number in range(300))).new
    assert [row["external_id"] for row in case.rows(RESPONSE)] == [f"a{number}" for number in range(300)]
    assert new == sorted(new)


@on_sqlite
def test_the_same_again_changes_nothing(case) -> None:
    batch = [logged("a", feedback=(UP,)), logged("b")]
    case.add(*batch)
    again = case.add(*batch)
    assert (again.new, again.unchanged, again.differing, again.feedback_added) == ([], 2, [], 0)
    assert len(case.rows(FEEDBACK)) == 1


@on_sqlite
def test_other_content_under_a_known_id_is_not_stored(case) -> None:
    case.add(logged("a"), logged("b"))
    stored = case.add(logged("c"), logged("b", "another answer", feedback=(DOWN,)))
    assert stored.differing == [1]
    assert (len(stored.new), stored.unchanged, stored.feedback_added) == (1, 0, 0)
    assert [row["answer"] for row in case.rows(RESPONSE)] == ["an answer"] * 3


@on_sqlite
def test_an_id_of_another_source_is_another_response(case) -> None:
    stored = case.add(logged("a"), Response("other log", "a", "a query", "another answer"))
    assert len(stored.new) == 2


@on_sqlite
def test_an_id_repeated_within_a_batch_is_stored_once(case) -> None:
    stored = case.add(logged("a"), logged("a", feedback=(UP,)), logged("a", "another answer"))
    assert (len(stored.new), stored.unchanged, stored.feedback_added) == (1, 1, 1)
    assert stored.differing == [2]


@on_sqlite
def test_new_feedback_on_a_known_row_is_appended(case) -> None:
    case.add(logged("a", feedback=(UP,)))
    stored = case.add(logged("a", feedback=(UP, DOWN, DOWN)))
    assert (stored.unchanged, stored.feedback_added) == (1, 1)
    assert case.add(logged("a", feedback=(DOWN,))).feedback_added == 0
    assert [(row["value"], row["user"], row["at"]) for row in case.rows(FEEDBACK)] == [
        (1, "u-1", UP.at),
        (0, None, None),
    ]


@on_sqlite
def test_more_than_one_statement_can_hold_is_stored_whole(case) -> None:
    # 2,500 rows of 18 columns are more variables than SQLite takes at once.
    stored = case.add(*(logged(f"a{number}", feedback=(UP,)) for number in range(2_500)))
    assert (len(stored.new), stored.feedback_added) == (2_500, 2_500)
    stored = case.add(*(logged(f"a{number}", "x" if number == 2_400 else "an answer") for number in range(2_500)))
    assert (stored.unchanged, stored.differing) == (2_499, [2_400])


@on_sqlite
def test_drawn_rules_flag_a_response_when_it_is_stored(case) -> None:
    case.add(logged("first", query_type="sql"))
    case.set("random_share", 1)
    case.set("always_review", ["sql"])
    case.add(logged("a", query_type="sql"), logged("b"), logged("c", kind=ResponseKind.CONTROL, query_type="sql"))
    flags = case.rows(FLAG)
    assert [(flag["rule"], flag["query_type"], flag["inclusion_probability"]) for flag in flags] == [
        ("always_review", "sql", 1.0),
        ("random_sample", "sql", 1.0),
        ("random_sample", "unspecified", 1.0),
    ]
    case.add(logged("a", query_type="sql"), logged("b"))
    assert len(case.rows(FLAG)) == 3


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"answer": "a\x00b"}, "answer of 'a' contains NUL at character 2"),
        ({"passages": ("p", "x\ud800")}, "passages of 'a' contains lone surrogate U[+]D800 at character 2"),
        ({"external_id": "a\x00"}, r"external_id of 'a.x00' contains NUL at character 2"),
    ],
)
def test_what_not_both_engines_can_hold_is_refused(case, fields: dict[str, Any], said: str) -> None:
    with pytest.raises(BadInput, match=said):
        case.add(logged("before"), logged(**{"external_id": "a", **fields}))
    assert case.rows(RESPONSE) == []


@pytest.mark.parametrize("text", ["'); DROP TABLE response; --", "𝄞 אב\u202e <script>", "line\r\nline"])
def test_hostile_text_is_only_text(case, text: str) -> None:
    case.add(Response(text, text, text, text, (text,), query_type=text, metadata={text: text}))
    [row] = case.rows(RESPONSE)
    assert (row["source"], row["external_id"], row["answer"], row["passages"]) == (text, text, text, (text,))
