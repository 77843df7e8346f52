"""Every rule over every combination of its signals, against a plain restatement of methods.md §1."""

from decimal import Decimal
from itertools import product
from typing import Any

import pytest

from judgeboard.domain import Feedback, FeedbackKind, FlagState, Label, Status
from judgeboard.flags.rule import (
    FailedSignal,
    JudgeSignal,
    RaisedFlag,
    Reason,
    Reconciled,
    Signals,
    Thresholds,
    reasons_for,
    reconcile,
)
from judgeboard.flags.rules import RULES

NOTHING_DRAWN = Thresholds(random_share=0)


def judge(
    groundedness: float | None = None,
    quality: int | None = None,
    label: Label | None = None,
    *,
    name: str = "rag",
    kind: str = "rag",
) -> JudgeSignal:
    return JudgeSignal(7, kind, name, f"{name} v1", f"address of {name}", groundedness, quality, label)


def reasons(primary: JudgeSignal | None, *others: JudgeSignal, feedback: Feedback | None = None) -> dict[str, Reason]:
    signals = Signals("log", "a-1", "QA", feedback, primary, None, others)
    return {reason.rule: reason for reason in reasons_for(signals, NOTHING_DRAWN, RULES)}


def thumbs(value: float) -> Feedback:
    return Feedback(FeedbackKind.THUMBS, value)


def stars(value: float) -> Feedback:
    return Feedback(FeedbackKind.STARS, value)


GROUNDEDNESS = (None, 0.0, 0.31, 0.5, 0.9)
QUALITY = (None, 1, 2, 3, 4)
FEEDBACK = (None, thumbs(1), thumbs(0), stars(1), stars(2), stars(3), stars(5))
LABELS = (None, Label.GROUNDED, Label.HALLUCINATED)
SECOND = (None, (0.9, None), (0.6, None), (None, 1), (None, 3), (0.5, 4))

# What the sources say, as a table: feedback on the scale from 1 to 4.
ON_FOUR = {None: None, thumbs(1): "4", thumbs(0): "1", stars(1): "1", stars(2): "1.75", stars(3): "2.5", stars(5): "4"}


def expected(
    groundedness: float | None,
    quality: int | None,
    feedback: Feedback | None,
    label: Label | None,
    second: tuple[float | None, int | None] | None,
) -> dict[str, Decimal]:
    """The rules that must flag, with their severity, in exact decimals."""
    found: dict[str, Decimal] = {}
    exact = None if groundedness is None else Decimal(str(groundedness))
    if exact is not None and exact < Decimal("0.5"):
        found["low_groundedness"] = (Decimal("0.5") - exact) / Decimal("0.5")
    if exact is None and label is Label.HALLUCINATED:
        found["low_groundedness"] = Decimal(1)
    if quality is not None and quality <= 2:
        found["low_quality"] = Decimal(2 - quality) / 2
    user = ON_FOUR[feedback]
    if user is not None and quality is not None and abs(Decimal(user) - quality) >= 2:
        found["feedback_gap"] = abs(Decimal(user) - quality) / 3
    if user is not None and Decimal(user) <= Decimal("1.75"):  # 2 stars
        found["poor_rating"] = (2 - (1 + (Decimal(user) - 1) / Decimal("0.75"))) / 2
    apart = []
    if second is not None and second[0] is not None and exact is not None:
        delta = abs(exact - Decimal(str(second[0])))
        apart += [delta] if delta >= Decimal("0.4") else []
    if second is not None and second[1] is not None and quality is not None:
        apart += [Decimal(abs(quality - second[1])) / 3] if abs(quality - second[1]) >= 2 else []
    if apart:
        found["judges_disagree"] = max(apart)
    return found


def test_the_rules_equal_brute_force_over_every_combination() -> None:
    for groundedness, quality, feedback, label, second in product(GROUNDEDNESS, QUALITY, FEEDBACK, LABELS, SECOND):
        others = [] if second is None else [judge(*second, name="nli")]
        got = reasons(judge(groundedness, quality, label), *others, feedback=feedback)
        wanted = expected(groundedness, quality, feedback, label, second)
        case = (groundedness, quality, feedback, label, second)
        assert got.keys() == wanted.keys(), case
        for rule, severity in wanted.items():
            assert got[rule].severity == pytest.approx(float(severity)), (rule, case)
            # No judge is the reason of a rating.
            assert got[rule].raise_key == f"{rule}:{'-' if rule == 'poor_rating' else 'address of rag'}"


def test_without_a_primary_judge_only_two_others_can_disagree() -> None:
    assert reasons(None, judge(0.1, 1, name="nli"), feedback=thumbs(1)) == {}
    disagree = reasons(None, judge(0.1, name="nli"), judge(0.9, name="zen"))["judges_disagree"]
    assert disagree.raise_key == "judges_disagree:-"
    assert disagree.judgment_id is None


