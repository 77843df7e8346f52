"""A row becomes a pair with verdicts and preferences, or a judge's verdict in one order."""

import pytest

from judgeboard.domain import AspectPreference, Preference, Shown, Status
from judgeboard.imports.recorded import RecordedJudge

A, B, TIE = Preference
AB, BA = Shown
ROW = {"id": "p", "question": "which?", "answer_a": "left", "answer_b": ""}


def pair(one, **more):
    return one({**ROW, **more}, kind="pairs")


def test_a_pair_by_the_names_that_files_have(one):
    row = {
        "subset": "math",
        "choices": ["x", "y"],
        "model_1": "m1",
        "model_b": "m2",
        "gold": "tie",
        "ideal": "x",
    }
    got = pair(one, response_a="r1", note="kept", **row).pair
    assert (got.source, got.external_id, got.question, got.answer_a, got.answer_b) == (
        "default",
        "p",
        "which?",
        "left",
        "",
    )
    assert (got.query_type, got.options, got.model_a, got.model_b) == (
        "math",
        ("x", "y"),
        "m1",
        "m2",
    )
    assert (got.gold, got.reference, got.response_a, got.metadata) == (
        TIE,
        "x",
        "r1",
        {"note": "kept"},
    )


@pytest.mark.parametrize(
    ("word", "meant"),
    [("A", A), ("b", B), ("n", TIE), ("Tie", TIE), (" a ", A), ({"s": "n"}, None)],
)
def test_verdicts_speak_of_the_stored_answers_by_aspect(one, word, meant):
    got = pair(
        one, judge="j", verdict_order_ab=word, verdict_order_ba={"depth": "b", "style": None}
    )
    assert got.verdicts == {AB: {"overall": meant} if meant else {"s": TIE}, BA: {"depth": B}}


def test_an_order_without_a_verdict_is_none(one):
    got = pair(
        one, judge="j", verdict_order_ab=None, verdict_order_ba="A", raw_ab="hm", raw_ba="[[A]]"
    )
    assert (got.verdicts, got.raws) == ({BA: {"overall": A}}, {AB: "hm", BA: "[[A]]"})


@pytest.mark.parametrize(
    ("raw", "kept"), [("x", {AB: "x", BA: "x"}), ({"ba": 1}, {BA: "1"}), ({"c": 1}, None)]
)
def test_the_raw_text_may_be_given_by_order(one, raw, kept):
    assert pair(one, judge="j", verdict_ab="a", raw=raw).raws == (
        kept or dict.fromkeys(Shown, '{"c": 1}')
    )


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
    assert (ada.annotator, ada.shown, ada.grade.note) == ("ada", BA, "so")
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
        (
            {
                "human": [
                    {"annotator": "x", "scale": "-2..2 (positive: answer 1 better)", "depth": 1}
                ]
            },
            "human",
        ),
        ({"human": [{"annotator": "x", "depth": "a"}, {"annotator": "x", "depth": "b"}]}, "human"),
    ],
)
def test_what_is_no_pair_is_rejected_with_its_field(refused, part, field):
    assert refused({**ROW, **part}, kind="pairs")[0] == field


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("model_a", A),
        ("tie (bothbad)", TIE),
        ("[[A>>B]]", A),
        ("Vicuna-13B", B),
        ("8 9.5", B),
        ([7, 7.0000000001], TIE),
        ("error", None),
        ("-1 -1", None),
    ],
)
def test_words_names_of_models_and_scores_are_verdicts(one, word, meant):
    row = {"judge": "j", "model_a": "gpt-4", "model_b": "vicuna-13b", "verdict_ab": word}
    assert pair(one, **row).verdicts == ({AB: {"overall": meant}} if meant else {})


