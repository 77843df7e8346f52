"""Stores the exchange with tools: push targets, the items of each target, and how far histories were pulled."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    FromClause,
    Row,
    Select,
    and_,
    exists,
    func,
    or_,
    select,
)

from judgeboard.domain import GRADE_TEXTS, RECORDED, ResponseKind, Stage
from judgeboard.store.jobs import live_workers
from judgeboard.store.reviews import is_current, is_imported, is_test, modes_of
from judgeboard.store.rules import active_rules
from judgeboard.store.statements import (
    CURRENT_OF_NAME,
    batches,
    count_rows,
    first_row,
    grouped,
    record_of,
    rows_with,
    upsert,
)
from judgeboard.store.tables import (
    CURRENT,
    JUDGMENT,
    JUDGMENT_SCORE,
    PULL,
    PUSHED,
    RESPONSE,
    REVIEW,
    REVIEW_SCORE,
    REVIEWER,
    VERSION,
    Pull,
    PushTarget,
)
from judgeboard.text import EPOCH


def due_targets(connection: Connection, now: datetime) -> list[PushTarget]:
    """Return the active push targets that are due, without targets to which a live worker is pushing."""
    targets = [target for target in active_rules(connection, PushTarget) if target.next_at <= now]
    workers = live_workers(connection) if any(target.executor_id for target in targets) else set()
    return [target for target in targets if target.executor_id not in workers]


_CHUNK = 500


class What(StrEnum):
    """What a tool can get back."""

    JUDGMENTS = "judgments"
    REVIEWS = "reviews"
    GOLD = "gold"


@dataclass(frozen=True, slots=True)
class PushScore:
    """A named score: a number, a label, or a label that stands for a number."""

    name: str
    value: float | None = None
    label: str | None = None
    reasoning: str | None = None


@dataclass(frozen=True, slots=True)
class PushItem:
    """A judgment, a review or a gold label, with what identifies the answer in another tool.

    ``author`` is unique among the authors of one kind (``what``): a judge version, or a person with
    the origin. ``texts`` are the texts of a person's grade, by name (`GRADE_TEXTS`).
    """

    what: What
    row_id: int
    response_id: int
    source: str
    external_id: str
    metadata: Mapping[str, Any]
    author: str
    scores: tuple[PushScore, ...]
    at: datetime
    texts: Mapping[str, str] = field(default_factory=dict)
    more: Mapping[str, Any] = field(default_factory=dict)

    @property
    def identifier(self) -> str:
        """The same text in every push, and another one for each author."""
        return f"judgeboard/{self.what}/{self.author}"

    @property
    def note(self) -> str | None:
        """The note of a person's grade."""
        return self.texts.get("note")

    @property
    def by_person(self) -> bool:
        """Whether a person gave the scores."""
        return self.what is not What.JUDGMENTS


@dataclass(frozen=True, slots=True)
class TargetState:
    """How many items of a kind a target has, and how many the target refused, with the latest reason."""

    target: str
    what: str
    sent: int
    refused: int
    last_at: datetime
    error: str | None = None


def due_items(
    connection: Connection,
    target: str,
    what: What,
    *,
    since: datetime | None = None,
    judges: Collection[str] = (),
    source: str | None = None,
    after: int = 0,
    refused_since: datetime | None = None,
) -> list[PushItem]:
    """Return up to 500 items with ids above ``after`` that a target has not got yet, by id.

    Items that the target refused after ``refused_since`` are left out. With a ``source``, only
    answers of this source count.

    Imported verdicts are left out, unless ``judges`` names the judge, and imported reviews are left
    out: both may come from this tool. For each answer, the newest judgment of a judge name counts,
    and the latest review of a person.
    """
    query, id_ = _due(target, what, since, judges, source, refused_since)
    rows = connection.execute(query.where(id_ > after).order_by(id_).limit(_CHUNK)).all()
    return list(
        _judgments(connection, rows) if what is What.JUDGMENTS else _reviews(connection, what, rows)
    )


def count_due(
    connection: Connection,
    target: str,
    what: What,
    *,
    since: datetime | None = None,
    judges: Collection[str] = (),
    source: str | None = None,
) -> int:
    """Count the items that a target has neither got nor refused."""
    query, _ = _due(target, what, since, judges, source, EPOCH)
    return count_rows(connection, query.subquery())


