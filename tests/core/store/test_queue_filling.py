"""Queues are live: what matches joins as it comes, what stops matching leaves, a sample is drawn from what is alike."""

import shutil
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime
from itertools import count

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engines import on_sqlite
from judgeboard.domain import ItemState
from judgeboard.errors import DecisionRefused
from judgeboard.measure.ratings import AnswerRatings, PairSource
from judgeboard.reviews.outcome import update_item_state
from judgeboard.store.filters import RowFilter
from judgeboard.store.opening import open_store
from judgeboard.store.settings import set_setting
from query_plans import statements_of
from queue_case import CONFIRM, DISMISS, queue_case
from stored_rows import write_to


def waiting(queues):
    return [item["response_id"] for item in queues.items() if item["state"] == "open"]


def sampled(queues):
    return [item for item in queues.items() if item["sampled"]]


def add_drawn(queues, count, **fields):
    """Store answers that are drawn at random; those after them are not."""
    write_to(queues.store, set_setting, "random_share", 1.0, "test")
    ids = queues.add(*(f"r{next(queues.keys)}" for _ in range(count)), **fields)
    write_to(queues.store, set_setting, "random_share", 0.0, "test")
    return ids


def test_a_flag_joins_the_queues_it_matches_in_its_own_transaction(queues):
    queues.queue("all")
    queues.queue("qa", where=RowFilter(query_types=("QA",), rules=("low_groundedness",)))
    queues.queue("bad", where=RowFilter(max_score=0.2))
    (qa,) = queues.flagged(0.1)
    (other,) = queues.flagged(0.4, query_type="Summary")
    queues.flagged(0.9)
    joined = {(item["queue_id"], item["response_id"]) for item in queues.items()}
    assert joined == {(1, qa), (2, qa), (3, qa), (1, other)}


def test_what_stops_matching_leaves_and_may_come_back(queues):
    (answer,) = queues.flagged(0.1)
    queues.queue()
    queues.judge(answer, 0.9)  # the reason is gone: the flag is superseded
    assert (queues.flag_states(), queues.item_states()) == (["superseded"], ["left"])
    assert queues.leases() == []
    queues.judge(answer, 0.2)
    assert (queues.flag_states(), queues.item_states()) == (["superseded", "open"], ["open"])
    assert queues.lease(queues.mara).response_id == answer


@on_sqlite
def test_what_is_held_stays_until_it_is_given_back(queues):
    queues.queue_of(0.1)
    leased = queues.lease(queues.mara)
    queues.judge(leased.response_id, 0.9)
    assert queues.item_states() == ["open"]
    queues.release(leased, queues.mara)
    assert queues.item_states() == ["left"]


def test_what_was_decided_elsewhere_counts_once_the_answer_left_the_queue(queues):
    queues.queue_of(0.1, where=RowFilter(graded=False))
    queues.decide(1, queues.mara, quality=1)
    assert (queues.item_states(), queues.flag_states()) == (["left"], ["confirmed"])


@on_sqlite
def test_who_held_too_long_what_left_its_queue_is_told_that(queues):
    queues.queue_of(0.1)
    leased = queues.lease(queues.mara)
    queues.later(minutes=11)
    queues.judge(leased.response_id, 0.9)
    with pytest.raises(DecisionRefused, match="kept"):
        queues.say(leased, queues.mara, note="typed for minutes")


@on_sqlite
def test_what_somebody_reviewed_stays(queues):
    (answer,) = queues.flagged(0.1)
    queues.queue(needed=2)
    queues.review(queues.mara)
    queues.judge(answer, 0.9)
    assert queues.item_states() == ["open"]
    queues.review(queues.jon)
    assert (queues.item_states(), queues.flag_states()) == (["agreed"], ["superseded"])


