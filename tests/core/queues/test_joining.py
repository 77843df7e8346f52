"""Queues are live: what matches joins as it comes, what stops matching leaves, a sample is drawn from what is alike."""

import shutil
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from itertools import count

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from judgeboard.agreement.ratings import AnswerRatings
from judgeboard.domain import Grade
from judgeboard.errors import DecisionRefused
from judgeboard.reviews.decisions import decide
from judgeboard.reviews.leases import release, skip
from judgeboard.store.engine import open_store
from judgeboard.store.filters import RowFilter
from judgeboard.store.queue_filling import wanted
from judgeboard.store.settings import set_setting
from query_plans import statements_of
from queue_desk import CONFIRM, DISMISS, queue_desk


def waiting(desk) -> list[int]:
    return [item["response_id"] for item in desk.items() if item["state"] == "open"]


def test_a_flag_joins_the_queues_it_matches_in_its_own_transaction(desk) -> None:
    desk.queue("all")
    desk.queue("qa", where=RowFilter(query_types=("QA",), rules=("low_groundedness",)))
    desk.queue("bad", where=RowFilter(max_score=0.2))
    (qa,) = desk.flagged(0.1)
    (other,) = desk.flagged(0.4, query_type="Summary")
    desk.flagged(0.9)
    joined = {(item["queue_id"], item["response_id"]) for item in desk.items()}
    assert joined == {(1, qa), (2, qa), (3, qa), (1, other)}


def test_what_stops_matching_leaves_and_may_come_back(desk) -> None:
    (answer,) = desk.flagged(0.1)
    desk.queue()
    desk.judge(answer, 0.9)  # the reason is gone: the flag is superseded
    assert (desk.flag_states(), desk.item_states(), desk.leases()) == (["superseded"], ["left"], [])
    desk.judge(answer, 0.2)
    assert (desk.flag_states(), desk.item_states()) == (["superseded", "open"], ["open"])
    assert desk.held(desk.mara).response_id == answer


def test_what_is_held_stays_until_it_is_given_back(desk) -> None:
    (answer,) = desk.flagged(0.1)
    desk.queue()
    held = desk.held(desk.mara)
    desk.judge(answer, 0.9)
    assert desk.item_states() == ["open"]
    release(desk.store, held.token, desk.mara, now=desk.now)
    assert desk.item_states() == ["left"]


def test_what_was_decided_elsewhere_counts_once_the_answer_left_the_queue(desk) -> None:
    desk.flagged(0.1)
    desk.queue(where=RowFilter(graded=False))
    flag_id = desk.flags()[0]["id"]
    graded = Grade(quality=1)
    decide(desk.store, flag_id=flag_id, reviewer=desk.mara, decision=CONFIRM, grade=graded, request_key="elsewhere")
    assert (desk.item_states(), desk.flag_states()) == (["left"], ["confirmed"])


def test_who_held_too_long_what_left_its_queue_is_told_that(desk) -> None:
    [answer] = desk.flagged(0.1)
    desk.queue()
    held = desk.held(desk.mara)
    desk.later(minutes=11)
    desk.judge(answer, 0.9)
    with pytest.raises(DecisionRefused, match=r"has left its queue since then\. Your note is kept"):
        desk.say(held, desk.mara, note="typed for minutes")


def test_what_somebody_reviewed_stays(desk) -> None:
    (answer,) = desk.flagged(0.1)
    desk.queue(needed=2)
    desk.review(desk.mara)
    desk.judge(answer, 0.9)
    assert desk.item_states() == ["open"]
    desk.review(desk.jon)
    assert (desk.item_states(), desk.flag_states()) == (["agreed"], ["superseded"])


def test_a_flag_raised_after_an_item_was_settled_brings_the_answer_in_anew(desk) -> None:
    (answer,) = desk.flagged(0.1)
    desk.queue()
    done = desk.review(desk.mara)
    desk.judge(answer, 0.2, version=2)
    assert (desk.flag_states(), desk.item_states()) == (["confirmed", "open"], ["agreed", "open"])
    desk.undo(done.review_id, desk.mara)
    assert desk.item_states() == ["left", "open"]  # it waits once
    assert desk.held(desk.mara).response_id == answer


