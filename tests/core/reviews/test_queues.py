"""What a lead asks of a queue: rules, sizes, plans, required grades."""

from collections import Counter
from datetime import UTC, datetime
from functools import partial

import numpy as np
import pytest
from sqlalchemy import insert

from engines import on_sqlite
from judgeboard.domain import Decision, DimensionScore, Label, QueueOrder
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
from judgeboard.store.strata import DrawPlan, draw_by_stratum
from judgeboard.store.tables import EVENT, QUEUE, RESPONSE
from query_plans import statements_of
from stored_rows import read

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
    assert (queue.name, queue.lease_seconds, queue.sort) == (
        "x" * 61,
        5,
        QueueOrder.SEVERITY,
    )


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


def answers_in(case, name):
    (queue_id,) = [row["id"] for row in case.rows(QUEUE) if row["name"] == name]
    return [item["response_id"] for item in case.items() if item["queue_id"] == queue_id]


@on_sqlite
def test_a_random_queue_draws_flagged_and_other_answers_alike_and_says_how(case):
    ids = case.flagged(0.1, 0.2, 0.8, 0.9, 0.9, 0.9)
    case.queue("one", **FROM_ALL, max_items=4)
    case.queue("two", **FROM_ALL, max_items=4)
    case.queue("other", **FROM_ALL, max_items=4, seed="x")
    drawn = answers_in(case, "one")
    assert len(drawn) == 4
    assert set(drawn) <= set(ids)
    # Also answers without a flag.
    assert any(id_ in ids[2:] for id_ in drawn)
    # The seed alone decides.
    assert drawn == answers_in(case, "two") != answers_in(case, "other")
    (row, _, _) = case.rows(QUEUE)
    assert (row["max_items"], row["drawn_from"], row["seed"]) == (4, 6, "judgeboard")
    assert all(item["sampled"] for item in case.items())
    details = next(event["details"] for event in case.rows(EVENT) if event["kind"] == "make_queue")
    assert (details["items"], details["drawn_from"], details["seed"]) == (4, 6, "judgeboard")
    rules = case.progress("one").rules
    assert (rules["Drawn"], rules["Seed"]) == ("4 of 6", "judgeboard")


@on_sqlite
def test_a_random_answer_stays_whatever_becomes_of_its_flag_and_its_review_settles_the_flag(case):
    case.queue_of(0.1, 0.9, **FROM_ALL, max_items=2, needed=2)
    case.queue("flags")
    (flag,) = case.flags()
    case.decide(flag["id"], case.ada, Decision.DISMISS)
    assert case.progress("q").items == 2
    for who in (case.mara, case.jon):
        for _ in range(2):
            case.review(who, Decision.CONFIRM)
    assert case.progress("q").agreed == 2
    assert case.take(case.ada) is None
    # The other queue still holds it.
    assert case.flag_states() == ["open"]
    case.review(case.jon, Decision.CONFIRM, "flags")
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
    with case.store.writing() as connection:
        from judgeboard.store.settings import set_setting

        set_setting(connection, "random_share", 1, "test")
    case.flagged(*(0.01 * number for number in range(1, 40)), 0.9, 0.9, 0.9, 0.9, 0.9, 0.9)
    made = case.queue(
        max_items=10, sampling_rate=0.25, where=RowFilter(rules=("low_groundedness",))
    )
    assert (made.joined, made.sampled) == (9, 2)


@on_sqlite
def test_what_matches_is_counted_as_the_queue_would_take_it(case):
    case.flagged(0.1, 0.2, 0.9)
    case.flagged(0.1, query_type="legal")
    where = RowFilter(query_types=("QA",))
    counts = [
        read(case.store, count_matching, where, flagged_only=flagged) for flagged in (True, False)
    ]
    assert counts == [2, 3]
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
    case.flagged(0.1, 0.2, 0.3)
    case.queue("theirs", assigned=(case.mara,), needed=2)
    case.queue("of jon", assigned=(case.jon,))
    case.queue("of all")
    case.review(case.mara, name="theirs")

    def waits(who):
        return case.read(queue_page, RowFilter(), reviewer_id=who.id).total

    def left(who):
        return [
            (own.queue.name, own.done, own.left)
            for own in read(case.store, own_queues, who.id, case.now)
        ]

    assert left(case.mara) == [("theirs", 1, 2)]
    assert (waits(case.mara), waits(case.jon)) == (2, 3)
    for _ in range(2):
        case.review(case.mara, name="theirs")
    assert left(case.mara) == []
    assert left(case.ada) == []


