"""Which answers figures of a judge and people describe: all of them, by weighted labels, or the graded ones alone."""

import pytest

from engines import on_sqlite
from graded_log import BAD, GOOD, GradedLog, labels_in, labels_where
from judgeboard.cli.app import run
from judgeboard.measure.agreement import measure_agreement
from judgeboard.measure.agreement_page import agreement_details, agreement_page
from judgeboard.measure.agreement_result import shown_rows
from judgeboard.measure.rates import measure_rate
from judgeboard.measure.ratings import PairSource
from judgeboard.measure.reliance import Reliance, reliance_of, verdict
from judgeboard.measure.result import Row
from judgeboard.reports.agreement import next_command, report_page, result_lines, slices_table
from judgeboard.reports.front_page import log_summary
from judgeboard.reports.rates import OF_JUDGE, rate_lines
from judgeboard.reviews.queues import close_queue
from judgeboard.stats.estimates import complement
from judging_log import address
from result_parts import codes, values_of_note


def label(log, ids, bad, reviewer="mara"):
    log.reviews(labels_in(ids, bad, groundedness=0.5), reviewer)


@pytest.fixture
def judged(sqlite_log):
    """240 answers. The judge calls the first 80 bad, and a rule flags them; it errs on every fourth of these."""
    ids = sqlite_log.answers(240)
    sqlite_log.say(sqlite_log.version(), labels_in(ids, ids[:80], groundedness=0.9))
    sqlite_log.flag(ids[:80], "low_groundedness")
    return ids


def truth(ids):
    """Return the bad answers: three of four that the judge calls bad, and every tenth of the others."""
    return {each for at, each in enumerate(ids) if (at % 4 if at < 80 else at % 10 == 0)}


@pytest.fixture
def flagged_and_drawn(sqlite_log, judged):
    """All flagged answers are labelled, and 40 of the others by lot."""
    sqlite_log.flag(judged[80:120], "random_sample")
    label(sqlite_log, judged[:120], truth(judged))
    return sqlite_log


@pytest.fixture
def flagged_alone(sqlite_log, judged):
    """All flagged answers are labelled; of the others, 40 are drawn, of which nothing is labelled."""
    sqlite_log.flag(judged[60:120], "random_sample")
    label(sqlite_log, judged[:80], truth(judged))
    return sqlite_log


@pytest.fixture
def worst_first(sqlite_log, judged):
    """The first 30 flagged answers are labelled; a sample is drawn, of which nothing is labelled."""
    sqlite_log.flag(judged[60:160], "random_sample")
    label(sqlite_log, judged[:30], truth(judged))
    return sqlite_log


def draw_and_label(log, ids, bad):
    log.flag(ids, "random_sample")
    label(log, ids, bad)


def test_figures_are_of_all_answers_where_labels_are_weighted(flagged_and_drawn):
    result = measure_agreement(flagged_and_drawn.store)
    assert (result.headline.code, result.answers) == ("labels", 240)
    assert not {"graded_alone", "labelled_unevenly"} & {*codes(result.caveats)}
    # All others are too few to narrow the interval: no number of labels is named.
    assert "wide_interval" in codes(result.caveats)
    missed, passed = result.statistics["sensitivity"], result.statistics["specificity"]
    assert same(result.headline.values["missed"], complement(missed))
    assert None not in {missed.low, passed.low}


@pytest.mark.parametrize(
    ("choice", "on"),
    [({"human": "each"}, "120 grades"), ({"grade": "groundedness"}, "120 graded answers")],
)
def test_stacked_and_other_grades_are_not_of_all_answers(flagged_and_drawn, choice, on):
    result = measure_agreement(flagged_and_drawn.store, **choice)
    assert_graded_alone(result, on)


def assert_graded_alone(result, on):
    """The figures are only of what people graded."""
    assert (result.headline.values["on"], result.caveats[0].code) == (on, "graded_alone")
    assert (result.answers, result.graded) == (None, {})


def same(estimate, other):
    """Whether all numbers and reasons of two figures are the same."""
    return Row.of("", None, estimate) == Row.of("", None, other)


def test_labels_of_chosen_answers_are_said_not_to_count(sqlite_log, judged):
    sqlite_log.flag(judged[70:120], "random_sample")
    label(sqlite_log, [*judged[:79], *judged[80:130]], truth(judged))
    sqlite_log.review(judged[79], decision="unsure")
    caveats = measure_agreement(sqlite_log.store).caveats
    assert values_of_note(caveats, "picked_labels") == {"n": 10}


