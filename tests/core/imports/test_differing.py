"""A rejected row names every field in which a response differs from the stored one."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from engines import on_sqlite
from judgeboard.domain import Response, ResponseKind
from judgeboard.imports.responses import differing
from judgeboard.store.engine import Store
from judgeboard.store.responses import content, content_hash, find_contents, key_of
from judgeboard.store.storing import store_responses

WHOLE = Response(
    "log",
    "1",
    "why?",
    "because",
    ("p",),
    "QA",
    "m",
    0.1234567,
    ({"role": "user", "content": "why?"},),
    "r",
    datetime(2026, 3, 1, 12, 30, 0, 5, tzinfo=UTC),
    {"a": [1, None]},
)
BARE = Response("log", "2", "why?", "because")
OTHERS: dict[str, tuple[str, Any]] = {
    "query": ("query", "how?"),
    "answer": ("answer", "so"),
    "context": ("passages", None),
    "query_type": ("query_type", "chat"),
    "generator_model": ("generator_model", None),
    "generator_cost": ("generator_cost", 0.2),
    "messages": ("messages", None),
    "reference": ("reference", None),
    "asked_at": ("asked_at", None),
    "metadata": ("metadata", {}),
    "kind": ("kind", ResponseKind.CONTROL),
}


@pytest.mark.parametrize("name", OTHERS)
def test_each_field_is_named_as_a_column_is_mapped_to_it(name: str) -> None:
    field, value = OTHERS[name]
    assert differing(replace(WHOLE, **{field: value}), WHOLE) == [name]


def test_no_field_of_the_content_is_left_out() -> None:
    every = dict(OTHERS.values())
    assert len(differing(replace(WHOLE, **every), WHOLE)) == len(content(WHOLE)) == len(OTHERS)


@on_sqlite
@pytest.mark.parametrize("response", [WHOLE, BARE])
def test_what_is_stored_says_what_came_in(store: Store, response: Response) -> None:
    with store.writing() as connection:
        store_responses(connection, [response], None, datetime.now(UTC))
        stored = find_contents(connection, [key_of(response)])[key_of(response)]
    assert differing(response, stored) == []
    assert content_hash(response) == content_hash(stored)
