"""What a flag rule is: its signals, thresholds and reasons, and how the flags of a response follow from them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from operator import attrgetter
from typing import Any

from judgeboard.domain import Feedback, FlagState, Label, Status
from judgeboard.text import number_words


@dataclass(frozen=True, slots=True)
class JudgeSignal:
    """The current judgment of one judge on a response: groundedness 0 to 1, quality 1 to 4, each may be missing."""

    judgment_id: int
    kind: str
    name: str
    title: str  # "rag v3"
    fingerprint: str
    groundedness: float | None = None
    quality: int | None = None
    label: Label | None = None
    in_jury: bool = False  # a member of a jury that judged this response: the jury speaks for it


@dataclass(frozen=True, slots=True)
class SupremeMark:
    """The current judgment of one judge that supreme judges call wrong; they are named by their titles."""

    audited: JudgeSignal
    supremes: tuple[str, ...]
    probability: float = 1.0  # at which the judgment was drawn for the audit


@dataclass(frozen=True, slots=True)
class FailedSignal:
    """The primary judge's latest judgment of a response on which it has no usable one.

    ``cause`` is what became of the last call (``Attempt.status``), ``tokens`` how many it had produced.
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
    """The texts of a response; each is None where it was forgotten, ``passages`` also where none were logged."""

    query: str | None
    answer: str | None
    passages: tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class Signals:
    """All that the rules read of one response; ``failed`` only where ``primary`` is None, ``others`` without it.

    ``texts`` are there for rules that ask for them (`Rule.reads_texts`).
    """

    source: str
    external_id: str
    query_type: str
    feedback: Feedback | None = None
    primary: JudgeSignal | None = None
    failed: FailedSignal | None = None
    others: tuple[JudgeSignal, ...] = ()
    marks: tuple[SupremeMark, ...] = ()
    texts: Texts | None = None


def _number(default: float, low: float, high: float, step: float, label: str, tip: str) -> Any:
    return field(default=default, metadata={"range": (low, high), "step": step, "label": label, "help": tip})


@dataclass(frozen=True, slots=True)
class Thresholds:
    """The thresholds of the rules, with defaults and ranges; a setting has the name of its field.

    Raises ValueError, with a sentence for a person, if a value is outside its range.
    """

    low_groundedness: float = _number(
        0.5, 0, 1, 0.05, "Low groundedness below", "Rule “low groundedness”: score of the primary judge (0 to 1)."
    )
    low_quality: float = _number(
        2, 0, 4, 1, "Low quality up to", "Rule “low quality”: quality of the primary judge (1 to 4)."
    )
    feedback_gap: float = _number(
        2,
        0.25,
        3,
        0.25,
        "User and judge differ by",
        "Rule “feedback gap”: difference of user and judge on the scale from 1 to 4.",
    )
    disagree_groundedness: float = _number(
        0.4,
        0.01,
        1,
        0.05,
        "Judges differ by, groundedness",
        "Rule “judges disagree”: difference of two judges (0 to 1).",
    )
    disagree_quality: float = _number(
        2, 1, 3, 1, "Judges differ by, quality", "Rule “judges disagree”: difference of two judges (1 to 3)."
    )
    random_share: float = _number(
        0.02, 0, 1, 0.01, "Random sample, share", "Rule “random sample”: 0.02 flags 2 % of all answers at random."
    )
    excuse_refusals: bool = True
    implied_labels: tuple[str, ...] | None = None
    random_seed: str = "judgeboard"
    always_review: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for each in fields(self):
            if "range" in each.metadata:
                value, (low, high) = getattr(self, each.name), each.metadata["range"]
                if isinstance(value, bool) or not isinstance(value, int | float):
                    raise ValueError(f"{each.name} must be a number from {low:g} to {high:g}, not {value!r}")
                if not low <= value <= high:
                    raise ValueError(f"{each.name} must lie from {low:g} to {high:g}, not {number_words(value)}")
        if not isinstance(self.excuse_refusals, bool):
            raise ValueError(f"excuse_refusals must be true or false, not {self.excuse_refusals!r}")
        if not isinstance(self.random_seed, str):
            raise ValueError(f"random_seed must be a text, not {self.random_seed!r}")
        for name, things in (("always_review", "query types"), ("implied_labels", "rules")):
            texts = getattr(self, name)
            if texts is None and name == "implied_labels":
                continue
            if not isinstance(texts, list | tuple) or not all(isinstance(each, str) for each in texts):
                raise ValueError(f"{name} must be a list of {things}, not {texts!r}")
            object.__setattr__(self, name, tuple(texts))


