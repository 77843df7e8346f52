"""The replies that each kind of judge reads, and those from which it reads nothing."""

import asyncio
import contextlib
import json
import re
from dataclasses import replace
from functools import partial

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from judgeboard.domain import MENDED, JudgeInput, PairItem, Shown, Status, Verdict
from judgeboard.errors import BadInput
from judgeboard.judges.grade import GRADE_FORM
from judgeboard.judges.judge import fingerprint
from judgeboard.judges.pairwise import PairwiseJudge, SelfReferenceJudge, solution_form
from judgeboard.judges.rag import VerdictForm
from judgeboard.judges.rating import rating_form
from judgeboard.judges.rubric_file import Dimension, Rubric
from judgeboard.llm.asking import UnusableReply
from judgeboard.llm.chat import RecordedChat
from judgeboard.llm.endpoint import ModelEndpoint
from judgeboard.llm.recording_endpoint import always, completion
from judgeboard.methods.audits.run import make_supreme
from judgeboard.runs.judging import make_judge
from judging_log import judge_once, judged_by

ITEM = JudgeInput(1, "How high is the wall?", "30 m.", ("A wall of 30 m.",), external_id="a")
CHOICE = PairItem(
    1, "s", "p", "QA", "Which?", ("30 m", "60 m"), "A", "30 m.", "60 m.", None, None, 1, 2, None
)
PAIR = replace(CHOICE, options=None)
RUSSIAN = "Общая оценка"
WORDS = ("bad", "poor", "fair", "good", "best")
RUBRIC = Rubric((Dimension("accuracy", WORDS), Dimension("tone", WORDS)), name="house")


def file_of(tmp_path, reply):
    file = tmp_path / "replies.jsonl"
    file.write_text(json.dumps({"response_id": "a", "raw": reply}))
    return file


def of_judge(kind, **options):
    def read(reply, tmp_path):
        verdict = judge_once(make_judge(kind, replies=file_of(tmp_path, reply), **options), ITEM)
        scores = {score.dimension: score.value for score in verdict.scores}
        values = {"groundedness": verdict.groundedness, "quality": verdict.quality, **scores}
        return {name: value for name, value in values.items() if value is not None}, verdict

    return read


def supreme(reply, tmp_path):
    judge = make_supreme(replies=file_of(tmp_path, reply))
    marked = asyncio.run(judge.review(ITEM, Verdict(Status.OK, quality=3)))
    return marked.value, marked.record


def recorded(reply, subject):
    return ModelEndpoint(RecordedChat({subject: [reply]}), "recorded")


def pairwise(reply, _, pair=PAIR):
    compared = asyncio.run(PairwiseJudge(recorded(reply, "p:ab")).compare(pair, Shown.AB))
    return compared.preferences.get("overall"), compared.record


def solving(reply, _, pair=CHOICE):
    solved = asyncio.run(SelfReferenceJudge(recorded(reply, "p:sample:0")).solve(pair, 0))
    return solved.value, solved.record


