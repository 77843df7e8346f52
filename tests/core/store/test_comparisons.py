"""Judges' verdicts on pairs, once per order, and the answers that they sampled."""

import pytest

from engines import on_sqlite
from judgeboard.domain import Pair, Preference, Shown, Status, StepRecord
from judgeboard.methods.self_reference.queries import (
    NewSample,
    load_samples,
    store_samples,
    stored_samples,
    tries_at,
)
from judgeboard.store.comparisons import (
    REFERENCE,
    NewComparison,
    add_aspects,
    key_of,
    load_comparisons,
    question_groups,
    store_comparisons,
    stored_comparisons,
)
from judgeboard.store.forgetting import forget_response
from judgeboard.store.pairs import store_pairs

A, B, TIE = Preference
AB, BA = Shown
OK, LOST = StepRecord(Status.OK), StepRecord(Status.UNPARSABLE, raw="Neither is ...", cost_micro=7)


@pytest.fixture
def pairs(case):
    given = [
        Pair("s", f"p{n}", "?", "l", "r", query_type="t", gold=A if n else None) for n in range(3)
    ]
    return case.write(store_pairs, given).new


@pytest.fixture
def version(case):
    return case.version()


def said(pair_id, shown, ask=0, **aspects):
    return NewComparison(pair_id, shown, OK if aspects else LOST, aspects, ask=ask)


def add(case, version, *items):
    case.write(store_comparisons, version, None, items)


def loaded(case, *versions, **which):
    return case.read(load_comparisons, [version.id for version in versions], **which)


def test_both_orders_stand_side_by_side_and_an_unusable_one_is_not_one_that_was_not_asked(
    case, pairs, version
):
    add(case, version, said(pairs[0], AB, overall=B), said(pairs[0], BA), said(pairs[2], AB))
    add(case, version, said(pairs[1], AB, overall=A), said(pairs[1], BA, overall=TIE))
    rows = loaded(case, version)
    assert [(row.ab, row.ba, row.asked_ab, row.asked_ba) for row in rows] == [
        (B, None, True, True),
        (A, TIE, True, True),
        (None, None, True, False),
    ]
    row = rows[1]
    assert (row.pair_id, row.query_type, row.aspect, row.gold) == (pairs[1], "t", "overall", A)


def test_an_unusable_order_is_unmeasured_on_every_aspect_of_the_judge(case, pairs, version):
    add(case, version, said(pairs[0], AB, depth=A, style=B), said(pairs[1], AB))
    rows = [(row.pair_id, row.aspect, row.ab) for row in loaded(case, version)]
    assert rows == [
        (pairs[0], "depth", A),
        (pairs[0], "style", B),
        (pairs[1], "depth", None),
        (pairs[1], "style", None),
    ]


@on_sqlite
def test_a_judge_without_any_verdict_is_still_accounted_for(case, pairs, version):
    add(case, version, said(pairs[0], BA))
    [row] = loaded(case, version)
    assert (row.aspect, row.asked_ab, row.asked_ba) == ("overall", False, True)


@on_sqlite
def test_one_that_is_there_is_left_as_it_was(case, pairs, version):
    add(case, version, said(pairs[0], AB, overall=A), said(pairs[0], AB, overall=B))
    add(case, version, said(pairs[0], AB, overall=B))
    assert loaded(case, version)[0].ab is A


@on_sqlite
def test_the_latest_usable_ask_counts(case, pairs, version):
    add(case, version, said(pairs[0], AB, ask=1, overall=B))
    add(case, version, said(pairs[0], AB, overall=A))
    assert loaded(case, version)[0].ab is B
    add(case, version, said(pairs[0], AB, ask=2))
    assert loaded(case, version)[0].ab is B


@on_sqlite
def test_conditions_and_versions_do_not_mix(case, pairs, version):
    other = case.version(t=1)
    informed = NewComparison(
        pairs[0], AB, OK, {"overall": B}, condition=REFERENCE, reference="42", reasoning="so"
    )
    add(case, version, said(pairs[0], AB, overall=A), informed)
    add(case, other, said(pairs[0], AB, overall=TIE))
    conditions = [(row.condition, row.ab) for row in loaded(case, version)]
    assert conditions == [("plain", A), ("reference", B)]
    assert [row.ab for row in loaded(case, version, other, condition="plain")] == [A, TIE]


@on_sqlite
def test_an_aspect_can_be_added_to_what_is_stored(case, pairs, version):
    item = said(pairs[0], AB, style=A)
    add(case, version, item)
    stored = case.read(stored_comparisons, version.id, pairs)[key_of(item)]
    assert (stored.status, stored.preferences) == ("ok", {"style": "a"})
    case.write(add_aspects, {stored.id: {"depth": TIE}})
    assert [(row.aspect, row.ab) for row in loaded(case, version)] == [("depth", TIE), ("style", A)]


def test_pairs_of_one_question_form_a_group_even_when_their_texts_are_forgotten(case):
    given = [
        Pair(source, f"p{number}", question, f"left {number}", f"right {number}")
        for number, (source, question) in enumerate(
            (("s", "one?"), ("s", "two?"), ("other", "one?"), ("s", "two?"))
        )
    ]
    first, second, third, fourth = case.write(store_pairs, given).new
    groups = {first: first, second: second, third: first, fourth: second}
    assert case.read(question_groups) == groups
    case.write(forget_response, "pair:p0:a", actor="me")
    assert case.read(question_groups) == groups


def sample(case, version, *samples):
    case.write(store_samples, version, None, samples)


def test_tries_come_back_in_their_order_once(case, version):
    other = case.version(t=1)
    pair = Pair("s", "q", "?", query_type="math", reference="B", gold=TIE)
    (pair_id,) = case.write(store_pairs, [pair]).new
    last = NewSample(pair_id, 2, "C", OK)
    first, second = NewSample(pair_id, 0, "A", OK), NewSample(pair_id, 1, None, LOST)
    sample(case, version, last, first, second)
    sample(case, version, NewSample(pair_id, 0, "Z", OK))
    sample(case, other, last)
    (one,) = case.read(load_samples, version.id)
    assert (one.query_type, one.reference, one.gold) == ("math", "B", TIE)
    answers = [(each.answer, each.status) for each in one.samples]
    assert answers == [("A", "ok"), (None, "unparsable"), ("C", "ok")]
    assert [each.answer for each in case.read(load_samples, other.id)[0].samples] == ["C"]
    assert case.read(stored_samples, version.id, [pair_id])[pair_id][2][:2] == ("C", "ok")


@on_sqlite
def test_of_a_try_that_was_asked_for_again_the_latest_counts(case, version):
    (pair_id,) = case.write(store_pairs, [Pair("s", "q", "?")]).new
    down = StepRecord(Status.ERROR)
    sample(case, version, *(NewSample(pair_id, n, None, down) for n in (0, 1)))
    sample(case, version, NewSample(pair_id, 0, "B", OK, ask=1))
    (one,) = case.read(load_samples, version.id)
    assert [(each.answer, each.status) for each in one.samples] == [("B", "ok"), (None, "error")]
    stored = case.read(stored_samples, version.id, [pair_id])
    assert stored[pair_id][0] == ("B", "ok", 1, None, None)
    tries = case.read(tries_at, version.id, pair_id)
    assert [(each.number, each.answer) for each in tries] == [(0, "B"), (1, None)]
