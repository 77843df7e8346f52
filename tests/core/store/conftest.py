"""Short words for what the tests of the store do to it."""

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

import pytest
from sqlalchemy import select, update

from judgeboard.domain import (
    Feedback,
    FeedbackKind,
    JudgeVersion,
    Response,
    Status,
    Verdict,
)
from judgeboard.store.engine import Store
from judgeboard.store.judge_versions import ensure_version
from judgeboard.store.judgments import NewJudgment
from judgeboard.store.settings import set_setting
from judgeboard.store.storing import store_judgments, store_responses
from judgeboard.store.tables import CURRENT, FLAG
from queue_case import queue_case
from stored_rows import read, rows_of, write_to


@dataclass
class Case:
    """A database on which nothing is drawn at random, with what tests do on one line each."""

    store: Store
    answers: dict[str, Response] = field(default_factory=dict)
    asks: dict[tuple[int, int], int] = field(default_factory=dict)

    def read(self, function, *given, **options):
        """Return what a function reads from the database."""
        return read(self.store, function, *given, **options)

    def write(self, function, *given, **options):
        """Call a function of the store in a transaction of its own."""
        return write_to(self.store, function, *given, **options)

    def add(self, *responses):
        return self.write(store_responses, responses)

    def answer(self, external_id="a", **fields):
        """Store one logged answer and return its id."""
        texts = {"answer": f"answer of {external_id}"} | fields
        self.answers[external_id] = Response("log", external_id, "query", **texts)
        return self.add(self.answers[external_id]).new[0]

    def thumbs(self, external_id, value):
        """The user says something new of a known answer."""
        known = self.answers[external_id]
        at = datetime(2026, 1, 1, 0, 0, len(known.feedback), tzinfo=UTC)
        feedback = Feedback(FeedbackKind.THUMBS, value, at=at)
        again = replace(known, feedback=(*known.feedback, feedback))
        self.answers[external_id] = again
        assert self.add(again).feedback_added == 1

    def version(self, name="rag", **params):
        return self.write(ensure_version, JudgeVersion(name, name, params=params))

    def say(self, version, response_id, status=Status.OK, *, repeat=0, **verdict):
        """One more verdict of a judge version on a response."""
        ask = self.asks.get((version.id, response_id), -1) + (repeat == 0)
        self.asks[version.id, response_id] = ask
        item = NewJudgment(response_id, ask, repeat, Verdict(status, **verdict))
        return self.write(store_judgments, version, None, [item])

    def set(self, key, value):
        self.write(set_setting, key, value, "test")

    def flags(self, response_id):
        """Rule and state of the flags of a response, oldest first."""
        return [(row["rule"], row["state"]) for row in self.flag_rows(response_id)]

    def flag_rows(self, response_id):
        return [row for row in self.rows(FLAG) if row["response_id"] == response_id]

    def decide(self, response_id, rule, state):
        """A person decides the open flag of a rule."""
        mine = (
            (FLAG.c.response_id == response_id) & (FLAG.c.rule == rule) & (FLAG.c.state == "open")
        )
        with self.store.writing() as connection:
            decided = connection.execute(update(FLAG).where(mine).values(state=state.value))
            assert decided.rowcount == 1

    def current(self, response_id):
        mine = select(CURRENT).where(CURRENT.c.response_id == response_id)
        with self.store.reading() as connection:
            rows = connection.execute(mine.order_by(CURRENT.c.judgment_id)).mappings()
            return [dict(row) for row in rows]

    def rows(self, table):
        return rows_of(self.store, table)


@pytest.fixture
def queues(store):
    return queue_case(store)


@pytest.fixture
def case(store):
    case = Case(store)
    case.set("random_share", 0)
    return case


@pytest.fixture
def sqlite_case(sqlite_store):
    return Case(sqlite_store)


@pytest.fixture
def postgres_case(postgres_store):
    return Case(postgres_store)
