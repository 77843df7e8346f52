"""The flag rules, and how stored flags follow from what they say; a new rule is a line here."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from judgeboard.domain import FlagState
from judgeboard.flags import (
    always_review,
    feedback_gap,
    judge_failed,
    judges_disagree,
    low_groundedness,
    low_quality,
    random_sample,
    supreme_disagrees,
)
from judgeboard.flags.rule import Reason, Rule, Signals, Thresholds

RULES: tuple[Rule, ...] = (
    low_groundedness.RULE,
    low_quality.RULE,
    feedback_gap.RULE,
    judges_disagree.RULE,
    supreme_disagrees.RULE,
    judge_failed.RULE,
    always_review.RULE,
    random_sample.RULE,
)

_SENTENCES = {rule.name: rule.why for rule in RULES}


def why(rule: str, details: Mapping[str, Any], params: Mapping[str, Any]) -> str:
    """Return the sentence of a flag as stored. It may hold names from a log or a file: escape it like any text.

    One of a rule that is gone, or with details that an older program stored, is named by its rule alone.
    """
    try:
        return _SENTENCES[rule](details, params)
    except (LookupError, TypeError, ValueError):
        return f"Flagged by {rule}."


@dataclass(frozen=True, slots=True)
class StandingFlag:
    """A flag of the response that is open or decided; superseded ones do not count. ``details`` of an open one."""

    id: int
    rule: str
    raise_key: str
    state: FlagState
    details: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Raise:
    """A flag to raise; ``decided_before_id`` is the latest decided flag of the same rule, on another judge version."""

    reason: Reason
    decided_before_id: int | None = None


@dataclass(frozen=True, slots=True)
class Reconciled:
    """What brings the flags of one response in line: flags to raise, ids of open flags to supersede."""

    to_raise: tuple[Raise, ...] = ()
    to_supersede: tuple[int, ...] = ()


def reasons_for(signals: Signals, thresholds: Thresholds, rules: Iterable[Rule]) -> list[Reason]:
    """Return the reasons that the rules have, at most one of each rule and judge version."""
    found: list[Reason] = []
    for rule in rules:
        given = rule.reason(signals, thresholds)
        if isinstance(given, Reason):
            found.append(given)
        elif given is not None:
            found += given
    return found


def reconcile(reasons: Sequence[Reason], standing: Sequence[StandingFlag], rules: Iterable[Rule]) -> Reconciled:
    """Return what to raise and what to supersede, given the reasons of ``rules`` and the flags that stand.

    A flag is raised once per rule and judge version: an open or decided one with the same key stays
    as it is. An open flag of one of the rules whose key has no reason now is superseded: its reason is gone, or a new
    version has a reason of its own; so is one that names a judge who no longer says so, and the reason is raised anew.
    A decided flag is never touched. Flags of rules that were not asked stay.
    """
    asked = {rule.name: rule for rule in rules}
    now = {reason.raise_key: reason for reason in reasons}
    gone = [
        flag
        for flag in standing
        if flag.state is FlagState.OPEN
        and flag.rule in asked
        and not (flag.raise_key in now and _holds(asked[flag.rule], flag, now[flag.raise_key]))
    ]
    known = {flag.raise_key for flag in standing if flag not in gone}
    decided = {flag.rule: flag.id for flag in sorted(standing, key=_id) if flag.state is not FlagState.OPEN}
    return Reconciled(
        tuple(Raise(reason, decided.get(reason.rule)) for reason in reasons if reason.raise_key not in known),
        tuple(flag.id for flag in gone),
    )


def _holds(rule: Rule, flag: StandingFlag, reason: Reason) -> bool:
    return flag.details is None or rule.holds(flag.details, reason.details)


def _id(flag: StandingFlag) -> int:
    return flag.id
