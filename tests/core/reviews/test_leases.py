"""Items are handed out once, held for a while, and come back."""

import json
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from multiprocessing import Pipe
from pathlib import Path
from threading import Barrier

import pytest

from engines import on_sqlite
from judgeboard.domain import ItemState
from judgeboard.errors import BadInput, DecisionRefused, NotFound
from judgeboard.reviews.bundles import export_bundle
from judgeboard.reviews.leases import is_leased, release, renew, skip, undo_skip
from judgeboard.reviews.submissions import DECIDED, FREE, LOST, NEWER_LEASE, NO_LEASE
from judgeboard.store.leases import CANNOT_BE_JUDGED, count_items_for
from judgeboard.store.tables import EVENT, FLAG, LEASE, QUEUE_ITEM, REVIEW
from judging_log import address
from queue_case import DISMISS, race_case
from queue_race import Worked, acknowledge, race_threads, work
from result_fields import check_fields
from served import fork_server
from served_queues import BLIND
from stored_rows import columns, rows_of, values_of


def assert_refused(reason, case, leased, who, **fields):
    with pytest.raises(DecisionRefused, match=reason):
        case.say(leased, who, **fields)


def renewed(case, leased):
    return renew(case.store, leased.token, case.mara, now=case.now)


def skip_undone(case, leased):
    return undo_skip(case.store, leased.item_id, case.mara, now=case.now)


@on_sqlite
def test_the_worst_comes_first_and_nobody_gets_what_another_holds(case):
    case.queue_of(0.4, 0.1, 0.3)
    leased = [case.take(who) for who in case.people]
    assert [item and item.response_id for item in leased] == [2, 3, 1, None]


@on_sqlite
def test_after_a_reload_the_same_item_is_there_with_the_same_token(case):
    case.queue_of(0.4, 0.1)
    first = case.lease(case.mara)
    assert case.lease(case.mara).token == first.token
    ahead = case.lease(case.mara, "q", first.token)
    assert ahead.item_id != first.item_id
    assert case.lease(case.mara, "q", ahead.token).token == first.token


def test_an_item_comes_back_after_its_time_and_its_first_holder_is_told(case):
    case.queue_of(0.1)
    lost = case.lease(case.mara)
    case.later(minutes=9)
    assert case.take(case.jon) is None
    case.later(minutes=2)
    won = case.lease(case.jon)
    assert won.item_id == lost.item_id
    assert_refused(LOST, case, lost, case.mara, note="typed for minutes")
    assert columns(case.reviews(), "note", "decision", "queue_item_id") == [
        ("typed for minutes", None, None)
    ]
    assert case.say(won, case.jon, DISMISS).state is ItemState.AGREED


@on_sqlite
def test_renewing_keeps_the_token_and_holds_the_item(case):
    case.queue_of(0.1)
    leased = case.lease(case.mara)
    for _ in range(3):
        case.later(minutes=9)
        assert renewed(case, leased) is not None
        assert case.take(case.jon) is None
    assert case.say(leased, case.mara).state is ItemState.AGREED
    assert renewed(case, leased) is None


@on_sqlite
def test_late_is_not_too_late_while_nobody_took_it(case):
    case.queue_of(0.1)
    leased = case.lease(case.mara)
    case.later(hours=3)
    assert case.say(leased, case.mara).state is ItemState.AGREED


def test_a_skip_because_it_cannot_be_judged_ends_the_item_and_is_counted_on_its_own(case):
    case.queue_of(0.1, 0.2, needed=2)
    leased = case.lease(case.mara)
    assert leased.response_id == 1
    assert case.skip(leased, case.mara, " Cannot be judged ")
    # Nobody waits for a second review.
    assert case.lease(case.jon).response_id == 2
    case.review(case.mara, label="hallucinated")
    check_fields(case.progress(), declined=1, agreed=0, conflict=0, finished=0)
    assert case.item_states() == ["agreed", "open"]
    # A declined flag has no decision.
    assert case.flag_states() == ["open", "open"]


def test_an_undone_decline_leaves_the_item_as_before_for_its_reviewer_and_the_next(case):
    case.queue_of(0.1, needed=2)
    leased = case.lease(case.mara)
    assert case.skip(leased, case.mara, "cannot be judged")
    again = skip_undone(case, leased)
    assert (again.item_id, case.item_states()) == (leased.item_id, ["open"])
    progress = case.progress()
    check_fields(progress, declined=0, leased=1, agreed=0)
    assert not any(person.skipped for person in progress.people)
    case.say(again, case.mara, label="hallucinated")
    # The second review is needed again.
    assert case.item_states() == ["open"]
    case.review(case.jon, label="hallucinated")
    assert case.item_states() == ["agreed"]


