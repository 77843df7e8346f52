"""Judgments: rows and scores, those on anchors apart, current judgments, reported models, recorded judgments."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import (
    BigInteger,
    BindParameter,
    Connection,
    Select,
    bindparam,
    delete,
    exists,
    func,
    insert,
    select,
    tuple_,
    union_all,
)

from judgeboard.domain import (
    Attempt,
    Claim,
    ClaimStatus,
    DimensionScore,
    Feedback,
    Label,
    Status,
    StepRecord,
    Verdict,
)
from judgeboard.errors import NotFound
from judgeboard.registry.masks import masked
from judgeboard.store.statements import (
    columns_of,
    grouped,
    insert_or_skip,
    number_of,
    record_of,
    rows_with,
    upsert,
)
from judgeboard.store.tables import (
    ANCHOR_JUDGMENT,
    CURRENT,
    FEEDBACK,
    JUDGMENT,
    JUDGMENT_SCORE,
    RESPONSE,
    VERSION,
)
from judgeboard.text import storable_or_none


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
    """A judgment (repeat 0) without its texts, and its judge version."""

    response_id: int
    id: int
    status: Status
    groundedness: float | None
    quality: int | None
    label: Label | None
    version_id: int
    kind: str
    name: str
    number: int
    fingerprint: str


# Built once, so that SQLAlchemy finds the compiled form without comparing the statements again.
_IDS: BindParameter[int] = bindparam("ids", type_=BigInteger, expanding=True)
_RESPONSES = (
    select(*(RESPONSE.c[name] for name in ShortResponse._fields))
    .where(RESPONSE.c.id.in_(_IDS))
    .order_by(RESPONSE.c.id)
)
# Only other transactions that lock the row wait for this lock; new foreign keys may still refer to
# the row.
_RESPONSES_LOCKED = _RESPONSES.with_for_update(key_share=True)
_JUDGMENTS = (
    select(
        *(
            JUDGMENT.c[name]
            for name in ("response_id", "id", "status", "groundedness", "quality", "label")
        ),
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
class ResponseState:
    """A response with the judgments and the feedback that current judgments and flags depend on.

    ``by_version`` and ``by_judge`` contain the latest ok judgment (highest id, repeat 0) of each
    judge version and of each (kind, name); ``failed`` contains the latest unusable judgment of each
    (kind, name).
    """

    response: ShortResponse
    by_version: dict[int, ShortJudgment] = field(default_factory=dict)
    by_judge: dict[tuple[str, str], ShortJudgment] = field(default_factory=dict)
    failed: dict[tuple[str, str], ShortJudgment] = field(default_factory=dict)
    feedback: Feedback | None = None


def read_responses(connection: Connection, ids: set[int], *, lock: bool) -> list[ShortResponse]:
    """Return these responses by id, or raise NotFound; ``lock`` locks the rows in this order on PostgreSQL."""
    rows = connection.execute(_RESPONSES_LOCKED if lock else _RESPONSES, {"ids": list(ids)})
    responses = [ShortResponse._make(row) for row in rows]
    if len(responses) != len(ids):
        missing_id = min(ids - {response.id for response in responses})
        raise NotFound(f"no response {missing_id}")
    return responses


def read_states(connection: Connection, responses: Sequence[ShortResponse]) -> list[ResponseState]:
    """Return the states of these responses, in the same order, with two statements."""
    states = {response.id: ResponseState(response) for response in responses}
    ids = {"ids": list(states)}
    for row in connection.execute(_JUDGMENTS, ids):
        judgment = ShortJudgment._make(row)
        state, judge = states[judgment.response_id], (judgment.kind, judgment.name)
        if judgment.status == Status.OK:
            state.by_version[judgment.version_id] = judgment
            state.by_judge[judge] = judgment
        else:
            state.failed[judge] = judgment
    for response_id, kind, value in connection.execute(_FEEDBACK, ids):
        states[response_id].feedback = Feedback(kind, value)
    return list(states.values())


@dataclass(frozen=True, slots=True)
class NewJudgment:
    """A verdict to store, with the number of the ask (0 first) and of the repeat within the ask."""

    response_id: int
    ask: int
    repeat: int
    verdict: Verdict


def insert_judgments(
    connection: Connection,
    version_id: int,
    run_id: int | None,
    items: Sequence[NewJudgment],
    now: datetime,
) -> int:
    """Insert the judgments that are not stored yet, with scores; return the number of new judgments."""
    items = masked(items)
    statement = insert_or_skip(
        connection, JUDGMENT, "response_id", "judge_version_id", "ask", "repeat"
    )
    rows: list[dict[str, Any]] = []
    for item in items:
        verdict = item.verdict
        claims = verdict.claims
        row = {
            "response_id": item.response_id,
            "judge_version_id": version_id,
            "ask": item.ask,
            "repeat": item.repeat,
            **{name: getattr(verdict, name) for name in ("groundedness", "quality", "label")},
            "reasoning": storable_or_none(verdict.reasoning),
            "claims": None if claims is None else [_json(claim) for claim in claims],
        }
        rows.append(row | step_values(verdict, run_id, now))
    new_count = connection.execute(
        statement, rows, execution_options={"preserve_rowcount": True}
    ).rowcount
    with_scores = [item for item in items if item.verdict.scores]
    if new_count and with_scores:
        # Insert the scores of these judgments, except judgments that already have scores.
        without_scores = select(
            JUDGMENT.c.response_id, JUDGMENT.c.ask, JUDGMENT.c.repeat, JUDGMENT.c.id
        ).where(
            JUDGMENT.c.judge_version_id == version_id,
            JUDGMENT.c.response_id.in_({item.response_id for item in with_scores}),
            ~exists().where(JUDGMENT_SCORE.c.judgment_id == JUDGMENT.c.id),
        )
        ids = {
            (response_id, ask, repeat): id_
            for response_id, ask, repeat, id_ in connection.execute(without_scores)
        }
        rows = [
            asdict(score)
            | {"judgment_id": ids[key], "reasoning": storable_or_none(score.reasoning)}
            for item in with_scores
            if (key := (item.response_id, item.ask, item.repeat)) in ids
            for score in item.verdict.scores
        ]
        if rows:
            connection.execute(insert(JUDGMENT_SCORE), rows)
    return new_count


def insert_anchor_judgments(
    connection: Connection,
    version_id: int,
    run_id: int,
    verdicts: Mapping[int, Verdict],
    now: datetime,
) -> None:
    """Store a run's verdicts on anchors, by response id; verdicts that are stored already do not change."""
    rows = [
        {
            "response_id": response_id,
            "judge_version_id": version_id,
            "ask": 0,
            **{name: getattr(verdict, name) for name in ("groundedness", "quality", "label")},
            **step_values(verdict, run_id, now),
        }
        for response_id, verdict in verdicts.items()
    ]
    connection.execute(insert_or_skip(connection, ANCHOR_JUDGMENT, "run_id", "response_id"), rows)


