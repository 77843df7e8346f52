"""The pane with the raw calls of the judges of an answer."""

from judgeboard.domain import Attempt
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


def _account(raw: RawCall) -> str:
    call = raw.call
    counts = ((call.prompt_tokens, "sent"), (call.completion_tokens, "received"))
    tokens = [f"{number:,} tokens {way}" for number, way in counts if number is not None]
    cost = f"cost {'unknown' if call.cost_micro is None else money(call.cost_micro)}"
    calls = f"{len(call.attempts)} calls" if len(call.attempts) > 1 else None
    return _line(call.status, call.model_reported, *tokens, cost, _took(call), calls)


def _line(*facts: str | None) -> str:
    return " · ".join(filter(None, facts))


def _took(call: StoredCall | Attempt) -> str | None:
    return None if call.latency_ms is None else f"{call.latency_ms:,} ms"


def _texts(raw: RawCall) -> list[Html | None]:
    call = raw.call
    sent = [_text(message["role"].capitalize(), message["content"]) for message in raw.messages]
    attempts = [
        _text(_line(f"Call {number}: {attempt.why}", attempt.status, _took(attempt), attempt.detail), attempt.raw)
        for number, attempt in enumerate(call.attempts, start=1)
    ]
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
