"""A row becomes a pair with what a judge said in each order, and what people said."""

import pytest

from judgeboard.domain import AspectPreference, Preference, Shown

A, B, TIE = Preference
AB, BA = Shown
ROW = {"id": "p", "question": "which?", "answer_a": "left", "answer_b": ""}


def pair(one, **more):
    return one({**ROW, **more}, kind="pairs")


def test_a_pair_by_the_names_that_files_have(one):
    row = {"subset": "math", "choices": ["x", "y"], "model_1": "m1", "model_b": "m2", "gold": "tie", "ideal": "x"}
    got = pair(one, response_a="r1", note="kept", **row).pair
    assert (got.source, got.external_id, got.question, got.answer_a, got.answer_b) == (
        *("default", "p", "which?"),
        *("left", ""),
    )
    assert (got.query_type, got.options, got.model_a, got.model_b) == ("math", ("x", "y"), "m1", "m2")
    assert (got.gold, got.reference, got.response_a, got.metadata) == (TIE, "x", "r1", {"note": "kept"})


@pytest.mark.parametrize(
    ("word", "meant"), [("A", A), ("b", B), ("n", TIE), ("Tie", TIE), (" a ", A), ({"s": "n"}, None)]
)
def test_verdicts_speak_of_the_stored_answers_by_aspect(one, word, meant):
    got = pair(one, judge="j", verdict_order_ab=word, verdict_order_ba={"depth": "b", "style": None})
    assert got.verdicts == {AB: {"overall": meant} if meant else {"s": TIE}, BA: {"depth": B}}


def test_an_order_without_a_verdict_is_none(one):
    got = pair(one, judge="j", verdict_order_ab=None, verdict_order_ba="A", raw_ab="hm", raw_ba="[[A]]")
    assert (got.verdicts, got.raws) == ({BA: {"overall": A}}, {AB: "hm", BA: "[[A]]"})


@pytest.mark.parametrize(("raw", "kept"), [("x", {AB: "x", BA: "x"}), ({"ba": 1}, {BA: "1"}), ({"c": 1}, None)])
def test_the_raw_text_may_be_given_by_order(one, raw, kept):
    assert pair(one, judge="j", verdict_ab="a", raw=raw).raws == (kept or dict.fromkeys(Shown, '{"c": 1}'))


def test_a_letter_of_people_is_the_gold_unless_a_gold_is_given(one):
    assert pair(one, human="A").pair.gold is A
    assert pair(one, human="A", gold="B").pair.gold is B


def test_a_list_is_what_people_said(one):
    human = [
        {"annotator": "ada", "shown": "ba", "depth": "a", "style": "n", "note": "so"},
        {"annotator": "bo", "overall": 1, "depth": None, "preference": "B"},
        {"annotator": "cy", "scale": "-3..3", "depth": -3},
        {"annotator": "silent", "depth": None},
    ]
    ada, bo, cy = pair(one, human=human).people
    assert (ada.annotator, ada.shown, ada.note) == ("ada", BA, "so")
    assert ada.aspects == {"depth": AspectPreference(A), "style": AspectPreference(TIE)}
    assert bo.aspects == {"overall": AspectPreference(B, 1, "-2..2")}
    assert cy.aspects == {"depth": AspectPreference(None, -3, "-3..3")}


@pytest.mark.parametrize(
    ("part", "field"),
    [
        ({"id": None}, "external_id"),
        ({"question": " "}, "question"),
        ({"answer_b": None}, "answer_b"),
        ({"answer_a": 3}, "answer_a"),
        ({"options": "A"}, "options"),
        ({"options": [1]}, "options"),
        ({"gold": "C"}, "gold"),
        ({"judge": "j", "verdict_order_ab": "garbage"}, "verdict_order_ab"),
        ({"judge": "j", "verdict_order_ab": {"": "a"}}, "verdict_order_ab"),
        ({"verdict_order_ab": "a"}, "judge"),
        ({"human": "C"}, "human"),
        ({"human": 7}, "human"),
        ({"human": [{"preference": "a"}]}, "human"),
        ({"human": [{"annotator": "x", "shown": "aa"}]}, "human"),
        ({"human": [{"annotator": "x", "depth": 3}]}, "human.depth"),
        ({"human": [{"annotator": "x", "scale": "1-5", "depth": 3}]}, "human"),
        ({"human": [{"annotator": "x", "scale": "-2..2 (positive: answer 1 better)", "depth": 1}]}, "human"),
        ({"human": [{"annotator": "x", "depth": "a"}, {"annotator": "x", "depth": "b"}]}, "human"),
        ({"metadata": 3}, "metadata"),
    ],
)
def test_what_is_no_pair_is_rejected_with_its_field(refused, part, field):
    assert refused({**ROW, **part}, kind="pairs")[0] == field


def test_other_kinds_are_told_by_their_columns(refused):
    assert "--kind pairs" in refused(ROW, kind="responses")[1]
    assert "--kind comparisons" in refused({"pair_id": "p", "judge": "j", "order": "ab"}, kind="pairs")[1]
    assert "--kind samples" in refused({"id": "q", "question": "?", "samples": ["A"]}, kind="responses")[1]


def test_a_csv_says_the_same(reading):
    head = "id,question,answer_a,answer_b,judge,verdict_order_ab,verdict_order_ba,options,human\n"
    people = '"[{""annotator"": ""ada"", ""preference"": ""b""}]"'
    row = f'p,which?,left,right,j,"{{""depth"": ""a""}}",,"[""x""]",{people}\n'
    (got,) = reading((head + row).encode(), name="pairs.csv", kind="pairs")
    assert (got.verdicts, got.pair.options) == ({AB: {"depth": A}}, ("x",))
    assert got.people[0].aspects == {"overall": AspectPreference(B)}
