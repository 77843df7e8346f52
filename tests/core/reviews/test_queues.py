"""What a lead asks of a queue: rules, sizes, plans, required grades."""

from collections import Counter
from datetime import UTC, datetime
from operator import itemgetter

import numpy as np
import pytest
from sqlalchemy import insert

from engines import on_sqlite
from judgeboard.domain import DimensionScore, QueueOrder
from judgeboard.errors import BadInput
from judgeboard.judges.rubric_file import SCALE
from judgeboard.measure.plans import draw_plan
from judgeboard.measure.samples import LabelledAnswers
from judgeboard.reviews.checks import MissingGrades
from judgeboard.reviews.queue_work import own_queues
from judgeboard.reviews.queues import NoPeople, assign_queue, create_queue
from judgeboard.settings.sections import PLANNED, PRESETS
from judgeboard.store.filters import RowFilter
from judgeboard.store.judge_versions import get_version
from judgeboard.store.open_flags import queue_page
from judgeboard.store.queue_filling import count_matching
from judgeboard.store.queues import ORDER_LABELS, list_queues, new_queue, orders_of
from judgeboard.store.settings import set_setting
from judgeboard.store.strata import DrawPlan, draw_by_stratum
from judgeboard.store.tables import EVENT, QUEUE, RESPONSE
from query_plans import statements_of
from queue_case import CONFIRM, DISMISS, UNSURE
from result_fields import check_fields
from stored_rows import columns, write_to

GOOD = {
    "name": "March audit",
    "order": QueueOrder.SEVERITY,
    "needed": 2,
    "overlap": 0.5,
    "sampling_rate": 0.1,
    "repeat_rate": 0.05,
    "lease_seconds": 600,
    "grades": ("label", "tone"),
    "guidelines": "Read the passages first.",
}


FROM_ALL = {"flagged_only": False, "order": QueueOrder.RANDOM}


@pytest.mark.parametrize("grade", ["", "q\x01", "a\nb", "\u202e", " ", "x" * 201])
def test_a_grade_has_a_name_that_can_be_shown(grade):
    with pytest.raises(BadInput):
        new_queue("q", grades=("quality", grade))
    assert new_queue("q", grades=("quality", "Stil und Ton")).grades == ("quality", "Stil und Ton")


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        ({"name": "   "}, "a queue has a name"),
        ({"overlap": 1.5}, "overlap must be a number from 0 to 1, not 1.5"),
        ({"sampling_rate": 1.0}, "sampling_rate must be at least 0 and below 1, not 1"),
        ({"repeat_rate": -0.1}, "repeat_rate must be at least 0"),
        ({"lease_seconds": 5}, "lease_seconds must be a number from 10 to 86400, not 5"),
        ({"guidelines": "x" * 20_001}, "must have at most 20,000 characters"),
        ({"flagged_only": False}, "needs a number of items"),
        (FROM_ALL | {"max_items": 9, "sampling_rate": 0.1}, "can have a share"),
        ({"flagged_only": False, "max_items": 9, "order": "severity"}, "no severity"),
        (FROM_ALL | {"max_items": 9, "subject": "pairs"}, "pairs have no flags"),
        ({"max_items": 0}, "max_items must be a number from 1 to 100000, not 0"),
    ],
)
def test_what_is_wrong_or_does_not_fit_is_said(rules, said):
    with pytest.raises(BadInput, match=said):
        new_queue(**{"name": "q"} | rules)


@on_sqlite
def test_a_stored_queue_has_the_rules_that_made_it(case):
    rules = new_queue(
        **GOOD, where=RowFilter(query_types=("legal",)), implied_labels=True, seed="s"
    )
    made = create_queue(case.store, rules, by=case.lead).queue
    own = {"id", "created_by", "created_at", "drawn_from"}
    assert made.model_dump(exclude=own) == rules.model_dump(exclude=own)


def test_a_queue_that_todays_rules_would_refuse_is_still_read(case):
    older = {"name": "x" * 61, "lease_seconds": 5, "blind_judge": True, "sort": "severity"}
    with case.store.writing() as connection:
        connection.execute(insert(QUEUE), older | {"created_by": "test", "created_at": case.now})
        (queue,) = list_queues(connection)
    check_fields(queue, **older)


