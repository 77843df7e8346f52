"""Every rule over every combination of its signals, against a plain restatement of methods.md §1."""

import re
from dataclasses import replace
from decimal import Decimal
from itertools import product

import pytest

from judgeboard.domain import Feedback, FeedbackKind, FlagState, Label, Status
from judgeboard.flags.rule import (
    FailedSignal,
    JudgeSignal,
    RaisedFlag,
    Reason,
    Reconciled,
    Signals,
    SupremeMark,
    Thresholds,
    reasons_for,
    reconcile,
)
from judgeboard.flags.rules import RULES, random_sample, sampling_number, why

NOTHING_DRAWN = Thresholds(random_share=0)
UNCERTAIN = Thresholds(uncertain_verdict=0.9, random_share=0)


def judge(groundedness=None, quality=None, label=None, *, name="rag", kind="rag"):
    return JudgeSignal(
        7, kind, name, f"{name} v1", f"address of {name}", groundedness, quality, label
    )


def raised(thresholds=NOTHING_DRAWN, external_id="a", query_type="QA", **signals):
    """Return the reasons of all rules for an answer with these signals."""
    return reasons_for(
        Signals("log", external_id, query_type, **signals), thresholds, RULES.values()
    )


def reasons(primary, *others, **more):
    return {each.rule: each for each in raised(primary=primary, others=others, **more)}


def disagreement(*judges):
    """Return why a judge, which is primary, and others disagree."""
    return reasons(*judges)["judges_disagree"]


def open_flag(reason):
    return RaisedFlag(1, reason.rule, reason.raise_key, FlagState.OPEN, reason.details)


def thumbs(value):
    return Feedback(FeedbackKind.THUMBS, value)


def stars(value):
    return Feedback(FeedbackKind.STARS, value)


GROUNDEDNESS = (None, 0.0, 0.31, 0.5, 0.9)
QUALITY = (None, 1, 2, 3, 4)
FEEDBACK = (None, thumbs(1), thumbs(0), stars(1), stars(2), stars(3), stars(5))
LABELS = (None, Label.GROUNDED, Label.HALLUCINATED)
SECOND = (None, (0.9, None), (0.6, None), (None, 1), (None, 3), (0.5, 4))

# What the sources say, as a table: feedback on the scale from 1 to 4.
ON_FOUR = dict(zip(FEEDBACK, (None, "4", "1", "1", "1.75", "2.5", "4"), strict=True))


def expected(groundedness, quality, feedback, label, second):
    """The rules that must flag, with their severity, in exact decimals."""
    found = {}
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


def test_the_rules_equal_brute_force_over_every_combination():
    for case in product(GROUNDEDNESS, QUALITY, FEEDBACK, LABELS, SECOND):
        groundedness, quality, feedback, label, second = case
        others = [] if second is None else [judge(*second, name="nli")]
        got = reasons(judge(groundedness, quality, label), *others, feedback=feedback)
        wanted = expected(*case)
        assert got.keys() == wanted.keys(), case
        for rule, severity in wanted.items():
            assert got[rule].severity == pytest.approx(float(severity)), (rule, case)
            # No judge is the reason of a rating.
            address = "-" if rule == "poor_rating" else "address of rag"
            assert got[rule].raise_key == f"{rule}:{address}"


def test_without_a_primary_judge_only_two_others_can_disagree():
    assert reasons(None, judge(0.1, 1, name="nli"), feedback=thumbs(1)) == {}
    disagree = disagreement(None, judge(0.1, name="nli"), judge(0.9, name="zen"))
    assert (disagree.raise_key, disagree.judgment_id) == ("judges_disagree:-", None)


@pytest.mark.parametrize(
    ("one", "two", "flagged"), [(0.6, 0.2, True), (0.6, 0.21, False), (0.3, 0.7, True)]
)
def test_thresholds_are_compared_as_people_write_them(one, two, *, flagged):
    # 0.6 - 0.2 is 0.39999999999999997 in floats, 0.3 - 0.7 likewise in the other direction.
    assert ("judges_disagree" in reasons(judge(one), judge(two, name="nli"))) is flagged


def test_a_groundedness_that_is_the_threshold_but_for_float_noise_is_not_below_it():
    assert "low_groundedness" not in reasons(judge(0.1 + 0.2 + 0.2 - 1e-17))
    assert "low_groundedness" in reasons(judge(0.499999))


def test_low_groundedness_keeps_the_score_and_a_bare_label_has_none():
    assert reasons(judge(0.31))["low_groundedness"].auto_score == 0.31
    labelled = reasons(judge(label=Label.HALLUCINATED))["low_groundedness"]
    assert (labelled.auto_score, labelled.severity) == (None, 1.0)


