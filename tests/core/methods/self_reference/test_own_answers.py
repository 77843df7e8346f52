"""Answers of a judge itself: when two are the same, what samples agree on, and the pairs made of them."""

import io
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgeboard.errors import BadInput
from judgeboard.imports.reading import read_records
from judgeboard.methods.self_reference.own_answers import (
    Majority,
    NoPair,
    answer_key,
    as_reference,
    majority,
    pair_line,
    pair_of_question,
    pairs_of_questions,
    reference_key,
    samples_needed,
)
from result_fields import check_fields

OPTIONS = ("Paris", "Rome", "1,000 km", "Oslo")
quick = settings(max_examples=60, deadline=None)


@pytest.mark.parametrize("said", ["B", "b", " (b) ", "B.", "[B]", "b:"])
def test_with_options_the_letter_counts_however_it_is_written(said):
    assert answer_key(said, OPTIONS) == "B"


@pytest.mark.parametrize("said", ["E", "Rome", "B. Rome", "AB", "", "2", None])
def test_with_options_what_is_no_letter_of_theirs_is_no_answer(said):
    assert answer_key(said, OPTIONS) is None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Paris", "  PARIS\n"),
        ("New  York", "new york."),
        ("STRASSE", "straße"),
        ("1,000.50", "1000.5"),
        ("+5", "5.0"),
        ("-0", "0"),
        ("\N{MINUS SIGN}3", "-3"),
        (".5", "0.50"),
        ("about 1,200 m", "About 1200 m"),
    ],
)
def test_free_answers_that_say_the_same(one, other):
    assert answer_key(one, None) == answer_key(other, None) is not None


@pytest.mark.parametrize(
    ("one", "other"),
    [("1,5", "15"), ("10²", "102"), ("1.000.000", "1"), ("5-3", "53"), ("v1.0", "v1"), ("-3", "3")],
)
def test_free_answers_that_say_something_else(one, other):
    assert answer_key(one, None) != answer_key(other, None)


def test_an_empty_text_is_no_answer():
    assert answer_key(" . ", None) is None


@quick
@given(st.text(max_size=30))
def test_normalising_is_blind_to_case_and_blanks_whatever_the_text(text):
    assert answer_key(f"  {text} \n", None) == answer_key(text, None)


@quick
@given(
    st.decimals(
        allow_nan=False, allow_infinity=False, places=3, min_value=-(10**9), max_value=10**9
    )
)
def test_a_number_is_the_same_with_and_without_thousands_marks(number):
    assert answer_key(f"{number:,}", None) == answer_key(f"{number:f}", None)


def test_the_correct_answer_may_be_given_as_letter_or_as_text_of_its_option():
    assert reference_key("c", OPTIONS) == reference_key("1000 KM", OPTIONS) == "C"
    assert reference_key("Madrid", OPTIONS) is None
    assert reference_key("same", ("same", "Same")) is None
    assert reference_key("1,000", None) == answer_key("1000", None)


def test_a_judge_is_shown_an_option_with_its_text_and_a_free_answer_as_it_came():
    assert as_reference("b", OPTIONS) == "B. Rome"
    assert as_reference("About 5 m", None) == "About 5 m"


def test_more_options_than_letters_are_answered_freely():
    many = tuple(f"option {number}" for number in range(27))
    assert answer_key("Option 26", many) == answer_key(many[26], None)


def test_the_majority_is_in_the_words_of_its_first_sample():
    assert majority(["1,000 m", "1000 M", "2"]) == Majority("1,000 m", "1E+3 m", 2, 3)


def test_with_options_an_answer_outside_of_them_is_none():
    assert majority(["Z", "Z", "b"], ("x", "y")) == Majority("b", "B", 1, 3)


@quick
@given(st.lists(st.sampled_from(["A", "B", "C", None]), min_size=1, max_size=9))
def test_nobody_else_is_more_common_than_the_majority(answers):
    vote = majority(answers)
    counts = {each: answers.count(each) for each in answers if each is not None}
    check_fields(vote, agree=max(counts.values(), default=0), of=len(answers))
    assert vote.tie == (sum(count == vote.agree for count in counts.values()) > 1)
    if vote.answer is not None:
        leaders = [each for each in answers if each is not None and counts[each] == vote.agree]
        assert vote.answer == leaders[0]


