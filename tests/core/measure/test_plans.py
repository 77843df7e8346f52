"""How many labels a plan asks for, from the labels that are there."""

import numpy as np
import pytest
from sqlalchemy import event

from engines import on_sqlite
from graded_log import BAD, GOOD, labels_where, read
from judgeboard.errors import BadInput
from judgeboard.measure import samples
from judgeboard.measure.agreement import measure_agreement
from judgeboard.measure.label_plans import (
    PlanGoal,
    PlanNeed,
    plan_number,
    plan_result,
    reach_words,
    stratum_title,
)
from judgeboard.measure.plans import draw_plan, plan_labels, plan_versions, plans_for_rate
from judgeboard.measure.rates import measure_rate
from judgeboard.measure.samples import StratumName, judging_version
from judgeboard.measure.thresholds import Goal, measure_threshold
from judgeboard.people.roster import ensure_reviewer
from judgeboard.reviews.queues import create_queue
from judgeboard.settings.sections import PLANNED
from judgeboard.stats.rates import summed
from judgeboard.store.filters import RowFilter
from judgeboard.store.hidden_rows import Seen
from judgeboard.store.queues import new_queue
from queue_case import CONFIRM, DISMISS, queue_case
from result_parts import codes, values_of_note

JUDGE = "track_b_modernbert"


LABELS = {"plan_label", "plan_label_at_least"}


def notes_of(plan):
    return codes((plan.headline, *plan.caveats, *plan.next))


def planned(store, reach, question="rate", *judges, **chosen):
    versions = read(store, plan_versions, judges)
    return read(store, plan_labels, reach, question, versions=versions, **chosen)[0]


@pytest.mark.shared
class TestRagtruth:
    def test_a_rate_needs_fewer_labels_with_a_judge(self, sampled_ragtruth):
        plan = planned(sampled_ragtruth, 0.05, "rate", JUDGE, target="these")
        assert (plan_number(plan, "answers"), plan_number(plan, "labelled")) == (1344, 193)
        assert plan.figure("bad_share").value == pytest.approx(0.3788, abs=0.01)
        assert plan.figure("by_lot").value == pytest.approx(282, abs=5)
        # 193 labels have the interval [0.3295, 0.4291].
        assert 193 <= plan_number(plan, "labels") <= 200
        narrow = planned(sampled_ragtruth, 0.03, "rate", JUDGE, target="these")
        assert 193 < plan_number(narrow, "labels") < narrow.figure("by_lot").value
        assert narrow.figure("shows").value <= 0.03
        more = [narrow.figure("more", each).value for each in narrow.slices]
        assert sum(more) == plan_number(narrow)

    def test_a_judge_that_knows_nothing_saves_nothing(self, sampled_ragtruth):
        plan = planned(sampled_ragtruth, 0.05, "rate", "baseline_nli")
        assert plan.figure("explained").value < 0.05
        assert "plan_judge_saves_nothing" in notes_of(plan)

    def test_two_judge_versions_need_labels_where_they_differ(self, sampled_ragtruth):
        plan, impossible, far = (
            planned(sampled_ragtruth, reach, "judges", "approach_1_modernbert", JUDGE)
            for reach in (0.0409, 0.5, 0.02)
        )
        by_lot, labels = plan.figure("by_lot").value, plan_number(plan, "labels")
        assert by_lot == pytest.approx(833, rel=0.15)
        assert labels == pytest.approx(0.1793 * by_lot, abs=1)
        assert 0 < plan_number(plan, "labelled") < labels
        assert impossible.headline.code == "plan_versions_alike"
        assert (far.headline.code, plan_number(far, "labels")) == ("plan_too_few", 241)
        assert plan_number(far, "by_lot") > 2_344
        named = " ".join(f"--judge-version '{each}'" for each in far.about.judges)
        command = f"judgeboard queue create judges --plan judges --n {plan_number(far)} {named}"
        assert values_of_note(far.next, "plan_queue")["command"] == command

    def test_each_query_type_has_its_own_plan(self, sampled_ragtruth):
        versions = read(sampled_ragtruth, plan_versions, [JUDGE])
        plans = read(sampled_ragtruth, plan_labels, 0.05, versions=versions, by_query_type=True)
        types = [plan.about.where.get("query_type") for plan in plans]
        assert types == [None, "Data2txt", "QA", "Summary"]
        of_all, *of_types = (plan_number(plan, "answers") for plan in plans)
        assert sum(of_types) == of_all
        assert plans[1].figure("bad_share").value == pytest.approx(0.66, abs=0.05)


