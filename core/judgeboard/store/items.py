"""One answer with feedback, judgments, flags and reviews, for the review screen."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, Select, select

from judgeboard.domain import (
    LOG_FIELDS,
    Attempt,
    Feedback,
    FlagState,
    Response,
    ResponseKind,
    Status,
    Verdict,
)
from judgeboard.errors import NotFound
from judgeboard.flags.rules import why
from judgeboard.judges.evidence_alignment import is_right_refusal
from judgeboard.store.hidden_rows import NOTHING_HIDDEN, Hidden, hidden_of, viewer_of
from judgeboard.store.judgments import claims_from, dimension_scores
from judgeboard.store.label_schemas import list_schemas
from judgeboard.store.responses import response_of
from judgeboard.store.reviews import Review, find_reviews
from judgeboard.store.settings import primary_judge
from judgeboard.store.sql_compiler import hides_blind_rows, with_hidden_rows
from judgeboard.store.statements import columns_of, record_of
from judgeboard.store.tables import (
    CURRENT,
    EVENT,
    FEEDBACK,
    FLAG,
    JUDGMENT,
    JUDGMENT_REVIEW,
    RESPONSE,
    REVIEW,
    VERSION,
    SchemaVersion,
    version_title,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemJudgment(Verdict):
    """A stored verdict with the title of the judge version ("rag v3").

    Dropped parameters are not read. Only current verdicts have scores. `load_calls` reads attempts.
    """

    id: int
    judge_version_id: int
    judge_kind: str
    judge_name: str
    version_title: str
    model: str | None
    ask: int
    repeat: int
    created_at: datetime


@dataclass(frozen=True, slots=True)
class ItemFlag:
    """A flag with its reason in one sentence.

    ``judges`` are the titles of the judge versions whose verdicts the flag compares, empty if the
    flag uses only the primary judge.
    """

    id: int
    rule: str
    state: str
    why: str
    severity: float
    created_at: datetime
    judges: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class ItemAudit:
    """The usable review of a judgment by a supreme judge; ``supreme`` is the judge's title."""

    judgment_id: int
    supreme: str
    correct: bool
    reasoning: str | None
    at: datetime


@dataclass(frozen=True, slots=True)
class Item:
    """An answer with judgments, flags and reviews, newest first.

    ``currents`` has the current verdict of each judge: the primary judge first, the others by name.
    ``schemas`` are label schemas by id, also the schemas of the reviews. Hidden parts (``hidden``)
    are empty. If the judge is hidden, the ``response`` has nothing that may tell the generator. The
    feedback is without users. If ``forgotten_at`` is a time, the texts are empty.
    """

    response_id: int
    response: Response
    forgotten_at: datetime | None
    primary_judge: str | None
    judgments: tuple[ItemJudgment, ...]
    currents: tuple[ItemJudgment, ...]
    flags: tuple[ItemFlag, ...]
    reviews: tuple[Review, ...]
    audits: tuple[ItemAudit, ...] = ()
    schemas: Mapping[int, SchemaVersion] = field(default_factory=dict)
    hidden: Hidden = NOTHING_HIDDEN

    @property
    def with_claims(self) -> ItemJudgment | None:
        """The current judgment whose claims are marked in the texts: the first of ``currents`` that has any."""
        return next((judgment for judgment in self.currents if judgment.claims), None)

    def before(self, judgment: ItemJudgment) -> ItemJudgment | None:
        """Return the same judge's previous usable judgment, which this judgment replaced; None if there is none."""
        earlier = (
            each for each in self.judgments if each.id < judgment.id and each.status == Status.OK
        )
        return next(
            (
                each
                for each in earlier
                if (each.judge_name, each.repeat) == (judgment.judge_name, 0)
            ),
            None,
        )

    @property
    def right_refusal(self) -> bool:
        """Whether the answer only declines, and rightly so because no passage fits the question."""
        return is_right_refusal(self.response.query, self.response.answer, self.response.passages)

    @property
    def flag(self) -> ItemFlag | None:
        """The open flag with the highest severity, or None."""
        open_flags = [flag for flag in self.flags if flag.state == FlagState.OPEN]
        return max(open_flags, key=lambda flag: (flag.severity, -flag.id), default=None)


