"""The report of ``judgeboard stats --json``: the numbers of the pages, the same data in the same bytes."""

from typing import Any

from sqlalchemy import Connection

from judgeboard.agreement import AgreementRow, agreement
from judgeboard.domain import Estimate, FlagState, Status
from judgeboard.flags.rules import RULES
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
        "agreement": [_agreement(row) for row in agreement(connection).rows],
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


def _agreement(row: AgreementRow) -> dict[str, Any]:
    return {
        "judge": row.version.name,
        "judge_version": row.version.fingerprint,
        "grade": row.grade,
        "query_type": row.query_type,
        "n": row.n,
    } | {name: _statistic(getattr(row.statistics, name)) for name in STATISTICS}


def _statistic(estimate: Estimate) -> dict[str, Any]:
    stated = {"value": estimate.value, "low": estimate.low, "high": estimate.high}
    return stated if estimate.reason is None else stated | {"reason": estimate.reason}