def test_an_undone_decline_after_a_review_needs_the_second_review_again(case):
    case.queue_of(0.1, needed=2)
    case.review(case.jon, label="hallucinated")
    leased = case.lease(case.mara)
    assert case.skip(leased, case.mara, "cannot be judged")
    # The review before the decline counts alone.
    assert (case.item_states(), case.flag_states()) == (["agreed"], ["confirmed"])
    assert case.take(case.ada) is None
    again = skip_undone(case, leased)
    assert case.flag_states() == ["open"]
    assert case.release(again, case.mara)
    assert case.lease(case.ada).item_id == leased.item_id


def test_an_undone_skip_is_nobodys_if_another_has_the_item_by_now(case):
    case.queue_of(0.1)
    leased = case.lease(case.mara)
    assert case.skip(leased, case.mara, "in French")
    taken = case.lease(case.jon)
    assert skip_undone(case, leased) is None
    assert case.release(taken, case.jon)
    # The skip does not count any more.
    assert case.lease(case.mara).item_id == leased.item_id


def test_what_is_given_back_is_free_at_once_and_what_is_skipped_goes_to_others(case):
    case.queue_of(0.1, 0.2)
    leased = case.lease(case.mara)
    assert case.release(leased, case.mara)
    assert not case.release(leased, case.mara)
    again = case.lease(case.mara)
    assert again.item_id == leased.item_id
    assert case.skip(again, case.mara, "in French")
    assert case.lease(case.mara).response_id == 2
    assert case.lease(case.jon).response_id == 1
    assert case.release(case.lease(case.jon), case.jon)
    assert case.take_item(leased.item_id, case.mara).response_id == 1


@on_sqlite
def test_a_queue_that_is_given_to_people_is_theirs_and_a_closed_one_is_nobodys(case):
    case.queue_of(0.1, assigned=(case.mara,))
    with pytest.raises(BadInput):
        case.take(case.jon)
    leased = case.lease(case.mara)
    case.close()
    assert_refused("closed", case, leased, case.mara)
    with pytest.raises(BadInput, match="'q'"):
        case.take(case.mara)
    with pytest.raises(NotFound, match=r"'x'.* q$"):
        case.take(case.mara, "x")


@on_sqlite
def test_a_token_is_good_once_and_for_its_holder_alone(case):
    case.queue_of(0.1)
    leased = case.lease(case.mara)
    assert_refused(NO_LEASE, case, leased, case.jon)
    first = case.say(leased, case.mara, request_key="one press")
    again = case.say(leased, case.mara, request_key="one press")
    check_fields(again, review_id=first.review_id, repeated=True)
    assert_refused(DECIDED, case, leased, case.mara)


@on_sqlite
def test_who_does_not_hold_an_item_is_told_what_became_of_it(case):
    case.queue_of(0.1)
    skipped = case.lease(case.mara)
    case.skip(skipped, case.mara)
    assert_refused(FREE, case, skipped, case.mara)
    asked_for = case.take_item(skipped.item_id, case.mara)
    assert_refused(NEWER_LEASE, case, skipped, case.mara)
    case.say(asked_for, case.mara)
    assert_refused(DECIDED, case, skipped, case.mara)


def test_only_who_held_a_lease_of_an_item_has_their_words_kept(case):
    case.queue_of(0.1, 0.2, 0.3, needed=2, assigned=(case.mara, case.jon), **BLIND)
    leased = case.lease(case.mara)
    other = case.lease(case.mara, "q", leased.token)
    before = case.reviews(), case.rows(EVENT), case.leases()
    secret, of_other = (each.token.partition(".")[2] for each in (leased, other))
    tokens = {
        "made up": (case.mara, f"{leased.item_id}.madeup"),
        "of another person": (case.jon, leased.token),
        "of a person without a lease": (case.ada, leased.token),
        "of another item": (case.mara, f"{leased.item_id}.{of_other}"),
        "of an item that was never leased": (case.mara, f"{case.items()[2]['id']}.{secret}"),
    }
    for what, (who, token) in tokens.items():
        with pytest.raises(DecisionRefused) as refused:
            case.say(
                replace(leased, token=token), who, label="grounded", groundedness=0.9, note="typed"
            )
        assert str(refused.value) == NO_LEASE, what
        assert renew(case.store, token, who, now=case.now + timedelta(minutes=5)) is None, what
        assert not skip(case.store, token, who, now=case.now), what
        assert not release(case.store, token, who, now=case.now), what
        assert not case.read(is_leased, token, who), what
    assert (case.reviews(), case.rows(EVENT), case.leases()) == before