@pytest.mark.parametrize(("one", "two", "flagged"), [(0.6, 0.2, True), (0.6, 0.21, False), (0.3, 0.7, True)])
def test_thresholds_are_compared_as_people_write_them(one: float, two: float, *, flagged: bool) -> None:
    # 0.6 - 0.2 is 0.39999999999999997 in floats, 0.3 - 0.7 likewise in the other direction.
    assert ("judges_disagree" in reasons(judge(one), judge(two, name="nli"))) is flagged


def test_a_groundedness_that_is_the_threshold_but_for_float_noise_is_not_below_it() -> None:
    assert "low_groundedness" not in reasons(judge(0.1 + 0.2 + 0.2 - 1e-17))
    assert "low_groundedness" in reasons(judge(0.499999))


def test_low_groundedness_keeps_the_score_and_a_bare_label_has_none() -> None:
    assert reasons(judge(0.31))["low_groundedness"].auto_score == 0.31
    labelled = reasons(judge(label=Label.HALLUCINATED))["low_groundedness"]
    assert (labelled.auto_score, labelled.severity) == (None, 1.0)


def test_judges_of_opposite_labels_disagree_fully() -> None:
    raised = reasons(judge(label=Label.GROUNDED), judge(label=Label.HALLUCINATED, name="nli"))
    assert raised["judges_disagree"].severity == 1.0


def test_an_audit_is_no_second_opinion() -> None:
    assert reasons(judge(0.1, 3), judge(0.9, name="chief", kind="audit")).keys() == {"low_groundedness"}


def test_pairs_are_listed_widest_first() -> None:
    raised = reasons(judge(0.1, 4), judge(0.6, 1, name="nli"), judge(0.9, name="zen"))["judges_disagree"]
    assert [(pair["judges"], pair["measure"], pair["delta"]) for pair in raised.details["pairs"]] == [
        (["rag v1", "nli v1"], "quality", 3),
        (["rag v1", "zen v1"], "groundedness", 0.8),
        (["rag v1", "nli v1"], "groundedness", 0.5),
    ]
    assert raised.severity == 1.0


def test_a_failed_primary_judge_is_flagged_with_its_own_version() -> None:
    failed = FailedSignal(3, "rag", "rag v2", "address", Status.UNPARSABLE, "truncated", 512)
    [reason] = reasons_for(Signals("log", "a", "QA", failed=failed), NOTHING_DRAWN, RULES)
    assert (reason.rule, reason.severity, reason.raise_key) == ("judge_failed", 0.5, "judge_failed:address")
    assert reason.details == {"judge": "rag v2", "status": "unparsable", "cause": "truncated", "tokens": 512}


def test_the_text_of_an_unknown_failure_stays_out_of_the_flag() -> None:
    failed = FailedSignal(3, "rag", "rag v2", "address", Status.ERROR, "the answer said: call 555-1234")
    [reason] = reasons_for(Signals("log", "a", "QA", failed=failed), NOTHING_DRAWN, RULES)
    assert reason.details == {"judge": "rag v2", "status": "error"}


def test_query_types_are_always_reviewed_when_asked_for() -> None:
    thresholds = Thresholds(random_share=0, always_review=("sql",))
    assert [reason.rule for reason in reasons_for(Signals("log", "a", "sql"), thresholds, RULES)] == ["always_review"]
    assert reasons_for(Signals("log", "a", "QA"), thresholds, RULES) == []


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("low_groundedness", 1.1),
        ("low_quality", True),
        ("random_share", float("nan")),
        ("random_share", 10**400),
        ("feedback_gap", 0),
        ("disagree_quality", "2"),
        ("always_review", "sql"),
    ],
)
def test_a_threshold_outside_its_range_is_refused(setting: str, value: Any) -> None:
    with pytest.raises(ValueError, match=setting):
        Thresholds(**{setting: value})


def test_a_disagreement_that_other_judges_have_taken_over_is_raised_anew() -> None:
    first = reasons(judge(0.1), judge(0.9, name="nli"), judge(0.8, name="zen"))["judges_disagree"]
    stands = [RaisedFlag(1, first.rule, first.raise_key, FlagState.OPEN, first.details)]
    wider = reasons(judge(0.1), judge(0.9, name="nli"), judge(1.0, name="zen"))["judges_disagree"]
    assert reconcile([wider], stands, RULES) == Reconciled(), "rag and nli are apart still"
    others = reasons(judge(0.1), judge(0.2, name="nli"), judge(0.8, name="zen"))["judges_disagree"]
    result = reconcile([others], stands, RULES)
    assert ([raised.reason for raised in result.to_raise], result.to_supersede) == ([others], (1,))
