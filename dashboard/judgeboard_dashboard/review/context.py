"""The context of an answer: the earlier dialogue, the reference answer and the metadata of the log."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from judgeboard.domain import LOG_FIELDS, Response
from judgeboard.judges.evidence_alignment import SERVED
from judgeboard.llm.chat import tool_call_lines
from judgeboard_dashboard.evidence import Html, beginning, tag
from judgeboard_dashboard.widgets.texts import count

LONGEST = 20_000  # characters of one turn, or of the reference
LONGEST_VALUE = 1_000
MOST_TURNS = 50
MOST_VALUES = 100
DETAILS = "context_details"
"""The key in the metadata of the log under which the import stores the logged details of each passage."""
# A passage shows one rank, score and source: the value of the first name that the passage has.
RANKS = ("rank", "position", "index")
SCORES = ("score", "relevance_score", "relevance", "similarity", "distance")
SOURCES = (
    "url",
    "uri",
    "link",
    "href",
    "source",
    "file",
    "filename",
    "path",
    "title",
    "document_id",
    "doc_id",
    "id",
)


def logged_values(response: Response) -> dict[str, str]:
    """Return the texts of the log that have a column each, by label."""
    return {
        each.label: value for name, each in LOG_FIELDS.items() if (value := getattr(response, name))
    }


def context_block(response: Response) -> Html | None:
    """Return the panel, None if the log has no context. Messages with an earlier answer open the panel."""
    turns = list(response.messages or ())
    extra = {
        name: value for name, value in response.metadata.items() if name not in {DETAILS, SERVED}
    }
    values = [*logged_values(response).items(), *_values(extra)]
    parts_of_title = [
        count(len(turns), "message") if turns else None,
        "reference" if response.reference else None,
        f"{count(len(values), 'field')} of the log" if values else None,
    ]
    if not any(parts_of_title):
        return None
    reference = None
    if response.reference:
        text = tag("div", beginning(response.reference, LONGEST), cls="jb-evidence")
        reference = tag("div", tag("div", "Reference answer", cls="jb-label"), text, cls="jb-block")
    facts = [
        part
        for name, value in values[:MOST_VALUES]
        for part in (tag("span", name), tag("span", value[:LONGEST_VALUE]))
    ]
    dialogue = None
    if turns:
        left = len(turns) - MOST_TURNS
        earlier = tag("div", f"{left} earlier", cls="jb-cap") if left > 0 else None
        lines = [
            tag(
                "div",
                tag("span", str(turn.get("role") or "").capitalize()),
                tag("div", beginning(message_words(turn), LONGEST), cls="jb-lines"),
                cls="jb-turn",
            )
            for turn in turns[-MOST_TURNS:]
        ]
        label = tag("div", "Messages sent to the model", cls="jb-label")
        dialogue = tag("div", label, earlier, *lines, cls="jb-block")
    title = f"Context of the answer: {', '.join(part for part in parts_of_title if part)}"
    return tag(
        "details",
        tag("summary", title),
        reference,
        dialogue,
        tag("div", *facts, cls="jb-log") if facts else None,
        cls="jb-block jb-context",
        open="" if any(turn.get("role") == "assistant" for turn in turns) else None,
    )


def message_words(message: Mapping[str, Any]) -> str:
    """Return the text of a message, which may be a list of parts, and the tool calls of the message."""
    content = message.get("content")
    parts = content if isinstance(content, list) else [] if content in (None, "") else [content]
    others = [part for part in parts if not tool_call_lines({"content": [part]})]
    texts = [part["text"] if isinstance(part, dict) and "text" in part else part for part in others]
    return "\n".join([*map(value_words, texts), *tool_call_lines(message)])


def _values(metadata: Mapping[str, Any], start: str = "") -> Iterator[tuple[str, str]]:
    """Yield each value of the metadata with a dotted name."""
    for name, value in metadata.items():
        if isinstance(value, dict) and value:
            yield from _values(value, f"{start}{name}.")
        elif isinstance(value, list) and value and all(isinstance(each, str) for each in value):
            yield f"{start}{name}", ", ".join(value)
        else:
            yield f"{start}{name}", value_words(value)


def value_words(value: Any) -> str:
    """Return a text unchanged, and any other value as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def passage_facts(response: Response, number: int) -> list[Html]:
    """Return the logged rank, score and source of passage ``number`` (from 1). The source is text, not a link."""
    details = response.metadata.get(DETAILS)
    detail = details[number - 1] if isinstance(details, list) and number <= len(details) else None
    if not isinstance(detail, dict):
        return []
    values = {
        name.rpartition(".")[2].lower(): value for name, value in reversed(list(_values(detail)))
    }
    rank, score = (
        next((name for name in names if name in values), None) for names in (RANKS, SCORES)
    )
    source = next((values[name] for name in SOURCES if name in values), None)
    return [
        *([tag("span", f"rank {values[rank]}")] if rank else []),
        *(
            [tag("span", f"{score.removeprefix('relevance_')} {values[score][:8]}")]
            if score
            else []
        ),
        *(
            [tag("code", source[:LONGEST_VALUE], cls="jb-source", title=source[:LONGEST_VALUE])]
            if source
            else []
        ),
    ]
