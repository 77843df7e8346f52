"""Agreement on pairs: one voice a person, a verdict where both orders agree, gold on the aspect that it is of."""

from functools import partial
from typing import Any

import pytest

from judgeboard.agreement.measure import measure_agreement
from judgeboard.agreement.result import AgreementResult
from judgeboard.domain import AspectPreference, GivenPreference, Preference, Shown
from judgeboard.errors import BadInput, NotFound
from judgeboard.people.roster import ensure_reviewer
from judgeboard.reviews.decisions import prefer
from judgeboard.store.engine import Store
from judgeboard.store.preferences import PreferenceOf, store_preferences
from pair_log import add_pairs, people_say, record


def measure(store: Store, **choice: Any) -> AgreementResult:
    return measure_agreement(store, unit="pairs", **choice)


def people_say_of_aspects(store: Store, pair_id: int, **sides: Preference) -> None:
    aspects = {aspect: AspectPreference(side) for aspect, side in sides.items()}
    preferences = [GivenPreference(f"person {place}", aspects) for place in range(2)]
    with store.writing() as connection:
        store_preferences(connection, [PreferenceOf(pair_id, "bench", f"p{pair_id}", one) for one in preferences])


def test_what_is_no_verdict_is_left_out_by_why(store: Store) -> None:
    pairs = add_pairs(store, 14)
    record(store, pairs[:13], {"ab": "aaaaaaaaaaab-", "ba": "aaaaaaaaaaaab"})
    for place, pair in enumerate(pairs):
        people_say(store, pair, *("ab" if place == 0 else "aa"))
    result = measure(store)
    assert (result.n, result.statistics["agreement"].value) == (10, 1)
    assert result.left_out == {"ties": 1, "without_verdict": 1, "inconsistent": 1, "unusable": 1}
    assert measure(store, unusable="tie").statistics["agreement"].value == pytest.approx(10 / 11)
    wrong = measure(store, unusable="wrong")
    assert (wrong.n, wrong.statistics["accuracy"].value) == (11, pytest.approx(10 / 11))


def test_gold_stands_before_people_and_only_on_the_aspect_it_is_of(store: Store) -> None:
    pairs = add_pairs(store, 10, gold=Preference.B)
    record(store, pairs, {"ab": "b" * 10})
    for pair in pairs:
        people_say(store, pair, "a", "a")
    assert measure(store).statistics["agreement"].value == 1
    assert measure(store, human="majority").statistics["agreement"].value == 0
    people = measure(store, of="people")
    assert [each.statistics["agreement"].value for each in people.against_gold] == [0, 0]
    record(store, pairs, {"ab": "b" * 10}, aspect="style", name="stylist")
    for pair in pairs:
        people_say_of_aspects(store, pair, overall=Preference.A, style=Preference.B)
    assert measure(store, aspect="style", judge_versions=["stylist"]).statistics["agreement"].value == 1
    assert measure(store, of="people", aspect="style").against_gold == ()


def test_a_person_has_one_voice_and_none_after_the_reveal(store: Store) -> None:
    pairs = add_pairs(store, 10)
    record(store, pairs, {"ab": "a" * 10})
    mara = ensure_reviewer(store, "page", "mara")
    say = partial(prefer, store, reviewer=mara, shown=Shown.AB)
    for pair in pairs:
        people_say(store, pair, "b")
        say(pair_id=pair, preference=Preference.A, request_key=f"first-{pair}")
        say(pair_id=pair, preference=Preference.B, request_key=f"second-{pair}")  # all was revealed by the first
    (revealed_id,) = add_pairs(store, 1, first=10)
    people_say(store, revealed_id, "b")
    say(pair_id=revealed_id, preference=Preference.B, request_key="told", revealed=True)
    result = measure(store, of="people")
    assert (result.n, result.statistics["agreement"].value) == (10, 0)
    assert result.left_out == {"one_person": 1, "revealed": 1}


def test_both_orders_are_what_a_judge_says_twice_of_a_pair(store: Store) -> None:
    pairs = add_pairs(store, 12)
    record(store, pairs, {"ab": "aaaaaabbbbt-", "ba": "aaaaaabbbata"}, name="two")
    result = measure(store, of="repeats")
    assert (result.n, result.left_out) == (11, {"incomplete": 1})
    assert result.statistics["self_consistency"].value == pytest.approx(10 / 11)
    assert result.rater_pairs[0].first == "A shown first"
    record(store, pairs, {"ab": "a" * 12}, name="once")
    with pytest.raises(NotFound, match="one order only"):
        measure(store, of="repeats", judge_versions=["once"])


def test_an_aspect_must_be_named_where_there_are_several_and_none_is_overall(store: Store) -> None:
    (pair,) = add_pairs(store, 1)
    people_say_of_aspects(store, pair, depth=Preference.A, style=Preference.B)
    with pytest.raises(BadInput, match="--aspect: depth, style"):
        measure(store, of="people")
    with pytest.raises(NotFound, match="there is no review of the aspect 'sense'; known aspects: depth, style"):
        measure(store, of="people", aspect="sense")