def step_values(record: StepRecord, run_id: int | None, now: datetime) -> dict[str, Any]:
    """Return the values of the columns that all tables of steps share."""
    texts = ("raw", "model_reported", "error")
    values = (
        "status",
        "prompt_tokens",
        "completion_tokens",
        "cost_micro",
        "latency_ms",
        "reply_format",
    )
    return {
        "run_id": run_id,
        **{name: getattr(record, name) for name in values},
        **{name: storable_or_none(getattr(record, name)) for name in texts},
        "attempts": [_json(attempt) for attempt in record.attempts],
        "dropped_parameters": record.dropped_parameters,
        "created_at": now,
    }


def _json(value: Claim | Attempt) -> dict[str, Any]:
    fields = {name: getattr(value, name) for name in value.__dataclass_fields__}
    return {
        name: storable_or_none(str(field)) if isinstance(field, str) else field
        for name, field in fields.items()
        if field is not None
    }


def claims_from(claims: Iterable[Mapping[str, Any]] | None) -> tuple[Claim, ...] | None:
    """Return stored claims; None if the judge returns no claims or the claims are forgotten."""
    if claims is None:
        return None
    return tuple(Claim(**{**claim, "status": ClaimStatus(claim["status"])}) for claim in claims)


_KEY = ("judge_version_id", "response_id")
_COLUMNS = tuple(column.name for column in CURRENT.columns)
_IS_CURRENT = _COLUMNS.index("is_current")
_STORED = select(CURRENT).where(CURRENT.c.response_id.in_(_IDS))