def response_of_flag(connection: Connection, flag_id: int) -> int:
    """Return the response of a flag; raise NotFound if the flag does not exist or is hidden from the reader."""
    query = select(FLAG.c.response_id).where(FLAG.c.id == flag_id)
    response_id = connection.scalar(query)
    if response_id is None:
        raise NotFound(f"No flag with this id: {flag_id}")
    return int(response_id)


def find_responses(connection: Connection, name: str) -> list[tuple[int, str]]:
    """Return (id, source) of the response with this id, otherwise of all with this external id, the newest first.

    Raises NotFound if there is none.
    """
    columns = select(RESPONSE.c.id, RESPONSE.c.source)
    conditions = [RESPONSE.c.external_id == name]
    if name.isascii() and name.isdecimal() and len(name) <= 18:  # an id that both engines can store
        conditions.insert(0, RESPONSE.c.id == int(name))
    for condition in conditions:
        # The texts of a hidden answer may be read; load_item leaves out the rest.
        query = with_hidden_rows(columns.where(condition).order_by(RESPONSE.c.id.desc()))
        if rows := connection.execute(query).all():
            return [(row.id, row.source) for row in rows]
    raise NotFound(f"No answer with this id: {name}")


def load_item(connection: Connection, response_id: int, *, own_first: bool = False) -> Item:
    """Return an answer with feedback, judgments, flags and reviews, with fourteen statements at most.

    A reader who has to review the answer blind (`hidden_rows.Seen`, `read_as`) gets the texts but
    no hidden part. With ``own_first``, a reader without an own review of the answer gets no review
    by others (`hidden_of`). Raises NotFound if the response does not exist, or was made from an
    answer that the reader has to review blind.
    """
    query = select(RESPONSE).where(RESPONSE.c.id == response_id)
    row = connection.execute(query).one_or_none()
    hidden = hidden_of(
        connection, viewer_of(connection), response_id=response_id, own_first=own_first
    )
    if row is None and hides_blind_rows(connection):
        row = connection.execute(with_hidden_rows(query)).one_or_none()
        # Not queued: the logged side of a queued pair, or made from a queued answer.
        if row is not None and not hidden.queues:
            hidden = Hidden(judge=True, people=True)
            row = row if row.kind == ResponseKind.LOG else None
    if row is None:
        raise NotFound(f"No answer with this id: {response_id}")
    primary = primary_judge(connection)
    # The answer with feedback; if the judge is hidden, without fields that may tell the generator.
    columns = select(*(FEEDBACK.c[name] for name in ("kind", "value", "at", "comment")))
    of_users = columns.where(FEEDBACK.c.response_id == response_id).order_by(FEEDBACK.c.id)
    feedback = connection.execute(with_hidden_rows(of_users))
    response = response_of(row)
    response = replace(response, feedback=tuple(record_of(Feedback, each) for each in feedback))
    if hidden.judge:
        generator_fields: dict[str, Any] = {
            name: None for name, each in LOG_FIELDS.items() if each.tells_the_generator
        }
        response = replace(
            response, **generator_fields, generator_cost=None, metadata={}, derived_from=None
        )
    judgments: tuple[ItemJudgment, ...] = ()
    if not hidden.judge:
        of_answer = _JUDGMENTS.where(JUDGMENT.c.response_id == response_id)
        judgments = tuple(map(_judgment, connection.execute(with_hidden_rows(of_answer))))
    reviews = _reviews(connection, response_id, hidden)
    schema_ids = {review.label_schema_id for review in reviews} - {None}
    query = select(EVENT.c.at).where(EVENT.c.response_id == response_id, EVENT.c.kind == "forget")
    return Item(
        response_id=response_id,
        response=response,
        forgotten_at=connection.scalar(with_hidden_rows(query.order_by(EVENT.c.id).limit(1))),
        primary_judge=primary,
        judgments=judgments,
        currents=() if hidden.judge else _currents(connection, response_id, judgments, primary),
        flags=() if hidden.judge else _flags(connection, response_id, hidden),
        reviews=reviews,
        audits=_audits(connection, judgments),
        schemas={each.id: each for each in list_schemas(connection)} if schema_ids else {},
        hidden=hidden,
    )


_NOT_READ = {
    "attempts",
    "dropped_parameters",
}  # attempts repeat the replies, and few readers open attempts
_JUDGMENTS: Select[Any] = (
    select(
        *(
            each
            for each in columns_of(ItemJudgment, JUDGMENT, VERSION)
            if each.name not in _NOT_READ
        ),
        VERSION.c.kind.label("judge_kind"),
        VERSION.c.name.label("judge_name"),
        VERSION.c.number,
    )
    .join(VERSION, VERSION.c.id == JUDGMENT.c.judge_version_id)
    .order_by(JUDGMENT.c.id.desc())
)


