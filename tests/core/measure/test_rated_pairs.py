"""Agreement on pairs: one preference per person, contradictions, unusable verdicts, and gold on its own aspect."""

import pytest

from engines import on_sqlite
from graded_log import read
from judgeboard.domain import AspectPreference, GivenPreference, Pair, Preference
from judgeboard.errors import BadInput, NotFound
from judgeboard.measure.agreement import measure_agreement
from judgeboard.measure.agreement_result import statistics_of_slice
from judgeboard.people.roster import ensure_reviewer
from judgeboard.reports.agreement import report_page
from judgeboard.reports.front_page import log_summary
from judgeboard.stats.pair_orders import INCONSISTENT_AS
from judgeboard.stats.pair_statistics import STATISTICS
from judgeboard.store.pairs import store_pairs
from judgeboard.store.preferences import ImportedPreference, store_preferences
from pair_log import add_pairs, people_say, prefer_outside, record
from result_parts import values_of_note
from stored_rows import write_to


def measure(store, **choice):
    return measure_agreement(store, unit="pairs", **choice)


def page_of(store, result):
    return report_page([result], read(store, log_summary, [result]))


def all_say(store, pairs, *letters):
    """One person for each letter prefers this side on all pairs."""
    for pair in pairs:
        people_say(store, pair, *letters)


def people_say_of_aspects(store, pair_id, **sides):
    aspects = {aspect: AspectPreference(side) for aspect, side in sides.items()}
    preferences = [GivenPreference(f"person {place}", aspects) for place in range(2)]
    of_pair = [
        ImportedPreference(f"p{pair_id}", "bench", each, pair_id=pair_id) for each in preferences
    ]
    write_to(store, store_preferences, of_pair)


@pytest.fixture
def rated(store, fill_once):
    """Fourteen pairs: people are tied on one, and a judge changes once, is unusable once, and leaves one out."""
    fill_once("fourteen rated pairs", store, fill)
    return store


def fill(store):
    pairs = add_pairs(store, 14)
    record(store, pairs[:13], {"ab": "aaaaaaaaaaab-", "ba": "aaaaaaaaaaaab"})
    for place, pair in enumerate(pairs):
        people_say(store, pair, *("ab" if place == 0 else "aa"))


@on_sqlite
@pytest.mark.parametrize(
    ("inconsistent", "right", "n", "left_out"),
    [
        ("net", 10 / 11, 11, {}),  # A and B make a tie, which people did not prefer
        ("drop", 1, 10, {"inconsistent": 1}),
        ("wrong", 10 / 11, 11, {}),
        ("tie", 10 / 11, 11, {}),
    ],
)
def test_pairs_without_a_verdict_are_left_out_by_reason(rated, inconsistent, right, n, left_out):
    result = measure(rated, inconsistent=inconsistent)
    assert (result.n, result.statistics["agreement"].value) == (n, pytest.approx(right))
    assert result.about.left_out == {"ties": 1, "without_verdict": 1, "unusable": 1, **left_out}


@on_sqlite
def test_the_first_sentence_says_how_often_the_judge_changes_its_preference(rated):
    for inconsistent in INCONSISTENT_AS:
        result = measure(rated, inconsistent=inconsistent, by="query_type")
        assert result.caveats[0].code == f"orders_{inconsistent}"
        changed = result.statistics["changed_with_order"]
        assert (changed.value, changed.n) == (pytest.approx(1 / 11), 11)
        (part,) = result.slices
        assert result.figure("changed_with_order", part).value == changed.value
        assert STATISTICS["changed_with_order"].name in page_of(rated, result)


@on_sqlite
@pytest.mark.parametrize("unusable", ["tie", "wrong"])
def test_an_unusable_verdict_counts_alike_in_the_sentence_the_slices_and_the_figures(
    rated, unusable
):
    result = measure(rated, unusable=unusable, by="query_type")
    assert result.about.left_out == {"ties": 1, "without_verdict": 1}
    assert (result.n, result.statistics["accuracy"].value) == (12, pytest.approx(10 / 12))
    names = ("agreement", "kappa", "alpha_nominal", "ac1")
    assert {result.statistics[name].n for name in names} == {12}
    assert result.headline.values["on"] == "12 graded pairs"
    assert values_of_note(result.caveats, f"unusable_{unusable}") == {"n": 1}
    (part,) = result.slices
    assert result.figure("n", part).n == 12
    assert result.figure("agreement", part) == result.figure("agreement")
    assert sum(map(sum, result.confusion.counts)) == 12


@on_sqlite
def test_a_wrong_verdict_agrees_with_no_person_in_the_annotator_test(store):
    pairs = add_pairs(store, 40)
    record(store, pairs, {"ab": "-" * 10 + "a" * 30, "ba": "a" * 40})
    all_say(store, pairs, *"aab")
    dropped, wrong = (
        measure(store, unusable=each, epsilon=0.2).alt_test for each in ("drop", "wrong")
    )
    assert (dropped.n, wrong.n) == (30, 40)
    assert wrong.rho.value < dropped.rho.value


@on_sqlite
def test_intervals_resample_questions_not_pairs(store):
    """On 20 questions with 8 pairs each, the judge is right on all pairs of a question or on none."""
    items = [
        Pair("bench", f"q{question}-{place}", f"Question {question}?", "left", f"right {place}")
        for question in range(20)
        for place in range(8)
    ]
    pairs = write_to(store, store_pairs, items).new
    record(store, pairs, dict.fromkeys(("ab", "ba"), ("a" * 8 + "b" * 8) * 10))
    all_say(store, pairs, "a")
    result = measure(store)
    for name in ("agreement", "ac1", "changed_with_order"):
        assert result.statistics[name].n == 160
    agreement = result.statistics["agreement"]
    # 20 answers, not 160.
    assert agreement.high - agreement.low > 0.4


