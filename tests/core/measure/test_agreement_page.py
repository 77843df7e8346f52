import pytest

from engines import on_sqlite
from estimates import value_and_ends
from graded_log import BAD, GOOD, labels_in
from judgeboard.domain import Decision
from judgeboard.measure.agreement import measure_agreement
from judgeboard.measure.agreement_page import agreement_details, agreement_page, flags_worth
from judgeboard.measure.choice import CountedGrades
from judgeboard.measure.rates import measure_rate
from judgeboard.measure.ratings import PairSource
from judgeboard.stats.estimates import more_pairs
from result_parts import codes, values_of_note

MONDAY = 20_458  # 5 January 2026


def page(log, reviewer_id=None, **asked):
    with log.store.reading() as connection:
        return agreement_page(PairSource(connection, CountedGrades(reviewer_id)), **asked)


def details(log, **asked):
    with log.store.reading() as connection:
        source = PairSource(connection)
        return agreement_details(source, agreement_page(source, **asked))


def judged(log, version, ids, *, wrong):
    """People call every second answer bad; the judge is wrong on the first ``wrong`` ones."""
    bad = {*ids[::2]}
    log.say(version, labels_in(ids, bad ^ {*ids[:wrong]}))
    if version.name == "rag" and version.number == 1:
        log.reviews(labels_in(ids, bad))


@on_sqlite
def test_without_pairs_the_page_says_how_to_get_some(log):
    shown = page(log)
    assert (shown.version, shown.result.next) == (None, ())
    assert shown.result.headline.code == "nothing_in_common"
    log.say_all(log.version(), log.answers(3), groundedness=0.4)
    assert page(log).result.headline.code == "nothing_in_common"


@on_sqlite
def test_the_primary_judges_newest_version_with_pairs_is_shown(log):
    ids = log.answers(20)
    first, second, other = log.version("rag"), log.version("rag", prompt="new"), log.version("nli")
    judged(log, first, ids, wrong=2)
    judged(log, second, ids[:12], wrong=1)
    judged(log, other, ids, wrong=9)
    shown = page(log)
    assert (shown.result.title, shown.result.n) == ("rag v2", 12)
    chosen = page(log, version_id=other.id)
    assert chosen.result.title == "nli v1"
    with log.store.reading() as connection:
        versions = PairSource(connection).versions("label")
    assert [version.title for version in versions] == ["rag v2", "nli v1", "rag v1"]


@on_sqlite
def test_answers_that_only_a_lead_graded_are_left_out_and_said(log):
    ids = log.answers(14)
    judged(log, log.version(), ids[:12], wrong=1)
    log.say_all(log.version(), ids[12:], label=GOOD)
    log.review_all(ids[12:], "lead", label=GOOD, stage="adjudication")
    with log.store.reading() as connection:
        source = PairSource(connection, CountedGrades(human="majority"))
        shown = agreement_page(source)
    result = measure_agreement(log.store, human="majority")
    assert shown.result.about.left_out == result.about.left_out == {"only_gold": 2}


@on_sqlite
def test_versions_are_compared_on_the_same_answers_only(log):
    ids = log.answers(40)
    first, second, third = log.version("rag"), log.version("rag", prompt="new"), log.version("nli")
    judged(log, first, ids, wrong=4)
    judged(log, second, ids[:30], wrong=3)
    judged(log, third, ids[:5], wrong=0)
    same = details(log, version_id=first.id).same_answers
    assert {each: same.figure("n", each).n for each in same.slices} == {"rag v1": 30, "rag v2": 30}
    assert [each.values for each in same.caveats] == [{"versions": ["nli v1"]}]


