"""A flagged answer, and what two reviewers do to it, one line each."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import count

from sqlalchemy import select

from judgeboard.domain import Grade, JudgeVersion, Response, Status, Verdict
from judgeboard.reviews.changes import undo
from judgeboard.reviews.submissions import Submission, submit
from judgeboard.store.engine import Store
from judgeboard.store.judge_versions import ensure_version
from judgeboard.store.judgments import NewJudgment
from judgeboard.store.reviewers import store_reviewer
from judgeboard.store.settings import set_setting
from judgeboard.store.storing import store_judgments, store_responses
from judgeboard.store.tables import EVENT, FLAG, REVIEW, REVIEW_FLAG, Reviewer
from stored_rows import read, rows_of

NOW = datetime(2026, 3, 1, 9, 41, tzinfo=UTC)
ANSWER = "The rope is 60 m long."
MAKING = {"set_setting", "first_seen"}


@dataclass
class ReviewCase:
    """A database with one answer, ragtruth-12260, that the rule of low groundedness flagged."""

    store: Store
    mara: Reviewer
    jon: Reviewer
    response_id: int
    keys: Iterator[int] = field(default_factory=count)

    def judge(self, groundedness, version=1):
        """One more verdict; raises a flag where it is low."""
        with self.store.writing() as connection:
            stored = ensure_version(connection, JudgeVersion("rag", "rag", params={"n": version}))
            verdict = Verdict(Status.OK, groundedness=groundedness)
            store_judgments(
                connection,
                stored,
                None,
                [NewJudgment(self.response_id, next(self.keys), 0, verdict)],
            )
        return self.flags()[-1]["id"]

    def decide(self, flag_id, by, decision, **given):
        given = {"request_key": f"key {next(self.keys)}", "at": NOW} | given
        return submit(
            self.store, Submission(flag_id=flag_id, reviewer=by, decision=decision, **given)
        )

    def grade(self, by, **given):
        return self._review(by, given, response_id=self.response_id)

    def _review(self, by, given, **subject):
        options = {
            name: given.pop(name)
            for name in ("request_key", "judgment_seen_id", "seconds")
            if name in given
        }
        options = {"request_key": f"key {next(self.keys)}", "at": NOW} | options
        return submit(
            self.store, Submission(reviewer=by, grade=Grade(**given), **subject, **options)
        ).review_id

    def change(self, review_id, by, decision=None, **given):
        """Replace a review by another one, or a grade by another one."""
        return self._review(by, given, changes=review_id, decision=decision)

    def undo(self, review_id, by, **given):
        given = {"request_key": f"key {next(self.keys)}", "now": NOW} | given
        return undo(self.store, review_id=review_id, reviewer=by, **given)

    def read(self, function, *args, **options):
        """Return what a function reads from the database."""
        return read(self.store, function, *args, **options)

    def rows(self, table):
        return rows_of(self.store, table)

    def flags(self):
        return self.rows(FLAG)

    def state(self, flag_id):
        return next(flag["state"] for flag in self.flags() if flag["id"] == flag_id)

    def reviews(self):
        """Every review with the flags that it decides."""
        with self.store.reading() as connection:
            links = connection.execute(select(REVIEW_FLAG).order_by(REVIEW_FLAG.c.flag_id)).all()
        return [
            row | {"flag_ids": tuple(flag for review, flag in links if review == row["id"])}
            for row in self.rows(REVIEW)
        ]

    def standing(self):
        rows = self.reviews()
        replaced = {row["replaces"] for row in rows}
        return [row for row in rows if row["id"] not in replaced and row["decision"] != "withdrawn"]

    def events(self):
        """What was done, without what made it."""
        return [
            (row["kind"], row["actor"]) for row in self.rows(EVENT) if row["kind"] not in MAKING
        ]


def flagged_case(store):
    with store.writing() as connection:
        set_setting(connection, "random_share", 0, "test")
        response = Response(
            "log", "ragtruth-12260", "How long is the rope?", ANSWER, passages=("60 m",)
        )
        (response_id,) = store_responses(connection, [response]).new
        people = [store_reviewer(connection, "page", name) for name in ("Mara", "Jon")]
    return ReviewCase(store, *people, response_id)