def judged(log, scores):
    ids = log.answers(len(scores))
    log.say_scores(log.version(), ids, scores)
    return ids


@on_sqlite
def test_without_labels_the_plan_assumes_the_worst(log):
    judged(log, [0.9] * 60)
    plan = planned(log.store, 0.1)
    assert (plan_number(plan, "labels"), plan_number(plan, "labelled")) == (60, 0)
    assert {plan.figure(name).value for name in ("bad_share", "minutes")} == {None}
    assert plan.headline.code == "plan_too_few"
    these = planned(log.store, 0.1, target="these")
    assert 30 < plan_number(these, "labels") < 60
    assert "plan_assumes_worst" in notes_of(these)


@on_sqlite
def test_more_labels_to_choose_from_are_more_precise(log):
    judged(log, [0.1] * 30 + [0.9] * 220)
    version = log.read(judging_version)
    plans = log.read(plans_for_rate, version)
    exact = log.read(plans_for_rate, version, target="these")[-1]
    numbers = [10, 20, 30, 50, 75, *range(100, 201, 25), 250]
    assert [plan_number(plan) for plan in plans] == numbers
    reaches = [plan.figure("reach").value for plan in plans]
    assert reaches == sorted(reaches, reverse=True)
    assert plan_number(planned(log.store, reaches[5])) == 100
    assert (exact.headline.code, plan_number(exact)) == ("plan_label", 250)
    assert "±0 percentage points" in exact.sentence


@on_sqlite
def test_labels_of_flagged_answers_say_nothing_about_the_others(log):
    ids = judged(log, [0.1] * 40 + [0.9] * 100)
    log.review_all(ids[:40], label=BAD)
    plan = planned(log.store, 0.1, target="these")
    assert plan_number(plan, "labelled") == 40
    assert 5 < plan_number(plan) <= 100
    assert plan.figure("shows").value <= 0.1
    # The flagged answers, and the others.
    parts = sorted(plan.slices, key=lambda each: plan.figure("answers", each).value)
    assert [plan.figure("more", each).value for each in parts] == [0, plan_number(plan)]
    assert "plan_has_gap" in notes_of(plan)
    # Labels of one verdict do not tell what the judge explains.
    assert "plan_judge_saves_nothing" not in notes_of(plan)
    kappa = planned(log.store, 0.3, "kappa")
    # Labels of flagged answers alone give no kappa of all answers.
    assert plan_number(kappa) > 30


@on_sqlite
def test_minutes_come_from_the_time_of_reviews(log):
    ids = judged(log, [0.9] * 60)
    log.reviews({ids[0]: {"label": GOOD, "seconds": 20}, ids[1]: {"label": GOOD, "seconds": 40}})
    plan = planned(log.store, 0.1, target="these")
    assert plan.figure("minutes").value == plan_number(plan) / 2


@on_sqlite
def test_without_a_judge_labels_are_by_lot(log):
    log.answers(1000)
    plan = planned(log.store, 0.1)
    labels = plan_number(plan, "labels")
    assert labels == pytest.approx(96, abs=1)
    assert labels == pytest.approx(plan.figure("by_lot").value, abs=1)
    assert "plan_without_judge" in notes_of(plan)
    with pytest.raises(BadInput, match="needs a judge"):
        planned(log.store, 0.1, "kappa")


