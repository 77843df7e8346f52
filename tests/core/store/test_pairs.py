"""Pairs add once, with their answers as responses out of the log; preferences of people, one per person and order."""

import pytest

from engines import on_sqlite
from judgeboard.domain import (
    AspectPreference,
    GivenPreference,
    Pair,
    Preference,
    Response,
    ResponseKind,
    Shown,
)
from judgeboard.errors import BadInput
from judgeboard.store.pairs import ids_of_pairs, load_pairs, pairs_named, store_pairs
from judgeboard.store.preferences import ImportedPreference, load_preferences, store_preferences
from judgeboard.store.tables import RESPONSE, REVIEW
from stored_rows import values_of


def pair(name="p", **more):
    return Pair("bench", name, "which?", **({"answer_a": "left", "answer_b": "right"} | more))


def add(case, *pairs):
    return case.write(store_pairs, pairs)


def item(case, pair_id):
    (one,) = case.read(load_pairs, [pair_id])
    return one


def added(case, *pairs):
    return item(case, add(case, *pairs).new[0])


@on_sqlite
def test_a_pair_is_stored_with_both_answers(case):
    given = pair(
        query_type="math",
        options=("x", "y"),
        reference="x",
        model_a="m1",
        model_b="m2",
        gold=Preference.B,
    )
    one = added(case, given)
    assert (one.question, one.answer_a, one.answer_b) == ("which?", "left", "right")
    assert (one.model_a, one.model_b, one.query_type, one.reference) == ("m1", "m2", "math", "x")
    assert (one.options, one.gold) == (("x", "y"), Preference.B)


@on_sqlite
def test_its_answers_are_no_part_of_the_log(case):
    add(case, pair())
    assert [(row["kind"], row["source"], row["external_id"]) for row in case.rows(RESPONSE)] == [
        (ResponseKind.PAIR_SIDE, "bench", "pair:p:a"),
        (ResponseKind.PAIR_SIDE, "bench", "pair:p:b"),
    ]
    assert case.flag_rows(1) == []


def test_the_same_texts_again_are_unchanged_in_one_file_and_in_the_next(case):
    first = add(case, pair(), pair(), pair("q"))
    again = add(case, pair(), pair("q"))
    assert (len(first.new), first.unchanged, first.conflicts) == (2, 1, [])
    assert (again.new, again.unchanged, again.ids) == ([], 2, [first.ids[0], first.ids[2]])


@on_sqlite
@pytest.mark.parametrize(
    ("other", "field"),
    [
        ({"answer_b": "wrong"}, "answer_a"),
        ({"reference": "x"}, "question"),
        ({"options": ("x",)}, "question"),
        ({"gold": Preference.A}, "gold"),
    ],
)
def test_other_content_is_rejected_and_changes_nothing(case, other, field):
    before = added(case, pair())
    result = add(case, pair("fine"), pair(**other))
    assert [(clash.index, clash.field) for clash in result.conflicts] == [(1, field)]
    assert result.ids[1] is None
    assert item(case, before.id) == before


@on_sqlite
def test_an_answer_that_is_in_the_log_is_derived_from_it_where_it_is_the_same(case):
    logged = case.answer("one")
    case.answer("two")
    of_log = {"answer_a": "answer of one", "response_a": "one", "response_b": "two"}
    one = added(case, pair(**of_log, answer_b="something else"))
    sides = RESPONSE.c.id.in_([one.response_a_id, one.response_b_id])
    assert values_of(case.store, RESPONSE.c.derived_from, sides) == [logged, None]


@on_sqlite
def test_a_pair_of_two_stored_answers_copies_neither(case):
    sides = case.answer("one"), case.answer("two")
    one = added(case, pair(sides=sides))
    assert (one.response_a_id, one.response_b_id) == sides
    assert one.answer_a == "answer of one"


