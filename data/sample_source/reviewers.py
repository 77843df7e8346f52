"""Three people who grade answers, each in their own way."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from sample_source.dice import Dice
from sample_source.draft import Sentence
from sample_source.plan import Answer

ANCHORS = (0.0, 0.2, 0.5, 0.8, 1.0)


@dataclass(frozen=True)
class Reviewer:
    """One grader: what they catch, where they draw the line, and which values they use.

    ``catches`` is the chance to notice an unsupported sentence, ``alarms`` to doubt a supported
    one; ``line`` is the groundedness below which they call an answer hallucinated; ``steps`` the
    values on their scale; ``raises`` and ``lowers`` are the chances of a quality one higher or
    lower than deserved.
    """

    name: str
    catches: float
    alarms: float
    line: float
    steps: tuple[float, ...]
    raises: float
    lowers: float


REVIEWERS = (
    Reviewer("mara", 0.98, 0.02, 0.95, tuple(step / 20 for step in range(21)), 0.04, 0.12),
    Reviewer("jon", 0.85, 0.0, 0.75, ANCHORS, 0.18, 0.03),
    Reviewer("ines", 0.94, 0.015, 0.85, tuple(step / 10 for step in range(11)), 0.07, 0.07),
)

MISSING = (
    "{about_cap} is not in the passages.",
    "Nothing in the passages about {about}.",
    "Where does {about} come from? Not from the context.",
    "Made up: {about}.",
    "No source for {about}.",
    "I cannot find {about} in any passage.",
)
WRONG = (
    "Passage says something else about {about}.",
    "Wrong value for {about}, see the passage.",
    "{about_cap}: contradicts the guide.",
)
OTHER = {
    1: (
        "No answer at all.",
        "Should have known this.",
        "Refuses although the question is fair.",
        "The user gets nothing.",
    ),
    2: ("Answers a different question.", "Off the point.", "True, but nobody asked."),
    3: (
        "Half of the question is left open.",
        "Too brief.",
        "Leaves out a part.",
        "Usable, with gaps.",
    ),
    4: (
        "Fine.",
        "Good, complete.",
        "Checked against the passages, all there.",
        "Exactly what I would have said.",
    ),
}


def grade(dice: Dice, reviewer: Reviewer, answer: Answer) -> dict[str, Any]:
    """Return the row of ``grades.jsonl`` that ``reviewer`` gives to ``answer``."""
    draft = answer.draft
    quality = (
        draft.quality
        + (1 if dice.chance(reviewer.raises) else 0)
        - (1 if dice.chance(reviewer.lowers) else 0)
    )
    row: dict[str, Any] = {"response_id": answer.id, "annotator": reviewer.name}
    marked: list[tuple[int, int, Sentence]] = []
    if draft.passages is not None:
        marked = _marked(dice, reviewer, answer)
        share = 1 - sum(end - start for start, end, _ in marked) / len(draft.answer)
        row["label"] = "hallucinated" if share < reviewer.line else "grounded"
        row["groundedness"] = min(reviewer.steps, key=lambda step: abs(step - share))
    row["quality"] = min(4, max(1, quality))
    if draft.passages is not None:
        row["spans"] = [
            {"start": start, "end": end, "text": draft.answer[start:end]}
            for start, end, _ in marked
        ]
    note = _note(dice, answer, marked, row["quality"])
    if note:
        row["note"] = note
    later = timedelta(hours=dice.between(5, 60), minutes=dice.below(60), seconds=dice.below(60))
    row["at"] = (answer.asked_at + later).strftime("%Y-%m-%dT%H:%M:%SZ")
    return row


def _marked(dice: Dice, reviewer: Reviewer, answer: Answer) -> list[tuple[int, int, Sentence]]:
    """Return what the reviewer marks: most unsupported sentences, at times a supported one."""
    marked = []
    start = 0
    for sentence in answer.draft.sentences:
        if dice.chance(reviewer.alarms if sentence.supported else reviewer.catches):
            marked.append((start, start + len(sentence.text), sentence))
        start += len(sentence.text) + len(answer.draft.glue)
    return marked


def _note(
    dice: Dice, answer: Answer, marked: list[tuple[int, int, Sentence]], quality: int
) -> str | None:
    if marked:
        if dice.chance(0.2):
            return None
        sentence = dice.pick(marked)[2]
        phrases = WRONG if answer.draft.mood == "wrong" and answer.draft.passages else MISSING
        about = sentence.about
        return dice.pick(phrases).format(about=about, about_cap=about[0].upper() + about[1:])
    return dice.pick(OTHER[quality]) if dice.chance(0.3) else None
