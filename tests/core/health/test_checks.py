"""What each check says, at its edges."""

import re
from dataclasses import replace
from datetime import UTC, datetime
from itertools import product

import numpy as np
import pytest

from judgeboard.formats.output import to_plain
from judgeboard.health.record import GradedAnswers, JudgeRecord, LevelCounts, Repeats, State
from judgeboard.health.report import CHECKS, figure_words, health_notes, report_on
from judgeboard.judges.prompt import load_prompt
from judgeboard.methods.control_answers.run import CONTROL_KINDS
from judgeboard.stats.pair_orders import NONE, OrderVerdicts
from judgeboard.stats.proportions import RatioSums
from judgeboard.store.health import ControlScores, FeedbackScores, ScoredAnswers
from judgeboard.store.tables import StoredVersion

RAG = StoredVersion(
    id=1,
    name="rag",
    number=3,
    kind="rag",
    model="gpt-4o-mini",
    params={"temperature": 0},
    scale="",
    fingerprint="f" * 64,
    created_at=datetime(2026, 1, 1, tzinfo=UTC),
)
RECORDED = RAG.changed(name="GPT-4/CoT", kind="replay", model=None, params={})
BASELINE = RAG.changed(name="lexical", kind="lexical", model=None, params={})
JURY = RAG.changed(name="jury", kind="jury", model=None)
OK, WARNING, NOT_CONCLUSIVE, NOT_MEASURED = State
CONTROLS_OF = {"passage_order": "passages_reordered", "confidence": "hedges_removed"}


@pytest.fixture
def rng():
    return np.random.default_rng(4)


def check(name, version=RAG, **known):
    return CHECKS[name](JudgeRecord(version, **known))


def codes(result):
    return [each.code for each in result.notes]


def numbers(result, code):
    return next(each.values for each in result.notes if each.code == code)


def levels(*counts):
    return {"quality": LevelCounts(tuple(map(str, range(1, len(counts) + 1))), np.array(counts))}


def controls(name, before, after, measure="groundedness", groups=None):
    n = len(before)
    one, other = ({measure: np.array(each, dtype=float)} for each in (before, after))
    groups = np.arange(n) if groups is None else groups
    return {name: ControlScores(n, np.arange(100, 100 + n), one, other, groups)}


def control_check(name, *scores, **more):
    """The check that reads the scores of originals and of their control answers."""
    return check(name, controls=controls(CONTROLS_OF.get(name, name), *scores, **more))


def truncated(after, groups=None):
    """The check of cut answers with these scores, whose originals all have 3."""
    return control_check("truncated", [3] * len(after), after, "quality", groups=groups)


@pytest.mark.parametrize(
    ("name", "version"),
    [*product(CHECKS, [RAG]), *product(sorted(CHECKS.keys() - {"cost"}), [RECORDED])],
    ids=lambda each: each if isinstance(each, str) else each.kind,
)
def test_what_was_not_measured_says_so_and_names_a_command(name, version):
    result = check(name, version)
    assert (result.state, result.statistic.value) == (NOT_MEASURED, None)
    assert result.statistic.reason
    assert result.command.startswith("judgeboard ")
    assert result.name == name or CONTROL_KINDS[result.name].lowers
    assert to_plain(result)["statistic"]["value"] is None


def test_recorded_verdicts_have_no_cost_that_could_be_measured():
    result = check("cost", RECORDED)
    assert (result.applies, result.command) == (False, None)


def test_a_log_that_names_no_models_is_what_has_to_be_mended_not_the_table_of_models():
    for name in ("family", "self_enhancement", "weaker"):
        for generators in ({}, {None: 5}):
            assert "generator_model" in check(name, generators=generators).command
    assert "--families FILE" in check("family", generators={"house-model": 3}).command