@on_sqlite
def test_a_plan_that_cannot_be_is_refused(log):
    with pytest.raises(BadInput, match="needs answers"):
        planned(log.store, 0.1)
    judged(log, [0.9])
    for reach, question, reason in (
        (1.5, "rate", "below 1"),
        (0.1, "judges", "twice"),
        (0.1, "x", "a plan is for"),
    ):
        with pytest.raises(BadInput, match=reason):
            planned(log.store, reach, question)


def label_next(case, labels):
    """Label the next answers of a queue: the first 40 answers of the log are bad."""
    for _ in range(labels):
        leased = case.lease(case.mara)
        case.say(leased, case.mara, CONFIRM if leased.response_id <= 40 else DISMISS)


def test_a_planned_queue_says_how_many_of_its_answers_are_labelled_again(sqlite_log):
    ids = judged(sqlite_log, [0.1] * 10 + [0.9] * 20)
    sqlite_log.review_all(ids[3:28], label=GOOD)  # chosen by people, so these labels do not count
    lead = ensure_reviewer(sqlite_log.store, "page", "Lena")
    plan = sqlite_log.read(draw_plan, RowFilter())
    rules = new_queue("q", max_items=30, **PLANNED.given())
    created = create_queue(sqlite_log.store, rules, by="cli:lena", assigned=(lead,), plan=plan)
    assert (created.labelled, created.joined) == (25, 30)


def test_answers_hidden_from_a_blind_reviewer_leave_no_figure_of_all_answers(store):
    case = queue_case(store)
    case.flagged(*([0.1] * 40), *([0.9] * 160))
    hidden = values_of_note(planned(case.store, 0.1, target="these").next, "plan_hidden")
    assert hidden["few"] == 10
    small = planned(case.store, 0.4, target="these")
    assert 0 < plan_number(small) <= 10
    assert "plan_hidden" not in notes_of(small)
    plan = case.read(draw_plan, RowFilter())
    rules = new_queue("q", max_items=60, **PLANNED.given())
    create_queue(case.store, rules, by=case.lead, assigned=case.people, plan=plan, now=case.now)
    label_next(case, 30)
    everybody, mara = case.store, Seen(case.store, case.mara.id)
    assert measure_rate(everybody, target="these").share.value is not None
    result = measure_rate(mara, target="these")
    assert (result.share.value, result.headline.code) == (None, "rate_unknown")
    assert not result.has("bounds")
    assert [(each.picked, each.N) for each in result.strata if not each.n] == [("hidden", 30)]
    caveats = measure_agreement(mara).caveats
    assert values_of_note(caveats, "hidden_until_reviewed") == {"n": 30}
    assert read(mara, measure_threshold, Goal("recall", 0.8))[0].next[0].code == "review_hidden"
    for question in ("rate", "kappa"):
        with pytest.raises(BadInput, match=r"30 .*200"):
            planned(mara, 0.1, question)
    label_next(case, 22)
    few = measure_rate(mara, target="these")
    # 8 of 200 hidden answers hardly move a figure.
    assert few.share.value is not None
    assert (few.about.counts["answers"], few.about.left_out) == (192, {"hidden": 8})
    agreed = measure_agreement(mara)
    assert (agreed.answers, agreed.about.left_out["hidden"]) == (192, 8)
    assert "hidden" not in measure_rate(everybody, target="these").about.left_out


@on_sqlite
def test_the_open_answers_of_the_sample_come_before_the_plan(flagged):
    """People worked the flags worst first and stopped: the sampled ones count when none of them is open."""
    log, ids = flagged
    log.flag([ids[each] for each in (*FLAGGED[:30], *OTHERS[:60])], "random_sample")
    label(log, ids, [*FLAGGED[20:100], *OTHERS[:60]])
    need = measure_rate(log.store).to_label
    assert (need.drawn, need.waiting, need.uncounted) == (30, 20, 10)
    for question in ("rate", "kappa"):
        plan = planned(log.store, 0.1, question)
        assert plan.headline.code == "plan_sample_first"
        assert plan.headline.values["waiting"] == need.waiting
        assert plan.next[0].values["command"] == need.command
    assert values_of_note(planned(log.store, 0.1).caveats, "plan_extras")["n"] == 80
    label(log, ids, FLAGGED[:20])
    assert planned(log.store, 0.1).headline.code != "plan_sample_first"