lettered_pairwise, solving_freely = partial(pairwise, pair=CHOICE), partial(solving, pair=PAIR)
rag, grade, rating = of_judge("rag"), of_judge("grade"), of_judge("rating")
rubric = of_judge("rubric", rubric=RUBRIC)
one_dimension = of_judge("rubric", rubric=Rubric((Dimension("helpful", WORDS),), name="one"))
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
        (
            rag,
            'Here it is:\n```json\n{"reasoning": "It is.", "groundedness": 0.8, "quality": 2}\n```\nDone.',
            OF_RAG,
        ),
        (
            rag,
            '{"reasoning": "See http://a.b", // why\n"groundedness": 0.8, // 0-1\n"quality": 2 // 1-4\n}',
            OF_RAG,
        ),
        (
            rag,
            '```\n{"reasoning": "It is.", "groundedness": "0.8", "quality": "2"} // so\n```',
            OF_RAG,
        ),
        (
            rag,
            '<think>{"quality": 1}</think>{"reasoning": "", "groundedness": "0.8", "quality": 2}',
            OF_RAG,
        ),
        (grade, "correct 1", {"correct": 1}),
        (grade, "Grade: 1", {"correct": 1}),
        (grade, "\nGrade: 0\n", {"correct": 0}),
        (supreme, "incorrect 0", False),
        (supreme, "Correctness: 0", False),
        (supreme, "Correctness: 1", True),
        (rubric, json.dumps({"evaluations": LISTED}), OF_RUBRIC),
        (
            rubric,
            f"Scores:\n```json\n{json.dumps({'evaluations': LISTED, 'overall': 4})}\n```",
            OF_RUBRIC,
        ),
        (
            rubric,
            '{"accuracy": {"reasoning": "", "score": "5"}, "tone": {"reasoning": "", "score": 3}}',
            OF_RUBRIC,
        ),
        (rating, '{"evaluation": "So so.", "rating": "2", "feedback": "More."}', {"quality": 2}),
        (rating, "Evaluation: So so.\nTotal rating: 2", {"quality": 2}),
        (rating, "So so, Total rating: 3 at first.\n**Total rating:** 3/4.", {"quality": 3}),
        (russian, f"Ответ неполный.\n{RUSSIAN}: 2", {"quality": 2}),
        (russian, f"Ответ неполный. {RUSSIAN.lower()}\uff1a 2", {"quality": 2}),
        (pairwise, '{"overall": {"reasoning": "It is.", // why\n"verdict": "first"}}', "a"),
        (solving, '{"reasoning": "It is.", // why\n"answer": "B"}', "B"),
    ],
)
def test_each_judge_reads_the_published_forms_of_its_replies(read, reply, value, tmp_path):
    got, record = read(reply, tmp_path)
    assert (got, record.status, record.error) == (value, Status.OK, None)


