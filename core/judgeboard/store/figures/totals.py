"""Counts over the whole log for the report: responses, standing reviews, judgments by version, flags by rule."""

from collections import Counter
from dataclasses import dataclass

from sqlalchemy import Connection, func, select

from judgeboard.domain import FlagState, Label, ResponseKind, Status
from judgeboard.store.reviews.standing import REVIEW, standing
from judgeboard.store.schema.tables import FLAG, JUDGMENT, RESPONSE, REVIEWER

_LOGGED = RESPONSE.c.kind == ResponseKind.LOG.value


@dataclass(frozen=True, slots=True)
class VersionTotals:
    """Judgments of one version by status, all statuses named.

    ``cost_micro`` sums what is known, None where the cost of a usable judgment is not.
    """

    counts: dict[str, int]
    cost_micro: int | None


@dataclass(frozen=True, slots=True)
class Grader:
    """A person and how many reviews of theirs stand."""

    name: str
    reviews: int


def count_responses(connection: Connection) -> int:
    """Return how many responses the log holds."""
    return connection.execute(select(func.count()).select_from(RESPONSE).where(_LOGGED)).scalar_one()


def count_labels(connection: Connection) -> dict[str, int]:
    """Return how many standing reviews carry which label, both labels named."""
    query = select(REVIEW.c.label, func.count()).join(RESPONSE, RESPONSE.c.id == REVIEW.c.response_id)
    counts = dict.fromkeys(map(str, Label), 0)
    for label, n in connection.execute(query.where(_LOGGED, standing()).group_by(REVIEW.c.label)):
        if label is not None:
            counts[label] = n
    return counts


def count_graders(connection: Connection) -> list[Grader]:
    """Return everybody with a review that stands, by name; two people of one name (desk, import) are two lines."""
    query = (
        select(REVIEWER.c.name, REVIEWER.c.origin, func.count())
        .join(REVIEW, REVIEW.c.reviewer_id == REVIEWER.c.id)
        .join(RESPONSE, RESPONSE.c.id == REVIEW.c.response_id)
        .where(_LOGGED, standing())
        .group_by(REVIEWER.c.id, REVIEWER.c.name, REVIEWER.c.origin)
    )
    rows = sorted((name, origin, n) for name, origin, n in connection.execute(query))
    return [Grader(name, n) for name, _, n in rows]


def count_judgments(connection: Connection) -> dict[int, VersionTotals]:
    """Return the judgments of logged responses by judge version, every ask and repeat counted."""
    keys = JUDGMENT.c.judge_version_id, JUDGMENT.c.status
    sums = func.count(), func.count(JUDGMENT.c.cost_micro), func.sum(JUDGMENT.c.cost_micro)
    query = select(*keys, *sums).join(RESPONSE, RESPONSE.c.id == JUDGMENT.c.response_id).where(_LOGGED)
    totals: dict[int, VersionTotals] = {}
    for version_id, status, n, priced, cost in connection.execute(query.group_by(*keys)):
        before = totals.get(version_id, VersionTotals(dict.fromkeys(map(str, Status), 0), 0))
        unknown = before.cost_micro is None or (status == Status.OK and priced < n)
        known = None if unknown else (before.cost_micro or 0) + int(cost or 0)
        totals[version_id] = VersionTotals(before.counts | {status: n}, known)
    return totals


def count_flags(connection: Connection) -> dict[str, dict[str, int]]:
    """Return how many flags each rule has in which state, all states named."""
    counts: dict[str, Counter[str]] = {}
    query = select(FLAG.c.rule, FLAG.c.state, func.count()).group_by(FLAG.c.rule, FLAG.c.state)
    for rule, state, n in connection.execute(query):
        counts.setdefault(rule, Counter())[state] = n
    return {rule: {state.value: states[state.value] for state in FlagState} for rule, states in counts.items()}
