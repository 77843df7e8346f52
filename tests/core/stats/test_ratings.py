from statistics import median_low, multimode

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgeboard.stats.ratings import (
    GROUNDEDNESS,
    HUMANS,
    LABEL,
    QUALITY,
    Ratings,
    human_values,
    one_value_per_response,
    ratings_of,
)
from rating_tables import ungrouped


def test_ratings_one_by_one_become_a_matrix_with_gaps():
    ids, matrix = ratings_of(
        np.array([7, 3, 7]),
        np.array(["mara", "jon", "jon"]),
        np.array([1.0, 0.0, 0.0]),
        LABEL,
        np.array(["x", "y", "x"]),
    )
    assert (ids.tolist(), matrix.raters) == ([3, 7], ("jon", "mara"))
    assert np.array_equal(matrix.values, [[0, np.nan], [0, 1]], equal_nan=True)
    assert matrix.per_item.tolist() == [1, 2]
    assert matrix.votes.tolist() == [[1, 0], [1, 1]]
    assert matrix.groups.codes.tolist() == [1, 0]
    assert LABEL.named(np.array([0.0, 1.0])).tolist() == ["hallucinated", "grounded"]


def test_no_ratings_are_an_empty_matrix():
    ids, matrix = ratings_of(
        np.empty(0, dtype=int), np.empty(0, dtype=str), np.empty(0), GROUNDEDNESS
    )
    assert (len(ids), matrix.values.shape) == (0, (0, 0))


@pytest.mark.parametrize("value", [4.0, -1.0, 0.5, np.inf])
def test_what_is_no_declared_category_is_refused(value):
    with pytest.raises(ValueError, match="rating"):
        Ratings(np.array([[value]]), ("a",), QUALITY, ungrouped(1))


def test_a_column_belongs_to_one_rater():
    for raters in (("a",), ("a", "a")):
        with pytest.raises(ValueError, match="column"):
            Ratings(np.zeros((1, 2)), raters, QUALITY, ungrouped(1))
    with pytest.raises(ValueError, match="two ratings"):
        ratings_of(np.array([1, 1]), np.array(["a", "a"]), np.array([1, 2]), QUALITY)


reviews = st.lists(
    st.tuples(st.integers(0, 9), st.integers(0, 4), st.integers(1, 4)),
    min_size=1,
    max_size=40,
    unique_by=lambda row: row[:2],
)


def by_response(rows):
    responses = sorted({response for response, *_ in rows})
    return {each: [value for response, _, value in rows if response == each] for each in responses}


@given(reviews)
@settings(max_examples=60)
def test_the_majority_is_taken_and_ties_are_left_out_and_counted(rows):
    ids, who, values = map(np.array, zip(*rows, strict=True))
    got = one_value_per_response(ids, who, values, "label")
    modes = {response: multimode(said) for response, said in by_response(rows).items()}
    expected = {response: most[0] for response, most in modes.items() if len(most) == 1}
    assert got.ties == len(modes) - len(expected)
    assert dict(zip(got.response_ids, got.values, strict=True)) == expected


@given(reviews)
@settings(max_examples=40)
def test_quality_is_the_lower_median_and_groundedness_the_mean(rows):
    ids, who, values = map(np.array, zip(*rows, strict=True))
    said = by_response(rows)
    quality = one_value_per_response(ids, who, values, "quality")
    assert quality.values.tolist() == list(map(median_low, said.values()))
    groundedness = one_value_per_response(ids, who, values / 4, "groundedness")
    assert groundedness.values == pytest.approx([np.mean(each) / 4 for each in said.values()])
    assert groundedness.response_ids.tolist() == list(said)


def test_labels_are_given_back_as_they_came():
    ids, who = np.array([7, 7, 7, 3]), np.array(["ann", "ben", "cy", "ann"])
    labels = np.array(["grounded", "hallucinated", "grounded", "hallucinated"])
    got = one_value_per_response(ids, who, labels, "label")
    assert got.response_ids.tolist() == [3, 7]
    assert got.values.tolist() == ["hallucinated", "grounded"]


def test_a_second_review_and_a_missing_grade_are_refused():
    for ids, values, grade, reason in (
        ([1, 1], [1, 2], "quality", "two reviews"),
        ([1, 2], [0.5, np.nan], "groundedness", "left out"),
    ):
        with pytest.raises(ValueError, match=reason):
            one_value_per_response(np.array(ids), np.array([5, 5]), np.array(values), grade)


IDS = np.array([1, 1, 1, 2, 2, 3, 4, 4, 4])
WHO = np.array(["a", "b", "lead", "a", "b", "a", "a", "b", "lead"])
SAID = np.array(["good", "bad", "bad", "good", "bad", "good", "good", "good", "bad"])
GOLD = WHO == "lead"


@pytest.mark.parametrize(
    ("human", "values", "ties"),
    [("gold", {1: "bad", 3: "good", 4: "bad"}, 1), ("majority", {3: "good", 4: "good"}, 2)],
)
def test_gold_comes_before_the_majority_which_leaves_who_adjudicated_out(human, values, ties):
    got = human_values(IDS, WHO, SAID, "label", gold=GOLD, human=human)
    assert dict(zip(got.response_ids.tolist(), got.values.tolist(), strict=True)) == values
    assert (got.ties, got.only_gold) == (ties, 0)


def test_each_person_is_a_row_and_gold_alone_is_counted_out():
    ids, who, said, gold = map(np.append, (IDS, WHO, SAID, GOLD), (9, "lead", "bad", True))
    got = human_values(ids, who, said, "label", gold=gold, human="each")
    assert got.response_ids.tolist() == [1, 1, 2, 2, 3, 4, 4]
    assert got.values.tolist() == ["good", "bad", "good", "bad", "good", "good", "good"]
    assert got.only_gold == 1


def test_without_gold_it_is_what_people_say_together():
    got, plain = (
        (each.response_ids.tolist(), each.values.tolist(), each.ties)
        for each in (
            human_values(IDS, WHO, SAID, "label"),
            one_value_per_response(IDS, WHO, SAID, "label"),
        )
    )
    assert got == plain


@pytest.mark.parametrize("human", HUMANS)
def test_no_reviews_have_no_human_value(human):
    empty = np.empty(0, dtype=int)
    assert len(human_values(empty, empty, np.empty(0), "groundedness", human=human).values) == 0
