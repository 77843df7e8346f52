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
    one, other = np.array(before, dtype=np.float64), np.array(after, dtype=np.float64)
    made = ControlScores(n, np.arange(100, 100 + n), {measure: one}, {measure: other}, np.arange(n))
    return {name: made if groups is None else replace(made, groups=np.array(groups))}


@pytest.mark.parametrize(
    ("name", "version"),
    [*product(CHECKS, [RAG]), *product(sorted(CHECKS.keys() - {"cost"}), [RECORDED])],
    ids=lambda each: each if isinstance(each, str) else each.kind,
)
def test_what_was_not_measured_says_so_and_names_a_command(name, version):
    result = check(name, version)
    assert result.state is State.NOT_MEASURED
    assert result.statistic.value is None
    assert result.statistic.reason
    assert (result.command or "").startswith("judgeboard ")
    assert result.name == name or CONTROL_KINDS[result.name].lowers
    assert to_plain(result)["statistic"]["value"] is None


def test_recorded_verdicts_have_no_cost_that_could_be_measured():
    result = check("cost", RECORDED)
    assert not result.applies
    assert result.command is None


def test_a_log_that_names_no_models_is_what_has_to_be_mended_not_the_table_of_models():
    for name in ("family", "self_enhancement", "weaker"):
        for generators in ({}, {None: 5}):
            result = check(name, generators=generators)
            assert "generator_model" in (result.command or "")
    assert "--families FILE" in (check("family", generators={"house-model": 3}).command or "")


def test_what_a_baseline_cannot_have_does_not_apply_and_counts_as_no_check():
    record = JudgeRecord(BASELINE, levels=levels(10, 10, 10, 10))
    report = report_on(record)
    assert [each.name for each in report.idle] == [
        *("family", "self_enhancement", "weaker", "position", "self_consistency")
    ]
    assert all(each.state is State.OK for each in report.idle)
    assert all(to_plain(each)["applies"] is False for each in report.idle)
    assert all(to_plain(each)["applies"] for each in report.in_state(State.OK))
    assert [each.name for each in report.in_state(State.OK)] == ["collapse"]
    finding, _ = health_notes(report)
    assert (finding.code, finding.values["checks"]) == ("no_fault", 1)


def test_a_version_that_made_few_calls_is_named_as_the_reason():
    few = report_on(JudgeRecord(RAG, asked={"ok": 1, "unparsable": 0, "refused": 0, "error": 0}))
    (finding,) = health_notes(few)
    assert (finding.code, finding.values["calls"]) == ("health_unknown", 1)


def test_a_jury_is_no_model_and_is_asked_nothing_again():
    jury = RAG.changed(name="jury", kind="jury", model=None)
    for name in ("family", "self_enhancement", "weaker", "self_consistency", "position"):
        result = check(name, jury, generators={"gpt-4": 40})
        assert not result.applies
        assert result.command is None


def test_a_small_effect_has_three_digits():
    rng = np.random.default_rng(1)
    result = check(
        "passage_order",
        controls=controls("passages_reordered", np.zeros(40), rng.normal(0.012, 0.01, 40)),
    )
    assert re.match(r"0\.0\d\d \[", figure_words(result) or "")


# ---- family, size ------------------------------------------------------------------------------------------------


def test_a_judge_of_the_generators_family_is_warned_of_with_its_share():
    result = check(
        "family", generators={"gpt-4-0613": 30, "llama-2-7b-chat": 70, "house-model": 5, None: 2}
    )
    assert (result.state, result.statistic.value, result.statistic.n) == (State.WARNING, 0.3, 100)
    assert numbers(result, "family_partly_known") == {"answers": 7}
    other = check("family", generators={"llama-2-7b-chat": 70})
    assert (other.state, other.statistic.value) == (State.OK, 0)


