"""Short words for what the tests of the store do to it."""

from dataclasses import dataclass, field
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
from stored_rows import rows_of, write_to


@dataclass
class Case:
    """A database on which nothing is drawn at random, with what tests do on one line each."""

    store: Store
    answers: dict[str, Response] = field(default_factory=dict)
    asks: dict[tuple[int, int], int] = field(default_factory=dict)

    def add(self, *responses):
        return write_to(self.store, store_responses, responses)

    def answer(self, external_id="a", **fields):
        """Store one logged answer and return its id."""
        texts = {"answer": f"answer of {external_id}"} | fields
        self.answers[external_id] = Response("log", external_id, "query", **texts)
        return self.add(self.answers[external_id]).new[0]

    def thumbs(self, external_id, value):
        """The user says something new of a known answer."""
        known = self.answers[external_id]
        feedback = Feedback(
            FeedbackKind.THUMBS,
            value,
            at=datetime(2026, 1, 1, 0, 0, len(known.feedback), tzinfo=UTC),
        )
        again = Response(
            "log", external_id, known.query, known.answer, feedback=(*known.feedback, feedback)
        )
        self.answers[external_id] = again
        assert self.add(again).feedback_added == 1

    def version(self, name="rag", **params):
        return write_to(self.store, ensure_version, JudgeVersion(name, name, params=params))

    def say(self, version, response_id, status=Status.OK, *, repeat=0, **verdict):
        """One more verdict of a judge version on a response."""
        ask = self.asks.get((version.id, response_id), -1) + (repeat == 0)
        self.asks[version.id, response_id] = ask
        with self.store.writing() as connection:
            item = NewJudgment(response_id, ask, repeat, Verdict(status, **verdict))
            return store_judgments(connection, version, None, [item])

    def set(self, key, value):
        write_to(self.store, set_setting, key, value, "test")

    def flags(self, response_id):
        """Rule and state of the flags of a response, oldest first."""
        with self.store.reading() as connection:
            query = (
                select(FLAG.c.rule, FLAG.c.state)
                .where(FLAG.c.response_id == response_id)
                .order_by(FLAG.c.id)
            )
            return [(rule, state) for rule, state in connection.execute(query)]

    def flag_rows(self, response_id):
        return [row for row in self.rows(FLAG) if row["response_id"] == response_id]

    def decide(self, response_id, rule, state):
        """A person decides the open flag of a rule."""
        mine = (
            (FLAG.c.response_id == response_id) & (FLAG.c.rule == rule) & (FLAG.c.state == "open")
        )
        with self.store.writing() as connection:
            assert (
                connection.execute(update(FLAG).where(mine).values(state=state.value)).rowcount == 1
            )

    def current(self, response_id):
        with self.store.reading() as connection:
            query = (
                select(CURRENT)
                .where(CURRENT.c.response_id == response_id)
                .order_by(CURRENT.c.judgment_id)
            )
            return [dict(row._mapping) for row in connection.execute(query)]

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
