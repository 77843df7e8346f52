"""Short words for what the tests of the store do to it."""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pytest
from sqlalchemy import select, update

from judgeboard.domain import Feedback, FeedbackKind, FlagState, JudgeVersion, Response, Status, Verdict
from judgeboard.store.engine import Store
from judgeboard.store.judge_versions import StoredVersion, ensure_version
from judgeboard.store.judgments import LandedVerdict
from judgeboard.store.settings import set_setting
from judgeboard.store.storing import LandedResponses, land_judgments, land_responses
from judgeboard.store.tables import CURRENT, FLAG


@dataclass
class Desk:
    """A database on which nothing is drawn at random, with what tests do on one line each."""

    store: Store
    landed: dict[str, Response] = field(default_factory=dict)
    asks: dict[tuple[int, int], int] = field(default_factory=dict)

    def land(self, *responses: Response) -> LandedResponses:
        with self.store.writing() as connection:
            return land_responses(connection, responses)

    def answer(self, external_id: str = "a", **fields: Any) -> int:
        """Land one logged answer and return its id."""
        self.landed[external_id] = Response("log", external_id, "query", f"answer of {external_id}", **fields)
        return self.land(self.landed[external_id]).new[0]

    def thumbs(self, external_id: str, value: float) -> None:
        """The user says something new of a known answer."""
        known = self.landed[external_id]
        said = Feedback(FeedbackKind.THUMBS, value, at=datetime(2026, 1, 1, 0, 0, len(known.feedback), tzinfo=UTC))
        again = Response("log", external_id, known.query, known.answer, feedback=(*known.feedback, said))
        self.landed[external_id] = again
        assert self.land(again).feedback_added == 1

    def version(self, name: str = "rag", **params: Any) -> StoredVersion:
        with self.store.writing() as connection:
            return ensure_version(connection, JudgeVersion(name, name, params=params))

    def say(
        self, version: StoredVersion, response_id: int, status: Status = Status.OK, *, repeat: int = 0, **verdict: Any
    ) -> int:
        """One more verdict of a judge version on a response."""
        ask = self.asks.get((version.id, response_id), -1) + (repeat == 0)
        self.asks[version.id, response_id] = ask
        with self.store.writing() as connection:
            item = LandedVerdict(response_id, ask, repeat, Verdict(status, **verdict))
            return land_judgments(connection, version, None, [item])

    def set(self, key: str, value: Any) -> None:
        with self.store.writing() as connection:
            set_setting(connection, key, value, "test")

    def flags(self, response_id: int) -> list[tuple[str, str]]:
        """Rule and state of the flags of a response, oldest first."""
        with self.store.reading() as connection:
            query = select(FLAG.c.rule, FLAG.c.state).where(FLAG.c.response_id == response_id).order_by(FLAG.c.id)
            return [(rule, state) for rule, state in connection.execute(query)]

    def flag_rows(self, response_id: int) -> list[dict[str, Any]]:
        with self.store.reading() as connection:
            rows = connection.execute(select(FLAG).where(FLAG.c.response_id == response_id).order_by(FLAG.c.id))
            return [dict(row._mapping) for row in rows]

    def decide(self, response_id: int, rule: str, state: FlagState) -> None:
        """A person decides the open flag of a rule."""
        mine = (FLAG.c.response_id == response_id) & (FLAG.c.rule == rule) & (FLAG.c.state == "open")
        with self.store.writing() as connection:
            assert connection.execute(update(FLAG).where(mine).values(state=state.value)).rowcount == 1

    def current(self, response_id: int) -> list[dict[str, Any]]:
        with self.store.reading() as connection:
            query = select(CURRENT).where(CURRENT.c.response_id == response_id).order_by(CURRENT.c.judgment_id)
            return [dict(row._mapping) for row in connection.execute(query)]

    def rows(self, table: Any) -> list[dict[str, Any]]:
        with self.store.reading() as connection:
            rows = connection.execute(select(table).order_by(table.c.id))
            return [dict(row._mapping) for row in rows]


@pytest.fixture
def desk(store: Store) -> Desk:
    desk = Desk(store)
    desk.set("random_share", 0)
    return desk


@pytest.fixture
def sqlite_desk(sqlite_store: Store) -> Desk:
    return Desk(sqlite_store)


@pytest.fixture
def postgres_desk(postgres_store: Store) -> Desk:
    return Desk(postgres_store)
