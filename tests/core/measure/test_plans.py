"""How many labels a plan asks for, from the labels that are there."""

import gzip
import json
import shutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import event, insert

from engines import on_sqlite
from graded_log import BAD, GOOD, NOON, GradedLog
from judgeboard.errors import BadInput
from judgeboard.flags.rules import sampling_number
from judgeboard.imports.importing import import_file
from judgeboard.measure import samples
from judgeboard.measure.agreement import measure_agreement
from judgeboard.measure.label_plans import (
    LabelPlan,
    PlannedStratum,
    Question,
    reach_words,
    sentences_of,
    stratum_title,
)
from judgeboard.measure.plans import draw_plan, plan_labels, plan_versions, plans_for_rate
from judgeboard.measure.rates import measure_rate
from judgeboard.measure.samples import judging_version
from judgeboard.measure.thresholds import Goal, measure_threshold
from judgeboard.people.roster import change_settings, ensure_reviewer, raise_flags
from judgeboard.reports.agreement import in_all_title
from judgeboard.reviews.presets import PLANNED
from judgeboard.reviews.queues import create_queue
from judgeboard.stats.arrays import FloatArray, IntArray
from judgeboard.stats.rates import summed
from judgeboard.store.engine import Store
from judgeboard.store.filters import RowFilter
from judgeboard.store.hidden_rows import Seen
from judgeboard.store.opening import open_store
from judgeboard.store.queues import QueueRules
from judgeboard.store.tables import FLAG
from queue_case import CONFIRM, DISMISS, QueueCase, queue_case
from recordings import records

JUDGE = "track_b_modernbert"


@pytest.fixture(scope="module")
def drawn_ragtruth(
    shared: Path, unlabelled_ragtruth_file: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Store]:
    """RAGTruth with labels of people only on the answers that a random share of 0.15 draws."""
    folder = tmp_path_factory.mktemp("drawn")
    store = open_store(shutil.copyfile(unlabelled_ragtruth_file, folder / "drawn.db"))
    change_settings(store, {"random_share": 0.15, "low_groundedness": 0.0}, "test")
    raise_flags(store)
    labelled = folder / "human.jsonl.gz"
    rows = [
        row
        for row in records(shared / "data" / "ragtruth.human.jsonl.gz")
        if sampling_number("judgeboard", "default", str(row["response_id"])) < 0.15
    ]
    with gzip.open(labelled, "wt") as file:
        file.writelines(f"{json.dumps(row)}\n" for row in rows)
    import_file(store, labelled, kind="grades", rejected=folder / "rejected.jsonl")
    yield store
    store.close()


def planned(store: Store | Seen, reach: float, question: str = "rate", *judges: str, **chosen) -> LabelPlan:
    with store.reading() as connection:
        return plan_labels(connection, reach, question, versions=plan_versions(connection, judges), **chosen)[0]


