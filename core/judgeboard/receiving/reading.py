"""What programs read with a key: an answer with all that is known about it, and pages of flags.

The records are those of `judgeboard export`. A key is no person: like an export, it also gets what the reviewers of
blind queues do not see yet.
"""

from collections.abc import Mapping
from typing import Any

import orjson
from sqlalchemy import Connection

from judgeboard.domain import FlagState
from judgeboard.errors import BadInput, NotFound
from judgeboard.imports.fields import MAX_ID
from judgeboard.receiving.keys import Sender
from judgeboard.store.engine import Store
from judgeboard.store.export import objects_of
from judgeboard.store.open_flags import flags_after
from judgeboard.store.responses import Named, responses_named
from judgeboard.store.tables import FLAG, JUDGMENT, RESPONSE, REVIEW
from judgeboard.store.traces import responses_of_trace

DEFAULT_LIMIT, HIGHEST_LIMIT = 100, 1_000
FLAG_PARAMETERS: Mapping[str, str] = {
    "state": f"{', '.join(FlagState)} (default: open)",
    "rule": "Name of a rule.",
    "source": "Source of the answers.",
    "limit": f"Number of flags, 1 to {HIGHEST_LIMIT:,} (default: {DEFAULT_LIMIT}).",
    "after": "The value of `next` of the page before.",
}
SOURCE_PARAMETER: Mapping[str, str] = {"source": "Source of the answer, if several sources have this id."}


def response_record(store: Store, sender: Sender, name: str, parameters: Mapping[str, str]) -> bytes:
    """Return an answer with its judgments, flags and reviews as JSON.

    ``name`` is its own id, or the id of its trace. Raises NotFound, or BadInput if several sources have this id.
    """
    _check_names(parameters, SOURCE_PARAMETER)
    with store.reading() as connection:
        id_ = named_response(connection, sender, name, parameters.get("source"))
        parts = {
            "judgments": objects_of(connection, "judgments", JUDGMENT.c.response_id == id_, key="judgment"),
            "flags": objects_of(connection, "flags", FLAG.c.response_id == id_),
            "reviews": objects_of(connection, "reviews", REVIEW.c.response_id == id_),
        }
        response = next(objects_of(connection, "responses", RESPONSE.c.id == id_), None)
        if response is None:
            raise NotFound(f"the texts of the answer {name!r} were deleted")
        return orjson.dumps(
            {"response": orjson.Fragment(response)}
            | {part: [orjson.Fragment(each) for each in objects] for part, objects in parts.items()}
        )


def flag_page(store: Store, sender: Sender, parameters: Mapping[str, str]) -> bytes:
    """Return a page of flags by ascending id as JSON; ``next`` is the id after which the next page begins, or null."""
    _check_names(parameters, FLAG_PARAMETERS)
    state = parameters.get("state", FlagState.OPEN.value)
    if state not in set(FlagState):
        raise BadInput(f"the state of a flag is {', '.join(FlagState)}, not {state!r}")
    limit = _number(parameters, "limit", DEFAULT_LIMIT, HIGHEST_LIMIT)
    source = sender.checked_source(parameters.get("source")) if sender.owner else parameters.get("source")
    with store.reading() as connection:
        ids = flags_after(
            connection,
            FlagState(state),
            rule=parameters.get("rule"),
            source=source,
            after=_number(parameters, "after", 0, 2**63 - 1),
            limit=limit,
        )
        flags = [orjson.Fragment(each) for each in objects_of(connection, "flags", FLAG.c.id.in_(ids))]
    return orjson.dumps({"flags": flags, "next": ids[-1] if len(ids) == limit else None})


def named_response(connection: Connection, sender: Sender, name: str, source: str | None = None) -> int:
    """Return the database id of an answer by its own id or the id of its trace.

    Raises NotFound, or BadInput if several sources that the sender may read have this id.
    """
    if not name or len(name) > MAX_ID:
        raise BadInput(f"an id is a text of 1 to {MAX_ID} characters")
    wanted = sender.checked_source(source) if sender.owner else source
    matches: list[Named] = []
    for answers in (responses_named(connection, [name]).get(name, []), responses_of_trace(connection, name.lower())):
        matches = matches or [each for each in answers if wanted is None or each.source == wanted]
    if not matches:
        raise NotFound(f"no answer has the id {name!r}")
    if len(matches) > 1:
        sources = ", ".join(sorted({each.source for each in matches}))
        raise BadInput(f"several answers have the id {name!r}: name the source ({sources})")
    return matches[0].id


def _check_names(parameters: Mapping[str, str], known: Mapping[str, Any]) -> None:
    unknown = sorted(parameters.keys() - known.keys())
    if unknown:
        raise BadInput(f"there is no parameter {unknown[0]!r}: use {', '.join(known)}")


def _number(parameters: Mapping[str, str], name: str, default: int, most: int) -> int:
    text = parameters.get(name, str(default))
    least = min(1, default)
    if not (text.isascii() and text.isdecimal() and len(text) <= len(str(most)) and least <= int(text) <= most):
        raise BadInput(f"{name} is a whole number from {least} to {most:,}, not {text!r}")
    return int(text)