@on_sqlite
def test_a_decision_costs_one_statement_for_each_full_queue_without_the_answer(case):
    case.flagged(0.4, 0.1, 0.3, 0.2)
    counts = []
    mild = sorted(
        case.flags(), key=lambda flag: flag["severity"]
    )  # each queue holds the worst one alone
    for names, flag in zip(("a", "bcdef"), mild, strict=False):
        for name in names:
            case.queue(name, max_items=1)
        with statements_of(case.store) as statements:
            case.decide(flag["id"], case.ada, Decision.DISMISS)
        counts.append(len(statements))
    assert counts[1] - counts[0] <= 5


LOT = {"flagged_only": False, "order": QueueOrder.RANDOM, "grades": ("label",)}


def planned(case, name="q", n=12, where=None, **rules):
    where = where or RowFilter()
    plan = case.read(draw_plan, where)
    rules = new_queue(name, where, max_items=n, **(LOT | rules))
    return create_queue(case.store, rules, by=case.lead, plan=plan, now=case.now)


def plan_of(case, name="q"):
    return next(row["plan"] for row in case.rows(QUEUE) if row["name"] == name)


@on_sqlite
def test_every_stratum_has_the_same_probability_and_the_queue_stores_it(case):
    flagged, others = case.flagged(*([0.1] * 20)), case.flagged(*([0.9] * 40))
    made = planned(case, n=12)
    assert made.joined == 12
    items = case.items()
    assert len({item["response_id"] for item in items} & set(flagged)) == 4
    assert len({item["response_id"] for item in items} & set(others)) == 8
    assert all(item["sampled"] for item in items)
    assert [item["stratum"] for item in items if item["response_id"] in flagged] == [0] * 4
    of_flagged, of_others = plan_of(case)["strata"]
    expected = {"picked": True, "verdict": "bad", "answers": 20, "labelled": 0, "drawn": 4}
    assert of_flagged.items() >= (expected | {"inclusion_probability": 0.2}).items()
    last = max(item["position"] for item in items if item["stratum"] == 0)
    assert last < of_flagged["next_position"] < 1
    assert (of_others["answers"], of_others["drawn"], of_others["verdict"]) == (40, 8, "good")
    assert case.progress().rules["Strata"] == "2"
    assert case.rows(QUEUE)[0]["drawn_from"] == 60


@on_sqlite
def test_the_seed_decides_and_flagged_answers_are_not_first(case):
    case.flagged(*([0.1] * 20), *([0.9] * 20))
    for name, seed in (("one", "a"), ("two", "a"), ("other", "b")):
        planned(case, name, seed=seed)
    by_queue = {}
    for item in sorted(case.items(), key=lambda item: (item["queue_id"], item["position"])):
        by_queue.setdefault(item["queue_id"], []).append((item["response_id"], item["stratum"]))
    one, two, other = by_queue.values()
    assert one == two != other
    assert [stratum for _, stratum in one] != sorted(stratum for _, stratum in one)


@on_sqlite
def test_reviews_of_a_planned_queue_are_a_sample_and_are_not_drawn_again(case):
    case.flagged(*([0.1] * 20), *([0.9] * 40))
    planned(case, n=12)
    for _ in range(12):
        case.review(case.mara, label="grounded")
    with case.store.reading() as connection:
        sample = LabelledAnswers(connection, get_version(connection, "rag")).sample()
    assert (len(sample.response_ids), sample.extras) == (12, 0)
    assert sorted((each.answers, each.labelled) for each in sample.counts) == [(20, 4), (40, 8)]
    made = planned(case, "more", n=48)
    drawn = {item["response_id"] for item in case.items() if item["queue_id"] == made.queue.id}
    assert made.joined == 48
    assert drawn.isdisjoint(sample.response_ids.tolist())
    assert [each["labelled"] for each in plan_of(case, "more")["strata"]] == [4, 8]


