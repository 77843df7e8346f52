import pytest

from judgeboard.agreement.notes import luck
from judgeboard.domain import Estimate
from judgeboard.stats.estimates import (
    interval,
    kappa_word,
    more_pairs,
    number_words,
    one_in,
    percent,
    percent_interval,
    percent_words,
)


@pytest.mark.parametrize(
    ("kappa", "word"),
    [
        (-0.3, "poor"),
        (0.1999, "poor"),
        (0.2, "fair"),
        (0.4, "moderate"),
        (0.56, "moderate"),
        (0.6, "substantial"),
        (0.7999, "substantial"),
        (0.8, "very good"),
        (1, "very good"),
    ],
)
def test_kappa_has_a_word(kappa, word):
    assert kappa_word(kappa) == word


@pytest.mark.parametrize(
    ("share", "words"),
    [
        (0.24, "1 in 4"),
        (0.19, "1 in 5"),
        (0.04, "1 in 25"),
        (0.6, "1 in 2"),
        (0.039, "4 %"),
        (0.61, "61 %"),
        (0, "0 %"),
        (0.003, "under 1 %"),
        (0.998, "over 99 %"),
        (1, "100 %"),
    ],
)
def test_one_in_n_only_where_it_reads_well(share, words):
    assert one_in(share) == words


def test_percent_and_intervals_read_as_on_the_page():
    got = Estimate(0.793, 0.7704, 0.8151, n=1344)
    assert percent(got.value) == "79 %"
    assert percent_interval(got) == "[77, 82]"
    assert interval(Estimate(0.56, 0.5174, 0.6051, n=1344)) == "[0.52, 0.61]"
    assert interval(Estimate(0, -0.001, 0.2, n=12)) == "[0.00, 0.20]"
    assert percent_interval(Estimate(None)) is None
    assert interval(Estimate(None)) is None


def test_more_pairs_narrow_the_interval_with_the_root_of_n():
    assert more_pairs(Estimate(0.6, 0.37, 0.83, n=34)) == 150
    assert more_pairs(Estimate(0.6, 0.55, 0.65, n=900)) == 0
    assert more_pairs(Estimate(1, n=12)) is None


def test_four_slices_deceive_one_time_in_five():
    (note,) = luck(4, "query types")
    assert note.text == "With 4 query types, the probability that one differs by chance is 19 %."
    assert list(luck(3, "query types")) == []


def test_an_undefined_statistic_is_its_reason_never_none() -> None:
    assert percent_words(Estimate(None, reason="no pairs")) == "no pairs"
    assert number_words(Estimate(None)) == "unknown"
    assert number_words(Estimate(-0.001, -0.1, 0.1)) == "0.00 [-0.10, 0.10]"
    assert percent_words(Estimate(0.5)) == "50 %"
