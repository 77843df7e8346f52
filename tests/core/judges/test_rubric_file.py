"""Rubric files: what is read of them, and that a mistake is named with its line."""

from pathlib import Path

import pytest

from judgeboard.errors import BadInput
from judgeboard.judges.rubric_file import default_rubric, overall, read_rubric

LEVELS = "levels: {1: bad, 2: poor, 3: fair, 4: good, 5: best}"
HOUSE = f"""\
name: house
domain: climbing
dimensions:
  - name: accuracy
    weight: 3
    description: Is it true?
    {LEVELS}
  - name: tone
    {LEVELS}
examples:
  - kind: bad
    query: How long is the rope?
    answer: Who knows.
    context: [The rope has 60 m.]
    scores: {{accuracy: 1, tone: 2}}
    reasoning: It could have said 60 m.
"""


def written(tmp_path: Path, text: str) -> Path:
    file = tmp_path / "r.yaml"
    file.write_text(text, encoding="utf-8")
    return file


def test_the_default_rubric_has_the_four_dimensions_in_words() -> None:
    rubric = default_rubric()
    assert [dimension.name for dimension in rubric.dimensions] == ["accuracy", "helpfulness", "safety", "coherence"]
    assert {dimension.weight for dimension in rubric.dimensions} == {1.0}
    for dimension in rubric.dimensions:
        assert [words.split(".")[0] for words in dimension.levels[2:]] == ["Acceptable", "Good", "Excellent"]


def test_a_file_says_names_weights_words_and_examples(tmp_path: Path) -> None:
    rubric = read_rubric(written(tmp_path, HOUSE))
    assert (rubric.name, rubric.domain, rubric.weights) == ("house", "climbing", {"accuracy": 3.0, "tone": 1.0})
    assert rubric.dimensions[0].levels == ("bad", "poor", "fair", "good", "best")
    (example,) = rubric.examples
    assert (example.kind, example.scores, example.passages) == (
        "bad",
        {"accuracy": 1, "tone": 2},
        ("The rope has 60 m.",),
    )


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("dimensions:", "dimension:", "line 3: dimension: unknown field"),
        ("weight: 3", "weight: 0", "line 5: dimensions[0].weight: Input should be greater than 0"),
        ("weight: 3", "weight: heavy", "line 5: dimensions[0].weight: Input should be a valid number"),
        (
            "weight: 3",
            "weight: 1.0e+308",
            "line 5: dimensions[0].weight: Input should be less than or equal to",
        ),
        ("weight: 3", f"weight: {'9' * 400}", "line 5: dimensions[0].weight: Input should be"),
        (", 5: best}\n  - name: tone", "}\n  - name: tone", "line 7: dimensions[0].levels: level 5 has no description"),
        ("1: bad, 2: poor, 3: fair, 4: good, 5: best}\nex", "6: x, 1: a, 2: b, 3: c, 4: d, 5: e}\nex", "line 9: "),
        ("name: tone", "name: Accuracy", "line 8: dimensions[1].name: the dimension is given twice"),
        ("name: tone", "name: overall", "line 8: dimensions[1].name: 'overall' cannot be the name of a dimension"),
        (
            "name: tone",
            "name: Expected tone",
            "line 8: dimensions[1].name: 'Expected tone' cannot be the name of a dimension",
        ),
        ("name: tone", "name: 'a\"b'", "line 8: dimensions[1].name: 'a\"b' cannot be the name of a dimension"),
        ("tone: 2}", "tune: 2}", "line 15: examples[0].scores.tune: unknown score; known are accuracy, tone"),
        ("tone: 2}", "tone: 3.0}", "line 15: examples[0].scores.tone: the score must be an integer, not 3.0"),
        ("tone: 2}", "tone: 6}", "line 15: examples[0].scores.tone: the score must be from 1 to 5, not 6"),
        ("kind: bad", "kind: ugly", "line 11: examples[0].kind: Input should be 'good' or 'bad'"),
        ("kind: bad", "response_id: 3", "line 11: examples[0].response_id: unknown field"),
        ("    answer: Who knows.\n", "", "line 11: examples[0]: answer is required"),
    ],
)
def test_a_mistake_names_file_and_line(tmp_path: Path, old: str, new: str, said: str) -> None:
    assert HOUSE.count(old) == 1
    file = written(tmp_path, HOUSE.replace(old, new))
    with pytest.raises(BadInput) as refused:
        read_rubric(file)
    assert str(refused.value).startswith(f"{file}, {said}")


def test_the_overall_score_is_the_weighted_mean_over_what_was_scored() -> None:
    weights = {"accuracy": 3.0, "tone": 1.0, "safety": 1.0}
    assert overall({"accuracy": 5, "tone": 1}, weights) == 4.0
    assert overall({"tone": 2}, weights) == 2.0
    assert overall({}, weights) is None
