"""People prefer one of two answers: once a press, blind and over the judge apart, and edits replace."""

from datetime import UTC, datetime
from typing import Any

import pytest

from engines import on_sqlite
from judgeboard.agreement.pair_report import ComparedPairs, Listed, measure_pairs
from judgeboard.agreement.pair_screen import PairScreen, pair_screen
from judgeboard.domain import Grade, Preference, Shown, Status, StepRecord
from judgeboard.errors import BadInput, NotFound
from judgeboard.people.roster import ensure_reviewer
from judgeboard.reviews.decisions import prefer
from judgeboard.reviews.shown import order_for, stored_side
from judgeboard.store.comparisons import NewComparison, store_comparisons
from judgeboard.store.engine import Store
from judgeboard.store.judge_versions import StoredVersion
from judgeboard.store.preferences import load_preferences, votes_by_pair
from judgeboard.store.reviewers import Reviewer
from judgeboard.store.tables import COMPARISON, EVENT, PREFERENCE_SCORE, REVIEW
from pair_log import add_pairs, people_say, record
from stored_rows import rows_of

A, B, TIE = Preference
NOW = datetime(2026, 3, 1, 9, 41, tzinfo=UTC)


@pytest.fixture
def mara(store: Store) -> Reviewer:
    return ensure_reviewer(store, "page", "Mara")


def say(store: Store, pair_id: int, by: Reviewer, preference: Preference, key: str, **more: Any) -> int:
    fields = {"shown": Shown.AB, "now": NOW} | more
    return prefer(store, pair_id=pair_id, reviewer=by, preference=preference, request_key=key, **fields)


def screen(store: Store, pair_id: int, by: Reviewer, version: StoredVersion | None = None) -> PairScreen:
    with store.reading() as connection:
        number = None if version is None else version.id
        return pair_screen(connection, pair_id, aspect="overall", reviewer_id=by.id, version_id=number)


def test_a_preference_is_stored_with_the_order_shown_and_who_said_it(store: Store, mara: Reviewer) -> None:
    (pair_id,) = add_pairs(store, 1)
    say(store, pair_id, mara, B, "one", shown=Shown.BA, grade=Grade(note=" clearer "), seconds=12.5)
    (row,) = rows_of(store, REVIEW)
    assert (row["shown"], row["note"], row["seconds"], row["reviewer_id"]) == ("ba", "clearer", 12.5, mara.id)
    assert (row["comparison_seen_id"], row["replaces"], row["at"]) == (None, None, NOW)
    assert [(each["aspect"], each["preference"]) for each in rows_of(store, PREFERENCE_SCORE)] == [("overall", "b")]
    event = rows_of(store, EVENT)[-1]
    assert (event["kind"], event["actor"], event["details"]["pair"]) == ("prefer", "Mara", pair_id)


@on_sqlite
def test_the_same_press_twice_counts_once_and_a_key_belongs_to_one_press(store: Store, mara: Reviewer) -> None:
    first, other = add_pairs(store, 2)
    assert say(store, first, mara, A, "one") == say(store, first, mara, A, "one")
    assert len(rows_of(store, REVIEW)) == 1
    for pair_id, by, preference in (
        (other, mara, A),
        (first, mara, B),
        (first, ensure_reviewer(store, "page", "Jon"), A),
    ):
        with pytest.raises(BadInput, match="belongs to another review"):
            say(store, pair_id, by, preference, "one")


@on_sqlite
def test_only_the_first_word_is_blind_and_it_is_never_replaced(store: Store, mara: Reviewer) -> None:
    (pair_id,) = add_pairs(store, 1, gold=A, model_a="alpha")
    version = record(store, [pair_id], {"ab": "b", "ba": "b"})
    say(store, pair_id, mara, A, "one")
    changed = say(store, pair_id, mara, TIE, "two")
    say(store, pair_id, mara, B, "three")
    rows = rows_of(store, REVIEW)
    assert [(not row["seen"], row["replaces"]) for row in rows] == [(True, None), (False, None), (False, changed)]
    shown = screen(store, pair_id, mara, version)
    assert (shown.own, shown.overruled) == (A, B)
    (group,) = measure_pairs(store, version.id).groups
    assert (group.people.value, group.people.n) == (0, 1), "A, said blind, is not the judge's B"


def test_what_was_revealed_of_a_pair_is_seen_on_every_aspect(sqlite_store: Store) -> None:
    mara = ensure_reviewer(sqlite_store, "page", "Mara")
    (pair_id,) = add_pairs(sqlite_store, 1, gold=A)
    say(sqlite_store, pair_id, mara, A, "one")
    with sqlite_store.reading() as connection:
        other = pair_screen(connection, pair_id, aspect="style", reviewer_id=mara.id, version_id=None)
    assert other.revealed is not None
    assert other.own is None
    say(sqlite_store, pair_id, mara, B, "two", aspect="style")
    assert [not row["seen"] for row in rows_of(sqlite_store, REVIEW)] == [True, False]


