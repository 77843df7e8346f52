"""Suite files."""

from pathlib import Path

import pytest

from judgeboard.errors import BadInput
from judgeboard.judges.rubric_file import default_rubric
from judgeboard.methods.suites.file import Case, Check, Suite, read_suite, spec_hash
from result_fields import check_fields

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


def written(tmp_path, text):
    file = tmp_path / "suite.yaml"
    (tmp_path / "rubrics").mkdir(exist_ok=True)
    (tmp_path / "rubrics" / "own.yaml").write_text(RUBRIC)
    file.write_text(text, encoding="utf-8")
    return file


def test_a_file_says_cases_rubric_and_limits(tmp_path):
    suite = read_suite(written(tmp_path, SUITE))
    check_fields(suite, name="house", threshold=4.0, max_unmeasured=0.05, max_drop=0.05)
    assert (suite.candidate, list(suite.rubric.weights)) == ("python:app:answer", ["tone"])
    first, second = suite.cases
    check_fields(first, id="1", reference="60 m", line=6)
    assert first.context == ("The rope has 60 m.",)
    assert [check.kind for check in second.checks] == ["regex", "regex", "json_schema"]


def test_what_is_left_out_has_its_default_and_a_rubric_may_stand_inside(tmp_path):
    suite = read_suite(written(tmp_path, "name: s\ncases: [{query: q}]\n"))
    check_fields(suite, threshold=3.5, rubric=default_rubric())
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
            "regex: eight",
            "regex:",
            "line 13: cases[1].checks[0].regex: regex: must be a pattern, not None",
        ),
        (
            "checks: {regex: '\\d+ m'}",
            "checks: 0",
            "line 9: cases[0].checks: checks must be a mapping, or a list of mappings",
        ),
        (
            "          type: string",
            "          type: strong",
            "line 15: cases[1].checks[2].json_schema: json_schema",
        ),
    ],
)
def test_a_mistake_names_file_and_line(tmp_path, old, new, said):
    assert SUITE.count(old) == 1
    file = written(tmp_path, SUITE.replace(old, new))
    with pytest.raises(BadInput) as refused:
        read_suite(file)
    assert str(refused.value).startswith(f"{file}, {said}")


def test_a_mistake_in_the_rubric_beside_it_names_that_file(tmp_path):
    file = written(tmp_path, SUITE)
    (tmp_path / "rubrics" / "own.yaml").write_text("dimensions: []\n")
    with pytest.raises(BadInput, match=r"own\.yaml, line 1: dimensions:"):
        read_suite(file)


def test_a_case_that_asks_the_same_is_named_with_the_other(tmp_path):
    file = written(tmp_path, "name: s\ncases:\n- query: q\n- {query: q, checks: {equals: x}}\n")
    with pytest.raises(BadInput, match=r"line 4: cases\[1\]: .*line 3"):
        read_suite(file)


def test_what_python_builds_is_checked_too():
    with pytest.raises(BadInput, match="no case"):
        Suite("s", (), default_rubric())
    with pytest.raises(BadInput, match="1 to 5"):
        Suite("s", (Case("q", "1"),), default_rubric(), threshold=0)
    with pytest.raises(BadInput, match="unknown check 'like'"):
        Check("like", "x")


def test_the_address_of_a_suite_holds_no_text_of_a_case_and_not_where_it_stands():
    def spec(line, query="private"):
        cases = (Case(query, "1", reference="secret", line=line),)
        return Suite("s", cases, default_rubric()).as_spec()

    assert spec_hash(spec(1)) == spec_hash(spec(2)) != spec_hash(spec(1, "other"))
    assert not {"private", "secret"} & {*str(spec(1)).split("'")}


def test_the_example_that_the_help_names_can_be_read():
    suite = read_suite(str(Path(__file__).parents[4] / "examples" / "suite.yaml"))
    assert [len(case.checks) for case in suite.cases] == [1, 1, 1]
    assert suite.candidate