def _judgment(row: Row[Any]) -> ItemJudgment:
    title = version_title(row.judge_name, row.number)
    return record_of(ItemJudgment, row, claims=claims_from(row.claims), version_title=title)


def _currents(
    connection: Connection,
    response_id: int,
    judgments: tuple[ItemJudgment, ...],
    primary: str | None,
) -> tuple[ItemJudgment, ...]:
    query = select(CURRENT.c.judgment_id).where(
        CURRENT.c.response_id == response_id, CURRENT.c.is_current.is_(True)
    )
    ids = set(connection.scalars(with_hidden_rows(query)))
    scores = dimension_scores(connection, [*ids])
    currents = [
        replace(judgment, scores=tuple(scores.get(judgment.id, ())))
        for judgment in judgments
        if judgment.id in ids
    ]
    return tuple(
        sorted(currents, key=lambda judgment: (judgment.judge_name != primary, judgment.judge_name))
    )


def _flags(connection: Connection, response_id: int, hidden: Hidden) -> tuple[ItemFlag, ...]:
    query = select(FLAG).where(FLAG.c.response_id == response_id).order_by(FLAG.c.id.desc())
    if hidden.people:  # a decided flag shows the decision of others
        query = query.where(FLAG.c.state == FlagState.OPEN.value)
    flags = []
    for row in connection.execute(with_hidden_rows(query)):
        titles = (title for pair in row.details.get("pairs", ()) for title in pair["judges"])
        judges = frozenset([*titles, *row.details.get("supremes", ())])
        flags.append(
            record_of(ItemFlag, row, why=why(row.rule, row.details, row.params), judges=judges)
        )
    return tuple(flags)


def load_calls(connection: Connection, judgment_ids: Sequence[int]) -> dict[int, ItemJudgment]:
    """Return judgments with their attempts by id, without answers that the reader must review blind."""
    query = _JUDGMENTS.add_columns(JUDGMENT.c.attempts).where(JUDGMENT.c.id.in_(judgment_ids))
    return {
        row.id: replace(
            _judgment(row), attempts=tuple(Attempt(**attempt) for attempt in row.attempts or ())
        )
        for row in connection.execute(query)
    }


_AUDITS: Select[Any] = (
    select(
        *(
            JUDGMENT_REVIEW.c[name]
            for name in ("judgment_id", "judge_version_id", "correct", "reasoning")
        ),
        JUDGMENT_REVIEW.c.created_at,
        VERSION.c.name,
        VERSION.c.number,
    )
    .join(VERSION, VERSION.c.id == JUDGMENT_REVIEW.c.judge_version_id)
    .where(JUDGMENT_REVIEW.c.correct.is_not(None))
    .order_by(JUDGMENT_REVIEW.c.id)
)


def _audits(connection: Connection, judgments: tuple[ItemJudgment, ...]) -> tuple[ItemAudit, ...]:
    """Return the latest usable review of each judgment by each supreme judge, the newest first."""
    if not judgments:
        return ()
    query = _AUDITS.where(
        JUDGMENT_REVIEW.c.judgment_id.in_([judgment.id for judgment in judgments])
    )
    rows = {
        (row.judgment_id, row.judge_version_id): row
        for row in connection.execute(with_hidden_rows(query))
    }
    return tuple(
        ItemAudit(
            row.judgment_id,
            version_title(row.name, row.number),
            row.correct,
            row.reasoning,
            row.created_at,
        )
        for row in reversed(rows.values())
    )


def _reviews(connection: Connection, response_id: int, hidden: Hidden) -> tuple[Review, ...]:
    if hidden.own:
        return ()
    conditions = [REVIEW.c.response_id == response_id]
    if hidden.people:
        conditions.append(REVIEW.c.reviewer_id == viewer_of(connection))
    reviews = find_reviews(connection, *conditions, hidden_too=True)[::-1]
    if hidden.judge:  # these fields refer to the judge
        return tuple(
            replace(each, grade=replace(each.grade, claim_marks=(), why_differs=None))
            for each in reviews
        )
    return tuple(reviews)
