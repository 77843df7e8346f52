"""The interface of flag rules, and which of their reasons raise, keep or supersede a flag of an answer."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Any

from pydantic import BaseModel

from judgeboard.domain import Feedback, FlagState, Label, Response, Status
from judgeboard.settings.model import Thresholds
from judgeboard.text import half_up


@dataclass(frozen=True, slots=True)
class JudgeSignal:
    """The current judgment of one judge on a response; groundedness (0 to 1) and quality (1 to 4) may be missing."""

    judgment_id: int
    kind: str
    name: str
    title: str  # "rag v3"
    fingerprint: str
    groundedness: float | None = None
    quality: int | None = None
    label: Label | None = None
    in_primary_jury: bool = (
        False  # member of the jury that is the primary judge; only the jury's judgment counts
    )


@dataclass(frozen=True, slots=True)
class SupremeMark:
    """A judge's current judgment that supreme judges with the titles ``supremes`` marked as wrong."""

    audited: JudgeSignal
    supremes: tuple[str, ...]
    probability: float = 1.0  # that the audit sampled this judgment


@dataclass(frozen=True, slots=True)
class FailedSignal:
    """The primary judge's latest judgment of a response, if none of its judgments of that response is usable.

    ``cause`` is the result of the last call (``Attempt.status``), ``tokens`` the number of tokens
    in its reply.
    """

    judgment_id: int
    name: str
    title: str
    fingerprint: str
    status: Status
    cause: str | None = None
    tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Texts:
    """The texts of a stored response that is not forgotten; ``passages`` is None if none were logged."""

    query: str
    answer: str
    passages: tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class Signals:
    """The data of one response that the rules read; ``others`` are the judgments of judges other than the primary.

    ``failed`` is set only if ``primary`` is None. ``texts`` is set only for rules that need texts
    (`Rule.reads_texts`); while a response is stored, ``texts`` is the response.
    """

    source: str
    external_id: str
    query_type: str
    feedback: Feedback | None = None
    primary: JudgeSignal | None = None
    failed: FailedSignal | None = None
    others: tuple[JudgeSignal, ...] = ()
    marks: tuple[SupremeMark, ...] = ()
    texts: Texts | Response | None = None


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a rule flags a response.

    ``fingerprint`` identifies the judge version whose judgment is the reason (the primary or the
    audited judge), or the check that failed; None for other rules. ``severity`` (0 to 1) orders the
    queue. ``details`` has numbers and titles of judges or checks, never texts of the answer;
    ``params`` has the settings that were applied. ``inclusion_probability`` is below 1 only for
    random samples. ``decided_before_id`` is the rule's latest decided flag, for another judge
    version; `reconcile` sets this id.
    """

    rule: str
    severity: float
    details: dict[str, Any] = field(default_factory=dict)
    params: dict[str, Any] = field(default_factory=dict)
    fingerprint: str | None = None
    judgment_id: int | None = None
    auto_score: float | None = None
    inclusion_probability: float = 1.0
    decided_before_id: int | None = None

    @property
    def raise_key(self) -> str:
        """The rule and the judge version; a response gets one flag for each key."""
        return f"{self.rule}:{self.fingerprint or '-'}"


@dataclass(frozen=True, slots=True)
class Rule:
    """One flag rule: ``reason`` decides; ``why`` explains a stored flag in one sentence, from details and params.

    The documentation shows the first paragraph of the docstring of ``reason``, and its line
    "Severity: …".

    An ``each_judge`` rule can give one reason for each judge or check; other rules give at most
    one. A ``drawn`` rule depends on the response only. `judgeboard flags apply` and the storing of
    a response apply a ``drawn`` rule, the storing of a judgment or feedback does not. ``holds``
    gets the details of a flag and of its current reason, and returns whether what the flag states
    about other judges or the user is still true. A rule with ``reads_texts`` gets the texts of the
    responses that ``texts_for`` selects.

    A rule of another package may have ``options`` in the project file, which
    `Thresholds.options_of` returns.

    A rule that needs no judgment reads every answer. Such a rule needs a setting that switches it
    off by default, or it can flag most of a log at once.
    """

    name: str
    reason: Callable[[Signals, Thresholds], Reason | tuple[Reason, ...] | None]
    why: Callable[[Mapping[str, Any], Mapping[str, Any]], str]
    drawn: bool = False
    each_judge: bool = False
    reads_texts: bool = False
    texts_for: Callable[[Signals, Thresholds], bool] = lambda _signals, _thresholds: True
    holds: Callable[[Mapping[str, Any], Mapping[str, Any]], bool] = lambda _stored, _now: True
    options: type[BaseModel] | None = None


@dataclass(frozen=True, slots=True)
class RaisedFlag:
    """An open or decided flag of a response. `reconcile` reads the ``details`` of open flags only."""

    id: int
    rule: str
    raise_key: str
    state: FlagState
    details: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Reconciled:
    """The changes to the flags of one response: reasons to raise flags for, ids of open flags to supersede."""

    to_raise: tuple[Reason, ...] = ()
    to_supersede: tuple[int, ...] = ()


def reasons_for(signals: Signals, thresholds: Thresholds, rules: Iterable[Rule]) -> list[Reason]:
    """Return the reasons of the rules, at most one for each rule and judge version."""
    reasons: list[Reason] = []
    for rule in rules:
        reason = rule.reason(signals, thresholds)
        reasons += [reason] if isinstance(reason, Reason) else reason or ()
    return reasons


def reconcile(
    reasons: Sequence[Reason], flags: Sequence[RaisedFlag], rules: Iterable[Rule]
) -> Reconciled:
    """Return which flags to raise and to supersede, from the reasons of ``rules`` and the existing ``flags``.

    A flag is raised once for each rule and judge version. An open flag of one of the rules is
    superseded when the reason no longer exists, or when the flag names a judge that no longer gives
    this reason. Decided flags and flags of other rules do not change.
    """
    rules_by_name = {rule.name: rule for rule in rules}
    now = {reason.raise_key: reason for reason in reasons}
    gone = [
        flag
        for flag in flags
        if flag.state is FlagState.OPEN
        and flag.rule in rules_by_name
        and not (
            flag.raise_key in now
            and (
                flag.details is None
                or rules_by_name[flag.rule].holds(flag.details, now[flag.raise_key].details)
            )
        )
    ]
    keys = {flag.raise_key for flag in flags if flag not in gone}
    decided_ids = {
        flag.rule: flag.id
        for flag in sorted(flags, key=attrgetter("id"))
        if flag.state is not FlagState.OPEN
    }
    return Reconciled(
        tuple(
            replace(reason, decided_before_id=decided_ids.get(reason.rule))
            for reason in reasons
            if reason.raise_key not in keys
        ),
        tuple(flag.id for flag in gone),
    )


HALF_STEP = 5e-10
"""Arrays and SQL do not use `rounded`. Instead they compare a value with ``threshold - HALF_STEP``."""


def rounded(value: float) -> float:
    """Round a value before it is compared with a threshold, so that 0.6 - 0.2 is not below 0.4."""
    return round(value, 9)


def shown(value: float, beside: float | None = None) -> str:
    """Return a number with at most two decimals, or with more decimals to tell it from ``beside``."""
    for digits in range(2, 9):
        text = f"{half_up(value, digits):.{digits}f}".rstrip("0").rstrip(".")
        if beside is None or float(text) != beside or value == beside:
            return text
    return f"{value:.9g}"