def test_late_words_are_kept_however_often_the_item_went_on_since(case):
    case.queue_of(0.1, 0.2)
    lost = case.lease(case.mara)
    for who in (case.jon, case.ada):
        case.later(minutes=11)
        assert case.lease(who).item_id == lost.item_id
    case.later(minutes=11)
    case.judge(lost.response_id, 0.9)
    case.lease(case.lead)
    assert case.item_states() == ["left", "open"]
    for _ in range(2):
        assert_refused("kept", case, lost, case.mara, note="typed for minutes", request_key="late")
    assert columns(case.reviews(), "note", "reviewer_id", "queue_item_id") == [
        ("typed for minutes", case.mara.id, None)
    ]


@on_sqlite
def test_a_note_that_comes_after_the_others_could_be_read_is_not_blind(case):
    case.queue_of(0.1, assigned=(case.mara, case.jon), **BLIND)
    lost = case.lease(case.mara)
    case.later(minutes=11)
    case.lease(case.jon)
    assert_refused(LOST, case, lost, case.mara, groundedness=0.9, note="first")
    case.review(case.jon, groundedness=0.1)
    assert_refused(LOST, case, lost, case.mara, groundedness=0.2, note="second")
    assert columns(case.reviews(), "stage", "seen", "groundedness") == [
        ("blind", [], None),
        ("blind", [], 0.1),
        (None, ["judge", "people"], None),
    ]


@on_sqlite
def test_who_takes_by_name_what_they_hold_takes_that_place_and_no_second_one(case):
    case.queue_of(0.1, needed=2)
    first = case.lease(case.jon)
    leased = case.lease(case.mara)
    case.release(first, case.jon)
    assert case.take_item(leased.item_id, case.mara).item_id == leased.item_id
    assert case.take(case.jon)


@on_sqlite
@pytest.mark.parametrize(
    "token", ["nonsense", "99999999999999999999.x", f"{2**63}.x", "9" * 5_000 + ".x", "1.\x00"]
)
def test_what_is_no_token_is_refused_as_such(case, token):
    with pytest.raises(BadInput):
        renew(case.store, token, case.mara)


def test_a_press_that_arrives_several_times_at_once_is_one(case):
    case.queue_of(0.1)
    leased = case.lease(case.mara)
    with ThreadPoolExecutor(4) as threads:
        presses = [
            threads.submit(case.say, leased, case.mara, note="once", request_key="one press")
            for _ in range(4)
        ]
    decided = [press.result() for press in presses]
    assert columns(case.reviews(), "id") == [decided[0].review_id]
    assert sorted(one.repeated for one in decided) == [False, True, True, True]


@on_sqlite
@pytest.mark.parametrize("by_name", [True, False])
def test_several_sessions_of_one_person_at_one_item_hold_it_once(case, by_name):
    case.flagged(0.1)
    for number in range(8):
        name, start = f"q{number}", Barrier(4)
        queue_id = case.queue(name, needed=4).queue.id
        item_id = case.items()[-1]["id"]

        def take(_session, name=name, item_id=item_id, start=start):
            start.wait()
            return case.take_item(item_id, case.mara) if by_name else case.take(case.mara, name)

        with ThreadPoolExecutor(4) as sessions:
            assert {leased.item_id for leased in sessions.map(take, range(4))} == {item_id}
        held = [lease["queue_id"] for lease in case.leases() if lease["token"] is not None]
        assert held.count(queue_id) == 1


@on_sqlite
def test_what_stopped_matching_while_its_holder_went_away_is_not_handed_out(case):
    gone, other = case.flagged(0.1, 0.2)
    case.queue(needed=2)
    for who in (case.mara, case.jon):
        assert case.lease(who).response_id == gone
    case.judge(gone, 0.9)
    case.later(minutes=20)
    assert case.lease(case.ada).response_id == other
    assert case.item_states() == ["left", "open"]
    assert case.lease(case.mara).response_id == other


@on_sqlite
def test_what_stopped_matching_is_not_taken_by_its_id_nor_into_a_bundle(case, tmp_path):
    for name in ("page", "file"):
        [gone] = case.flagged(0.1)
        case.queue(name)
        leased = case.lease(case.mara, name)
        case.judge(gone, 0.9)
        case.later(minutes=20)
        if name == "page":
            assert case.take_item(leased.item_id, case.jon) is None
    options = {"items": 1, "by": case.lead, "now": case.now}
    with pytest.raises(BadInput, match="Jon"):
        export_bundle(case.store, "file", case.jon, tmp_path / "b", **options)


def test_what_still_matches_goes_to_the_next_with_what_was_reviewed_of_it(case):
    (answer,) = case.flagged(0.1)
    case.queue(needed=2)
    case.review(case.jon)
    assert case.lease(case.mara).response_id == answer
    case.judge(answer, 0.9)  # somebody reviewed it: it stays
    case.later(minutes=20)
    assert case.lease(case.ada).response_id == answer