@on_sqlite
def test_a_question_without_answers_joins_the_pair_that_has_them(case):
    whole = added(case, pair())
    result = add(case, Pair("bench", "p", "which?"), Pair("bench", "alone", "which?"))
    assert (result.ids[0], result.unchanged) == (whole.id, 1)
    alone = item(case, result.ids[1])
    assert (alone.answer_a, alone.response_a_id, alone.question) == (None, None, "which?")
    assert add(case, pair("alone")).conflicts[0].field == "answer_a"


@on_sqlite
def test_an_id_that_a_logged_answer_has_is_refused(case):
    case.add(Response("bench", "pair:p:b", "which?", "mine"))
    (clash,) = add(case, pair()).conflicts
    assert clash.field == "id"


def test_text_that_not_both_engines_can_hold_is_refused(case):
    with pytest.raises(BadInput, match=r"answer_a .*'p' "):
        add(case, pair(answer_a="a\0"))


@on_sqlite
def test_pairs_are_found_by_name(case):
    ids = add(case, *(pair(f"p{n}") for n in range(5))).new
    add(case, Pair("bench", "sampled", "which?"), Pair("other", "p1", "?"))
    p3 = ("bench", "p3")
    assert case.read(ids_of_pairs, {p3, ("bench", "nobody")}) == {p3: ids[3]}
    named = case.read(pairs_named, ["p1", "nobody"])["p1"]
    assert [each.source for each in named] == ["bench", "other"]


A, B, TIE = (AspectPreference(each) for each in Preference)
GRADE = AspectPreference(None, 1, "-2..2")
BOTH = AspectPreference(Preference.B, 1, "-2..2")


@pytest.fixture
def pair_id(case):
    return add(case, pair()).new[0]


def add_preferences(case, pair_id, *given):
    return case.write(
        store_preferences, [ImportedPreference("p", "s", one, pair_id=pair_id) for one in given]
    )


def is_current(case, **which):
    return [
        (row.reviewer, row.shown, row.aspect, row.preference, row.value)
        for row in case.read(load_preferences, **which)
    ]


def of_ada(preference):
    return GivenPreference("ada", {"overall": preference})


def test_people_and_aspects_and_orders_stand_apart(case, pair_id):
    given = [
        GivenPreference("ada", {"overall": A, "style": GRADE}, Shown.AB),
        GivenPreference("ada", {"overall": B}, Shown.BA),
        GivenPreference("bo", {"overall": TIE}),
    ]
    assert add_preferences(case, pair_id, *given) == [True] * 3
    assert add_preferences(case, pair_id, *given) == [False] * 3
    assert is_current(case) == [
        ("ada", Shown.AB, "overall", Preference.A, None),
        ("ada", Shown.AB, "style", None, 1),
        ("ada", Shown.BA, "overall", Preference.B, None),
        ("bo", None, "overall", Preference.TIE, None),
    ]
    assert len(is_current(case, pair_ids=[pair_id])) == 4
    assert is_current(case, pair_ids=[]) == []


@on_sqlite
def test_other_words_replace_and_nothing_is_lost(case, pair_id):
    assert add_preferences(case, pair_id, *map(of_ada, (A, B, TIE))) == [True] * 3
    assert [row[3] for row in is_current(case)] == [Preference.TIE]
    assert len(case.rows(REVIEW)) == 3
    # It is changed back.
    assert add_preferences(case, pair_id, of_ada(A)) == [True]
    assert [row[3] for row in is_current(case)] == [Preference.A]
    assert len(case.rows(REVIEW)) == 4


@on_sqlite
@pytest.mark.parametrize("files", [(BOTH, GRADE), (GRADE, BOTH)], ids=["both", "grade"])
def test_the_same_word_told_in_two_files_counts_once(case, pair_id, files):
    for each in files * 2:
        add_preferences(case, pair_id, of_ada(each))
    assert is_current(case) == [("ada", None, "overall", Preference.B, 1)]


def test_a_preference_says_something_and_a_grade_has_its_scale():
    with pytest.raises(ValueError, match="no preference"):
        AspectPreference()
    with pytest.raises(ValueError, match="scale"):
        AspectPreference(None, 1)