def test_what_a_baseline_cannot_have_does_not_apply_and_counts_as_no_check():
    report = report_on(JudgeRecord(BASELINE, levels=levels(10, 10, 10, 10)))
    assert [(each.name, each.state, to_plain(each)["applies"]) for each in report.idle] == [
        (name, OK, False)
        for name in ("family", "self_enhancement", "weaker", "position", "self_consistency")
    ]
    [applies] = report.in_state(OK)
    assert (applies.name, to_plain(applies)["applies"]) == ("collapse", True)
    finding, _ = health_notes(report)
    assert (finding.code, finding.values["checks"]) == ("no_fault", 1)


def test_a_version_that_made_few_calls_is_named_as_the_reason():
    few = report_on(JudgeRecord(RAG, asked={"ok": 1, "unparsable": 0, "refused": 0, "error": 0}))
    (finding,) = health_notes(few)
    assert (finding.code, finding.values["calls"]) == ("health_unknown", 1)


def test_a_jury_is_no_model_and_is_asked_nothing_again():
    for name in ("family", "self_enhancement", "weaker", "self_consistency", "position"):
        result = check(name, JURY, generators={"gpt-4": 40})
        assert (result.applies, result.command) == (False, None)


def test_a_small_effect_has_three_digits(rng):
    result = control_check("passage_order", np.zeros(40), rng.normal(0.012, 0.01, 40))
    assert re.match(r"0\.0\d\d \[", figure_words(result))


# ---- family, size ------------------------------------------------------------------------------------------------


def test_a_judge_of_the_generators_family_is_warned_of_with_its_share():
    result = check(
        "family", generators={"gpt-4-0613": 30, "llama-2-7b-chat": 70, "house-model": 5, None: 2}
    )
    assert (result.state, result.statistic.value, result.statistic.n) == (WARNING, 0.3, 100)
    assert numbers(result, "family_partly_known") == {"answers": 7}
    other = check("family", generators={"llama-2-7b-chat": 70})
    assert (other.state, other.statistic.value) == (OK, 0)


def test_an_unknown_family_is_said_to_be_unknown_and_never_taken_for_another():
    house = RAG.changed(model="house-judge")
    unknown = check("family", house, generators={"gpt-4o": 9})
    assert numbers(unknown, "family_unknown") == {"model": "house-judge"}
    own = check("family", generators={"house-model": 9})
    assert numbers(own, "families_unknown") == {"models": ["house-model"]}
    assert own.state is NOT_MEASURED
    assert codes(check("family", generators={None: 9})) == ["generators_unknown"]


def test_a_judge_of_an_unknown_family_is_warned_of_answers_of_its_own_model():
    house = RAG.changed(model="house-judge")
    result = check("family", house, generators={"House-Judge": 30, "gpt-4o": 60, "house-model": 10})
    assert (result.state, result.statistic.value, result.statistic.n) == (WARNING, 0.3, 100)
    assert codes(result) == ["judges_own_answers"]


def test_a_recorded_judge_goes_by_its_name_and_a_baseline_has_no_family():
    assert check("family", RECORDED, generators={"gpt-3.5-turbo-0613": 9}).state is WARNING
    for name in ("family", "weaker", "self_enhancement"):
        assert check(name, BASELINE, generators={"gpt-4o": 9}).state is OK


def test_a_judge_known_to_be_smaller_is_warned_of():
    result = check("weaker", generators={"gpt-4o": 40, "gpt-4o-mini": 20, "house-model": 9})
    assert (result.state, result.statistic.n) == (WARNING, 60)
    assert result.statistic.value == pytest.approx(2 / 3)
    seven = RAG.changed(model="llama-2-7b-chat")
    states = {"llama-2-70b-chat": WARNING, "smollm2-135m": NOT_MEASURED, "qwen2.5-3b": OK}
    for model, state in states.items():
        assert check("weaker", seven, generators={model: 9}).state is state
    assert codes(check("weaker", generators={"llama-2-70b-chat": 9})) == ["sizes_unknown"]


def graded(judge, people, models, names, **more):
    n = len(judge)
    lengths = np.linspace(100, 900, n)
    return {"quality": GradedAnswers(judge, people, lengths, np.arange(n), models, names, **more)}


