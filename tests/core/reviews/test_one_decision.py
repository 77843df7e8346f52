"""An answer is listed once and decided once, whatever number of flags it has; one flag can be decided apart."""

import io
import json
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from threading import Barrier

import pytest

from engines import on_sqlite
from judgeboard.domain import (
    ClaimMark,
    ClaimStatus,
    Decision,
    Grade,
    JudgeVersion,
    Label,
    QueueOrder,
    Status,
    Verdict,
)
from judgeboard.errors import BadInput, Contradiction, DecisionRefused
from judgeboard.measure.agreement import measure_agreement
from judgeboard.measure.cells import Cell, answers_in
from judgeboard.measure.choice import CountedGrades
from judgeboard.measure.disagreement import disagreement_page
from judgeboard.measure.flag_worth import flags_worth
from judgeboard.measure.notes import note
from judgeboard.measure.ratings import PairSource
from judgeboard.people.roster import change_settings, ensure_reviewer
from judgeboard.reviews.decisions import implying_rules, remember_implied
from judgeboard.reviews.queues import create_queue
from judgeboard.reviews.submissions import Submission, submit
from judgeboard.store.export import export_tables
from judgeboard.store.filters import RowFilter
from judgeboard.store.flags import flag_reviews
from judgeboard.store.judge_versions import ensure_version
from judgeboard.store.judgments import NewJudgment
from judgeboard.store.open_flags import open_counts, queue_page
from judgeboard.store.overview import overview, work_state
from judgeboard.store.own_reviews import own_reviews_page
from judgeboard.store.queues import new_queue
from judgeboard.store.response_pages import response_page
from judgeboard.store.reviews import find_review
from judgeboard.store.storing import store_judgments
from judgeboard.store.tables import JUDGMENT
from pair_log import add_pairs
from queue_case import CONFIRM, DISMISS, UNSURE, queue_case
from review_case import NOW, flagged_case
from stored_rows import read

RULES = ("low_groundedness", "low_quality")


def judge_low(store, response_id):
    """Raise two flags on an answer by one verdict."""
    verdict = Verdict(Status.OK, groundedness=0.1, quality=1)
    with store.writing() as connection:
        version = ensure_version(connection, JudgeVersion("rag", "rag", params={"n": 1}))
        store_judgments(connection, version, None, [NewJudgment(response_id, 0, 0, verdict)])


@pytest.fixture
def team(store):
    """An answer with a flag of low groundedness and one of low quality."""
    case = flagged_case(store)
    judge_low(store, case.response_id)
    assert sorted(flag["rule"] for flag in case.flags()) == list(RULES)
    return case


def listed(case, where=None, reviewer_id=None):
    page = case.read(queue_page, where or RowFilter(), reviewer_id=reviewer_id)
    assert page.total == len(page.lines)
    return list(page.lines)


def states(case):
    return {flag["rule"]: flag["state"] for flag in case.flags()}


def test_an_answer_is_one_line_with_all_its_reasons(team):
    (line,) = listed(team)
    flags = {flag["id"]: flag for flag in team.flags()}
    worst = max(flags.values(), key=lambda flag: (flag["severity"], -flag["id"]))
    assert (line.flag_id, line.rules[0], sorted(line.rules)) == (
        worst["id"],
        worst["rule"],
        list(RULES),
    )
    assert len(line.why) == 2
    for rule in RULES:
        (of_rule,) = listed(team, RowFilter(rules=(rule,)))
        assert (flags[of_rule.flag_id]["rule"], of_rule.rules) == (rule, line.rules)
    assert [each.flag_id for each in listed(team, RowFilter(rules=RULES))] == [worst["id"]]
    assert [(rule, n) for rule, _, n in read(team.store, open_counts)] == [
        (rule, 1) for rule in RULES
    ]