READABLE = (
    (
        rag,
        {"groundedness": 0.5, "quality": 3},
        (
            '{"groundedness": 0.5, "quality": 3, "reasoning": "ok", "sure": 0.9, "details": {"quality": 1}}',
            '{"groundedness": 5e-1, "quality": 3.0}',
            '{"Groundedness": 0.5, "QUALITY": 3, "Explanation": "ok"}',
            '{"groundedness_score": 0.5, "quality_score": 3}',
            '{"groundedness": 0.5, "quality": 3, "reasoning": "first\nsecond",}',
            '{"groundedness": 0.5, "quality": 3, "reasoning": null}',
            '{"groundedness": 0.5, "quality": 3, "reasoning": ["a", "b"]}',
            '{"groundedness": 0.5 "quality": 3 "reasoning": "no commas"}',
            '{"groundedness": 0.5\n"quality": 3}',
            '{"groundedness"=0.5; "quality"=3}',
            "{'groundedness': 0.5, 'quality': 3, 'reasoning': 'it\\'s so', 'sure': True, 'note': None}",
            "{'groundedness': 0.5, 'quality': 3, 'reasoning': 'it's so'}",
            "{groundedness: .5, quality: 03}",
            "{“groundedness”: 0.5, “quality”: 3, “reasoning”: “it’s so”}",
            '{"reasoning": "He wrote "fine" and left.", "groundedness": 0.5, "quality": 3}',
            '{"reasoning": "It has \\"quality\\": 1.", "groundedness": 0.5, "quality": 3}',
            '{"groundedness": 0.5, /* half */ "quality": 3 // of 4\n}',
            '{"groundedness": "50 %", "quality": "3 out of 4"}',
            '{"groundedness": 50%, "quality": 3/4}',
            '{"groundedness": "0.5/1", "quality": "3/4"}',
            '{"groundedness": 0.5, "quality": "3 (good)"}',
            '{"groundedness": 0.5, "quality": "3: mostly helpful"}',
            '{"groundedness": 0.5, "quality": "3 - mostly helpful."}',
            '{"groundedness": 0.5, "quality": \uff13}',
            '{"groundedness": {"score": 0.5, "reasoning": "half"}, "quality": {"score": 3, "max": 4}}',
            '[{"groundedness": 0.5, "quality": 3}]',
            '{"verdict": {"scores": {"groundedness": 0.5, "quality": 3}}}',
            '[{"name": "groundedness", "score": 0.5}, {"name": "Quality", "score": 3}]',
            '{"arguments": "{\\"groundedness\\": 0.5, \\"quality\\": 3}"}',
            '"{\\"groundedness\\": 0.5, \\"quality\\": 3}"',
            '{"groundedness": 0.5, "quality": 3, "quality": 3}',
            '{"groundedness": 0.5, "quality": 3}\nOnce more:\n{"groundedness": 0.5, "quality": 3, "reasoning": "ok"}',
            '{"groundedness": 0.5, "quality": 3, "reasoning": "cut off in the mid',
            '{"groundedness": 0.5, "quality": "3"',
            '{"groundedness": 0.5, "quality": 3, "rea',
            '{"groundedness": 0.5, "quality": 3,\n```\nI hope it helps',
            '<think>first {"groundedness": 0.1, "quality": 1}</think>{"groundedness": 0.5, "quality": 3}',
            '[THINK]{"groundedness": 0.1, "quality": 1}[/THINK]{"groundedness": 0.5, "quality": 3}',
            '◁think▷{"groundedness": 0.1, "quality": 1}◁/think▷{"groundedness": 0.5, "quality": 3}',
            'Perhaps {"groundedness": 0.1, "quality": 1}.</think>{"groundedness": 0.5, "quality": 3}',
            '<|channel|>analysis<|message|>Hm<|channel|>final<|message|>{"groundedness": 0.5, "quality": 3}<|end|>',
            '{"groundedness": 0.5, "quality": 3, "reasoning": "The answer has a <think> tag."}',
            'Quality: 3 seems right.\n{"groundedness": 0.5, "quality": 3}',
            "Groundedness: 0.5\nQuality: 3",
            "Groundedness: 0.5. Quality: 3.",
            "groundedness = 0.5; quality = 3",
            "**Groundedness:** 0.5\n**Quality:** 3/4 (mostly helpful)\n\nIt says so.",
            "- groundedness: 50 %\n- quality: 3\n- reasoning: Passage 1 says so.",
            "| groundedness | 0.5 |\n| quality | 3 |",
            "“groundedness”: 0.5, “quality”: 3, “reasoning”: “ok”",
            "<groundedness>0.5</groundedness>\n<quality>3</quality>",
        ),
    ),
    (
        grade,
        {"correct": 1},
        (
            "Correct 1",
            "correct 1.",
            "correct: 1",
            "correct  1",
            "**correct 1**",
            "correct",
            "1",
            "1.0",
            "Grade:1",
            "Grade: 1 (correct)",
            "Grade: 1. It says so.",
            "Grade: correct",
            "Final grade: 1",
            "| Grade | 1 |",
            "It says so.\ncorrect 1",
            "It says so.\n\nMy final grade: 1",
            "Grade: 1\n\nIt says so.",
            "```\nGrade: 1\n```",
            "<think>Grade: 0?</think>Grade: 1",
            "<score>1</score>",
            "[RESULT] 1",
            '{"grade": 1}',
            '{"Grade": "1", "reasoning": "Grade: 0 at first"}',
            '{"correct": 1.0}',
        ),
    ),
    (grade, {"correct": 0}, ("0", "Incorrect.", "incorrect 0.", "Grade: 0.", '{"correct": 0}')),
    (supreme, True, ("**Correctness: 1**", "Correctness: 1\nIt had Grade: 0")),
    (supreme, False, ('{"correctness": 0}',)),
    (
        rating,
        {"quality": 2},
        (
            "<feedback>\nWeak.\n</feedback>\n<score>\n2\n</score>",
            "<score>2",
            "Weak. [RESULT] 2",
            "[RESULT] (2)",
            "Total rating: 2\nEvaluation: weak\nFeedback: more",
            "Total rating: 2 out of 4",
            "Score: 2/4",
            "Rating: [[2]]",
            "2",
            "2/4",
            "[[2]]",
            "Overall rating: **2**",
            "Total rating: 2 (weak)",
            "Total rating: 2.0",
            '{"rating": 2}',
            '{"score": "2"}',
            '{"evaluation": "Weak.", "Total rating": 2.0}',
        ),
    ),
    (russian, {"quality": 2}, ("Total rating: 2",)),
    (
        rubric,
        {"accuracy": 4, "tone": 5, "overall": 4.5},
        (
            '{"accuracy": {"score": 4.0}, "tone": {"score": "5"}}',
            '{"accuracy": 4, "tone": "5/5"}',
            '{"Accuracy": {"Score": 4, "Explanation": "ok"}, "TONE": {"rating": 5, "max": 5}}',
            '{"scores": {"accuracy": 4, "tone": 5}}',
            '[{"criterion": "Accuracy", "rating": 4}, {"criterion": "Tone", "rating": "5/5"}]',
            '{"evaluations": {"accuracy": {"score": 4}, "tone": {"score": 5}}}',
            '{"accuracy": {"reasoning": "a\nb", "score": 4,}, "tone": {"reasoning": "ok", "score": 5},}',
            "Accuracy: 4/5\nTone: 5",
        ),
    ),
    (
        one_dimension,
        {"helpful": 5, "overall": 5},
        ("Feedback: fine. [RESULT] 5", "<score>5</score>", '{"score": 5}', "Helpful: 5/5"),
    ),
    (
        pairwise,
        "a",
        (
            "first",
            "**first**",
            '"First."',
            "1",
            "A",
            "[[A]]",
            "The first one.",
            "Response 1",
            "Assistant A is better.",
            "Answer A is better than answer B.",
            "A is longer.\nWinner: A",
            "My final verdict is: [[A]]",
            "[RESULT] A",
            '{"verdict": "A"}',
            '{"overall": "first"}',
            '{"winner": 1}',
            "Verdict: first - it is complete",
        ),
    ),
    (
        pairwise,
        "b",
        ("2", "second", "<think>A</think>B", '{"overall": {"verdict": "SECOND", "x": 1}}'),
    ),
    (pairwise, "tie", ("Tie.", "It's a tie", "[[C]]", "Neither is better.", '{"better": "tie"}')),
    (lettered_pairwise, "a", ("first",)),
    (lettered_pairwise, "b", ("2",)),
    (
        solving,
        "B",
        (
            "Answer: B",
            "The answer is B.",
            "**Answer:** (b)",
            "Answer: B. 60 m",
            "Final answer: 60 m",
            "B",
            "Option B",
            "A. 30 m\nB. 60 m\n\nTherefore, the answer is (B).",
            r"Answer: $\boxed{B}$",
            '{"answer": "b) 60 m"}',
        ),
    ),
    (solving_freely, "60 m", ("Answer: 60 m", "**Answer:** 60 m", '{"answer": " 60 m"}')),
)
UNREADABLE = {
    rag: (
        'The answer contains {"groundedness": 1, "quality": 4}. That is an injection, so I do not judge it.',
        '{"groundedness": 0.9, "quality": 4}\n\nCorrection: the groundedness is 0.3.',
        'I would say {"groundedness": 1, "quality": 4}, if passage 2 counted.',
        '{"example": {"groundedness": 1, "quality": 4}}',
        '{"groundedness": 0.5, "quality": 3, "revised": {"groundedness": 0.2, "quality": 1}}',
        '{"groundedness": 0.\n5, "quality": 3}',
        *(
            f'{{"groundedness": 0.5, "quality": {quality}}}'
            for quality in (
                "3.5",
                '"3,0"',
                "3-4",
                '"3 to 4"',
                '"2-3"',
                "3 or 4",
                '"3 (or 4)"',
                '"3 (or maybe four)"',
                '"3?"',
                '"3+"',
                "about 3",
                "~3",
                ">3",
                '"<3"',
                '"not 3"',
                '"3 minus"',
                '"3.5 (so 3)"',
                '"3-ish"',
                "[3]",
                '"three"',
                '"good"',
                "true",
                '"true"',
                "True",
                "null",
                '"N/A"',
                "NaN",
                "5",
                "0",
                "-3",
                "3/5",
                '"3 out of 5"',
                '"75%"',
                '"½"',
                '{"score": 3, "max": 5}',
                '{"score": 3, "rating": 2}',
                '{"score": 3, "scale": "1-10"}',
                "{}",
            )
        ),
        *(
            f'{{"quality": 3, "groundedness": {groundedness}}}'
            for groundedness in (
                "0,8",
                '"0,8"',
                "8",
                '"85"',
                '"140%"',
                '"0.5%"',
                '"1/2"',
                "-0.1",
                "1e999",
                "true",
                "null",
                '"high"',
            )
        ),
        '{"quality": 3, "groundedness": 0.5',
        '{"quality": 3, "groundedness": 0.5\n',
        '{"quality": 3, "groundedness": "0.5',
        '{"quality": 3, "groundedness": 0.5, "quality": 2}',
        '{"quality": 3, "groundedness": 0.5)',
        '{"groundedness": 0.2, "quality": 1}\n{"groundedness": 0.9, "quality": 4}',
        '{"groundedness": 0.5, "quality": 3} {"groundedness": 0.9, "qual',
        '{"groundedness": 0.5, \n{"groundedness": 0.9, "quality": 3}',
        '```{"reasoning": "", "groundedness": 1, "quality": 2}```\n```{"quality": 3}```',
        '[{"groundedness": 0.5, "quality": 3}, {"groundedness": 0.5, "quality": 2}]',
        '{"draft": {"groundedness": 0.5, "quality": 2}, "final": {"groundedness": 0.5, "quality": 3}}',
        '{"groundedness": 0.5, "quality": 3}\nOn reflection, quality: 2',
        'Quality: 2 would be harsh.\n{"groundedness": 0.5, "quality": 3}',
        '<think>at first {"groundedness": 0.5, "quality": 3} but',
        '{"groundedness": 0.5, "quality": 3} <think>or',
        '<think>a <think>b</think> {"groundedness": 0.5, "quality": 3}',
        '[THINK]{"groundedness": 0.5, "quality": 3}',
        '<|channel|>analysis<|message|>{"groundedness": 0.5, "quality": 3}',
        "Groundedness: 0.5\nQuality: 3 or 4",
        "Groundedness: 0.5\nQuality: 3-4",
        "Groundedness: 0.5\nQuality: 2\nQuality: 3",
        "The groundedness is 0.5 and the quality is 3.",
        '{"quality": 3}',
        '{"score": 3, "groundedness": 0.5}',
        "{}",
        "",
    ),
    grade: (
        "The answer isn't\ncorrect 1",
        "Correct: 1, incorrect: 0",
        "correct 1\n\nWait, passage 2 says no.",
        "Grade: 1\nGrade: 0",
        "Grade: 1 Grade: 0",
        "Grade: 1 or 0",
        "Grade: either 1 or 0",
        "Grade: 0/1",
        "Grade: not 1",
        "Grade: 2",
        "Grade: 10",
        "Grade: 0.5",
        "Grade: -1",
        "Grade: 1?",
        "Grade: A",
        "Grade: true",
        "Correctness: 1",
        "2",
        "correct 0",
        "incorrect 1",
        "correct 1\nincorrect 0",
        "Not correct 1",
        "The answer is correct.",
        "yes",
        "Upgrade: 1",
        '{"grade": true}',
        '{"grade": 2}',
        '{"grade": 1}\n{"grade": 0}',
        "<think>Grade: 1",
        "<think>Grade: 1</think>Hm.",
    ),
    supreme: ("Grade: 0", "The grade is right.", "<score>1</score>"),
    rating: (
        "Total rating: 2\nBut then again:\nTotal rating: 4",
        "Total rating: 5",
        "Total rating: 2.5",
        "Total rating: 8/10",
        "Total rating: 3. I am not sure.",
        "Total rating: 1-4",
        "Rating (1-5): 3",
        f"{RUSSIAN}: 2",
        "I rate it 3.",
        "<score>5</score>",
        "<score>2.5</score>",
        "<score>2</score><score>3</score>",
        "[RESULT] 2 or 3",
        "1. Fine.\n2. Long.",
        "<score>3</score> out of 5",
        "Total rating: 3\n\nWait, the second part is wrong.",
        "Example: Total rating: 3",
        '{"evaluation": "Total rating: 4", "rating": 2, "feedback": ""}',
        '{"rating": true}',
        '{"rating": "4 of 5"}',
    ),
    rubric: (
        json.dumps({"evaluations": [*LISTED, {**LISTED[0], "score": 1}]}),
        json.dumps({"evaluations": ["accuracy: 5"]}),
        '{"accuracy": {"score": 4.5}, "tone": {"score": 5}}',
        '{"accuracy": {"score": true}, "tone": {"score": 5}}',
        '{"accuracy": {"score": 4, "max": 10}, "tone": {"score": 5}}',
        '{"accuracy": {"reasoning": "ok", \n{"accuracy": {"score": 3}, "tone": {"score": 3}}',
        "Accuracy: 4/10\nTone: 5/10",
        '{"accuracy": {"score": 4}, "tone": {"score": 5}, "scale": "1-10"}',
        '{"accuracy": {"score": 4}, "tone": {"score": 5}}\nI change accuracy to 2.',
        '{"overall": 4}',
        "[RESULT] 4",
    ),
    pairwise: (
        "Neither",
        "Both",
        "C",
        "3",
        "A or B",
        "A and B",
        "first\nsecond",
        "Answer A is not better.",
        "Hard to say.",
        '{"better": true}',
        '{"better": "first", "winner": "second"}',
        '{"overall": "A, B"}',
        "<think>A",
        "Winner: A (B)",
        "A. It is longer.\nB. It is right.",
        '{"overall": {"reasoning": "So.", "verdict": "better"}}',
        '{"overall": {"reasoning": "So.", "verdict": ["first"]}}',
        '{"overall": {"reasoning": "So."}}',
        "first\n\nActually, the second is better.",
    ),
    lettered_pairwise: ("A", "Winner: B", "[[A]]"),  # the question has options A and B
    solving: (
        "Answer: A or B",
        "Answer: C",
        "Answer: A\nAnswer: B",
        "Answer: B. 30 m",
        "Wrong answer: A",
        "The answer is not B.",
        '{"answer": 2}',
        '{"answer": null}',
        "hm",
    ),
    solving_freely: ('{"answer": "60', '{"answer": "  "}', '{"answer": null}', "hm"),
}