def test_the_winner_is_of_the_annotator_else_of_the_judge_else_gold(one):
    assert pair(one, winner="model_b").pair.gold is B
    assert pair(one, winner="model_b", judge="gpt-4").verdicts == {AB: {"overall": B}}
    (ada,) = pair(one, winner="model_b", judge="gpt-4", annotator="ada").people
    assert (ada.annotator, ada.aspects) == ("ada", {"overall": AspectPreference(B)})
    assert pair(one, judge="j", score_a=3, score_b=2.5).verdicts == {AB: {"overall": A}}
    assert pair(one, judge="j", score_a=-1, score_b=-1).verdicts == {}
    assert pair(one, winner="B", score_a=3, score_b=2.5).pair.gold is B


def test_the_winner_may_be_marked_in_one_of_three_columns_and_answers_may_be_called_responses(
    reading,
):
    head = "id,prompt,response_a,response_b,winner_model_a,winner_model_b,winner_tie\n"
    rows = "1,which?,left,right,1,0,0\n2,which?,left,right,0,0,1\n3,which?,left,right,0,0,0\n"
    first, tie, none = reading((head + rows).encode(), name="pairs.csv", kind="pairs")
    assert (first.pair.answer_a, first.pair.response_a, first.pair.gold) == ("left", None, A)
    assert (tie.pair.answer_b, tie.pair.gold) == ("right", TIE)
    assert (none.field, "must be 1" in none.reason) == ("winner_a", True)


def test_columns_of_a_judge_or_a_person_are_kept_with_a_pair_that_has_none(one):
    scores = {"score_a": 3, "rating_2": 1, "score_b": 1, "scale": "1-5"}
    assert pair(one, **scores).pair.metadata == scores
    assert pair(one, gold="A", winner="model_b").pair.metadata == {"winner": "model_b"}
    people = [{"annotator": "ada", "preference": "a"}]
    assert pair(one, human=people, annotator="batch 1").pair.metadata == {"annotator": "batch 1"}
    assert pair(one, judge="j", **scores).pair.metadata == {
        "rating_2": 1
    }  # another judge's row has other scores
    assert pair(one, annotator="ada", winner=3, scale="-3..3").pair.metadata == {}


def test_first_is_ambiguous_where_b_was_shown_first(one, refused):
    assert pair(one, judge="j", verdict_order_ab="first").verdicts == {AB: {"overall": A}}
    field, reason = refused({**ROW, "judge": "j", "verdict_order_ba": "first"}, kind="pairs")
    assert (field, "--map-value verdict_order_ba:first=B" in reason) == ("verdict_order_ba", True)
    person = {"annotator": "ada", "preference": "Left", "shown": "ba"}
    assert refused({**ROW, "human": [person]}, kind="pairs")[0] == "human"
    assert refused({**COMPARISON, "verdict": "second"}, kind="comparisons")[0] == "verdict"


def test_each_person_may_have_a_column(one):
    options = {
        "mapping": {"annotator1": "human.ada", "annotator2": "human.bo", "annotator3": "human.cy"},
        "values": {"human": {"1": "A", "2": "B", "0": "tie"}},
    }
    people = one(
        {**ROW, "annotator1": 1, "annotator2": 0, "annotator3": None}, kind="pairs", **options
    ).people
    assert [(each.annotator, each.aspects) for each in people] == [
        ("ada", {"overall": AspectPreference(A)}),
        ("bo", {"overall": AspectPreference(TIE)}),
    ]


def test_a_number_needs_a_meaning_or_a_scale(one, refused):
    field, reason = refused({**ROW, "annotator": "ada", "winner": 1}, kind="pairs")
    assert (field, "--map-value winner:1=A" in reason) == ("winner", True)
    word = "the first; it is short"
    _, reason = refused({**ROW, "preference": word}, kind="pairs")
    assert f"--map-value 'winner:{word[:20]}=A'" in reason
    assert "--map COLUMN=extra" in reason
    kept = one(
        {**ROW, "preference": "the first"}, kind="pairs", mapping={"preference": "extra"}
    ).pair
    assert (kept.gold, kept.metadata) == (None, {"preference": "the first"})
    assert pair(one, winner=" ").pair.gold is None
    (ada,) = pair(one, annotator="ada", winner=-3, scale="-3..3").people
    assert ada.aspects == {"overall": AspectPreference(None, -3, "-3..3")}