def _due(
    target: str,
    what: What,
    since: datetime | None,
    judges: Collection[str],
    source: str | None,
    refused_since: datetime | None,
) -> tuple[Select[Any], ColumnElement[int]]:
    """Return the query of the items that are due, and the column with the ids."""
    if what is What.JUDGMENTS:
        id_, at = JUDGMENT.c.id, JUDGMENT.c.created_at
        by_judge = VERSION.c.name.in_(judges) if judges else VERSION.c.kind != RECORDED
        names = ("id", "groundedness", "quality", "label", "reasoning", "created_at")
        columns = (JUDGMENT.c[name] for name in names)
        query = (
            select(*columns, *_ANSWER, VERSION.c.name, VERSION.c.number)
            .select_from(JUDGMENT)
            .join(CURRENT, CURRENT.c.judgment_id == JUDGMENT.c.id)
            .join(VERSION, VERSION.c.id == JUDGMENT.c.judge_version_id)
            .join(RESPONSE, RESPONSE.c.id == JUDGMENT.c.response_id)
            .where(
                CURRENT_OF_NAME,
                by_judge,
                # Columns of the key, so that no engine reads all current judgments for each
                # judgment.
                CURRENT.c.judge_version_id == JUDGMENT.c.judge_version_id,
                CURRENT.c.response_id == JUDGMENT.c.response_id,
            )
        )
    else:
        id_, at = REVIEW.c.id, REVIEW.c.at
        query = _of_reviews(what)
    is_done = (
        PUSHED.c.sent.is_(True)
        if refused_since is None
        else or_(PUSHED.c.sent, PUSHED.c.at > refused_since)
    )
    has_it = exists().where(
        PUSHED.c.what == what.value, PUSHED.c.row_id == id_, PUSHED.c.target == target, is_done
    )
    conditions = [] if since is None else [at >= since]
    # As an expression, so that SQLite does not begin with all answers of the source.
    conditions += [] if source is None else [func.coalesce(RESPONSE.c.source, "") == source]
    return query.where(~has_it, *conditions), id_


def store_pushed(
    connection: Connection,
    target: str,
    outcomes: Sequence[tuple[PushItem, str | None]],
    now: datetime,
) -> None:
    """Store that a target has these items, or why the target refused an item."""
    rows = [
        {
            "target": target,
            "what": item.what.value,
            "author": item.author,
            "response_id": item.response_id,
            "row_id": item.row_id,
            "sent": error is None,
            "error": error,
            "at": now,
        }
        for item, error in outcomes
    ]
    for batch in batches(rows):
        connection.execute(
            upsert(connection, PUSHED, *PUSHED.primary_key.columns.keys()), list(batch)
        )


def target_states(connection: Connection, target: str | None = None) -> list[TargetState]:
    """Return the state of each target and kind, by name (``target``: only of this target)."""
    counts = (
        select(
            PUSHED.c.target,
            PUSHED.c.what,
            func.count().filter(PUSHED.c.sent.is_(True)).label("sent"),
            func.count().filter(PUSHED.c.sent.is_(False)).label("refused"),
            func.max(PUSHED.c.at).label("last_at"),
        )
        .group_by(PUSHED.c.target, PUSHED.c.what)
        .order_by(PUSHED.c.target, PUSHED.c.what)
    )
    if target is not None:
        counts = counts.where(PUSHED.c.target == target)
    states = []
    for row in connection.execute(counts):
        latest = select(PUSHED.c.error).where(
            PUSHED.c.target == row.target, PUSHED.c.what == row.what, PUSHED.c.sent.is_(False)
        )
        error = connection.scalar(
            latest.order_by(PUSHED.c.at.desc(), PUSHED.c.response_id.desc()).limit(1)
        )
        states.append(record_of(TargetState, row, error=error))
    return states


_ANSWER = (
    RESPONSE.c.id.label("response_id"),
    RESPONSE.c.source,
    RESPONSE.c.external_id,
    RESPONSE.c.extra,
)


_LATER = REVIEW.alias("later_review")