def test_an_unknown_family_is_said_to_be_unknown_and_never_taken_for_another():
    house = RAG.changed(model="house-judge")
    unknown = check("family", house, generators={"gpt-4o": 9})
    assert numbers(unknown, "family_unknown") == {"model": "house-judge"}
    assert numbers(check("family", generators={"house-model": 9}), "families_unknown") == {
        "models": ["house-model"]
    }
    assert codes(check("family", generators={None: 9})) == ["generators_unknown"]
    assert check("family", generators={"house-model": 9}).state is State.NOT_MEASURED


def test_a_judge_of_an_unknown_family_is_warned_of_answers_of_its_own_model():
    house = RAG.changed(model="house-judge")
    result = check("family", house, generators={"House-Judge": 30, "gpt-4o": 60, "house-model": 10})
    assert (result.state, result.statistic.value, result.statistic.n) == (State.WARNING, 0.3, 100)
    assert codes(result) == ["judges_own_answers"]


def test_a_recorded_judge_goes_by_its_name_and_a_baseline_has_no_family():
    assert check("family", RECORDED, generators={"gpt-3.5-turbo-0613": 9}).state is State.WARNING
    for name in ("family", "weaker", "self_enhancement"):
        assert check(name, BASELINE, generators={"gpt-4o": 9}).state is State.OK


def test_a_judge_known_to_be_smaller_is_warned_of():
    result = check("weaker", generators={"gpt-4o": 40, "gpt-4o-mini": 20, "house-model": 9})
    assert (result.state, result.statistic.n) == (State.WARNING, 60)
    assert result.statistic.value == pytest.approx(2 / 3)
    seven = RAG.changed(model="llama-2-7b-chat")
    assert check("weaker", seven, generators={"llama-2-70b-chat": 9}).state is State.WARNING
    assert check("weaker", seven, generators={"smollm2-135m": 9}).state is State.NOT_MEASURED
    assert check("weaker", seven, generators={"qwen2.5-3b": 9}).state is State.OK
    assert codes(check("weaker", generators={"llama-2-70b-chat": 9})) == ["sizes_unknown"]


def graded(judge, people, models, names, **more):
    n = len(judge)
    lengths = np.linspace(100, 900, n)
    columns = (
        np.array(judge, dtype=float),
        np.array(people, dtype=float),
        lengths,
        np.arange(n),
        np.array(models),
    )
    return {"quality": GradedAnswers(*columns, names, **more)}


def test_own_family_is_held_against_people_not_against_other_scores():
    rng = np.random.default_rng(3)
    models, people = rng.integers(0, 3, 300), rng.integers(1, 5, 300)
    names = ("gpt-4o", "llama-2-7b-chat", "house-model")
    better = people + (models == 0) * 0.8  # its family writes better, and people say so too
    fair = graded(better + rng.normal(0, 0.4, 300), better, models, names)
    assert check("self_enhancement", graded=fair).state is State.OK
    kind = graded(people + rng.normal(0, 0.4, 300) + (models == 0) * 0.5, people, models, names)
    result = check("self_enhancement", graded=kind)
    assert result.state is State.WARNING
    assert result.statistic.low < 0.5 < result.statistic.high
    # A model of unknown family is on neither side.
    assert result.statistic.n == int((models < 2).sum())
    other_scale = {name: replace(each, same=False) for name, each in kind.items()}
    assert check("self_enhancement", graded=other_scale).state is State.NOT_MEASURED
    few = graded(people, people, np.where(np.arange(300) < 9, 0, 1), names)
    assert check("self_enhancement", graded=few).state is State.NOT_MEASURED
    sampled = {name: replace(each, graded=900) for name, each in kind.items()}
    of_sample = numbers(check("self_enhancement", graded=sampled), "only_sampled_grades")
    assert of_sample == {"graded": 900, "n": 300}
    chosen = {name: replace(each, graded=900) for name, each in few.items()}
    assert codes(check("self_enhancement", graded=chosen)) == [
        "few_graded_of_family",
        "only_sampled_grades",
    ]


