"""The pane with the raw calls of the judges of an answer."""

from collections.abc import Iterable

from judgeboard.domain import Attempt
from judgeboard.llm.chat import Message
from judgeboard.runs.raw_calls import RawCall, raw_calls
from judgeboard.store.items import Item, StoredCall
from judgeboard.text import money
from judgeboard_dashboard.evidence import Html, tag
from judgeboard_dashboard.review.signals import shown_judgments
from judgeboard_dashboard.session import reading

LONGEST = 200_000  # characters of one text
REBUILT = "Prompt, rebuilt from the judge version and the answer by the code that sends it (prompts are not stored)"


def raw_calls_pane(item: Item) -> Html:
    """Return each judge's call for its judgment that is shown; the first is open. Reads them from the store."""
    judgments = {judgment.id: judgment for judgment in shown_judgments(item)}
    with reading() as connection:
        calls = raw_calls(connection, item.response_id, list(judgments))
    parts = [
        tag(
            "details",
            tag("summary", f"{judgments[raw.call.id].version_title}: {_account(raw)}"),
            *_texts(raw),
            cls="jb-block",
            open="" if place == 0 else None,
        )
        for place, raw in enumerate(calls)
    ]
    return tag("div", tag("div", "Raw calls", cls="jb-label"), *parts, cls="jb-pane")


def message_texts(messages: Iterable[Message]) -> list[Html]:
    """Return the messages of a request, each under its role."""
    return [_text(message["role"].capitalize(), message["content"]) for message in messages]


def attempt_texts(attempts: Iterable[Attempt]) -> list[Html]:
    """Return the replies to the requests of one call, each under its status, tokens, time and fault."""
    return [
        _text(_line(f"Call {number}: {attempt.why}", attempt.status, *_spent(attempt), attempt.detail), attempt.raw)
        for number, attempt in enumerate(attempts, start=1)
    ]


def _account(raw: RawCall) -> str:
    call = raw.call
    cost = f"cost {'unknown' if call.cost_micro is None else money(call.cost_micro)}"
    calls = f"{len(call.attempts)} calls" if len(call.attempts) > 1 else None
    return _line(call.status, call.model_reported, *_spent(call), cost, calls)


def _line(*facts: str | None) -> str:
    return " · ".join(filter(None, facts))


def _spent(call: StoredCall | Attempt) -> list[str]:
    """The tokens and the time of a call, as far as they are known."""
    amounts = (
        (call.prompt_tokens, "tokens sent"),
        (call.completion_tokens, "tokens received"),
        (call.latency_ms, "ms"),
    )
    return [f"{number:,} {unit}" for number, unit in amounts if number is not None]


def _texts(raw: RawCall) -> list[Html | None]:
    call = raw.call
    sent, attempts = message_texts(raw.messages), attempt_texts(call.attempts)
    return [
        tag("div", f"Error: {call.error}", cls="jb-why") if call.error else None,
        tag("div", REBUILT, cls="jb-cap") if sent else tag("div", raw.note, cls="jb-cap") if raw.note else None,
        *sent,
        _text("Prompt of the judge version", raw.prompt) if raw.prompt and not sent else None,
        _text("Reply", call.raw) if call.raw else None,
        *(attempts if len(attempts) > 1 or call.error else ()),
    ]


def _text(label: str, text: str | None) -> Html:
    raw = tag("div", text[:LONGEST], cls="jb-raw") if text else None
    return tag("div", tag("div", label, cls="jb-label"), raw, cls="jb-block")