@pytest.mark.shared
class TestRagtruth:
    def test_a_rate_needs_fewer_labels_with_a_judge(self, drawn_ragtruth: Store) -> None:
        plan = planned(drawn_ragtruth, 0.05, "rate", JUDGE, target="these")
        assert (plan.answers, plan.labelled) == (1344, 193)
        assert plan.share == pytest.approx(0.3788, abs=0.01)
        assert plan.by_lot == pytest.approx(282, abs=5)
        assert 193 <= plan.labels <= 200, "193 labels have the interval [0.3295, 0.4291]"
        narrow = planned(drawn_ragtruth, 0.03, "rate", JUDGE, target="these")
        assert 193 < narrow.labels < narrow.by_lot
        assert narrow.shows <= 0.03
        assert sum(stratum.labels for stratum in narrow.strata) == narrow.more

    def test_the_app_needs_more_labels_than_these_answers(self, drawn_ragtruth: Store) -> None:
        these, app = (planned(drawn_ragtruth, 0.04, "rate", JUDGE, target=target) for target in ("these", "app"))
        assert app.labels > these.labels
        assert app.design_effect > these.design_effect == 1

    def test_too_few_answers_say_what_they_show(self, drawn_ragtruth: Store) -> None:
        plan = planned(drawn_ragtruth, 0.01, "rate", JUDGE)
        assert not plan.enough
        assert plan.labels == 1344
        assert plan.shows > 0.01
        assert "too few" in plan.sentences[0]

    def test_a_judge_that_knows_nothing_saves_nothing(self, drawn_ragtruth: Store) -> None:
        plan = planned(drawn_ragtruth, 0.05, "rate", "baseline_nli")
        assert plan.explained < 0.05
        assert any("saves nothing" in sentence for sentence in plan.sentences)

    def test_kappa(self, drawn_ragtruth: Store) -> None:
        plan = planned(drawn_ragtruth, 0.1, "kappa", JUDGE)
        assert 230 < plan.labels < 400

    def test_two_judge_versions_need_labels_where_they_differ(self, drawn_ragtruth: Store) -> None:
        plan = planned(drawn_ragtruth, 0.0409, "judges", "approach_1_modernbert", JUDGE)
        assert plan.by_lot == pytest.approx(833, rel=0.15)
        assert plan.labels == pytest.approx(0.1793 * plan.by_lot, abs=1)
        assert 0 < plan.labelled < plan.labels
        impossible = planned(drawn_ragtruth, 0.5, "judges", "approach_1_modernbert", JUDGE)
        assert not impossible.enough
        far = planned(drawn_ragtruth, 0.02, "judges", "approach_1_modernbert", JUDGE)
        assert (far.enough, far.by_lot > 2_344, far.labels) == (False, True, 241)
        assert f"about {far.by_lot:,} answers that both versions judged are needed" in far.sentences[0]
        assert "there are only 1,344." in far.sentences[0]
        named = f"--judge-version '{far.judges[0]}' --judge-version '{far.judges[1]}'"
        command = f"judgeboard queue create judges --plan judges --n {far.more} {named}"
        assert f"A queue of the other {far.more} answers on which they differ (`{command}`)" in far.sentences[0]
        assert "label only these" not in " ".join(far.sentences)

    def test_each_query_type_has_its_own_plan(self, drawn_ragtruth: Store) -> None:
        with drawn_ragtruth.reading() as connection:
            versions = plan_versions(connection, [JUDGE])
            plans = plan_labels(connection, 0.05, versions=versions, by_query_type=True)
        assert [plan.name for plan in plans] == [None, "Data2txt", "QA", "Summary"]
        assert sum(plan.answers for plan in plans[1:]) == plans[0].answers
        assert plans[1].share == pytest.approx(0.66, abs=0.05)


def judged(log: GradedLog, scores: Iterable[float]) -> list[int]:
    scores = list(scores)
    ids = log.answers(len(scores))
    version = log.version()
    log.say(version, {id_: {"groundedness": score} for id_, score in zip(ids, scores, strict=True)})
    return ids


@on_sqlite
def test_without_labels_the_plan_assumes_the_worst(log: GradedLog) -> None:
    judged(log, [0.9] * 60)
    plan = planned(log.store, 0.1)
    assert (plan.labels, plan.labelled, plan.share, plan.minutes) == (60, 0, None, None)
    assert "Minutes are not available, because no review has a measured time." in plan.sentences
    assert not plan.enough
    these = planned(log.store, 0.1, target="these")
    assert 30 < these.labels < 60
    assert "the plan assumes the worst" in " ".join(these.sentences)


@on_sqlite
def test_more_labels_to_choose_from_are_more_precise(log: GradedLog) -> None:
    judged(log, [0.1] * 30 + [0.9] * 220)
    with log.store.reading() as connection:
        plans = plans_for_rate(connection, judging_version(connection))
        exact = plans_for_rate(connection, judging_version(connection), target="these")[-1]
    assert [plan.more for plan in plans] == [10, 20, 30, 50, 75, 100, 125, 150, 175, 200, 250]
    assert [plan.reach for plan in plans] == sorted((plan.reach for plan in plans), reverse=True)
    assert planned(log.store, plans[5].reach).more == 100
    assert exact.sentences[0].startswith("Label 250 answers.")
    assert exact.sentences[0].endswith("the share of bad answers to ±0 percentage points.")