def test_own_family_is_held_against_people_not_against_other_scores(rng):
    models, people = rng.integers(0, 3, 300), rng.integers(1, 5, 300)
    names = ("gpt-4o", "llama-2-7b-chat", "house-model")

    def own_family(grades, **changed):
        changes = {name: replace(each, **changed) for name, each in grades.items()}
        return check("self_enhancement", graded=changes)

    better = people + (models == 0) * 0.8  # its family writes better, and people say so too
    assert own_family(graded(better + rng.normal(0, 0.4, 300), better, models, names)).state is OK
    kind = graded(people + rng.normal(0, 0.4, 300) + (models == 0) * 0.5, people, models, names)
    result = own_family(kind)
    assert result.state is WARNING
    assert result.statistic.low < 0.5 < result.statistic.high
    # A model of unknown family is on neither side.
    assert result.statistic.n == int((models < 2).sum())
    assert own_family(kind, same=False).state is NOT_MEASURED
    few = graded(people, people, np.where(np.arange(300) < 9, 0, 1), names)
    assert own_family(few).state is NOT_MEASURED
    of_sample = numbers(own_family(kind, graded=900), "only_sampled_grades")
    assert of_sample == {"graded": 900, "n": 300}
    of_few = codes(own_family(few, graded=900))
    assert of_few == ["few_graded_of_family", "only_sampled_grades"]


# ---- collapse ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("counts", "state"),
    [
        ((0, 0, 0, 29), NOT_MEASURED),
        ((0, 0, 0, 30), WARNING),
        ((2, 2, 2, 24), OK),  # 80 % is not above 80 %
        ((1, 2, 2, 25), WARNING),
        ((0, 0, 22, 78), OK),
        ((0, 12, 0, 88), WARNING),
    ],
)
def test_one_level_above_80_percent_of_30_is_a_collapse(counts, state):
    result = check("collapse", levels=levels(*counts))
    assert result.state is state
    if state is WARNING:
        assert codes(result) == ["scale_collapsed", "controls_would_show"]
        assert "test controls make" in result.command


def test_a_collapse_names_the_control_answers_only_until_they_are_judged():
    judged = controls("other_answer", [1] * 30, [0] * 30)
    result = check("collapse", levels=levels(0, 0, 0, 30), controls=judged)
    assert (result.state, result.command) == (WARNING, None)
    assert codes(result) == ["scale_collapsed", "controls_show"]


def test_a_judge_of_all_answers_has_no_more_of_them_to_judge():
    all_judged, not_all = (
        check("collapse", levels=levels(0, 0, 0, 20), generators={None: 20}, logged=logged)
        for logged in (20, 21)
    )
    assert (all_judged.command, codes(all_judged)) == (None, ["few_scores", "judged_all"])
    assert not_all.command.startswith("judgeboard judge")


def test_low_entropy_alone_is_a_collapse_of_a_long_scale():
    for counts, state in (
        ((*[0] * 8, 30, 70), WARNING),  # 70 % and 30 % of ten levels
        ((30, 70), OK),  # of two levels that is an ordinary log
        ((20, 80), OK),  # 80 % is not above 80 %
        ((19, 81), WARNING),  # a scale of two levels is not exempt
    ):
        assert check("collapse", levels=levels(*counts)).state is state


def test_the_scale_that_is_used_least_is_shown():
    both = levels(10, 10, 10, 10) | {"tone": LevelCounts(("1", "2", "3"), np.array([0, 0, 40]))}
    result = check("collapse", levels=both)
    assert result.state is WARNING
    assert numbers(result, "scale_collapsed") == {"measure": "tone", "level": "3", "entropy": 0}


# ---- controls ----------------------------------------------------------------------------------------------------