@on_sqlite
def test_judges_of_many_answers_do_not_hide_judges_of_fewer(log):
    ids = log.answers(60)
    for name in ("rag", "wide"):
        judged(log, log.version(name), ids, wrong=4)
    for letter in "abcd":
        judged(log, log.version(f"narrow-{letter}"), ids[:24], wrong=4)
    judged(log, log.version("tiny"), ids[:10], wrong=1)
    same = details(log).same_answers
    assert (same.figure("n", "wide v1").n, len(same.slices)) == (24, 6)
    assert [each.values for each in same.caveats] == [{"versions": ["tiny v1"]}]


@on_sqlite
def test_chosen_labels_do_not_show_where_a_judge_is_weakest(log):
    version = log.version()
    judged(log, version, log.answers(20, query_type="simple"), wrong=1)
    judged(log, version, log.answers(20, query_type="sql"), wrong=9)
    log.say_all(version, log.answers(60), label=GOOD)
    result = page(log).result
    assert result.is_of_graded
    assert "graded_alone" in codes(result.caveats)


@on_sqlite
def test_agreement_over_time_goes_by_the_week_asked(log):
    version = log.version()
    for week, wrong in ((0, 0), (1, 5), (3, 10)):
        judged(log, version, log.answers(10, day=MONDAY + 7 * week + 2), wrong=wrong)
    judged(log, version, log.answers(2), wrong=0)
    shown = details(log)
    points = [(each.start - MONDAY, each.estimate.value, each.segment) for each in shown.over_time]
    assert points == [(0, 1.0, 0), (7, 0.5, 0), (21, 0.0, 1)]
    assert {each.estimate.n for each in shown.over_time} == {10}
    assert shown.without_time == 2


def test_kappa_over_time_stands_beside_agreement_where_a_week_has_enough_answers(sqlite_log):
    log = sqlite_log
    version = log.version()
    for week, n in ((0, 40), (1, 9)):
        ids = log.answers(n, day=MONDAY + 7 * week)
        log.say(version, labels_in(ids, ids[::4]))
        log.reviews(labels_in(ids, ids[::2]))
    ids = log.answers(40, day=MONDAY + 14)
    log.say(version, labels_in(ids, ids[::8]))
    log.reviews(labels_in(ids, ids[:4]))
    first, second, third = details(log).over_time
    # 4 bad answers.
    assert third.kappa.value is not None
    assert (third.kappa.low, third.kappa.high) == (None, None)
    assert third.kappa.reason.startswith("no interval")
    assert (first.estimate.value, first.kappa.value) == (0.75, 0.5)
    assert first.kappa.low < 0.5 < first.kappa.high
    assert (second.kappa.value, "n = 9," in second.kappa.reason) == (None, True)
    assert second.estimate.value is not None


def test_groundedness_over_time_is_the_mean_difference(sqlite_log):
    ids = sqlite_log.answers(10, day=MONDAY)
    sqlite_log.say_all(sqlite_log.version(), ids, groundedness=0.4)
    sqlite_log.review_all(ids, groundedness=0.7)
    (point,) = details(sqlite_log, grade="groundedness").over_time
    assert point.estimate.value == pytest.approx(0.3)
    assert point.kappa is None


@on_sqlite
def test_what_flags_are_worth_and_how_long_they_take(log):
    ids = log.answers(12)
    log.say_all(log.version(), ids, groundedness=0.1)
    for index, each in enumerate(ids):
        decision = Decision.CONFIRM if index < 9 else Decision.DISMISS
        seconds = float(30 + index) if index < 11 else 9_000.0
        log.decide(each, "low_groundedness", decision, seconds=seconds, label=BAD)
    worth = log.read(flags_worth)
    (of_rule,) = worth.rules
    assert (of_rule.rule, of_rule.confirmed, of_rule.decided) == ("low_groundedness", 9, 12)
    # People labelled all of them bad, also those they dismissed.
    assert (of_rule.bad.value, of_rule.bad.n) == (1, 12)
    assert worth.flagged == of_rule.bad
    assert of_rule.minutes == pytest.approx(35.5 / 60, abs=1e-6)
    assert worth.not_flagged.value is None