# ---- collapse ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("counts", "state"),
    [
        ((0, 0, 0, 29), State.NOT_MEASURED),
        ((0, 0, 0, 30), State.WARNING),
        ((2, 2, 2, 24), State.OK),  # 80 % is not above 80 %
        ((1, 2, 2, 25), State.WARNING),
        ((0, 0, 22, 78), State.OK),
        ((0, 12, 0, 88), State.WARNING),
    ],
)
def test_one_level_above_80_percent_of_30_is_a_collapse(counts, state):
    result = check("collapse", levels=levels(*counts))
    assert result.state is state
    if state is State.WARNING:
        assert codes(result) == ["scale_collapsed", "controls_would_show"]
        assert "test controls make" in (result.command or "")


def test_a_collapse_names_the_control_answers_only_until_they_are_judged():
    judged = controls("other_answer", [1] * 30, [0] * 30)
    result = check("collapse", levels=levels(0, 0, 0, 30), controls=judged)
    assert result.state is State.WARNING
    assert result.command is None
    assert codes(result) == ["scale_collapsed", "controls_show"]


def test_a_judge_of_all_answers_has_no_more_of_them_to_judge():
    few = levels(0, 0, 0, 20)
    all_judged = check("collapse", levels=few, generators={None: 20}, logged=20)
    assert all_judged.command is None
    assert codes(all_judged) == ["few_scores", "judged_all"]
    assert (
        check("collapse", levels=few, generators={None: 20}, logged=21).command or ""
    ).startswith("judgeboard judge")


def test_low_entropy_alone_is_a_collapse_of_a_long_scale():
    long = levels(*[0] * 8, 30, 70)
    # 70 % and 30 % of ten levels.
    assert check("collapse", levels=long).state is State.WARNING
    # Of two levels that is an ordinary log.
    assert check("collapse", levels=levels(30, 70)).state is State.OK
    # 80 % is not above 80 %.
    assert check("collapse", levels=levels(20, 80)).state is State.OK
    # A scale of two levels is not exempt.
    assert check("collapse", levels=levels(19, 81)).state is State.WARNING


def test_the_scale_that_is_used_least_is_shown():
    both = levels(10, 10, 10, 10) | {"tone": LevelCounts(("1", "2", "3"), np.array([0, 0, 40]))}
    result = check("collapse", levels=both)
    assert result.state is State.WARNING
    assert numbers(result, "scale_collapsed") == {"measure": "tone", "level": "3", "entropy": 0}


# ---- controls ----------------------------------------------------------------------------------------------------


def test_blind_is_a_lower_bound_of_one_half_or_less_at_30_controls():
    bad = controls("truncated", [3.0] * 29, [1.0] * 29, "quality")
    assert check("truncated", controls=bad).state is State.NOT_MEASURED
    ties = check("truncated", controls=controls("truncated", [3.0] * 30, [3.0] * 30, "quality"))
    assert (ties.state, ties.statistic.value) == (State.WARNING, 0.5)
    assert len(ties.response_ids) == 30
    seen = check("truncated", controls=controls("truncated", [3.0] * 30, [1.0] * 30, "quality"))
    assert (seen.state, seen.statistic.value, seen.response_ids) == (State.OK, 1.0, ())
    # 20 of 30 lower: the point says 0.67, the bound 0.49
    doubtful = check(
        "truncated", controls=controls("truncated", [3.0] * 30, [1.0] * 20 + [4.0] * 10, "quality")
    )
    assert doubtful.state is State.WARNING
    assert doubtful.statistic.value == pytest.approx(2 / 3)


def test_controls_of_one_evidence_do_not_make_up_for_each_other():
    many = controls("truncated", [3.0] * 30, [1.0] * 24 + [4.0] * 6, "quality")
    assert check("truncated", controls=many).state is State.OK
    few = controls(
        "truncated", [3.0] * 30, [1.0] * 24 + [4.0] * 6, "quality", groups=np.arange(30) // 6
    )
    assert check("truncated", controls=few).state is State.WARNING


