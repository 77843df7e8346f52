"""Reads what judges and users say of a few responses, without their texts: what current judgments and flags rest on."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from sqlalchemy import BindParameter, Connection, bindparam, select

from judgeboard.domain import Feedback, FeedbackKind, Status
from judgeboard.errors import NotFound
from judgeboard.store.schema.tables import FEEDBACK, JUDGMENT, RESPONSE, VERSION


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