def test_a_random_sample_of_one_part_is_no_sample_of_all_answers(sqlite_log, judged):
    sqlite_log.flag(judged[60:120], "random_sample")
    label(sqlite_log, judged[80:120], truth(judged))
    result = measure_agreement(sqlite_log.store)
    assert "graded_alone" in codes(result.caveats)
    assert (result.answers, reliance_of(result)) == (None, Reliance.UNKNOWN)


def test_a_part_with_too_few_labels_gives_no_figure_of_all_answers_but_the_command(
    sqlite_log, judged
):
    sqlite_log.flag(judged[80:84], "random_sample")
    label(sqlite_log, judged[:84], truth(judged))
    result = measure_agreement(sqlite_log.store)
    assert (result.to_label.labelled, result.to_label.labels) == (4, 60)
    assert_graded_alone(result, "84 graded answers")
    assert reliance_of(result) is Reliance.UNKNOWN
    assert next_command(result) == "judgeboard queue create sample --plan rate --n 60"
    assert not any(line.startswith("\nAll 240 ") for line in result_lines(result))
    by_version = measure_agreement(sqlite_log.store, by="judge_version")
    (version,) = by_version.slices
    answers, kappa = (by_version.figure(each, version) for each in ("answers", "kappa"))
    assert (answers.n, kappa.value) == (240, None)
    rate = measure_rate(sqlite_log.store)
    assert {rate.figure(name).value for name in OF_JUDGE} == {None}
    (why,) = (line for line in rate_lines(rate) if line.startswith("\N{EN DASH} means: "))
    assert {"160", "4", "10"} <= set(why.split())


def rate_and_agreement_agree(log):
    """Both commands have the same figures, in all answers and in those that people graded, also of query types."""
    rate, result = (
        measure(log.store, by="query_type") for measure in (measure_rate, measure_agreement)
    )
    graded = result.graded or result.statistics
    for name in OF_JUDGE:
        assert same(rate.figure(name), result.statistics[name])
        assert same(rate.figure(f"graded_{name}"), graded[name])
        for part in result.slices:
            assert same(rate.figure(name, part), result.figure(name, part))


def test_the_rate_has_the_figures_of_agreement_for_weighted_labels_and_those_of_all_answers(
    flagged_and_drawn, judged
):
    rate_and_agreement_agree(flagged_and_drawn)
    label(flagged_and_drawn, judged[120:], truth(judged))
    rate_and_agreement_agree(flagged_and_drawn)


def test_fewer_than_ten_labels_are_too_few_for_both(sqlite_log):
    ids = sqlite_log.answers(4)
    sqlite_log.say(sqlite_log.version(), labels_in(ids, ids[:2]))
    label(sqlite_log, ids, ids[:2])
    rate_and_agreement_agree(sqlite_log)
    for target in ("app", "these"):
        rate = measure_rate(sqlite_log.store, target=target)
        assert {
            rate.figure(each).value for name in OF_JUDGE for each in (name, f"graded_{name}")
        } == {None}
        assert "n = 4," in list(rate_lines(rate))[-1]


def test_answers_on_which_people_tied_are_named_with_the_next_step(sqlite_log, judged):
    label(sqlite_log, judged, truth(judged))
    label(sqlite_log, judged[:80], {*judged} - truth(judged), "jon")
    result, rate = measure_agreement(sqlite_log.store), measure_rate(sqlite_log.store)
    command = "judgeboard queue create sample --plan rate --n 60"
    notes = codes((result.to_label.missing_note, result.to_label.next_note))
    assert notes == ["undecided_answers", "label_once_more"]
    assert "graded_alone" in codes(result.caveats)
    assert next_command(result) == command
    assert rate.headline.code == "rate_bounds"
    assert [each.values["command"] for each in rate.next] == [command]
    # They are no sample.
    assert values_of_note(rate.caveats, "undecided") == {"n": 80, "answers": 240}
    label(sqlite_log, judged[:80], truth(judged), "zoe")
    assert measure_agreement(sqlite_log.store).answers == 240


def test_an_open_queue_is_continued_before_a_second_one_is_made(sqlite_log, judged):
    sqlite_log.flag([*judged[:10], *judged[80:100]], "random_sample")
    words = ["queue", "create", "check", "--where", "rule=random_sample", "--order", "random"]
    assert run([*words, "--db", address(sqlite_log.store)]) == 0
    go_on = "judgeboard queue list check"
    assert measure_rate(sqlite_log.store).next[0].values["command"] == go_on
    label(sqlite_log, judged[:3], truth(judged))
    result = measure_agreement(sqlite_log.store)
    assert (result.headline.code, next_command(result)) == ("few_graded", go_on)
    assert measure_rate(sqlite_log.store).next[0].values["command"] == go_on
    close_queue(sqlite_log.store, "check", by="lead")
    assert (
        next_command(measure_agreement(sqlite_log.store))
        == "judgeboard queue create labels --plan rate --n 7"
    )