def test_judges_of_opposite_labels_disagree_fully():
    bad = judge(label=Label.HALLUCINATED, name="nli")
    assert disagreement(judge(label=Label.GROUNDED), bad).severity == 1.0


def test_pairs_are_listed_widest_first():
    reason = disagreement(judge(0.1, 4), judge(0.6, 1, name="nli"), judge(0.9, name="zen"))
    pairs = [
        [pair[name] for name in ("judges", "measure", "delta")] for pair in reason.details["pairs"]
    ]
    assert pairs == [
        [["rag v1", "nli v1"], "quality", 3],
        [["rag v1", "zen v1"], "groundedness", 0.8],
        [["rag v1", "nli v1"], "groundedness", 0.5],
    ]
    assert reason.severity == 1.0


def test_a_failed_primary_judge_is_flagged_with_its_own_version():
    details = {"judge": "rag v2", "status": "unparsable", "cause": "truncated", "tokens": 512}
    assert failure(Status.UNPARSABLE, "truncated", 512) == Reason(
        "judge_failed", 0.5, judgment_id=3, fingerprint="address", details=details
    )


def failure(*failed):
    [reason] = raised(failed=FailedSignal(3, "rag", "rag v2", "address", *failed))
    return reason


def test_the_text_of_an_unknown_failure_stays_out_of_the_flag():
    reason = failure(Status.ERROR, "the answer said: call 555-1234")
    assert reason.details == {"judge": "rag v2", "status": "error"}


def test_query_types_are_always_reviewed_when_asked_for():
    thresholds = Thresholds(random_share=0, always_review=("sql",))
    [reason] = raised(thresholds, query_type="sql")
    assert reason.rule == "always_review"
    assert raised(thresholds) == []


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("low_groundedness", 1.1),
        ("low_quality", True),
        ("random_share", float("nan")),
        ("random_share", 10**400),
        ("feedback_gap", 0),
        ("disagree_quality", "two"),
        ("always_review", 3),
    ],
)
def test_a_threshold_outside_its_range_is_refused(setting, value):
    with pytest.raises(ValueError, match=setting):
        Thresholds(**{setting: value})


def test_a_disagreement_that_other_judges_have_taken_over_is_raised_anew():
    first, wider, others = (
        disagreement(judge(0.1), judge(nli, name="nli"), judge(zen, name="zen"))
        for nli, zen in ((0.9, 0.8), (0.9, 1.0), (0.2, 0.8))
    )
    stands = [open_flag(first)]
    # Rag and nli are apart still.
    assert reconcile([wider], stands, RULES.values()) == Reconciled()
    assert reconcile([others], stands, RULES.values()) == Reconciled((others,), (1,))


ANSWERS = [Signals("log", f"answer-{number}", "QA") for number in range(20_000)]


def sample(share, seed="judgeboard"):
    thresholds = Thresholds(random_share=share, random_seed=seed)
    return {answer.external_id for answer in ANSWERS if random_sample(answer, thresholds)}


def test_the_share_is_what_was_asked_for():
    # 400 expected, standard deviation 20: five of them.
    assert abs(len(sample(0.02)) - 400) < 100
    assert sample(0) == set()
    assert len(sample(1)) == len(ANSWERS)


def test_a_second_run_draws_the_same_and_a_larger_share_more():
    assert sample(0.02) == sample(0.02) < sample(0.05)
    assert sample(0.02) != sample(0.02, seed="another")


def test_the_draw_is_the_same_for_ever():
    # A change of these numbers would draw a second sample on every stored log.
    numbers = [round(sampling_number("judgeboard", "log", name), 6) for name in ("a", "b")]
    assert numbers == [0.684274, 0.912533]
    assert sampling_number("s", "a", "bc") != sampling_number("s", "ab", "c")


def test_its_probability_is_stored():
    reason = random_sample(ANSWERS[0], Thresholds(random_share=0.999))
    assert (reason.inclusion_probability, reason.severity) == (0.999, 0.0)
    assert reason.raise_key == "random_sample:-"


@pytest.mark.parametrize(
    ("groundedness", "severity"),
    [(0.5, 1.0), (0.6, 0.75), (0.4, 0.75), (0.9, None), (0.1, None), (1.0, None)],
)
def test_a_verdict_below_the_confidence_is_flagged_and_the_least_sure_comes_first(
    groundedness, severity
):
    reason = reasons(judge(groundedness), thresholds=UNCERTAIN).get("uncertain_verdict")
    assert (reason and round(reason.severity, 9)) == severity


def test_a_verdict_without_a_score_is_uncertain_and_no_verdict_is_not():
    without_score, with_score = (
        sentence_of(reasons(each, thresholds=UNCERTAIN)["uncertain_verdict"])
        for each in (judge(label=Label.GROUNDED), judge(0.7))
    )
    assert not re.search(r"\d", without_score)
    assert re.findall(r"[\d.]*\d", with_score) == ["0.7", "0.9"]
    assert reasons(judge(), thresholds=UNCERTAIN) == {}


