"""An answer is listed once and decided once, whatever number of flags it has; one flag can be decided apart."""

import io
import json
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from threading import Barrier

import pytest

from engines import on_sqlite
from judgeboard.domain import (
    ClaimMark,
    ClaimStatus,
    Grade,
    JudgeVersion,
    Label,
    QueueOrder,
    Status,
    Verdict,
)
from judgeboard.errors import BadInput, Contradiction, DecisionRefused
from judgeboard.measure.agreement import measure_agreement
from judgeboard.measure.agreement_page import flags_worth
from judgeboard.measure.cells import Cell, answers_in
from judgeboard.measure.choice import CountedGrades
from judgeboard.measure.disagreement import disagreement_page
from judgeboard.measure.notes import note
from judgeboard.measure.ratings import PairSource
from judgeboard.people.roster import change_settings, ensure_reviewer
from judgeboard.reviews.decisions import implying_rules, remember_implied
from judgeboard.reviews.queues import create_queue
from judgeboard.store.export import export_tables
from judgeboard.store.filters import RowFilter
from judgeboard.store.flags import flag_reviews
from judgeboard.store.judge_versions import ensure_version
from judgeboard.store.judgments import NewJudgment
from judgeboard.store.open_flags import open_counts, queue_page
from judgeboard.store.overview import count_decided, overview
from judgeboard.store.own_reviews import own_reviews_page
from judgeboard.store.queues import new_queue
from judgeboard.store.response_pages import response_page
from judgeboard.store.reviews import find_review
from judgeboard.store.storing import store_judgments
from judgeboard.store.tables import JUDGMENT
from pair_log import add_pairs
from queue_case import CONFIRM, DISMISS, UNSURE
from result_fields import check_fields
from review_case import NOW, flagged_case
from stored_rows import columns

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
    assert sorted(columns(case.flags(), "rule")) == list(RULES)
    return case


def listed(case, where=None, reviewer_id=None):
    page = case.read(queue_page, where or RowFilter(), reviewer_id=reviewer_id)
    assert page.total == len(page.lines)
    return list(page.lines)


def states(case):
    return dict(columns(case.flags(), "rule", "state"))


def flag_of(case, rule="low_groundedness"):
    """The id of the flag that a rule raised."""
    return dict(columns(case.flags(), "rule", "id"))[rule]


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
    assert [(rule, n) for rule, _, n in team.read(open_counts)] == [(rule, 1) for rule in RULES]


@pytest.mark.parametrize(
    ("decision", "state"),
    [(CONFIRM, "confirmed"), (DISMISS, "dismissed"), (UNSURE, "open")],
)
def test_one_decision_is_about_all_open_flags_and_undo_opens_all(team, decision, state):
    flag_ids = tuple(columns(team.flags(), "id"))
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
        assert count_decided(connection, NOW.date()) == (0 if state == "open" else 1)
    team.undo(decided.review_id, team.mara)
    assert states(team) == dict.fromkeys(RULES, "open")
    assert len(listed(team, reviewer_id=team.mara.id)) == 1


@on_sqlite
def test_a_flag_is_decided_apart_and_the_other_leads(team):
    (line,) = listed(team)
    worst, other = line.rules
    apart = team.decide(line.flag_id, team.mara, DISMISS, alone=True)
    assert columns(team.standing(), "flag_ids") == [(line.flag_id,)]
    assert states(team) == {worst: "dismissed", other: "open"}
    (left,) = listed(team)
    assert left.rules == (other,)
    team.undo(apart.review_id, team.mara)
    assert listed(team) == [line]


@on_sqlite
def test_a_later_decision_of_a_person_replaces_earlier_ones_on_its_flags(team):
    for rule in RULES:
        team.decide(flag_of(team, rule), team.mara, UNSURE, alone=True)
    sure = team.decide(flag_of(team), team.mara, CONFIRM)
    assert columns(team.standing(), "id") == [sure.review_id]


@pytest.fixture
def shared(case):
    """A queue for low groundedness that needs two reviews of its answer, which has two flags."""
    (response_id,) = case.add("a")
    judge_low(case.store, response_id)
    case.queue(where=RowFilter(rules=("low_groundedness",)), needed=2)
    return case


def test_a_queue_decides_all_flags_of_its_answer_once_it_agrees(shared):
    first = shared.review(shared.mara)
    assert shared.flag_states() == ["open", "open"]
    shared.review(shared.jon)
    assert shared.flag_states() == ["confirmed", "confirmed"]
    shared.undo(first.review_id, shared.mara)
    assert shared.flag_states() == ["open", "open"]


