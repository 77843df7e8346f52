"""A trace is one answer, whether it is received, pulled or imported as a file, in any order and again."""

import io
import json

import pytest

from judgeboard.imports.exports.export import KINDS_OF_EXPORTS
from judgeboard.imports.importing import import_file
from judgeboard.store.tables import FEEDBACK, JUDGMENT, RESPONSE, REVIEW, TRACE
from judgeboard.text import as_utc
from judgeboard.tools.history import Page, Window
from judgeboard.tools.http import Http
from judgeboard.tools.pull import known_histories, pull
from sent_traces import gathered, receiving, send_spans, trace
from stored_rows import row_count, rows_of, values_of
from tool_histories import TOOLS as FAKES
from tool_histories import time_of

COUNT = 2
LATER = as_utc(time_of(600))
SCORES = [
    (1, "groundedness", 0.2, None, {}),
    (2, "label", "grounded", "mara", {}),
    (2, "user_thumbs", 1, None, {}),
]


def receive(store, _name, _tool, http):
    for number in range(1, COUNT + 1):
        assert send_spans(http, trace(number)).status_code == 200
    gathered(store, after=100)


def pulled(store, name, tool, _http):
    result = pull(
        store,
        name,
        address=tool.address,
        environment=tool.environment,
        since=as_utc(time_of(0)),
        now=LATER,
    )
    assert (result.stopped, dict(result.rejected), result.differing) == (None, {}, 0)


def imported(store, name, tool, _http):
    """The rows of the tool's REST interface, as a file."""
    history_of = known_histories()[name]
    target = history_of.target
    with Http(target.access(tool.address, tool.environment)) as http:
        history, pages = history_of(http, None), [Page("", {}, None)]
        while len(pages) == 1 or pages[-1].next:
            pages.append(history.page(Window(None, LATER), pages[-1].next))
    rows = [row for page in pages for rows in page.traces.values() for row in rows]
    file = "".join(json.dumps(row) + "\n" for row in rows).encode()
    for kind in KINDS_OF_EXPORTS:
        summary = import_file(store, io.BytesIO(file), kind=kind, source="default")
        assert (summary.rejected, summary.of_traces) == (0, True), summary.first_rejected


@pytest.mark.parametrize(
    ("name", "ways"),
    [
        *((name, (receive, imported, pulled)) for name in FAKES),
        *((name, (imported, pulled, receive)) for name in ("phoenix", "langsmith")),
    ],
)
def test_a_trace_is_one_answer(name, ways, sqlite_store):
    with FAKES[name](COUNT) as tool, receiving(sqlite_store) as http:
        tool.given = SCORES
        for way in ways * 2:
            way(sqlite_store, name.split(maxsplit=1)[0], tool, http)
    queries = sorted(values_of(sqlite_store, RESPONSE.c.query))
    assert queries == [f"question {number}" for number in range(1, COUNT + 1)]
    states = [(row["state"], row["reason"]) for row in rows_of(sqlite_store, TRACE)]
    assert [state for state, _ in states] == ["made"] * COUNT, states
    assert [row_count(sqlite_store, table) for table in (JUDGMENT, REVIEW, FEEDBACK)] == [1, 1, 1]