def test_a_stratum_of_joined_verdicts_is_not_named_like_all_of_them():
    parts = [
        StratumName(picked, verdict, False)
        for picked, verdict in (("no", None), ("no", "bad"), ("yes", None))
    ]
    titles = [stratum_title(each, parts) for each in parts]
    assert ["good" in title for title in titles] == [True, False, False]
    assert ["bad" in title for title in titles] == [False, True, False]


def test_the_work_for_all_query_types_is_that_for_the_log_and_not_for_each_type_again(
    sqlite_log, monkeypatch
):
    types = 40
    for number in range(types):
        sqlite_log.answers(3, query_type=f"type {number}")
    rows = []

    def counted(strata, scores, groups, *others):
        rows.append(max(len(strata), int(groups.max(initial=-1)) + 1))
        return summed(strata, scores, groups, *others)

    monkeypatch.setattr(samples, "summed", counted)

    def planned_with(*, by_query_type):
        """The plans and the statements sent for them."""
        statements = []
        with sqlite_log.store.reading() as connection:
            connection.begin()
            event.listen(
                connection, "before_cursor_execute", lambda *_sent: statements.append(None)
            )
            return len(plan_labels(connection, 0.1, by_query_type=by_query_type)), len(statements)

    planned_with(by_query_type=False)  # the answers are kept from now on
    rows.clear()
    one, statements = planned_with(by_query_type=False)
    assert one == 1
    assert planned_with(by_query_type=True) == (1 + types, statements)
    assert sum(rows) <= 3 * (3 * types)


@pytest.mark.parametrize(
    ("question", "shows", "code"),
    [
        ("rate", 0.98, "plan_shows_nothing"),
        ("kappa", 0.5, "plan_shows_nothing"),
        ("rate", 0.2, "plan_too_few"),
        ("kappa", 0.2, "plan_too_few"),
    ],
)
def test_labels_that_would_show_nothing_have_one_advice(question, shows, code):
    goal = PlanGoal(question, 0.05, judges=("rag v1",), made_prompt={"rag v1": 2})
    plan = plan_result(goal, PlanNeed(answers=1, labelled=0, more=1, shows=shows), extras=3)
    assert plan.headline.code == code
    assert (notes_of(plan) == [code, "plan_prompt"]) == (code == "plan_shows_nothing")
    assert "±98" not in plan.sentence