@pytest.mark.parametrize(
    ("decision", "state"),
    [(Decision.CONFIRM, "confirmed"), (Decision.DISMISS, "dismissed"), (Decision.UNSURE, "open")],
)
def test_one_decision_is_about_all_open_flags_and_undo_opens_all(team, decision, state):
    flag_ids = tuple(flag["id"] for flag in team.flags())
    decided = team.decide(flag_ids[1], team.mara, decision, seconds=30.0)
    assert states(team) == dict.fromkeys(RULES, state)
    assert listed(team, reviewer_id=team.mara.id) == []
    assert len(listed(team, reviewer_id=team.jon.id)) == (1 if state == "open" else 0)
    (review,) = team.standing()
    assert review["flag_ids"] == flag_ids
    with team.store.reading() as connection:
        worth = {
            each.rule: (each.decided, each.minutes)
            for each in flags_worth(connection).rules
            if each.decided
        }
        # Each rule has its flag counted.
        assert worth == ({} if state == "open" else dict.fromkeys(RULES, (1, 0.5)))
        assert flag_reviews(connection).response_ids.tolist() == [team.response_id] * 2
        assert work_state(connection, NOW).decided_today == (0 if state == "open" else 1)
    team.undo(decided.review_id, team.mara)
    assert states(team) == dict.fromkeys(RULES, "open")
    assert len(listed(team, reviewer_id=team.mara.id)) == 1


@on_sqlite
def test_a_flag_is_decided_apart_and_the_other_leads(team):
    (line,) = listed(team)
    worst, other = line.rules
    apart = team.decide(line.flag_id, team.mara, Decision.DISMISS, alone=True)
    assert [each["flag_ids"] for each in team.standing()] == [(line.flag_id,)]
    assert states(team) == {worst: "dismissed", other: "open"}
    (left,) = listed(team)
    assert left.rules == (other,)
    team.undo(apart.review_id, team.mara)
    assert listed(team) == [line]


@on_sqlite
def test_a_later_decision_of_a_person_replaces_earlier_ones_on_its_flags(team):
    low, differ = (
        next(flag["id"] for flag in team.flags() if flag["rule"] == rule)
        for rule in reversed(RULES)
    )
    team.decide(low, team.mara, Decision.UNSURE, alone=True)
    team.decide(differ, team.mara, Decision.UNSURE, alone=True)
    sure = team.decide(low, team.mara, Decision.CONFIRM)
    assert [review["id"] for review in team.standing()] == [sure.review_id]


@pytest.fixture
def shared(store):
    """A queue for low groundedness that needs two reviews of its answer, which has two flags."""
    case = queue_case(store)
    (response_id,) = case.add("a")
    judge_low(store, response_id)
    case.queue(where=RowFilter(rules=("low_groundedness",)), needed=2)
    return case


def test_a_queue_decides_all_flags_of_its_answer_once_it_agrees(shared):
    first = shared.review(shared.mara, CONFIRM)
    assert shared.flag_states() == ["open", "open"]
    shared.review(shared.jon, CONFIRM)
    assert shared.flag_states() == ["confirmed", "confirmed"]
    shared.undo(first.review_id, shared.mara)
    assert shared.flag_states() == ["open", "open"]


@on_sqlite
def test_a_flag_that_a_queue_holds_says_so_and_one_decision_of_a_person_counts(shared):
    flag = next(flag for flag in shared.flags() if flag["rule"] == "low_groundedness")
    held = shared.decide(flag["id"], shared.mara, CONFIRM)
    assert held.held == note("flags_held", queues=["q (needs 2 reviews)"]).text
    # Her answer is not offered to her again.
    assert listed(shared, reviewer_id=shared.mara.id) == []
    assert len(listed(shared, reviewer_id=shared.jon.id)) == 1
    # No queue holds the other flag.
    assert sorted(shared.flag_states()) == ["confirmed", "open"]
    mara = shared.review(shared.mara, DISMISS)
    assert [(row["decision"], row["replaces"]) for row in shared.reviews()] == [
        ("confirm", None),
        ("dismiss", held.review_id),
    ]
    # What the first decision closed follows the second.
    assert shared.flag_states() == ["open", "open"]
    with pytest.raises(DecisionRefused, match="“q”"):
        shared.decide(flag["id"], shared.mara, CONFIRM)
    held = shared.decide(flag["id"], shared.jon, CONFIRM).held
    assert held == note("flags_held", queues=["q (needs 1 review)"]).text
    shared.review(shared.jon, CONFIRM)
    assert shared.item_states() == ["conflict"]
    assert shared.decide(flag["id"], shared.ada, UNSURE).held is None
    assert shared.decide(flag["id"], shared.ada, CONFIRM).held == (
        note("flags_held", queues=["q (needs an adjudication)"]).text
    )
    shared.undo(mara.review_id, shared.mara)
    assert shared.decide(flag["id"], shared.mara, CONFIRM).held is not None


