"""Items are handed out once, held for a while, and come back."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Barrier

import pytest

from judgeboard.domain import ItemState
from judgeboard.errors import BadInput, DecisionRefused, NotFound
from judgeboard.reviews.bundles import export_bundle
from judgeboard.reviews.leases import release, renew, skip, take_item
from judgeboard.reviews.queues import close_queue
from queue_desk import CONFIRM, DISMISS


def test_the_worst_comes_first_and_nobody_gets_what_another_holds(desk) -> None:
    ids = desk.flagged(0.4, 0.1, 0.3)
    desk.queue()
    assert [desk.held(who).response_id for who in (desk.mara, desk.jon, desk.ada)] == [ids[1], ids[2], ids[0]]
    assert desk.take(desk.lead) is None


def test_after_a_reload_the_same_item_is_there_with_the_same_token(desk) -> None:
    desk.flagged(0.4, 0.1)
    desk.queue()
    first = desk.held(desk.mara)
    assert desk.held(desk.mara).token == first.token
    ahead = desk.held(desk.mara, "q", first.token)
    assert ahead.item_id != first.item_id
    assert desk.held(desk.mara, "q", ahead.token).token == first.token


def test_an_item_comes_back_after_its_time_and_its_first_holder_is_told(desk) -> None:
    desk.flagged(0.1)
    desk.queue()
    lost = desk.held(desk.mara)
    desk.later(minutes=9)
    assert desk.take(desk.jon) is None
    desk.later(minutes=2)
    won = desk.held(desk.jon)
    assert won.item_id == lost.item_id
    with pytest.raises(DecisionRefused, match=r"somebody else has it now\. Your note is kept"):
        desk.say(lost, desk.mara, CONFIRM, note="typed for minutes")
    assert [(row["note"], row["decision"], row["queue_item_id"]) for row in desk.reviews()] == [
        ("typed for minutes", None, None)
    ]
    assert desk.say(won, desk.jon, DISMISS).state is ItemState.AGREED


def test_renewing_keeps_the_token_and_holds_the_item(desk) -> None:
    desk.flagged(0.1)
    desk.queue()
    held = desk.held(desk.mara)
    for _ in range(3):
        desk.later(minutes=9)
        assert renew(desk.store, held.token, desk.mara, now=desk.now) is not None
        assert desk.take(desk.jon) is None
    assert desk.say(held, desk.mara).state is ItemState.AGREED
    assert renew(desk.store, held.token, desk.mara, now=desk.now) is None


def test_late_is_not_too_late_while_nobody_took_it(desk) -> None:
    desk.flagged(0.1)
    desk.queue()
    held = desk.held(desk.mara)
    desk.later(hours=3)
    assert desk.say(held, desk.mara).state is ItemState.AGREED


def test_what_is_given_back_is_free_at_once_and_what_is_skipped_goes_to_others(desk) -> None:
    ids = desk.flagged(0.1, 0.2)
    desk.queue()
    held = desk.held(desk.mara)
    assert release(desk.store, held.token, desk.mara)
    assert not release(desk.store, held.token, desk.mara)
    again = desk.held(desk.mara)
    assert again.item_id == held.item_id
    assert skip(desk.store, again.token, desk.mara, reason="in French", now=desk.now)
    assert desk.held(desk.mara).response_id == ids[1]
    assert desk.held(desk.jon).response_id == ids[0]
    assert release(desk.store, desk.held(desk.jon).token, desk.jon)
    asked_for = take_item(desk.store, held.item_id, desk.mara, now=desk.now)
    assert asked_for is not None
    assert asked_for.response_id == ids[0]


def test_a_queue_that_is_given_to_people_is_theirs_and_a_closed_one_is_nobodys(desk) -> None:
    desk.flagged(0.1)
    desk.queue(assigned=(desk.mara,))
    with pytest.raises(BadInput, match="assigned to others"):
        desk.take(desk.jon)
    held = desk.held(desk.mara)
    close_queue(desk.store, "q", by=desk.lead, now=desk.now)
    with pytest.raises(DecisionRefused, match="has been closed since then"):
        desk.say(held, desk.mara)
    with pytest.raises(BadInput, match="'q' is closed"):
        desk.take(desk.mara)
    with pytest.raises(NotFound, match="no queue is called 'x': the queues are q"):
        desk.take(desk.mara, "x")


def test_a_token_is_good_once_and_for_its_holder_alone(desk) -> None:
    desk.flagged(0.1)
    desk.queue()
    held = desk.held(desk.mara)
    with pytest.raises(DecisionRefused):
        desk.say(held, desk.jon)
    first = desk.say(held, desk.mara, request_key="one press")
    again = desk.say(held, desk.mara, request_key="one press")
    assert (again.review_id, again.repeated) == (first.review_id, True)
    with pytest.raises(DecisionRefused, match="You decided this item already"):
        desk.say(held, desk.mara)


def test_who_does_not_hold_an_item_is_told_what_became_of_it(desk) -> None:
    desk.flagged(0.1)
    desk.queue()
    skipped = desk.held(desk.mara)
    skip(desk.store, skipped.token, desk.mara, now=desk.now)
    foreign = replace(skipped, token=f"{skipped.item_id}.of-another-database")
    for held in (skipped, foreign):
        with pytest.raises(DecisionRefused, match="Nobody else has it: take it again"):
            desk.say(held, desk.mara)
    asked_for = take_item(desk.store, skipped.item_id, desk.mara, now=desk.now)
    with pytest.raises(DecisionRefused, match="decide it under that lease"):
        desk.say(skipped, desk.mara)
    for held in (asked_for, foreign):
        with pytest.raises(DecisionRefused, match="somebody else has it now"):
            desk.say(held, desk.jon)
    desk.say(asked_for, desk.mara)
    with pytest.raises(DecisionRefused, match="You decided this item already"):
        desk.say(skipped, desk.mara)


def test_who_takes_by_name_what_they_hold_takes_that_place_and_no_second_one(desk) -> None:
    desk.flagged(0.1)
    desk.queue(needed=2)
    first = desk.held(desk.jon)
    held = desk.held(desk.mara)
    release(desk.store, first.token, desk.jon, now=desk.now)
    again = take_item(desk.store, held.item_id, desk.mara, now=desk.now)
    assert again is not None
    assert again.lease_id == held.lease_id
    assert desk.take(desk.jon) is not None


@pytest.mark.parametrize("token", ["nonsense", "99999999999999999999.x", f"{2**63}.x", "9" * 5_000 + ".x", "1.\x00"])
def test_what_is_no_token_is_refused_as_such(desk, token) -> None:
    with pytest.raises(BadInput, match="not a token of an item"):
        renew(desk.store, token, desk.mara)


def test_a_press_that_arrives_several_times_at_once_is_one(desk) -> None:
    desk.flagged(0.1)
    desk.queue()
    held = desk.held(desk.mara)
    with ThreadPoolExecutor(4) as threads:
        said = list(threads.map(lambda _: desk.say(held, desk.mara, note="once", request_key="one press"), range(4)))
    assert [row["id"] for row in desk.reviews()] == [one.review_id for one in said[:1]]
    assert sorted(one.repeated for one in said) == [False, True, True, True]


@pytest.mark.parametrize("by_name", [True, False])
def test_several_sessions_of_one_person_at_one_item_hold_it_once(desk, by_name) -> None:
    desk.flagged(0.1)
    for number in range(8):
        name, start = f"q{number}", Barrier(4)
        queue_id = desk.queue(name, needed=4).queue.id
        item_id = desk.items()[-1]["id"]

        def take(_session: int, name: str = name, item_id: int = item_id, start: Barrier = start):
            start.wait()
            return take_item(desk.store, item_id, desk.mara, now=desk.now) if by_name else desk.take(desk.mara, name)

        with ThreadPoolExecutor(4) as sessions:
            assert {held.item_id for held in sessions.map(take, range(4))} == {item_id}
        assert sum(lease["queue_id"] == queue_id and lease["token"] is not None for lease in desk.leases()) == 1


def test_what_stopped_matching_while_its_holder_went_away_is_not_handed_out(desk) -> None:
    gone, *others = desk.flagged(0.1, 0.2, 0.3)
    desk.queue(needed=2)
    for who in (desk.mara, desk.jon):
        assert desk.held(who).response_id == gone
    desk.judge(gone, 0.9)
    desk.later(minutes=20)
    assert desk.held(desk.ada).response_id == others[0]
    assert desk.item_states() == ["left", "open", "open"]
    assert desk.held(desk.mara).response_id == others[0]


def test_what_stopped_matching_is_not_taken_by_its_id_nor_into_a_bundle(desk, tmp_path) -> None:
    for name in ("page", "file"):
        [gone] = desk.flagged(0.1)
        desk.queue(name)
        held = desk.held(desk.mara, name)
        desk.judge(gone, 0.9)
        desk.later(minutes=20)
        if name == "page":
            assert take_item(desk.store, held.item_id, desk.jon, now=desk.now) is None
            continue
        with pytest.raises(BadInput, match="nothing left for Jon"):
            export_bundle(desk.store, name, desk.jon, tmp_path / "b", items=1, by=desk.lead, now=desk.now)


def test_what_still_matches_goes_to_the_next_with_what_was_reviewed_of_it(desk) -> None:
    (answer,) = desk.flagged(0.1)
    desk.queue(needed=2)
    desk.review(desk.jon)
    assert desk.held(desk.mara).response_id == answer
    desk.judge(answer, 0.9)  # somebody reviewed it: it stays
    desk.later(minutes=20)
    assert desk.held(desk.ada).response_id == answer


def test_who_reviewed_an_item_does_not_take_it_once_more_by_its_id(desk) -> None:
    desk.flagged(0.1)
    desk.queue(needed=2)
    done = desk.review(desk.mara)
    assert take_item(desk.store, done.item_id, desk.mara, now=desk.now) is None
    assert take_item(desk.store, done.item_id, desk.jon, now=desk.now) is not None


def test_what_is_served_again_to_one_person_is_not_taken_by_another(desk) -> None:
    desk.flagged(0.1)
    desk.queue(repeat_rate=0.999)
    desk.review(desk.mara)
    desk.later(days=8)
    again = desk.held(desk.mara)
    assert release(desk.store, again.token, desk.mara, now=desk.now)
    assert take_item(desk.store, again.item_id, desk.jon, now=desk.now) is None
    assert take_item(desk.store, again.item_id, desk.mara, now=desk.now) is not None
