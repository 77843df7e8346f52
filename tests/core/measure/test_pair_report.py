"""The figures of a judge on pairs: what counts as a verdict, what is set apart, and what is not measured."""

import pytest

from engines import on_sqlite
from graded_log import read
from judgeboard.domain import Preference, Shown, Status, StepRecord
from judgeboard.errors import BadInput, NotFound
from judgeboard.formats.output import to_plain
from judgeboard.health.models import shipped_models
from judgeboard.health.record import read_record
from judgeboard.measure.pair_report import NO_GOLD, NO_PEOPLE, measure_pairs
from judgeboard.store.comparisons import NewComparison, store_comparisons
from pair_log import add_pairs, people_say, record
from result_parts import codes, values_of_note


def report(store, version, **options):
    return measure_pairs(store, version.id, **options)


def figures(store, version, **options):
    (result,) = report(store, version, **options).aspects
    return result


def recorded(store, ab, ba, pair_ids=None, **options):
    """Record a judge's verdicts in both orders, by default on new pairs, and return its figures."""
    pairs = add_pairs(store, len(ab)) if pair_ids is None else pair_ids
    return figures(store, record(store, pairs, {"ab": ab, "ba": ba}), **options)


def counts(result, *names):
    return tuple(result.figure(name).value for name in names)


def with_n(estimate):
    return estimate.value, estimate.n


def is_one_order(result):
    return "one_order" in codes(result.caveats)


@on_sqlite
def test_only_equal_verdicts_count_and_the_two_ways_to_differ_stand_apart(store):
    result = recorded(store, "aabtabta-", "aabtbatta")
    assert counts(result, "wins_a", "wins_b", "ties") == (2, 1, 2)
    assert counts(result, "flips", "tie_win", "unmeasured") == (2, 1, 1)
    assert counts(result, "pairs", "both_usable") == (9, 8)


@pytest.mark.parametrize(
    ("ab", "ba", "figure", "value", "n"),
    [
        # Pairs with both orders usable.
        ("aaab-", "aab-a", "self_consistency", 2 / 3, 3),
        ("aaabbb", "aaabbb", "self_consistency", 1, 6),
        # first, first | first, second | tie, first | left out: its other order is unusable
        ("aata", "bab-", "first_position", 4 / 5, 5),
        ("aaabbb", "aaabbb", "first_position", 1 / 2, 12),
        # An absent order of a judge that was asked in both is unusable.
        ("aaa", "aa ", "unmeasured", 1, 3),
    ],
)
def test_figures_of_both_orders(sqlite_store, ab, ba, figure, value, n):
    group = recorded(sqlite_store, ab, ba)
    assert with_n(group.figure(figure)) == (pytest.approx(value), n)
    assert not is_one_order(group)


def test_the_interval_of_the_first_place_goes_by_pair_not_by_verdict(sqlite_store):
    # Every pair names the first answer twice or the second twice: 40 verdicts, but 20 independent
    # ones.
    share = recorded(sqlite_store, "ab" * 10, "ba" * 10).figure("first_position")
    assert with_n(share) == (0.5, 40)
    # Of 40 independent verdicts it would be 0.30.
    assert share.high - share.low > 0.38


def test_only_ties_leave_the_first_place_unmeasured(sqlite_store):
    share = recorded(sqlite_store, "tt", "tt").figure("first_position")
    assert share.value is None
    assert "ties" in share.reason


def test_of_a_judge_asked_in_one_order_the_verdict_is_that_orders(sqlite_store):
    group = recorded(sqlite_store, "abt-", "    ")
    assert counts(group, "wins_a", "wins_b", "ties", "unmeasured", "both_usable") == (1, 1, 1, 1, 0)
    assert is_one_order(group)
    for name in ("self_consistency", "first_position"):
        assert group.figure(name).value is None
        assert "one order" in group.figure(name).reason


@pytest.mark.parametrize("kind", ["pairwise", "ssr", "replay"])
@pytest.mark.parametrize("ba", ["  ", " b", "ab"])
def test_the_checks_of_a_judge_read_its_orders_as_the_report_does(sqlite_store, kind, ba):
    version = record(sqlite_store, add_pairs(sqlite_store, 2), {"ab": "a ", "ba": ba}, kind=kind)
    checked = read(sqlite_store, read_record, version, shipped_models()).pairs["overall"]
    group = figures(sqlite_store, version)
    assert checked.one_order == is_one_order(group)
    assert list(checked.counts().values()) == list(counts(group, *checked.counts()))