@on_sqlite
def test_labels_of_flagged_answers_say_nothing_about_the_others(log: GradedLog) -> None:
    ids = judged(log, [0.1] * 40 + [0.9] * 100)
    log.review_all(ids[:40], label=BAD)
    plan = planned(log.store, 0.1, target="these")
    assert plan.labelled == 40
    assert 5 < plan.more <= 100
    assert plan.shows <= 0.1
    of_flagged, of_others = sorted(plan.strata, key=lambda stratum: stratum.answers)
    assert (of_flagged.labels, of_others.labels) == (0, plan.more)
    told = " ".join(plan.sentences)
    assert "has no label that counts, and there the plan uses the judge's scores" in told
    assert "explains" not in told, "labels of one verdict do not tell what the judge explains"
    kappa = planned(log.store, 0.3, "kappa")
    assert kappa.more > 30, "labels of flagged answers alone give no kappa of all answers"


@on_sqlite
def test_minutes_come_from_the_time_of_reviews(log: GradedLog) -> None:
    ids = judged(log, [0.9] * 60)
    log.reviews({ids[0]: {"label": GOOD, "seconds": 20}, ids[1]: {"label": GOOD, "seconds": 40}})
    plan = planned(log.store, 0.1, target="these")
    assert plan.seconds_per_review == 30
    assert plan.minutes == plan.more / 2
    assert "Minutes are not available" not in " ".join(plan.sentences)


@on_sqlite
def test_without_a_judge_labels_are_by_lot(log: GradedLog) -> None:
    log.answers(1000)
    plan = planned(log.store, 0.1)
    assert plan.labels == pytest.approx(96, abs=1)
    assert plan.labels == pytest.approx(plan.by_lot, abs=1)
    assert any("no judge" in sentence for sentence in plan.sentences)
    with pytest.raises(BadInput, match="needs a judge"):
        planned(log.store, 0.1, "kappa")


@on_sqlite
def test_a_plan_that_cannot_be_is_refused(log: GradedLog) -> None:
    with pytest.raises(BadInput, match="needs answers"):
        planned(log.store, 0.1)
    judged(log, [0.9])
    for reach, question, reason in ((1.5, "rate", "below 1"), (0.1, "judges", "twice"), (0.1, "x", "a plan is for")):
        with pytest.raises(BadInput, match=reason):
            planned(log.store, reach, question)


STOPS_EARLY = "After each label of the planned queue, this command says whether you may stop."


def labelled_queue(case: QueueCase, labels: int, bad: Callable[[int], bool]) -> None:
    """Draw a planned queue of 60 answers and label the first ones."""
    with case.store.reading() as connection:
        plan = draw_plan(connection, RowFilter())
    create_queue(
        case.store,
        QueueRules("q", max_items=60, **PLANNED),
        by=case.lead,
        assigned=case.people,
        plan=plan,
        now=case.now,
    )
    for _ in range(labels):
        leased = case.lease(case.mara)
        case.say(leased, case.mara, CONFIRM if bad(leased.response_id) else DISMISS)


def test_a_planned_queue_says_how_many_of_its_answers_are_labelled_again(sqlite_log: GradedLog) -> None:
    ids = judged(sqlite_log, [0.1] * 10 + [0.9] * 20)
    sqlite_log.review_all(ids[3:28], label=GOOD)  # chosen by people, so these labels do not count
    lead = ensure_reviewer(sqlite_log.store, "page", "Lena")
    with sqlite_log.store.reading() as connection:
        plan = draw_plan(connection, RowFilter())
    created = create_queue(
        sqlite_log.store, QueueRules("q", max_items=30, **PLANNED), by="cli:lena", assigned=(lead,), plan=plan
    )
    assert created.again_sentence == (
        "25 of the 30 have a label already; it does not count, so they are labelled again."
    )