@on_sqlite
def test_a_flag_raised_after_an_item_was_settled_brings_the_answer_in_anew(queues):
    (answer,) = queues.flagged(0.1)
    queues.queue()
    done = queues.review(queues.mara)
    queues.judge(answer, 0.2, version=2)
    assert (queues.flag_states(), queues.item_states()) == (
        ["confirmed", "open"],
        ["agreed", "open"],
    )
    queues.undo(done.review_id, queues.mara)
    assert queues.item_states() == ["left", "open"]  # it waits once
    assert write_to(queues.store, update_item_state, done.item_id, queues.now) is ItemState.LEFT
    assert queues.lease(queues.mara).response_id == answer


def test_a_worse_flag_moves_an_answer_forward(queues):
    first, second = queues.flagged(0.3, 0.4)
    queues.queue()
    queues.judge(second, 0.95, judge="nli")
    assert queues.lease(queues.mara).response_id == second
    assert queues.lease(queues.jon).response_id == first


def test_orders_made_from_scores_and_none(queues):
    stable, apart, unstable = queues.flagged(0.1, 0.2, 0.3)
    queues.judge(apart, 0.9, judge="nli")
    queues.judge(unstable, 0.4)
    queues.judge(unstable, 0.1)
    queues.queue("apart", order="disagreement")
    queues.queue("shaky", order="instability")
    queues.queue("drawn", order="random", seed="x")
    assert queues.lease(queues.mara, "apart").response_id == apart
    assert queues.lease(queues.mara, "shaky").response_id == unstable
    places = {item["position"] for item in queues.items() if item["queue_id"] == 3}
    assert len(places) == 3
    assert all(0 <= place < 1 for place in places)
    assert stable in waiting(queues)


@on_sqlite
def test_oldest_first_goes_by_the_day_asked(queues):
    [young] = queues.add("young", asked_at=datetime(2026, 2, 2, tzinfo=UTC))
    [undated] = queues.add("undated")
    [old] = queues.add("old", asked_at=datetime(2026, 1, 2, tzinfo=UTC))
    queues.judge_all(dict.fromkeys((young, undated, old), 0.1))
    queues.queue(order="oldest")
    leased = [queues.lease(who).response_id for who in queues.people[:3]]
    assert leased == [old, young, undated]


@on_sqlite
def test_overlap_is_a_share_of_the_items_and_the_same_whenever_they_come(queues):
    queues.queue("before", needed=3, overlap=0.5, seed="s")
    queues.queue_of(*[0.1] * 40, name="after", needed=3, overlap=0.5, seed="s")
    before, after = (
        {
            item["response_id"]: item["reviews_needed"]
            for item in queues.items()
            if item["queue_id"] == queue
        }
        for queue in (1, 2)
    )
    assert before == after
    assert set(before.values()) == {1, 3}
    assert 8 <= list(before.values()).count(3) <= 32


@on_sqlite
def test_the_mix_is_drawn_from_answers_that_are_alike_and_a_shortage_is_said(queues):
    flagged = queues.flagged(0.1, 0.2, 0.3, 0.4)
    alike = add_drawn(queues, 2)
    add_drawn(queues, 1, query_type="Summary")
    made = queues.queue(sampling_rate=0.5)
    assert (made.joined, made.sampled, made.short) == (6, 2, 2)
    assert sorted(item["response_id"] for item in sampled(queues)) == alike
    assert sorted(waiting(queues)) == flagged + alike


@on_sqlite
def test_a_mix_keeps_up_with_what_joins(queues):
    drawn = add_drawn(queues, 10)
    queues.queue_of(0.1, sampling_rate=0.5)
    assert len(waiting(queues)) == 2
    queues.flagged(0.1, 0.2)
    joined = sampled(queues)
    assert len(joined) == 3
    assert {item["response_id"] for item in joined} <= set(drawn)
    assert {item["position"] for item in joined} <= {
        item["position"] for item in queues.items() if not item["sampled"]
    }


