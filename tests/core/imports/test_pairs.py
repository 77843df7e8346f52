"""A row becomes a pair with verdicts and preferences, or a judge's verdict in one order."""

from functools import partial

import pytest

from judgeboard.domain import AspectPreference, Pair, Preference, Shown, Status
from judgeboard.imports.recorded import RecordedJudge
from tool_files import wrong_last

A, B, TIE = Preference
AB, BA = Shown
ROW = {"id": "p", "question": "which?", "answer_a": "left", "answer_b": ""}


@pytest.fixture
def pairs(one):
    """Return ``pairs(row)``: what becomes of a row of pairs."""
    return partial(one, kind="pairs")


@pytest.fixture
def pair(pairs):
    """Return ``pair(column=…)``: what becomes of the usual row with these columns."""
    return lambda **more: pairs({**ROW, **more})


def test_a_pair_by_the_names_that_files_have(pair):
    row = {
        "subset": "math",
        "choices": ["x", "y"],
        "model_1": "m1",
        "model_b": "m2",
        "gold": "tie",
        "ideal": "x",
    }
    assert pair(response_a="r1", note="kept", **row).pair == Pair(
        "default",
        "p",
        "which?",
        "left",
        "",
        query_type="math",
        options=("x", "y"),
        model_a="m1",
        model_b="m2",
        gold=TIE,
        reference="x",
        response_a="r1",
        metadata={"note": "kept"},
    )


@pytest.mark.parametrize(
    ("word", "meant"),
    [("A", A), ("b", B), ("n", TIE), ("Tie", TIE), (" a ", A), ({"s": "n"}, None)],
)
def test_verdicts_speak_of_the_stored_answers_by_aspect(pair, word, meant):
    got = pair(judge="j", verdict_order_ab=word, verdict_order_ba={"depth": "b", "style": None})
    assert got.verdicts == {AB: {"overall": meant} if meant else {"s": TIE}, BA: {"depth": B}}


def test_an_order_without_a_verdict_is_none(pair):
    got = pair(judge="j", verdict_order_ab=None, verdict_order_ba="A", raw_ab="hm", raw_ba="[[A]]")
    assert (got.verdicts, got.raws) == ({BA: {"overall": A}}, {AB: "hm", BA: "[[A]]"})


@pytest.mark.parametrize(
    ("raw", "kept"), [("x", {AB: "x", BA: "x"}), ({"ba": 1}, {BA: "1"}), ({"c": 1}, None)]
)
def test_the_raw_text_may_be_given_by_order(pair, raw, kept):
    assert pair(judge="j", verdict_ab="a", raw=raw).raws == (
        kept or dict.fromkeys(Shown, '{"c": 1}')
    )


def test_a_letter_of_people_is_the_gold_unless_a_gold_is_given(pair):
    assert pair(human="A").pair.gold is A
    assert pair(human="A", gold="B").pair.gold is B


def test_a_list_is_what_people_said(pair):
    human = [
        {"annotator": "ada", "shown": "ba", "depth": "a", "style": "n", "note": "so"},
        {"annotator": "bo", "overall": 1, "depth": None, "preference": "B"},
        {"annotator": "cy", "scale": "-3..3", "depth": -3},
        {"annotator": "silent", "depth": None},
    ]
    ada, bo, cy = pair(human=human).people
    assert (ada.annotator, ada.shown, ada.grade.note) == ("ada", BA, "so")
    assert ada.aspects == {"depth": AspectPreference(A), "style": AspectPreference(TIE)}
    assert bo.aspects == {"overall": AspectPreference(B, 1, "-2..2")}
    assert cy.aspects == {"depth": AspectPreference(None, -3, "-3..3")}


