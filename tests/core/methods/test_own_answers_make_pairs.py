"""Pairs from questions with options: the right one against a wrong one."""

import io
import json
from typing import Any

import pytest

from judgeboard.errors import BadInput
from judgeboard.imports.importing import read_records
from judgeboard.methods.own_answers import NoPair, make_pairs, pair_of_question

ROW = {"id": "q1", "question": "Capital of Italy?", "options": ["Paris", "Rome", "Oslo"], "reference": "B"}


def test_the_right_option_stands_against_a_wrong_one_and_gold_names_its_side() -> None:
    for number in range(30):
        pair = pair_of_question({**ROW, "id": number, "category": "geo"}, 0)
        right = pair["answer_a"] if pair["gold"] == "a" else pair["answer_b"]
        wrong = pair["answer_b"] if pair["gold"] == "a" else pair["answer_a"]
        assert right == "B. Rome"
        assert wrong in {"A. Paris", "C. Oslo"}
        assert (pair["reference"], pair["query_type"]) == ("B", "geo")


def test_sides_and_wrong_options_are_drawn_evenly_and_the_same_again() -> None:
    made = [pair_of_question({**ROW, "id": str(number)}, 3) for number in range(400)]
    assert made == [pair_of_question({**ROW, "id": str(number)}, 3) for number in range(400)]
    assert made != [pair_of_question({**ROW, "id": str(number)}, 4) for number in range(400)]
    assert 150 < sum(pair["gold"] == "a" for pair in made) < 250
    assert 150 < sum("A. Paris" in {pair["answer_a"], pair["answer_b"]} for pair in made) < 250


def test_an_option_that_says_the_same_as_the_right_one_is_not_wrong() -> None:
    row = {**ROW, "options": ["1,000", "1000", "5"], "reference": "A"}
    pairs = [pair_of_question({**row, "id": str(number)}, 0) for number in range(20)]
    assert {text for pair in pairs for text in (pair["answer_a"], pair["answer_b"])} == {"A. 1,000", "C. 5"}


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"id": None}, "no id"),
        ({"question": " "}, "no question"),
        ({"options": "AB"}, "not a list"),
        ({"reference": "D"}, "not one of its 3 options"),
        ({"reference": None}, "reference or answer"),
        ({"options": ["Rome", "rome"], "reference": "A"}, "no wrong option"),
    ],
)
def test_what_makes_no_pair_says_why(changes: dict[str, Any], why: str) -> None:
    with pytest.raises(NoPair, match=why):
        pair_of_question({**ROW, **changes}, 0)


def test_the_file_it_writes_is_one_of_pairs() -> None:
    rows = [ROW, {**ROW, "id": "q2", "reference": None, "answer": "oslo"}, {**ROW, "id": "q3", "reference": "Z"}]
    questions = io.BytesIO("".join(json.dumps(row) + "\n" for row in rows).encode())
    lines: list[str] = []
    made = make_pairs(questions, lines.append)
    assert (made.made, made.left_out, made.first_left_out[0][0]) == (2, 1, 3)
    with read_records(io.BytesIO("".join(lines).encode()), kind="pairs", name="made.jsonl") as reading:
        pairs = [record.pair for record in reading]
    assert [(pair.external_id, pair.reference, pair.options) for pair in pairs] == [
        ("q1", "B", ("Paris", "Rome", "Oslo")),
        ("q2", "C", ("Paris", "Rome", "Oslo")),
    ]
    assert all(pair.gold is not None for pair in pairs)


def test_a_file_without_any_usable_question_is_refused() -> None:
    with pytest.raises(BadInput, match="line 1: its correct option"):
        make_pairs(io.BytesIO(json.dumps({**ROW, "reference": "Z"}).encode()), print)
