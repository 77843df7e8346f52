"""What the other pages show: pairs, sampled questions, a suite with recorded answers, and decisions in a queue."""

from datetime import timedelta
from typing import Any

from sample_source.dice import Dice
from sample_source.plan import MODEL_AFTER_DROP, MODELS, Answer
from sample_source.reviewers import REVIEWERS
from sample_source.second_judge import NAME
from sample_source.selection import even

PAIRED = {
    "complex": 3,
    "simple": 2,
    "sql": 1,
}  # per week: 60 in all, fewer where an answer has one sentence
SAMPLED = {"complex": 2, "simple": 2}  # per week: 40 in all
CASES = 30
TRIES = 5
LATER = timedelta(days=1)  # after a question, people compare two answers to it
LETTERS = "ABCD"
SOLVER = "tarn-solver-3"
DIMENSIONS = ("accuracy", "helpfulness", "safety", "coherence")


def pairs(dice: Dice, answers: list[Answer]) -> list[dict[str, Any]]:
    """Return the rows of ``pairs.jsonl``: a full answer against one that is shorter or partly made up."""
    made_up = [sentence.text for answer in answers for _, _, sentence in answer.draft.unsupported]
    rows = []
    for answer in even(dice, answers, PAIRED):
        sentences = answer.draft.sentences
        supported = [sentence.text for sentence in sentences if sentence.supported]
        if not supported:
            continue
        better = answer.draft.glue.join(supported)
        worse = answer.draft.glue.join([supported[0], dice.pick(made_up)])
        first = dice.chance(0.5)
        side, other = ("a", "b") if first else ("b", "a")
        rows.append(
            {
                "id": f"pair-{len(rows) + 1:03}",
                "question": answer.draft.query,
                "query_type": answer.draft.query_type,
                "answer_a": better if first else worse,
                "answer_b": worse if first else better,
                "model_a": MODELS["complex"] if first else MODEL_AFTER_DROP,
                "model_b": MODEL_AFTER_DROP if first else MODELS["complex"],
                "judge": NAME,
                # The judge likes what it reads first: in a fifth of the pairs that decides.
                "verdict_order_ab": "a" if dice.chance(0.2) else _seen(dice, side, other, 0.85),
                "verdict_order_ba": "b" if dice.chance(0.2) else _seen(dice, side, other, 0.85),
                "human": [
                    {
                        "annotator": person.name,
                        "preference": _seen(dice, side, other, person.catches - 0.08),
                        "at": (answer.asked_at + LATER).strftime("%Y-%m-%dT%H:%M:%SZ"),
                    }
                    for person in REVIEWERS[: 3 if len(rows) % 3 == 0 else 2]
                ],
            }
        )
    return rows


def samples(dice: Dice, answers: list[Answer]) -> list[dict[str, Any]]:
    """Return the rows of ``samples.jsonl``: questions with four options, and a model's answers in five tries."""
    texts = sorted({answer.draft.sentences[0].text for answer in answers})
    rows = []
    for number, answer in enumerate(even(dice, answers, SAMPLED), start=1):
        right = answer.draft.sentences[0].text
        options = dice.shuffled(
            [right, *[text for text in dice.several(texts, 4) if text != right][:3]]
        )
        letter = LETTERS[options.index(right)]
        skill = dice.pick((0.35, 0.7, 0.9, 0.98))
        tries = [letter if dice.chance(skill) else dice.pick(LETTERS) for _ in range(TRIES)]
        rows.append(
            {
                "id": f"question-{number:03}",
                "question": answer.draft.query,
                "category": answer.draft.query_type,
                "options": options,
                "reference": letter,
                "gold": "a",
                "judge": SOLVER,
                "samples": [None if dice.chance(0.02) else one for one in tries],
                "verdicts": {
                    "A": {order: _seen(dice, "a", "b", 0.45 + skill / 3) for order in ("ab", "ba")},
                    "B": {
                        order: _seen(dice, "a", "b", 0.2 + 0.75 * skill) for order in ("ab", "ba")
                    },
                },
            }
        )
    return rows


def suite(dice: Dice, answers: list[Answer]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the suite, and the rows of ``suite_answers.jsonl``: two models' answers with a judge's scores."""
    whole = [
        answer for answer in answers if answer.draft.passages and answer.draft.mood == "grounded"
    ]
    made_up = [sentence.text for answer in answers for _, _, sentence in answer.draft.unsupported]
    cases, rows = [], []
    for number, answer in enumerate(dice.several(whole, CASES), start=1):
        draft = answer.draft
        cases.append(
            {
                "id": f"case-{number:02}",
                "query": draft.query,
                "context": draft.passages,
                "reference": draft.answer,
            }
        )
        for model, share in ((MODELS["complex"], 0.1), (MODEL_AFTER_DROP, 0.5)):
            wrong = dice.chance(share)
            text = f"{draft.answer} {dice.pick(made_up)}" if wrong else draft.answer
            scores = {
                name: dice.between(1, 3) if wrong and name == "accuracy" else dice.between(4, 5)
                for name in DIMENSIONS
            }
            why = "One statement is not in the passages." if wrong else "Right and complete."
            rows.append(
                {
                    "model": model,
                    "query": draft.query,
                    "answer": text,
                    "scores": scores,
                    "reasoning": why,
                }
            )
    return {"name": "climbing assistant", "threshold": 3.5, "max_drop": 0.05, "cases": cases}, rows


def decisions(dice: Dice, answers: list[Answer]) -> list[dict[str, Any]]:
    """Return the rows of ``queue_reviews.jsonl``: what two of three reviewers decide on every second complex answer."""
    rows = []
    queued = [answer for answer in answers if answer.draft.query_type == "complex"][::2]
    for number, answer in enumerate(queued):
        bad = bool(answer.draft.unsupported)
        for person in (REVIEWERS[number % 3], REVIEWERS[(number + 1) % 3]):
            noticed = dice.chance(person.catches - 0.1 if bad else person.alarms)
            rows.append(
                {
                    "response_id": answer.id,
                    "reviewer": person.name,
                    "decision": "unsure"
                    if dice.chance(0.03)
                    else "confirm"
                    if noticed
                    else "dismiss",
                    "seconds": dice.between(8, 90),
                }
            )
    return rows


def _seen(dice: Dice, right: str, wrong: str, share: float) -> str:
    """Return the right side in ``share`` of the calls, else the other one or a tie."""
    return right if dice.chance(share) else dice.pick((wrong, "tie"))