@pytest.mark.parametrize("answers", [4, 6])
def test_no_more_grades_are_advised_than_there_are_answers(sqlite_log, answers):
    ids = sqlite_log.answers(answers)
    sqlite_log.say_all(sqlite_log.version(), ids, label=GOOD)
    label(sqlite_log, ids[:4], ids[:1])
    result = measure_agreement(sqlite_log.store)
    assert result.headline.code == "few_graded"
    assert (next_command(result) is None) == (answers == 4)


def test_a_small_random_sample_of_all_answers_needs_no_label_of_each_part(sqlite_log, judged):
    draw_and_label(sqlite_log, [*judged[:6], *judged[80:92]], truth(judged))
    result = measure_agreement(sqlite_log.store)
    assert (result.answers, result.to_label) == (240, None)
    assert result.statistics["agreement"].low is not None


def test_the_majority_is_weighted_as_gold_labels_are(flagged_and_drawn, judged):
    def measured():
        return [
            measure_agreement(flagged_and_drawn.store, human=human)
            for human in ("gold", "majority")
        ]

    gold, majority = measured()
    assert (gold.sentence, gold.statistics) == (majority.sentence, majority.statistics)
    flagged_and_drawn.review(judged[1], "lead", label=GOOD, stage="adjudication")
    gold, majority = measured()
    assert gold.answers == majority.answers == 240
    assert gold.statistics["agreement"].value < majority.statistics["agreement"].value


@on_sqlite
def test_answers_with_a_quality_count_for_quality_whether_they_have_a_label_or_not(log):
    version = log.version()
    with_label, with_quality = log.answers(30), log.answers(10)
    log.say_all(version, with_label, groundedness=0.9, label=GOOD, quality=3)
    log.say_all(version, with_quality, quality=2)
    drawn = [*with_label[:15], *with_quality[:5]]
    log.flag(drawn, "random_sample")
    log.review_all(drawn, quality=3)
    assert measure_agreement(log.store, grade="quality").answers == 40
    assert measure_rate(log.store, grade="quality").about.counts["answers"] == 40


def test_judge_versions_are_weighted_in_slices_and_on_the_page(flagged_and_drawn):
    result = measure_agreement(flagged_and_drawn.store, by="judge_version")
    (version,) = result.slices
    with flagged_and_drawn.store.reading() as connection:
        source = PairSource(connection)
        of_page = agreement_details(source, agreement_page(source)).same_answers
    for shown in (result, of_page):
        assert shown.figure("answers", version).n == 240
        assert shown.figure("kappa", version) == result.figure("kappa")


def test_slices_count_the_labels_behind_their_figures(sqlite_log, judged):
    sqlite_log.flag(judged[70:120], "random_sample")
    label(sqlite_log, judged[:130], truth(judged))  # the last 10 are chosen, so they do not count
    result = measure_agreement(sqlite_log.store, by="query_type")
    (part,) = result.slices
    assert result.figure("n", part).n == result.figure("agreement", part).n == 120


def test_a_weighted_slice_without_an_interval_shows_its_reason_and_no_value(sqlite_log):
    log = sqlite_log
    thin, wide = (log.answers(120, query_type=name) for name in ("thin", "wide"))
    bad = [*thin[:40], *wide[:40]]
    log.say(log.version(), labels_in([*thin, *wide], bad, groundedness=0.9))
    log.flag(bad, "low_groundedness")
    log.flag([*thin[40:44], *wide[40:80]], "random_sample")
    labelled = [*thin[:44], *wide[:80]]
    label(log, labelled, labelled[::4])
    result = measure_agreement(log.store, by="query_type")
    kappa = result.figure("kappa", "thin")
    assert (kappa.value, kappa.n, result.figure("answers", "thin").n) == (None, 44, 120)
    assert {"80", "4", "10"} <= set(kappa.reason.split())
    shown, rows = (
        [row for row in each if row.slice == "wide"] for each in (shown_rows(result), result.rows)
    )
    assert shown == rows
    [thin_row, wide_row, _] = slices_table(result, ("kappa",)).rows
    assert (thin_row[-1].value, thin_row[-1].reason) == (None, kappa.reason)
    assert wide_row[-1].value is not None


