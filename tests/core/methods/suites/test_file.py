"""Suite files, and the gate on their results."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgeboard.domain import DimensionScore
from judgeboard.errors import BadInput
from judgeboard.judges.rubric_file import default_rubric
from judgeboard.methods.suites.file import (
    Baseline,
    Case,
    Check,
    Gate,
    Suite,
    compare,
    gate,
    read_suite,
    spec_hash,
)
from judgeboard.methods.suites.queries import CheckOutcome, StoredCase

SUITE = """\
name: house
threshold: 4
candidate: python:app:answer
rubric: rubrics/own.yaml
cases:
  - query: How long is the rope?
    reference: 60 m
    context: [The rope has 60 m.]
    checks: {regex: '\\d+ m'}
  - id: second
    query: Which knot?
    checks:
      - regex: eight
      - regex: figure
      - json_schema:
          type: string
"""
RUBRIC = "dimensions: [{name: tone, levels: {1: a, 2: b, 3: c, 4: d, 5: e}}]\n"


def written(tmp_path: Path, text: str) -> Path:
    file = tmp_path / "suite.yaml"
    (tmp_path / "rubrics").mkdir(exist_ok=True)
    (tmp_path / "rubrics" / "own.yaml").write_text(RUBRIC)
    file.write_text(text, encoding="utf-8")
    return file


def test_a_file_says_cases_rubric_and_limits(tmp_path: Path) -> None:
    suite = read_suite(written(tmp_path, SUITE))
    assert (suite.name, suite.threshold, suite.max_unmeasured, suite.max_drop) == (
        "house",
        4.0,
        0.05,
        0.05,
    )
    assert (suite.candidate, list(suite.rubric.weights)) == ("python:app:answer", ["tone"])
    first, second = suite.cases
    assert (first.id, first.reference, first.line) == ("1", "60 m", 6)
    assert [passage in SUITE for passage in first.context] == [True]
    assert [check.kind for check in second.checks] == ["regex", "regex", "json_schema"]


def test_what_is_left_out_has_its_default_and_a_rubric_may_stand_inside(tmp_path: Path) -> None:
    suite = read_suite(written(tmp_path, "name: s\ncases: [{query: q}]\n"))
    assert (suite.threshold, suite.rubric) == (3.5, default_rubric())
    inside = read_suite(written(tmp_path, f"name: s\nrubric:\n  {RUBRIC}cases: [{{query: q}}]\n"))
    assert list(inside.rubric.weights) == ["tone"]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("name: house\n", "", "line 1: name is required"),
        (
            "threshold: 4",
            "threshold: 6",
            "line 2: threshold: Input should be less than or equal to 5, not 6",
        ),
        ("threshold: 4", "treshold: 4", "line 2: treshold: unknown field"),
        ("    query: Which knot?\n", "", "line 10: cases[1]: query is required"),
        (
            "id: second",
            "id: '1'",
            "line 10: cases[1]: this case has the id '1' of the case on line 6",
        ),
        (
            "      - regex: eight",
            "      - regx: eight",
            "line 13: cases[1].checks[0].regx: unknown check 'regx'",
        ),
        (
            "regex: eight",
            "regex: '(eight'",
            "line 13: cases[1].checks[0].regex: regex: not a regular expression",
        ),
        (
            "regex: eight",
            "regex: 8",
            "line 13: cases[1].checks[0].regex: regex: must be a pattern, not 8",
        ),
        (
            "          type: string",
            "          type: strong",
            "line 15: cases[1].checks[2].json_schema: json_schema",
        ),
    ],
)
def test_a_mistake_names_file_and_line(tmp_path: Path, old: str, new: str, said: str) -> None:
    assert SUITE.count(old) == 1
    file = written(tmp_path, SUITE.replace(old, new))
    with pytest.raises(BadInput) as refused:
        read_suite(file)
    assert str(refused.value).startswith(f"{file}, {said}")


def test_a_mistake_in_the_rubric_beside_it_names_that_file(tmp_path: Path) -> None:
    file = written(tmp_path, SUITE)
    (tmp_path / "rubrics" / "own.yaml").write_text("dimensions: []\n")
    with pytest.raises(BadInput, match=r"own\.yaml, line 1: dimensions:"):
        read_suite(file)


def test_a_case_that_asks_the_same_is_named_with_the_other(tmp_path: Path) -> None:
    file = written(tmp_path, "name: s\ncases:\n- query: q\n- {query: q, checks: {equals: x}}\n")
    with pytest.raises(BadInput, match=r"line 4: cases\[1\]: .*line 3"):
        read_suite(file)


def test_what_python_builds_is_checked_too() -> None:
    with pytest.raises(BadInput, match="no case"):
        Suite("s", (), default_rubric())
    with pytest.raises(BadInput, match="1 to 5"):
        Suite("s", (Case("q", "1"),), default_rubric(), threshold=0)
    with pytest.raises(BadInput, match="unknown check 'like'"):
        Check("like", "x")


def test_the_address_of_a_suite_holds_no_text_of_a_case_and_not_where_it_stands() -> None:
    def suite(line: int, query: str = "private") -> Suite:
        return Suite("s", (Case(query, "1", reference="secret", line=line),), default_rubric())

    assert spec_hash(suite(1).as_spec()) == spec_hash(suite(2).as_spec())
    assert spec_hash(suite(1).as_spec()) != spec_hash(suite(1, "other").as_spec())
    assert not {"private", "secret"} & set(str(suite(1).as_spec()).split("'"))


def test_the_example_that_the_help_names_can_be_read() -> None:
    suite = read_suite(str(Path(__file__).parents[4] / "examples" / "suite.yaml"))
    assert [len(case.checks) for case in suite.cases] == [1, 1, 1]
    assert suite.candidate


WEIGHTS = {"accuracy": 1.0, "tone": 1.0}


def case(
    key: int, score: float | None, *, passed: bool | None = None, **dimensions: float | None
) -> StoredCase:
    scores = dimensions or {"accuracy": score, "tone": score}
    checks = () if passed is None else (CheckOutcome("regex", "x", passed),)
    scored = {name: DimensionScore(name, value, "1-5") for name, value in scores.items()}
    return StoredCase(key, str(key), key, "q", "a", score, None, None, checks, scored)


def compared(before: list[StoredCase], after: list[StoredCase], threshold: float = 3.5) -> Baseline:
    return compare(before, after, run_id=1, weights=WEIGHTS, threshold=threshold)


def gated(
    cases: int,
    unmeasured: int,
    average: float | None,
    baseline: Baseline | None = None,
    **more: Any,
) -> Gate:
    limits = {
        "failing_checks": 0,
        "threshold": 3.5,
        "max_unmeasured": 0.05,
        "max_drop": 0.05,
    } | more
    return gate(cases=cases, unmeasured=unmeasured, average=average, baseline=baseline, **limits)


@pytest.mark.parametrize(
    ("cases", "unmeasured", "average", "more", "code"),
    [
        (20, 0, 3.5, {}, 0),
        (20, 0, 3.4999, {}, 1),
        (20, 0, 3.5 - 1e-12, {}, 0),  # floats: a mean of 3.5 may miss it by a bit
        (20, 1, 5.0, {}, 0),
        (20, 2, 5.0, {}, 2),
        (20, 2, 1.0, {}, 2),  # before 1: what was not measured may be the good ones
        (20, 20, None, {}, 2),
        (3, 3, None, {"max_unmeasured": 1.0}, 2),
        (20, 0, 5.0, {"failing_checks": 1}, 1),
        (20, 2, 5.0, {"failing_checks": 20}, 2),
    ],
)
def test_the_share_without_a_score_goes_before_checks_and_the_average(
    cases: int, unmeasured: int, average: float | None, more: dict[str, Any], code: int
) -> None:
    assert gated(cases, unmeasured, average, **more).code == code


@pytest.mark.parametrize(("n", "code"), [(19, 2), (20, 1)])
def test_fewer_than_twenty_paired_cases_cannot_be_compared(n: int, code: int) -> None:
    comparison = compared([case(i, 5) for i in range(n)], [case(i, 4) for i in range(n)])
    assert gated(n, 0, 4.0, comparison).code == code


def test_an_average_that_fell_alike_everywhere_is_a_regression_without_an_interval() -> None:
    comparison = compared([case(i, 5) for i in range(20)], [case(i, 4) for i in range(20)])
    assert (comparison.mean_change.value, comparison.mean_change.low) == (-1.0, None)
    assert "same value" in (comparison.mean_change.reason or "")
    assert comparison.average_fell


def test_a_change_within_its_interval_is_no_regression() -> None:
    before = [case(i, 4) for i in range(30)]
    after = [case(i, 3 if i < 2 else 5 if i == 2 else 4) for i in range(30)]
    comparison = compared(before, after, threshold=1.0)
    assert (comparison.mean_change.value or 0) < 0 < (comparison.mean_change.high or 0)
    assert "paired" in (comparison.mean_change.method or "")
    assert gated(30, 0, 4.0, comparison).code == 0


def falling(passes_lost: int, passes_won: int = 0, n: int = 100) -> Baseline:
    """As many cases change sides at the threshold; the average stays where it is."""
    before = [
        case(i, 3.0 if passes_lost <= i < passes_lost + passes_won else 4.0) for i in range(n)
    ]
    after = [case(i, 3.0 if i < passes_lost else 4.0) for i in range(n)]
    lifted = (
        [case(i + n, 1.0) for i in range(n)],
        [case(i + n, 1.0 + passes_lost / n) for i in range(n)],
    )
    return compared(before + lifted[0], after + lifted[1])


def test_a_pass_rate_that_fell_far_and_not_by_chance_is_a_regression() -> None:
    comparison = falling(12)
    assert not comparison.average_fell
    assert (comparison.only_before, comparison.only_after, comparison.pass_rate_change.value) == (
        12,
        0,
        -0.06,
    )
    assert comparison.p == pytest.approx(2 * 0.5**12)
    assert gated(200, 0, 4.0, comparison).code == 1
    # It fell by no more than is allowed.
    assert gated(200, 0, 4.0, comparison, max_drop=0.06).code == 0


def test_the_change_of_the_pass_rate_has_the_interval_of_resampled_cases() -> None:
    change = falling(40, passes_won=20).pass_rate_change
    assert (change.value, change.n) == (-0.1, 200)
    assert -0.2 < (change.low or 0) < -0.1 < (change.high or 0) < 0
    assert (change.method or "").startswith("paired; ")


def test_a_pass_rate_that_may_have_fallen_by_chance_is_no_regression() -> None:
    before = [case(i, 4.0) for i in range(20)]
    comparison = compared(before, [case(i, 3.4 if i < 5 else 4.2) for i in range(20)])
    assert (comparison.pass_rate_change.value, round(comparison.p, 4)) == (-0.25, 0.0625)
    assert not comparison.pass_rate_fell(0.05)


def test_without_discordant_cases_p_is_one() -> None:
    assert falling(0).p == 1.0


def test_scores_are_compared_on_the_dimensions_scored_in_both() -> None:
    before = [case(0, 3.0, accuracy=5, tone=1)]
    after = [case(0, 4.0, accuracy=4, tone=None)]
    comparison = compared(before, after)
    assert [(one.before, one.after) for one in comparison.cases] == [(5.0, 4.0)]
    assert (comparison.worse, comparison.better) == (1, 0)
    nothing_shared = compared(
        [case(0, 4.0, accuracy=4, tone=None)], [case(0, 4.0, accuracy=None, tone=4)]
    )
    assert (nothing_shared.n, nothing_shared.mean_change.value) == (0, None)
    assert nothing_shared.pass_rate_change.value is None


def test_cases_without_a_score_in_one_of_the_runs_are_not_compared() -> None:
    comparison = compared(
        [case(0, 4), case(1, None), case(2, 4)], [case(0, None), case(1, 4), case(2, 5), case(3, 5)]
    )
    assert [one.key for one in comparison.cases] == ["2"]


def test_a_check_that_only_one_run_had_does_not_decide() -> None:
    comparison = compared([case(0, 5)], [case(0, 5, passed=False)])
    assert comparison.cases[0].passed_after
    comparison = compared([case(0, 5, passed=True)], [case(0, 5, passed=False)])
    assert (comparison.only_before, comparison.only_after) == (1, 0)


LEVELS = st.one_of(st.none(), st.integers(1, 5))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(LEVELS, LEVELS), max_size=40))
def test_a_run_compared_with_itself_has_not_changed_and_the_two_ways_mirror(
    given_: list[tuple[Any, Any]],
) -> None:
    one = [case(i, first) for i, (first, _) in enumerate(given_)]
    other = [case(i, second) for i, (_, second) in enumerate(given_)]
    same = compared(one, one)
    assert (same.mean_change.value or 0, same.worse, same.better, same.p) == (0, 0, 0, 1.0)
    there, back = compared(one, other), compared(other, one)
    assert (there.worse, there.better, there.only_before) == (
        back.better,
        back.worse,
        back.only_after,
    )
    assert there.n == back.n == sum(None not in pair for pair in given_)
