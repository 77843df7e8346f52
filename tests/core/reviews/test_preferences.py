"""Preferences that earlier releases stored outside queues, the order of the two answers, and the lists of pairs."""

import pytest

from engines import on_sqlite
from judgeboard.domain import Preference, Shown
from judgeboard.measure.pair_report import ComparedPairs, Listed, measure_pairs
from judgeboard.people.roster import ensure_reviewer
from judgeboard.reviews.shown import order_for, pair_texts, shown_side, stored_side
from judgeboard.store.preferences import load_preferences, votes_by_pair
from pair_log import add_pairs, prefer_outside, record
from result_fields import check_fields
from stored_rows import read

A, B, TIE = Preference
SEEN = ("judge", "people")


@pytest.fixture
def mara(store):
    return ensure_reviewer(store, "page", "Mara")


def test_agreement_counts_the_blind_preference_and_not_a_later_one(store, mara):
    (pair_id,) = add_pairs(store, 1)
    version = record(store, [pair_id], {"ab": "b", "ba": "b"})
    prefer_outside(store, pair_id, mara, A, "blind")
    prefer_outside(store, pair_id, mara, B, "over the judge", seen=SEEN)
    (result,) = measure_pairs(store, version.id).aspects
    check_fields(result.figure("people"), value=0, n=1)


def test_without_a_blind_preference_the_latest_counts(store, mara):
    (pair_id,) = add_pairs(store, 1)
    for number, side in enumerate((B, A)):
        prefer_outside(store, pair_id, mara, side, f"seen {number}", seen=SEEN)
    (vote,) = votes_by_pair(read(store, load_preferences)).values()
    check_fields(vote, majority=A, people=1)


def test_orders_are_fixed_for_a_person_and_as_good_as_random():
    orders, again, of_another = (
        [order_for(pair_id, person) for pair_id in range(1, 1001)] for person in (7, 7, 8)
    )
    assert 440 < orders.count(Shown.AB) < 560
    assert orders == again != of_another


@on_sqlite
@pytest.mark.parametrize("order", Shown)
def test_sides_are_those_of_the_screen(store, mara, order):
    pair_id = next(id_ for id_ in add_pairs(store, 40) if order_for(id_, mara.id) is order)
    shown = read(store, pair_texts, [pair_id], mara.id)[pair_id]
    # add_pairs names answer A left-…
    assert shown.left.startswith("left" if order is Shown.AB else "right")
    assert stored_side("left", shown.shown) is (A if order is Shown.AB else B)
    sides = ["left", "right", "tie"]
    assert [shown_side(stored_side(side, order), order) for side in sides] == sides


@on_sqlite
def test_lists_hold_what_their_names_say(store, mara):
    pair_ids = add_pairs(store, 5, gold=A)
    version = record(store, pair_ids, {"ab": "aabt-", "ba": "aabaa"})
    prefer_outside(store, pair_ids[0], mara, A, "one")
    with store.reading() as connection:
        compared = ComparedPairs(connection, version)
        listed = {
            each: [line.pair_id for line in compared.lines("overall", each)] for each in Listed
        }
    assert listed == {
        Listed.ALL: pair_ids,
        Listed.INCONSISTENT: [pair_ids[3]],
        Listed.WRONG: [pair_ids[2]],
        Listed.UNMEASURED: [pair_ids[4]],
        Listed.UNJUDGED: pair_ids[1:],
    }


@on_sqlite
def test_pairs_that_no_judge_compared_are_listed_too(store):
    pair_ids = add_pairs(store, 2, query_type="QA")
    with store.reading() as connection:
        compared = ComparedPairs(connection, None)
        assert compared.figures() == ()
        lines = [(line.pair_id, line.verdict) for line in compared.lines("overall")]
    assert lines == [(pair_id, None) for pair_id in pair_ids]
    assert compared.query_types == ("QA",)