def test_unknown_chances_are_said_in_the_sentence_with_what_to_label(flagged_alone):
    result = measure_agreement(flagged_alone.store)
    assert result.headline.values["on"] == "80 graded answers"
    assert codes(result.caveats)[:2] == ["graded_alone", "labelled_unevenly"]
    assert result.caveats[1].values == {"bad": 1.0, "good": 0.0}
    # More chosen answers narrow another figure.
    assert not {"wide_interval", "wide_interval_more"} & {*codes(result.caveats)}
    # 40 are enough for a first figure.
    assert "--where rule=random_sample --where graded=no --order random" in result.to_label.command
    assert result.to_label.waiting == 40


def test_labels_of_what_the_judge_calls_bad_say_in_which_direction_figures_err(sqlite_log, judged):
    sqlite_log.flag(judged[60:160], "random_sample")
    label(sqlite_log, [*judged[:40], *judged[200:212]], truth(judged))
    chosen = measure_agreement(sqlite_log.store)
    assert chosen.answers is None
    uneven = values_of_note(chosen.caveats, "labelled_unevenly")
    assert uneven == pytest.approx({"bad": 0.5, "good": 0.075})
    label(sqlite_log, [*judged[200:], *judged[80:160]], truth(judged))
    even = measure_agreement(sqlite_log.store)
    assert even.answers is None
    # As many labels of both kinds.
    assert "labelled_unevenly" not in codes(even.caveats)


def test_flags_that_were_worked_worst_first_need_a_sample_of_all_answers(worst_first):
    result = measure_agreement(worst_first.store)
    assert_graded_alone(result, "30 graded answers")
    assert result.to_label.waiting == 100


def test_the_verdict_of_a_report_is_limited_to_the_graded_answers(sqlite_log, judged):
    label(sqlite_log, judged[60:100], truth(judged))
    result = measure_agreement(sqlite_log.store)
    assert verdict(result).code == "no_verdict"
    page = report_page([result], sqlite_log.read(log_summary, [result]))
    first = page.split("Appendix", 1)[0]
    # 90 % of the graded answers is no figure of all answers.
    assert "<td>Same grade</td>" not in first
    assert next_command(result) == result.to_label.command


def test_a_figure_without_errors_among_the_labels_is_about_the_labels(sqlite_log, judged):
    sqlite_log.flag(judged[80:120], "random_sample")
    label(sqlite_log, judged[:120], judged[:80])
    result = measure_agreement(sqlite_log.store)
    # The next label may differ.
    assert result.statistics["agreement"].low is not None


def test_a_rate_with_bounds_names_the_part_without_labels(flagged_alone):
    result = measure_rate(flagged_alone.store)
    assert result.has("bounds")
    assert (result.share.value, result.share.reason is None) == (None, False)


def test_people_who_did_not_decide_leave_nothing_to_label(sqlite_log, judged):
    label(sqlite_log, judged[:220], truth(judged))
    sqlite_log.review_all(judged[220:], decision="unsure")
    result = measure_agreement(sqlite_log.store)
    assert (result.answers, result.to_label) == (240, None)
    assert "wide_interval_more" not in codes(result.caveats)


def test_the_judges_own_share_counts_groups_also_where_strata_are_joined(sqlite_log):
    shared = sqlite_log.answers_of({"group": place // 10} for place in range(200))
    verdicts = labels_where(shared, lambda place: place % 40 < 10)
    sqlite_log.say(sqlite_log.version(), verdicts)
    share = measure_rate(sqlite_log.store).figure("judge_alone")
    draw_and_label(sqlite_log, shared[10:40], [])
    assert measure_rate(sqlite_log.store).figure("judge_alone") == share


@on_sqlite
def test_an_undecided_answer_widens_no_interval_beyond_what_it_could_be(store):
    log = GradedLog(store)
    ids = log.answers(20)
    log.say(log.version(), labels_in(ids, ids[:5]))
    log.reviews(labels_in(ids[:-1], ids[:5]), "ann")
    log.review(ids[-1], "ann", label=GOOD)
    log.review(ids[-1], "bob", label=BAD)
    app, these = (measure_rate(log.store, target=target) for target in ("app", "these"))
    assert 0.95 <= these.figure("agreement").low < 1
    assert these.figure("kappa").low > 0.8
    # If the judge were wrong on it: 19 of 20, Wilson from 76 %.
    assert 0.76 <= app.figure("agreement").low <= 0.95