def test_blind_is_a_lower_bound_of_one_half_or_less_at_30_controls():
    assert truncated([1] * 29).state is NOT_MEASURED
    ties = truncated([3] * 30)
    assert (ties.state, ties.statistic.value, len(ties.response_ids)) == (WARNING, 0.5, 30)
    seen = truncated([1] * 30)
    assert (seen.state, seen.statistic.value, seen.response_ids) == (OK, 1.0, ())
    # 20 of 30 lower: the point says 0.67, the bound 0.49
    doubtful = truncated([1] * 20 + [4] * 10)
    assert (doubtful.state, doubtful.statistic.value) == (WARNING, pytest.approx(2 / 3))


def test_controls_of_one_evidence_do_not_make_up_for_each_other():
    after = [1] * 24 + [4] * 6
    assert truncated(after).state is OK
    assert truncated(after, groups=np.arange(30) // 6).state is WARNING


def test_a_known_bad_control_is_read_by_the_score_that_it_must_lower():
    n, quality = 40, {"quality": np.full(40, 4.0)}
    before, after = ({"groundedness": np.full(n, each)} | quality for each in (0.9, 0.1))
    both = ControlScores(n, np.arange(n), before, after, np.arange(n))
    assert check("passages_removed", controls={"passages_removed": both}).state is OK
    assert check("truncated", controls={"truncated": both}).state is WARNING
    # A judge without quality is read by what it gives.
    assert control_check("truncated", [0.9] * n, [0.1] * n).state is OK
    assert control_check("truncated", [0.9] * n, [np.nan] * n).state is NOT_MEASURED


def test_a_neutral_control_that_moves_the_score_sways_the_judge(rng):
    before = rng.random(40)
    moved = control_check("passage_order", before, before - 0.1)
    value = pytest.approx(-0.1)
    assert (moved.state, moved.statistic.value, len(moved.response_ids)) == (WARNING, value, 40)
    still = control_check("passage_order", before, before)
    assert (still.state, still.statistic.value, still.response_ids) == (OK, 0.0, ())
    assert control_check("confidence", before, before + rng.normal(0, 0.2, 40)).state is OK
    few = control_check("confidence", before[:29], before[:29] - 0.5)
    assert few.state is NOT_MEASURED
    assert numbers(few, "few_control_verdicts")["n"] == 29


def test_the_score_that_is_moved_most_clearly_is_shown(rng):
    n = 40
    before = {"groundedness": rng.random(n), "quality": rng.integers(1, 5, n).astype(float)}
    after = before | {"quality": before["quality"] - (rng.random(n) < 0.6)}
    made = {"passages_reordered": ControlScores(n, np.arange(n), before, after, np.arange(n))}
    result = check("passage_order", controls=made)
    assert result.state is WARNING
    assert numbers(result, "control_scored_differently")["measure"] == "quality"


# ---- verbosity ---------------------------------------------------------------------------------------------------


def wordy(per_character=0.002):
    """Scores that follow the grade, and the length of the answer as told; the better answers are longer."""
    rng, n = np.random.default_rng(6), 300
    grade = rng.integers(1, 5, n).astype(float)
    length = 200 * grade + rng.normal(0, 80, n)
    quality = grade + per_character * length + rng.normal(0, 0.3, n)
    people = GradedAnswers(quality, grade, length, np.arange(n), np.zeros(n, int), ("",))
    scored = ScoredAnswers({"quality": quality}, length, np.arange(n))
    return scored, {"quality": people}, grade, length


@pytest.mark.parametrize(
    ("per_character", "state", "code", "within", "codes_within"),
    [
        (0, OK, "longer_better", OK, ["length_hardly_matters"]),
        # Longer answers score higher only because people find them better.
        (-0.002, OK, "longer_better", WARNING, ["prefers_shorter", "length_or_type"]),
        # A rise between 95 and 99 %: the same grades give one conclusion.
        (0.00035, NOT_CONCLUSIVE, "longer_unclear", NOT_CONCLUSIVE, ["may_prefer_longer"]),
        (0.002, WARNING, "longer_higher", WARNING, ["prefers_longer", "length_or_type"]),
    ],
)
def test_the_length_counts_among_answers_that_people_grade_alike(
    per_character, state, code, within, codes_within
):
    scored, people, _, _ = wordy(per_character)
    whole = check("verbosity", scored=scored, graded=people)
    assert whole.state is state
    assert code in codes(whole)
    equal = check("verbosity_at_equal_grades", scored=scored, graded=people)
    # Judging or grading more does not mend it.
    assert (equal.state, codes(equal), equal.command) == (within, codes_within, None)
    # Nobody has graded, or another score alone: it cannot be told.
    for graded in ({}, {"groundedness": people["quality"]}):
        assert check("verbosity", scored=scored, graded=graded).state is WARNING


def test_the_score_that_follows_the_length_most_is_shown_and_few_answers_show_nothing(rng):
    scored, people, _, _ = wordy(0)
    both = {**people, "groundedness": wordy(-0.002)[1]["quality"]}
    result = check("verbosity_at_equal_grades", scored=scored, graded=both)
    assert result.state is WARNING
    assert numbers(result, "prefers_shorter") == {"measure": "groundedness"}
    few = GradedAnswers(
        rng.normal(size=40),
        np.ones(40),
        rng.normal(size=40),
        np.arange(40),
        np.zeros(40, int),
        ("",),
    )
    unsure = check("verbosity_at_equal_grades", graded={"quality": few})
    # The interval has a medium influence.
    assert (unsure.state, codes(unsure)) == (NOT_CONCLUSIVE, ["length_unclear"])
    same = {"quality": replace(people["quality"], judge=np.ones(300))}
    constant = check("verbosity_at_equal_grades", scored=scored, graded=same)
    assert codes(constant) == ["length_or_score_constant"]


def test_the_rise_for_100_characters_stands_beside_the_correlation(rng):
    length = rng.gamma(4, 100, 400)

    def verbosity(quality, lengths=length):
        scored = ScoredAnswers({"quality": quality}, lengths, np.arange(400))
        return check("verbosity", scored=scored)

    rises = 0.0005 * length + rng.normal(0, 0.2, 400)
    also = verbosity(rises).also["per_100_characters"]
    assert also.low < 0.05 < also.high
    assert verbosity(np.full(400, 4.0)).state is NOT_MEASURED
    prefers_short = verbosity(-rises)
    # Longer answers may be worse, or the judge may punish length.
    assert prefers_short.state is NOT_CONCLUSIVE
    assert codes(prefers_short) == ["length_correlation", "change_with_length", "longer_lower"]
    # The slope may be 0.
    assert codes(verbosity(rng.normal(0, 0.2, 400))) == ["length_correlation"]
    # No two differ by 100 characters.
    assert "change_with_length" not in codes(verbosity(rises, length / length.max() * 5))


def test_shorter_answers_that_score_higher_say_what_grades_show(rng):
    """Grades that leave no influence of the length are not asked for again."""
    _, people, grade, length = wordy(0)
    falls = ScoredAnswers({"quality": 4 - grade - 0.004 * length}, length, np.arange(300))
    alike = replace(people["quality"], judge=rng.normal(size=300))
    punished = replace(alike, judge=falls.scores["quality"])
    for quality, state, code in (
        (alike, OK, "small_at_equal_grades"),
        (punished, NOT_CONCLUSIVE, "at_equal_grades"),
    ):
        result = check("verbosity", scored=falls, graded={"quality": quality})
        assert (result.state, codes(result)[-1]) == (state, code)
    noisy = replace(punished, judge=punished.judge + rng.normal(size=300))
    both = check("verbosity", scored=falls, graded={"quality": alike, "groundedness": noisy})
    assert numbers(both, "others_follow_length") == {"measures": ["groundedness"]}


# ---- pairs, repeats ----------------------------------------------------------------------------------------------


def pairs(first, last, consistent):
    ab = np.repeat([0, 1, 0], [first, last, consistent])
    return OrderVerdicts(ab, np.repeat([1, 0, 0], [first, last, consistent]))


def position(*counts):
    return check("position", pairs={"overall": pairs(*counts)})


def test_a_pull_to_either_place_is_a_fault_and_self_consistent_verdicts_have_none():
    first = position(60, 20, 100)
    assert (first.state, codes(first)) == (WARNING, ["prefers_first"])
    assert codes(position(20, 60, 100)) == ["prefers_last"]
    assert position(30, 32, 100).state is OK
    assert position(0, 0, 40).statistic.value == 0.5
    assert position(10, 2, 17).state is NOT_MEASURED


def test_a_judge_asked_in_one_order_has_no_position():
    one = OrderVerdicts(np.zeros(50, dtype=int), np.full(50, NONE), one_order=True)
    result = check("position", RECORDED, pairs={"overall": one})
    assert (result.state, codes(result)) == (NOT_MEASURED, ["compared_in_one_order"])
    rag = position(1, 1, 1)
    assert codes(rag) == ["judges_single_answers"]
    assert rag.command.endswith("--model gpt-4o-mini && judgeboard test health pairwise")
    half = OrderVerdicts(one.ab, np.where(np.arange(50) < 20, 0, NONE))
    of_half = check("position", RAG.changed(kind="pairwise"), pairs={"overall": half})
    assert numbers(of_half, "few_pairs_in_both_orders")["n"] == 20


def test_the_aspect_with_the_clearest_pull_is_shown():
    result = check("position", pairs={"style": pairs(60, 20, 100), "overall": pairs(30, 30, 100)})
    assert numbers(result, "prefers_first")["aspect"] == "style"


def repeated(same, groups=None, version=RAG):
    ids = np.arange(len(same))
    repeats = Repeats(same, ids, ids if groups is None else groups)
    return check("self_consistency", version, repeats=repeats)


def test_unsteady_repeats_are_warned_of_with_the_temperature():
    same = np.arange(100) >= 30
    result = repeated(same)
    assert (result.state, result.statistic.value, result.statistic.n) == (WARNING, 0.7, 100)
    assert result.response_ids == tuple(range(30))
    assert codes(result) == ["equal_repeats", "temperature_zero", "single_verdict_unreliable"]
    warm = {"temperature": 0.7}
    assert numbers(repeated(same, version=RAG.changed(params=warm)), "temperature") == warm
    assert repeated(same[-60:]).state is OK
    assert repeated(same[:9]).state is NOT_MEASURED


def test_repeats_on_the_same_evidence_are_no_independent_ones():
    same = np.arange(100) >= 20
    alone, together = repeated(same).statistic, repeated(same, np.arange(100) // 10).statistic
    assert (alone.method, together.unit) == ("Wilson", "evidence group")
    assert together.low < alone.low


# ---- users, unusable, cost ---------------------------------------------------------------------------------------


def feedback(score, down):
    return FeedbackScores({"groundedness": score}, down, np.arange(len(score)))


def users(score, down):
    return check("user_feedback", feedback=feedback(score, down))


def test_a_judge_that_sees_nothing_of_what_users_see_is_warned_of(rng):
    down = rng.random(600) < 0.4
    follows = users(rng.normal(0, 1, 600) - down, down)
    assert follows.state is OK
    assert 0.7 < follows.statistic.value < 0.85
    assert users(rng.normal(0, 1, 600), down).state is WARNING
    assert users(rng.normal(0, 1, 600) + down, down).state is WARNING
    assert users(rng.normal(0, 1, 40), np.arange(40) < 9).state is NOT_MEASURED
    small = users(rng.normal(0, 1, 30), np.arange(30) < 12)
    # Too few to accuse it, or to call it sound.
    assert (small.state, codes(small)) == (NOT_CONCLUSIVE, ["users_unclear"])
    few = feedback(rng.normal(0, 1, 30), np.arange(30) < 12)
    unclear = report_on(JudgeRecord(BASELINE, feedback=few))
    assert health_notes(unclear)[0].code == "no_fault"


def test_unusable_verdicts_are_counted_by_what_they_are():
    result = check("unusable", asked={"ok": 800, "unparsable": 150, "refused": 30, "error": 20})
    assert (result.state, result.statistic.value) == (WARNING, 0.2)
    kinds = numbers(result, "unusable_kinds")["kinds"]
    assert kinds == ["error 20", "refused 30", "unparsable 150"]
    assert check("unusable", asked={"ok": 95, "error": 5}).state is OK
    assert check("unusable", asked={"error": 9}).state is NOT_MEASURED


def test_the_share_of_mended_replies_is_named_and_warns_of_nothing():
    result = check("unusable", asked={"ok": 97, "error": 3}, mended=12)
    assert (result.state, result.also["mended"].value) == (OK, 0.12)
    assert numbers(result, "mended") == {"share": 0.12}
    assert not check("unusable", asked={"ok": 97, "error": 3}).also


def test_a_usable_reply_without_groundedness_is_named_beside_unusable_replies():
    never = np.full(3, np.nan)
    result, of_never = (
        check("unusable", asked={"ok": 12}, scored=ScoredAnswers(scores, np.ones(3), np.arange(3)))
        for scores in (
            {"groundedness": np.array([0.2, 0.9, np.nan]), "label": never},
            {"groundedness": never, "label": never},
        )
    )
    assert numbers(result, "without_groundedness") == {"n": 1, "judged": 3}
    assert codes(of_never) == ["all_usable"]


@pytest.mark.parametrize(
    ("share", "state", "code"),
    [
        (0.3, OK, "cost"),
        (0.5, OK, "cost_above_usual"),
        (1.2, WARNING, "cost_above_answers"),
    ],
)
def test_cost_above_the_budget_is_noted_and_above_the_answers_own_warned_of(share, state, code):
    n = 50.0
    result = check("cost", costs=RatioSums(50, share * n, n, share**2 * n, n, share * n))
    assert (result.state, codes(result)) == (state, [code])
    assert result.statistic.value == pytest.approx(share)


# ---- commands ----------------------------------------------------------------------------------------------------


def test_a_command_names_the_judge_as_it_was_asked():
    named = RAG.changed(
        name="my judge", params={"domain": "law & order", "max_output": 64, "claims": True}
    )

    def command(version, name="truncated"):
        return check(name, version).command

    assert command(named) == (
        "judgeboard test controls make --kinds truncated && "
        "judgeboard test controls judge --kinds truncated 'my judge' --judge rag "
        "--model gpt-4o-mini --domain 'law & order' --max-output 64 --claims"
    )
    assert "--kinds truncated --judge rag" in command(RAG)
    assert "--prompt" not in command(RAG.changed(prompt=load_prompt("rag").text))
    assert "--prompt FILE" in command(RAG.changed(prompt="My own prompt"))
    assert "--judge" not in (command(RECORDED) or "")
    assert codes(check("truncated", RECORDED)) == ["no_control_answers", "import_control_verdicts"]
    assert command(JURY, "collapse") == "judgeboard compare judges A B C"
    members = {"members": ["0123456789abcdef", "fedcba9876543210"]}
    combine = command(JURY.changed(params=members), "collapse")
    assert combine == "judgeboard compare judges 0123456789ab fedcba987654"
    made = command(JURY.changed(name="three"))
    # That would measure another judge.
    assert "--judge rag" not in made
    assert made.endswith("&& judgeboard compare judges A B C --name three")
    repeats = JURY.changed(kind="repeats", params={"members": ["f00"]})
    assert command(repeats) == "judgeboard test health f00"
    compared = command(RAG.changed(name="pairwise", kind="pairwise"))
    assert compared.endswith("&& judgeboard compare controls --model gpt-4o-mini")
    supreme = RAG.changed(name="supreme", kind="audit", params={"approach": 1})
    audited = command(supreme, "injected")
    assert audited.endswith("&& judgeboard test audit JUDGE --controls --model gpt-4o-mini")