CALLED_BAD = np.array([(place // 6 % 3 == 0) != (place % 7 == 0) for place in range(1_200)])
"""What a judge says of 200 groups of six answers: those of a group have a correlation of about 0.4."""
FLAGGED, OTHERS = (
    np.flatnonzero(CALLED_BAD),
    np.random.default_rng(5).permutation(np.flatnonzero(~CALLED_BAD)),
)
IS_BAD = np.random.default_rng(2).random(1_200) < np.where(CALLED_BAD, 0.8, 0.18)


@pytest.fixture
def flagged(graded_once):
    """A log in which a rule flags what the judge calls bad, and its answers."""
    return graded_once("flagged where a judge says bad", flag_what_is_called_bad)


def flag_what_is_called_bad(log):
    ids = log.answers_of({"group": place // 6} for place in range(1_200))
    log.say(log.version(), labels_where(ids, lambda place: CALLED_BAD[place]))
    log.flag([ids[each] for each in FLAGGED], "low_groundedness")
    return ids


def label(log, ids, places):
    log.reviews({ids[each]: {"label": BAD if IS_BAD[each] else GOOD} for each in places})


def sample(log, ids, places):
    log.flag([ids[each] for each in places], "random_sample")
    label(log, ids, places)


@on_sqlite
def test_labels_of_one_verdict_do_not_tell_how_much_alike_answers_of_a_group_are(flagged):
    log, ids = flagged
    sample(log, ids, OTHERS[:47])
    plan = planned(log.store, 0.06)
    assert plan.headline.code in LABELS
    assert {"plan_has_gap", "plan_assumes_alike"} <= {*notes_of(plan)}
    correlation = plan.figure("correlation")
    assert correlation.reason == "assumed"
    # That of the verdicts, which is not divided by what they do not explain.
    assert 0.15 <= correlation.value < 0.5


@on_sqlite
def test_verdicts_that_explain_little_do_not_make_labels_seem_alike(flagged):
    log, ids = flagged
    sample(log, ids, [*OTHERS[:40], *FLAGGED[::23]])
    plan = planned(log.store, 0.06)
    assert "plan_has_gap" not in notes_of(plan)
    correlation = plan.figure("correlation")
    assert correlation.reason == "verdicts"
    # The errors of a judge are alike in a group too.
    assert 0.15 <= correlation.value < 0.5


def half_width(figure):
    return (figure.high - figure.low) / 2


@on_sqlite
@pytest.mark.parametrize(("question", "sampled"), [("rate", 60), ("kappa", 200)])
def test_a_figure_that_is_narrow_enough_needs_no_labels(flagged, question, sampled):
    log, ids = flagged
    label(log, ids, FLAGGED)
    sample(log, ids, OTHERS[:sampled])
    kappa = measure_agreement(log.store).statistics["kappa"]
    half = half_width(kappa if question == "kappa" else measure_rate(log.store).share)
    plan = planned(log.store, half + 0.0005, question)
    assert (plan_number(plan), plan.headline.code) == (0, "plan_enough")
    assert reach_words(half, kappa=question == "kappa", sign="±") in plan.sentence
    wider = planned(log.store, half - 0.0015, question)
    assert plan_number(wider) > 0
    assert "plan_stop" in notes_of(wider)


@on_sqlite
@pytest.mark.parametrize("sampled", [14, 40])
def test_a_plan_for_kappa_and_the_note_of_agreement_name_the_same_number(flagged, sampled):
    log, ids = flagged
    label(log, ids, FLAGGED)
    sample(log, ids, OTHERS[:sampled])
    agreement = measure_agreement(log.store)
    assert half_width(agreement.statistics["kappa"]) > 0.1
    plan = planned(log.store, 0.1, "kappa")
    wide = values_of_note(agreement.caveats, "wide_interval_more")
    assert wide == {"more": plan_number(plan)}
    few = IS_BAD[OTHERS[:sampled]].sum() < 5
    assert few == (sampled == 14)
    assert (plan.headline.code == "plan_label_at_least") == few
    sample(log, ids, OTHERS[sampled : sampled + plan_number(plan)])
    kappa = measure_agreement(log.store).statistics["kappa"]
    assert half_width(kappa) == pytest.approx(0.1, abs=0.02)


@on_sqlite
def test_with_few_labels_fewer_more_are_needed_for_these_answers_than_for_the_app(log):
    log.say_all(log.version(), log.answers(60), label=GOOD)
    app, these = (planned(log.store, 0.07, target=target) for target in ("app", "these"))
    assert (app.headline.code, plan_number(app)) == ("plan_too_few", 60)
    assert these.headline.code in LABELS
    assert 0 < plan_number(these) < 60


@on_sqlite
def test_labels_that_are_all_alike_are_no_reason_to_stop(flagged):
    log, ids = flagged[0], flagged[1][:400]
    log.flag(ids[:100], "random_sample")
    log.review_all(ids[:100], label=GOOD)
    log.say_all(log.version("constant"), ids, label=GOOD)
    plan = planned(log.store, 0.01, "kappa", "constant")
    assert plan_number(plan) > 0
    assert plan.figure("shows").value > 0