@on_sqlite
def test_a_label_that_people_chose_to_give_does_not_change_the_probability_to_be_drawn(case):
    flagged = case.flagged(*(0.02 * (place + 1) for place in range(20)), *([0.9] * 40))[:20]
    case.queue("worst first")
    for _ in range(7):
        case.review(case.mara, name="worst first", label="hallucinated")
    plan = read(case.store, draw_plan, RowFilter())
    counts = Counter(
        each.response_id
        for seed in range(150)
        for each in read(case.store, draw_by_stratum, RowFilter(), plan, 30, str(seed))[1]
    )
    worst = sum(counts[id_] for id_ in flagged[:7]) / 7 / 150
    others = sum(counts[id_] for id_ in flagged[7:]) / 13 / 150
    assert worst == pytest.approx(0.5, abs=0.05)
    assert others == pytest.approx(0.5, abs=0.05)


@on_sqlite
def test_a_planned_queue_after_the_worst_flags_is_a_sample_from_its_first_item_on(case):
    case.flagged(*(0.02 * (place + 1) for place in range(20)), *([0.9] * 40))
    case.queue("worst first")
    for _ in range(7):
        case.review(case.mara, name="worst first", label="hallucinated")
    made = planned(case, n=30)
    items = sorted(case.items(), key=lambda item: item["position"])
    in_order = [item["response_id"] for item in items if item["queue_id"] == made.queue.id]
    for done in range(1, 31):
        case.review(case.mara, label="hallucinated")
        with case.store.reading() as connection:
            sample = LabelledAnswers(connection, get_version(connection, "rag")).sample()
        assert set(sample.response_ids.tolist()) == set(in_order[:done])


@on_sqlite
def test_answers_without_a_usable_verdict_are_a_stratum_and_those_never_judged_are_left_out(case):
    case.flagged(*([0.9] * 8))
    case.judge(case.add("unusable")[0], None)
    case.add("never judged")
    made = planned(case, n=9)
    assert made.joined == 9
    assert [(each["verdict"], each["answers"]) for each in plan_of(case)["strata"]] == [
        ("good", 8),
        ("unusable", 1),
    ]


@on_sqlite
def test_a_filter_limits_the_draw_and_more_than_there_are_takes_all(case):
    ids = case.flagged(0.1, 0.9, 0.9)
    case.flagged(0.9, query_type="legal")
    assert planned(case, n=50, where=RowFilter(query_types=("QA",))).joined == 3
    assert {item["response_id"] for item in case.items()} == set(ids)


def two_versions(case):
    """Two versions of a judge that differ on 20 of 60 answers; return these, and the others."""
    ids = case.flagged(*([0.1] * 30), *([0.9] * 30))
    scores = {
        id_: 0.9 if (place < 30) == (place % 3 == 0) else 0.1 for place, id_ in enumerate(ids)
    }
    case.judge_all(scores, version=2)
    return ids[::3], [id_ for place, id_ in enumerate(ids) if place % 3]


@on_sqlite
def test_a_queue_for_two_judges_has_only_answers_on_which_they_differ(case):
    differing, _ = two_versions(case)
    plan = case.read(draw_plan, RowFilter(), ["rag v1", "rag v2"])
    create_queue(
        case.store, new_queue("q", max_items=8, **LOT), by=case.lead, plan=plan, now=case.now
    )
    drawn = [item["response_id"] for item in case.items()]
    assert len(drawn) == 8
    assert set(drawn) < set(differing)
    of_bad, of_good = plan_of(case)["strata"]
    assert [(each["verdict"], each["answers"], each["drawn"]) for each in (of_bad, of_good)] == [
        ("bad", 10, 4),
        ("good", 10, 4),
    ]
    assert case.progress().rules["Judges"] == "rag v1, rag v2"
    for _ in range(8):
        case.review(case.mara, label="grounded")
    with case.store.reading() as connection:
        sample = LabelledAnswers(connection, get_version(connection, "rag v1")).sample()
        again = draw_plan(connection, RowFilter(), ["rag v1", "rag v2"])
    # These labels are no sample of all answers.
    assert len(sample.response_ids) == 0
    assert sample.extras == 8
    assert set(again.labelled.tolist()) == set(drawn)