@on_sqlite
def test_a_second_decision_keeps_what_it_does_not_give(shared):
    flag = next(flag for flag in shared.flags() if flag["rule"] == "low_groundedness")
    mark = ClaimMark(ClaimStatus.UNSUPPORTED, "ans", start=0, end=3)
    graded = Grade(quality=2, note="made up", corrected_answer="Better.", claim_marks=(mark,))

    def decided(decision, grade, key):
        given = {"reviewer": shared.mara, "decision": decision, "grade": grade}
        review = submit(shared.store, Submission(flag_id=flag["id"], request_key=key, **given))
        stored = shared.read(find_review, review.review_id)
        return stored.grade

    assert decided(CONFIRM, graded, "1") == graded
    assert decided(DISMISS, Grade(), "2") == graded
    assert decided(DISMISS, Grade(quality=3, groundedness=0.0), "3") == replace(
        graded, quality=3, groundedness=0.0
    )
    assert decided(CONFIRM, Grade(label=Label.HALLUCINATED), "4").label is Label.HALLUCINATED
    with pytest.raises(Contradiction):
        decided(DISMISS, Grade(label=Label.GROUNDED, label_implied=True), "5")


@on_sqlite
def test_a_person_counts_once_for_an_answer_after_the_reveal(store):
    case = queue_case(store)
    (response_id,) = case.flagged(0.1)
    case.queue(blind_judge=True, order=QueueOrder.OLDEST)
    blind = case.review(case.mara, CONFIRM)
    after = case.reveal(blind, case.mara, DISMISS)
    with store.reading() as connection:
        assert work_state(connection, case.now).decided_today == 1
        assert overview(connection, case.mara.id, case.now.date()).today.decided_by_me == 1
        (own,) = own_reviews_page(connection, case.mara.id).lines
        assert (own.review.id, own.revealed.id) == (blind.review_id, after)
        (line,) = response_page(connection, RowFilter()).lines
        assert (line.response_id, line.reviews) == (response_id, 1)


@on_sqlite
def test_a_label_is_implied_as_queue_setting_and_person_say(store):
    case = queue_case(store)
    case.flagged(0.1, 0.2, 0.3)
    case.queue("yes", implied_labels=True, grades=("label",))
    leased = case.lease(case.mara, "yes")
    case.say(leased, case.mara, DISMISS)
    case.queue("no", implied_labels=False)
    case.say(case.lease(case.mara, "no"), case.mara, CONFIRM)
    assert [(row["label"], row["label_implied"]) for row in case.reviews()] == [
        ("grounded", True),
        (None, False),
    ]

    def implying():
        return read(store, implying_rules, case.mara.id)

    # Without a setting a person is asked once.
    assert implying() == (("low_groundedness",), True)
    for implied, rules in ((False, ()), (True, ("low_groundedness",))):
        remember_implied(store, case.mara, implied=implied)
        assert implying() == (rules, False)
    change_settings(store, {"implied_labels": ("low_quality", "random_sample")}, "test")
    # Other rules, by a setting for everybody.
    assert implying() == (("low_quality", "random_sample"), False)
    with pytest.raises(BadInput, match="'nothing'"):
        change_settings(store, {"implied_labels": ("nothing",)}, "test")


