"""What people said of pairs: one word per person and order shown, however often and from wherever it comes."""

import pytest

from engines import on_sqlite
from judgeboard.domain import AspectPreference, GivenPreference, Pair, Preference, Shown
from judgeboard.store.pairs import store_pairs
from judgeboard.store.preferences import PreferenceOf, load_preferences, store_preferences
from judgeboard.store.tables import REVIEW

A, B, TIE = (AspectPreference(each) for each in Preference)
GRADE = AspectPreference(None, 1, "-2..2")
BOTH = AspectPreference(Preference.B, 1, "-2..2")


@pytest.fixture
def pair_id(case) -> int:
    with case.store.writing() as connection:
        return store_pairs(connection, [Pair("s", "p", "?", "l", "r")]).new[0]


def add(case, pair_id: int, *given: GivenPreference) -> list[bool]:
    with case.store.writing() as connection:
        return store_preferences(connection, [PreferenceOf(pair_id, "s", "p", one) for one in given])


def is_current(case, **which):
    with case.store.reading() as connection:
        return [
            (row.reviewer, row.shown, row.aspect, row.preference, row.value)
            for row in load_preferences(connection, **which)
        ]


def test_people_and_aspects_and_orders_stand_apart(case, pair_id) -> None:
    given = [
        GivenPreference("ada", {"overall": A, "style": GRADE}, Shown.AB),
        GivenPreference("ada", {"overall": B}, Shown.BA),
        GivenPreference("bo", {"overall": TIE}),
    ]
    assert add(case, pair_id, *given) == [True] * 3
    assert add(case, pair_id, *given) == [False] * 3
    assert is_current(case) == [
        ("ada", Shown.AB, "overall", Preference.A, None),
        ("ada", Shown.AB, "style", None, 1),
        ("ada", Shown.BA, "overall", Preference.B, None),
        ("bo", None, "overall", Preference.TIE, None),
    ]
    assert is_current(case, pair_ids=[pair_id], aspect="style") == [("ada", Shown.AB, "style", None, 1)]
    assert is_current(case, pair_ids=[]) == []


@on_sqlite
def test_other_words_replace_and_nothing_is_lost(case, pair_id) -> None:
    assert add(case, pair_id, *(GivenPreference("ada", {"overall": one}) for one in (A, B, TIE))) == [True] * 3
    assert [row[3] for row in is_current(case)] == [Preference.TIE]
    assert len(case.rows(REVIEW)) == 3
    assert add(case, pair_id, GivenPreference("ada", {"overall": A})) == [False]  # the file before, once more


@on_sqlite
@pytest.mark.parametrize("first", [0, 1])
def test_the_same_word_told_in_two_files_counts_once(case, pair_id, first: int) -> None:
    files = [GivenPreference("ada", {"overall": BOTH}), GivenPreference("ada", {"overall": GRADE})]
    for _ in range(2):
        add(case, pair_id, files[first])
        add(case, pair_id, files[1 - first])
    assert is_current(case) == [("ada", None, "overall", Preference.B, 1)]


def test_a_preference_says_something_and_a_grade_has_its_scale() -> None:
    with pytest.raises(ValueError, match="no preference"):
        AspectPreference()
    with pytest.raises(ValueError, match="scale"):
        AspectPreference(None, 1)