@pytest.mark.parametrize("kind", ["pairwise", "ssr"])
def test_a_judge_of_two_orders_stopped_between_them_is_no_judge_of_one_order(sqlite_store, kind):
    version = record(sqlite_store, add_pairs(sqlite_store, 2), {"ab": "aa", "ba": "  "}, kind=kind)
    group = figures(sqlite_store, version)
    assert (is_one_order(group), *counts(group, "unmeasured", "wins_a")) == (False, 2, 0)


def test_accuracy_is_the_mean_of_the_orders_and_that_of_consistent_verdicts(sqlite_store):
    pair_ids = add_pairs(sqlite_store, 4, gold=Preference.A)
    group = recorded(sqlite_store, "aab-", "abba", pair_ids)
    assert with_n(group.figure("accuracy_orders_mean")) == (0.5, 3)
    assert with_n(group.figure("accuracy_consistent")) == (0.5, 2)


@pytest.mark.parametrize(
    ("unusable", "orders", "consistent"),
    [
        ("drop", (1.0, 1), (1.0, 1)),
        ("tie", (3 / 4, 2), (1.0, 2)),
        ("wrong", (1 / 2, 2), (1 / 2, 2)),
    ],
)
def test_what_an_unusable_verdict_counts_as_is_chosen(sqlite_store, unusable, orders, consistent):
    pair_ids = add_pairs(sqlite_store, 2, gold=Preference.TIE)
    group = recorded(sqlite_store, "t-", "ta", pair_ids, unusable=unusable)
    assert with_n(group.figure("accuracy_orders_mean")) == orders
    assert with_n(group.figure("accuracy_consistent")) == consistent
    # The counts tell the truth, however it is scored.
    assert group.figure("unmeasured").value == 1


@pytest.mark.parametrize(
    ("inconsistent", "accuracy", "people"),
    [
        ("net", (3 / 5, 5), (4 / 5, 5)),
        ("drop", (1, 2), (1, 2)),
        ("wrong", (2 / 5, 5), (2 / 5, 5)),
        ("tie", (2 / 5, 5), (3 / 5, 5)),
    ],
)
def test_how_a_changed_preference_counts_is_an_option(sqlite_store, inconsistent, accuracy, people):
    # consistent, consistent, A and B, a tie and A, a tie and B
    pair_ids = add_pairs(sqlite_store, 5, gold=Preference.A)
    for pair_id, letter in zip(pair_ids, "aataa", strict=True):
        people_say(sqlite_store, pair_id, letter)
    group = recorded(sqlite_store, "aaatt", "aabab", pair_ids, inconsistent=inconsistent)
    assert with_n(group.figure("accuracy")) == pytest.approx(accuracy)
    assert with_n(group.figure("people")) == pytest.approx(people)
    assert group.figure("changed_with_order").value == pytest.approx(3 / 5)
    assert group.figure("accuracy_consistent").n == 2


def test_without_gold_or_people_there_is_no_accuracy_but_a_reason(sqlite_store):
    group = recorded(sqlite_store, "ab", "ab")
    assert counts(group, "accuracy", "people") == (None, None)
    assert [group.figure(name).reason for name in ("accuracy", "people")] == [NO_GOLD, NO_PEOPLE]
    assert not group.has("accuracy_consistent")


def test_people_are_their_majority_and_a_split_is_left_out_and_counted(sqlite_store):
    pair_ids = add_pairs(sqlite_store, 4)
    for pair_id, letters in zip(pair_ids, ("aab", "ab", "ttb", "b"), strict=True):
        people_say(sqlite_store, pair_id, *letters)
    group = recorded(sqlite_store, "aaaa", "aaaa", pair_ids)
    assert with_n(group.figure("people")) == (pytest.approx(1 / 3), 3)
    assert group.figure("people_split").value == 1


def test_a_grade_of_a_person_counts_for_the_side_it_favours(sqlite_store):
    pair_ids = add_pairs(sqlite_store, 3)
    for pair_id, grade in zip(pair_ids, ("-1", "2", "0"), strict=True):
        people_say(sqlite_store, pair_id, grade)
    group = recorded(sqlite_store, "abt", "abt", pair_ids)
    assert with_n(group.figure("people")) == (1, 3)