@pytest.mark.parametrize(
    "order", [QueueOrder.SEVERITY, QueueOrder.DISAGREEMENT, QueueOrder.INSTABILITY]
)
def test_an_order_made_from_scores_in_a_blind_queue_is_explained(order):
    with pytest.raises(BadInput, match="oldest or random") as refused:
        new_queue(**GOOD | {"blind_judge": True, "order": order})
    assert ORDER_LABELS[order] in str(refused.value)


def test_what_is_blind_is_not_offered_an_order_made_from_scores_and_is_random_unless_asked_otherwise():
    assert orders_of(blind=True) == (QueueOrder.RANDOM, QueueOrder.OLDEST)
    assert orders_of(blind=False) == tuple(QueueOrder)
    for blind in (True, False):
        for order in orders_of(blind=blind):
            assert new_queue(**GOOD | {"blind_judge": blind, "order": order}).sort is order


def items_in(case, name):
    (queue_id,) = [row["id"] for row in case.rows(QUEUE) if row["name"] == name]
    items = [item for item in case.items() if item["queue_id"] == queue_id]
    return sorted(items, key=itemgetter("position"))


def answers_in(case, name="q"):
    """The answers of a queue, in its order."""
    return columns(items_in(case, name), "response_id")


def sampled(case, judge="rag"):
    """The reviewed answers that are a sample of all that a judge judged."""
    with case.store.reading() as connection:
        return LabelledAnswers(connection, get_version(connection, judge)).sample()


def review_worst(case, number=7, **rules):
    """Create a queue with the worst first, and let Mara label as many of it."""
    case.queue("worst first", **rules)
    for _ in range(number):
        case.review(case.mara, name="worst first", label="hallucinated")


@on_sqlite
def test_a_random_queue_draws_flagged_and_other_answers_alike_and_says_how(case):
    ids = case.flagged(0.1, 0.2, 0.8, 0.9, 0.9, 0.9)
    for name, seed in (("one", {}), ("two", {}), ("other", {"seed": "x"})):
        case.queue(name, **FROM_ALL, max_items=4, **seed)
    drawn = answers_in(case, "one")
    assert len(drawn) == 4
    assert set(drawn) <= set(ids)
    # Also answers without a flag.
    assert set(drawn) & set(ids[2:])
    # The seed alone decides.
    assert drawn == answers_in(case, "two") != answers_in(case, "other")
    check_fields(case.rows(QUEUE)[0], max_items=4, drawn_from=6, seed="judgeboard")
    assert all(columns(case.items(), "sampled"))
    made = next(event for event in case.rows(EVENT) if event["kind"] == "make_queue")
    check_fields(made["details"], items=4, drawn_from=6, seed="judgeboard")
    check_fields(case.progress("one").rules, Drawn="4 of 6", Seed="judgeboard")


@on_sqlite
def test_a_random_answer_stays_whatever_becomes_of_its_flag_and_its_review_settles_the_flag(case):
    case.queue_of(0.1, 0.9, **FROM_ALL, max_items=2, needed=2)
    case.queue("flags")
    (flag,) = case.flags()
    case.decide(flag["id"], case.ada, DISMISS)
    assert case.progress().items == 2
    for who in (case.mara, case.jon) * 2:
        case.review(who)
    assert case.progress().agreed == 2
    assert case.take(case.ada) is None
    # The other queue still holds it.
    assert case.flag_states() == ["open"]
    case.review(case.jon, name="flags")
    assert case.flag_states() == ["confirmed"]


@on_sqlite
def test_a_queue_of_flagged_answers_takes_the_worst_and_nothing_later(case):
    ids = case.flagged(0.4, 0.1, 0.3, 0.2)
    case.queue(max_items=2)
    assert answers_in(case, "q") == [ids[1], ids[3]]
    case.flagged(0.01)
    assert case.progress().items == 2
    assert case.rows(QUEUE)[0]["drawn_from"] == 4


@on_sqlite
def test_the_number_of_items_includes_the_random_sample(case):
    write_to(case.store, set_setting, "random_share", 1, "test")
    case.flagged(*[0.1] * 39, *[0.9] * 6)
    where = RowFilter(rules=("low_groundedness",))
    made = case.queue(max_items=10, sampling_rate=0.25, where=where)
    check_fields(made, joined=9, sampled=2)


