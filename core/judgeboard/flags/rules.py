"""The flag rules: each has a function that decides, and a sentence that explains. Other packages add to ``RULES``."""

import hashlib
import math
import re
from collections.abc import Mapping
from dataclasses import replace
from functools import partial, wraps
from itertools import combinations
from operator import itemgetter
from typing import Any

from judgeboard.domain import AUDIT, REPEATS, FeedbackKind, Label
from judgeboard.errors import BadInput, JudgeboardError
from judgeboard.flags.injection import INJECTION_SUSPECTED, injection_suspected
from judgeboard.flags.rule import JudgeSignal, Reason, Rule, Signals, rounded, shown
from judgeboard.judges.evidence_alignment import is_right_refusal
from judgeboard.registry.judge_kinds import kind_of
from judgeboard.registry.plugins import Plugin, Registry, in_words
from judgeboard.settings.model import Thresholds
from judgeboard.text import listed_words

LOW_GROUNDEDNESS = "low_groundedness"
UNCERTAIN_VERDICT = "uncertain_verdict"
JUDGES_DISAGREE = "judges_disagree"
SUPREME_DISAGREES = "supreme_disagrees"
FAILED_CHECK = "failed_check"
ALWAYS_REVIEW = "always_review"
RANDOM_SAMPLE = "random_sample"


def low_groundedness(signals: Signals, thresholds: Thresholds) -> Reason | None:
    """Flags an answer that the primary judge finds too little supported by its passages.

    Groundedness is below the threshold, or the label is "hallucinated" and there is no score. A
    refusal is not flagged if no fitting passage was retrieved, unless ``excuse_refusals`` is off.
    With ``excuse_confident``, verdicts that need no review are not flagged.

    Severity: (threshold − score) / threshold
    """
    judgment, texts = signals.primary, signals.texts
    if judgment is None:
        return None
    threshold = thresholds.cuts.of(signals.query_type)
    if not _is_low(judgment, threshold):
        return None
    if judgment.groundedness is not None and _confidence(judgment.groundedness) >= rounded(
        excused_confidence(thresholds)
    ):
        return None  # the verdict needs no review
    if (
        thresholds.excuse_refusals
        and texts
        and is_right_refusal(texts.query, texts.answer, texts.passages)
    ):
        return None
    if judgment.groundedness is None:
        return _of_primary(
            LOW_GROUNDEDNESS, judgment, 1.0, {"label": Label.HALLUCINATED.value}, threshold
        )
    details = {"groundedness": judgment.groundedness}
    severity = (threshold - judgment.groundedness) / threshold
    return _of_primary(
        LOW_GROUNDEDNESS, judgment, severity, details, threshold, judgment.groundedness
    )


def _of_primary(
    rule: str,
    judgment: JudgeSignal,
    severity: float,
    details: dict[str, Any],
    threshold: float,
    auto_score: float | None = None,
) -> Reason:
    return Reason(
        rule,
        severity,
        {"judge": judgment.title} | details,
        {"threshold": threshold},
        judgment.fingerprint,
        judgment.judgment_id,
        auto_score,
    )


def _at_threshold(measure: str, details: Mapping[str, Any], params: Mapping[str, Any]) -> str:
    """Return for example "Groundedness 0.42 (threshold 0.5)", or the label of a judge without a score."""
    if measure not in details:
        return f"Label {details.get('label', 'without a score')}"
    threshold = params["threshold"]
    return f"{measure.capitalize()} {shown(details[measure], threshold)} (threshold {shown(threshold)})"


def _is_low(judgment: JudgeSignal, threshold: float) -> bool:
    if judgment.groundedness is None:
        return judgment.label is Label.HALLUCINATED
    return rounded(judgment.groundedness) < rounded(threshold)


