"""A small log with judges and people, built one line at a time."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import count, groupby

from sqlalchemy import func, insert, select, update

from judgeboard.domain import (
    Decision,
    JudgeVersion,
    Label,
    Response,
    ResponseKind,
    RunState,
    Status,
    Verdict,
)
from judgeboard.store.clock import utc_now
from judgeboard.store.engine import Store
from judgeboard.store.filter_conditions import response_conditions
from judgeboard.store.judge_versions import ensure_version
from judgeboard.store.judgments import NewJudgment
from judgeboard.store.runs import finish_run, start_or_continue_run
from judgeboard.store.settings import set_setting
from judgeboard.store.storing import store_judgments, store_responses
from judgeboard.store.tables import (
    FLAG,
    QUEUE,
    QUEUE_ITEM,
    RESPONSE,
    REVIEW,
    REVIEW_FLAG,
    REVIEWER,
)
from judgeboard.text import utc_day

NOON = datetime(1970, 1, 1, 12, tzinfo=UTC)
GOOD, BAD = Label.GROUNDED, Label.HALLUCINATED
ITEM = QUEUE_ITEM


def read(store, function, *args, **kwargs):
    """Call a function with a connection that reads a store; what an iterator yields is read before that is closed."""
    with store.reading() as connection:
        result = function(connection, *args, **kwargs)
        return [*result] if isinstance(result, Iterator) else result


def labels_where(response_ids, is_bad):
    """Verdicts or grades by response: bad where ``is_bad`` holds for the place of a response, else good."""
    return {
        each: {"label": BAD if is_bad(place) else GOOD} for place, each in enumerate(response_ids)
    }


def labels_in(response_ids, bad, **more):
    """Verdicts or grades by response: bad for those in ``bad``, else good, with ``more`` fields."""
    return {each: {"label": BAD if each in bad else GOOD} | more for each in response_ids}


@dataclass
class GradedLog:
    """A database on which nothing is drawn at random."""

    store: Store
    reviewers: dict[str, int] = field(default_factory=dict)
    asks: dict[tuple[int, int], int] = field(default_factory=dict)
    numbers: Iterable[int] = field(default_factory=lambda: count(1))

    def __post_init__(self):
        self.set("random_share", 0)

    def set(self, name, value):
        """Change a setting."""
        with self.store.writing() as connection:
            set_setting(connection, name, value, "test")

    def answers(self, n=1, **fields):
        """Store ``n`` answers asked on a UTC day, each on evidence of its own unless ``group`` names a common one."""
        return self.answers_of([fields] * n)

    def answers_of(self, answers):
        """Store answers that differ, each as `answers` does, in one transaction."""
        stored = [self._answer(**each) for each in answers]
        with self.store.writing() as connection:
            return store_responses(connection, stored).new

    def _answer(self, *, day=None, kind=ResponseKind.LOG, group=None, **fields):
        number = next(iter(self.numbers))
        on = f"evidence {number if group is None else f'of group {group}'}"
        asked = None if day is None else NOON + timedelta(days=day)
        columns = {
            "answer": f"answer {number}",
            "asked_at": asked,
            "kind": kind,
            "passages": (on,),
        } | fields
        named = {"source": "log", "external_id": f"a{number}", "query": f"query on {on}"}
        return Response(**(named | columns))

    def version(self, name="rag", **params):
        with self.store.writing() as connection:
            return ensure_version(connection, JudgeVersion(name, name, params=params))

    def say(self, version, verdicts, run_id=None):
        """One more verdict of a judge version on each response; a ``status`` in it makes it an unusable one."""
        items = []
        for response_id, scores in verdicts.items():
            ask = self.asks[version.id, response_id] = (
                self.asks.get((version.id, response_id), -1) + 1
            )
            verdict = Verdict(**({"status": Status.OK} | dict(scores)))
            items.append(NewJudgment(response_id, ask, 0, verdict))
        with self.store.writing() as connection:
            assert store_judgments(connection, version, run_id, items) == len(items)

    def say_all(self, version, response_ids, **verdict):
        """The same verdict on each response."""
        self.say(version, dict.fromkeys(response_ids, verdict))

    def say_scores(self, version, response_ids, scores):
        """A groundedness for each response, in this order."""
        paired = zip(response_ids, scores, strict=True)
        self.say(version, {each: {"groundedness": score} for each, score in paired})

    def read(self, function, *args, **kwargs):
        """Return what a function reads from the database."""
        return read(self.store, function, *args, **kwargs)

    def run(self, version, verdicts):
        """A finished run that gives these verdicts."""
        with self.store.writing() as connection:
            run = start_or_continue_run(connection, version, mode="all", actor="test")
        self.say(version, verdicts, run.id)
        with self.store.writing() as connection:
            finish_run(connection, run.id, RunState.DONE)
        return run.id

    def review(self, response_id, reviewer="mara", **columns):
        """What a person says of a response; ``columns`` are those of a review."""
        return self.reviews({response_id: columns}, reviewer)[0]

    def reviews(self, grades, reviewer="mara"):
        """One review of a person on each response."""
        with self.store.writing() as connection:
            common = {"reviewer_id": self._reviewer(connection, reviewer), "at": datetime.now(UTC)}
            rows = [
                common
                | {"response_id": each, "request_key": f"k{next(iter(self.numbers))}"}
                | dict(columns)
                for each, columns in grades.items()
            ]
            # Rows of one statement have the same columns.
            ids = []
            for _, alike in groupby(rows, key=dict.keys):
                add = insert(REVIEW).returning(REVIEW.c.id, sort_by_parameter_order=True)
                ids += connection.execute(add, list(alike)).scalars()
            return ids

    def review_again(self, response_ids, reviewer="mara", **columns):
        """Reviews of repeated queue items: answers that the person has reviewed before."""
        with self.store.writing() as connection:
            queue = {
                "name": f"queue {next(iter(self.numbers))}",
                "created_by": "test",
                "created_at": NOON,
            }
            queue_id = connection.execute(insert(QUEUE).returning(QUEUE.c.id), queue).scalar_one()
            person = self._reviewer(connection, reviewer)
            item = {"queue_id": queue_id, "position": 0, "joined_at": NOON, "repeat_for": person}
            items = {
                each: connection.execute(
                    insert(ITEM).returning(ITEM.c.id), item | {"response_id": each}
                ).scalar_one()
                for each in response_ids
            }
        self.reviews(
            {each: columns | {"queue_item_id": item_id} for each, item_id in items.items()},
            reviewer,
        )

    def review_all(self, response_ids, reviewer="mara", **columns):
        """The same review of a person on each response."""
        self.reviews(dict.fromkeys(response_ids, columns), reviewer)

    def withdraw(self, review_id, response_id, reviewer="mara"):
        self.review(response_id, reviewer, decision=Decision.WITHDRAWN.value, replaces=review_id)

    def flag(self, response_ids, rule, severity=0.5):
        """A rule flags each response; the flags are open."""
        row = {
            "query_type": "",
            "source": "log",
            "rule": rule,
            "created_at": NOON,
            "state": "open",
            "severity": severity,
        }
        rows = [row | {"response_id": each, "raise_key": f"{rule} {each}"} for each in response_ids]
        with self.store.writing() as connection:
            connection.execute(insert(FLAG), rows)

    def decide(self, response_id, rule, decision, reviewer="mara", **columns):
        """A person decides the open flag of a rule."""
        mine = (FLAG.c.response_id == response_id) & (FLAG.c.rule == rule)
        with self.store.writing() as connection:
            flag_id = connection.execute(select(FLAG.c.id).where(mine)).scalar_one()
            state = "confirmed" if decision is Decision.CONFIRM else "dismissed"
            connection.execute(update(FLAG).where(FLAG.c.id == flag_id).values(state=state))
        review_id = self.review(response_id, reviewer, decision=decision.value, **columns)
        with self.store.writing() as connection:
            connection.execute(insert(REVIEW_FLAG), {"review_id": review_id, "flag_id": flag_id})

    def opened_by(self, where):
        """How many answers a filter opens."""
        with self.store.reading() as connection:
            conditions = response_conditions(connection, where)
            return connection.execute(
                select(func.count()).select_from(RESPONSE).where(*conditions)
            ).scalar_one()

    def _reviewer(self, connection, name):
        if name not in self.reviewers:
            row = {"origin": "page", "name": name, "role": "reviewer", "created_at": NOON}
            self.reviewers[name] = connection.execute(
                insert(REVIEWER).returning(REVIEWER.c.id), row
            ).scalar_one()
        return self.reviewers[name]


def scored_and_labelled(log):
    """Store 200 answers that one judge scored and one person labelled; two in three are good, with higher scores."""
    ids = log.answers(200, query_type="sql")
    bad = {each: place % 3 == 0 for place, each in enumerate(ids)}
    scores = {
        each: (place * 37 % 101) / 300 + (0.1 if bad[each] else 0.6)
        for place, each in enumerate(ids)
    }
    log.say(log.version(), {each: {"groundedness": round(scores[each], 3)} for each in ids})
    log.reviews({each: {"label": BAD if bad[each] else GOOD} for each in ids})


def nine_weeks(log, worse, **fields):
    """Store nine weeks of answers that Ada labelled: one in ten is bad, and after four weeks one in ``worse``."""
    version, today = log.version(), utc_day(utc_now())
    for week in range(9):
        ids = log.answers(40, day=today - 63 + 7 * week, **fields)
        bad = ids[:: 10 if week < 4 else worse]
        labels = labels_in(ids, bad)
        scores = {each: {"groundedness": 0.1 if each in bad else 0.9} for each in ids}
        log.say(version, {each: scores[each] | labels[each] for each in ids})
        log.reviews(labels, "Ada")