@on_sqlite
@pytest.mark.parametrize("drawn", [0, 40])
def test_a_review_that_changes_nothing_of_the_mix_does_not_read_it(queues, drawn):
    add_drawn(queues, drawn)
    queues.queue_of(*[0.1] * 20, sampling_rate=0.5, needed=2)
    with statements_of(queues.store) as sent:
        for _ in range(3):
            queues.review(queues.mara)
        queues.skip(queues.lease(queues.mara), queues.mara)
    assert sent
    assert [one for one in sent if "count(" in one] == []


@on_sqlite
def test_what_was_wanting_is_drawn_as_soon_as_it_is_there(queues):
    assert queues.queue_of(0.1, 0.2, sampling_rate=0.5).short == 2
    add_drawn(queues, 1)
    assert len(sampled(queues)) == 1


def test_what_is_drawn_does_not_stand_where_something_is_served_again(queues):
    queues.queue_of(0.1, sampling_rate=0.9, repeat_rate=0.999)
    queues.review(queues.mara)
    queues.later(days=8)
    again = queues.lease(queues.mara)
    add_drawn(queues, 12)
    assert len(sampled(queues)) == 9
    places = {item["id"]: item["position"] for item in queues.items()}
    assert list(places.values()).count(places[again.item_id]) == 1


def test_of_several_who_draw_for_a_mix_at_once_none_draws_what_another_did(queues):
    add_drawn(queues, 20)
    queues.queue_of(0.1, sampling_rate=0.5)
    answers = queues.add(*(f"s{number}" for number in range(8)))
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda answer: queues.judge(answer, 0.1), answers))
    queues.flagged(0.1)
    assert len(sampled(queues)) == 10


@on_sqlite
def test_without_a_mix_a_queue_of_everything_holds_drawn_answers_too(queues):
    add_drawn(queues, 1)
    queues.queue()
    assert [item["sampled"] for item in queues.items()] == [False]


@on_sqlite
def test_an_item_of_ones_own_is_served_again_after_a_week_and_decides_nothing(queues):
    queues.queue_of(0.1, repeat_rate=0.999)
    queues.review(queues.mara, CONFIRM)
    assert queues.take(queues.mara) is None
    queues.later(days=8)
    queues.flagged(0.2)
    again = queues.lease(queues.mara)
    assert again.response_id == queues.items()[0]["response_id"]
    queues.say(again, queues.mara, decision=None, groundedness=0.5)
    assert queues.flag_states() == ["confirmed", "open"]
    assert queues.take(queues.jon).response_id != again.response_id


@on_sqlite
def test_what_is_said_of_an_item_served_again_tells_how_far_a_person_agrees_with_themselves_alone(
    queues,
):
    queues.queue_of(0.1, repeat_rate=0.999, blind_judge=True, order="oldest")
    queues.review(queues.mara, CONFIRM, groundedness=0.2)
    queues.later(days=8)
    queues.review(queues.mara, DISMISS, groundedness=0.9)
    with queues.store.reading() as connection:
        ratings = AnswerRatings(PairSource(connection), "groundedness")
        assert ratings.people().ratings.values.tolist() == [[0.2]]
        twice = ratings.rated_twice()
    assert [each.tolist() for each in (twice.ids, twice.first, twice.second)] == [[1], [0.2], [0.9]]


@on_sqlite
def test_what_is_served_again_and_taken_back_is_there_again(queues):
    queues.queue_of(0.1, needed=2, repeat_rate=0.999)
    queues.review(queues.mara, CONFIRM)
    queues.later(days=8)
    again = queues.review(queues.mara, DISMISS)
    queues.undo(again.review_id, queues.mara)
    assert queues.item_states() == ["open", "open"]
    assert queues.lease(queues.mara).item_id == again.item_id


def again_case(queues, answers):
    """Mara reviewed so many answers eight days ago, each of which is to be served to her again."""
    queues.queue_of(*[0.1] * answers, repeat_rate=0.999)
    for _ in range(answers):
        queues.review(queues.mara)
    queues.later(days=8)
    queues.flagged(0.1, 0.2)


