"""Queues with flagged answers, three reviewers and a lead, and what they do, one line each."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

from sqlalchemy import Table

from judgeboard.domain import Decision, Grade, JudgeVersion, Response, Status, Verdict
from judgeboard.reviews.changes import undo
from judgeboard.reviews.leases import LeasedItem, next_item, release, skip, take_item
from judgeboard.reviews.queues import QueueProgress, close_queue, create_queue, queue_progress
from judgeboard.reviews.submissions import Submission, Submitted, reveal, submit
from judgeboard.store.engine import Store
from judgeboard.store.filters import RowFilter
from judgeboard.store.judge_versions import ensure_version
from judgeboard.store.judgments import NewJudgment
from judgeboard.store.queue_filling import CreatedQueue
from judgeboard.store.queues import assignees, new_queue, queue_named, unassign
from judgeboard.store.reviewers import store_reviewer
from judgeboard.store.settings import set_setting
from judgeboard.store.storing import store_judgments, store_responses
from judgeboard.store.tables import FLAG, LEASE, QUEUE_ITEM, REVIEW, Reviewer
from stored_rows import read, rows_of

NOW = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)
CONFIRM, DISMISS, UNSURE = Decision.CONFIRM, Decision.DISMISS, Decision.UNSURE


@dataclass
class QueueCase:
    """Answers a0, a1, … judged with falling groundedness; ``low`` many of them are flagged."""

    store: Store
    mara: Reviewer
    jon: Reviewer
    ada: Reviewer
    lead: Reviewer
    now: datetime = NOW
    keys: Any = field(default_factory=count)

    @property
    def people(self) -> tuple[Reviewer, ...]:
        return self.mara, self.jon, self.ada, self.lead

    def add(self, *names: str, query_type: str = "QA", **fields: Any) -> list[int]:
        with self.store.writing() as connection:
            result = store_responses(
                connection,
                [
                    Response("log", name, "q?", f"answer {name}", ("p",), query_type, **fields)
                    for name in names
                ],
            )
        return result.new

    def judge(
        self, response_id: int, groundedness: float | None, *, judge: str = "rag", version: int = 1
    ) -> None:
        """One more verdict of a judge; raises a flag where it is low."""
        self.judge_all({response_id: groundedness}, judge=judge, version=version)

    def judge_all(
        self, scores: Mapping[int, float | None], *, judge: str = "rag", version: int = 1
    ) -> None:
        """One more verdict of a judge on each of these answers, in one transaction."""
        new = [
            NewJudgment(response_id, next(self.keys), 0, Verdict(Status.OK, groundedness=score))
            for response_id, score in scores.items()
        ]
        with self.store.writing() as connection:
            stored = ensure_version(connection, JudgeVersion(judge, "rag", params={"n": version}))
            store_judgments(connection, stored, None, new, self.now)

    def flagged(self, *scores: float, query_type: str = "QA") -> list[int]:
        """Store one answer per score and have it judged; below 0.5 it is flagged."""
        names = [f"a{next(self.keys)}" for _ in scores]
        ids = self.add(*names, query_type=query_type)
        self.judge_all(dict(zip(ids, scores, strict=True)))
        return ids

    def queue(
        self, name: str = "q", *, assigned: tuple[Reviewer, ...] = (), **rules: Any
    ) -> CreatedQueue:
        """Create a queue; unless the test asks for some, it requires no grade."""
        optional = () if "grades" in rules else ("groundedness", "quality")
        rules = {"grades": (), "optional_grades": optional} | rules
        queue_rules = new_queue(name, rules.pop("where", RowFilter()), **rules)
        if queue_rules.blind and not assigned:
            assigned = self.people
        return create_queue(self.store, queue_rules, by=self.lead, assigned=assigned, now=self.now)

    def queue_of(self, *scores: float, **rules: Any) -> CreatedQueue:
        """Store an answer per score, as `flagged`, and create a queue of the flagged ones."""
        self.flagged(*scores)
        return self.queue(**rules)

    def unassign(self, name: str = "q") -> None:
        """Leave a queue to everybody, as earlier releases did with a blind queue too."""
        with self.store.writing() as connection:
            queue = queue_named(connection, name)
            unassign(
                connection, queue.id, [person.id for person in assignees(connection, queue.id)]
            )

    def take(self, who: Reviewer, name: str = "q", *holding: str) -> LeasedItem | None:
        return next_item(self.store, name, who, holding=holding, now=self.now)

    def lease(self, who: Reviewer, name: str = "q", *holding: str) -> LeasedItem:
        leased = self.take(who, name, *holding)
        assert leased is not None
        return leased

    def take_item(self, item_id: int, who: Reviewer) -> LeasedItem | None:
        return take_item(self.store, item_id, who, now=self.now)

    def skip(self, leased: LeasedItem, who: Reviewer, reason: str | None = None) -> bool:
        return skip(self.store, leased.token, who, reason=reason, now=self.now)

    def release(self, leased: LeasedItem, who: Reviewer) -> bool:
        return release(self.store, leased.token, who, now=self.now)

    def close(self, name: str = "q") -> None:
        close_queue(self.store, name, by=self.lead, now=self.now)

    def say(
        self, leased: LeasedItem, who: Reviewer, decision: Decision | None = CONFIRM, **fields: Any
    ) -> Submitted:
        return self._submit(who, decision, fields, token=leased.token)

    def review(
        self, who: Reviewer, decision: Decision | None = CONFIRM, name: str = "q", **fields: Any
    ) -> Submitted:
        """Take the next item and decide it."""
        return self.say(self.lease(who, name), who, decision, **fields)

    def reveal(
        self, decided: Submitted, who: Reviewer, decision: Decision | None = None, **fields: Any
    ) -> int:
        """Look at the judge after a blind review, and say what one thinks now."""
        reveal(self.store, decided.review_id, reviewer=who, now=self.now)
        return self.after_reveal(decided, who, decision, **fields)

    def after_reveal(
        self, decided: Submitted, who: Reviewer, decision: Decision | None = None, **fields: Any
    ) -> int:
        """Say what one thinks now, as if the judge had been shown."""
        return self._submit(who, decision, fields, blind_review_id=decided.review_id).review_id

    def adjudicate(
        self, item_id: int, decision: Decision = CONFIRM, note: str | None = "why", **fields: Any
    ) -> int:
        by = fields.pop("by", self.lead)
        return self._submit(by, decision, {"note": note, **fields}, item_id=item_id).review_id

    def change(
        self, review_id: int, who: Reviewer, decision: Decision | None = None, **fields: Any
    ) -> int:
        """Replace a review by another one, or a grade by another one."""
        return self._submit(who, decision, fields, changes=review_id).review_id

    def grade(self, response_id: int, who: Reviewer, **fields: Any) -> int:
        """Grade an answer outside any queue, without a decision."""
        return self._submit(who, None, fields, response_id=response_id).review_id

    def _submit(
        self, who: Reviewer, decision: Any, fields: dict[str, Any], **subject: Any
    ) -> Submitted:
        key = fields.pop("request_key", f"key {next(self.keys)}")
        about = {"decision": decision, "grade": Grade(**fields), "request_key": key, "at": self.now}
        return submit(self.store, Submission(reviewer=who, **about, **subject))

    def undo(self, review_id: int, who: Reviewer, request_key: str | None = None) -> None:
        key = request_key or f"key {next(self.keys)}"
        undo(self.store, review_id=review_id, reviewer=who, request_key=key, now=self.now)

    def decide(
        self, flag_id: int, who: Reviewer, decision: Decision = CONFIRM, **fields: Any
    ) -> Submitted:
        """Decide a flag outside any queue."""
        return self._submit(who, decision, fields, flag_id=flag_id)

    def later(self, **by: float) -> None:
        """Let time pass."""
        self.now += timedelta(**by)

    def progress(self, name: str = "q") -> QueueProgress:
        progress: QueueProgress = self.read(queue_progress, name, now=self.now)
        return progress

    def read(self, function: Callable[..., Any], *args: Any, **options: Any) -> Any:
        """Return what a function reads from the database."""
        return read(self.store, function, *args, **options)

    def rows(self, table: Table) -> list[dict[str, Any]]:
        return rows_of(self.store, table)

    def flags(self) -> list[dict[str, Any]]:
        return self.rows(FLAG)

    def flag_states(self) -> list[str]:
        return [flag["state"] for flag in self.flags()]

    def items(self) -> list[dict[str, Any]]:
        return self.rows(QUEUE_ITEM)

    def item_states(self) -> list[str]:
        return [item["state"] for item in self.items()]

    def leases(self) -> list[dict[str, Any]]:
        return self.rows(LEASE)

    def reviews(self) -> list[dict[str, Any]]:
        return self.rows(REVIEW)


def queue_case(store: Store) -> QueueCase:
    with store.writing() as connection:
        set_setting(connection, "random_share", 0, "test")
        people = [
            store_reviewer(connection, "page", name) for name in ("Mara", "Jon", "Ada", "Lead")
        ]
    return QueueCase(store, *people)


def race_case(store: Store, items: int) -> None:
    """A queue of so many flagged answers."""
    case = queue_case(store)
    with store.writing() as connection:
        result = store_responses(
            connection,
            [Response("log", f"a{number}", "q?", "an answer") for number in range(items)],
        )
        version = ensure_version(connection, JudgeVersion("rag", "rag"))
        verdict = Verdict(Status.OK, groundedness=0.1)
        store_judgments(
            connection, version, None, [NewJudgment(id_, 0, 0, verdict) for id_ in result.new]
        )
    assert case.queue("race").joined == items
