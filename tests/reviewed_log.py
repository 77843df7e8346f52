"""A database with everything in it, made through the public functions from one seed, and its rows."""

import random
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from sqlalchemy import select

from judgeboard.domain import (
    Decision,
    Feedback,
    FeedbackKind,
    Grade,
    JudgeVersion,
    Label,
    Response,
    ResponseKind,
    Status,
    Verdict,
)
from judgeboard.errors import DecisionRefused
from judgeboard.people.roster import ensure_reviewer
from judgeboard.reviews.changes import undo
from judgeboard.reviews.submissions import Submission, submit
from judgeboard.store.engine import Store
from judgeboard.store.judge_versions import ensure_version
from judgeboard.store.judgments import NewJudgment
from judgeboard.store.storing import store_judgments, store_responses
from judgeboard.store.tables import FEEDBACK, FLAG, JUDGMENT, RESPONSE, REVIEW, VERSION, Reviewer

START = datetime(2026, 3, 1, 9, tzinfo=UTC)
TYPES = ("QA", "Summary", "Data2txt")
WORDS = ("Anchor", "belay", "crimp", "100 %", "under_score", "Öse", "\\slash", '"quoted"', "dyno")


@dataclass(frozen=True)
class ReviewedLog:
    """Every row of a table, as plain dicts by id."""

    store: Store
    reviewers: tuple[Reviewer, ...]

    def all(self, table):
        with self.store.reading() as connection:
            rows = connection.execute(select(table).order_by(table.c.id)).mappings()
            return [dict(row) for row in rows]

    def responses(self):
        return [row for row in self.all(RESPONSE) if row["kind"] == "log"]

    def open_flags(self):
        return [row for row in self.all(FLAG) if row["state"] == "open"]

    def standing(self):
        rows = self.all(REVIEW)
        replaced = {row["replaces"] for row in rows}
        return [row for row in rows if row["id"] not in replaced and row["decision"] != "withdrawn"]

    def latest_feedback(self):
        """The user's latest word on the 1-4 scale."""
        return {
            row["response_id"]: Feedback(FeedbackKind(row["kind"]), row["value"]).quality
            for row in self.all(FEEDBACK)
        }

    def current(self, judge):
        """The latest usable judgment of a judge on each logged response."""
        logged = {row["id"] for row in self.responses()}
        versions = {row["id"] for row in self.all(VERSION) if row["name"] == judge}
        return {
            row["response_id"]: row
            for row in self.all(JUDGMENT)
            if row["judge_version_id"] in versions
            and row["status"] == "ok"
            and row["repeat"] == 0
            and row["response_id"] in logged
        }


def made_log(store, *, answers=40, seed=1):
    """Fill a fresh database: answers with and without times, feedback, two judges with failures, reviews."""
    draw = random.Random(seed)
    with store.writing() as connection:
        ids = store_responses(
            connection, [_response(number, draw) for number in range(answers)]
        ).new
        versions = [
            ensure_version(connection, JudgeVersion(name, name, params={"n": n}))
            for name, n in (("rag", 1), ("rag", 2), ("nli", 1))
        ]
        for version in versions:
            for ask in range(2):
                items = [
                    NewJudgment(id_, ask, 0, _verdict(draw)) for id_ in ids if draw.random() < 0.6
                ]
                store_judgments(connection, version, None, items)
    people = tuple(ensure_reviewer(store, "page", name) for name in ("Mara", "Jon", "Ada"))
    case = ReviewedLog(store, people)
    for press, (flag, reviewer) in enumerate(_presses(case, draw)):
        _review(store, press, flag, reviewer, draw)
    return case


def _response(number, draw):
    feedback = [
        Feedback(FeedbackKind.THUMBS, draw.choice((0, 1)))
        if draw.random() < 0.6
        else Feedback(FeedbackKind.STARS, draw.choice((1, 2, 3, 4, 5)))
        for _ in range(draw.choice((0, 0, 1, 2)))
    ]
    return Response(
        source=draw.choice(("app", "web")),
        external_id=f"answer-{number:03d}",
        query=f"What about {draw.choice(WORDS)}?",
        answer=f"It is {draw.choice(WORDS)} number {number} with {draw.choice(WORDS).lower()}.",
        passages=("One.", f"Two {number}."),
        query_type=draw.choice(TYPES),
        generator_model=draw.choice(("small", "large", None)),
        asked_at=None
        if draw.random() < 0.2
        else START + timedelta(days=draw.randrange(9), minutes=number),
        kind=ResponseKind.CONTROL if draw.random() < 0.1 else ResponseKind.LOG,
        feedback=tuple(feedback),
    )


def _verdict(draw):
    if draw.random() < 0.25:
        return Verdict(draw.choice((Status.UNPARSABLE, Status.ERROR, Status.REFUSED)))
    return Verdict(
        Status.OK,
        groundedness=draw.choice((None, 0.0, 0.2, 0.4, 0.49, 0.5, 0.8, 1.0)),
        quality=draw.choice((None, 1, 2, 3, 4)),
        label=draw.choice((None, Label.GROUNDED, Label.HALLUCINATED)),
    )


def _presses(case, draw):
    flags = case.open_flags()
    for _ in range(len(flags) // 2):
        yield draw.choice(flags), draw.choice(case.reviewers)


def _review(store, press, flag, reviewer, draw):
    given_grade = Grade(
        groundedness=draw.choice((None, 0.2, 1.0)), note=draw.choice((None, "a note"))
    )
    at = START + timedelta(days=20, minutes=press)
    if draw.random() < 0.3:
        sure = Grade(quality=draw.randint(1, 4))
        submit(
            store,
            Submission(
                response_id=flag["response_id"],
                reviewer=reviewer,
                grade=sure,
                request_key=f"g{press}",
                at=at,
            ),
        )
        return
    decision = draw.choice((Decision.CONFIRM, Decision.DISMISS, Decision.UNSURE))
    try:
        done = submit(
            store,
            Submission(
                flag_id=flag["id"],
                reviewer=reviewer,
                decision=decision,
                grade=given_grade,
                request_key=f"d{press}",
                at=at,
            ),
        )
    except DecisionRefused:
        return
    if draw.random() < 0.3:
        undo(store, review_id=done.review_id, reviewer=reviewer, request_key=f"u{press}", now=at)