@on_sqlite
def test_an_implied_label_is_marked_and_can_be_left_out(store):
    case = queue_case(store)
    case.flagged(*[0.1] * 12)
    for number, flag in enumerate(case.flags()):
        label = {"label": Label.HALLUCINATED, "label_implied": number > 1}
        case.decide(flag["id"], case.mara, CONFIRM, **label)
    assert [row["label_implied"] for row in case.reviews()] == [False] * 2 + [True] * 10
    exported = io.BytesIO()
    export_tables(store, {"reviews": exported})
    rows = [json.loads(line) for line in exported.getvalue().splitlines()]
    assert [(row["label"], row["label_implied"]) for row in rows[1:3]] == [
        ("hallucinated", False),
        ("hallucinated", True),
    ]
    assert [flag["rule"] for flag in rows[0]["flags"]] == ["low_groundedness"]
    assert measure_agreement(store, grade="label").n == 12
    assert measure_agreement(store, grade="label", implied_labels=False).n == 2
    with store.reading() as connection:
        without_implied = CountedGrades(implied_labels=False)
        version, *_ = PairSource(connection).versions("label")
        sources = PairSource(connection, without_implied), PairSource(connection)
        pages = [disagreement_page(source, version.id, "label") for source in sources]
        assert [page.headline.values["answers"] for page in pages] == [2, 12]
        # The answers behind a figure are those that it counts.
        for raters, other in (("judge", 0), ("people", case.mara.id)):
            cell = Cell("label", other or version.id, other, raters, counted=without_implied)
            assert len(answers_in(connection, cell)) == 2, raters
    with pytest.raises(DecisionRefused) as refused:
        case.decide(flag["id"], case.jon, DISMISS, **label)
    # A label that a refused decision implies is no grade.
    assert "kept" not in str(refused.value)


REVIEWERS, FLAGS = 8, 15


def test_each_flag_is_decided_once(store):
    case = queue_case(store)
    case.flagged(*[0.1] * FLAGS)
    flags = [flag["id"] for flag in case.flags()]
    people = [ensure_reviewer(store, "page", f"reviewer {n}") for n in range(REVIEWERS)]
    ready = Barrier(REVIEWERS)

    def work(reviewer):
        decided, refused = [], []
        decision = CONFIRM if reviewer.id % 2 else DISMISS
        ready.wait()
        for flag in flags:
            try:
                case.decide(flag, reviewer, decision, note=f"by {reviewer.name}")
                decided.append(flag)
            except DecisionRefused:
                refused.append(flag)
        return decided, refused

    with ThreadPoolExecutor(REVIEWERS) as pool:
        outcomes = list(pool.map(work, people))

    assert sorted(flag for decided, _ in outcomes for flag in decided) == flags
    assert all(sorted(decided + refused) == flags for decided, refused in outcomes)
    reviews = case.reviews()
    # Every note is there, decided or refused.
    assert len(reviews) == REVIEWERS * FLAGS
    for flag in case.flags():
        of_answer = [row for row in reviews if row["response_id"] == flag["response_id"]]
        (decision,) = [row["decision"] for row in of_answer if row["decision"]]
        assert flag["state"] == {"confirm": "confirmed", "dismiss": "dismissed"}[decision]


def test_presses_and_verdicts_at_once_wait_for_each_other_but_never_for_ever(store):
    case = queue_case(store)
    ids = case.flagged(*[0.1] * 10)
    flags = [flag["id"] for flag in case.flags()]

    def judge():
        for turn in range(8):
            case.judge_all(dict.fromkeys(ids, 0.2 if turn % 2 else 0.9))

    def press(reviewer):
        for _ in range(4):
            for flag in reversed(flags):
                with suppress(DecisionRefused):
                    case.undo(case.decide(flag, reviewer).review_id, reviewer)

    with ThreadPoolExecutor(4) as pool:
        jobs = [
            *(pool.submit(judge) for _ in range(2)),
            *(pool.submit(press, person) for person in (case.mara, case.jon)),
        ]
    for job in jobs:
        job.result()
    assert len(case.rows(JUDGMENT)) == 10 * 17


def test_of_several_queues_with_one_name_at_once_one_is_created_and_the_others_are_refused(store):
    lead = ensure_reviewer(store, "page", "lead")
    add_pairs(store, 3)
    ready = Barrier(8)

    def create(_number):
        ready.wait()
        try:
            rules = new_queue("same", subject="pairs", order=QueueOrder.OLDEST)
            return create_queue(store, rules, by=lead, assigned=[lead]).queue.name
        except BadInput as refused:
            return "refused" if "'same-2'" in str(refused) else "no other name"

    with ThreadPoolExecutor(8) as pool:
        outcomes = sorted(pool.map(create, range(8)))
    assert outcomes == ["refused"] * 7 + ["same"]
