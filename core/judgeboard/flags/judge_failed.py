"""Flags an answer for which the primary judge returned nothing usable."""

import re
from collections.abc import Mapping
from typing import Any

from judgeboard.flags.rule import Reason, Rule, Signals, Thresholds

NAME = "judge_failed"
_HTTP = re.compile(r"http_(\d{3})")
_CAUSES = {
    "refused": "it refused",
    "unparsable": "its reply could not be read",
    "timeout": "it took too long",
    "connection": "the connection failed",
    "error": "the call failed",
    "split": "its members were split",
}


def reason(signals: Signals, thresholds: Thresholds) -> Reason | None:  # noqa: ARG001 - every rule is called alike
    """The latest judgment is not ok, and none of this judge is."""
    failed = signals.failed
    if failed is None:
        return None
    details: dict[str, Any] = {"judge": failed.title, "status": failed.status.value}
    # Only causes of our own making: what an endpoint or a file calls its error may quote the answer.
    if failed.cause in {*_CAUSES, "truncated"} or _HTTP.fullmatch(failed.cause or ""):
        details["cause"] = failed.cause
    if failed.tokens is not None:
        details["tokens"] = failed.tokens
    return Reason(NAME, 0.5, details, fingerprint=failed.fingerprint, judgment_id=failed.judgment_id)


def why(details: Mapping[str, Any], params: Mapping[str, Any]) -> str:  # noqa: ARG001 - every rule is called alike
    """Say it as: The judge gave no usable verdict: cut off at 512 tokens."""
    cause = details.get("cause", details["status"])
    http = _HTTP.fullmatch(cause)
    if http:
        cause_words = f"the endpoint answered {http[1]}"
    elif cause == "truncated":
        cause_words = f"cut off at {details['tokens']} tokens" if "tokens" in details else "cut off before its end"
    else:
        cause_words = _CAUSES.get(cause, "the call failed")
    return f"The judge gave no usable verdict: {cause_words}."


RULE = Rule(NAME, reason, why)