def sentence_of(reason):
    return why(reason.rule, reason.details, reason.params)


def test_what_needs_no_review_leaves_the_queue_only_if_switched_on_and_a_random_sample_stays():
    stays, leaves = (
        Thresholds(uncertain_verdict=0.9, random_share=0.1, excuse_confident=each)
        for each in (False, True)
    )
    kept, sampled = (
        [reasons(judge(0.05), thresholds=each, external_id=str(number)) for number in range(500)]
        for each in (stays, leaves)
    )
    assert all("low_groundedness" in rules for rules in kept)
    assert {rule for rules in sampled for rule in rules} == {"random_sample"}
    assert 30 < sum(map(bool, sampled)) < 75
    unsure = reasons(judge(0.2), thresholds=leaves)
    assert {*unsure} >= {"low_groundedness", "uncertain_verdict"}


@pytest.mark.parametrize(
    "limits", [{"random_share": 0, "uncertain_verdict": 0.9}, {"random_share": 0.02}]
)
def test_without_a_sample_or_a_threshold_nothing_is_excused(limits):
    thresholds = Thresholds(excuse_confident=True, **limits)
    assert "low_groundedness" in reasons(judge(0.05), thresholds=thresholds)


def test_each_audited_judge_has_a_flag_of_its_own():
    marks = (
        SupremeMark(judge(), ("supreme v1",), 0.1),
        SupremeMark(judge(name="nli"), ("supreme v1",)),
    )
    reasons = raised(marks=marks)
    assert [(each.rule, each.fingerprint, each.inclusion_probability) for each in reasons] == [
        ("supreme_disagrees", "address of rag", 0.1),
        ("supreme_disagrees", "address of nli", 1.0),
    ]
    assert len({each.raise_key for each in reasons}) == 2
    assert raised() == []


@pytest.mark.parametrize(
    ("audited", "supreme", "parts"),
    [
        (judge(0.92, 4), ("supreme v1",), ("rag v1", "groundedness 0.92", "quality 4")),
        (
            judge(label=Label.GROUNDED, name="nli"),
            ("big v2", "supreme v1"),
            ("nli v1", "label grounded"),
        ),
    ],
    ids=["scores", "label"],
)
def test_the_sentence_names_both_and_what_was_said(audited, supreme, parts):
    sentence = sentence_of(marked(audited, *supreme))
    assert all(part in sentence for part in (*supreme, *parts))


SUPREME = (RULES["supreme_disagrees"],)


def marked(audited, *supreme):
    """Return why an answer is flagged on which supreme judges differ from an audited one."""
    (reason,) = raised(marks=[SupremeMark(audited, supreme)])
    return reason


def test_a_flag_that_names_a_judge_who_changed_its_mind_is_raised_anew():
    first = marked(judge(), "big v1", "supreme v1")
    fewer = marked(judge(), "big v1")
    more = marked(judge(), "big v1", "supreme v1", "third v1")
    stands = open_flag(first)
    assert reconcile([fewer], [stands], SUPREME) == Reconciled((fewer,), (1,))
    # What it says is still so.
    assert reconcile([more], [stands], SUPREME) == Reconciled()
    decided = replace(stands, state=FlagState.CONFIRMED)
    assert reconcile([fewer], [decided], SUPREME) == Reconciled()


def test_one_audited_judges_flag_outlives_anothers():
    stands = [
        RaisedFlag(1, "supreme_disagrees", "supreme_disagrees:address of rag", FlagState.OPEN),
        RaisedFlag(2, "supreme_disagrees", "supreme_disagrees:address of nli", FlagState.OPEN),
    ]
    reason = marked(judge(name="nli"), "supreme v1")
    assert reconcile([reason], stands, SUPREME) == Reconciled((), (1,))


@pytest.mark.parametrize("kind", ["audit", "repeats", "jury"])
def test_what_is_made_of_other_verdicts_is_no_second_opinion(kind):
    others = judge(0.9, name="other", kind=kind)
    assert "judges_disagree" not in reasons(judge(0.1), others)


def test_a_jury_counts_in_place_of_its_members_only_as_the_primary_judge():
    one, two = judge(0.1, name="one"), judge(0.9, name="two")
    jury, outside = judge(0.5, name="jury", kind="jury"), judge(1.0, name="outside")

    def disagreeing(*judges):
        return [each["judges"] for each in disagreement(*judges).details["pairs"]]

    assert disagreeing(one, two, jury) == [["one v1", "two v1"]]
    members = replace(one, in_primary_jury=True), replace(two, in_primary_jury=True)
    assert "judges_disagree" not in reasons(jury, *members)
    assert disagreeing(jury, *members, outside) == [["jury v1", "outside v1"]]
