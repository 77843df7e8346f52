"""The report of ``judgeboard stats --json``: the numbers of the pages, the same data in the same bytes."""

from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy import Connection

from judgeboard.agreement.measure import every_judge
from judgeboard.agreement.result import AgreementResult
from judgeboard.domain import Estimate, FlagState, Status
from judgeboard.flags import RULES
from judgeboard.stats.estimates import unmeasured
from judgeboard.stats.pair_statistics import NOT_FOR_GRADE
from judgeboard.store.engine import Readable
from judgeboard.store.figures.totals import (
    VersionTotals,
    count_flags,
    count_graders,
    count_judgments,
    count_labels,
    count_responses,
)
from judgeboard.store.judgments.judge_versions import StoredVersion, list_versions

STATISTICS = ("agreement", "kappa", "weighted_kappa", "pearson", "spearman")


def measure(store: Readable) -> dict[str, Any]:
    """Return what a database holds and how far each judge version agrees with people: `stats`, from a store."""
    with store.reading() as connection:
        return stats(connection)


def stats(connection: Connection) -> dict[str, Any]:
    """Return what the database holds and how far each judge version agrees with people, as JSON values.

    ``reviews`` counts those that stand, imported ones too; replaced and withdrawn ones do not. ``judgments`` counts
    every ask. A judge version's ``cost`` is in the price file's currency, None where the cost of a usable judgment is
    not known. ``agreement`` has a row per judge version, grade and query type (None: all of them); a statistic that is
    undefined has a ``reason`` instead of a value. Lists are sorted here, so that the engine's order never shows.
    """
    versions = list_versions(connection)
    totals = count_judgments(connection)
    graders = count_graders(connection)
    judge_versions = [_judge_version(version, totals.get(version.id)) for version in versions]
    return {
        "responses": count_responses(connection),
        "reviews": sum(grader.reviews for grader in graders),
        "labels": count_labels(connection),
        "judgments": {
            status.value: sum(version["counts"][status.value] for version in judge_versions) for status in Status
        },
        "judge_versions": judge_versions,
        "flags": _flags(count_flags(connection)),
        "graders": [{"name": grader.name, "reviews": grader.reviews} for grader in graders],
        "agreement": [row for found in every_judge(connection, only=STATISTICS) for row in _agreement(found, versions)],
    }


def _judge_version(version: StoredVersion, totals: VersionTotals | None) -> dict[str, Any]:
    said = totals or VersionTotals(dict.fromkeys(map(str, Status), 0), None)
    return {
        "fingerprint": version.fingerprint,
        "name": version.name,
        "number": version.number,
        "kind": version.kind,
        "model": version.model,
        "counts": {status.value: said.counts[status.value] for status in Status},
        "cost": None if said.cost_micro is None else said.cost_micro / 1_000_000,
    }


def _flags(by_rule: dict[str, dict[str, int]]) -> dict[str, Any]:
    nothing = dict.fromkeys(map(str, FlagState), 0)
    rules = sorted({rule.name for rule in RULES} | by_rule.keys())
    counted = {rule: nothing | by_rule.get(rule, {}) for rule in rules}
    by_state = {state.value: sum(states[state.value] for states in counted.values()) for state in FlagState}
    return {"by_state": by_state, "by_rule": counted}


def _agreement(found: AgreementResult, versions: Sequence[StoredVersion]) -> Iterator[dict[str, Any]]:
    fingerprint = found.judge_versions[0].fingerprint
    named = {
        "judge": next(each.name for each in versions if each.fingerprint == fingerprint),
        "judge_version": fingerprint,
        "grade": found.grade,
    }
    for query_type, n, statistics in [
        (None, found.n, found.statistics),
        *((each.name, each.n, each.statistics) for each in found.slices),
    ]:
        of_grade = {name: _statistic(statistics.get(name) or unmeasured(n, NOT_FOR_GRADE)) for name in STATISTICS}
        yield named | {"query_type": query_type, "n": n} | of_grade


def _statistic(estimate: Estimate) -> dict[str, Any]:
    stated = {"value": estimate.value, "low": estimate.low, "high": estimate.high}
    return stated if estimate.reason is None else stated | {"reason": estimate.reason}