@on_sqlite
def test_a_plan_needs_random_order_and_a_number(case):
    rules = new_queue("q", RowFilter(), order=QueueOrder.OLDEST, flagged_only=False, max_items=3)
    with pytest.raises(BadInput, match="in random order"):
        create_queue(
            case.store, rules, by=case.lead, plan=DrawPlan(labelled=np.empty(0, dtype=np.int64))
        )


ASKS = {"grades": ("label", "groundedness"), "optional_grades": ("quality",)}


def test_label_is_required_by_default_and_quality_is_optional():
    rules = new_queue("q")
    assert (rules.grades, rules.optional_grades) == (("label", "groundedness"), ("quality",))
    # A grade is either required or optional.
    assert new_queue("q", grades=("quality",)).optional_grades == ()


@on_sqlite
def test_a_review_without_a_required_grade_stores_and_reveals_nothing(case):
    case.queue_of(0.1, **ASKS, blind_judge=True, order="random")
    leased = case.lease(case.mara)
    with pytest.raises(MissingGrades, match=r"missing: label$"):
        case.say(leased, case.mara, groundedness=0.0)
    for decision in (Decision.CONFIRM, Decision.DISMISS, None):
        with pytest.raises(BadInput, match="missing: label, groundedness"):
            case.say(leased, case.mara, decision, note="made up")
    assert case.reviews() == []
    decided = case.say(leased, case.mara, label=Label.HALLUCINATED, groundedness=0.0)
    # The same lease still takes the whole review.
    assert decided.reveal
    assert [review["quality"] for review in case.reviews()] == [None]


@on_sqlite
def test_unsure_needs_no_grade_and_a_dimension_can_be_required(case):
    case.queue_of(0.1, 0.2, grades=("tone",), optional_grades=("label",))
    case.review(case.mara, Decision.UNSURE)
    leased = case.lease(case.mara)
    with pytest.raises(MissingGrades, match="missing: tone"):
        case.say(leased, case.mara, label=Label.GROUNDED)
    case.say(leased, case.mara, scores=(DimensionScore("tone", 4, SCALE),))


@on_sqlite
def test_an_edit_keeps_the_required_grades(case):
    case.queue_of(0.1, **ASKS)
    first = case.review(case.mara, label=Label.HALLUCINATED, groundedness=0.0)
    change = partial(case.change, first.review_id, case.mara, Decision.CONFIRM, groundedness=0.2)
    with pytest.raises(MissingGrades, match="missing: label"):
        change()
    change(label=Label.HALLUCINATED)


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
    with pytest.raises(NoPeople, match="must name them"):
        create_queue(case.store, new_queue("q", **rules), by=case.lead)
    assert case.rows(QUEUE) == []
    create_queue(case.store, new_queue("q", **rules), by=case.lead, assigned=(case.mara,))
    with pytest.raises(NoPeople):
        assign_queue(case.store, "q", by=case.lead, remove=(case.mara,))
    assign_queue(case.store, "q", by=case.lead, add=(case.jon,), remove=(case.mara,))
    assert [person.name for person in case.progress().assigned_to] == ["Jon"]


def test_answers_of_the_same_severity_are_reviewed_from_the_oldest_question(case):
    """Worst first: by severity, then by the day of the question."""
    for name, day in (("third", 3), ("first", 1), ("second", 2), ("worst", 9)):
        [answer] = case.add(name, asked_at=datetime(2026, 2, day, tzinfo=UTC))
        case.judge(answer, 0.1 if name == "worst" else 0.2)
    case.queue("worst first", max_items=3)
    names = {row["id"]: row["external_id"] for row in case.rows(RESPONSE)}
    leased = []
    for _ in range(3):
        item = case.lease(case.mara, "worst first")
        leased.append(names[item.response_id])
        case.say(item, case.mara, label="hallucinated")
    assert leased == ["worst", "first", "second"]