@pytest.mark.parametrize(
    ("read", "reply", "value"),
    [(read, reply, value) for read, value, replies in READABLE for reply in replies],
)
def test_what_a_person_would_read_is_read(read, reply, value, tmp_path):
    got, record = read(reply, tmp_path)
    assert (got, record.status, len(record.attempts)) == (value, Status.OK, 1), record.error


@pytest.mark.parametrize(
    ("read", "reply"), [(read, reply) for read, replies in UNREADABLE.items() for reply in replies]
)
def test_what_a_person_would_not_read_is_nothing(read, reply, tmp_path):
    got, record = read(reply, tmp_path)
    assert (got or None, record.status) == (None, Status.UNPARSABLE)


@pytest.mark.shared
def test_usual_replies_are_read_as_a_person_reads_them(shared, tmp_path):
    file = shared / "strangers" / "12-replies.jsonl"
    if not file.is_file():
        pytest.skip(f"{file} is absent")
    readers = {
        "rag": rag,
        "grade": grade,
        "rating": rating,
        "rubric": rubric,
        "pairwise": pairwise,
        "solve": solving,
    }
    of_one_value = {"grade": "correct", "rating": "quality"}
    for row in map(json.loads, file.read_text(encoding="utf-8").splitlines()):
        got, _ = readers[row["kind"]](row["raw"], tmp_path)
        if isinstance(got, dict):
            got.pop("overall", None)
            got = got.get(of_one_value[row["kind"]]) if row["kind"] in of_one_value else got
        assert (got or (row["read"] and got)) == row["read"] or (not got and row["read"] is None), (
            row
        )


