"""Who did what is read newest first, by key, and narrowed by kind, actor, answer and time."""

from datetime import UTC, datetime, timedelta

import pytest

from judgeboard.domain import Response
from judgeboard.store.engine import Store
from judgeboard.store.events import EventFilter, event_page, event_values, latest_events, record_event
from judgeboard.store.storing import store_responses

START = datetime(2026, 3, 1, tzinfo=UTC)


@pytest.fixture
def told(store: Store) -> Store:
    with store.writing() as connection:
        responses = [Response(source=source, external_id="chat-1", query="q", answer="a") for source in ("a", "b")]
        ids = store_responses(connection, responses).new
        for number in range(120):
            record_event(
                connection,
                ("decide", "undo", "grade")[number % 3],
                ("ann", "bob")[number % 2],
                response_id=ids[number % 2] if number < 4 else None,
                details={"n": number},
                now=START + timedelta(days=number),
            )
    return store


def test_pages_follow_each_other_without_a_gap(told: Store) -> None:
    with told.reading() as connection:
        numbers, after = [], None
        while True:
            page = event_page(connection, EventFilter(), after=after, limit=50)
            numbers += [event.details["n"] for event in page.lines]
            after = page.next_key
            if after is None:
                break
        assert numbers == list(range(119, -1, -1))
        assert page.total == 120
        back = event_page(connection, EventFilter(), before=page.previous_key, limit=50)
        assert [event.details["n"] for event in back.lines] == numbers[50:100]


def test_filters_narrow_together(told: Store) -> None:
    with told.reading() as connection:
        events = latest_events(connection, EventFilter(kind="undo", actor="bob"), limit=3)
        assert [event.details["n"] for event in events] == [115, 109, 103]
        older = latest_events(connection, EventFilter(kind="undo", actor="bob"), limit=1, before_id=events[0].id)
        assert older == events[1:2]
        late = latest_events(connection, EventFilter(since=START + timedelta(days=118)), limit=50)
        assert [event.details["n"] for event in late] == [119, 118]
        about = latest_events(connection, EventFilter(response="chat-1"), limit=50)
        assert [(event.details["n"], event.response) for event in about] == [(n, "chat-1") for n in (3, 2, 1, 0)]
        assert latest_events(connection, EventFilter(response="chat-2"), limit=50) == ()


def test_what_can_be_filtered_by_is_what_occurs(told: Store) -> None:
    with told.reading() as connection:
        assert event_values(connection, "kind") == ("decide", "grade", "undo")
        assert event_values(connection, "actor") == ("ann", "bob")