def served_again(queues):
    return [item["response_id"] for item in queues.items() if item["repeat_for"] is not None]


def test_one_item_is_served_again_at_a_time_whether_it_is_given_back_skipped_or_held_ahead(queues):
    again_case(queues, 3)
    first = queues.lease(queues.mara)
    ahead = queues.lease(queues.mara, "q", first.token)
    assert len(served_again(queues)) == 1
    queues.release(first, queues.mara)
    queues.release(ahead, queues.mara)
    first = queues.lease(queues.mara)
    assert len(served_again(queues)) == 1
    queues.later(seconds=1)
    queues.skip(first, queues.mara)
    assert queues.lease(queues.mara).item_id == ahead.item_id
    assert len(served_again(queues)) == 1
    queues.later(seconds=1)
    queues.review(queues.mara)  # of what the week brought: the next draw lays the next
    assert queues.lease(queues.mara).response_id != first.response_id
    assert len(served_again(queues)) == 2


@on_sqlite
def test_one_answer_is_served_again_once(queues):
    again_case(queues, 1)
    for _ in range(3):
        queues.review(queues.mara)
    queues.later(days=8)
    for _ in range(2):
        queues.review(queues.mara)
    assert queues.take(queues.mara) is None
    again = served_again(queues)
    assert len(again) == len(set(again)) == 3


@on_sqlite
def test_what_one_took_back_is_not_served_again(queues):
    queues.queue_of(0.1, repeat_rate=0.999)
    first = queues.review(queues.mara)
    queues.undo(first.review_id, queues.mara)
    queues.later(days=8)
    assert queues.lease(queues.mara).item_id == first.item_id
    assert served_again(queues) == []


@on_sqlite
def test_the_last_word_on_a_split_is_not_served_again(queues):
    queues.queue_of(0.1, needed=2, repeat_rate=0.999)
    split = queues.review(queues.mara, CONFIRM)
    queues.review(queues.jon, DISMISS)
    queues.adjudicate(split.item_id)
    queues.later(days=8)
    assert queues.take(queues.lead) is None


ACTIONS = st.lists(
    st.tuples(
        st.sampled_from(["judge", "review", "decide", "undo", "skip"]),
        st.integers(0, 3),
        st.booleans(),
    ),
    max_size=12,
)


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(actions=ACTIONS, needed=st.integers(1, 3))
def test_whatever_happens_every_open_flag_waits_once(sqlite_template, tmp_path, actions, needed):
    """Every open flag is in the queue, each waiting item has the places it needs, and no flag is closed too early."""
    path = tmp_path / "live.db"
    shutil.copyfile(sqlite_template, path)
    store = open_store(path)
    queues = queue_case(store)
    queues.keys = count(1)
    answers = queues.flagged(0.1, 0.2, 0.3, 0.9)
    queues.queue(needed=needed)
    done = []
    for what, number, good in actions:
        who = queues.people[number]
        if what == "judge":
            queues.judge(answers[number], 0.9 if good else 0.1)
        elif what == "review" and (leased := queues.take(who)) is not None:
            done.append((queues.say(leased, who, CONFIRM).review_id, who))
        elif what == "skip" and (leased := queues.take(who)) is not None:
            queues.skip(leased, who)
        elif what == "decide":
            flags = [flag["id"] for flag in queues.flags() if flag["state"] == "open"]
            if flags:
                with suppress(DecisionRefused):  # their review in the queue counts already
                    queues.decide(flags[number % len(flags)], who)
        elif what == "undo" and done:
            queues.undo(*done.pop())
    open_flags = {flag["response_id"] for flag in queues.flags() if flag["state"] == "open"}
    assert open_flags <= set(waiting(queues))
    for item in queues.items():
        done = [place["done"] for place in queues.leases() if place["queue_item_id"] == item["id"]]
        free, used = done.count(False), done.count(True)
        assert free == (needed - used if item["state"] == "open" else 0)
    store.close()
    path.unlink()
