"""Storing: whatever the order and the number of writers, by indexes alone, nothing is lost or stored twice."""

import shutil
import tempfile
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import count
from operator import attrgetter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import event, select

from judgeboard.domain import Feedback, FeedbackKind, JudgeVersion, Label, Response, Status, Verdict
from judgeboard.store.judge_versions import ensure_version
from judgeboard.store.judgments import NewJudgment
from judgeboard.store.opening import open_store
from judgeboard.store.settings import set_setting
from judgeboard.store.storing import (
    reapply_flags,
    rebuild_current,
    store_judgments,
    store_responses,
)
from judgeboard.store.tables import CURRENT, FEEDBACK, FLAG, JUDGMENT, RESPONSE, VERSION
from query_plans import statements_of, steps_of
from stored_rows import rows_of, values_of, write_to

RESPONSES = 3
LOW = Verdict(Status.OK, groundedness=0.1, quality=4)
VERSIONS = (
    JudgeVersion("rag", "rag"),
    JudgeVersion("rag", "rag", params={"t": 1}),
    JudgeVersion("nli", "nli"),
)


@dataclass(frozen=True)
class Said:
    """One judge version says something of one response."""

    version: int
    response: int
    repeat: int
    verdict: Verdict


@dataclass(frozen=True)
class Rated:
    """The user of one response says something."""

    response: int
    feedback: Feedback


usable = st.builds(
    Verdict,
    st.just(Status.OK),
    groundedness=st.none() | st.sampled_from([0.0, 0.3, 0.5, 0.7, 1.0]),
    quality=st.none() | st.integers(1, 4),
    label=st.none() | st.sampled_from(Label),
)
verdicts = (
    usable
    | usable
    | st.builds(Verdict, st.sampled_from([Status.ERROR, Status.REFUSED, Status.UNPARSABLE]))
)
responses = st.integers(0, RESPONSES - 1)
said = st.builds(
    Said, st.integers(0, len(VERSIONS) - 1), responses, st.sampled_from([0, 0, 0, 1]), verdicts
)
stars = st.builds(
    Feedback, st.just(FeedbackKind.STARS), st.integers(1, 5).map(float), user=st.uuids().map(str)
)
rated = st.builds(Rated, responses, stars)
# A batch is stored in one transaction, as the runner sends them.
histories = st.lists(st.lists(said, min_size=1, max_size=5) | rated, max_size=10)


@pytest.fixture(scope="module")
def template(new_store):
    """A database with the answers and the judge versions."""
    store = new_store()
    with store.writing() as connection:
        set_setting(connection, "random_share", 0.5, "test")
        for version in VERSIONS:
            ensure_version(connection, version)
        store_responses(connection, [logged(number) for number in range(RESPONSES)])
    store.close()
    return Path(str(store.engine.url.database))


@contextmanager
def fresh(template, primary_judge=None):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "judgeboard.db"
        shutil.copyfile(template, path)
        store = open_store(path)
        store.close()

        # Nothing here outlives the process: no commit waits for the disk.
        @event.listens_for(store.engine, "connect")
        def hurry(connection, _record):
            connection.execute("PRAGMA synchronous=OFF")

        if primary_judge is not None:
            write_to(store, set_setting, "primary_judge", primary_judge, "test")
        yield store
        store.close()


def logged(number, *feedback):
    type_ = f"type {number}"
    return Response("log", f"a{number}", "query", "answer", query_type=type_, feedback=feedback)


def play(store, history):
    """Store a history batch by batch; return how many judgments came in."""
    asks = defaultdict(count)
    stored = 0
    for step in history:
        with store.writing() as connection:
            if isinstance(step, Rated):
                store_responses(connection, [logged(step.response, step.feedback)])
                continue
            for index, version in enumerate(VERSIONS):
                items = [
                    NewJudgment(
                        each.response + 1,
                        next(asks[index, each.response, each.repeat]),
                        each.repeat,
                        each.verdict,
                    )
                    for each in step
                    if each.version == index
                ]
                if items:
                    known = ensure_version(connection, version)
                    stored += store_judgments(connection, known, None, items)
    return stored


def table(store, row):
    with store.reading() as connection:
        return list(connection.execute(select(row)))


def defined_current(store):
    """The definition, by brute force: latest ok judgment (highest id, repeat 0) of a version, and of a judge."""
    judgments = [row for row in table(store, JUDGMENT) if row.status == "ok" and row.repeat == 0]
    versions = {row.id: row for row in table(store, VERSION)}
    feedback = {
        row["response_id"]: 1 + (row["value"] - 1) * 0.75 for row in rows_of(store, FEEDBACK)
    }
    current = set()
    for response in table(store, RESPONSE):
        mine = [row for row in judgments if row.response_id == response.id]
        for version in versions.values():
            of_version = [row for row in mine if row.judge_version_id == version.id]
            of_name = [row for row in mine if versions[row.judge_version_id].name == version.name]
            if of_version:
                latest = max(of_version, key=attrgetter("id"))
                is_current = latest is max(of_name, key=attrgetter("id"))
                scores = latest.groundedness, latest.quality, latest.label
                values = *scores, feedback.get(response.id), response.query_type
                current.add((version.id, response.id, latest.id, version.name, is_current, *values))
    return current


def kept_current(store):
    ids = "judge_version_id", "response_id", "judgment_id", "judge_name", "is_current"
    values = "groundedness", "quality", "label", "user_quality", "query_type"
    return {attrgetter(*ids, *values)(row) for row in table(store, CURRENT)}


def open_flags(store):
    return {(row.response_id, row.raise_key) for row in table(store, FLAG) if row.state == "open"}


@settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(history=histories)
def test_current_and_flags_follow_from_what_was_said(template, history):
    with fresh(template) as store:
        stored = play(store, history)
        assert stored == sum(len(step) for step in history if isinstance(step, list))
        assert kept_current(store) == defined_current(store)

        # What was stored step by step is what the rules say of the whole: applying them anew
        # changes nothing.
        flags, ids = open_flags(store), range(1, RESPONSES + 1)
        with store.writing() as connection:
            assert rebuild_current(connection, ids) == 0
            changes = reapply_flags(connection, ids)
        assert (changes.raised, changes.superseded) == (0, 0)

        # And the same as where every user had spoken before any judge.
        with fresh(template, judged_first(store)) as replayed:
            play(replayed, [step for step in history if isinstance(step, Rated)])
            play(replayed, [step for step in history if not isinstance(step, Rated)])
            assert open_flags(replayed) == flags

        # A judgment that is stored already multiplies nothing.
        before = [table(store, each) for each in (JUDGMENT, CURRENT, FLAG)]
        assert play(store, history) == 0
        assert [table(store, each) for each in (JUDGMENT, CURRENT, FLAG)] == before


def judged_first(store):
    versions = {row.id: row.name for row in table(store, VERSION)}
    judged = values_of(store, JUDGMENT.c.judge_version_id)
    return versions[judged[0]] if judged else None


GROWING = (
    "response",
    "judgment",
    "judgment_review",
    "flag",
    "current_judgment",
    "user_feedback",
    "review",
)


def test_no_statement_of_storing_reads_a_whole_table(sqlite_case):
    said = (Feedback(FeedbackKind.THUMBS, 0),)
    answers = [Response(f"log {number % 3}", f"a{number}", "q", "a") for number in range(20)]
    rag, nli = sqlite_case.version(), sqlite_case.version("nli")
    with steps_of(sqlite_case.store, "SELECT", "UPDATE") as steps:
        ids = sqlite_case.add(*answers).new
        for version, ask, verdict in (
            (rag, 0, Verdict(Status.ERROR)),
            (rag, 1, LOW),
            (nli, 1, LOW),
        ):
            items = [NewJudgment(id_, ask, 0, verdict) for id_ in ids]
            sqlite_case.write(store_judgments, version, None, items)
        sqlite_case.add(*(replace(each, feedback=said) for each in answers))
        sqlite_case.write(reapply_flags, ids)
    assert steps
    scans = [
        (statement, step)
        for statement, step in steps
        # The first judgment of all is the first row of its table.
        if step.startswith(tuple(f"SCAN {table}" for table in GROWING))
        and "ORDER BY judgment.id\n LIMIT" not in statement
    ]
    assert scans == []


def test_the_number_of_statements_does_not_depend_on_the_batch(sqlite_case):
    counts = []
    for size in (50, 200):
        ids = sqlite_case.add(
            *(Response(f"log {size}", f"a{number}", "q", "a") for number in range(size))
        ).new
        version = sqlite_case.version()
        items = [NewJudgment(id_, 0, 0, LOW) for id_ in ids]
        with statements_of(sqlite_case.store) as executed:
            sqlite_case.write(store_judgments, version, None, items)
        counts.append(len(executed))
    assert counts[0] == counts[1] <= 15  # one of them asks whether any queue is open


WRITERS = 6
ANSWERS = 40


def answer_with_thumbs(number):
    return Response("log", f"a{number}", "q", "a", feedback=(Feedback(FeedbackKind.THUMBS, 1),))


def test_two_imports_of_one_log_store_it_once(case):
    def add(_writer):
        result = case.add(*map(answer_with_thumbs, range(ANSWERS)))
        return len(result.new), result.unchanged, result.feedback_added

    with ThreadPoolExecutor(WRITERS) as threads:
        result = list(threads.map(add, range(WRITERS)))
    assert sum(new for new, _, _ in result) == len(case.rows(RESPONSE)) == ANSWERS
    assert all(new + unchanged == ANSWERS for new, unchanged, _ in result)
    assert sum(added for _, _, added in result) == len(case.rows(FEEDBACK)) == ANSWERS


def test_one_ask_answered_by_several_is_stored_once_with_one_flag(case):
    ids = case.add(*map(answer_with_thumbs, range(ANSWERS))).new
    rag, nli = case.version(), case.version("nli")

    def add(writer):
        # Locks are taken in one order whatever the batch's is.
        order = ids if writer % 2 else ids[::-1]
        items = [NewJudgment(id_, 0, 0, LOW) for id_ in order]
        return case.write(store_judgments, rag if writer % 3 else nli, None, items)

    with ThreadPoolExecutor(WRITERS) as threads:
        stored = list(threads.map(add, range(WRITERS)))
    assert sum(stored) == len(case.rows(JUDGMENT)) == 2 * ANSWERS
    open_flags = [flag for flag in case.rows(FLAG) if flag["state"] == "open"]
    assert max(Counter((flag["response_id"], flag["rule"]) for flag in open_flags).values()) == 1
    assert all(sum(row["is_current"] for row in case.current(id_)) == 2 for id_ in ids)


def test_writers_that_wait_for_their_turn_keep_no_connection(case):
    pool = case.store.engine.pool

    def write(number):
        with case.store.writing() as connection:
            store_responses(connection, [answer_with_thumbs(number)])
            return pool.checkedout()

    with ThreadPoolExecutor(40) as threads:
        most = max(threads.map(write, range(40)))
    if case.store.is_sqlite:
        assert most == 1
    assert len(case.rows(RESPONSE)) == 40
