"""What one judge version was asked, of whom, at what cost: sums and small arrays."""

from collections import Counter
from dataclasses import dataclass

import numpy as np
from sqlalchemy import Connection, Float, cast, func, select, true

from judgeboard.domain import Status
from judgeboard.stats.arrays import IntArray
from judgeboard.stats.ratio import RatioSums
from judgeboard.store.judgments.judge_versions import StoredVersion, list_versions
from judgeboard.store.runs.runs import RESUMABLE
from judgeboard.store.schema.method_tables import COMPARISON, JUDGMENT_REVIEW, PAIR, SAMPLE, STEP_TABLES
from judgeboard.store.schema.tables import CURRENT, JUDGMENT, RESPONSE, RUN
from judgeboard.store.sql.batches import batches
from judgeboard.store.sql.literal_conditions import CURRENT_OF_VERSION, LOGGED

REVIEWED = JUDGMENT_REVIEW

# Tables whose rows a judge version was asked for; a mark outside a run was read off two verdicts, and nobody asked.
_ASKED = (
    (JUDGMENT, true()),
    (COMPARISON, true()),
    (SAMPLE, true()),
    (REVIEWED, REVIEWED.c.run_id.is_not(None)),
)
_MICRO = 1_000_000
_CHUNK = 5_000


def versions_in_use(connection: Connection) -> list[StoredVersion]:
    """Return the judge versions with a judgment or a comparison, by name and number."""
    used = []
    for version in list_versions(connection):
        anything = (
            select(steps.c.id).where(steps.c.judge_version_id == version.id).limit(1)
            for steps in (JUDGMENT, COMPARISON)
        )
        if any(connection.execute(query).first() is not None for query in anything):
            used.append(version)
    return used


def asked_by_status(connection: Connection, version_id: int) -> dict[str, int]:
    """Return how many requests to a version ended how, whatever the method."""
    counts: Counter[str] = Counter()
    for steps, asked in _ASKED:
        query = select(steps.c.status, func.count()).where(steps.c.judge_version_id == version_id, asked)
        for status, n in connection.execute(query.group_by(steps.c.status)):
            counts[status] += n
    return {status.value: counts[status.value] for status in Status if counts[status.value]}


def not_reached(connection: Connection, version_id: int) -> int:
    """Return what the unfinished runs of a version selected and did not ask; a run that goes on takes it up."""
    unfinished = select(RUN.c.id, RUN.c.selected).where(
        RUN.c.judge_version_id == version_id, RUN.c.state.in_(RESUMABLE), RUN.c.selected.is_not(None)
    )
    left = 0
    for run_id, selected in connection.execute(unfinished).all():
        # By the index of runs alone: no step is read for it.
        counts = (select(func.count()).where(steps.c.run_id == run_id) for steps in (JUDGMENT, *STEP_TABLES))
        asked = sum(connection.execute(count).scalar_one() for count in counts)
        left += max(0, selected - asked)
    return left


def judged_generators(connection: Connection, version_id: int) -> dict[str | None, int]:
    """Return how many answers of the log a version scored, by the model that wrote them; None is not said."""
    query = (
        select(RESPONSE.c.generator_model, func.count())
        .join_from(CURRENT, RESPONSE, RESPONSE.c.id == CURRENT.c.response_id)
        .where(CURRENT_OF_VERSION, CURRENT.c.judge_version_id == version_id)
        .group_by(RESPONSE.c.generator_model)
    )
    return {model: n for model, n in connection.execute(query)}  # noqa: C416 - a row is no pair to mypy


def compared_generators(connection: Connection, version_id: int) -> dict[str | None, int]:
    """Return how many sides of pairs a version compared, by the model that wrote them; None is not said."""
    pairs = select(COMPARISON.c.pair_id).where(COMPARISON.c.judge_version_id == version_id).distinct().subquery()
    counts: Counter[str | None] = Counter()
    for side in (PAIR.c.response_a_id, PAIR.c.response_b_id):
        query = (
            select(RESPONSE.c.generator_model, func.count())
            .join_from(pairs, PAIR, PAIR.c.id == pairs.c.pair_id)
            .join(RESPONSE, RESPONSE.c.id == side)
            .group_by(RESPONSE.c.generator_model)
        )
        counts.update({model: n for model, n in connection.execute(query)})  # noqa: C416 - as above
    return dict(counts)


def cost_sums(connection: Connection, version_id: int) -> RatioSums:
    """Return sums of what judging cost (upper) and of what answering cost (lower), over answers where both are known.

    All judgments of an answer count, rejudges and repeats too; both in whole units of their currency.
    """
    judging = cast(func.sum(JUDGMENT.c.cost_micro), Float) / _MICRO
    both = (
        select(judging.label("judge"), RESPONSE.c.generator_cost.label("generator"))
        .join_from(JUDGMENT, RESPONSE, RESPONSE.c.id == JUDGMENT.c.response_id)
        .where(
            LOGGED,
            JUDGMENT.c.judge_version_id == version_id,
            JUDGMENT.c.cost_micro.is_not(None),
            RESPONSE.c.generator_cost.is_not(None),
        )
        .group_by(RESPONSE.c.id, RESPONSE.c.generator_cost)
        .subquery()
    )
    upper, lower = both.c.judge, both.c.generator
    sums = (upper, lower, upper * upper, lower * lower, upper * lower)
    n, *totals = connection.execute(
        select(func.count(), *(func.coalesce(func.sum(each), 0.0) for each in sums)).select_from(both)
    ).one()
    return RatioSums(n, *map(float, totals))


@dataclass(frozen=True, slots=True)
class AnswerFacts:
    """Length in characters (NaN: forgotten) and generator model ("" is not said) of answers, in the order asked."""

    lengths: list[float]
    models: list[str]


def answer_facts(connection: Connection, response_ids: IntArray) -> AnswerFacts:
    """Return length and generator model of these answers of the log."""
    found: dict[int, tuple[float, str]] = {}
    ids = response_ids.tolist()
    for some in batches(ids, _CHUNK):
        query = select(RESPONSE.c.id, func.length(RESPONSE.c.answer), RESPONSE.c.generator_model).where(
            RESPONSE.c.id.in_(some)
        )
        for id_, length, model in connection.execute(query):
            found[id_] = (np.nan if length is None else float(length), model or "")
    rows = [found[id_] for id_ in ids]
    return AnswerFacts([row[0] for row in rows], [row[1] for row in rows])