def test_of_several_aspects_the_reasons_of_this_one_are_shown(sqlite_store: Store) -> None:
    mara = ensure_reviewer(sqlite_store, "page", "Mara")
    (pair_id,) = add_pairs(sqlite_store, 1)
    version = record(sqlite_store, [], {})
    verdicts = {"overall": A, "style": B}
    reasons = "overall: Right.\nAll of it.\nstyle: Wordy."
    with sqlite_store.writing() as connection:
        one = NewComparison(pair_id, Shown.AB, StepRecord(Status.OK), verdicts, reasoning=reasons)
        store_comparisons(connection, version, None, [one])
    reasonings = {}
    for aspect in verdicts:
        with sqlite_store.reading() as connection:
            seen = pair_screen(
                connection, pair_id, aspect=aspect, reviewer_id=mara.id, version_id=version.id, verdict_seen=True
            )
        assert seen.revealed is not None
        reasonings[aspect] = seen.revealed.latest_comparisons[0].reasoning
    assert reasonings == {"overall": "Right.\nAll of it.", "style": "Wordy."}


def test_what_is_said_over_the_judge_stands_beside_the_blind_word_and_agreement_reads_the_blind_one(
    store: Store, mara: Reviewer
) -> None:
    (pair_id,) = add_pairs(store, 1)
    version = record(store, [pair_id], {"ab": "b", "ba": "b"})
    seen = rows_of(store, COMPARISON)[0]["id"]
    say(store, pair_id, mara, A, "one")
    over = say(store, pair_id, mara, TIE, "two", comparison_seen_id=seen)
    say(store, pair_id, mara, B, "three", comparison_seen_id=seen)
    assert [row["replaces"] for row in rows_of(store, REVIEW)] == [None, None, over]
    shown = screen(store, pair_id, mara, version)
    assert (shown.own, shown.overruled) == (A, B)
    (group,) = measure_pairs(store, version.id).groups
    with store.reading() as connection:
        (line,) = ComparedPairs(connection, version, mara.id).lines()
    assert (group.people.value, group.people.n) == (0, 1), "A, said blind, is not the judge's B"
    assert (line.overruled, line.wrong, line.mine) == (B, True, True)


@on_sqlite
def test_who_has_overruled_the_judge_is_blind_no_more(store: Store, mara: Reviewer) -> None:
    (pair_id,) = add_pairs(store, 1)
    record(store, [pair_id], {"ab": "b", "ba": "b"})
    say(store, pair_id, mara, A, "one", comparison_seen_id=rows_of(store, COMPARISON)[0]["id"])
    say(store, pair_id, mara, A, "two")
    assert [not row["seen"] for row in rows_of(store, REVIEW)] == [False, False]
    with store.reading() as connection:
        (vote,) = votes_by_pair(load_preferences(connection)).values()
    assert (vote.majority, vote.people) == (A, 1), "there is no blind word: the latest counts"


@on_sqlite
def test_aspects_stand_apart(store: Store, mara: Reviewer) -> None:
    (pair_id,) = add_pairs(store, 1)
    say(store, pair_id, mara, A, "one")
    say(store, pair_id, mara, B, "two", aspect="style")
    assert [row["replaces"] for row in rows_of(store, REVIEW)] == [None, None]


def test_what_cannot_be_meant_is_refused(sqlite_store: Store) -> None:
    mara = ensure_reviewer(sqlite_store, "page", "Mara")
    first, other = add_pairs(sqlite_store, 2)
    record(sqlite_store, [other], {"ab": "a", "ba": "a"})
    with pytest.raises(NotFound, match="no pair 99"):
        say(sqlite_store, 99, mara, A, "one")
    with pytest.raises(BadInput, match="does not belong to pair"):
        say(sqlite_store, first, mara, A, "one", comparison_seen_id=rows_of(sqlite_store, COMPARISON)[0]["id"])
    for more in ({"seconds": -1}, {"grade": Grade(note="a\x00b")}, {"aspect": ""}):
        with pytest.raises(BadInput):
            say(sqlite_store, first, mara, A, "one", **more)
    assert rows_of(sqlite_store, REVIEW) == []


def test_orders_are_fixed_for_a_person_and_as_good_as_random() -> None:
    orders = [order_for(pair_id, 7) for pair_id in range(1, 1001)]
    assert 440 < orders.count(Shown.AB) < 560
    assert orders == [order_for(pair_id, 7) for pair_id in range(1, 1001)]
    assert orders != [order_for(pair_id, 8) for pair_id in range(1, 1001)]