@on_sqlite
def test_what_matches_is_counted_as_the_queue_would_take_it(case):
    case.flagged(0.1, 0.2, 0.9)
    case.flagged(0.1, query_type="legal")
    where = RowFilter(query_types=("QA",))
    for flagged_only, count in ((True, 2), (False, 3)):
        assert case.read(count_matching, where, flagged_only=flagged_only) == count
    assert case.queue(where=where, **FROM_ALL, max_items=100).joined == 3


@on_sqlite
@pytest.mark.parametrize("name", PRESETS)
def test_each_preset_makes_a_queue(case, name):
    case.flagged(0.1, 0.9)
    words, _, options = PRESETS[name]
    made = case.queue(**options.given())
    assert made.joined == (1 if name == "worst" else 2)
    assert str(made.queue.max_items) in words


@on_sqlite
def test_an_assigned_reviewer_sees_what_is_left_and_no_flag_that_they_graded(case):
    case.queue_of(0.1, 0.2, 0.3, name="theirs", assigned=(case.mara,), needed=2)
    case.queue("of jon", assigned=(case.jon,))
    case.queue("of all")
    case.review(case.mara, name="theirs")

    def waits(who):
        return case.read(queue_page, RowFilter(), reviewer_id=who.id).total

    def left(who):
        queues = case.read(own_queues, who.id, case.now)
        return [(own.queue.name, own.done, own.left) for own in queues]

    assert left(case.mara) == [("theirs", 1, 2)]
    assert (waits(case.mara), waits(case.jon)) == (2, 3)
    for _ in range(2):
        case.review(case.mara, name="theirs")
    assert left(case.mara) == left(case.ada) == []


@on_sqlite
def test_a_decision_costs_one_statement_for_each_full_queue_without_the_answer(case):
    case.flagged(0.4, 0.1, 0.3, 0.2)
    counts = []
    mild = sorted(case.flags(), key=itemgetter("severity"))
    # Each queue holds the worst one alone.
    for names, flag in zip(("a", "bcdef"), mild, strict=False):
        for name in names:
            case.queue(name, max_items=1)
        with statements_of(case.store) as statements:
            case.decide(flag["id"], case.ada, DISMISS)
        counts.append(len(statements))
    assert counts[1] - counts[0] <= 5


def planned(case, name="q", n=12, where=None, judges=(), **rules):
    """Create a queue of so many answers that are drawn by a plan."""
    where = where or RowFilter()
    plan = case.read(draw_plan, where, judges)
    rules = new_queue(name, where, max_items=n, grades=("label",), **FROM_ALL, **rules)
    return create_queue(case.store, rules, by=case.lead, plan=plan, now=case.now)


def strata_of(case, name="q"):
    return next(row["plan"]["strata"] for row in case.rows(QUEUE) if row["name"] == name)


@on_sqlite
def test_every_stratum_has_the_same_probability_and_the_queue_stores_it(case):
    flagged, others = case.flagged(*[0.1] * 20), case.flagged(*[0.9] * 40)
    assert planned(case).joined == 12
    items = case.items()
    drawn = set(columns(items, "response_id"))
    assert [len(drawn & set(ids)) for ids in (flagged, others)] == [4, 8]
    assert all(columns(items, "sampled"))
    assert [item["stratum"] for item in items if item["response_id"] in flagged] == [0] * 4
    of_flagged, of_others = strata_of(case)
    check_fields(of_flagged, picked=True, verdict="bad", answers=20, labelled=0, drawn=4)
    assert of_flagged["inclusion_probability"] == 0.2
    last = max(item["position"] for item in items if item["stratum"] == 0)
    assert last < of_flagged["next_position"] < 1
    check_fields(of_others, answers=40, drawn=8, verdict="good")
    assert case.progress().rules["Strata"] == "2"
    assert case.rows(QUEUE)[0]["drawn_from"] == 60


