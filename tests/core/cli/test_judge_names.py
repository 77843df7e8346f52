"""A judge that is not found is answered with those that could be meant: of the right kind, like names first."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from judgeboard.cli.app import run
from judgeboard.errors import BadInput
from judgeboard.runs.judging import make_judge

PAIR = {"id": "p1", "question": "why?", "answer_a": "so", "answer_b": "thus"}
BOTH = {"verdict_order_ab": "A", "verdict_order_ba": "A"}
SAMPLED = {"id": "s1", "question": "why?", "options": ["so", "thus"], "reference": "A", "samples": ["A", "A"]}
REPEATED = {"id": "r1", "question": "why?", "answer": "so", "rubric": "Is it right?", "scale": "1-5", "samples": [3, 4]}


@pytest.fixture(scope="module")
def case(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A database with ten judges of pairs, one that sampled and one that was asked more than once."""
    folder = tmp_path_factory.mktemp("judges")
    database = str(folder / "judgeboard.db")
    files: dict[str, list[dict[str, Any]]] = {
        "pairs": [{**PAIR, **BOTH, "judge": f"GPT-4/prompt-{number}"} for number in range(10)],
        "samples": [{**SAMPLED, "model": "committee"}],
        "repeats": [{**REPEATED, "judge": "gpt-4 as judge"}],
        "responses": [{"id": "a1", "query": "why?", "answer": "so", "context": ["so"]}],
    }
    for kind, rows in files.items():
        file: Path = folder / f"{kind}.jsonl"
        file.write_text("\n".join(map(json.dumps, rows)))
        assert run(["import", "--kind", kind, str(file), "--db", database]) == 0
    assert run(["judge", "--judge", "lexical", "--db", database]) == 0
    return database


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("compare ssr --recorded --judge-version mmlu", "no judge version 'mmlu'; sampled answers: committee v1"),
        (
            "compare ssr --recorded --judge-version lexical",
            "lexical v1 is not one of the judges that sampled answers: ",
        ),
        ("test repeats --judge-version lexicon", "no judge version 'lexicon'; asked more than once: gpt-4 as judge v1"),
        ("test repeats --name gpt-4", "no judge 'gpt-4'; asked more than once: gpt-4 as judge v1"),
        (
            "compare --recorded --judge-version gpt4/prompt-7",
            "no judge version 'gpt4/prompt-7'; compared pairs: GPT-4/prompt-7, GPT-4/prompt-0, GPT-4/prompt-1, ",
        ),
        ("compare --recorded --judge-version committee", "committee v1 is not one of the judges that compared pairs: "),
        ("test health nothing", "no judge version 'nothing'; known: lexical, GPT-4/prompt-0, "),
        ("test health Lexicla", "no judge version 'Lexicla'; known: lexical v1"),
    ],
)
def test_a_judge_that_is_not_found(case: str, capsys: pytest.CaptureFixture[str], words: str, said: str) -> None:
    assert run([*words.split(), "--db", case]) == 2
    assert capsys.readouterr().err.startswith(f"judgeboard: {said}")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("", "--name must be a name of 1 to 128 characters"),
        ("x" * 1_000_000, "--name must be a name of 1 to 128 characters"),
        ("\ud800", "--name cannot be stored: lone surrogate U+D800 at character 1"),
        ("a\0b", "--name cannot be stored: NUL at character 2"),
    ],
)
def test_a_name_that_cannot_be_stored_is_refused(
    case: str, capsys: pytest.CaptureFixture[str], name: str, said: str
) -> None:
    with pytest.raises(BadInput, match=re.escape(said)):
        make_judge("lexical", name=name)
    for command in ("judge --judge lexical", "compare --recorded", "compare ssr --recorded", "compare judges a b"):
        assert run([*command.split(), "--name", name, "--db", case]) == 2
        assert said in capsys.readouterr().err