THRESHOLDS: tuple[str, ...] = tuple(each.name for each in fields(Thresholds))


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a rule wants a response to be looked at.

    ``fingerprint`` is that of the judge version the reason rests on (of the primary judge, or the audited one), None
    where it rests on none.
    ``severity`` orders the queue, 0 to 1. ``details`` holds numbers and judges' titles, never texts of the answer,
    ``params`` what was decided by. ``inclusion_probability`` is below 1 only where chance decided.
    """

    rule: str
    severity: float
    details: dict[str, Any] = field(default_factory=dict)
    params: dict[str, Any] = field(default_factory=dict)
    fingerprint: str | None = None
    judgment_id: int | None = None
    auto_score: float | None = None
    inclusion_probability: float = 1.0

    @property
    def raise_key(self) -> str:
        """What a response is flagged for once: the rule and the judge version it rests on."""
        return f"{self.rule}:{self.fingerprint or '-'}"


@dataclass(frozen=True, slots=True)
class Rule:
    """One flag rule: ``reason`` decides, ``why`` says a stored flag of it in one sentence from details and params.

    A rule for ``each_judge`` may have a reason on the verdict of every judge, the others look at the primary one's.
    ``drawn`` rules depend on the response alone: they are applied when it is stored and by `judgeboard flag`, never
    when a judgment or feedback is stored. ``holds``, of the details of a flag and those of the reason for it now, tells
    whether what the flag says of other judges is still so. A rule that ``reads_texts`` finds them in the signals; with
    ``texts_for`` it says for which responses, by all other signals.
    """

    name: str
    reason: Callable[[Signals, Thresholds], Reason | tuple[Reason, ...] | None]
    why: Callable[[Mapping[str, Any], Mapping[str, Any]], str]
    drawn: bool = False
    each_judge: bool = False
    reads_texts: bool = False
    texts_for: Callable[[Signals, Thresholds], bool] = lambda _signals, _thresholds: True
    holds: Callable[[Mapping[str, Any], Mapping[str, Any]], bool] = lambda _stored, _now: True


@dataclass(frozen=True, slots=True)
class RaisedFlag:
    """An open or decided flag of a response; ``details`` are those of an open flag."""

    id: int
    rule: str
    raise_key: str
    state: FlagState
    details: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Raise:
    """A flag to raise; ``decided_before_id`` is the latest decided flag of the rule, on another judge version."""

    reason: Reason
    decided_before_id: int | None = None


@dataclass(frozen=True, slots=True)
class Reconciled:
    """The changes to the flags of one response: flags to raise, ids of open flags to supersede."""

    to_raise: tuple[Raise, ...] = ()
    to_supersede: tuple[int, ...] = ()


def reasons_for(signals: Signals, thresholds: Thresholds, rules: Iterable[Rule]) -> list[Reason]:
    """Return the reasons of the rules, at most one for each rule and judge version."""
    reasons: list[Reason] = []
    for rule in rules:
        reason = rule.reason(signals, thresholds)
        reasons += [reason] if isinstance(reason, Reason) else reason or ()
    return reasons


def reconcile(reasons: Sequence[Reason], flags: Sequence[RaisedFlag], rules: Iterable[Rule]) -> Reconciled:
    """Return which flags to raise and to supersede, from the reasons of ``rules`` and the existing ``flags``.

    A flag is raised once for each rule and judge version. An open flag of one of the rules is superseded when its
    reason no longer exists, or when it names a judge that no longer gives this reason. Decided flags and flags of other
    rules do not change.
    """
    asked = {rule.name: rule for rule in rules}
    now = {reason.raise_key: reason for reason in reasons}
    gone = [
        flag
        for flag in flags
        if flag.state is FlagState.OPEN
        and flag.rule in asked
        and not (
            flag.raise_key in now
            and (flag.details is None or asked[flag.rule].holds(flag.details, now[flag.raise_key].details))
        )
    ]
    known = {flag.raise_key for flag in flags if flag not in gone}
    decided = {flag.rule: flag.id for flag in sorted(flags, key=attrgetter("id")) if flag.state is not FlagState.OPEN}
    return Reconciled(
        tuple(Raise(reason, decided.get(reason.rule)) for reason in reasons if reason.raise_key not in known),
        tuple(flag.id for flag in gone),
    )


HALF_STEP = 5e-10
"""Arrays and SQL do not use `rounded`. Instead they compare a value with ``threshold - HALF_STEP``."""


def rounded(value: float) -> float:
    """Return a value as it is compared with a threshold: 0.6 - 0.2 must not be below 0.4."""
    return round(value, 9)


def shown(value: float, beside: float | None = None) -> str:
    """Return a number with two decimals at most; with more where two would make it look equal to ``beside``."""
    for digits in range(2, 9):
        text = f"{value:.{digits}f}".rstrip("0").rstrip(".")
        if beside is None or float(text) != beside or value == beside:
            return text
    return f"{value:.9g}"