def uncertain_verdict(signals: Signals, thresholds: Thresholds) -> Reason | None:
    """Flags an answer whose verdict by the primary judge needs a review, because the judge is not sure enough.

    The confidence (the larger of groundedness and 1 - groundedness) is below the threshold, or
    there is no score. With a threshold of 0.5, nothing is flagged.

    Severity: (threshold − confidence) / (threshold − 0.5); 1 if the verdict has no score
    """
    judgment, threshold = signals.primary, thresholds.uncertain_verdict
    if (
        judgment is None
        or threshold <= _LEAST_CONFIDENCE
        or (judgment.groundedness is None and judgment.label is None)
    ):
        return None
    if judgment.groundedness is None:
        return _of_primary(UNCERTAIN_VERDICT, judgment, 1.0, {}, threshold)
    confidence = _confidence(judgment.groundedness)
    if confidence >= rounded(threshold):
        return None
    severity = (threshold - confidence) / (threshold - _LEAST_CONFIDENCE)
    details = {"confidence": confidence}
    return _of_primary(
        UNCERTAIN_VERDICT, judgment, severity, details, threshold, judgment.groundedness
    )


_LEAST_CONFIDENCE = 0.5


def _confidence(groundedness: float) -> float:
    return rounded(max(groundedness, 1 - groundedness))


def excused_confidence(thresholds: Thresholds) -> float:
    """Return the confidence from which on a verdict raises no flag of `low_groundedness`, infinite if none does.

    Without a random sample, every verdict can raise a flag.
    """
    threshold = thresholds.uncertain_verdict
    if (
        not thresholds.excuse_confident
        or not thresholds.random_share
        or threshold <= _LEAST_CONFIDENCE
    ):
        return math.inf
    return threshold


def low_quality(signals: Signals, thresholds: Thresholds) -> Reason | None:
    """Flags an answer that the primary judge finds irrelevant, insufficient or failing.

    Severity: (threshold − score) / threshold
    """
    judgment, threshold = signals.primary, thresholds.low_quality
    if judgment is None or judgment.quality is None or judgment.quality > rounded(threshold):
        return None
    severity = (threshold - judgment.quality) / threshold
    return _of_primary("low_quality", judgment, severity, {"quality": judgment.quality}, threshold)


def feedback_gap(signals: Signals, thresholds: Thresholds) -> Reason | None:
    """Flags an answer on which its user and the primary judge differ widely.

    The latest feedback and quality, both on the scale from 1 to 4, differ by the threshold or more.

    Severity: difference between the judge's quality and the user's feedback, divided by 3
    """
    judgment, feedback = signals.primary, signals.feedback
    if judgment is None or judgment.quality is None or feedback is None:
        return None
    gap = rounded(abs(feedback.quality - judgment.quality))
    if gap < rounded(thresholds.feedback_gap):
        return None
    details = {
        "quality": judgment.quality,
        "feedback": feedback.kind.value,
        "value": float(feedback.value),
        "user_quality": feedback.quality,
        "gap": gap,
    }
    return _of_primary("feedback_gap", judgment, gap / 3, details, thresholds.feedback_gap)


def _rating_words(details: Mapping[str, Any]) -> str:
    value = details["value"]
    if details["feedback"] == FeedbackKind.THUMBS:
        return f"thumbs {'up' if value == 1 else 'down'}"
    return f"{shown(value)} {'star' if value == 1 else 'stars'}"


def poor_rating(signals: Signals, thresholds: Thresholds) -> Reason | None:
    """Flags an answer that its user rated poorly, whatever the judges return and also if no judge has judged it.

    The latest rating is not above the threshold, in stars; thumbs down counts as 1 star, thumbs up
    as 5.

    Severity: (threshold − stars) / threshold
    """
    feedback, threshold = signals.feedback, thresholds.poor_rating
    if feedback is None or rounded(feedback.stars) > rounded(threshold):
        return None
    severity = (threshold - feedback.stars) / threshold
    details = {"feedback": feedback.kind.value, "value": float(feedback.value)}
    return Reason("poor_rating", severity, details, {"threshold": threshold})


