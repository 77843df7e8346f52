"""Flags every answer of the query types that are always reviewed."""

from judgeboard.flags.rule import Reason, Rule, Signals, Thresholds

NAME = "always_review"


def reason(signals: Signals, thresholds: Thresholds) -> Reason | None:
    """The query type is one of those named by the setting."""
    if signals.query_type not in thresholds.always_review:
        return None
    return Reason(NAME, 0.0, params={"query_type": signals.query_type})


RULE = Rule(
    NAME, reason, lambda _details, params: f"People review every answer of type {params['query_type']}.", drawn=True
)
