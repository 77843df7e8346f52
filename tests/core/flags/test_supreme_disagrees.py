"""A verdict that a supreme judge calls wrong: one flag for each audited judge, and who is no second opinion."""

from typing import Any

import pytest

from judgeboard.domain import FlagState, Label
from judgeboard.flags.rule import (
    JudgeSignal,
    RaisedFlag,
    Reconciled,
    Signals,
    SupremeMark,
    Thresholds,
    reasons_for,
    reconcile,
)
from judgeboard.flags.rules import RULE_NAMED, RULES, judges_disagree, why


def judge(name: str = "rag", groundedness: float | None = 0.92, quality: int | None = 4, **given: Any) -> JudgeSignal:
    fields = {"kind": name, "groundedness": groundedness, "quality": quality} | given
    return JudgeSignal(7, name=name, title=f"{name} v1", fingerprint=f"address of {name}", **fields)


def reasons(*marks: SupremeMark) -> list[Any]:
    return reasons_for(Signals("log", "a", "QA", marks=marks), Thresholds(random_share=0), RULES)


def test_each_audited_judge_has_a_flag_of_its_own() -> None:
    raised = reasons(SupremeMark(judge("rag"), ("supreme v1",), 0.1), SupremeMark(judge("nli"), ("supreme v1",)))
    assert [(each.rule, each.fingerprint, each.inclusion_probability) for each in raised] == [
        ("supreme_disagrees", "address of rag", 0.1),
        ("supreme_disagrees", "address of nli", 1.0),
    ]
    assert len({each.raise_key for each in raised}) == 2
    assert reasons() == []


def test_the_sentence_names_both_and_what_was_said() -> None:
    (raised,) = reasons(SupremeMark(judge(), ("supreme v1",)))
    assert why(raised.rule, raised.details, raised.params) == (
        "supreme v1 marks the verdict of rag v1 as wrong. rag v1 gave groundedness 0.92, quality 4."
    )
    labelled = judge("nli", None, None, label=Label.GROUNDED)
    (raised,) = reasons(SupremeMark(labelled, ("big v2", "supreme v1")))
    assert why(raised.rule, raised.details, raised.params) == (
        "big v2 and supreme v1 mark the verdict of nli v1 as wrong. nli v1 gave label grounded."
    )


def test_a_flag_that_names_a_judge_who_changed_its_mind_is_raised_anew() -> None:
    rules = (RULE_NAMED["supreme_disagrees"],)
    (first,) = reasons(SupremeMark(judge(), ("big v1", "supreme v1")))
    stands = [RaisedFlag(1, first.rule, first.raise_key, FlagState.OPEN, first.details)]
    (fewer,) = reasons(SupremeMark(judge(), ("big v1",)))
    (more,) = reasons(SupremeMark(judge(), ("big v1", "supreme v1", "third v1")))
    result = reconcile([fewer], stands, rules)
    assert ([raised.reason for raised in result.to_raise], result.to_supersede) == ([fewer], (1,))
    assert reconcile([more], stands, rules) == Reconciled(), "what it says is still so"
    decided = [RaisedFlag(1, first.rule, first.raise_key, FlagState.CONFIRMED, first.details)]
    assert reconcile([fewer], decided, rules) == Reconciled()


def test_one_audited_judges_flag_outlives_anothers() -> None:
    rules = (RULE_NAMED["supreme_disagrees"],)
    stands = [
        RaisedFlag(1, "supreme_disagrees", "supreme_disagrees:address of rag", FlagState.OPEN),
        RaisedFlag(2, "supreme_disagrees", "supreme_disagrees:address of nli", FlagState.OPEN),
    ]
    result = reconcile(reasons(SupremeMark(judge("nli"), ("supreme v1",))), stands, rules)
    assert (result.to_raise, result.to_supersede) == ((), (1,))


@pytest.mark.parametrize("kind", ["audit", "repeats"])
def test_what_is_made_of_other_verdicts_is_no_second_opinion(kind: str) -> None:
    signals = Signals("log", "a", "QA", primary=judge("rag", 0.1), others=(judge("other", 0.9, kind=kind),))
    assert judges_disagree(signals, Thresholds()) is None


def test_members_of_a_jury_do_not_disagree_but_others_do() -> None:
    one, two = judge("one", 0.1, in_jury=True), judge("two", 0.9, in_jury=True)
    outside = judge("outside", 0.5), judge("stranger", 1.0)
    assert judges_disagree(Signals("log", "a", "QA", others=(one, two)), Thresholds()) is None
    found = judges_disagree(Signals("log", "a", "QA", others=(one, two, *outside)), Thresholds())
    assert found is not None
    assert [each["judges"] for each in found.details["pairs"]] == [["outside v1", "stranger v1"]]
