"""When two answers are the same: by option letter, or as free text after normalisation."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgeboard.methods.own_answers import answer_key, as_reference, reference_key

OPTIONS = ("Paris", "Rome", "1,000 km", "Oslo")


@pytest.mark.parametrize("said", ["B", "b", " (b) ", "B.", "[B]", "b:"])
def test_with_options_the_letter_counts_however_it_is_written(said: str) -> None:
    assert answer_key(said, OPTIONS) == "B"


@pytest.mark.parametrize("said", ["E", "Rome", "B. Rome", "AB", "", "2", None])
def test_with_options_what_is_no_letter_of_theirs_is_no_answer(said: str | None) -> None:
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
def test_free_answers_that_say_the_same(one: str, other: str) -> None:
    assert answer_key(one, None) == answer_key(other, None) is not None


@pytest.mark.parametrize(
    ("one", "other"), [("1,5", "15"), ("10²", "102"), ("1.000.000", "1"), ("5-3", "53"), ("v1.0", "v1"), ("-3", "3")]
)
def test_free_answers_that_say_something_else(one: str, other: str) -> None:
    assert answer_key(one, None) != answer_key(other, None)


def test_an_empty_text_is_no_answer() -> None:
    assert answer_key(" . ", None) is None


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=30))
def test_normalising_is_blind_to_case_and_blanks_whatever_the_text(text: str) -> None:
    assert answer_key(f"  {text} \n", None) == answer_key(text, None)


@settings(max_examples=60, deadline=None)
@given(st.decimals(allow_nan=False, allow_infinity=False, places=3, min_value=-(10**9), max_value=10**9))
def test_a_number_is_the_same_with_and_without_thousands_marks(number: object) -> None:
    assert answer_key(f"{number:,}", None) == answer_key(f"{number:f}", None)


def test_the_correct_answer_may_be_given_as_letter_or_as_text_of_its_option() -> None:
    assert reference_key("c", OPTIONS) == reference_key("1000 KM", OPTIONS) == "C"
    assert reference_key("Madrid", OPTIONS) is None
    assert reference_key("same", ("same", "Same")) is None
    assert reference_key("1,000", None) == answer_key("1000", None)


def test_a_judge_is_shown_an_option_with_its_text_and_a_free_answer_as_it_came() -> None:
    assert as_reference("b", OPTIONS) == "B. Rome"
    assert as_reference("About 5 m", None) == "About 5 m"


def test_more_options_than_letters_are_answered_freely() -> None:
    many = tuple(f"option {number}" for number in range(27))
    assert answer_key("Option 26", many) == answer_key(many[26], None)
