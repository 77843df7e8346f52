"""Flags an answer that the primary judge finds irrelevant, insufficient or failing."""

from judgeboard.flags.rule import Reason, Rule, Signals, Thresholds, rounded, shown

NAME = "low_quality"


def reason(signals: Signals, thresholds: Thresholds) -> Reason | None:
    """Quality at the threshold or lower."""
    judged = signals.primary
    if judged is None or judged.quality is None or judged.quality > rounded(thresholds.low_quality):
        return None
    return Reason(
        NAME,
        severity=(thresholds.low_quality - judged.quality) / thresholds.low_quality,
        details={"judge": judged.title, "quality": judged.quality},
        params={"threshold": thresholds.low_quality},
        fingerprint=judged.fingerprint,
        judgment_id=judged.judgment_id,
    )


RULE = Rule(
    NAME, reason, lambda details, params: f"Quality {details['quality']} is {shown(params['threshold'])} or lower."
)
