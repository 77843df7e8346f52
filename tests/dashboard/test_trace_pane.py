"""The spans of an answer's trace are one key away, and nobody pays for them before."""

import pytest

from app_pages import bodies, button_labels, check_shown, press, shown
from graded_log import GradedLog
from judgeboard.store.clock import utc_now
from judgeboard.store.filters import RowFilter
from judgeboard.store.tables import RESPONSE
from judgeboard.store.traces import NewSpan, store_spans
from judgeboard.traces.spans import Span
from judgeboard_dashboard import session
from judgeboard_dashboard.review import trace as trace_view
from query_plans import statements_of
from sent_traces import gathered, receiving, send_spans, trace
from stored_rows import values_of, write_to


@pytest.fixture
def traced(page_store):
    """An answer of a trace with three spans."""
    with receiving(page_store) as http:
        send_spans(http, trace(7, passages=2))
    return gathered_answer(page_store)


def gathered_answer(store):
    """Gather, and return the id of the only answer."""
    gathered(store)
    [response_id] = values_of(store, RESPONSE.c.id)
    return response_id


LONG_CHAT = {
    "openinference.span.kind": "LLM",
    "input.value": "a question?",
    "output.value": "an answer",
} | {
    f"llm.input_messages.{number}.message.{part}": text
    for number in range(500)
    for part, text in {"role": "user", "content": "hello"}.items()
}


def spans(app):
    return [body for body in bodies(app) if "jb-span" in body]


def test_the_tree_of_spans_is_read_only_while_it_is_open(traced, open_page):
    with statements_of(session.store()) as statements:
        page = press(open_page("item", response=traced), "quality3_")
    assert spans(page) == []
    assert not [each for each in statements if "FROM span" in each or "FROM trace" in each]
    press(page, "trace_")
    [pane] = spans(page)
    # A span and its attributes.
    assert pane.count("<details") == 3 + 3
    assert " open" not in pane, "each is folded"
    places = [pane.index(f">span {number}<") for number in (0, 1, 2)]
    # A span comes before those that it made.
    assert places == sorted(places)
    assert "--jb-depth:0" in pane
    assert "--jb-depth:1" in pane
    text = shown(page)
    for part in (
        "question 7",
        "answer 7",
        "passage 1 of 7",
        "passage 2 of 7",
        "retrieval.documents.0.document.id",
    ):
        assert part in text, part
    assert "3 spans" in text
    assert "2.0 s" in text
    assert spans(press(page, "trace_")) == []


def test_a_large_trace_is_sent_in_part(traced, open_page, monkeypatch):
    monkeypatch.setattr(trace_view, "MOST_RECORDS", 2)
    monkeypatch.setattr(trace_view, "LONGEST", 4)
    page = press(open_page("item", response=traced), "trace_")
    check_shown(page, "2 of 3", "answ … (4")
    assert "answer 7" not in shown(page).partition("2 of 3")[2]


def test_long_names_and_many_short_texts_are_sent_in_part(page_store, open_page, monkeypatch):
    monkeypatch.setattr(trace_view, "LONGEST_TRACE", 3_000)
    root = Span("7" * 32, "1" * 16, None, f"<b>{'name' * 500}", 1, 2, attributes=LONG_CHAT)
    unnamed = Span("7" * 32, "2" * 16, "1" * 16, "", 1, 2)
    write_to(
        page_store,
        store_spans,
        [NewSpan.of(span, "shop") for span in (unnamed, root)],
        "shop",
        utc_now(),
    )
    response_id = gathered_answer(page_store)
    [pane] = spans(press(open_page("item", response=response_id), "trace_"))
    # 500 messages and 1,003 attributes would be ten times as much.
    assert len(pane) < 20_000
    assert "&lt;b&gt;" in pane
    assert pane.count("jb-depth") == 2
    assert trace_view.TOO_LONG in pane
    assert f"Only 0 of {len(LONG_CHAT):,} attributes are shown." in pane


@pytest.mark.parametrize("hidden", ["blind_judge", "blind_people"])
def test_a_blind_reviewer_sees_no_span(traced, case, open_page, hidden):
    rules = {"blind_judge": False, "blind_people": False} | {hidden: True}
    case.judge(traced, 0.1)
    case.queue(where=RowFilter(response_ids=(traced,)), order="oldest", **rules)
    page = open_page("item", response=traced)
    assert "Trace" not in button_labels(page)
    page.session_state["review_session"].drawer = "trace"
    assert spans(page.run()) == []


def test_an_imported_trace_says_that_no_span_is_stored(page_store, open_page):
    metadata = {"span_id": "a1", "latency_ms": 850}
    [imported] = GradedLog(page_store).answers(generator_model="gpt-4o-mini", metadata=metadata)
    before = open_page("item", response=imported)
    words = shown(before)
    page = press(before, "trace_")
    assert spans(page) == []
    assert shown(page) != words
    check_shown(page, "latency_ms850", "modelgpt-4o-mini")