def test_a_worse_flag_moves_an_answer_forward(desk) -> None:
    first, second = desk.flagged(0.3, 0.4)
    desk.queue()
    desk.judge(second, 0.95, judge="nli")
    assert desk.held(desk.mara).response_id == second
    assert desk.held(desk.jon).response_id == first


def test_orders_made_from_scores_and_none(desk) -> None:
    stable, apart, unstable = desk.flagged(0.1, 0.2, 0.3)
    desk.judge(apart, 0.9, judge="nli")
    desk.judge(unstable, 0.4)
    desk.judge(unstable, 0.1)
    desk.queue("apart", order="disagreement")
    desk.queue("shaky", order="instability")
    desk.queue("drawn", order="random", seed="x")
    assert desk.held(desk.mara, "apart").response_id == apart
    assert desk.held(desk.mara, "shaky").response_id == unstable
    places = [item["position"] for item in desk.items() if item["queue_id"] == 3]
    assert len(set(places)) == 3
    assert all(0 <= place < 1 for place in places)
    assert stable in waiting(desk)


def test_oldest_first_goes_by_the_day_asked(desk) -> None:
    young = desk.add("young", asked_at=datetime(2026, 2, 2, tzinfo=UTC))[0]
    undated = desk.add("undated")[0]
    old = desk.add("old", asked_at=datetime(2026, 1, 2, tzinfo=UTC))[0]
    for response_id in (young, undated, old):
        desk.judge(response_id, 0.1)
    desk.queue(order="oldest")
    assert [desk.held(who).response_id for who in (desk.mara, desk.jon, desk.ada)] == [old, young, undated]


def test_overlap_is_a_share_of_the_items_and_the_same_whenever_they_come(desk) -> None:
    desk.queue("before", needed=3, overlap=0.5, seed="s")
    desk.flagged(*[0.1] * 40)
    desk.queue("after", needed=3, overlap=0.5, seed="s")
    before, after = (
        {item["response_id"]: item["reviews_needed"] for item in desk.items() if item["queue_id"] == queue}
        for queue in (1, 2)
    )
    assert before == after
    assert set(before.values()) == {1, 3}
    assert 8 <= sum(needed == 3 for needed in before.values()) <= 32


def drawn_desk(desk, share: float = 1.0) -> None:
    with desk.store.writing() as connection:
        set_setting(connection, "random_share", share, "test")


def test_the_mix_is_drawn_from_answers_that_are_alike_and_a_shortage_is_said(desk) -> None:
    flagged = desk.flagged(0.1, 0.2, 0.3, 0.4)
    drawn_desk(desk)
    alike = desk.add("r1", "r2")
    desk.add("r3", query_type="Summary")
    made = desk.queue(sampling_rate=0.5)
    assert (made.joined, made.sampled, made.short) == (6, 2, 2)
    sampled = [item["response_id"] for item in desk.items() if item["sampled"]]
    assert sorted(sampled) == alike
    assert sorted(set(waiting(desk)) - set(sampled)) == flagged


def test_a_mix_keeps_up_with_what_joins(desk) -> None:
    drawn_desk(desk)
    drawn = desk.add(*(f"r{number}" for number in range(10)))
    drawn_desk(desk, 0.0)
    desk.flagged(0.1)
    desk.queue(sampling_rate=0.5)
    assert len(waiting(desk)) == 2
    desk.flagged(0.1, 0.2)
    items = desk.items()
    assert sum(item["sampled"] for item in items) == 3
    assert {item["response_id"] for item in items if item["sampled"]} <= set(drawn)
    assert {item["position"] for item in items if item["sampled"]} <= {
        item["position"] for item in items if not item["sampled"]
    }


@pytest.mark.parametrize("drawn", [0, 40])
def test_a_review_that_changes_nothing_of_the_mix_does_not_read_it(desk, drawn) -> None:
    drawn_desk(desk)
    desk.add(*(f"r{number}" for number in range(drawn)))
    drawn_desk(desk, 0.0)
    desk.flagged(*[0.1] * 20)
    desk.queue(sampling_rate=0.5, needed=2)
    with statements_of(desk.store) as sent:
        for _ in range(3):
            desk.review(desk.mara)
        skip(desk.store, desk.held(desk.mara).token, desk.mara, now=desk.now)
    assert sent
    assert [one for one in sent if "count(" in one] == []