def test_answers_hidden_from_a_blind_reviewer_leave_no_figure_of_all_answers(store: Store) -> None:
    case = queue_case(store)
    case.flagged(*([0.1] * 40), *([0.9] * 160))
    words = " ".join(planned(case.store, 0.1, target="these").sentences)
    hidden = "do not see the share of bad answers until at most 10 answers (5 % of all 200) are left for them, "
    assert f"Reviewers of the planned queue {hidden}" in words
    small = planned(case.store, 0.4, target="these")
    assert 0 < small.more <= 10
    assert "Reviewers" not in " ".join(small.sentences)
    labelled_queue(case, 30, lambda id_: id_ <= 40)
    everybody, mara = case.store, Seen(case.store, case.mara.id)
    assert measure_rate(everybody, target="these").value is not None
    result = measure_rate(mara, target="these")
    hidden = "30 of the 200 answers are hidden from you until you have reviewed them blind. Review them first, or ask"
    assert (result.value, result.bounds) == (None, None)
    assert f"The share of bad answers is not available: {hidden}" in result.sentence
    assert [(each.picked, each.N, each.n) for each in result.strata if not each.n] == [("hidden", 30, 0)]
    assert measure_agreement(mara).sentence.startswith(f"There is no figure of all answers yet: {hidden}")
    with mara.reading() as connection:
        assert hidden in measure_threshold(connection, Goal("recall", 0.8)).thresholds[0].sentence
    for question in ("rate", "kappa"):
        with pytest.raises(BadInput, match="a plan counts all answers, but 30 of the 200 answers are hidden from you"):
            planned(mara, 0.1, question)
    for _ in range(22):
        leased = case.lease(case.mara)
        case.say(leased, case.mara, CONFIRM if leased.response_id <= 40 else DISMISS)
    few = measure_rate(mara, target="these")
    assert few.value is not None, "8 of 200 hidden answers hardly move a figure"
    assert " % of these 192 answers that you may see are bad" in few.sentence
    assert few.left_out_sentence == "Left out: hidden from you until you have reviewed them blind (8)."
    agreed = measure_agreement(mara)
    assert agreed.sentence.startswith("In all 192 answers with a usable verdict that you may see (8 are hidden), ")
    assert in_all_title(agreed) == "In all 192 answers with a usable verdict that you may see (8 are hidden)"
    assert "that you may see" not in measure_rate(everybody, target="these").sentence


@on_sqlite
def test_the_open_answers_of_the_sample_come_before_the_plan(flagged: tuple[GradedLog, list[int]]) -> None:
    """People worked the flags worst first and stopped: the sampled ones count when none of them is open."""
    log, ids = flagged
    flag(log, [ids[each] for each in [*FLAGGED[:30], *OTHERS[:60]]], "random_sample")
    label(log, ids, np.concatenate([FLAGGED[20:100], OTHERS[:60]]))
    need = measure_rate(log.store).to_label
    assert (need.drawn, need.waiting, need.uncounted) == (30, 20, 10)
    for question in ("rate", "kappa"):
        plan = planned(log.store, 0.1, question)
        assert (plan.to_label.command, plan.to_label.waiting) == (need.command, need.waiting)
        assert plan.sentences[0] == (
            "First label the 20 open answers of the random sample, then plan again. 10 of the 30 sampled flagged "
            "answers have a label, but people labelled them first because of the worst scores. They count once the "
            "other 20 are labelled."
        )
        assert "No more labels" not in " ".join(plan.sentences)
    told = " ".join(planned(log.store, 0.1).sentences)
    assert "(60 labels count already)" in told
    assert "The plan is made anew after this step, and may then need more labels. As of now, it is to label " in told
    assert "will probably show" not in told
    assert "80 other labels do not count, because they are not known to be a random sample." in told
    label(log, ids, FLAGGED[:20])
    assert planned(log.store, 0.1).to_label is None


def test_a_stratum_of_joined_verdicts_is_not_named_like_all_of_them() -> None:
    joined, bad, flagged = (
        PlannedStratum(picked, verdict, 100, 0, 10, 0.1)
        for picked, verdict in (("no", None), ("no", "bad"), ("yes", None))
    )
    titles = [stratum_title(each, (joined, bad, flagged)) for each in (joined, bad, flagged)]
    assert titles == ["not flagged, judged good or no usable verdict", "not flagged, judged bad", "flagged"]