def _of_reviews(what: What) -> Select[Any]:
    key_names = ("response_id",) if what is What.GOLD else ("response_id", "reviewer_id")
    names = ("id", "label", "groundedness", "quality", "decision", "choices", *GRADE_TEXTS, "at")

    def counts(review: FromClause) -> ColumnElement[bool]:
        adjudication = Stage.ADJUDICATION.value
        stage = (
            review.c.stage == adjudication
            if what is What.GOLD
            else review.c.stage.is_distinct_from(adjudication)
        )
        return and_(stage, is_current(review), ~is_imported(review), ~is_test(review))

    of_same = (_LATER.c[name] == REVIEW.c[name] for name in key_names)
    has_later = exists(
        select(_LATER.c.id).where(*of_same, _LATER.c.id > REVIEW.c.id, counts(_LATER))
    )
    return (
        select(*(REVIEW.c[name] for name in names), *_ANSWER, REVIEWER.c.origin, REVIEWER.c.name)
        .select_from(REVIEW)
        .join(RESPONSE, RESPONSE.c.id == REVIEW.c.response_id)
        .join(REVIEWER, REVIEWER.c.id == REVIEW.c.reviewer_id)
        # As an expression, so that SQLite begins with the reviews, and not with all logged answers.
        .where(
            func.coalesce(RESPONSE.c.kind, "") == ResponseKind.LOG.value, counts(REVIEW), ~has_later
        )
    )


def _judgments(connection: Connection, rows: Sequence[Row[Any]]) -> Iterator[PushItem]:
    of_judgments = rows_with(
        connection, select(JUDGMENT_SCORE), JUDGMENT_SCORE.c.judgment_id, [row.id for row in rows]
    )
    scores = grouped(
        (score.judgment_id, PushScore(score.dimension, score.value, None, score.reasoning))
        for score in of_judgments
    )
    for row in rows:
        of_verdict = _verdict(row, row.reasoning)
        more = [score for score in scores.get(row.id, ()) if score.value is not None]
        yield _item(
            What.JUDGMENTS, row, f"{row.name} v{row.number}", (*of_verdict, *more), row.created_at
        )


def _reviews(connection: Connection, what: What, rows: Sequence[Row[Any]]) -> Iterator[PushItem]:
    ids = [row.id for row in rows]
    of_reviews = rows_with(connection, select(REVIEW_SCORE), REVIEW_SCORE.c.review_id, ids)
    scores = grouped(
        (score.review_id, PushScore(score.dimension, score.value))
        for score in of_reviews
        if score.value is not None
    )
    modes = modes_of(connection, ids)
    for row in rows:
        of_review = [*_verdict(row, None), *scores.get(row.id, ())]
        if row.decision is not None:
            of_review.append(PushScore("decision", label=row.decision.value))
        for name, choice in (row.choices or {}).items():
            labels = choice if isinstance(choice, list) else [choice]
            of_review.append(PushScore(name, label=", ".join(map(str, labels))))
        author = "gold" if what is What.GOLD else f"{row.origin}/{row.name}"
        more = {"by": row.name} | (
            {"failure_modes": ", ".join(modes[row.id])} if row.id in modes else {}
        )
        item = _item(what, row, author, tuple(of_review), row.at)
        texts = {name: text for name in GRADE_TEXTS if (text := getattr(row, name))}
        yield replace(item, texts=texts, more=more)


def _item(
    what: What, row: Any, author: str, scores: tuple[PushScore, ...], at: datetime
) -> PushItem:
    answer = (row.id, row.response_id, row.source, row.external_id, row.extra or {})
    by_name = {
        score.name: score for score in reversed(scores)
    }  # a dimension may have the name of a score: that counts
    return PushItem(what, *answer, author, tuple(reversed(by_name.values())), at)


def _verdict(row: Any, reasoning: str | None) -> tuple[PushScore, ...]:
    scores = [
        PushScore(name, float(getattr(row, name)), None, reasoning)
        for name in ("groundedness", "quality")
        if getattr(row, name) is not None
    ]
    if row.label is not None:
        scores.append(PushScore("label", label=row.label.value, reasoning=reasoning))
    return tuple(scores)


def get_pull(connection: Connection, tool: str, project: str) -> Pull:
    """Return how far a project was pulled."""
    query = select(Pull).where(PULL.c.tool == tool, PULL.c.project == project)
    return first_row(connection, query) or Pull(tool=tool, project=project)


def save_pull(connection: Connection, row: Pull, now: datetime) -> None:
    """Store how far a project was pulled."""
    connection.execute(upsert(connection, PULL, "tool", "project"), row.model_dump() | {"at": now})
