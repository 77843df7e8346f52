"""The forms of replies that each kind of judge reads, as published prompts ask for them, and those that it refuses."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from judgeboard.cli.app import run
from judgeboard.domain import JudgeInput, PairItem, Shown, Status, StepRecord, Verdict
from judgeboard.errors import BadInput
from judgeboard.judges.judge import ModelJudge, fingerprint
from judgeboard.judges.pairwise import PairwiseJudge, SelfReferenceJudge
from judgeboard.judges.rating import RatingJudge
from judgeboard.judges.rubric_file import Dimension, Rubric
from judgeboard.llm.chat import RecordedChat
from judgeboard.llm.endpoint import ModelEndpoint
from judgeboard.methods.audits.run import make_supreme
from judgeboard.runs.judging import make_judge
from judging_log import judge_once

ITEM = JudgeInput(1, "How high is the wall?", "30 m.", ("A wall of 30 m.",), external_id="a")
PAIR = PairItem(1, "s", "p", "QA", "Which?", ("30 m", "60 m"), "A", "30 m.", "60 m.", None, None, 1, 2, None)
RUSSIAN = "Общая оценка"
WORDS = ("bad", "poor", "fair", "good", "best")
RUBRIC = Rubric((Dimension("accuracy", WORDS), Dimension("tone", WORDS)), name="house")
Reading = tuple[Any, StepRecord | Verdict]


def file_of(tmp_path: Path, reply: str) -> Path:
    file = tmp_path / "replies.jsonl"
    file.write_text(json.dumps({"response_id": "a", "raw": reply}))
    return file


def of_judge(kind: str, **options: Any) -> Callable[[str, Path], Reading]:
    def read(reply: str, tmp_path: Path) -> Reading:
        verdict = judge_once(make_judge(kind, replies=file_of(tmp_path, reply), **options), ITEM)
        scores = {score.dimension: score.value for score in verdict.scores}
        values = {"groundedness": verdict.groundedness, "quality": verdict.quality, **scores}
        return {name: value for name, value in values.items() if value is not None}, verdict

    return read


def supreme(reply: str, tmp_path: Path) -> Reading:
    judge = make_supreme(replies=file_of(tmp_path, reply))
    marked = asyncio.run(judge.review(ITEM, Verdict(Status.OK, quality=3)))
    return marked.value, marked.record


def recorded(reply: str, subject: str) -> ModelEndpoint:
    return ModelEndpoint(RecordedChat({subject: [reply]}), "recorded")


def pairwise(reply: str, _: Path) -> Reading:
    compared = asyncio.run(PairwiseJudge(recorded(reply, "p:ab")).compare(PAIR, Shown.AB))
    return compared.preferences.get("overall"), compared.record


def solving(reply: str, _: Path) -> Reading:
    solved = asyncio.run(SelfReferenceJudge(recorded(reply, "p:sample:0")).solve(PAIR, 0))
    return solved.value, solved.record


rag, grade, rating = of_judge("rag"), of_judge("grade"), of_judge("rating")
rubric = of_judge("rubric", rubric=RUBRIC)
russian = of_judge("rating", rating_word=RUSSIAN)

OF_RAG = {"groundedness": 0.8, "quality": 2}
OF_RUBRIC = {"accuracy": 5, "tone": 3, "overall": 4}
LISTED = [
    {"dimension": "accuracy", "score": 5, "reasoning": "It is."},
    {"dimension": "tone", "score": "3", "reasoning": "So so."},
]


@pytest.mark.parametrize(
    ("read", "reply", "value"),
    [
        (rag, '{"reasoning": "It is.", "groundedness": 0.8, "quality": 2}', OF_RAG),
        (rag, 'Here it is:\n```json\n{"reasoning": "It is.", "groundedness": 0.8, "quality": 2}\n```\nDone.', OF_RAG),
        (rag, '{"reasoning": "See http://a.b", // why\n"groundedness": 0.8, // 0-1\n"quality": 2 // 1-4\n}', OF_RAG),
        (rag, '```\n{"reasoning": "It is.", "groundedness": "0.8", "quality": "2"} // so\n```', OF_RAG),
        (rag, '<think>{"quality": 1}</think>{"reasoning": "", "groundedness": "0.8", "quality": 2}', OF_RAG),
        (grade, "correct 1", {"correct": 1}),
        (grade, "Grade: 1", {"correct": 1}),
        (grade, "\nGrade: 0\n", {"correct": 0}),
        (supreme, "incorrect 0", False),
        (supreme, "Correctness: 0", False),
        (supreme, "Correctness: 1", True),
        (rubric, json.dumps({"evaluations": LISTED}), OF_RUBRIC),
        (rubric, f"Scores:\n```json\n{json.dumps({'evaluations': LISTED, 'overall': 4})}\n```", OF_RUBRIC),
        (rubric, '{"accuracy": {"reasoning": "", "score": "5"}, "tone": {"reasoning": "", "score": 3}}', OF_RUBRIC),
        (rating, '{"evaluation": "So so.", "rating": "2", "feedback": "More."}', {"quality": 2}),
        (rating, "Evaluation: So so.\nTotal rating: 2", {"quality": 2}),
        (rating, "So so, Total rating: 3 at first.\n**Total rating:** 3/4.", {"quality": 3}),
        (russian, f"Ответ неполный.\n{RUSSIAN}: 2", {"quality": 2}),
        (russian, f"Ответ неполный. {RUSSIAN.lower()}\uff1a 2", {"quality": 2}),
        (pairwise, '{"overall": {"reasoning": "It is.", // why\n"verdict": "first"}}', "a"),
        (solving, '{"reasoning": "It is.", // why\n"answer": "B"}', "B"),
    ],
)
def test_each_judge_reads_the_published_forms_of_its_replies(
    read: Callable[[str, Path], Reading], reply: str, value: Any, tmp_path: Path
) -> None:
    got, record = read(reply, tmp_path)
    assert (got, record.status, record.error) == (value, Status.OK, None)


@pytest.mark.parametrize(
    ("read", "reply", "reason"),
    [
        (rag, '```{"reasoning": "", "groundedness": 1, "quality": 2}```\n```{"quality": 3}```', "several different"),
        (rag, '{"reasoning": "", "groundedness": "80 %", "quality": 2}', "groundedness must be a number"),
        (rag, '{"reasoning": "", "groundedness": 1, "quality": "2.0"}', "quality must be an integer"),
        (rag, '{"reasoning": "", "groundedness": 1, "quality": "2-3"}', "quality must be an integer"),
        (grade, "Grade: 1\nGrade: 0", "it must be a mark and nothing else"),
        (grade, "Correctness: 1", "it must be a mark and nothing else"),
        (grade, "Grade: 2", "it must be a mark and nothing else"),
        (supreme, "Grade: 0", "it must be a mark and nothing else"),
        (rubric, json.dumps({"evaluations": [*LISTED, {**LISTED[0], "score": 1}]}), "'accuracy' is given twice"),
        (rubric, json.dumps({"evaluations": ["accuracy: 5"]}), "evaluation 1 must be an object"),
        (rating, "Total rating: 2\nBut then again:\nTotal rating: 4", "it gives different ratings: 4, 2"),
        (rating, '{"evaluation": "Total rating: 4", "rating": 2, "feedback": ""}', "different ratings: 2, 4"),
        (rating, "Total rating: 5", "rating 5 is above 4"),
        (rating, "Total rating: 2.5", "rating must be an integer"),
        (rating, "Total rating: 8/10", "no JSON object"),
        (rating, "Total rating: 3. I am not sure.", "no JSON object"),
        (rating, f"{RUSSIAN}: 2", "no JSON object"),
        (russian, "Total rating: 2", "no JSON object"),
    ],
)
def test_an_ambiguous_reply_is_not_guessed(
    read: Callable[[str, Path], Reading], reply: str, reason: str, tmp_path: Path
) -> None:
    _, record = read(reply, tmp_path)
    assert record.status is Status.UNPARSABLE
    assert reason in str(record.error)


@pytest.mark.parametrize(
    ("read", "form"),
    [
        (rag, '{"reasoning": "…", "groundedness": 0.0-1.0, "quality": 1-4}'),
        (grade, "'correct 1', 'incorrect 0', 'Grade: 1' or 'Grade: 0'"),
        (supreme, "'correct 1', 'incorrect 0', 'Correctness: 1' or 'Correctness: 0'"),
        (rubric, '{"accuracy": {"reasoning": "…", "score": 1-5}, "tone": {"reasoning": "…", "score": 1-5}}'),
        (rating, '{"evaluation": "…", "rating": 1-4, "feedback": "…"} or free text that ends in "Total rating: 1-4"'),
        (russian, f'{{"evaluation": "…", "rating": 1-4, "feedback": "…"}} or free text that ends in "{RUSSIAN}: 1-4"'),
        (pairwise, '{"overall": {"reasoning": "…", "verdict": "first|second|tie"}}'),
        (solving, '{"reasoning": "…", "answer": "A|B"}'),
    ],
)
def test_an_unreadable_reply_says_which_form_was_expected_and_how_it_begins(
    read: Callable[[str, Path], Reading], form: str, tmp_path: Path
) -> None:
    _, record = read("\nI like it.\nReally.", tmp_path)
    assert f"(expected: {form}; the reply begins: 'I like it.')" in str(record.error)


def test_the_word_before_the_rating_is_part_of_the_version_and_of_the_request(tmp_path: Path) -> None:
    file = file_of(tmp_path, f"{RUSSIAN}: 2")
    plain, worded = (make_judge("rating", replies=file, rating_word=word) for word in (None, RUSSIAN))
    assert fingerprint(plain.version) != fingerprint(worded.version)
    assert worded.version.params["rating_word"] == RUSSIAN
    assert isinstance(worded, RatingJudge)
    asked = asyncio.run(worded.rate(ITEM))
    assert (asked.value and asked.value.rating, asked.record.status) == (2, Status.OK)


def test_a_rating_word_is_for_the_rating_judge_only() -> None:
    with pytest.raises(BadInput, match="--rating-word applies only to the judges rating, not to rag"):
        make_judge("rag", rating_word="Total rating")
    with pytest.raises(BadInput, match="1 to 60 printable characters"):
        make_judge("rating", model="m", base_url="http://localhost:1/v1", rating_word=" ")


PROMPT_FOR_GRADES = "# System\nGrade the answer. The last line of your reply:\n{form}\n"
PROMPT_FOR_JSON = "# Reply\nReply with {{fields}}, like {{example}}.\n{form}\n"


@pytest.mark.parametrize(
    ("kind", "prompt", "form", "warns"),
    [
        ("grade", PROMPT_FOR_GRADES, "Total rating: (1 to 4)", True),
        ("grade", PROMPT_FOR_GRADES, '{"grade": 1} as JSON', True),
        ("grade", PROMPT_FOR_GRADES, "Grade: 1 or 0", False),
        ("grade", PROMPT_FOR_GRADES, "correct 1", False),
        ("rag", PROMPT_FOR_JSON, "**Total rating:** 3", True),
        ("rag", PROMPT_FOR_JSON, "correct 1", True),
        ("rag", PROMPT_FOR_JSON, "Passages have the total rating: high.", False),
        ("rating", PROMPT_FOR_JSON, "Total rating: 3", False),
        ("rating", PROMPT_FOR_JSON, "Grade: 1", True),
    ],
)
def test_a_prompt_for_another_form_of_replies_is_warned_of(
    kind: str, prompt: str, form: str, warns: bool, tmp_path: Path
) -> None:
    file = tmp_path / "prompt.md"
    file.write_text(prompt.format(form=form) if prompt is PROMPT_FOR_JSON else prompt.replace("{form}", form))
    judge = make_judge(kind, replies=file_of(tmp_path, "x"), prompt=file)
    assert isinstance(judge, ModelJudge)
    assert (judge.prompt_warning is not None) is warns
    assert "the form" in str(judge.prompt_warning) or not warns
    built_in = make_judge(kind, replies=file_of(tmp_path, "x"))
    assert isinstance(built_in, ModelJudge)
    assert built_in.prompt_warning is None


def test_the_warning_comes_before_the_first_call(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    prompt, log, database = tmp_path / "prompt.md", tmp_path / "log.jsonl", str(tmp_path / "d.db")
    prompt.write_text(PROMPT_FOR_GRADES.replace("{form}", "Total rating: 3"))
    log.write_text(json.dumps({"id": "a", "question": "How high?", "answer": "30 m."}))
    assert run(["import", str(log), "--db", database]) == 0
    capsys.readouterr()
    words = ["judge", "--judge", "grade", "--prompt", str(prompt), "--replies", str(file_of(tmp_path, "correct 1"))]
    assert run([*words, "--db", database, "--json"]) == 0
    out, err = capsys.readouterr()
    sentence = (
        "The prompt asks for replies in the form 'Total rating: 3', but the grade judge reads 'correct 1', "
        "'incorrect 0', 'Grade:'. Other replies are unparsable."
    )
    assert f"warning: {sentence}" in err
    assert json.loads(out)["warnings"] == [sentence]