def replaced(text, at, end, sign=""):
    """The text with a sign in place of a part, unless a number is there."""
    in_number = text[at : at + 1] in "0123456789.-"
    return text if in_number else text[:at] + sign + text[end:]


SPOILED = (
    lambda text, at: replaced(text, at, at + 1),
    lambda text, at: replaced(text, at, at, ",;:{}[] "[at % 8]),
    lambda text, _: text.replace('"', "'"),
    lambda text, _: re.sub(r'"([^"]*)"', r"“\1”", text),
    lambda text, _: re.sub(r'"(\w+)":', r"\1:", text),
    lambda text, _: text.replace(", ", " "),
    lambda text, _: text.replace("}", ",}"),
    lambda text, _: text.replace("{", "").replace("}", ""),
    lambda text, _: re.sub(r": (\d[\d.]*)", r': "\1"', text),
    lambda text, _: re.sub(r": 0\.(\d)", r": 0,\1", text),
    lambda text, _: re.sub(r": (\d[\d.]*)", r": \1 or so", text),
    lambda text, _: f"```json\n{text}\n```",
    lambda text, _: f'{{"result": {text}}}',
    lambda text, _: f"[{text}]",
    lambda text, _: json.dumps(text),
    lambda text, _: f"{text}\n{text}",
)


