"""The report of self-reference as JSON values."""

from typing import TYPE_CHECKING, Any

from judgeboard.self_reference.scores import ConditionScores, GateScores
from judgeboard.self_reference.tuning import Tuned
from judgeboard.stats.estimates import as_json

if TYPE_CHECKING:
    from judgeboard.self_reference.result import SelfReferenceReport


def report_json(report: "SelfReferenceReport") -> dict[str, Any]:
    """Return a report as every ``--json`` gives it: statistics with n and interval, counts as they are."""
    k = report.k
    counts = ("ties", "ties_on", "no_answer", "no_reference", "no_gold")
    left_out = ("fewer_samples", "failed_samples", "forgotten", "other_reference")
    return {
        "judge": report.version.title,
        "k": k,
        "tau": report.tau,
        "items": report.items,
        "calls_planned": report.calls_planned,
        "conditions": {name: _condition(scores) for name, scores in report.conditions.items()},
        "gain": {f"C-{name}": as_json(estimate) for name, estimate in report.gain.items()},
        "gate": _gate(report.gate),
        "slices": [
            {
                "gate": "on" if each.gate_on else "off",
                "majority": "right" if each.majority_right else "wrong",
                "n": each.n,
                "A": as_json(each.without),
                "B": as_json(each.always),
            }
            for each in report.slices
        ],
        "calibration": [
            {"agree": each.agree, "n": each.n, "right": each.right, "share": as_json(each.share)}
            for each in report.calibration
        ],
        "categories": [
            {
                "category": each.category,
                "n": each.n,
                **_gate(each.gate),
                "A": as_json(each.without),
                "B": as_json(each.always),
                "C": as_json(each.selective),
            }
            for each in report.categories
        ],
        "tau_by_category": None if report.tuned is None else _tuned(report.tuned, k),
        "sweep": [
            {"tau": each.agree / k, "agree": each.agree, **_gate(each.gate), **_condition(each.scores)}
            for each in report.sweep
        ],
        **{name: getattr(report, name) for name in (*counts, *left_out)},
        "notes": list(report.notes),
        **report.account.as_json(),
    }


def _gate(gate: GateScores) -> dict[str, Any]:
    return {"on_rate": as_json(gate.on_rate), "precision": as_json(gate.precision)}


def _condition(scores: ConditionScores) -> dict[str, Any]:
    estimates = {name: as_json(getattr(scores, name)) for name in ("accuracy", "on", "off")}
    return {**estimates, "splits": scores.splits, "unmeasured": scores.unmeasured, "not_asked": scores.not_asked}


def _tuned(tuned: Tuned, k: int) -> dict[str, Any]:
    """Thresholds as shares of k samples; null is a gate that is never on."""

    def tau(agree: int) -> float | None:
        return agree / k if agree <= k else None

    return {
        "accuracy": as_json(tuned.accuracy),
        "optimistic": tuned.optimistic,
        "categories": [
            {
                "category": each.category,
                "n": each.n,
                "tau": tau(each.agree),
                "tau_by_fold": [tau(agree) for agree in each.by_fold],
                "accuracy": as_json(each.accuracy),
                "optimistic": each.optimistic,
            }
            for each in tuned.categories
        ],
    }