def test_the_work_for_all_query_types_is_that_for_the_log_and_not_for_each_type_again(
    sqlite_log: GradedLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    types = 40
    for number in range(types):
        sqlite_log.answers(3, query_type=f"type {number}")
    rows = []

    def counted(strata: IntArray, scores: FloatArray, groups: IntArray, *others: Any) -> Any:
        rows.append(max(len(strata), int(groups.max()) + 1))
        return summed(strata, scores, groups, *others)

    monkeypatch.setattr(samples, "summed", counted)

    def planned_with(*, by_query_type: bool) -> tuple[int, int]:
        """The plans and the statements sent for them."""
        statements: list[None] = []
        with sqlite_log.store.reading() as connection:
            connection.begin()
            event.listen(connection, "before_cursor_execute", lambda *_sent: statements.append(None))
            return len(plan_labels(connection, 0.1, by_query_type=by_query_type)), len(statements)

    planned_with(by_query_type=False)  # the answers are kept from now on
    rows.clear()
    (one, alone), (several, together) = planned_with(by_query_type=False), planned_with(by_query_type=True)
    assert (one, several) == (1, 1 + types)
    assert together == alone
    assert sum(rows) == 3 * (3 * types)


@pytest.mark.parametrize(
    ("question", "shows", "words"),
    [
        ("rate", 0.98, "So few labels show nothing."),
        ("kappa", 0.5, "So few labels show nothing."),
        ("versions", 0.7, "So few labels show nothing."),
        ("rate", 0.2, "Labelling all shows ±20 percentage points."),
        ("kappa", 0.2, "Labelling all will probably show about ±0.2."),
        ("versions", 0.2, "Labelling all shows a difference of 20 percentage points."),
    ],
)
def test_labels_that_would_show_nothing_have_no_figure(question: Question, shows: float, words: str) -> None:
    plan = LabelPlan(question, 0.05, "app", ("rag v1",), answers=1, labels=1, more=1, enough=False, shows=shows)
    sentence, *_ = sentences_of(plan)
    assert words in sentence
    assert ("Plan again" in " ".join(sentences_of(plan))) == (not plan.shows_nothing)
    probably = "probably " if question == "kappa" else ""
    assert ("±98" in sentence, f"1 answer is {probably}too few" in sentence) == (False, True)


@pytest.mark.parametrize(
    ("plan", "words"),
    [
        (
            LabelPlan("rate", 0.05, "app", (), labels=2, labelled=1, more=1),
            "Label 1 more answer (1 label counts already). All 2 labels will probably show the share of bad answers ",
        ),
        (LabelPlan("rate", 0.05, "app", ("rag v1",), more=1, explained=0.5, by_lot=1), "rag v1, 1 label of a random"),
        (
            LabelPlan("kappa", 0.05, "app", ("rag v1",), labels=50, labelled=40, more=10),
            "All 50 labels will probably show the kappa of the judge with people to about ±0.05.",
        ),
    ],
)
def test_one_answer_or_label_is_not_several(plan: LabelPlan, words: str) -> None:
    assert words in " ".join(sentences_of(plan))


CALLED_BAD = np.array([(place // 6 % 3 == 0) != (place % 7 == 0) for place in range(1_200)])
"""What a judge says of 200 groups of six answers: those of a group have a correlation of about 0.4."""
FLAGGED, OTHERS = np.flatnonzero(CALLED_BAD), np.random.default_rng(5).permutation(np.flatnonzero(~CALLED_BAD))
IS_BAD = np.random.default_rng(2).random(1_200) < np.where(CALLED_BAD, 0.8, 0.18)


@pytest.fixture
def flagged(graded_once: Any) -> tuple[GradedLog, list[int]]:
    """A log in which a rule flags what the judge calls bad, and its answers."""
    return graded_once("flagged where a judge says bad", flag_what_is_called_bad)


def flag_what_is_called_bad(log: GradedLog) -> list[int]:
    ids = log.answers_of({"group": place // 6} for place in range(1_200))
    labels = [BAD if is_bad else GOOD for is_bad in CALLED_BAD]
    log.say(log.version(), {each: {"label": label} for each, label in zip(ids, labels, strict=True)})
    flag(log, [ids[each] for each in FLAGGED], "low_groundedness")
    return ids


def flag(log: GradedLog, ids: Iterable[int], rule: str) -> None:
    row = {"query_type": "", "source": "log", "rule": rule, "created_at": NOON, "state": "open", "severity": 0.5}
    with log.store.writing() as connection:
        connection.execute(insert(FLAG), [row | {"response_id": each, "raise_key": f"{rule} {each}"} for each in ids])


def label(log: GradedLog, ids: list[int], places: IntArray) -> None:
    log.reviews({ids[each]: {"label": BAD if IS_BAD[each] else GOOD} for each in places})


def sample(log: GradedLog, ids: list[int], places: IntArray) -> None:
    flag(log, [ids[each] for each in places], "random_sample")
    label(log, ids, places)


def half_width(log: GradedLog) -> float:
    kappa = measure_agreement(log.store).statistics["kappa"]
    assert kappa.low is not None
    assert kappa.high is not None
    return (kappa.high - kappa.low) / 2


@on_sqlite
def test_labels_of_one_verdict_do_not_tell_how_much_alike_answers_of_a_group_are(
    flagged: tuple[GradedLog, list[int]],
) -> None:
    log, ids = flagged
    sample(log, ids, OTHERS[:47])
    plan = planned(log.store, 0.06)
    assert plan.has_gap
    assert plan.enough
    assert plan.correlation_from == "assumed"
    assert plan.correlation is not None
    assert 0.15 <= plan.correlation < 0.5, "that of the verdicts, which is not divided by what they do not explain"
    assert (
        " ".join(plan.sentences).count("answers to one question from the same passages are alike (correlation 0.") == 1
    )


@on_sqlite
def test_verdicts_that_explain_little_do_not_make_labels_seem_alike(flagged: tuple[GradedLog, list[int]]) -> None:
    log, ids = flagged
    sample(log, ids, np.concatenate([OTHERS[:40], FLAGGED[::23]]))
    plan = planned(log.store, 0.06)
    assert (plan.has_gap, plan.correlation_from) == (False, "verdicts")
    assert plan.correlation is not None
    assert 0.15 <= plan.correlation < 0.5, "the errors of a judge are alike in a group too"


def test_a_plan_without_a_judge_uses_no_scores_of_a_judge() -> None:
    strata = PlannedStratum("yes", None, 10, 0, 5, 0.5), PlannedStratum("no", None, 90, 40, 5, 0.1)
    plan = LabelPlan("rate", 0.05, "app", (), labels=50, labelled=40, more=10, share=0.1, strata=strata)
    assumed = "The plan assumes that about 10 % of the answers are bad: a part of the answers has no label that counts."
    assert assumed in sentences_of(plan)
    of_judge = f"{assumed.removesuffix('.')}, and there the plan uses the judge's scores."
    assert of_judge in sentences_of(replace(plan, judges=("rag v1",)))


@on_sqlite
@pytest.mark.parametrize("sampled", [14, 40])
def test_a_plan_for_kappa_and_the_note_of_agreement_name_the_same_number(
    flagged: tuple[GradedLog, list[int]], sampled: int
) -> None:
    log, ids = flagged
    label(log, ids, FLAGGED)
    sample(log, ids, OTHERS[:sampled])
    assert half_width(log) > 0.1
    plan = planned(log.store, 0.1, "kappa")
    (note,) = (each for each in measure_agreement(log.store).notes if each.code == "not_conclusive")
    assert f"bout {plan.more:,} more of these labels" in note.text
    few = IS_BAD[OTHERS[:sampled]].sum() < 5
    assert few == (sampled == 14)
    assert ("At least about" in note.text, plan.sentences[0].startswith("Label at least about")) == (few, few)
    sample(log, ids, OTHERS[sampled : sampled + plan.more])
    assert half_width(log) == pytest.approx(0.1, abs=0.02)


@on_sqlite
def test_a_rate_that_is_narrow_enough_needs_no_labels(flagged: tuple[GradedLog, list[int]]) -> None:
    log, ids = flagged
    label(log, ids, FLAGGED)
    sample(log, ids, OTHERS[:60])
    rate = measure_rate(log.store)
    assert rate.low is not None
    assert rate.high is not None
    reach = (rate.high - rate.low) / 2 + 0.0001
    plan = planned(log.store, reach)
    assert (plan.more, plan.enough) == (0, True)
    shown, wanted = (reach_words(each, sign="±") for each in ((rate.high - rate.low) / 2, 0.25))
    assert planned(log.store, 0.25).sentences[0] == (
        f"No more labels are needed: {plan.labelled} labels count already. They show the share of bad answers to "
        f"{shown}. The goal is {wanted}."
    )
    wider = planned(log.store, reach - 0.002)
    assert wider.more > 0
    assert " will probably show the share of bad answers to about ±" in wider.sentences[0]
    assert "If it is still too wide after the last label, plan again." in " ".join(wider.sentences)


@on_sqlite
def test_with_few_labels_fewer_more_are_needed_for_these_answers_than_for_the_app(log: GradedLog) -> None:
    log.say(log.version(), {each: {"label": GOOD} for each in log.answers(60)})
    app, these = (planned(log.store, 0.07, "agreement", target=target) for target in ("app", "these"))
    assert (app.enough, app.more) == (False, 60)
    assert these.enough
    assert 0 < these.more < 60


@on_sqlite
def test_labels_that_are_all_alike_are_no_reason_to_stop(flagged: tuple[GradedLog, list[int]]) -> None:
    log, ids = flagged[0], flagged[1][:400]
    flag(log, ids[:100], "random_sample")
    log.reviews({each: {"label": GOOD} for each in ids[:100]})
    of_versions = planned(log.store, 0.05, "versions")
    assert of_versions.more > 200, "the share may be 3 %"
    log.say(log.version("constant"), {each: {"label": GOOD} for each in ids})
    for question in ("agreement", "kappa"):
        plan = planned(log.store, 0.01, question, "constant")
        assert plan.more > 0
        assert plan.shows > 0


@on_sqlite
def test_a_kappa_that_is_narrow_enough_needs_no_labels(flagged: tuple[GradedLog, list[int]]) -> None:
    log, ids = flagged
    label(log, ids, FLAGGED)
    sample(log, ids, OTHERS[:200])
    reach = half_width(log) + 0.001
    plan = planned(log.store, reach, "kappa")
    assert (plan.more, plan.enough) == (0, True)
    assert plan.sentences[0].startswith("No more labels are needed: ")
    assert planned(log.store, reach - 0.002, "kappa").more > 0


@on_sqlite
def test_a_plan_for_the_share_of_right_verdicts_narrows_the_agreement_in_all_answers(
    flagged: tuple[GradedLog, list[int]],
) -> None:
    """With 196 flagged and 196 others labelled, ±x needs the t interval of the logit that `labels rate` shows."""
    log, ids = flagged
    label(log, ids, FLAGGED)
    sample(log, ids, OTHERS[:200])
    agreement = measure_rate(log.store).in_all_answers["agreement"]
    assert agreement.low is not None
    assert agreement.high is not None
    reach = (agreement.high - agreement.low) / 2 + 0.0001
    plan = planned(log.store, reach, "agreement")
    assert (plan.more, plan.enough) == (0, True)
    assert plan.sentences[0].startswith("No more labels are needed: ")
    assert "the share of right verdicts of the judge to ±" in plan.sentences[0]
    assert "percentage points" in plan.sentences[0]
    assert planned(log.store, reach - 0.002, "agreement").more > 0


@on_sqlite
def test_without_labels_the_share_of_right_verdicts_is_planned_as_any_share(
    flagged: tuple[GradedLog, list[int]],
) -> None:
    log, _ = flagged
    assert planned(log.store, 0.05, "agreement").more == 384, "1.96 ** 2 * 0.25 / 0.05 ** 2"