def test_slices_and_aspects_have_figures_of_their_own(sqlite_store):
    pair_ids = [
        *add_pairs(sqlite_store, 2, query_type="QA", gold=Preference.A),
        *add_pairs(sqlite_store, 1, first=2, query_type="math", gold=Preference.A),
    ]
    record(sqlite_store, pair_ids, {"ab": "aab", "ba": "aab"})
    version = record(
        sqlite_store, pair_ids, {"ab": "bbb", "ba": "bbb"}, name="other", aspect="style"
    )
    reported = report(sqlite_store, version, by_query_type=True)
    (result,) = reported.aspects
    pairs = {each: result.figure("pairs", each).value for each in (None, *result.slices)}
    assert (result.about.grade, pairs) == ("style", {None: 3, "QA": 2, "math": 1})
    # The only aspect of a judge is held against the gold.
    assert result.figure("accuracy_consistent").value == 0


def test_gold_is_of_overall_where_a_judge_speaks_of_several_aspects(sqlite_store):
    (pair_id,) = add_pairs(sqlite_store, 1, gold=Preference.A)
    version = record(sqlite_store, [], {})
    both = {"overall": Preference.A, "style": Preference.B}
    with sqlite_store.writing() as connection:
        items = [NewComparison(pair_id, shown, StepRecord(Status.OK), both) for shown in Shown]
        store_comparisons(connection, version, None, items)
    overall, style = report(sqlite_store, version).aspects
    assert (overall.about.grade, overall.figure("accuracy_consistent").value) == ("overall", 1)
    assert (style.about.grade, style.figure("accuracy").reason) == ("style", NO_GOLD)
    assert figures(sqlite_store, version, aspects=["style"]).about.grade == "style"


def test_the_counts_of_a_recording_add_up_and_json_is_whole(sqlite_store):
    pair_ids = add_pairs(sqlite_store, 3)
    version = record(sqlite_store, pair_ids, {"ab": "ab-", "ba": "a-t"})
    content = to_plain(report(sqlite_store, version))
    names = ("asked", "ok", "unparsable", "refused", "error", "not_reached")
    assert [content["account"][name] for name in names] == [6, 4, 2, 0, 0, 0]
    (group,) = content["aspects"]
    by_name = {row["figure"]: row["value"] for row in group["rows"] if row["slice"] is None}
    parts = ("wins_a", "wins_b", "ties", "flips", "tie_win", "unmeasured")
    assert sum(by_name[name] for name in parts) == by_name["pairs"] == 3
    part = report(sqlite_store, version, pair_ids=pair_ids[:1])
    assert (part.account.asked, part.aspects[0].figure("pairs").value) == (2, 1)


def test_what_is_not_there_is_said(sqlite_store):
    version = record(sqlite_store, add_pairs(sqlite_store, 1), {"ab": "a", "ba": "a"})
    for error, reason, options in (
        (NotFound, "'style'", {"aspects": ["style"]}),
        (NotFound, "these pairs", {"pair_ids": [99]}),
        (BadInput, "--inconsistent", {"inconsistent": "maybe"}),
        (BadInput, "--unusable", {"unusable": "maybe"}),
    ):
        with pytest.raises(error, match=reason):
            report(sqlite_store, version, **options)


def test_only_verdicts_are_counted_as_left_out_for_want_of_a_majority(sqlite_store):
    pair_ids = add_pairs(sqlite_store, 4)
    for pair_id in pair_ids:
        people_say(sqlite_store, pair_id, *"ab")
    version = record(sqlite_store, pair_ids, {"ab": "aaa-", "ba": "abta"})
    group = figures(sqlite_store, version)
    assert counts(group, "flips", "tie_win", "unmeasured") == (1, 1, 1)
    assert group.figure("people").n == 0
    # And the net votes.
    assert values_of_note(group.caveats, "people_split") == {"n": 3}
    dropped = figures(sqlite_store, version, inconsistent="drop").figure("people_split").value
    # The one pair with a verdict.
    assert dropped == 1
    tied = figures(sqlite_store, version, unusable="tie").figure("people_split").value
    # That of the unusable pair counts too.
    assert tied == 4