def judges_disagree(signals: Signals, thresholds: Thresholds) -> Reason | None:
    """Flags an answer on which any two judges differ widely.

    Two current judgments differ by the threshold or more in groundedness or quality, or in label.
    Judgments that are made from other judgments are left out: those of supreme judges, combined
    repeats and juries. If the primary judge is a jury, it counts in place of its members.

    Severity: the largest of: difference in groundedness, difference in quality / 3, 1 for different
    labels
    """
    judges = [
        judge
        for judge in signals.others
        if judge.kind != AUDIT and not kind_of(judge.kind).combined and not judge.in_primary_jury
    ]
    if signals.primary is not None and signals.primary.kind not in {AUDIT, REPEATS}:
        judges.insert(0, signals.primary)
    pairs = combinations(judges, 2)
    differences = [
        difference for one, two in pairs for difference in differences_of(one, two, thresholds)
    ]
    if not differences:
        return None
    differences.sort(key=itemgetter(0), reverse=True)
    return Reason(
        JUDGES_DISAGREE,
        severity=differences[0][0],
        details={"pairs": [pair for _, pair in differences]},
        params={
            "groundedness": thresholds.disagree_groundedness,
            "quality": thresholds.disagree_quality,
        },
        fingerprint=None if signals.primary is None else signals.primary.fingerprint,
        judgment_id=None if signals.primary is None else signals.primary.judgment_id,
    )


def differences_of(
    one: JudgeSignal, two: JudgeSignal, thresholds: Thresholds
) -> list[tuple[float, dict[str, Any]]]:
    """Return the measures on which two judges differ widely, as (severity, details that a flag stores)."""
    differences: list[tuple[float, str, list[Any], float | None]] = []
    for measure, threshold, scale in (
        ("groundedness", thresholds.disagree_groundedness, 1),
        ("quality", thresholds.disagree_quality, 3),
    ):
        first, second = getattr(one, measure), getattr(two, measure)
        if first is not None and second is not None:
            delta = rounded(abs(first - second))
            if delta >= rounded(threshold):
                differences.append((delta / scale, measure, [first, second], delta))
    if one.label is not None and two.label is not None and one.label is not two.label:
        differences.append((1.0, "label", [one.label.value, two.label.value], None))
    return [
        (
            severity,
            {
                "judges": [one.title, two.title],
                "measure": measure,
                "values": values,
                "delta": delta,
            },
        )
        for severity, measure, values, delta in differences
    ]


def _judges_disagree_words(details: Mapping[str, Any], _params: Mapping[str, Any]) -> str:
    widest = details["pairs"][0]
    return "; ".join(
        f"{judge}: {_values_words({widest['measure']: value})}"
        for judge, value in zip(widest["judges"], widest["values"], strict=True)
    )


def _values_words(values: Mapping[str, float | str]) -> str:
    """Return for example "groundedness 0.92, label grounded"."""
    return ", ".join(
        f"{name} {each if isinstance(each, str) else shown(each)}" for name, each in values.items()
    )


def supreme_disagrees(signals: Signals, _thresholds: Thresholds) -> tuple[Reason, ...]:
    """Flags a judgment that a supreme judge finds wrong.

    Each judge whose current verdict is marked as wrong gets its own reason.

    Severity: 1
    """
    return tuple(
        Reason(
            SUPREME_DISAGREES,
            severity=1.0,  # as for two different labels: a mark has no degrees
            details={
                "judge": mark.audited.title,
                "said": {
                    measure: value
                    for measure in ("label", "groundedness", "quality")
                    if (value := getattr(mark.audited, measure)) is not None
                },
                "supremes": list(mark.supremes),
            },
            fingerprint=mark.audited.fingerprint,
            judgment_id=mark.audited.judgment_id,
            auto_score=mark.audited.groundedness,
            inclusion_probability=mark.probability,
        )
        for mark in signals.marks
    )


_HTTP = re.compile(r"http_(\d{3})")
_CAUSES = {
    "refused": "it refused",
    "unparsable": "its reply could not be read",
    "timeout": "it took too long",
    "connection": "the connection failed",
    "error": "the call failed",
    "split": "its members were split",
    "truncated": "cut off before its end",
}