def update_current_judgments(connection: Connection, states: Sequence[ResponseState]) -> int:
    """Make the rows of current_judgment match these states; return how many rows changed."""
    ids = [state.response.id for state in states]
    current_rows = {tuple(row[:2]): tuple(row) for row in connection.execute(_STORED, {"ids": ids})}
    rows: dict[tuple[int, int], tuple[Any, ...]] = {}
    for state in states:
        response = state.response
        user_quality = None if state.feedback is None else state.feedback.quality
        for version_id, judgment in state.by_version.items():
            rows[version_id, response.id] = (
                version_id,
                response.id,
                judgment.id,
                judgment.kind,
                judgment.name,
                state.by_judge[judgment.kind, judgment.name].id == judgment.id,
                response.kind,
                response.query_type,
                response.source,
                response.asked_day,
                response.evidence_group,
                judgment.groundedness,
                judgment.quality,
                judgment.label,
                user_quality,
            )
    changed_rows = [row for key, row in rows.items() if current_rows.get(key) != row]
    removed_keys = current_rows.keys() - rows.keys()
    if removed_keys:
        key = tuple_(CURRENT.c.judge_version_id, CURRENT.c.response_id)
        connection.execute(delete(CURRENT).where(key.in_(removed_keys)))
    if changed_rows:
        # Rows that are no longer current come first: an index allows one current row per judge
        # name.
        changed_rows.sort(key=lambda row: row[_IS_CURRENT])
        connection.execute(
            upsert(connection, CURRENT, *_KEY),
            [dict(zip(_COLUMNS, row, strict=True)) for row in changed_rows],
        )
    return len(changed_rows) + len(removed_keys)


def dimension_scores(
    connection: Connection, judgment_ids: Sequence[int]
) -> dict[int, list[DimensionScore]]:
    """Return the scores of these judgments by judgment id, in the order of storing."""
    query = select(
        JUDGMENT_SCORE.c.judgment_id, *columns_of(DimensionScore, JUDGMENT_SCORE)
    ).order_by(JUDGMENT_SCORE.c.id)
    rows = rows_with(connection, query, JUDGMENT_SCORE.c.judgment_id, judgment_ids)
    return grouped((judgment_id, DimensionScore(*score)) for judgment_id, *score in rows)


class RecordedVerdict(NamedTuple):
    """A stored verdict, to compare with an imported verdict. A ``forgotten`` verdict has blank texts."""

    verdict: Verdict
    forgotten: bool

    def equals(self, verdict: Verdict) -> bool:
        """Return whether a verdict has the same content; texts of a forgotten verdict are not compared."""
        if _decided(self.verdict) != _decided(verdict):
            return False
        return self.forgotten or (self.verdict.reasoning, self.verdict.raw) == (
            verdict.reasoning,
            verdict.raw,
        )


def _decided(verdict: Verdict) -> tuple[Any, ...]:
    scores = {score.dimension: score.value for score in verdict.scores}
    return verdict.status, verdict.label, verdict.groundedness, verdict.quality, scores


def recorded_verdicts(
    connection: Connection, version_id: int, response_ids: Collection[int]
) -> dict[tuple[int, int, int], RecordedVerdict]:
    """Return the judgments of a version on these responses, by response id, ask and repeat, in the order of asks."""
    names = ("status", "label", "groundedness", "quality", "reasoning", "raw")
    of_version = JUDGMENT.c.judge_version_id == version_id, JUDGMENT.c.response_id.in_(response_ids)
    query: Select[Any] = (
        select(JUDGMENT.c.id, JUDGMENT.c.response_id, *(JUDGMENT.c[name] for name in names))
        .add_columns(
            RESPONSE.c.answer.is_(None).label("forgotten"), JUDGMENT.c.ask, JUDGMENT.c.repeat
        )
        .join(RESPONSE, RESPONSE.c.id == JUDGMENT.c.response_id)
        .where(*of_version)
        .order_by(JUDGMENT.c.ask, JUDGMENT.c.repeat)
    )
    rows = connection.execute(query).all()
    scores = dimension_scores(connection, [row.id for row in rows])
    return {
        (row.response_id, row.ask, row.repeat): RecordedVerdict(
            record_of(Verdict, row, scores=tuple(scores.get(row.id, ()))), row.forgotten
        )
        for row in rows
    }