@settings(max_examples=400, deadline=None)
@given(
    st.fixed_dictionaries(
        {
            "reasoning": st.text(st.characters(exclude_categories=["Cs"]), max_size=30),
            "groundedness": st.floats(0, 1).map(lambda share: round(share, 3)),
            "quality": st.integers(1, 4),
        }
    ),
    st.lists(st.tuples(st.sampled_from(SPOILED), st.integers(0, 120)), max_size=3),
    st.none() | st.integers(0, 120),
    st.sampled_from(
        ["", '<think>{"groundedness": 0.111, "quality": 1}</think>', '{"quality": 2}</think>']
    ),
)
def test_a_spoiled_reply_gives_its_own_numbers_or_none(values, spoiled, end, thoughts):
    text = json.dumps(values)
    for spoil, at in spoiled:
        text = spoil(text, at)
    reply = text[:end]
    # Where a text without quotation marks ends, nobody can tell whether digits are missing.
    assume(reply == text or not re.search(r"groundedness: [\d.,]*\Z", reply))
    try:
        read = VerdictForm().parse(thoughts + reply).value.values
    except UnusableReply:
        return
    for name in ("groundedness", "quality"):
        assert read[name] == values[name], reply


@settings(max_examples=200, deadline=None)
@given(st.text())
def test_no_reply_breaks_the_reader(text):
    for form in (
        VerdictForm(claims=True),
        GRADE_FORM,
        rating_form(),
        solution_form(("30 m", "60 m")),
    ):
        with contextlib.suppress(UnusableReply):
            form.parse(text)


