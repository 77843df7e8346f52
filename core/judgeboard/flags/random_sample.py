"""Flags a random sample of all answers, to check what no rule flags."""

import hashlib
from collections.abc import Mapping
from typing import Any

from judgeboard.flags.rule import Reason, Rule, Signals, Thresholds, shown

NAME = "random_sample"


def sampling_number(seed: str, source: str, external_id: str) -> float:
    """Return a number from 0 to below 1 that depends only on the arguments, so that a second run samples the same."""
    # JSON-free and unambiguous: the lengths keep ("a", "bc") from being ("ab", "c").
    text = f"{len(seed)}:{seed}{len(source)}:{source}{external_id}"
    # 53 bits: every value is a float exactly, and none rounds up to 1.
    return (int.from_bytes(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:8], "big") >> 11) / 2**53


def reason(signals: Signals, thresholds: Thresholds) -> Reason | None:
    """The sampling number is below the share, which is stored as the inclusion probability of the flag."""
    if sampling_number(thresholds.random_seed, signals.source, signals.external_id) >= thresholds.random_share:
        return None
    params = {"share": thresholds.random_share, "seed": thresholds.random_seed}
    return Reason(NAME, 0.0, params=params, inclusion_probability=thresholds.random_share)


def why(details: Mapping[str, Any], params: Mapping[str, Any]) -> str:  # noqa: ARG001 - every rule is called alike
    """Say it as: Selected at random (2 % of all answers), to find problems that no rule flags."""
    return f"Selected at random ({shown(params['share'] * 100)} % of all answers), to find problems that no rule flags."


RULE = Rule(NAME, reason, why, drawn=True)