def judge_failed(signals: Signals, _thresholds: Thresholds) -> Reason | None:
    """Flags an answer for which the primary judge returned nothing usable.

    Severity: 0.5
    """
    signal = signals.failed
    if signal is None:
        return None
    details: dict[str, Any] = {"judge": signal.title, "status": signal.status.value}
    # Only causes that Judgeboard defines: an error text from an endpoint or a file may quote the
    # answer.
    if signal.cause in _CAUSES or _HTTP.fullmatch(signal.cause or ""):
        details["cause"] = signal.cause
    if signal.tokens is not None:
        details["tokens"] = signal.tokens
    return Reason(
        "judge_failed", 0.5, details, fingerprint=signal.fingerprint, judgment_id=signal.judgment_id
    )


def _judge_failed_words(details: Mapping[str, Any], _params: Mapping[str, Any]) -> str:
    cause = details.get("cause", details["status"])
    if http := _HTTP.fullmatch(cause):
        return f"No usable verdict: HTTP {http[1]}"
    tokens = f" ({details['tokens']} tokens)" if "tokens" in details else ""
    return f"No usable verdict: {_CAUSES.get(cause, 'the call failed')}{tokens}"


def failed_check(signals: Signals, thresholds: Thresholds) -> tuple[Reason, ...]:
    """Flags an answer that fails a deterministic check.

    Each failed check of the setting ``checks`` gets its own reason, which names the check.

    Severity: 0.5
    """
    texts = signals.texts
    if texts is None or not thresholds.checks:
        return ()
    from judgeboard.flags.checks import named_checks  # few databases have checks

    return tuple(
        Reason(
            FAILED_CHECK,
            severity=0.5,
            details={"check": each.name, "kind": each.check.kind},
            fingerprint=each.check.fingerprint,
        )
        for each in named_checks(thresholds.checks, stored=True)
        if not each.query_types or signals.query_type in each.query_types
        if each.check.failure(texts.answer, texts.passages) is not None
    )


def always_review(signals: Signals, thresholds: Thresholds) -> Reason | None:
    """Flags every answer of the query types that are always reviewed.

    Severity: 0
    """
    if signals.query_type not in thresholds.always_review:
        return None
    return Reason(ALWAYS_REVIEW, 0.0, params={"query_type": signals.query_type})


def sampling_number(seed: str, source: str, external_id: str) -> float:
    """Return a number from 0 to below 1 that depends only on the arguments, so every run samples the same answers."""
    # The lengths make the text unambiguous: ("a", "bc") and ("ab", "c") give different texts.
    text = f"{len(seed)}:{seed}{len(source)}:{source}{external_id}"
    # 53 bits: a float represents every value exactly, and no value rounds up to 1.
    return (
        int.from_bytes(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:8], "big")
        >> 11
    ) / 2**53


def random_sample(signals: Signals, thresholds: Thresholds) -> Reason | None:
    """Flags a random sample of all answers, to find problems that no rule flags.

    The sampling number is below the share, which is stored as the inclusion probability of the
    flag.

    Severity: 0
    """
    if (
        sampling_number(thresholds.random_seed, signals.source, signals.external_id)
        >= thresholds.random_share
    ):
        return None
    params = {"share": thresholds.random_share, "seed": thresholds.random_seed}
    return Reason(RANDOM_SAMPLE, 0.0, params=params, inclusion_probability=thresholds.random_share)