def test_a_known_bad_control_is_read_by_the_score_that_it_must_lower():
    n = 40
    both = ControlScores(
        n,
        np.arange(n),
        {"groundedness": np.full(n, 0.9), "quality": np.full(n, 4.0)},
        {"groundedness": np.full(n, 0.1), "quality": np.full(n, 4.0)},
        np.arange(n),
    )
    assert check("passages_removed", controls={"passages_removed": both}).state is State.OK
    assert check("truncated", controls={"truncated": both}).state is State.WARNING
    only = controls("truncated", np.full(n, 0.9), np.full(n, 0.1))
    # A judge without quality is read by what it gives.
    assert check("truncated", controls=only).state is State.OK
    unmeasured = controls("truncated", np.full(n, 0.9), np.full(n, np.nan))
    assert check("truncated", controls=unmeasured).state is State.NOT_MEASURED


def test_a_neutral_control_that_moves_the_score_sways_the_judge():
    rng = np.random.default_rng(4)
    before = rng.random(40)
    moved = check("passage_order", controls=controls("passages_reordered", before, before - 0.1))
    assert (moved.state, moved.statistic.value, len(moved.response_ids)) == (
        State.WARNING,
        pytest.approx(-0.1),
        40,
    )
    still = check("passage_order", controls=controls("passages_reordered", before, before))
    assert (still.state, still.statistic.value, still.response_ids) == (State.OK, 0.0, ())
    noise = check(
        "confidence", controls=controls("hedges_removed", before, before + rng.normal(0, 0.2, 40))
    )
    assert noise.state is State.OK
    few = check("confidence", controls=controls("hedges_removed", before[:29], before[:29] - 0.5))
    assert few.state is State.NOT_MEASURED
    assert numbers(few, "few_control_verdicts")["n"] == 29


def test_the_score_that_is_moved_most_clearly_is_shown():
    rng = np.random.default_rng(5)
    n = 40
    before = {"groundedness": rng.random(n), "quality": rng.integers(1, 5, n).astype(float)}
    after = {
        "groundedness": before["groundedness"],
        "quality": before["quality"] - (rng.random(n) < 0.6),
    }
    made = {"passages_reordered": ControlScores(n, np.arange(n), before, after, np.arange(n))}
    result = check("passage_order", controls=made)
    assert result.state is State.WARNING
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
    ("per_character", "of_all", "within"),
    [
        (0, (State.OK, "longer_better"), (State.OK, ["length_hardly_matters"])),
        # Longer answers score higher only because people find them better.
        (
            -0.002,
            (State.OK, "longer_better"),
            (State.WARNING, ["prefers_shorter", "length_or_type"]),
        ),
        # A rise between 95 and 99 %: the same grades give one conclusion.
        (
            0.00035,
            (State.NOT_CONCLUSIVE, "longer_unclear"),
            (State.NOT_CONCLUSIVE, ["may_prefer_longer"]),
        ),
        (
            0.002,
            (State.WARNING, "longer_higher"),
            (State.WARNING, ["prefers_longer", "length_or_type"]),
        ),
    ],
)
def test_the_length_counts_among_answers_that_people_grade_alike(per_character, of_all, within):
    scored, people, _, _ = wordy(per_character)
    whole = check("verbosity", scored=scored, graded=people)
    assert (whole.state, of_all[1] in codes(whole)) == (of_all[0], True)
    equal = check("verbosity_at_equal_grades", scored=scored, graded=people)
    assert (equal.state, codes(equal)) == within
    # Judging or grading more does not mend it.
    assert equal.command is None
    # Nobody has graded, or another score alone: it cannot be told.
    for graded in ({}, {"groundedness": people["quality"]}):
        assert check("verbosity", scored=scored, graded=graded).state is State.WARNING


