"""Old and new verdicts on the same responses: a run against what stood before it, or one version against another."""

from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, FromClause, Select, func, select

from judgeboard.domain import Status
from judgeboard.errors import NotFound
from judgeboard.store.responses.text_starts import QUESTION
from judgeboard.store.schema.tables import CURRENT, JUDGMENT, RESPONSE, RUN, VERSION


@dataclass(frozen=True, slots=True)
class OneVerdict:
    """A usable verdict: its judgment, its version, and what it gave; each may be missing."""

    judgment_id: int
    version_id: int
    groundedness: float | None
    quality: int | None
    label: str | None


@dataclass(frozen=True, slots=True)
class VerdictPair:
    """The old and the new verdict on one response."""

    response_id: int
    old: OneVerdict
    new: OneVerdict


@dataclass(frozen=True, slots=True)
class PairTexts:
    """What a table shows of a pair beside its numbers."""

    external_id: str
    source: str
    query_type: str
    question: str | None
    old_reasoning: str | None
    new_reasoning: str | None


def pairs_of_run(connection: Connection, run_id: int) -> list[VerdictPair]:
    """Return each usable verdict of a run beside the usable one of the same judge that stood before it, by response.

    The judge is meant by kind and name, so that an older version's verdict counts; repeats beyond the first do not.
    A response that this judge had not judged before has no pair.

    Raises:
        NotFound: There is no such run, or it has no judge version.
    """
    version_id = connection.execute(select(RUN.c.judge_version_id).where(RUN.c.id == run_id)).scalar_one_or_none()
    if version_id is None:
        raise NotFound(f"no run {run_id} of a judge")
    new, old, earlier = JUDGMENT.alias("new"), JUDGMENT.alias("old"), JUDGMENT.alias("earlier")
    judge = select(VERSION.c.kind, VERSION.c.name).where(VERSION.c.id == version_id).subquery()
    versions = select(VERSION.c.id).where(VERSION.c.kind == judge.c.kind, VERSION.c.name == judge.c.name)
    before = (
        select(func.max(earlier.c.id))
        .where(
            earlier.c.response_id == new.c.response_id,
            earlier.c.judge_version_id.in_(versions),
            earlier.c.id < new.c.id,
            earlier.c.status == Status.OK.value,
            earlier.c.repeat == 0,
            earlier.c.run_id.is_distinct_from(run_id),
        )
        .scalar_subquery()
    )
    query = (
        _both(old, new)
        .join(old, old.c.id == before)
        .where(new.c.run_id == run_id, new.c.status == Status.OK.value, new.c.repeat == 0)
    )
    return _pairs(connection, query)


def pairs_of_versions(connection: Connection, old_version_id: int, new_version_id: int) -> list[VerdictPair]:
    """Return the current verdicts of two judge versions on every response that both judged."""
    old, new = JUDGMENT.alias("old"), JUDGMENT.alias("new")
    first, second = CURRENT.alias("first"), CURRENT.alias("second")
    query = (
        _both(old, new)
        .join(second, second.c.judgment_id == new.c.id)
        .join(first, first.c.response_id == second.c.response_id)
        .join(old, old.c.id == first.c.judgment_id)
        .where(first.c.judge_version_id == old_version_id, second.c.judge_version_id == new_version_id)
    )
    return _pairs(connection, query)


def texts_of(connection: Connection, pairs: list[VerdictPair]) -> dict[int, PairTexts]:
    """Return the texts of a few pairs by response."""
    old, new = JUDGMENT.alias("old"), JUDGMENT.alias("new")
    query = (
        select(
            RESPONSE.c.id,
            RESPONSE.c.external_id,
            RESPONSE.c.source,
            RESPONSE.c.query_type,
            QUESTION,
            old.c.reasoning,
            new.c.reasoning,
        )
        .join(old, old.c.response_id == RESPONSE.c.id)
        .join(new, new.c.response_id == RESPONSE.c.id)
        .where(
            old.c.id.in_([pair.old.judgment_id for pair in pairs]),
            new.c.id.in_([pair.new.judgment_id for pair in pairs]),
        )
    )
    return {row[0]: PairTexts(*row[1:]) for row in connection.execute(query)}


def _both(old: FromClause, new: FromClause) -> Select[Any]:
    columns = ("id", "judge_version_id", "groundedness", "quality", "label")
    sides = (side.c[name] for side in (old, new) for name in columns)
    return select(new.c.response_id, *sides).select_from(new)


def _pairs(connection: Connection, query: Select[Any]) -> list[VerdictPair]:
    """Return one pair per response, that with its latest new verdict."""
    latest: dict[int, VerdictPair] = {}
    for row in connection.execute(query):
        pair = VerdictPair(row[0], OneVerdict(*row[1:6]), OneVerdict(*row[6:]))
        known = latest.get(pair.response_id)
        if known is None or known.new.judgment_id < pair.new.judgment_id:
            latest[pair.response_id] = pair
    return [latest[response_id] for response_id in sorted(latest)]