@on_sqlite
def test_the_seed_decides_and_flagged_answers_are_not_first(case):
    case.flagged(*[0.1] * 20, *[0.9] * 20)
    for name, seed in (("one", "a"), ("two", "a"), ("other", "b")):
        planned(case, name, seed=seed)
    one, two, other = (
        columns(items_in(case, name), "response_id", "stratum") for name in ("one", "two", "other")
    )
    assert one == two != other
    strata = [stratum for _, stratum in one]
    assert strata != sorted(strata)


@on_sqlite
def test_reviews_of_a_planned_queue_are_a_sample_and_are_not_drawn_again(case):
    case.flagged(*[0.1] * 20, *[0.9] * 40)
    planned(case)
    for _ in range(12):
        case.review(case.mara, label="grounded")
    sample = sampled(case)
    assert (len(sample.response_ids), sample.extras) == (12, 0)
    assert sorted((each.answers, each.labelled) for each in sample.counts) == [(20, 4), (40, 8)]
    assert planned(case, "more", n=48).joined == 48
    assert set(answers_in(case, "more")).isdisjoint(sample.response_ids.tolist())
    assert columns(strata_of(case, "more"), "labelled") == [4, 8]


@on_sqlite
def test_a_label_that_people_chose_to_give_does_not_change_the_probability_to_be_drawn(case):
    flagged = case.flagged(*(0.02 * (place + 1) for place in range(20)), *[0.9] * 40)[:20]
    review_worst(case)
    plan = case.read(draw_plan, RowFilter())
    with case.store.reading() as connection:  # the answers are read once
        counts = Counter(
            each.response_id
            for seed in range(150)
            for each in draw_by_stratum(connection, RowFilter(), plan, 30, str(seed))[1]
        )
    for ids in (flagged[:7], flagged[7:]):
        share = sum(counts[id_] for id_ in ids) / len(ids) / 150
        assert share == pytest.approx(0.5, abs=0.05)


@on_sqlite
def test_a_planned_queue_after_the_worst_flags_is_a_sample_from_its_first_item_on(case):
    case.flagged(*(0.02 * (place + 1) for place in range(20)), *[0.9] * 40)
    review_worst(case)
    planned(case, n=15)
    in_order = answers_in(case)
    for done in range(1, 16):
        case.review(case.mara, label="hallucinated")
        assert set(sampled(case).response_ids.tolist()) == set(in_order[:done])


@on_sqlite
def test_answers_without_a_usable_verdict_are_a_stratum_and_those_never_judged_are_left_out(case):
    case.flagged(*[0.9] * 8)
    case.judge(case.add("unusable")[0], None)
    case.add("never judged")
    assert planned(case, n=9).joined == 9
    assert columns(strata_of(case), "verdict", "answers") == [
        ("good", 8),
        ("unusable", 1),
    ]


@on_sqlite
def test_a_filter_limits_the_draw_and_more_than_there_are_takes_all(case):
    ids = case.flagged(0.1, 0.9, 0.9)
    case.flagged(0.9, query_type="legal")
    assert planned(case, n=50, where=RowFilter(query_types=("QA",))).joined == 3
    assert set(answers_in(case)) == set(ids)


def two_versions(case):
    """Two versions of a judge that differ on 20 of 60 answers; return these."""
    ids = case.flagged(*[0.1] * 30, *[0.9] * 30)
    scores = {
        id_: 0.9 if (place < 30) == (place % 3 == 0) else 0.1 for place, id_ in enumerate(ids)
    }
    case.judge_all(scores, version=2)
    return ids[::3]


@on_sqlite
def test_a_queue_for_two_judges_has_only_answers_on_which_they_differ(case):
    differing, judges = two_versions(case), ["rag v1", "rag v2"]
    planned(case, n=8, judges=judges)
    drawn = answers_in(case)
    assert len(drawn) == 8
    assert set(drawn) < set(differing)
    assert columns(strata_of(case), "verdict", "answers", "drawn") == [
        ("bad", 10, 4),
        ("good", 10, 4),
    ]
    assert case.progress().rules["Judges"] == "rag v1, rag v2"
    for _ in range(8):
        case.review(case.mara, label="grounded")
    sample = sampled(case, "rag v1")
    # These labels are no sample of all answers.
    assert (len(sample.response_ids), sample.extras) == (0, 8)
    assert set(case.read(draw_plan, RowFilter(), judges).labelled.tolist()) == set(drawn)


