"""Complex questions of the last three weeks, answered once more by the model from before the drop."""

import re
from dataclasses import replace

from sample_source.dice import Dice
from sample_source.draft import Draft, Sentence
from sample_source.plan import MODEL_AFTER_DROP, MODELS, Answer

SOURCE = "replay"
MOST_SENTENCES = 3


def replays(dice: Dice, answers: list[Answer]) -> list[Answer]:
    """Return the new answers, with the id of the old one in ``metadata``; nobody asked them, so no time is logged."""
    made_up = [sentence for answer in answers for _, _, sentence in answer.draft.unsupported]
    moved = [
        answer for answer in answers if answer.draft.passages and answer.model == MODEL_AFTER_DROP
    ]
    return [
        replace(
            answer,
            id=answer.id.replace("belay", SOURCE),
            model=MODELS["complex"],
            draft=_draft(dice, answer, made_up),
        )
        for answer in moved
    ]


def _draft(dice: Dice, answer: Answer, made_up: list[Sentence]) -> Draft:
    """Return an answer in the words of the passages; one in eight has a sentence that is not in them."""
    draft = answer.draft
    wanted = _words(draft.query)
    scored_parts = []
    for passage in draft.passages or []:
        title, *parts = re.split(r"(?<=\.) ", passage)
        subject = re.split(r"[.,]", title)[0]
        about = 2 * len(wanted & _words(subject))
        scored_parts += [
            (about + len(wanted & _words(part)), f"{subject}: {part}") for part in parts
        ]
    best = sorted(scored_parts, key=lambda each: -each[0])[:MOST_SENTENCES]
    sentences = [
        Sentence(part, supported=True, about="the passage")
        for _, part in sorted(best, key=scored_parts.index)
    ]
    if dice.chance(1 / 8):
        sentences.append(dice.pick(made_up))
    quality = 4 if sum(score for score, _ in best) >= 3 * MOST_SENTENCES else 3
    return replace(
        draft,
        sentences=sentences,
        mood="grounded",
        quality=quality,
        glue=" ",
        metadata={"replay_of": answer.id},
    )


def _words(text: str) -> set[str]:
    """Return the longer words of a text without their endings."""
    return {word[:6] for word in re.findall(r"\w+", text.casefold()) if len(word) > 4}