def test_what_was_wanting_is_drawn_as_soon_as_it_is_there(desk) -> None:
    desk.flagged(0.1, 0.2)
    assert desk.queue(sampling_rate=0.5).short == 2
    drawn_desk(desk)
    desk.add("r1")
    assert sum(item["sampled"] for item in desk.items()) == 1


def test_what_is_drawn_does_not_stand_where_something_is_served_again(desk) -> None:
    desk.flagged(0.1)
    desk.queue(sampling_rate=0.9, repeat_rate=0.999)
    desk.review(desk.mara)
    desk.later(days=8)
    again = desk.held(desk.mara)
    drawn_desk(desk)
    desk.add(*(f"r{number}" for number in range(9)))
    assert sum(item["sampled"] for item in desk.items()) == 9
    first = next(item["position"] for item in desk.items() if item["id"] == again.item_id)
    assert [item["id"] for item in desk.items() if item["position"] == first] == [again.item_id]


def test_of_several_who_draw_for_a_mix_at_once_none_draws_what_another_did(desk) -> None:
    drawn_desk(desk)
    desk.add(*(f"r{number}" for number in range(20)))
    drawn_desk(desk, 0.0)
    desk.flagged(0.1)
    desk.queue(sampling_rate=0.5)
    answers = desk.add(*(f"s{number}" for number in range(8)))
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda answer: desk.judge(answer, 0.1), answers))
    desk.flagged(0.1)
    assert sum(item["sampled"] for item in desk.items()) == 10


def test_without_a_mix_a_queue_of_everything_holds_drawn_answers_too(desk) -> None:
    drawn_desk(desk)
    desk.add("r1")
    desk.queue()
    assert [item["sampled"] for item in desk.items()] == [False]


@pytest.mark.parametrize(("share", "others", "expected"), [(0.1, 9, 1), (0.5, 4, 4), (0.0, 100, 0), (0.9, 1, 9)])
def test_how_many_make_up_a_mix(share, others, expected) -> None:
    assert wanted(share, others) == expected


def test_an_item_of_ones_own_is_served_again_after_a_week_and_decides_nothing(desk) -> None:
    desk.flagged(0.1)
    desk.queue(repeat_rate=0.999)
    desk.review(desk.mara, CONFIRM)
    assert desk.take(desk.mara) is None
    desk.later(days=8)
    desk.flagged(0.2)
    again = desk.held(desk.mara)
    assert again.response_id == desk.items()[0]["response_id"]
    desk.say(again, desk.mara, decision=None, groundedness=0.5)
    assert desk.flag_states() == ["confirmed", "open"]
    assert desk.take(desk.jon).response_id != again.response_id


def test_what_is_said_of_an_item_served_again_tells_how_far_a_person_agrees_with_themselves_alone(desk) -> None:
    [answer] = desk.flagged(0.1)
    desk.queue(repeat_rate=0.999, blind_judge=True, order="oldest")
    desk.review(desk.mara, CONFIRM, groundedness=0.2)
    desk.later(days=8)
    desk.review(desk.mara, DISMISS, groundedness=0.9)
    with desk.store.reading() as connection:
        ratings = AnswerRatings(connection, "groundedness")
        assert ratings.people().ratings.values.tolist() == [[0.2]]
        twice = ratings.rated_twice()
    assert (twice.ids.tolist(), twice.first.tolist(), twice.second.tolist()) == ([answer], [0.2], [0.9])


def test_what_is_served_again_and_taken_back_is_there_again(desk) -> None:
    desk.flagged(0.1)
    desk.queue(needed=2, repeat_rate=0.999)
    desk.review(desk.mara, CONFIRM)
    desk.later(days=8)
    again = desk.review(desk.mara, DISMISS)
    desk.undo(again.review_id, desk.mara)
    assert desk.item_states() == ["open", "open"]
    assert desk.held(desk.mara).item_id == again.item_id


def again_desk(desk, answers: int) -> None:
    """Mara reviewed so many answers eight days ago, each of which is to be served to her again."""
    desk.flagged(*[0.1] * answers)
    desk.queue(repeat_rate=0.999)
    for _ in range(answers):
        desk.review(desk.mara)
    desk.later(days=8)
    desk.flagged(0.1, 0.2)