_OURS: tuple[Rule, ...] = (
    Rule(
        LOW_GROUNDEDNESS,
        low_groundedness,
        partial(_at_threshold, "groundedness"),
        reads_texts=True,
        texts_for=lambda signals, thresholds: (
            thresholds.excuse_refusals
            and signals.primary is not None
            and _is_low(signals.primary, thresholds.cuts.of(signals.query_type))
        ),
    ),
    Rule(UNCERTAIN_VERDICT, uncertain_verdict, partial(_at_threshold, "confidence")),
    Rule("low_quality", low_quality, partial(_at_threshold, "quality")),
    Rule(
        "feedback_gap",
        feedback_gap,
        lambda details, _params: (
            f"User: {_rating_words(details)} ({shown(details['user_quality'])}); "
            f"judge: quality {details['quality']}"
        ),
    ),
    Rule(
        "poor_rating",
        poor_rating,
        lambda details, _params: f"The user gave {_rating_words(details)}.",
        holds=lambda stored, now: (
            (stored["feedback"], stored["value"]) == (now["feedback"], now["value"])
        ),
    ),
    Rule(
        JUDGES_DISAGREE,
        judges_disagree,
        _judges_disagree_words,
        # The judges in a flag's first pair still differ on the measure of that pair.
        holds=lambda stored, now: any(
            all(pair[name] == stored["pairs"][0][name] for name in ("judges", "measure"))
            for pair in now["pairs"]
        ),
    ),
    Rule(
        SUPREME_DISAGREES,
        supreme_disagrees,
        lambda details, _params: (
            f"Wrong: {details['judge']} ({_values_words(details['said'])}). "
            f"Marked by: {listed_words(details['supremes'])}"
        ),
        each_judge=True,
        holds=lambda stored, now: set(stored["supremes"]) <= set(now["supremes"]),
    ),
    Rule("judge_failed", judge_failed, _judge_failed_words),
    Rule(
        FAILED_CHECK,
        failed_check,
        lambda details, _params: (
            f"The answer fails the check “{details['check']}” ({details['kind'].replace('_', ' ')})."
        ),
        drawn=True,
        each_judge=True,
        reads_texts=True,
        texts_for=lambda _signals, thresholds: bool(thresholds.checks),
    ),
    Rule(
        INJECTION_SUSPECTED,
        injection_suspected,
        lambda details, _params: (
            "Texts that look like orders to a judge. "
            + " ".join(
                f"In {place}: {listed_words(details[name])}."
                for name, place in (("answer", "the answer"), ("passages", "its passages"))
                if details[name]
            )
        ),
        drawn=True,
        reads_texts=True,
        texts_for=lambda _signals, thresholds: thresholds.suspect_injections,
    ),
    Rule(
        ALWAYS_REVIEW,
        always_review,
        lambda _details, params: f"People review every answer of type {params['query_type']}.",
        drawn=True,
    ),
    Rule(
        RANDOM_SAMPLE,
        random_sample,
        lambda _details, params: (
            f"Selected at random ({shown(params['share'] * 100)} % of all answers), "
            "to find problems that no rule flags."
        ),
        drawn=True,
    ),
)


def _checked(plugin: Plugin, rule: Any) -> Rule:
    """Return the rule of a plugin; an error in its function names the rule and the package."""
    if not isinstance(rule, Rule):
        raise BadInput("it must be a `Rule` of judgeboard.flags.rule")
    if rule.name != plugin.name:
        raise BadInput(f"its `name` must be {plugin.name!r}, the name of the entry point")
    title = f"the flag rule {rule.name} of {plugin.source}"

    @wraps(rule.reason)
    def reason(signals: Signals, thresholds: Thresholds) -> Reason | tuple[Reason, ...] | None:
        try:
            result = rule.reason(signals, thresholds)
        except JudgeboardError:
            raise
        except Exception as error:
            raise JudgeboardError(f"{title} failed: {in_words(error)}") from error
        reasons = result if isinstance(result, tuple) else () if result is None else (result,)
        if not all(isinstance(each, Reason) and each.rule == rule.name for each in reasons):
            raise JudgeboardError(f"{title} returned something else than a `Reason` of {rule.name}")
        return result

    return replace(rule, reason=reason)


RULES: Registry[Rule] = Registry("judgeboard.rules", {rule.name: rule for rule in _OURS}, _checked)
"""The rules by name: the rules of Judgeboard, then those of other packages."""


def why(rule: str, details: Mapping[str, Any], params: Mapping[str, Any]) -> str:
    """Return the sentence that explains a stored flag; escape the sentence, because it can contain texts of a log.

    A flag of a rule whose package is gone, or with details of an older release, is described by the
    rule's name only.
    """
    try:
        return RULES[rule].why(details, params)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        return f"Flagged by {rule}."
