"""A judge that is not found is answered with those that could be meant: of the right kind, like names first."""

import re
from pathlib import Path

import pytest

from command_lines import run_line
from judgeboard.errors import BadInput
from judgeboard.llm.recording_endpoint import RecordingEndpoint, always, verdict
from judgeboard.runs.judging import make_judge
from tool_files import written

PAIR = {"id": "p1", "question": "why?", "answer_a": "so", "answer_b": "thus"}
BOTH = {"verdict_order_ab": "A", "verdict_order_ba": "A"}
SAMPLED = {
    "id": "s1",
    "question": "why?",
    "options": ["so", "thus"],
    "reference": "A",
    "samples": ["A", "A"],
}
REPEATED = {
    "id": "r1",
    "question": "why?",
    "answer": "so",
    "rubric": "Is it right?",
    "scale": "1-5",
    "samples": [3, 4],
}


@pytest.fixture(scope="module")
def case(tmp_path_factory):
    """A database with ten judges of pairs, one that sampled and one that was asked more than once."""
    folder = tmp_path_factory.mktemp("judges")
    database = str(folder / "judgeboard.db")
    files = {
        "pairs": [{**PAIR, **BOTH, "judge": f"GPT-4/prompt-{number}"} for number in range(10)],
        "samples": [{**SAMPLED, "model": "committee"}],
        "repeats": [{**REPEATED, "judge": "gpt-4 as judge"}],
        "responses": [{"id": "a1", "query": "why?", "answer": "so", "context": ["so"]}],
    }
    for kind, rows in files.items():
        file = written(folder, *rows)
        assert run_line(f"import --kind {kind} {file} --db {database}") == 0
    assert run_line(f"judge --judge lexical --db {database}") == 0
    return database


@pytest.mark.parametrize(
    ("words", "said"),
    {
        "compare ssr --recorded --judge-version mmlu": "no judge version 'mmlu'; sampled answers: committee v1",
        "compare ssr --recorded --judge-version lexical": "lexical v1 is not one of the judges that sampled answers: ",
        "test repeats --judge-version lexicon": "no judge version 'lexicon'; asked more than once: gpt-4 as judge v1",
        "test repeats --name gpt-4": "no judge 'gpt-4'; asked more than once: gpt-4 as judge v1",
        "compare --recorded --judge-version gpt4/prompt-7": "no judge version 'gpt4/prompt-7'; compared pairs: "
        "GPT-4/prompt-7, GPT-4/prompt-0, GPT-4/prompt-1, ",
        "compare --recorded --judge-version committee": "committee v1 is not one of the judges that compared pairs: ",
        "test health nothing": "no judge version 'nothing'; known: lexical, GPT-4/prompt-0, ",
        "test health Lexicla": "no judge version 'Lexicla'; known: lexical v1",
    }.items(),
)
def test_a_judge_that_is_not_found(case, shell, words, said):
    assert shell(f"{words} --db {case}", code=2).startswith(f"judgeboard: {said}")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("", "the name of a judge must have 1 to 128 characters"),
        ("x" * 1_000_000, "the name of a judge must have 1 to 128 characters"),
        ("\ud800", "the name of a judge cannot be stored: lone surrogate U+D800 at character 1"),
        ("a\0b", "the name of a judge cannot be stored: NUL at character 2"),
    ],
)
def test_a_name_that_cannot_be_stored_is_refused(case, shell, name, said):
    with pytest.raises(BadInput, match=re.escape(said)):
        make_judge("lexical", name=name)
    assert said in shell("judge --judge lexical --db", case, name, code=2)
    for command in (
        "refine reflect --generator m",
        "compare --recorded",
        "compare ssr --recorded",
        "compare judges a b",
    ):
        assert said in shell(command, "--name", name, "--db", case, code=2)


def test_an_unknown_name_with_options_of_a_judge_is_a_new_judge_and_without_them_is_refused(
    case, tmp_path, shell, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    Path("judgeboard.toml").write_text('[judges.base]\nmodel = "big"\n')
    db = f"--db {case}"
    with RecordingEndpoint(always(verdict())) as endpoint:
        model = f"--model small --base-url {endpoint.base_url}"
        assert "strict-v2 v1, run " in shell(f"judge strict-v2 {model} --yes {db}")
        shell(f"test controls make {db}")
        shell(f"test controls judge stricter {model} {db}")
        assert endpoint.requests[-1].body["model"] == "small"
    refused = shell(f"judge strict-v3 {db}", code=2)
    assert "'strict-v3': judgeboard.toml has base;" in refused
    assert f" strict-v3 --db {case} --model gpt-4o-mini`" in refused
    assert "[judges.strict-v3] in judgeboard.toml" in refused
    assert "No such option" in shell(f"judge --judge lexical --name words {db}", code=2)