@on_sqlite
def test_a_flag_that_a_queue_holds_says_so_and_one_decision_of_a_person_counts(shared):
    mara, jon, ada, _ = shared.people

    def decide(who, decision=CONFIRM):
        return shared.decide(flag_of(shared), who, decision)

    def held_by(*queues):
        return note("flags_held", queues=queues).text

    first = decide(mara)
    assert first.held == held_by("q (needs 2 reviews)")
    # Her answer is not offered to her again.
    assert [len(listed(shared, reviewer_id=who.id)) for who in (mara, jon)] == [0, 1]
    # No queue holds the other flag.
    assert sorted(shared.flag_states()) == ["confirmed", "open"]
    second = shared.review(mara, DISMISS)
    assert columns(shared.reviews(), "decision", "replaces") == [
        ("confirm", None),
        ("dismiss", first.review_id),
    ]
    # What the first decision closed follows the second.
    assert shared.flag_states() == ["open", "open"]
    with pytest.raises(DecisionRefused, match="“q”"):
        decide(mara)
    assert decide(jon).held == held_by("q (needs 1 review)")
    shared.review(jon)
    assert shared.item_states() == ["conflict"]
    assert decide(ada, UNSURE).held is None
    assert decide(ada).held == held_by("q (needs an adjudication)")
    shared.undo(second.review_id, mara)
    assert decide(mara).held is not None


@on_sqlite
def test_a_second_decision_keeps_what_it_does_not_give(shared):
    mark = ClaimMark(ClaimStatus.UNSUPPORTED, "ans", start=0, end=3)
    graded = {
        "quality": 2,
        "note": "made up",
        "corrected_answer": "Better.",
        "claim_marks": (mark,),
    }

    def decided(decision, **fields):
        review = shared.decide(flag_of(shared), shared.mara, decision, **fields)
        return shared.read(find_review, review.review_id).grade

    assert decided(CONFIRM, **graded) == Grade(**graded)
    assert decided(DISMISS) == Grade(**graded)
    new = {"quality": 3, "groundedness": 0.0}
    assert decided(DISMISS, **new) == Grade(**graded | new)
    assert decided(CONFIRM, label=Label.HALLUCINATED).label is Label.HALLUCINATED
    with pytest.raises(Contradiction):
        decided(DISMISS, label=Label.GROUNDED, label_implied=True)


@on_sqlite
def test_a_person_counts_once_for_an_answer_after_the_reveal(case, store):
    (response_id,) = case.flagged(0.1)
    case.queue(blind_judge=True, order="oldest")
    blind = case.review(case.mara)
    after = case.reveal(blind, case.mara, DISMISS)
    with store.reading() as connection:
        assert count_decided(connection, case.now.date()) == 1
        assert overview(connection, case.mara.id, case.now.date()).today.decided_by_me == 1
        (own,) = own_reviews_page(connection, case.mara.id).lines
        assert (own.review.id, own.revealed.id) == (blind.review_id, after)
        (line,) = response_page(connection, RowFilter()).lines
        check_fields(line, response_id=response_id, reviews=1)


@on_sqlite
def test_a_label_is_implied_as_queue_setting_and_person_say(case, store):
    case.flagged(0.1, 0.2, 0.3)
    case.queue("yes", implied_labels=True, grades=("label",))
    case.review(case.mara, DISMISS, "yes")
    case.queue("no", implied_labels=False)
    case.review(case.mara, name="no")
    assert columns(case.reviews(), "label", "label_implied") == [
        ("grounded", True),
        (None, False),
    ]

    def implying():
        return case.read(implying_rules, case.mara.id)

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
def test_an_implied_label_is_marked_and_can_be_left_out(case, store):
    case.flagged(*[0.1] * 12)
    for number, flag in enumerate(case.flags()):
        label = {"label": Label.HALLUCINATED, "label_implied": number > 1}
        case.decide(flag["id"], case.mara, **label)
    assert columns(case.reviews(), "label_implied") == [False] * 2 + [True] * 10
    exported = io.BytesIO()
    export_tables(store, {"reviews": exported})
    rows = [json.loads(line) for line in exported.getvalue().splitlines()]
    assert columns(rows[1:3], "label", "label_implied") == [
        ("hallucinated", False),
        ("hallucinated", True),
    ]
    assert columns(rows[0]["flags"], "rule") == ["low_groundedness"]
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


def test_each_flag_is_decided_once(case, store):
    case.flagged(*[0.1] * FLAGS)
    flags = columns(case.flags(), "id")
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


def test_presses_and_verdicts_at_once_wait_for_each_other_but_never_for_ever(case):
    ids = case.flagged(*[0.1] * 10)
    flags = columns(case.flags(), "id")

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
