"""The shared filter: what it refuses, how it is written down, how it is said."""

import json
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgeboard.domain import TEXT_FILTERS, TextFilter
from judgeboard.errors import BadInput
from judgeboard.store.filter_conditions import check_names
from judgeboard.store.filters import (
    JUDGE_SIDES,
    MANY_FIELDS,
    USER_SIDES,
    WHERE_FIELDS,
    RowFilter,
    ScoreName,
    conditions_of,
    describe,
    from_dict,
    parse_where,
)

TEXT = st.text(
    st.characters(exclude_characters="\x00", exclude_categories=["Cs"]), min_size=1, max_size=5
)
NAMES = st.lists(TEXT, max_size=3).map(tuple)
FILTERS = st.builds(
    RowFilter,
    rules=NAMES,
    query_types=NAMES,
    sources=NAMES,
    ids=NAMES,
    judge=st.none() | TEXT,
    judge_version=st.none() | st.integers(1, 9),
    min_score=st.none() | st.floats(0, 0.5),
    max_score=st.none() | st.floats(0.5, 1),
    day_from=st.none() | st.integers(0, 100),
    day_to=st.none() | st.integers(100, 200),
    text=st.none() | TEXT,
    statuses=st.lists(st.sampled_from(["ok", "error"])).map(tuple),
    states=st.lists(st.sampled_from(["open", "confirmed"])).map(tuple),
    graded=st.none() | st.booleans(),
    user=st.none() | st.sampled_from(USER_SIDES),
    judge_side=st.none() | st.sampled_from(JUDGE_SIDES),
    unscored=st.none() | st.sampled_from(get_args(ScoreName)),
    no_time=st.booleans(),
    response_ids=st.none() | st.lists(st.integers(1, 9), max_size=3).map(tuple),
    kinds=st.lists(st.sampled_from(["log", "control", "candidate"])).map(tuple),
    metadata=st.lists(st.sampled_from(["tenant=acme", "tenant=none", "user.plan=a=b", "n>=3"])).map(
        tuple
    ),
)


@given(FILTERS)
def test_a_filter_survives_being_written_down(where):
    assert from_dict(json.loads(json.dumps(where.as_dict()))) == where


@given(FILTERS)
def test_every_filter_has_words(where):
    assert describe(where)
    assert (describe(where) == "all answers") == (where == RowFilter())


def test_order_and_repetition_of_values_do_not_matter():
    one = RowFilter(rules=("b", "a", "b"), response_ids=(3, 1))
    two = RowFilter(rules=("a", "b"), response_ids=(1, 3, 3))
    assert one == two
    assert one.as_dict() == two.as_dict() == {"rules": ["a", "b"], "response_ids": [1, 3]}


def test_no_ids_is_not_the_same_as_all():
    assert RowFilter(response_ids=()) != RowFilter()
    assert from_dict({"response_ids": []}) == RowFilter(response_ids=())
    assert describe(RowFilter(response_ids=())) == "0 chosen answers"


def test_where_reads_every_kind_of_field():
    given = "query_type=QA|query_type=Summary|from=2026-03-01|to=2026-03-07|max_score=0.5|graded=no|text= rope "
    given += "|status=error|time=none|id=a=b|min_quality=2|judge=rag|user=down|unscored=quality"
    where = parse_where(given.split("|"))
    assert where == RowFilter(
        query_types=("QA", "Summary"),
        day_from=20513,
        day_to=20519,
        max_score=0.5,
        graded=False,
        text="rope",
        statuses=("error",),
        no_time=True,
        ids=("a=b",),
        min_quality=2,
        judge="rag",
        user="down",
        unscored="quality",
    )
    assert parse_where(conditions_of(where)) == where
    of_metadata = parse_where(["metadata.user.plan=free", "metadata.tokens>=100", "graded=yes"])
    assert parse_where(conditions_of(of_metadata)) == of_metadata


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        ("query_type", "FIELD=VALUE"),
        ("colour=red", "fields query_type, source"),
        ("query_type=", "needs a value"),
        ("from=yesterday", "2026-03-01"),
        ("max_score=high", "not a number"),
        ("max_score=7", "from 0 to 1"),
        ("min_quality=2.5", "not a number"),
        ("max_score=nan", "from 0 to 1"),
        ("status=good", "ok, unparsable, refused, error"),
        ("state=closed", "open, confirmed"),
        ("graded=maybe", "yes, no"),
        ("user=happy", "down, middle, up, none"),
        ("time=noon", "none"),
        ("unscored=mood", "groundedness, quality"),
    ],
)
def test_a_condition_that_cannot_be_used_says_why(condition, said):
    with pytest.raises(BadInput, match=said):
        parse_where([condition])


