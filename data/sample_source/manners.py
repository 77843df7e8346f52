"""How people type their questions, and what the assistant's prompt looks like."""

from typing import Any

from sample_source.dice import Dice
from sample_source.draft import Draft

GREETINGS = (
    "Hi! ",
    "Hello! ",
    "Quick question: ",
    "Hey Belay! ",
    "Morning! ",
    "Question from a beginner: ",
)
NO_NAMES = ("A", "About", "At", "Because", "By", "In", "No,", "On", "The", "Towering", "Velcro,")
THANKS = (" Thanks!", " Thank you.", " cheers", " Short answer please.", " Need it by tonight.")
SYSTEM = (
    "You are Belay, the climbing assistant of the Tarn Club. Answer from the numbered passages only. "
    "If they do not contain the answer, say so."
)
SYSTEM_SQL = (
    "You are Belay, the climbing assistant of the Tarn Club. Put the result of "
    "the query into one or two sentences."
)


def typed(dice: Dice, query: str) -> str:
    """Return ``query`` as somebody types it on a phone or on a computer."""
    throw = dice.below(20)
    if throw < 2:
        return dice.pick(GREETINGS) + query
    if throw < 4:
        return query + dice.pick(THANKS)
    if throw < 6:
        return query.lower().rstrip("?.")
    return query


def prompt(draft: Draft) -> list[dict[str, Any]]:
    """Return the messages that the model was sent."""
    system = SYSTEM_SQL if draft.query_type == "sql" else SYSTEM
    passages = "\n".join(
        f"[{number}] {passage}" for number, passage in enumerate(draft.passages or [], start=1)
    )
    user = f"Passages:\n{passages or '(none)'}\n\nQuestion: {draft.query}"
    return [{"role": "system", "content": system}, {"role": "user", "content": user}]


def hedged(answer: str) -> str:
    """Return an answer that claims no certainty and otherwise says the same."""
    first = answer.split(" ", 1)[0]
    return f"I think {first.lower() if first in NO_NAMES else first}{answer[len(first) :]}"
