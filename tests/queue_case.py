"""Queues with flagged answers, three reviewers and a lead, and what they do, one line each."""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

from judgeboard.domain import Decision, Grade, JudgeVersion, Response, Status, Verdict
from judgeboard.reviews.changes import comment, undo
from judgeboard.reviews.leases import next_item, release, skip, take_item
from judgeboard.reviews.queues import close_queue, create_queue, queue_progress
from judgeboard.reviews.submissions import Submission, reveal, submit
from judgeboard.store.engine import Store
from judgeboard.store.filters import RowFilter
from judgeboard.store.hidden_rows import Seen
from judgeboard.store.judge_versions import ensure_version
from judgeboard.store.judgments import NewJudgment
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
    def people(self):
        return self.mara, self.jon, self.ada, self.lead

    def add(self, *names, query_type="QA", **fields):
        with self.store.writing() as connection:
            result = store_responses(
                connection,
                [
                    Response("log", name, "q?", f"answer {name}", ("p",), query_type, **fields)
                    for name in names
                ],
            )
        return result.new

    def judge(self, response_id, groundedness, *, judge="rag", version=1):
        """One more verdict of a judge; raises a flag where it is low."""
        self.judge_all({response_id: groundedness}, judge=judge, version=version)

    def judge_all(self, scores, *, judge="rag", version=1):
        """One more verdict of a judge on each of these answers, in one transaction."""
        new = [
            NewJudgment(response_id, next(self.keys), 0, Verdict(Status.OK, groundedness=score))
            for response_id, score in scores.items()
        ]
        with self.store.writing() as connection:
            stored = ensure_version(connection, JudgeVersion(judge, "rag", params={"n": version}))
            store_judgments(connection, stored, None, new, self.now)

    def flagged(self, *scores, query_type="QA"):
        """Store one answer per score and have it judged; below 0.5 it is flagged."""
        names = [f"a{next(self.keys)}" for _ in scores]
        ids = self.add(*names, query_type=query_type)
        self.judge_all(dict(zip(ids, scores, strict=True)))
        return ids

    def queue(self, name="q", *, assigned=(), **rules):
        """Create a queue; unless the test asks for some, it requires no grade."""
        optional = () if "grades" in rules else ("groundedness", "quality")
        rules = {"grades": (), "optional_grades": optional} | rules
        queue_rules = new_queue(name, rules.pop("where", RowFilter()), **rules)
        if queue_rules.blind and not assigned:
            assigned = self.people
        return create_queue(self.store, queue_rules, by=self.lead, assigned=assigned, now=self.now)

    def queue_of(self, *scores, **rules):
        """Store an answer per score, as `flagged`, and create a queue of the flagged ones."""
        self.flagged(*scores)
        return self.queue(**rules)

    def unassign(self, name="q"):
        """Leave a queue to everybody, as earlier releases did with a blind queue too."""
        with self.store.writing() as connection:
            queue = queue_named(connection, name)
            unassign(
                connection, queue.id, [person.id for person in assignees(connection, queue.id)]
            )

    def take(self, who, name="q", *holding):
        return next_item(self.store, name, who, holding=holding, now=self.now)

    def lease(self, who, name="q", *holding):
        leased = self.take(who, name, *holding)
        assert leased is not None
        return leased

    def take_item(self, item_id, who):
        return take_item(self.store, item_id, who, now=self.now)

    def skip(self, leased, who, reason=None):
        return skip(self.store, leased.token, who, reason=reason, now=self.now)

    def release(self, leased, who):
        return release(self.store, leased.token, who, now=self.now)

    def close(self, name="q"):
        close_queue(self.store, name, by=self.lead, now=self.now)

    def say(self, leased, who, decision=CONFIRM, **fields):
        return self._submit(who, decision, fields, token=leased.token)

    def review(self, who, decision=CONFIRM, name="q", **fields):
        """Take the next item and decide it."""
        return self.say(self.lease(who, name), who, decision, **fields)

    def reveal(self, decided, who, decision=None, **fields):
        """Look at the judge after a blind review, and say what one thinks now."""
        reveal(self.store, decided.review_id, reviewer=who, now=self.now)
        return self.after_reveal(decided, who, decision, **fields)

    def after_reveal(self, decided, who, decision=None, **fields):
        """Say what one thinks now, as if the judge had been shown."""
        return self._submit(who, decision, fields, blind_review_id=decided.review_id).review_id

    def adjudicate(self, item_id, decision=CONFIRM, note="why", **fields):
        by = fields.pop("by", self.lead)
        return self._submit(by, decision, {"note": note, **fields}, item_id=item_id).review_id

    def change(self, review_id, who, decision=None, **fields):
        """Replace a review by another one, or a grade by another one."""
        return self._submit(who, decision, fields, changes=review_id).review_id

    def grade(self, response_id, who, **fields):
        """Grade an answer outside any queue, without a decision."""
        return self._submit(who, None, fields, response_id=response_id).review_id

    def _submit(self, who, decision, fields, **subject):
        key = fields.pop("request_key", f"key {next(self.keys)}")
        about = {"decision": decision, "grade": Grade(**fields), "request_key": key, "at": self.now}
        return submit(self.store, Submission(reviewer=who, **about, **subject))

    def undo(self, review_id, who, request_key=None):
        key = request_key or f"key {next(self.keys)}"
        undo(self.store, review_id=review_id, reviewer=who, request_key=key, now=self.now)

    def decide(self, flag_id, who, decision=CONFIRM, **fields):
        """Decide a flag outside any queue."""
        return self._submit(who, decision, fields, flag_id=flag_id)

    def comment(self, response_id, who, text):
        key = f"comment {next(self.keys)}"
        given = {"response_id": response_id, "reviewer": who, "text": text, "request_key": key}
        return comment(self.store, **given, now=self.now)

    def later(self, **by):
        """Let time pass."""
        self.now += timedelta(**by)

    def progress(self, name="q"):
        return self.read(queue_progress, name, now=self.now)

    def read(self, function, *args, **options):
        """Return what a function reads from the database."""
        return read(self.store, function, *args, **options)

    def read_as(self, who, function, *args, **options):
        """Return what a function reads for a person, from whom rows may be hidden."""
        return read(Seen(self.store, who.id), function, *args, **options)

    def rows(self, table):
        return rows_of(self.store, table)

    def flags(self):
        return self.rows(FLAG)

    def flag_states(self):
        return [flag["state"] for flag in self.flags()]

    def items(self):
        return self.rows(QUEUE_ITEM)

    def item_states(self):
        return [item["state"] for item in self.items()]

    def leases(self):
        return self.rows(LEASE)

    def reviews(self):
        return self.rows(REVIEW)


def queue_case(store):
    with store.writing() as connection:
        set_setting(connection, "random_share", 0, "test")
        people = [
            store_reviewer(connection, "page", name) for name in ("Mara", "Jon", "Ada", "Lead")
        ]
    return QueueCase(store, *people)


def race_case(store, items):
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