@on_sqlite
def test_answers_that_no_rule_flagged_count_with_their_sampled_labels(log):
    log.set("random_share", 1)
    ids = log.answers(14)
    log.say_scores(log.version(), ids, [0.1] * 2 + [0.9] * 12)
    for place, each in enumerate(ids[:8]):
        log.decide(each, "random_sample", Decision.CONFIRM, label=BAD if place < 5 else GOOD)
    log.review_all(ids[8:], label=GOOD)  # a label is enough: nobody has to decide the flag
    worth = log.read(flags_worth)
    assert (worth.not_flagged.n, worth.not_flagged.value) == (12, 0.25)
    # The random sample is no reason to look.
    assert [each.rule for each in worth.rules] == ["low_groundedness"]


@on_sqlite
def test_the_share_of_bad_answers_of_a_rule_is_that_of_the_rate(log):
    version, ids = log.version(), log.answers(60)
    log.say_all(version, ids, groundedness=0.9)
    log.say_all(version, ids[::3], groundedness=0.1)
    log.reviews(labels_in(ids, ids[::6]))
    (of_rule,) = log.read(flags_worth).rules
    rate = measure_rate(log.store, by="rule").figure("bad_answers", "low_groundedness")
    assert (rate.value, rate.n) == (0.5, 20)
    assert value_and_ends(of_rule.bad) == value_and_ends(rate)


@on_sqlite
def test_flagged_answers_are_harder_and_the_page_warns(log):
    ids = log.answers(20)
    log.say_scores(log.version(), ids, [0.1] * 10 + [0.9] * 10)
    for each in ids[:10]:
        log.decide(each, "low_groundedness", Decision.CONFIRM, label=BAD)
    log.review_all(ids[10:], label=GOOD)
    assert values_of_note(page(log).result.caveats, "flagged") == {"share": 0.5}


@on_sqlite
def test_not_conclusive_names_how_many_more(log):
    judged(log, log.version(), log.answers(30), wrong=6)
    result = page(log).result
    more = more_pairs(result.statistics["kappa"])
    assert values_of_note(result.caveats, "wide_interval_more") == {"more": more}


@on_sqlite
def test_judges_that_agree_more_with_people_or_by_chance_or_their_making_are_not_told(log):
    ids = log.answers(90)
    rag, nli = log.version("rag"), log.version("nli")
    judged(log, rag, ids, wrong=30)
    judged(log, nli, ids[60:], wrong=0)  # both agree with people there
    jury = log.version("jury", members=[rag.fingerprint])
    judged(log, jury, ids, wrong=30)
    by_chance = log.version("chance")
    judged(log, by_chance, ids[28:48], wrong=3)  # both are wrong on two of twenty
    for version in (rag, nli, jury, by_chance):
        assert "correlated_judges" not in codes(page(log, version_id=version.id).result.caveats)


@on_sqlite
def test_answers_judged_again_are_counted_once_and_said(log):
    version, ids = log.version(), log.answers(12)
    judged(log, version, ids, wrong=0)
    log.say_all(version, ids[:3], label=GOOD)
    result = page(log).result
    assert result.n == 12
    assert values_of_note(result.caveats, "judged_again") == {"n": 3}


@on_sqlite
def test_under_ten_pairs_only_what_is_missing_is_noted(log):
    judged(log, log.version(), log.answers(5), wrong=1)
    result = page(log).result
    assert (result.headline.code, result.caveats) == ("few_graded", ())


def test_calibration_needs_a_hundred_scored_answers(sqlite_log):
    ids = sqlite_log.answers(100)
    sqlite_log.say_scores(sqlite_log.version(), ids, [index / 100 for index in range(100)])
    sqlite_log.review_all(ids[:99], label=GOOD)
    assert page(sqlite_log).result.calibration is None
    sqlite_log.review(ids[99], label=GOOD)
    enough = page(sqlite_log).result.calibration
    assert [tenth.share_grounded.n for tenth in enough] == [10] * 10
