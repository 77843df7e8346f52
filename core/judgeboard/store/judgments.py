"""Judgments: their rows and scores, the current one of each judge, and recorded ones of an import."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import BindParameter, Connection, bindparam, delete, exists, func, insert, select, tuple_

from judgeboard.domain import Attempt, Claim, ClaimStatus, Feedback, FeedbackKind, Status, StepRecord, Verdict
from judgeboard.errors import NotFound
from judgeboard.store.statements import insert_or_skip, upsert
from judgeboard.store.tables import CURRENT, FEEDBACK, JUDGMENT, JUDGMENT_SCORE, RESPONSE, VERSION
from judgeboard.text import storable_or_none

_CLAIM = tuple(Claim.__dataclass_fields__)
_ATTEMPT = tuple(Attempt.__dataclass_fields__)


def claims_json(claims: Iterable[Claim] | None) -> list[dict[str, Any]] | None:
    """Return claims as JSON values; None (not asked for) stays None, none found is an empty list."""
    return None if claims is None else [_fields(claim, _CLAIM) for claim in claims]


def attempts_json(attempts: Iterable[Attempt]) -> list[dict[str, Any]]:
    """Return attempts as JSON values, in the order in which they were made."""
    return [_fields(attempt, _ATTEMPT) for attempt in attempts]


def claims_from(stored: Iterable[Mapping[str, Any]] | None) -> tuple[Claim, ...] | None:
    """Return stored claims as they were given; None where none were asked for, or they are forgotten."""
    if stored is None:
        return None
    return tuple(Claim(**{**claim, "status": ClaimStatus(claim["status"])}) for claim in stored)


def _fields(value: Claim | Attempt, names: tuple[str, ...]) -> dict[str, Any]:
    fields = {}
    for name in names:
        field = getattr(value, name)
        if field is not None:
            fields[name] = storable_or_none(str(field)) if isinstance(field, str) else field
    return fields


def step_columns(record: StepRecord | Verdict, run_id: int | None, now: datetime) -> dict[str, Any]:
    """Return the account of a step as columns of its row."""
    return {
        "run_id": run_id,
        "status": record.status.value,
        "raw": storable_or_none(record.raw),
        "model_reported": storable_or_none(record.model_reported),
        "prompt_tokens": record.prompt_tokens,
        "completion_tokens": record.completion_tokens,
        "cost_micro": record.cost_micro,
        "latency_ms": record.latency_ms,
        "attempts": attempts_json(record.attempts),
        "reply_format": record.reply_format,
        "dropped_parameters": list(record.dropped_parameters),
        "error": storable_or_none(record.error),
        "created_at": now,
    }


class ShortResponse(NamedTuple):
    """A response without its texts."""

    id: int
    kind: str
    query_type: str
    source: str
    external_id: str
    asked_day: int | None
    evidence_group: int


class ShortJudgment(NamedTuple):
    """A judgment (repeat 0) without its texts, and the judge version that gave it."""

    response_id: int
    id: int
    status: str
    groundedness: float | None
    quality: int | None
    label: str | None
    version_id: int
    kind: str
    name: str
    number: int
    fingerprint: str


# Built once: SQLAlchemy then finds their compiled form without looking at them again.
_IDS: BindParameter[int] = bindparam("ids", expanding=True)
_RESPONSES = (
    select(*(RESPONSE.c[name] for name in ShortResponse._fields)).where(RESPONSE.c.id.in_(_IDS)).order_by(RESPONSE.c.id)
)
# Foreign keys of others may still point at a held row: only those who hold it too have to wait.
_RESPONSES_HELD = _RESPONSES.with_for_update(key_share=True)

_JUDGMENTS = (
    select(
        *(JUDGMENT.c[name] for name in ("response_id", "id", "status", "groundedness", "quality", "label")),
        *(VERSION.c[name] for name in ("id", "kind", "name", "number", "fingerprint")),
    )
    .join(VERSION, VERSION.c.id == JUDGMENT.c.judge_version_id)
    .where(JUDGMENT.c.response_id.in_(_IDS), JUDGMENT.c.repeat == 0)
    .order_by(JUDGMENT.c.id)
)

_FEEDBACK = (
    select(FEEDBACK.c.response_id, FEEDBACK.c.kind, FEEDBACK.c.value)
    .where(FEEDBACK.c.response_id.in_(_IDS))
    .order_by(FEEDBACK.c.id)
)


@dataclass(slots=True)
class Said:
    """All that counts of one response: who it is, what each judge last said of it, the user's latest feedback.

    ``by_version`` and ``by_judge`` hold the latest ok judgment (highest id, repeat 0) of each judge version and of
    each (kind, name); ``failed`` the latest not ok one of each (kind, name).
    """

    response: ShortResponse
    by_version: dict[int, ShortJudgment] = field(default_factory=dict)
    by_judge: dict[tuple[str, str], ShortJudgment] = field(default_factory=dict)
    failed: dict[tuple[str, str], ShortJudgment] = field(default_factory=dict)
    feedback: Feedback | None = None


def read_responses(connection: Connection, ids: set[int], *, lock: bool) -> list[ShortResponse]:
    """Return the short facts of these responses by id; ``lock`` holds their rows on PostgreSQL, in that order.

    Raises:
        NotFound: One of them is not stored.
    """
    rows = connection.execute(_RESPONSES_HELD if lock else _RESPONSES, {"ids": list(ids)})
    responses = [ShortResponse._make(row) for row in rows]
    if len(responses) != len(ids):
        missing = min(ids - {response.id for response in responses})
        raise NotFound(f"no response {missing}")
    return responses


def read_said(connection: Connection, responses: Sequence[ShortResponse]) -> list[Said]:
    """Return what is said of these responses, in their order, in two statements."""
    said = {response.id: Said(response) for response in responses}
    ids = {"ids": list(said)}
    for row in connection.execute(_JUDGMENTS, ids):
        judgment = ShortJudgment._make(row)
        mine = said[judgment.response_id]
        judge = (judgment.kind, judgment.name)
        if judgment.status == Status.OK:
            mine.by_version[judgment.version_id] = judgment
            mine.by_judge[judge] = judgment
        else:
            mine.failed[judge] = judgment
    for response_id, kind, value in connection.execute(_FEEDBACK, ids):
        said[response_id].feedback = Feedback(FeedbackKind(kind), value)
    return list(said.values())


SCORE = JUDGMENT_SCORE
_ONE_ASK = ("response_id", "judge_version_id", "ask", "repeat")


@dataclass(frozen=True, slots=True)
class NewJudgment:
    """A verdict on its way into the store: of which response, which asking of it (0 first), which repeat of that."""

    response_id: int
    ask: int
    repeat: int
    verdict: Verdict


def insert_judgments(
    connection: Connection, version_id: int, run_id: int | None, items: Sequence[NewJudgment], now: datetime
) -> int:
    """Insert the judgments that are not stored yet, with their scores; return how many came in."""
    statement = insert_or_skip(connection, JUDGMENT, *_ONE_ASK)
    rows = [_row(version_id, run_id, item, now) for item in items]
    came_in = connection.execute(statement, rows, execution_options={"preserve_rowcount": True}).rowcount
    scored = [item for item in items if item.verdict.scores]
    if came_in and scored:
        _insert_scores(connection, version_id, scored)
    return came_in


def _insert_scores(connection: Connection, version_id: int, items: Sequence[NewJudgment]) -> None:
    """Insert the scores of judgments that have none yet: those of a judgment come in with it or never."""
    named = select(JUDGMENT.c.response_id, JUDGMENT.c.ask, JUDGMENT.c.repeat, JUDGMENT.c.id).where(
        JUDGMENT.c.judge_version_id == version_id,
        JUDGMENT.c.response_id.in_({item.response_id for item in items}),
        ~exists().where(SCORE.c.judgment_id == JUDGMENT.c.id),
    )
    ids = {(response_id, ask, repeat): id_ for response_id, ask, repeat, id_ in connection.execute(named)}
    rows = [
        {
            "judgment_id": ids[key],
            "dimension": score.dimension,
            "value": score.value,
            "scale": score.scale,
            "reasoning": storable_or_none(score.reasoning),
        }
        for item in items
        if (key := (item.response_id, item.ask, item.repeat)) in ids
        for score in item.verdict.scores
    ]
    if rows:
        connection.execute(insert(SCORE), rows)


def _row(version_id: int, run_id: int | None, item: NewJudgment, now: datetime) -> dict[str, Any]:
    verdict = item.verdict
    return {
        "response_id": item.response_id,
        "judge_version_id": version_id,
        "ask": item.ask,
        "repeat": item.repeat,
        "groundedness": verdict.groundedness,
        "quality": verdict.quality,
        "label": None if verdict.label is None else verdict.label.value,
        "reasoning": storable_or_none(verdict.reasoning),
        "claims": claims_json(verdict.claims),
        **step_columns(verdict, run_id, now),
    }


_KEY = ("judge_version_id", "response_id")
_COLUMNS = tuple(column.name for column in CURRENT.columns)
_IS_CURRENT = _COLUMNS.index("is_current")
_STORED = select(CURRENT).where(CURRENT.c.response_id.in_(bindparam("ids", expanding=True)))


def keep_current(connection: Connection, said: Sequence[Said]) -> int:
    """Bring the kept rows of these responses in line with what is said of them; return how many changed."""
    ids = [one.response.id for one in said]
    kept = {tuple(row[:2]): tuple(row) for row in connection.execute(_STORED, {"ids": ids})}
    wanted = {key: row for one in said for key, row in _wanted(one).items()}
    changed = [row for key, row in wanted.items() if kept.get(key) != row]
    gone = kept.keys() - wanted.keys()
    if gone:
        _delete(connection, gone)
    if changed:
        # The judge's former current steps back before the new one steps up: there is one at any moment.
        changed.sort(key=lambda row: row[_IS_CURRENT])
        connection.execute(
            upsert(connection, CURRENT, *_KEY), [dict(zip(_COLUMNS, row, strict=True)) for row in changed]
        )
    return len(changed) + len(gone)


def _wanted(said: Said) -> dict[tuple[int, int], tuple[Any, ...]]:
    response = said.response
    user_quality = None if said.feedback is None else said.feedback.quality
    return {
        (version_id, response.id): (
            version_id,
            response.id,
            row.id,
            row.kind,
            row.name,
            said.by_judge[row.kind, row.name].id == row.id,
            response.kind,
            response.query_type,
            response.source,
            response.asked_day,
            response.evidence_group,
            row.groundedness,
            row.quality,
            row.label,
            user_quality,
        )
        for version_id, row in said.by_version.items()
    }


def _delete(connection: Connection, keys: Collection[tuple[Any, ...]]) -> None:
    key = tuple_(CURRENT.c.judge_version_id, CURRENT.c.response_id)
    connection.execute(delete(CURRENT).where(key.in_(keys)))


class StoredVerdict(NamedTuple):
    """What a stored judgment says; the texts of a ``forgotten`` one are blank, whatever they were."""

    status: str
    label: str | None
    groundedness: float | None
    quality: int | None
    reasoning: str | None
    raw: str | None
    forgotten: bool
    scores: dict[str, float | None]


def first_verdicts(connection: Connection, version_id: int, response_ids: Collection[int]) -> dict[int, StoredVerdict]:
    """Return the first judgment (ask 0, repeat 0) of a version on each of these responses, by response id."""
    query = (
        select(
            JUDGMENT.c.response_id,
            JUDGMENT.c.status,
            JUDGMENT.c.label,
            JUDGMENT.c.groundedness,
            JUDGMENT.c.quality,
            JUDGMENT.c.reasoning,
            JUDGMENT.c.raw,
            RESPONSE.c.answer.is_(None).label("forgotten"),
        )
        .join(RESPONSE, RESPONSE.c.id == JUDGMENT.c.response_id)
        .where(
            JUDGMENT.c.judge_version_id == version_id,
            JUDGMENT.c.response_id.in_(response_ids),
            JUDGMENT.c.ask == 0,
            JUDGMENT.c.repeat == 0,
        )
    )
    scores = recorded_scores(connection, version_id, response_ids)
    return {
        row.response_id: StoredVerdict(
            status=row.status,
            label=row.label,
            groundedness=row.groundedness,
            quality=row.quality,
            reasoning=row.reasoning,
            raw=row.raw,
            forgotten=row.forgotten,
            scores=scores[row.response_id, 0],
        )
        for row in connection.execute(query)
    }


def recorded_scores(
    connection: Connection, version_id: int, response_ids: Collection[int]
) -> dict[tuple[int, int], dict[str, float | None]]:
    """Return the scores by dimension of a version's first asks, by (response id, repeat); empty for one without."""
    query = (
        select(JUDGMENT.c.response_id, JUDGMENT.c.repeat, SCORE.c.dimension, SCORE.c.value)
        .join(SCORE, SCORE.c.judgment_id == JUDGMENT.c.id, isouter=True)
        .where(JUDGMENT.c.judge_version_id == version_id, JUDGMENT.c.response_id.in_(response_ids), JUDGMENT.c.ask == 0)
    )
    found: dict[tuple[int, int], dict[str, float | None]] = {}
    for response_id, repeat, dimension, value in connection.execute(query):
        scores = found.setdefault((response_id, repeat), {})
        if dimension is not None:
            scores[dimension] = value
    return found


def says_the_same(stored: StoredVerdict, verdict: Verdict) -> bool:
    """Whether a stored judgment holds this verdict, as far as it is not forgotten."""
    said = stored[:4] == (verdict.status, verdict.label, verdict.groundedness, verdict.quality)
    same = said and stored.scores == {score.dimension: score.value for score in verdict.scores}
    return same and (stored.forgotten or (stored.reasoning, stored.raw) == (verdict.reasoning, verdict.raw))


def count_expected(connection: Connection, run_id: int) -> int:
    """Return how many judgments of a run have an expected score."""
    query = (
        select(func.count(func.distinct(SCORE.c.judgment_id)))
        .join(JUDGMENT, JUDGMENT.c.id == SCORE.c.judgment_id)
        .where(JUDGMENT.c.run_id == run_id, SCORE.c.dimension.like("expected %"))
    )
    return int(connection.execute(query).scalar_one())