@pytest.mark.parametrize(
    ("part", "field"),
    [
        *wrong_last(
            {"question": " "},
            {"answer_b": None},
            {"answer_a": 3},
            {"options": "A"},
            {"options": [1]},
            {"gold": "C"},
            {"judge": "j", "verdict_order_ab": "garbage"},
            {"judge": "j", "verdict_order_ab": {"": "a"}},
            {"human": "C"},
            {"human": 7},
            {"human": [{"preference": "a"}]},
            {"human": [{"annotator": "x", "shown": "aa"}]},
            {"human": [{"annotator": "x", "scale": "1-5", "depth": 3}]},
            {
                "human": [
                    {"annotator": "x", "scale": "-2..2 (positive: answer 1 better)", "depth": 1}
                ]
            },
            {"human": [{"annotator": "x", "depth": "a"}, {"annotator": "x", "depth": "b"}]},
        ),
        ({"id": None}, "external_id"),
        ({"verdict_order_ab": "a"}, "judge"),
        ({"human": [{"annotator": "x", "depth": 3}]}, "human.depth"),
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
def test_words_names_of_models_and_scores_are_verdicts(pair, word, meant):
    row = {"judge": "j", "model_a": "gpt-4", "model_b": "vicuna-13b", "verdict_ab": word}
    assert pair(**row).verdicts == ({AB: {"overall": meant}} if meant else {})


def test_the_winner_is_of_the_annotator_else_of_the_judge_else_gold(pair):
    assert pair(winner="model_b").pair.gold is B
    assert pair(winner="model_b", judge="gpt-4").verdicts == {AB: {"overall": B}}
    (ada,) = pair(winner="model_b", judge="gpt-4", annotator="ada").people
    assert (ada.annotator, ada.aspects) == ("ada", {"overall": AspectPreference(B)})
    assert pair(judge="j", score_a=3, score_b=2.5).verdicts == {AB: {"overall": A}}
    assert pair(judge="j", score_a=-1, score_b=-1).verdicts == {}
    assert pair(winner="B", score_a=3, score_b=2.5).pair.gold is B


def test_the_winner_may_be_marked_in_one_of_three_columns_and_answers_may_be_called_responses(
    reading,
):
    head = "id,prompt,response_a,response_b,winner_model_a,winner_model_b,winner_tie\n"
    rows = "1,which?,left,right,1,0,0\n2,which?,left,right,0,0,1\n3,which?,left,right,0,0,0\n"
    first, tie, none = reading((head + rows).encode(), name="pairs.csv", kind="pairs")
    assert (first.pair.answer_a, first.pair.response_a, first.pair.gold) == ("left", None, A)
    assert (tie.pair.answer_b, tie.pair.gold) == ("right", TIE)
    assert (none.field, "must be 1" in none.reason) == ("winner_a", True)


def test_columns_of_a_judge_or_a_person_are_kept_with_a_pair_that_has_none(pair):
    scores = {"score_a": 3, "rating_2": 1, "score_b": 1, "scale": "1-5"}
    assert pair(**scores).pair.metadata == scores
    assert pair(gold="A", winner="model_b").pair.metadata == {"winner": "model_b"}
    people = [{"annotator": "ada", "preference": "a"}]
    assert pair(human=people, annotator="batch 1").pair.metadata == {"annotator": "batch 1"}
    assert pair(judge="j", **scores).pair.metadata == {
        "rating_2": 1
    }  # another judge's row has other scores
    assert pair(annotator="ada", winner=3, scale="-3..3").pair.metadata == {}


def test_first_is_ambiguous_where_b_was_shown_first(pair, refused):
    assert pair(judge="j", verdict_order_ab="first").verdicts == {AB: {"overall": A}}
    field, reason = refused({**ROW, "judge": "j", "verdict_order_ba": "first"}, kind="pairs")
    assert (field, "--map-value verdict_order_ba:first=B" in reason) == ("verdict_order_ba", True)
    person = {"annotator": "ada", "preference": "Left", "shown": "ba"}
    assert refused({**ROW, "human": [person]}, kind="pairs")[0] == "human"
    assert refused({**COMPARISON, "verdict": "second"}, kind="comparisons")[0] == "verdict"


def test_each_person_may_have_a_column(pairs):
    options = {
        "mapping": {"annotator1": "human.ada", "annotator2": "human.bo", "annotator3": "human.cy"},
        "values": {"human": {"1": "A", "2": "B", "0": "tie"}},
    }
    people = pairs({**ROW, "annotator1": 1, "annotator2": 0, "annotator3": None}, **options).people
    assert [(each.annotator, each.aspects) for each in people] == [
        ("ada", {"overall": AspectPreference(A)}),
        ("bo", {"overall": AspectPreference(TIE)}),
    ]


def test_a_number_needs_a_meaning_or_a_scale(pairs, pair, refused):
    field, reason = refused({**ROW, "annotator": "ada", "winner": 1}, kind="pairs")
    assert (field, "--map-value winner:1=A" in reason) == ("winner", True)
    word = "the first; it is short"
    _, reason = refused({**ROW, "preference": word}, kind="pairs")
    assert f"--map-value 'winner:{word[:20]}=A'" in reason
    assert "--map COLUMN=extra" in reason
    kept = pairs({**ROW, "preference": "the first"}, mapping={"preference": "extra"}).pair
    assert (kept.gold, kept.metadata) == (None, {"preference": "the first"})
    assert pair(winner=" ").pair.gold is None
    (ada,) = pair(annotator="ada", winner=-3, scale="-3..3").people
    assert ada.aspects == {"overall": AspectPreference(None, -3, "-3..3")}


def test_the_id_of_a_question_is_not_the_id_of_its_pairs(pairs):
    row = {name: value for name, value in ROW.items() if name != "id"}

    def id_of(**more):
        return pairs({**row, **more}).pair.external_id

    first, again, *others = (
        id_of(question_id=81, model_a="x", model_b=model, turn=turn)
        for model, turn in (("y", 1), ("y", 1), ("y", 2), ("z", 1))
    )
    assert first == again
    assert len({first, *others}) == 3
    assert first.startswith("81-")
    assert id_of() == id_of() != first
    assert id_of(question_id=81) == "81"


COMPARISON = {"pair_id": "p", "judge": "j", "order": "BA"}


@pytest.fixture
def said(one):
    """Return ``said(column=…)``: what becomes of a judge's verdict with these columns."""
    return lambda **more: one({**COMPARISON, **more}, kind="comparisons").comparison


def test_a_verdict_in_one_order(one):
    row = {
        **COMPARISON,
        "verdict": "n",
        "raw": {"x": 1},
        "reasoning": "why",
        "reference": "42",
        "condition": "reference",
        "ask": 2,
    }
    got = one(row, kind="comparisons")
    comparison = got.comparison
    record = comparison.record
    assert (got.pair_id, got.judge) == ("p", RecordedJudge("j"))
    assert (comparison.shown, comparison.preferences) == (BA, {"overall": TIE})
    assert (record.status, record.raw, comparison.reasoning) == (Status.OK, '{"x": 1}', "why")
    assert (comparison.condition, comparison.reference, comparison.ask) == ("reference", "42", 2)


def test_a_verdict_on_an_aspect(said):
    assert said(verdict="A", aspect="depth").preferences == {"depth": A}
    assert said(verdict={"depth": "a"}).preferences == {"depth": A}


@pytest.mark.parametrize(
    ("given", "status"),
    [({}, "unparsable"), ({"verdict": None}, "unparsable"), ({"status": "refused"}, "refused")],
)
def test_none_is_asked_and_unusable(said, given, status):
    got = said(raw="I cannot", **given)
    assert (got.record.status, got.preferences, got.record.raw) == (status, {}, "I cannot")


@pytest.mark.parametrize(
    ("part", "field"),
    [
        *wrong_last(
            {"judge": ""},
            {"order": None},
            {"order": "first"},
            {"verdict": "maybe"},
            {"verdict": "a", "status": "error"},
            {"status": "ok"},
            {"verdict": {"x": "a"}, "aspect": "y"},
            {"verdict": "a", "condition": "blind"},
            {"verdict": "a", "ask": -1},
        ),
        ({"pair_id": None}, "external_id"),
    ],
)
def test_what_is_no_comparison_is_rejected_with_its_field(refused, part, field):
    assert refused({**COMPARISON, **part}, kind="comparisons")[0] == field


def test_the_chosen_answer_is_a_and_gold(pairs):
    row = {
        "prompt": "which?",
        "chosen": "x",
        "rejected": "y",
        "chosen_model": "m",
        "rejected_model": "n",
    }
    got = pairs(row).pair
    assert (got.answer_a, got.answer_b, got.model_a, got.model_b, got.gold) == (
        "x",
        "y",
        "m",
        "n",
        A,
    )
    assert pairs({"prompt": "which?", "response1": "x", "response_2": "y"}).pair.gold is None
    row = {
        "prompt": "which?",
        "chosen": [{"content": "which?"}, {"content": "x"}],
        "rejected": [{}, {"content": "y"}],
    }
    mapping = {"chosen.1.content": "answer_a", "rejected.1.content": "answer_b"}
    assert pairs(row, mapping=mapping).pair.gold is A