@pytest.mark.parametrize(
    ("tau", "of", "needed"),
    [
        (0.8, 5, 4),
        (0.6, 5, 3),
        (1, 5, 5),
        (0.01, 5, 1),
        (0.5, 4, 2),
        (0.7, 10, 7),
        (0.8, 7, 6),
        (0.3, 10, 3),
        (0.55, 20, 11),
    ],
)
def test_the_gate_needs_the_fewest_samples_that_reach_tau(tau, of, needed):
    assert samples_needed(tau, of) == needed


@pytest.mark.parametrize("tau", [0, -0.1, 1.01])
def test_a_threshold_outside_of_its_range_is_refused(tau):
    with pytest.raises(BadInput, match="--tau"):
        samples_needed(tau, 5)


@quick
@given(st.lists(st.sampled_from("ABC"), min_size=5, max_size=5))
def test_a_tie_of_five_never_reaches_four_fifths(answers):
    vote = majority(answers)
    assert not (vote.tie and vote.agree >= samples_needed(0.8, 5))


ROW = {
    "id": "q1",
    "question": "Capital of Italy?",
    "options": ["Paris", "Rome", "Oslo"],
    "reference": "B",
}


def test_the_right_option_stands_against_a_wrong_one_and_gold_names_its_side():
    for number in range(30):
        pair = pair_of_question({**ROW, "id": number, "category": "geo"}, 0)
        right, wrong = ("answer_a", "answer_b") if pair["gold"] == "a" else ("answer_b", "answer_a")
        assert pair[right] == "B. Rome"
        assert pair[wrong] in {"A. Paris", "C. Oslo"}
        check_fields(pair, reference="B", query_type="geo")


def drawn(count, seed=0, **changes):
    """The pairs of so many questions with these changes."""
    return [pair_of_question(ROW | changes | {"id": str(number)}, seed) for number in range(count)]


def test_sides_and_wrong_options_are_drawn_evenly_and_the_same_again():
    made = drawn(400, seed=3)
    assert made == drawn(400, seed=3)
    assert made != drawn(400, seed=4)
    assert 150 < sum(pair["gold"] == "a" for pair in made) < 250
    assert 150 < sum("A. Paris" in {pair["answer_a"], pair["answer_b"]} for pair in made) < 250


def test_an_option_that_says_the_same_as_the_right_one_is_not_wrong():
    pairs = drawn(20, options=["1,000", "1000", "5"], reference="A")
    answers = {text for pair in pairs for text in (pair["answer_a"], pair["answer_b"])}
    assert answers == {"A. 1,000", "C. 5"}


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"id": None}, "no id"),
        ({"question": " "}, "no question"),
        ({"options": "AB"}, "not a list"),
        ({"reference": "D"}, "not one of its 3 options"),
        ({"reference": None}, "reference or answer"),
        ({"options": ["Rome", "rome"], "reference": "A"}, "no wrong option"),
        ({"answer_index": 0}, "'B' and its answer_index 0 are different options"),
        (
            {"reference": None, "answer_index": 3},
            "answer_index 3 is not the number of one of its 3 options",
        ),
        ({"reference": None, "answer_index": True}, "answer_index True is not"),
    ],
)
def test_what_makes_no_pair_says_why(changes, why):
    with pytest.raises(NoPair, match=why):
        pair_of_question({**ROW, **changes}, 0)


def file_of(rows):
    return io.BytesIO("\n".join(map(json.dumps, rows)).encode())


def test_the_file_it_writes_is_one_of_pairs():
    rows = [
        ROW,
        {**ROW, "id": "q2", "reference": None, "answer": "oslo"},
        {**ROW, "id": "q3", "reference": "Z"},
    ]
    made, left_out = pairs_of_questions(file_of(rows))
    assert (len(made), [line for line, _ in left_out]) == (2, [3])
    content = io.BytesIO("".join(map(pair_line, made)).encode())
    with read_records(content, kind="pairs", name="made.jsonl") as reading:
        pairs = [record.pair for record in reading]
    assert [(pair.external_id, pair.reference, pair.options) for pair in pairs] == [
        ("q1", "B", ("Paris", "Rome", "Oslo")),
        ("q2", "C", ("Paris", "Rome", "Oslo")),
    ]
    assert all(pair.gold is not None for pair in pairs)


def test_a_file_without_any_usable_question_is_refused():
    with pytest.raises(BadInput, match="line 1: "):
        pairs_of_questions(file_of([{**ROW, "reference": "Z"}]))
