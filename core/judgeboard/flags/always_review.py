"""Flags every answer of the query types that are always reviewed."""

from collections.abc import Mapping
from typing import Any

from judgeboard.flags.rule import Reason, Rule, Signals, Thresholds

NAME = "always_review"


def reason(signals: Signals, thresholds: Thresholds) -> Reason | None:
    """The query type is one of those named by the setting."""
    if signals.query_type not in thresholds.always_review:
        return None
    return Reason(NAME, 0.0, params={"query_type": signals.query_type})


def why(details: Mapping[str, Any], params: Mapping[str, Any]) -> str:  # noqa: ARG001 - every rule is called alike
    """Say it as: People look at every answer of type sql."""
    return f"People review every answer of type {params['query_type']}."


RULE = Rule(NAME, reason, why, drawn=True)