def test_a_single_value_cannot_be_given_twice():
    with pytest.raises(BadInput, match="once"):
        parse_where(["judge=rag", "judge=nli"])
    assert parse_where(["judge=rag", "judge=rag"]) == RowFilter(judge="rag")


@pytest.mark.parametrize(
    "contradiction",
    [
        {"min_score": 0.8, "max_score": 0.2},
        {"day_from": 9, "day_to": 8},
        {"min_quality": 0},
        {"max_score": 10**400},
    ],
)
def test_a_filter_that_nothing_can_pass_is_refused(contradiction):
    with pytest.raises(BadInput):
        RowFilter(**contradiction)


def test_a_kind_of_answers_that_there_is_not_is_refused():
    with pytest.raises(BadInput, match="log, control"):
        RowFilter(kinds=("fake",))
    with pytest.raises(BadInput, match="query_type"):
        parse_where(["kind=control"])  # nothing on a page or in an export of the log is meant by it


@pytest.mark.parametrize("given", [{"text": "a\x00b"}, {"sources": ("\ud800",)}, {"judge": "\x00"}])
def test_characters_that_no_database_holds_are_refused(given):
    with pytest.raises(BadInput, match=r"NUL|surrogate"):
        RowFilter(**given)


def test_a_field_of_a_newer_program_is_refused():
    with pytest.raises(BadInput, match="colour"):
        from_dict({"colour": "red"})


def test_every_field_of_where_has_help():
    assert all(WHERE_FIELDS.values())


@pytest.mark.parametrize(
    "condition",
    [
        {"judge_side": "none"},
        {"judge_side": "low"},
        {"unscored": "quality"},
        {"unscored": "groundedness"},
    ],
)
def test_words_of_a_judges_verdicts_name_the_judge_and_the_score(condition):
    of_version = RowFilter(**condition, judge_version=3)
    described = {
        "rag v2": describe(of_version, {3: "rag v2"}),
        "3": describe(of_version),
        "nli": describe(RowFilter(**condition, judge="nli")),
    }
    for judge, words in described.items():
        assert judge in words
        assert condition.get("unscored", "") in words


@pytest.mark.parametrize("name", ["status", "box", "branch", "city"])
def test_a_filter_by_a_text_of_the_log_has_a_name_with_a_plain_plural(name):
    with pytest.raises(ValueError, match=f"'{name}s'"):
        TextFilter(name, "help")
    assert TextFilter("key", "help").plural == "keys"


@pytest.mark.parametrize(
    ("name", "table"), [("rule", "flag"), ("gold", "pair"), ("label", "current_judgment")]
)
def test_answers_are_not_filtered_by_a_text_whose_name_means_something_else_elsewhere(name, table):
    with pytest.raises(ValueError, match=f"'{name}': {table} "):
        check_names([*TEXT_FILTERS, name])
    check_names([*TEXT_FILTERS, "country"])


def test_no_filter_by_a_text_of_the_log_takes_the_name_of_another_filter():
    for each in TEXT_FILTERS.values():
        assert (WHERE_FIELDS[each.name], MANY_FIELDS[each.name]) == (each.help, each.plural)
    assert len(set(MANY_FIELDS.values())) == len(MANY_FIELDS)
