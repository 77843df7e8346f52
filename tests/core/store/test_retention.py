"""Texts go when they are kept no longer, and figures stay."""

import threading
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest

from judgeboard.domain import Pair, Response, ResponseKind
from judgeboard.errors import BadInput, NotFound
from judgeboard.imports.importing import import_file
from judgeboard.methods.anchors.queries import insert_anchor_set
from judgeboard.methods.suites.tables import SUITE_CASE, SUITE_RUN
from judgeboard.reports.stats import measure_log
from judgeboard.reviews.changes import comment
from judgeboard.reviews.queues import close_queue, create_queue
from judgeboard.runs.retention import RETENTION
from judgeboard.store.clock import utc_now
from judgeboard.store.events import EventFilter, latest_events
from judgeboard.store.items import load_item
from judgeboard.store.own_reviews import save_draft
from judgeboard.store.pairs import store_pairs
from judgeboard.store.queues import new_queue
from judgeboard.store.retention import ENDED, forget_expired
from judgeboard.store.reviewers import store_reviewer
from judgeboard.store.storing import store_responses
from judgeboard.store.tables import RESPONSE, SPAN, TRACE
from judgeboard.store.traces import NONE
from judging_log import address
from killed_at import expire_in_small_batches, kill_at
from stored_rows import insert_row, read, row_count, values_of, write_to

STORED = datetime(2026, 3, 1, 12, 30, tzinfo=UTC)
LATER = STORED + timedelta(days=91)


@pytest.fixture(autouse=True)
def kept_for_90_days(monkeypatch):
    monkeypatch.setenv("JUDGEBOARD_KEEP_TEXTS", "90 days")


def stored(log, *names, source="shop", **fields):
    responses = [
        Response(source, name, f"Who is {name}?", f"It is {name}.", **fields) for name in names
    ]
    return write_to(log.store, store_responses, responses, now=STORED).new


def store_unused_trace(log, name, at, *, source):
    """Store a trace without an answer, with one span of the same name."""
    own = {"external_id": name, "source": source, "state": NONE, "last_at": at}
    trace = insert_row(log.store, TRACE, {}, **own)
    insert_row(log.store, SPAN, {"trace": trace}, external_id=name, kind="span")


def with_texts(log):
    return set(values_of(log.store, RESPONSE.c.external_id, RESPONSE.c.answer.is_not(None)))


def events_of(log, kind):
    return read(log.store, latest_events, EventFilter(kind=kind), limit=9)


def kept(results):
    [result] = results
    return dict(result.kept)


@pytest.mark.parametrize(
    ("now", "goes"),
    [
        (STORED + timedelta(days=90), False),
        (STORED + timedelta(days=90, microseconds=1), True),
        ((STORED + timedelta(days=90)).astimezone(timezone(timedelta(hours=14))), False),
        ((STORED + timedelta(days=90, seconds=1)).astimezone(timezone(-timedelta(hours=11))), True),
    ],
)
def test_a_text_is_kept_for_its_days_to_the_moment_in_any_time_zone(log, now, goes):
    stored(log, "a")
    [result] = forget_expired(log.store, now)
    assert (result.answers, with_texts(log)) == ((1, set()) if goes else (0, {"a"}))


def test_each_source_has_its_own_time(log, monkeypatch):
    for name in ("short", "long", "other"):
        stored(log, name, source=name)
    sources = '{"short": {"keep_texts": "1 day"}, "long": {"keep_texts": "always"}}'
    monkeypatch.setenv("JUDGEBOARD_SOURCES", sources)
    forget_expired(log.store, STORED + timedelta(days=2))
    assert with_texts(log) == {"long", "other"}
    assert [each.source for each in forget_expired(log.store, LATER)] == ["other", "short"]
    assert with_texts(log) == {"long"}
    monkeypatch.setenv("JUDGEBOARD_KEEP_TEXTS", "")
    stored(log, "new", source="other")
    assert [each.source for each in forget_expired(log.store, LATER)] == ["short"]


def test_an_unknown_source_is_refused(log):
    stored(log, "a")
    with pytest.raises(NotFound, match="shpo"):
        forget_expired(log.store, LATER, source="shpo", dry_run=True)


@pytest.mark.parametrize("wrong", ["90", "0 days", "-1 days", "90 hours", "never", "1.5 days"])
def test_a_wrong_time_is_refused(log, monkeypatch, wrong):
    monkeypatch.setenv("JUDGEBOARD_KEEP_TEXTS", wrong)
    with pytest.raises(BadInput, match="KEEP_TEXTS"):
        forget_expired(log.store, LATER)


def test_what_people_work_with_stays_with_the_reason(log):
    names = "reviewed", "commented", "drafted", "anchored", "made", "free", "other"
    reviewed, commented, drafted, anchored, made, *_ = stored(log, *names)
    log.review(reviewed, groundedness=0.5)
    mara = write_to(log.store, store_reviewer, "page", "mara")
    comment(log.store, reviewer=mara, text="Look.", request_key="c", response_id=commented)
    write_to(log.store, save_draft, mara.id, drafted, {"note": "?"}, utc_now())
    write_to(log.store, insert_anchor_set, [anchored], "seed", "mara", STORED)
    # A reviewed answer that was made from another keeps the texts of both.
    [second] = stored(log, "second", kind=ResponseKind.REGENERATED, derived_from=made)
    log.review(second, groundedness=0.5)
    [dry] = forget_expired(log.store, LATER, dry_run=True)
    assert len(with_texts(log)) == 8
    [result] = forget_expired(log.store, LATER)
    assert (dry.answers, dry.kept) == (result.answers, result.kept)
    assert result.answers == 2
    assert dict(result.kept) == {"reviewed": 3, "under review": 1, "anchor": 1}
    assert with_texts(log) == {"reviewed", "commented", "drafted", "anchored", "made", "second"}


