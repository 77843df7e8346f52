from collections import Counter
from statistics import median_low

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgeboard.stats.people import one_value_per_response

reviews = st.lists(
    st.tuples(st.integers(0, 9), st.integers(0, 4), st.integers(1, 4)),
    min_size=1,
    max_size=40,
    unique_by=lambda row: row[:2],
)


def by_response(rows):
    said = {}
    for response, _, value in rows:
        said.setdefault(response, []).append(value)
    return dict(sorted(said.items()))


@given(reviews)
@settings(max_examples=60, deadline=None)
def test_the_majority_is_taken_and_ties_are_left_out_and_counted(rows):
    ids, who, values = map(np.array, zip(*rows, strict=True))
    got = one_value_per_response(ids, who, values, "label")
    expected, ties = {}, 0
    for response, said in by_response(rows).items():
        top = Counter(said).most_common()
        if len(top) > 1 and top[0][1] == top[1][1]:
            ties += 1
        else:
            expected[response] = (top[0][0], len(said))
    assert got.ties == ties
    kept = dict(zip(got.response_ids, zip(got.values, got.people, strict=True), strict=True))
    assert kept == expected


@given(reviews)
@settings(max_examples=40, deadline=None)
def test_quality_is_the_lower_median_and_groundedness_the_mean(rows):
    ids, who, values = map(np.array, zip(*rows, strict=True))
    quality = one_value_per_response(ids, who, values, "quality")
    assert quality.values.tolist() == [median_low(said) for said in by_response(rows).values()]
    groundedness = one_value_per_response(ids, who, values / 4, "groundedness")
    assert groundedness.values == pytest.approx([np.mean(said) / 4 for said in by_response(rows).values()])
    assert groundedness.response_ids.tolist() == list(by_response(rows))


def test_labels_are_given_back_as_they_came():
    ids, who = np.array([7, 7, 7, 3]), np.array(["ann", "ben", "cy", "ann"])
    labels = np.array(["grounded", "hallucinated", "grounded", "hallucinated"])
    got = one_value_per_response(ids, who, labels, "label")
    assert got.response_ids.tolist() == [3, 7]
    assert got.values.tolist() == ["hallucinated", "grounded"]
    assert got.people.tolist() == [1, 3]


def test_a_person_counts_once_per_response():
    with pytest.raises(ValueError, match="two reviews of one response"):
        one_value_per_response(np.array([1, 1]), np.array([5, 5]), np.array([1, 2]), "quality")


def test_a_missing_grade_is_refused_not_averaged():
    with pytest.raises(ValueError, match="left out first"):
        one_value_per_response(np.array([1, 2]), np.array([5, 5]), np.array([0.5, np.nan]), "groundedness")


def test_no_reviews_give_no_values():
    got = one_value_per_response(np.empty(0, dtype=int), np.empty(0, dtype=int), np.empty(0), "groundedness")
    assert (len(got.values), got.ties) == (0, 0)