@on_sqlite
def test_a_plan_needs_random_order_and_a_number(case):
    rules = new_queue("q", order="oldest", flagged_only=False, max_items=3)
    plan = DrawPlan(labelled=np.empty(0, dtype=np.int64))
    with pytest.raises(BadInput, match="in random order"):
        create_queue(case.store, rules, by=case.lead, plan=plan)


ASKS = {"grades": ("label", "groundedness"), "optional_grades": ("quality",)}


def test_label_is_required_by_default_and_quality_is_optional():
    rules = new_queue("q")
    check_fields(rules, grades=("label", "groundedness"), optional_grades=("quality",))
    # A grade is either required or optional.
    assert new_queue("q", grades=("quality",)).optional_grades == ()


@on_sqlite
def test_a_review_without_a_required_grade_stores_and_reveals_nothing(case):
    case.queue_of(0.1, **ASKS, blind_judge=True, order="random")
    leased = case.lease(case.mara)
    with pytest.raises(MissingGrades, match=r"missing: label$"):
        case.say(leased, case.mara, groundedness=0.0)
    for decision in (CONFIRM, DISMISS, None):
        with pytest.raises(BadInput, match="missing: label, groundedness"):
            case.say(leased, case.mara, decision, note="made up")
    assert case.reviews() == []
    decided = case.say(leased, case.mara, label="hallucinated", groundedness=0.0)
    # The same lease still takes the whole review.
    assert decided.reveal
    assert columns(case.reviews(), "quality") == [None]


@on_sqlite
def test_unsure_needs_no_grade_and_a_dimension_can_be_required(case):
    case.queue_of(0.1, 0.2, grades=("tone",), optional_grades=("label",))
    case.review(case.mara, UNSURE)
    leased = case.lease(case.mara)
    with pytest.raises(MissingGrades, match="missing: tone"):
        case.say(leased, case.mara, label="grounded")
    case.say(leased, case.mara, scores=(DimensionScore("tone", 4, SCALE),))


@on_sqlite
def test_an_edit_keeps_the_required_grades(case):
    case.queue_of(0.1, **ASKS)
    first = case.review(case.mara, label="hallucinated", groundedness=0.0)
    new = {"decision": CONFIRM, "groundedness": 0.2}
    with pytest.raises(MissingGrades, match="missing: label"):
        case.change(first.review_id, case.mara, **new)
    case.change(first.review_id, case.mara, **new, label="hallucinated")


@on_sqlite
@pytest.mark.parametrize(
    "rules",
    [
        *(each.options.given() for each in PRESETS.values() if each.options.blind_people),
        PLANNED.given() | {"max_items": 10},
        {"blind_judge": True, "order": "oldest"},
        {"subject": "pairs", "order": "random"},
    ],
)
def test_a_blind_queue_names_its_people(case, rules):
    case.flagged(0.1)
    queue = new_queue("q", **rules)
    with pytest.raises(NoPeople, match="must name them"):
        create_queue(case.store, queue, by=case.lead)
    assert case.rows(QUEUE) == []
    create_queue(case.store, queue, by=case.lead, assigned=(case.mara,))
    with pytest.raises(NoPeople):
        assign_queue(case.store, "q", by=case.lead, remove=(case.mara,))
    assign_queue(case.store, "q", by=case.lead, add=(case.jon,), remove=(case.mara,))
    assert [person.name for person in case.progress().assigned_to] == ["Jon"]


def test_answers_of_the_same_severity_are_reviewed_from_the_oldest_question(case):
    """Worst first: by severity, then by the day of the question."""
    for name, day in (("third", 3), ("first", 1), ("second", 2), ("worst", 9)):
        [answer] = case.add(name, asked_at=datetime(2026, 2, day, tzinfo=UTC))
        case.judge(answer, 0.1 if name == "worst" else 0.2)
    review_worst(case, 3, max_items=3)
    names = dict(columns(case.rows(RESPONSE), "id", "external_id"))
    reviewed = columns(case.reviews(), "response_id")
    assert [names[id_] for id_ in reviewed] == ["worst", "first", "second"]
