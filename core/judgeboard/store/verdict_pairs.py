"""Old and new verdicts on the same answers, and why people differ from a judge."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, FromClause, Select, exists, func, select

from judgeboard.domain import Status, WhyDiffers
from judgeboard.errors import NotFound
from judgeboard.store.judge_versions import list_versions, version_titles
from judgeboard.store.responses import ANSWER, QUESTION
from judgeboard.store.reviews import Review, find_reviews, has_grade, is_current
from judgeboard.store.statements import CURRENT_OF_VERSION, rows_with
from judgeboard.store.tables import (
    CURRENT,
    JUDGMENT,
    RESPONSE,
    REVIEW,
    RUN,
    VERSION,
    StoredVersion,
    version_title,
)


@dataclass(frozen=True, slots=True)
class OneVerdict:
    """A usable verdict with the judgment and the title of the judge version; each score may be missing."""

    judgment_id: int
    version_title: str
    groundedness: float | None
    quality: int | None
    label: str | None


@dataclass(frozen=True, slots=True)
class VerdictPair:
    """The old and the new verdict on one response."""

    response_id: int
    query_type: str
    old: OneVerdict
    new: OneVerdict


def pairs_of_run(connection: Connection, run_id: int) -> list[VerdictPair]:
    """Return each usable verdict of a run with the previous usable verdict of the same judge, by response.

    The judge is identified by kind and name, so that verdicts of older versions count; only repeat
    0 counts. A response that this judge had not judged before has no pair. Raises NotFound if the
    run does not exist or has no judge version.
    """
    version_id = connection.scalar(select(RUN.c.judge_version_id).where(RUN.c.id == run_id))
    if version_id is None:
        raise NotFound(f"no run {run_id} of a judge")
    new, old, earlier = JUDGMENT.alias("new"), JUDGMENT.alias("old"), JUDGMENT.alias("earlier")
    judge = select(VERSION.c.kind, VERSION.c.name).where(VERSION.c.id == version_id).subquery()
    versions = select(VERSION.c.id).where(
        VERSION.c.kind == judge.c.kind, VERSION.c.name == judge.c.name
    )
    previous_id = (
        select(func.max(earlier.c.id))
        .where(
            earlier.c.response_id == new.c.response_id,
            earlier.c.judge_version_id.in_(versions),
            earlier.c.id < new.c.id,
            earlier.c.status == Status.OK,
            earlier.c.repeat == 0,
            earlier.c.run_id.is_distinct_from(run_id),
        )
        .scalar_subquery()
    )
    query = (
        _both(old, new)
        .join(old, old.c.id == previous_id)
        .where(new.c.run_id == run_id, new.c.status == Status.OK, new.c.repeat == 0)
    )
    return _pairs(connection, query)


def versions_with_verdicts(connection: Connection) -> list[StoredVersion]:
    """Return the judge versions that have a current verdict, sorted by name and number."""
    has_verdict = exists().where(CURRENT.c.judge_version_id == VERSION.c.id, CURRENT_OF_VERSION)
    return list_versions(connection, select(VERSION.c.id).where(has_verdict))


def pairs_of_versions(
    connection: Connection, old_version_id: int, new_version_id: int
) -> list[VerdictPair]:
    """Return the current verdicts of two judge versions on the responses that both judged."""
    old, new = JUDGMENT.alias("old"), JUDGMENT.alias("new")
    first, second = CURRENT.alias("first"), CURRENT.alias("second")
    query = (
        _both(old, new)
        .join(second, second.c.judgment_id == new.c.id)
        .join(first, first.c.response_id == second.c.response_id)
        .join(old, old.c.id == first.c.judgment_id)
        .where(
            first.c.judge_version_id == old_version_id, second.c.judge_version_id == new_version_id
        )
    )
    return _pairs(connection, query)


def _both(old: FromClause, new: FromClause) -> Select[Any]:
    columns = ("id", "judge_version_id", "groundedness", "quality", "label")
    sides = (side.c[name] for side in (old, new) for name in columns)
    return select(new.c.response_id, RESPONSE.c.query_type, *sides).join_from(
        new, RESPONSE, RESPONSE.c.id == new.c.response_id
    )


def _pairs(connection: Connection, query: Select[Any]) -> list[VerdictPair]:
    titles = version_titles(connection)
    latest: dict[int, VerdictPair] = {}
    for response_id, query_type, *row in connection.execute(query):
        old, new = (
            OneVerdict(judgment_id, titles[version_id], *scores)
            for judgment_id, version_id, *scores in (row[:5], row[5:])
        )
        pair = VerdictPair(response_id, query_type, old, new)
        latest_pair = latest.get(pair.response_id)
        if latest_pair is None or latest_pair.new.judgment_id < pair.new.judgment_id:
            latest[pair.response_id] = pair
    return [latest[response_id] for response_id in sorted(latest)]


@dataclass(frozen=True, slots=True)
class WhyCounts:
    """A judge version, the number of answers with a reason why people differ from it, and the number by reason."""

    version_id: int
    title: str
    answers: int
    reasons: dict[WhyDiffers, int]


def why_counts(connection: Connection) -> tuple[WhyCounts, ...]:
    """Return the counts of current reviews by the judge version whose verdict was seen, most answers first."""
    query = (
        select(
            VERSION.c.id,
            VERSION.c.name,
            VERSION.c.number,
            REVIEW.c.why_differs,
            REVIEW.c.response_id,
        )
        .join_from(REVIEW, JUDGMENT, JUDGMENT.c.id == REVIEW.c.judgment_seen_id)
        .join(VERSION, VERSION.c.id == JUDGMENT.c.judge_version_id)
        .where(REVIEW.c.why_differs.is_not(None), is_current())
    )
    answers: dict[tuple[int, str], dict[WhyDiffers, set[int]]] = {}
    for version_id, name, number, reason, response_id in connection.execute(query):
        by_reason = answers.setdefault(
            (version_id, version_title(name, number)), {each: set() for each in WhyDiffers}
        )
        by_reason[reason].add(response_id)
    counts = [
        WhyCounts(
            *version,
            len(set().union(*by_reason.values())),
            {each: len(ids) for each, ids in by_reason.items()},
        )
        for version, by_reason in answers.items()
    ]
    return tuple(sorted(counts, key=lambda each: (-each.answers, each.version_id)))


@dataclass(frozen=True, slots=True)
class JudgedText:
    """An answer with the start of the texts, and the reasoning of a judgment."""

    response_id: int
    source: str
    external_id: str
    query_type: str
    question: str | None
    answer: str | None
    judgment_id: int
    reasoning: str | None


_JUDGED: Select[Any] = select(
    *(RESPONSE.c[name] for name in ("id", "source", "external_id", "query_type")),
    QUESTION,
    ANSWER,
    JUDGMENT.c.id,
    JUDGMENT.c.reasoning,
)


def judged_texts(
    connection: Connection, version_id: int, response_ids: Sequence[int]
) -> dict[int, JudgedText]:
    """Return these responses with the current verdict of a judge version, by id."""
    query = (
        _JUDGED.join(CURRENT, CURRENT.c.response_id == RESPONSE.c.id)
        .join(JUDGMENT, JUDGMENT.c.id == CURRENT.c.judgment_id)
        .where(RESPONSE.c.id.in_(response_ids), CURRENT.c.judge_version_id == version_id)
    )
    return {row[0]: JudgedText(*row) for row in connection.execute(query)}


def texts_of_judgments(
    connection: Connection, judgment_ids: Collection[int]
) -> dict[int, JudgedText]:
    """Return the answers of these judgments with the reasoning, by the id of the judgment."""
    query = _JUDGED.join(JUDGMENT, JUDGMENT.c.response_id == RESPONSE.c.id)
    texts = (JudgedText(*row) for row in rows_with(connection, query, JUDGMENT.c.id, judgment_ids))
    return {each.judgment_id: each for each in texts}


def person_reviews(
    connection: Connection, response_ids: Sequence[int]
) -> dict[int, tuple[Review, ...]]:
    """Return the current reviews of these responses that have a grade, by response, the latest first."""
    conditions = REVIEW.c.response_id.in_(response_ids), is_current(), has_grade()
    reviews: dict[int, tuple[Review, ...]] = {}
    for review in find_reviews(connection, *conditions):
        response_id = review.response_id or 0
        reviews[response_id] = (review, *reviews.get(response_id, ()))
    return reviews
