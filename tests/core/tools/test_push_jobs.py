"""Repeated pushes: one worker at a time, one after another, and nothing twice after a kill."""

import os
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from itertools import product

import pytest

import recording_tool as fakes
from forked_commands import ReadCommand
from graded_log import GOOD
from judgeboard.domain import RuleState
from judgeboard.errors import BadInput, NotFound
from judgeboard.runs.rules import change_rule
from judgeboard.store.jobs import live_workers, register_worker
from judgeboard.store.rules import list_rules, take_rule
from judgeboard.store.tables import PushTarget
from judgeboard.store.tools import due_targets
from judgeboard.tools.push import add_target, push_due, push_to, target_state
from judging_log import address
from stored_rows import read

TRACES = [f"{number:032x}" for number in range(1, 121)]


def judged(log, traces):
    answers = [log.answers(metadata={"trace_id": trace})[0] for trace in traces]
    log.say_all(log.version("lexical"), answers, label=GOOD)
    log.review_all(answers[:10], label=GOOD.value)


def targets(log):
    return read(log.store, list_rules, PushTarget)


def state(log):
    (target,) = targets(log)
    return target_state(target, read(log.store, live_workers))


def add(log, tool, **options):
    add_target(log.store, "phoenix", address=tool.address, actor="test", **options)


def change(log, new):
    change_rule(log.store, PushTarget, "phoenix", new, "test")


def pushed_by(log, *executor_ids, minutes=0):
    """Let workers push at once to the targets that are due in some minutes."""
    now = datetime.now(UTC) + timedelta(minutes=minutes)
    with log.store.writing() as connection:
        for executor_id in executor_ids:
            register_worker(connection, executor_id)
        due = due_targets(connection, now)
    with ThreadPoolExecutor() as threads:
        for target, executor_id in product(due, executor_ids):
            threads.submit(push_due, log.store, str(target.id), executor_id, threading.Event(), now)


def test_one_worker_at_a_time_pushes_and_the_state_says_what_the_tool_has(log, monkeypatch):
    judged(log, TRACES[:4])
    monkeypatch.setenv("PHOENIX_API_KEY", "key")
    with fakes.FakePhoenix(*TRACES[:3]) as tool:
        add(log, tool, every_s=60)
        with pytest.raises(BadInput, match="already"):
            add(log, tool)
        assert state(log) == "no worker"
        pushed_by(log, "one", "two")
        requests = len(tool.requests)
        assert len(tool.scores) == 6
        (target,) = targets(log)
        assert state(log) == "active"
        assert (target.pushed, target.refused, target.waiting) == (6, 2, 0)
        assert TRACES[3] in str(target.reason)
        pushed_by(log, "two")  # a minute has not passed
        assert len(tool.requests) == requests

        judged(log, TRACES[4:6])
        tool.known |= {*TRACES}
        tool.failing = [503] * 6
        pushed_by(log, "one", minutes=2)
        (target,) = targets(log)
        assert (state(log), target.pushed, target.waiting) == ("problem", 6, 4)
        assert "503" in str(target.problem)
        change(log, RuleState.PAUSED)
        pushed_by(log, "one", minutes=4)
        assert state(log) == "paused"
        assert targets(log)[0].waiting == 4
        change(log, RuleState.ACTIVE)
        monkeypatch.delenv("PHOENIX_API_KEY")
        pushed_by(log, "one")
        assert "401" in str(targets(log)[0].problem)
        monkeypatch.setenv("PHOENIX_API_KEY", "key")
        pushed_by(log, "one", minutes=2)
        (target,) = targets(log)
        assert (state(log), target.pushed, target.waiting) == ("active", 10, 0)
        change(log, RuleState.REMOVED)
        assert targets(log) == []
        with pytest.raises(NotFound, match="none"):
            change(log, RuleState.PAUSED)


class KillingPhoenix(fakes.FakePhoenix):
    """Phoenix that stores its second request, and kills the sender before it answers."""

    victim = 0

    def answer(self, request):
        reply = super().answer(request)
        if len(self.requests) == 2:
            os.kill(self.victim, signal.SIGKILL)
        return reply


def test_a_killed_push_is_continued_and_no_score_is_twice(sqlite_log, monkeypatch):
    judged(sqlite_log, TRACES)
    monkeypatch.setenv("PHOENIX_API_KEY", "key")
    with KillingPhoenix(*TRACES) as tool:
        add(sqlite_log, tool)
        (target,) = targets(sqlite_log)
        database = address(sqlite_log.store)
        with sqlite_log.store.writing() as connection:  # what a worker does before it pushes
            register_worker(connection, "killed")
            now = datetime.now(UTC)
            assert take_rule(connection, target, "tried_at", now, executor_id="killed")
            assert not take_rule(connection, target, "tried_at", now, executor_id="other")
        with ReadCommand("push", "phoenix", "--db", database, "--url", tool.address) as process:
            tool.victim = process.pid
        assert process.returncode == -signal.SIGKILL
        stored, sent = len(tool.scores), len(tool.requests)
        assert stored == 100
        assert sent == 2
        pushed_by(sqlite_log, "killed")
        assert len(tool.requests) == sent  # a worker that lives pushes to the target
        pushed_by(sqlite_log, "other")  # of a SQLite file, one process at a time is a worker
        annotations = sum(len(request.body["data"]) for request in tool.requests)
        print(f"killed after {stored} scores; sent {annotations}, stored {len(tool.scores)} of 130")  # noqa: T201
        assert len(tool.scores) == 130  # each answer's label once, and ten reviews
        assert (
            annotations == 130 + 50
        )  # the request without an answer was sent again, and overwrote itself
        (target,) = targets(sqlite_log)
        assert target.pushed == 130
        assert target.refused == 0


def test_the_commands_add_list_and_change_targets(sqlite_log, shell):
    judged(sqlite_log, TRACES[:1])
    db = f"--db {address(sqlite_log.store)}"
    add = "rule add push mlflow --url http://localhost:5000 --every"
    shell(f"{add} 5m --what gold --source log {db}")
    shell(f"{add} soon {db}", code=2)
    assert targets(sqlite_log)[0].every_s == 300
    shown = shell(f"rule list mlflow {db}")
    for part in ("push mlflow: no worker", "gold", "log", "http://localhost:5000"):
        assert part in shown
    for word, done in (("pause", "paused"), ("resume", "active"), ("remove", "removed")):
        assert shell(f"rule {word} mlflow {db}") == f"push mlflow: {done}\n"


def test_a_target_that_was_removed_meanwhile_gets_nothing_more(log, monkeypatch):
    judged(log, TRACES[:2])
    monkeypatch.setenv("PHOENIX_API_KEY", "key")
    with fakes.FakePhoenix(*TRACES) as tool:
        add(log, tool)
        (target,) = targets(log)
        change(log, RuleState.REMOVED)
        push_to(log.store, target, threading.Event(), "test")
    assert not tool.scores