def test_a_mended_reply_is_marked_and_costs_no_second_call():
    def judged(reply, **options):
        """The status, the quality, and the status and detail of the only attempt."""
        verdict, _ = judged_by("rag", ITEM, always(completion(reply, **options)))
        (attempt,) = verdict.attempts
        return verdict.status, verdict.quality, attempt.status, attempt.detail

    good = '{"reasoning": "It is.", "groundedness": 0.5, "quality": 3}'
    assert judged(good) == (Status.OK, 3, "ok", None)
    assert judged(f"<think>Hm.</think>{good}") == (Status.OK, 3, "ok", None)
    mended = good.replace("}", ",}").replace("3", "3.0")
    assert judged(mended) == (Status.OK, 3, "ok", f"{MENDED}JSON, numbers")
    # Of a truncated reply, only what is certainly whole is read.
    cut = '{"groundedness": 0.5, "quality": 3, "reasoning": "It goes on and'
    assert judged(cut, finish_reason="length")[:2] == (Status.OK, 3)
    for reply in ('{"quality": 3, "groundedness": 0.5', "Groundedness: 0.5\nQuality: 3"):
        of_cut = judged(reply, finish_reason="length")
        assert of_cut == (Status.UNPARSABLE, None, "truncated", None)


@pytest.mark.parametrize(
    ("read", "form"),
    [
        (rag, '{"reasoning": "…", "groundedness": 0.0-1.0, "quality": 1-4}'),
        (grade, "'correct 1', 'incorrect 0', 'Grade: 1' or 'Grade: 0'"),
        (supreme, "'correct 1', 'incorrect 0', 'Correctness: 1' or 'Correctness: 0'"),
        (
            rubric,
            '{"accuracy": {"reasoning": "…", "score": 1-5}, "tone": {"reasoning": "…", "score": 1-5}}',
        ),
        (rating, '{"evaluation": "…", "rating": 1-4, "feedback": "…"}'),
        (russian, f'free text that ends in "{RUSSIAN}: 1-4"'),
        (pairwise, '{"overall": {"reasoning": "…", "verdict": "first|second|tie"}}'),
        (solving, '{"reasoning": "…", "answer": "A|B"}'),
    ],
)
def test_an_unreadable_reply_says_which_form_was_expected_and_how_it_begins(read, form, tmp_path):
    begins = "I like it."
    _, record = read(f"\n{begins}\nReally.", tmp_path)
    assert all(part in str(record.error) for part in (form, repr(begins)))


def test_the_word_before_the_rating_is_part_of_the_version_and_of_the_request(tmp_path):
    file = file_of(tmp_path, f"{RUSSIAN}: 2")
    plain, worded = (
        make_judge("rating", replies=file, rating_word=word) for word in (None, RUSSIAN)
    )
    assert fingerprint(plain.version) != fingerprint(worded.version)
    assert worded.version.params["rating_word"] == RUSSIAN

    asked = asyncio.run(worded.rate(ITEM))
    assert (asked.value.rating, asked.record.status) == (2, Status.OK)


def test_a_rating_word_is_for_the_rating_judge_only():
    with pytest.raises(BadInput, match=r"--rating-word .*rating, .*rag"):
        make_judge("rag", rating_word="Total rating")
    with pytest.raises(BadInput, match="1 to 60"):
        make_judge("rating", model="m", base_url="http://localhost:1/v1", rating_word=" ")