def test_an_item_of_an_open_queue_stays_until_the_queue_is_closed(log):
    stored(log, "queued")
    create_queue(log.store, new_queue("all", flagged_only=False, max_items=9), by="library")
    assert kept(forget_expired(log.store, LATER)) == {"under review": 1}
    close_queue(log.store, "all", by="library")
    assert kept(forget_expired(log.store, LATER)) == {}
    assert with_texts(log) == set()


def test_answers_of_suites_and_pairs_with_a_gold_preference_stay(log):
    [case] = stored(log, "case")
    stored(log, "candidate", kind=ResponseKind.CANDIDATE)
    version = log.version()
    ids = {"judge_version": version.id, "run": log.run(version, {})}
    suite = insert_row(log.store, SUITE_RUN, ids)
    insert_row(log.store, SUITE_CASE, {"suite_run": suite, "response": case})
    pairs = [
        Pair("shop", name, "q?", f"{name} 1", f"{name} 2", gold=gold)
        for name, gold in (("gold", "a"), ("plain", None))
    ]
    write_to(log.store, store_pairs, pairs, None, STORED)
    assert kept(forget_expired(log.store, LATER)) == {"in a suite": 1, "gold": 2}
    assert len(with_texts(log)) == 4


def test_figures_stay_and_say_how_many_texts_are_gone(log):
    ids = stored(log, *map(str, range(12)))
    version = log.version()
    log.say(version, {id_: {"groundedness": number / 12} for number, id_ in enumerate(ids)})
    log.reviews({id_: {"groundedness": 0.5, "label": "grounded"} for id_ in ids[:6]})
    before = measure_log(log.store)
    forget_expired(log.store, LATER)
    after = measure_log(log.store)
    assert (before.forgotten, after.forgotten) == (0, 6)
    assert replace(after, forgotten=0) == before
    assert read(log.store, load_item, ids[-1]).forgotten_at is not None


def test_a_forgotten_answer_does_not_come_back_by_the_same_import(log, tmp_path):
    file = tmp_path / "log.jsonl"
    file.write_text(
        '{"id": "1", "query": "q?", "answer": "a", "feedback": {"stars": 1, "comment": "c"}}\n'
    )
    assert import_file(log.store, file, source="shop").new == 1
    forget_expired(log.store, utc_now() + timedelta(days=91))
    again = import_file(log.store, file, source="shop")
    assert (again.new, again.unchanged, with_texts(log)) == (0, 1, set())


def test_a_killed_process_continues_where_it_stopped(log):
    stored(log, *"abcde")
    for number in range(50):
        store_unused_trace(log, f"trace {number}", STORED, source="shop")
    place, counts, moment = address(log.store), set(), 0
    while kill_at(moment := moment + 15, expire_in_small_batches, place):
        left = len(with_texts(log))
        assert not events_of(log, ENDED)
        assert len(events_of(log, "forget")) == 5 - left  # each answer as a whole, or not at all
        counts.add((left, row_count(log.store, SPAN)))
    assert any(0 < answers < 5 for answers, _ in counts)
    assert any(0 < spans < 50 for _, spans in counts)
    assert (with_texts(log), row_count(log.store, SPAN)) == (set(), 0)
    assert len(events_of(log, ENDED)) == 1


@pytest.fixture
def night(monkeypatch):
    """The time of the duty, which a test sets."""
    clock = [LATER]
    monkeypatch.setattr("judgeboard.runs.retention.utc_now", lambda: clock[0])
    return clock


def due(log):
    return read(log.store, RETENTION.due)


def test_workers_forget_once_a_night_and_leave_an_event(log, night):
    stored(log, "a")
    [key] = due(log)
    closing = threading.Event()
    closing.set()
    RETENTION.do(log.store, key, "worker", closing)  # it is stopped: the next one goes on
    assert due(log) == [key]
    RETENTION.do(log.store, key, "worker", threading.Event())
    assert (due(log), with_texts(log)) == ([], set())
    [event] = events_of(log, ENDED)
    assert event.details == {"sources": {"shop": [0, 0, 0]}}
    night[0] += timedelta(days=1)
    assert due(log) != []


def test_the_night_is_due_although_a_person_has_chosen_one_source(log, night):
    for name in ("shop", "other"):
        stored(log, name, source=name)
    forget_expired(log.store, night[0], actor="cli:mara", source="shop")
    [key] = due(log)
    RETENTION.do(log.store, key, "worker", threading.Event())
    assert (due(log), with_texts(log)) == ([], set())


def test_traces_without_an_answer_go_also_of_a_source_without_answers(log):
    stored(log, "a")
    store_unused_trace(log, "traces", STORED, source="traces")
    store_unused_trace(log, "new", LATER, source="new")
    for dry_run in (True, False):
        results = forget_expired(log.store, LATER, dry_run=dry_run)
        counts = {each.source: (each.answers, each.traces) for each in results}
        assert counts == {"new": (0, 0), "shop": (1, 0), "traces": (0, 1)}
    assert values_of(log.store, SPAN.c.external_id) == ["new"]


def test_nothing_is_due_while_all_texts_are_kept(log, monkeypatch):
    monkeypatch.setenv("JUDGEBOARD_KEEP_TEXTS", "always")
    assert due(log) is None


def test_the_command_counts_before_it_deletes(log, shell):
    reviewed, _ = stored(log, "a", "b")
    log.review(reviewed, groundedness=0.5)
    said = shell(f"db expire --dry-run --db {address(log.store)}")
    assert "shop" in said
    assert "1 reviewed" in said
    assert with_texts(log) == {"a", "b"}
    shell(f"db expire --yes --db {address(log.store)}")
    assert with_texts(log) == {"a"}