def test_the_score_that_follows_the_length_most_is_shown_and_few_answers_show_nothing():
    scored, people, _, _ = wordy(0)
    both = {**people, "groundedness": wordy(-0.002)[1]["quality"]}
    result = check("verbosity_at_equal_grades", scored=scored, graded=both)
    assert result.state is State.WARNING
    assert numbers(result, "prefers_shorter") == {"measure": "groundedness"}
    rng = np.random.default_rng(3)
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
    assert unsure.state is State.NOT_CONCLUSIVE
    assert codes(unsure) == ["length_unclear"]
    same = {"quality": replace(people["quality"], judge=np.ones(300))}
    constant = check("verbosity_at_equal_grades", scored=scored, graded=same)
    assert codes(constant) == ["length_or_score_constant"]


def test_the_rise_for_100_characters_stands_beside_the_correlation():
    rng = np.random.default_rng(7)
    length = rng.gamma(4, 100, 400)
    scored = ScoredAnswers(
        {"quality": 0.0005 * length + rng.normal(0, 0.2, 400)}, length, np.arange(400)
    )
    also = check("verbosity", scored=scored).also["per_100_characters"]
    assert also.low < 0.05 < also.high
    assert (
        check("verbosity", scored=replace(scored, scores={"quality": np.full(400, 4.0)})).state
        is State.NOT_MEASURED
    )
    shorter = replace(scored, scores={"quality": -scored.scores["quality"]})
    prefers_short = check("verbosity", scored=shorter)
    # Longer answers may be worse, or the judge may punish length.
    assert prefers_short.state is State.NOT_CONCLUSIVE
    assert codes(prefers_short) == ["length_correlation", "change_with_length", "longer_lower"]
    unrelated = replace(scored, scores={"quality": rng.normal(0, 0.2, 400)})
    # The slope may be 0.
    assert codes(check("verbosity", scored=unrelated)) == ["length_correlation"]
    close = replace(scored, lengths=length / length.max() * 5)
    # No two differ by 100 characters.
    assert "change_with_length" not in codes(check("verbosity", scored=close))


def test_shorter_answers_that_score_higher_say_what_grades_show():
    """Grades that leave no influence of the length are not asked for again."""
    _, people, grade, length = wordy(0)
    falls = ScoredAnswers({"quality": 4 - grade - 0.004 * length}, length, np.arange(300))
    rng = np.random.default_rng(5)
    alike = replace(people["quality"], judge=rng.normal(size=300))
    result = check("verbosity", scored=falls, graded={"quality": alike})
    assert result.state is State.OK
    assert codes(result)[-1] == "small_at_equal_grades"
    punished = replace(alike, judge=falls.scores["quality"])
    result = check("verbosity", scored=falls, graded={"quality": punished})
    assert result.state is State.NOT_CONCLUSIVE
    assert codes(result)[-1] == "at_equal_grades"
    noisy = replace(punished, judge=punished.judge + rng.normal(size=300))
    both = check("verbosity", scored=falls, graded={"quality": alike, "groundedness": noisy})
    assert numbers(both, "others_follow_length") == {"measures": ["groundedness"]}


# ---- pairs, repeats ----------------------------------------------------------------------------------------------


def pairs(first, last, consistent):
    return OrderVerdicts(
        np.array([0] * first + [1] * last + [0] * consistent),
        np.array([1] * first + [0] * last + [0] * consistent),
    )


def test_a_pull_to_either_place_is_a_fault_and_self_consistent_verdicts_have_none():
    first = check("position", pairs={"overall": pairs(60, 20, 100)})
    assert first.state is State.WARNING
    assert codes(first) == ["prefers_first"]
    assert codes(check("position", pairs={"overall": pairs(20, 60, 100)})) == ["prefers_last"]
    assert check("position", pairs={"overall": pairs(30, 32, 100)}).state is State.OK
    assert check("position", pairs={"overall": pairs(0, 0, 40)}).statistic.value == 0.5
    assert check("position", pairs={"overall": pairs(10, 2, 17)}).state is State.NOT_MEASURED


