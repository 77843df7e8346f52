"""What each control changes of an answer, what it leaves alone, and where it does not apply."""

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgeboard.domain import Response
from judgeboard.methods.control_answers import CONTROL_KINDS, Effect

PASSAGES = ("Dyneema melts at 145 degrees.", "Nylon melts at 220 degrees.", "Slings age.")
ANSWER = "I think Dyneema melts at 145 degrees [1]. Nylon, probably, melts at 220 degrees, as passage 2 says."


def answered(query: str, answer: str, passages: tuple[str, ...] | None) -> Response:
    return Response("log", "1", query, answer, passages)


ORIGINAL = answered("When does Dyneema melt?", ANSWER, PASSAGES)
DONOR = answered("Who was first on Everest?", "Hillary and Norgay.", ("They were.",))
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=120)


def changed(kind: str, answer: str = ANSWER, passages: tuple[str, ...] | None = PASSAGES) -> Response | None:
    return CONTROL_KINDS[kind].change(answered(ORIGINAL.query, answer, passages), DONOR)


def test_without_passages_nothing_is_left_to_stand_on() -> None:
    assert changed("passages_removed") == replace(ORIGINAL, passages=())
    assert changed("passages_removed", passages=()) is None
    assert changed("passages_removed", passages=None) is None


def test_the_answer_of_another_question_stands_on_the_same_passages() -> None:
    assert changed("other_answer") == replace(ORIGINAL, answer=DONOR.answer)
    same = CONTROL_KINDS["other_answer"].change
    assert same(ORIGINAL, replace(DONOR, query=ORIGINAL.query)) is None, "another answer to it may be as good"
    assert same(ORIGINAL, replace(DONOR, answer=f" {ANSWER} ")) is None
    assert same(ORIGINAL, replace(DONOR, answer="\n")) is None


def test_a_truncated_answer_breaks_off_within_a_sentence() -> None:
    made = changed("truncated")
    assert made is not None
    assert made.answer == "I think Dyneema melts at 145 degrees [1]. Nylon"
    assert changed("truncated", "Yes, it does. At 145 degrees.") is None, "half of a short answer may be an answer"
    two = changed("truncated", "It melts at one hundred degrees. It melts at one hundred degrees.")
    assert two is not None
    assert two.answer == "It melts at one hundred"
    assert changed("truncated", "長" * 80) == replace(ORIGINAL, answer="長" * 40)


def test_numbers_change_all_of_them_and_only_where_they_say_something() -> None:
    made = changed("numbers_changed")
    assert made is not None
    assert made.answer == ANSWER.replace("145", "478").replace("220", "553")
    assert changed("numbers_changed", "It is 1,200.50 m.") == replace(ORIGINAL, answer="It is 4,533.83 m.")
    assert changed("numbers_changed", "90 and 90 again") == replace(ORIGINAL, answer="33 and 33 again")
    assert changed("numbers_changed", "1. First, see [2].\n2. Then passage 3.") is None
    assert changed("numbers_changed", "No number at all.") is None


def test_passages_come_in_reverse_where_that_changes_anything() -> None:
    assert changed("passages_reordered") == replace(ORIGINAL, passages=PASSAGES[::-1])
    for passages in (None, (), ("one",), ("same", "same"), ("a", "b", "a")):
        assert changed("passages_reordered", passages=passages) is None


@pytest.mark.parametrize(
    ("answer", "plain"),
    [
        (ANSWER, "Dyneema melts at 145 degrees [1]. Nylon melts at 220 degrees, as passage 2 says."),
        ("It seems that it melts. Perhaps, it burns.", "It melts. It burns."),
        ("As far as I know, it is long.\nIn my opinion it is probably too long.", "It is long.\nIt is too long."),
        ("I'm not sure, but it melts.", "It melts."),
    ],
)
def test_hedges_go_and_the_statement_stays(answer: str, plain: str) -> None:
    assert changed("hedges_removed", answer) == replace(ORIGINAL, answer=plain)


@pytest.mark.parametrize(
    "answer",
    ["It melts at 145 degrees.", "I think so.", "Yes, probably.", "It may be long.", "Unthinkable.", "Perhaps."],
)
def test_what_has_no_hedge_that_can_go_is_no_control(answer: str) -> None:
    assert changed("hedges_removed", answer) is None


@given(answer=TEXTS, passages=st.none() | st.lists(TEXTS, max_size=4).map(tuple), query=TEXTS)
def test_a_control_differs_from_its_original_and_is_the_same_every_time(
    answer: str, passages: tuple[str, ...] | None, query: str
) -> None:
    original = answered(query, answer, passages)
    for kind in CONTROL_KINDS.values():
        made = kind.change(original, DONOR)
        assert made == kind.change(original, DONOR)
        if made is not None:
            assert made != original
            assert made.query == query
            assert made.answer.strip()[:1] or kind.effect is Effect.NEUTRAL or made.answer == answer


@given(st.integers(0, 10**12))
def test_a_changed_number_has_as_many_digits_and_none_at_its_place(number: int) -> None:
    made = changed("numbers_changed", f"There are {number} of them.")
    assert made is not None
    (digits,) = re.findall(r"\d+", made.answer)
    assert len(digits) == len(str(number))
    assert all(new != old for new, old in zip(digits, str(number), strict=True))


def test_each_known_bad_control_says_which_score_it_must_lower() -> None:
    for kind in CONTROL_KINDS.values():
        assert (kind.lowers in {"groundedness", "quality"}) == (kind.effect is Effect.KNOWN_BAD)