@on_sqlite
def test_judges_are_compared_in_the_same_order_and_every_comparison_is_counted(store):
    pairs = add_pairs(store, 12)
    # It contradicts itself on every pair.
    record(store, pairs, {"ab": "a" * 12, "ba": "b" * 11 + "-"}, name="first")
    record(store, pairs[:11], {"ab": "a" * 11, "ba": "a" * 10 + "-"}, name="second")
    result = measure(store, of="judges", by="query_type")
    assert (result.n, result.statistics["agreement"].value) == (21, pytest.approx(11 / 21))
    assert result.about.left_out == {"one_judge": 2, "few_usable": 1}
    # Every pair in every order that any judge was asked about.
    assert result.n + sum(result.about.left_out.values()) == 24
    assert [result.figure("n", each).n for each in result.slices] == [21]
    assert (result.headline.code, result.headline.values["n"]) == ("judges", 21)


def test_gold_stands_before_people_and_only_on_the_aspect_it_is_of(store):
    pairs = add_pairs(store, 10, gold=Preference.B)
    record(store, pairs, {"ab": "b" * 10})
    all_say(store, pairs, *"aa")
    assert measure(store).statistics["agreement"].value == 1
    assert measure(store, human="majority").statistics["agreement"].value == 0
    people = measure(store, of="people")
    with_gold = people.part("against_gold")
    assert [with_gold.figure("agreement", each).value for each in with_gold.slices] == [0, 0]
    record(store, pairs, {"ab": "b" * 10}, aspect="style", name="stylist")
    for pair in pairs:
        people_say_of_aspects(store, pair, overall=Preference.A, style=Preference.B)
    style = measure(store, aspect="style", judge_versions=["stylist"])
    assert style.statistics["agreement"].value == 1
    assert measure(store, of="people", aspect="style").part("against_gold") is None


@on_sqlite
def test_a_person_has_one_voice_and_none_after_the_reveal(store):
    pairs = add_pairs(store, 10)
    record(store, pairs, {"ab": "a" * 10})
    mara = ensure_reviewer(store, "page", "mara")
    for pair in pairs:
        people_say(store, pair, "b")
        prefer_outside(store, pair, mara, Preference.A, f"first-{pair}")
        prefer_outside(store, pair, mara, Preference.B, f"second-{pair}", seen=("judge", "people"))
    (revealed_id,) = add_pairs(store, 1, first=10)
    people_say(store, revealed_id, "b")
    prefer_outside(store, revealed_id, mara, Preference.B, "told", seen=("judge", "people"))
    result = measure(store, of="people")
    assert (result.n, result.statistics["agreement"].value) == (10, 0)
    assert result.about.left_out == {"one_person": 1, "revealed": 1}


def test_both_orders_are_what_a_judge_says_twice_of_a_pair(store):
    pairs = add_pairs(store, 12)
    record(store, pairs, {"ab": "aaaaaabbbbt-", "ba": "aaaaaabbbata"}, name="two")
    result = measure(store, of="repeats")
    assert (result.n, result.about.left_out) == (11, {"incomplete": 1})
    assert result.statistics["self_consistency"].value == pytest.approx(10 / 11)
    assert [len(each.slices) for each in result.parts] == [1]
    record(store, pairs, {"ab": "a" * 12}, name="once")
    with pytest.raises(NotFound, match="one order only"):
        measure(store, of="repeats", judge_versions=["once"])


@on_sqlite
def test_an_aspect_must_be_named_where_there_are_several_and_none_is_overall(store):
    (pair,) = add_pairs(store, 1)
    people_say_of_aspects(store, pair, depth=Preference.A, style=Preference.B)
    with pytest.raises(BadInput, match="--aspect: depth, style"):
        measure(store, of="people")
    with pytest.raises(NotFound, match=r"'sense'.*depth, style"):
        measure(store, of="people", aspect="sense")


@on_sqlite
def test_unusable_verdicts_are_counted_by_verdict(store):
    """One pair was not asked with B first."""
    pairs = add_pairs(store, 14, query_type="sql")
    record(store, pairs, {"ab": "aaaaaabbbbbb--", "ba": "aaaabbbbbba-- "})
    for place, pair in enumerate(pairs):
        people_say(store, pair, *("aa" if place < 6 else "bb"))
    result = measure(store, by="query_type")
    for figures in (result.statistics, statistics_of_slice(result, "sql")):
        unusable = figures["unusable_verdicts"]
        assert (unusable.value, unusable.n) == (pytest.approx(4 / 27), 27)
    assert result.about.left_out == {"unusable": 3}
    # A judge may be asked in one order only.
    assert "Unusable verdicts</td>" in page_of(store, result)


@on_sqlite
def test_a_judge_that_was_asked_in_one_order_has_no_figures_by_order(store):
    pairs = add_pairs(store, 12)
    record(store, pairs, {"ab": "aaaaaaaaaab-"})
    all_say(store, pairs, *"aa")
    figures = measure(store).statistics
    assert not [name for name in figures if name.endswith("_first")]
    unusable = figures["unusable_verdicts"]
    assert (unusable.value, unusable.n) == (pytest.approx(1 / 12), 12)


@on_sqlite
def test_nobody_is_told_to_grade_pairs_that_are_all_graded_where_verdicts_are_dropped(store):
    pairs = add_pairs(store, 12)
    record(store, pairs, {"ab": "a" * 12, "ba": "b" * 11 + "a"})
    all_say(store, pairs, "a")
    dropped = measure(store, inconsistent="drop")
    assert (dropped.n, dropped.about.left_out) == (1, {"inconsistent": 11})
    assert (dropped.headline.code, dropped.next) == ("few_graded", ())