def test_the_id_of_a_question_is_not_the_id_of_its_pairs(one):
    row = {name: value for name, value in ROW.items() if name != "id"}
    ids = [
        one(
            {**row, "question_id": 81, "model_a": "x", "model_b": model, "turn": turn}, kind="pairs"
        ).pair.external_id
        for model, turn in (("y", 1), ("y", 1), ("y", 2), ("z", 1))
    ]
    assert ids[0] == ids[1]
    assert len(set(ids)) == 3
    assert ids[0].startswith("81-")
    assert (
        one(row, kind="pairs").pair.external_id == one(row, kind="pairs").pair.external_id != ids[0]
    )
    assert one({**row, "question_id": 81}, kind="pairs").pair.external_id == "81"


COMPARISON = {"pair_id": "p", "judge": "j", "order": "BA"}


def said(one, **more):
    return one({**COMPARISON, **more}, kind="comparisons")


def test_a_verdict_in_one_order(one):
    got = said(
        one,
        verdict="n",
        raw={"x": 1},
        reasoning="why",
        reference="42",
        condition="reference",
        ask=2,
    )
    comparison = got.comparison
    assert (got.pair_id, got.judge, comparison.shown, comparison.preferences) == (
        "p",
        RecordedJudge("j"),
        Shown.BA,
        {"overall": Preference.TIE},
    )
    record = comparison.record
    assert (record.status, record.raw, comparison.reasoning) == (Status.OK, '{"x": 1}', "why")
    assert (comparison.condition, comparison.reference, comparison.ask) == ("reference", "42", 2)


def test_a_verdict_on_an_aspect(one):
    assert said(one, verdict="A", aspect="depth").comparison.preferences == {"depth": Preference.A}
    assert said(one, verdict={"depth": "a"}).comparison.preferences == {"depth": Preference.A}


@pytest.mark.parametrize(
    ("given", "status"),
    [({}, "unparsable"), ({"verdict": None}, "unparsable"), ({"status": "refused"}, "refused")],
)
def test_none_is_asked_and_unusable(one, given, status):
    got = said(one, raw="I cannot", **given).comparison
    assert (got.record.status, got.preferences, got.record.raw) == (status, {}, "I cannot")


@pytest.mark.parametrize(
    ("part", "field"),
    [
        ({"pair_id": None}, "external_id"),
        ({"judge": ""}, "judge"),
        ({"order": None}, "order"),
        ({"order": "first"}, "order"),
        ({"verdict": "maybe"}, "verdict"),
        ({"verdict": "a", "status": "error"}, "status"),
        ({"status": "ok"}, "status"),
        ({"verdict": {"x": "a"}, "aspect": "y"}, "aspect"),
        ({"verdict": "a", "condition": "blind"}, "condition"),
        ({"verdict": "a", "ask": -1}, "ask"),
    ],
)
def test_what_is_no_comparison_is_rejected_with_its_field(refused, part, field):
    assert refused({**COMPARISON, **part}, kind="comparisons")[0] == field


def test_the_chosen_answer_is_a_and_gold(one):
    row = {
        "prompt": "which?",
        "chosen": "x",
        "rejected": "y",
        "chosen_model": "m",
        "rejected_model": "n",
    }
    got = one(row, kind="pairs").pair
    assert (got.answer_a, got.answer_b, got.model_a, got.model_b, got.gold) == (
        "x",
        "y",
        "m",
        "n",
        A,
    )
    assert (
        one({"prompt": "which?", "response1": "x", "response_2": "y"}, kind="pairs").pair.gold
        is None
    )
    row = {
        "prompt": "which?",
        "chosen": [{"content": "which?"}, {"content": "x"}],
        "rejected": [{}, {"content": "y"}],
    }
    mapping = {"chosen.1.content": "answer_a", "rejected.1.content": "answer_b"}
    assert one(row, kind="pairs", mapping=mapping).pair.gold is A
