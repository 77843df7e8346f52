"""A queue item in a terminal and as JSON: its texts, what judges said where that may be seen, what to type next."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from judgeboard.queues import Held
    from judgeboard.queues.item_texts import ItemText
    from judgeboard.store.responses.item_parts import ItemFlag, ItemJudgment

# What would steer a terminal: control characters, half characters, and marks that turn the direction of reading.
_STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
MISSING = "(not there: forgotten or never recorded)"


def readable(text: str | None) -> str:
    """Return a text of a log as a terminal may show it: without the control characters that would steer it."""
    return MISSING if text is None else _STEERING.sub("\N{REPLACEMENT CHARACTER}", text)


def held_lines(held: "Held", text: "ItemText") -> list[str]:
    """Return an item with its guidelines and the commands that decide it."""
    from judgeboard.queues.item_texts import PairText

    lines = [f"{held.queue.name}: item {held.item_id}, {readable(text.query_type)}, yours until {held.until:%H:%M} UTC"]
    if held.queue.guidelines:
        lines += _part("guidelines", held.queue.guidelines)
    lines += _part("question", text.question)
    if isinstance(text, PairText):
        lines += [line for number, one in enumerate(text.options, 1) for line in _part(f"option {number}", one)]
    for number, passage in enumerate(text.passages or (), 1):
        lines += _part(f"passage {number}", passage)
    if isinstance(text, PairText):
        lines += [*_part("left", text.left), *_part("right", text.right), ""]
        return [*lines, f"judgeboard queue decide {held.token} left|tie|right --note WHY"]
    if text.passages is None:
        lines += ["", "(the log carried no passages)"]
    lines += ["", f"ANSWER {readable(text.external_id)}", readable(text.answer), ""]
    return [*lines, f"judgeboard queue decide {held.token} confirm|dismiss|unsure {_options(held.queue.grades)}"]


def held_json(held: "Held", text: "ItemText") -> dict[str, Any]:
    """Return an item as JSON values."""
    from judgeboard.queues.item_texts import PairText
    from judgeboard.times import iso_z

    shown: dict[str, Any] = {
        "item": held.item_id,
        "token": held.token,
        "until": iso_z(held.until),
        "queue": held.queue.name,
        "guidelines": held.queue.guidelines,
        "query_type": text.query_type,
        "question": text.question,
        "passages": None if text.passages is None else list(text.passages),
    }
    if isinstance(text, PairText):
        return shown | {"options": list(text.options), "left": text.left, "right": text.right}
    return shown | {"id": text.external_id, "answer": text.answer, "grades": list(held.queue.grades)}


def judge_lines(flags: "Sequence[ItemFlag]", judgments: "Sequence[ItemJudgment]") -> list[str]:
    """Return why an answer is flagged and what the judges say of it now."""
    lines = [readable(flag.why) for flag in flags]
    for one in judgments:
        groundedness = None if one.groundedness is None else f"groundedness {one.groundedness:.2f}"
        quality = None if one.quality is None else f"quality {one.quality}"
        said = ", ".join(each for each in (one.label, groundedness, quality) if each is not None) or "no score"
        lines += [f"{one.version_title} (judgment {one.id}): {said}"]
        lines += [f"  {readable(one.reasoning)}"] if one.reasoning else []
    return lines


def judge_json(flags: "Sequence[ItemFlag]", judgments: "Sequence[ItemJudgment]") -> dict[str, Any]:
    """Return the same as JSON values."""
    names = ("id", "version_title", "label", "groundedness", "quality", "reasoning")
    return {
        "flags": [{"rule": flag.rule, "why": flag.why} for flag in flags],
        "judgments": [{name: getattr(one, name) for name in names} for one in judgments],
    }


def _part(title: str, text: str | None) -> list[str]:
    return ["", title.upper(), readable(text)]


def _options(grades: Sequence[str]) -> str:
    known = {
        "label": "--label grounded|hallucinated",
        "groundedness": "--groundedness 0..1",
        "quality": "--quality 1..4",
    }
    return " ".join(known.get(grade, f"--score '{grade}=1..5'") for grade in grades)