def served_again(desk) -> int:
    return sum(item["repeat_for"] is not None for item in desk.items())


def test_one_item_is_served_again_at_a_time_whether_it_is_given_back_skipped_or_held_ahead(desk) -> None:
    again_desk(desk, 3)
    first = desk.held(desk.mara)
    ahead = desk.held(desk.mara, "q", first.token)
    assert served_again(desk) == 1
    release(desk.store, first.token, desk.mara, now=desk.now)
    release(desk.store, ahead.token, desk.mara, now=desk.now)
    first = desk.held(desk.mara)
    assert served_again(desk) == 1
    desk.later(seconds=1)
    skip(desk.store, first.token, desk.mara, now=desk.now)
    assert desk.held(desk.mara).item_id == ahead.item_id
    assert served_again(desk) == 1
    desk.later(seconds=1)
    desk.review(desk.mara)  # of what the week brought: the next draw lays the next
    assert desk.held(desk.mara).response_id != first.response_id
    assert served_again(desk) == 2


def test_one_answer_is_served_again_once(desk) -> None:
    again_desk(desk, 1)
    for _ in range(3):
        desk.review(desk.mara)
    desk.later(days=8)
    for _ in range(2):
        desk.review(desk.mara)
    assert desk.take(desk.mara) is None
    again = [item["response_id"] for item in desk.items() if item["repeat_for"] is not None]
    assert len(again) == len(set(again)) == 3


def test_what_one_took_back_is_not_served_again(desk) -> None:
    desk.flagged(0.1)
    desk.queue(repeat_rate=0.999)
    first = desk.review(desk.mara)
    desk.undo(first.review_id, desk.mara)
    desk.later(days=8)
    assert desk.held(desk.mara).item_id == first.item_id
    assert served_again(desk) == 0


def test_the_last_word_on_a_split_is_not_served_again(desk) -> None:
    desk.flagged(0.1)
    desk.queue(needed=2, repeat_rate=0.999)
    split = desk.review(desk.mara, CONFIRM)
    desk.review(desk.jon, DISMISS)
    desk.adjudicate(split.item_id)
    desk.later(days=8)
    assert desk.take(desk.lead) is None


ACTIONS = st.lists(
    st.tuples(st.sampled_from(["judge", "review", "decide", "undo", "skip"]), st.integers(0, 3), st.booleans()),
    max_size=12,
)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(actions=ACTIONS, needed=st.integers(1, 3))
def test_whatever_happens_every_open_flag_waits_once(sqlite_template, tmp_path, actions, needed) -> None:
    """Every open flag is in the queue, each waiting item has the places it needs, and no flag is closed too early."""
    path = tmp_path / "live.db"
    shutil.copyfile(sqlite_template, path)
    store = open_store(path)
    desk = queue_desk(store)
    desk.keys = count(1)
    answers = desk.flagged(0.1, 0.2, 0.3, 0.9)
    desk.queue(needed=needed)
    people = (desk.mara, desk.jon, desk.ada, desk.lead)
    done: list[tuple[int, object]] = []
    for what, number, good in actions:
        who = people[number]
        if what == "judge":
            desk.judge(answers[number], 0.9 if good else 0.1)
        elif what == "review" and (held := desk.take(who)) is not None:
            done.append((desk.say(held, who, CONFIRM).review_id, who))
        elif what == "skip" and (held := desk.take(who)) is not None:
            skip(store, held.token, who, now=desk.now)
        elif what == "decide":
            flags = [flag["id"] for flag in desk.flags() if flag["state"] == "open"]
            if flags:
                desk.decide(flags[number % len(flags)], who)
        elif what == "undo" and done:
            desk.undo(*done.pop())
    open_flags = {flag["response_id"] for flag in desk.flags() if flag["state"] == "open"}
    items = desk.items()
    assert open_flags <= {item["response_id"] for item in items if item["state"] == "open"}
    for item in items:
        places = [place for place in desk.leases() if place["queue_item_id"] == item["id"]]
        free = sum(not place["done"] for place in places)
        used = sum(place["done"] for place in places)
        assert free == (needed - used if item["state"] == "open" else 0)
    store.close()
    path.unlink()