def judgment_ids(
    connection: Connection, version_ids: Collection[int], response_ids: Collection[int]
) -> dict[tuple[int, int, int, int], int]:
    """Return the ids of the judgments of these versions and responses, by version id, response id, ask and repeat."""
    columns = (
        JUDGMENT.c[name] for name in ("judge_version_id", "response_id", "ask", "repeat", "id")
    )
    query = select(*columns).where(JUDGMENT.c.judge_version_id.in_(version_ids))
    rows = rows_with(connection, query, JUDGMENT.c.response_id, response_ids)
    return {(version, response, ask, repeat): id_ for version, response, ask, repeat, id_ in rows}


def recorded_scores(
    connection: Connection, version_id: int, response_ids: Collection[int]
) -> dict[tuple[int, int], dict[str, float | None]]:
    """Return the scores by dimension of a version's first asks, by (response id, repeat)."""
    query = (
        select(
            JUDGMENT.c.response_id,
            JUDGMENT.c.repeat,
            JUDGMENT_SCORE.c.dimension,
            JUDGMENT_SCORE.c.value,
        )
        .join(JUDGMENT_SCORE, JUDGMENT_SCORE.c.judgment_id == JUDGMENT.c.id, isouter=True)
        .where(
            JUDGMENT.c.judge_version_id == version_id,
            JUDGMENT.c.response_id.in_(response_ids),
            JUDGMENT.c.ask == 0,
        )
    )
    scores_by_judgment: dict[tuple[int, int], dict[str, float | None]] = {}
    for response_id, repeat, dimension, value in connection.execute(query):
        scores = scores_by_judgment.setdefault((response_id, repeat), {})
        if dimension is not None:
            scores[dimension] = value
    return scores_by_judgment


def count_expected(connection: Connection, run_id: int) -> int:
    """Return how many judgments of a run have an expected score."""
    query = (
        select(func.count(func.distinct(JUDGMENT_SCORE.c.judgment_id)))
        .join(JUDGMENT, JUDGMENT.c.id == JUDGMENT_SCORE.c.judgment_id)
        .where(JUDGMENT.c.run_id == run_id, JUDGMENT_SCORE.c.dimension.like("expected %"))
    )
    return number_of(connection, query)


class ReportedModel(NamedTuple):
    """A model name that a provider reported for a judge version: the first and last time, and how many judgments."""

    judge_version_id: int
    model: str
    first_at: datetime
    last_at: datetime
    judgments: int


def reported_models(
    connection: Connection,
    version_id: int | None = None,
    *,
    after: datetime | None = None,
    until: datetime | None = None,
) -> list[ReportedModel]:
    """Return the model names that providers reported, of each judge version in the order of the first judgments.

    Only the judgments of a version (default: all), made ``after`` and ``until`` a time, count.
    """
    parts = []
    for each in (JUDGMENT.c, ANCHOR_JUDGMENT.c):
        times = (
            func.min(each.created_at).label("first_at"),
            func.max(each.created_at).label("last_at"),
        )
        part = select(
            each.judge_version_id, each.model_reported, *times, func.count().label("judgments")
        )
        part = part.where(each.model_reported.is_not(None))
        if version_id is not None:
            part = part.where(each.judge_version_id == version_id)
        if after is not None:
            part = part.where(each.created_at > after)
        if until is not None:
            part = part.where(each.created_at <= until)
        parts.append(part.group_by(each.judge_version_id, each.model_reported))
    version, model, first_at, last_at, judgments = union_all(*parts).subquery().c
    first = func.min(first_at).label("first_at")
    query = select(version, model, first, func.max(last_at), func.sum(judgments)).group_by(
        version, model
    )
    rows = connection.execute(query.order_by(version, first))
    return [ReportedModel(*row[:-1], int(row[-1])) for row in rows]