def test_a_judge_asked_in_one_order_has_no_position():
    one = OrderVerdicts(np.zeros(50, dtype=int), np.full(50, NONE), one_order=True)
    result = check("position", RECORDED, pairs={"overall": one})
    assert result.state is State.NOT_MEASURED
    assert codes(result) == ["compared_in_one_order"]
    rag = check("position", pairs={"overall": pairs(1, 1, 1)})
    assert codes(rag) == ["judges_single_answers"]
    assert (rag.command or "").endswith("--model gpt-4o-mini && judgeboard test health pairwise")
    half = OrderVerdicts(np.zeros(50, dtype=int), np.where(np.arange(50) < 20, 0, NONE))
    pairwise = RAG.changed(kind="pairwise")
    assert (
        numbers(check("position", pairwise, pairs={"overall": half}), "few_pairs_in_both_orders")[
            "n"
        ]
        == 20
    )


def test_the_aspect_with_the_clearest_pull_is_shown():
    result = check("position", pairs={"style": pairs(60, 20, 100), "overall": pairs(30, 30, 100)})
    assert numbers(result, "prefers_first")["aspect"] == "style"


def repeats(same, groups=None):
    ids = np.arange(len(same))
    return Repeats(same, ids, ids if groups is None else groups)


def test_unsteady_repeats_are_warned_of_with_the_temperature():
    same = np.arange(100) >= 30
    result = check("self_consistency", repeats=repeats(same))
    assert (result.state, result.statistic.value, result.statistic.n) == (State.WARNING, 0.7, 100)
    assert result.response_ids == tuple(range(30))
    assert codes(result) == ["equal_repeats", "temperature_zero", "single_verdict_unreliable"]
    warm = RAG.changed(params={"temperature": 0.7})
    at = numbers(check("self_consistency", warm, repeats=repeats(same)), "temperature")
    assert at == {"temperature": 0.7}
    assert check("self_consistency", repeats=repeats(same[-60:])).state is State.OK
    assert check("self_consistency", repeats=repeats(same[:9])).state is State.NOT_MEASURED