def test_nothing_of_judge_or_models_is_read_before_the_decision(sqlite_store: Store) -> None:
    mara = ensure_reviewer(sqlite_store, "page", "Mara")
    (pair_id,) = add_pairs(sqlite_store, 1, model_a="alpha", model_b="beta", gold=A)
    version = record(sqlite_store, [pair_id], {"ab": "a", "ba": "-"})
    people_say(sqlite_store, pair_id, "b")
    before = screen(sqlite_store, pair_id, mara, version)
    assert before.revealed is None
    assert not {"alpha", "beta", "p0", "recorded"} & set(repr(before).replace("'", " ").split())
    say(sqlite_store, pair_id, mara, A, "one", shown=before.shown)
    after = screen(sqlite_store, pair_id, mara, version).revealed
    assert after is not None
    assert {after.model_left, after.model_right} == {"alpha", "beta"}
    assert (after.model_left == "alpha") is (before.shown is Shown.AB)
    assert [(each.shown, each.status) for each in after.latest_comparisons] == [
        (Shown.AB, "ok"),
        (Shown.BA, "unparsable"),
    ]
    assert (after.gold, after.votes.people if after.votes else None) == (A, 2)


@pytest.mark.parametrize("order", Shown)
def test_sides_are_those_of_the_screen(sqlite_store: Store, order: Shown) -> None:
    mara = ensure_reviewer(sqlite_store, "page", "Mara")
    pair_ids = add_pairs(sqlite_store, 40)
    pair_id = next(each for each in pair_ids if order_for(each, mara.id) is order)
    shown = screen(sqlite_store, pair_id, mara)
    assert (shown.left or "").startswith("left" if order is Shown.AB else "right"), "add_pairs names answer A left-…"
    assert stored_side("left", shown.shown) is (A if order is Shown.AB else B)
    assert [shown.side(stored_side(side, shown.shown)) for side in ("left", "right", "tie")] == ["left", "right", "tie"]


def test_the_judgment_in_view_is_that_in_the_order_the_person_sees(sqlite_store: Store) -> None:
    mara = ensure_reviewer(sqlite_store, "page", "Mara")
    pair_ids = add_pairs(sqlite_store, 10)
    version = record(sqlite_store, pair_ids, {"ab": "a" * 10, "ba": "a" * 10})
    for pair_id in pair_ids:
        assert screen(sqlite_store, pair_id, mara, version).seen_id is None
        say(sqlite_store, pair_id, mara, A, f"key {pair_id}", shown=order_for(pair_id, mara.id))
        shown = screen(sqlite_store, pair_id, mara, version)
        seen = next(row for row in rows_of(sqlite_store, COMPARISON) if row["id"] == shown.seen_id)
        assert (seen["pair_id"], seen["shown"]) == (pair_id, shown.shown)


def test_who_comes_from_the_list_has_seen_the_verdict_and_speaks_over_it(sqlite_store: Store) -> None:
    mara = ensure_reviewer(sqlite_store, "page", "Mara")
    judged, other = add_pairs(sqlite_store, 2)
    version = record(sqlite_store, [judged], {"ab": "a", "ba": "a"})
    with sqlite_store.reading() as connection:
        options = {"aspect": "overall", "reviewer_id": mara.id, "version_id": version.id, "verdict_seen": True}
        seen, unseen = (pair_screen(connection, pair_id, **options) for pair_id in (judged, other))
    assert seen.revealed is not None
    assert seen.seen_id is not None
    assert unseen.revealed is None, "the judge said nothing of it: there is nothing to have seen"


def test_lists_hold_what_their_names_say(sqlite_store: Store) -> None:
    mara = ensure_reviewer(sqlite_store, "page", "Mara")
    pair_ids = add_pairs(sqlite_store, 5, gold=A)
    version = record(sqlite_store, pair_ids, {"ab": "aabt-", "ba": "aabaa"})
    say(sqlite_store, pair_ids[0], mara, A, "one")
    with sqlite_store.reading() as connection:
        compared = ComparedPairs(connection, version, mara.id)
        listed = {each: [line.pair_id for line in compared.lines(listed=each)] for each in Listed}
    assert listed == {
        Listed.ALL: pair_ids,
        Listed.INCONSISTENT: [pair_ids[3]],
        Listed.WRONG: [pair_ids[2]],
        Listed.UNMEASURED: [pair_ids[4]],
        Listed.UNJUDGED: pair_ids[1:],
    }


def test_pairs_that_no_judge_compared_can_be_judged_by_people(sqlite_store: Store) -> None:
    pair_ids = add_pairs(sqlite_store, 2, query_type="QA")
    with sqlite_store.reading() as connection:
        compared = ComparedPairs(connection, None)
        assert compared.groups() == ()
        assert [(line.pair_id, line.verdict) for line in compared.lines()] == [(pair_id, None) for pair_id in pair_ids]
    assert compared.query_types == ("QA",)