@on_sqlite
def test_who_reviewed_an_item_does_not_take_it_once_more_by_its_id(case):
    case.queue_of(0.1, needed=2)
    done = case.review(case.mara)
    assert case.take_item(done.item_id, case.mara) is None
    assert case.take_item(done.item_id, case.jon)


@on_sqlite
def test_what_is_served_again_to_one_person_is_not_taken_by_another(case):
    case.queue_of(0.1, repeat_rate=0.999)
    case.review(case.mara)
    case.later(days=8)
    again = case.lease(case.mara)
    assert case.release(again, case.mara)
    assert case.take_item(again.item_id, case.jon) is None
    assert case.take_item(again.item_id, case.mara)


ITEMS, WORKERS, SHARE = 75, 20, 3


def check(store, worked, *before):
    sys.stdout.write(f"longest wait for an item: {max(one.longest for one in worked):.2f} s\n")
    decided = Counter(item for one in (*before, *worked) for item in (*one.share, *one.rest))
    # No item is lost.
    assert len(decided) == ITEMS
    # No item is decided twice.
    assert set(decided.values()) == {1}
    # Everybody gets a share.
    assert [len(one.share) for one in worked] == [SHARE] * WORKERS
    for column, value in (
        (FLAG.c.state, "confirmed"),
        (QUEUE_ITEM.c.state, "agreed"),
        (LEASE.c.done, True),
        (REVIEW.c.decision, "confirm"),
    ):
        assert values_of(store, column) == [value] * ITEMS, column


def test_threads_on_sqlite(sqlite_store):
    race_case(sqlite_store, ITEMS)
    check(sqlite_store, race_threads(sqlite_store, "race", WORKERS, SHARE))


@pytest.mark.postgres
def test_processes_on_postgres(postgres_store):
    race_case(postgres_store, ITEMS)
    script = Path(__file__).parents[2] / "queue_race.py"
    command = [sys.executable, script, address(postgres_store), "race", f"{WORKERS}", f"{SHARE}"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    first, *worked = (Worked(**json.loads(line)) for line in done.stdout.splitlines())
    check(postgres_store, worked, first)


KILLED_ITEMS, REVIEWERS = 100, 10


def acknowledged(database, until):
    """Let ten reviewers work and kill their process after so many acknowledged reviews; return them with their item."""
    output, to_output = Pipe(duplex=False)
    process = fork_server().Process(
        target=acknowledge, args=(database, "race", REVIEWERS, to_output), daemon=True
    )
    process.start()
    to_output.close()
    decided = {}
    with output:
        while True:
            try:
                review, item = output.recv()
            except EOFError:
                break
            decided[review] = item
            if len(decided) == until:
                process.kill()
    process.join()
    return decided


def test_no_acknowledged_decision_is_lost_and_the_rest_goes_on(store):
    race_case(store, KILLED_ITEMS)
    decided = acknowledged(address(store), until=25) | acknowledged(address(store), until=35)
    assert len(decided) >= 60
    stored = dict(columns(rows_of(store, REVIEW), "id", "queue_item_id"))
    used = dict(columns(rows_of(store, LEASE), "review_id", "queue_item_id"))
    assert decided.items() <= stored.items()
    used.pop(None, None)  # of items that were leased when the process was killed
    assert used == stored  # none half-written
    with store.writing() as connection:  # their time is over
        connection.execute(LEASE.update().where(LEASE.c.done.is_(False)).values(until=None))
    done = work(store, "race", "late", KILLED_ITEMS)
    decided_items = [*stored.values(), *done.share]
    assert len(decided_items) == len(set(decided_items)) == KILLED_ITEMS


def test_in_a_closed_queue_no_lease_is_extended(case):
    case.queue_of(0.1)
    leased = case.lease(case.mara)
    assert renew(case.store, leased.token, case.mara, now=case.now)
    case.close()
    assert renew(case.store, leased.token, case.mara, now=case.now) is None


@on_sqlite
def test_what_left_and_what_another_person_gets_again_is_no_work_of_ones_own(case):
    case.queue_of(0.1, 0.2, 0.3, repeat_rate=0.999)
    for _ in range(2):
        case.review(case.mara)
    case.judge(3, 0.9)
    case.later(days=8)
    assert case.lease(case.mara).response_id != 3
    assert case.read(count_items_for, 1, case.jon.id) == (2, 0)


@on_sqlite
def test_an_item_that_somebody_skipped_for_another_reason_is_not_declined(case):
    case.queue_of(0.1, 0.2)
    case.skip(case.lease(case.mara), case.mara, "no time")
    case.review(case.jon)
    case.skip(case.lease(case.jon), case.jon, CANNOT_BE_JUDGED)
    check_fields(case.progress(), declined=1, agreed=1)