def test_repeats_on_the_same_evidence_are_no_independent_ones():
    same = np.arange(100) >= 20
    alone = check("self_consistency", repeats=repeats(same)).statistic
    together = check("self_consistency", repeats=repeats(same, np.arange(100) // 10)).statistic
    assert (alone.method, together.unit) == ("Wilson", "evidence group")
    assert None not in (alone.low, together.low)
    assert (together.low or 0) < (alone.low or 0)


# ---- users, unusable, cost ---------------------------------------------------------------------------------------


def users(score, down):
    return FeedbackScores({"groundedness": score}, down, np.arange(len(score)))


def test_a_judge_that_sees_nothing_of_what_users_see_is_warned_of():
    rng = np.random.default_rng(8)
    down = rng.random(600) < 0.4
    follows = check("user_feedback", feedback=users(rng.normal(0, 1, 600) - down, down))
    assert follows.state is State.OK
    assert 0.7 < (follows.statistic.value or 0) < 0.85
    assert (
        check("user_feedback", feedback=users(rng.normal(0, 1, 600), down)).state is State.WARNING
    )
    assert (
        check("user_feedback", feedback=users(rng.normal(0, 1, 600) + down, down)).state
        is State.WARNING
    )
    few = check("user_feedback", feedback=users(rng.normal(0, 1, 40), np.arange(40) < 9))
    assert few.state is State.NOT_MEASURED
    small = check("user_feedback", feedback=users(rng.normal(0, 1, 30), np.arange(30) < 12))
    # Too few to accuse it, or to call it sound.
    assert small.state is State.NOT_CONCLUSIVE
    assert codes(small) == ["users_unclear"]
    unclear = report_on(
        JudgeRecord(BASELINE, feedback=users(rng.normal(0, 1, 30), np.arange(30) < 12))
    )
    assert health_notes(unclear)[0].code == "no_fault"


def test_unusable_verdicts_are_counted_by_what_they_are():
    result = check("unusable", asked={"ok": 800, "unparsable": 150, "refused": 30, "error": 20})
    assert (result.state, result.statistic.value) == (State.WARNING, 0.2)
    assert numbers(result, "unusable_kinds") == {
        "kinds": ["error 20", "refused 30", "unparsable 150"]
    }
    assert check("unusable", asked={"ok": 95, "error": 5}).state is State.OK
    assert check("unusable", asked={"error": 9}).state is State.NOT_MEASURED


def test_the_share_of_mended_replies_is_named_and_warns_of_nothing():
    result = check("unusable", asked={"ok": 97, "error": 3}, mended=12)
    assert (result.state, result.also["mended"].value) == (State.OK, 0.12)
    assert numbers(result, "mended") == {"share": 0.12}
    assert not check("unusable", asked={"ok": 97, "error": 3}).also


def test_a_usable_reply_without_groundedness_is_named_beside_unusable_replies():
    missing = np.array([0.2, 0.9, np.nan])
    scored = ScoredAnswers(
        {"groundedness": missing, "label": np.full(3, np.nan)}, np.ones(3), np.arange(3)
    )
    result = check("unusable", asked={"ok": 12}, scored=scored)
    assert numbers(result, "without_groundedness") == {"n": 1, "judged": 3}
    never = ScoredAnswers(
        {"groundedness": np.full(3, np.nan), "label": np.full(3, np.nan)}, np.ones(3), np.arange(3)
    )
    assert codes(check("unusable", asked={"ok": 12}, scored=never)) == ["all_usable"]


@pytest.mark.parametrize(
    ("share", "state", "code"),
    [
        (0.3, State.OK, "cost"),
        (0.5, State.OK, "cost_above_usual"),
        (1.2, State.WARNING, "cost_above_answers"),
    ],
)
def test_cost_above_the_budget_is_noted_and_above_the_answers_own_warned_of(share, state, code):
    n = 50.0
    result = check("cost", costs=RatioSums(50, share * n, n, share**2 * n, n, share * n))
    assert (result.state, result.statistic.value) == (state, pytest.approx(share))
    assert codes(result) == [code]


# ---- commands ----------------------------------------------------------------------------------------------------


def test_a_command_names_the_judge_as_it_was_asked():
    named = RAG.changed(
        name="my judge", params={"domain": "law & order", "max_output": 64, "claims": True}
    )
    command = check("truncated", named).command or ""
    assert command == (
        "judgeboard test controls make --kinds truncated && "
        "judgeboard test controls judge --kinds truncated 'my judge' --judge rag "
        "--model gpt-4o-mini --domain 'law & order' --max-output 64 --claims"
    )
    assert "--kinds truncated --judge rag" in (check("truncated").command or "")
    assert "--prompt" not in (
        check("truncated", RAG.changed(prompt=load_prompt("rag").text)).command or ""
    )
    assert "--prompt FILE" in (
        check("truncated", RAG.changed(prompt="My own prompt")).command or ""
    )
    assert "--judge" not in (check("truncated", RECORDED).command or "")
    assert codes(check("truncated", RECORDED)) == ["no_control_answers", "import_control_verdicts"]
    jury = RAG.changed(name="jury", kind="jury", model=None)
    assert (check("collapse", jury).command or "") == "judgeboard compare judges A B C"
    members = {"members": ["0123456789abcdef", "fedcba9876543210"]}
    combine = check("collapse", jury.changed(params=members)).command
    assert combine == "judgeboard compare judges 0123456789ab fedcba987654"
    made = check("truncated", jury.changed(name="three")).command or ""
    # That would measure another judge.
    assert "--judge rag" not in made
    assert made.endswith("&& judgeboard compare judges A B C --name three")
    repeats = jury.changed(kind="repeats", params={"members": ["f00"]})
    assert check("truncated", repeats).command == "judgeboard test health f00"
    pairwise = RAG.changed(name="pairwise", kind="pairwise")
    compared = check("truncated", pairwise).command or ""
    assert compared.endswith("&& judgeboard compare controls --model gpt-4o-mini")
    supreme = RAG.changed(name="supreme", kind="audit", params={"approach": 1})
    audited = check("injected", supreme).command or ""
    assert audited.endswith("&& judgeboard test audit JUDGE --controls --model gpt-4o-mini")
