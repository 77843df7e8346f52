"""A recorded second judge: informed but noisy, and too kind to long answers."""

import json
import re
from typing import Any

from sample_source.dice import Dice
from sample_source.plan import Answer

NAME = "climb-judge-8b"
LONG = 75  # words from which it grows kind
QUALITY = {
    1: "The question is not answered.",
    2: "What is said does not meet the question.",
    3: "Part of the question stays open.",
    4: "The question is answered directly and completely.",
}
SUPPORTED = (
    "Every statement can be traced to a passage.",
    "All claims are backed by the context.",
    "The answer stays within the passages.",
)
PARTLY = (
    "Most of it is in the passages, but {about} is not.",
    "The context covers part of this; {about} has no source.",
)
UNSURE = (
    "Some of the wording goes beyond the passages.",
    "I could not match every part with a passage.",
)
HARDLY = (
    "The passages say little of this, for instance nothing about {about}.",
    "Largely the model's own: {about} is not in the context.",
)


def verdict(dice: Dice, answer: Answer) -> dict[str, Any]:
    """Return the row of ``verdicts.jsonl`` for ``answer``: every one usable, a few with a label alone."""
    draft = answer.draft
    words = len(draft.answer.split())
    kindness = 0.15 if words > LONG else 0.0
    missed = dice.chance(0.07) and draft.groundedness < 1
    strict = dice.chance(0.05)
    value = (
        (min(0.8, draft.groundedness + 0.4) if missed else draft.groundedness)
        + kindness
        + dice.bell(0.08)
        - (0.25 if strict else 0.0)
    )
    groundedness = round(min(1.0, max(0.0, value)) * 20) / 20
    quality = min(4, max(1, round(draft.quality + dice.bell(0.5) + 2 * kindness)))
    label = "grounded" if groundedness >= 0.6 else "hallucinated"
    said: dict[str, Any] = {}
    if draft.passages is not None:
        said["groundedness"] = groundedness
    said["quality"] = quality
    if draft.passages is not None:
        said["label"] = label
    said["reasoning"] = f"{_why(dice, answer, groundedness)} {QUALITY[quality]}"
    row = {"response_id": answer.id, "judge": NAME} | said
    raw = json.dumps(said, ensure_ascii=False)
    manner = dice.below(18)
    if manner == 0 and draft.passages is not None:
        del row["groundedness"], row["quality"]
        row["reasoning"] = said["reasoning"].split(". ")[0].rstrip(".") + "."
        raw = f"Verdict: {label}. {row['reasoning']}"
    elif manner == 1:
        raw = f"```json\n{raw}\n```"
    elif manner == 2:
        raw = f"Here is my evaluation:\n{raw}"
    row["raw"] = raw
    if draft.passages and (claims := _claims(answer, groundedness)):
        row["claims"] = claims
    return row


def _claims(answer: Answer, groundedness: float) -> list[dict[str, Any]]:
    """Return a claim for each statement; a judge that overlooked what was made up calls all of them supported."""
    claims = []
    for sentence in answer.draft.sentences:
        claim: dict[str, Any] = {
            "text": sentence.text,
            "status": "supported",
            "answer_quote": sentence.text,
        }
        if sentence.supported or groundedness >= 0.9:
            claim |= _place(sentence.text, answer.draft.passages or [])
        else:
            claim["status"] = "unsupported"
        claims.append(claim)
    return claims


def _place(text: str, passages: list[str]) -> dict[str, Any]:
    """Return the number of the passage, and its sentence, that shares most longer words with a text; {} without any."""
    words = _words(text)
    places = [
        (number, part)
        for number, each in enumerate(passages, start=1)
        for part in each.split(". ")
        if part
    ]
    number, quote = max(places, key=lambda place: (len(words & _words(place[1])), -place[0]))
    return {"passage": number, "passage_quote": quote} if words & _words(quote) else {}


def _words(text: str) -> set[str]:
    return {word for word in re.findall(r"\w+", text.casefold()) if len(word) > 3 or word.isdigit()}


def _why(dice: Dice, answer: Answer, groundedness: float) -> str:
    if answer.draft.passages is None:
        return "No context was given, so only the quality is rated."
    if groundedness >= 0.9:
        return dice.pick(SUPPORTED)
    doubtful = [sentence for sentence in answer.draft.sentences if not sentence.supported]
    if not doubtful:
        return dice.pick(UNSURE)
    return dice.pick(PARTLY if groundedness >= 0.5 else HARDLY).format(
        about=dice.pick(doubtful).about
    )
