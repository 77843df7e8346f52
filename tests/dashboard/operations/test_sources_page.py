"""The page Sources: what came, what was taken from it, and why some of it became no answer."""

from app_pages import OpenPage, shown, table_rows
from judgeboard.store.engine import Store
from judgeboard.targets.push_jobs import add_target, target_progress
from sent_traces import PROTOBUF, Sent, gathered, receiving, request, trace


def test_the_page_shows_what_became_of_each_trace(page_store: Store, open_page: OpenPage) -> None:
    assert "No assistant has sent a trace yet" in shown(open_page("sources"))
    with receiving(page_store) as http:
        http.post("/v1/traces", content=request([*trace(1), Sent(2, 1)]), headers=PROTOBUF)
    gathered(page_store, after=100)
    page = open_page("sources")
    [[source, traces, answers, without, waiting, _]] = table_rows(page, "Source")
    assert (source, traces, answers, without, waiting) == ("shop", 2, 1, 1, 0)
    rows = {row[-1]: row for row in table_rows(page, "Result")}
    assert rows[Sent(1).trace_id][1] == "answer"
    assert f"answer from span {Sent(1).span_id}" in rows[Sent(1).trace_id][3]
    assert rows[Sent(2).trace_id][1] == "no answer"
    assert rows[Sent(2).trace_id][3]
    page.toggle(key="sources_unused").set_value(True).run()
    assert [row[-1] for row in table_rows(page, "Result")] == [Sent(2).trace_id]


def test_the_page_shows_push_targets_and_changes_their_state(page_store: Store, open_page: OpenPage) -> None:
    assert "judgeboard push add" in shown(open_page("sources"))
    add_target(page_store, "phoenix", address="http://tool:6006", source="shop", actor="test")
    page = open_page("sources")
    [[name, state, *counts, _, _, sends, source, address]] = table_rows(page, "Target")
    assert (name, state, counts) == ("phoenix", "no worker", [0, 0, 0])
    assert (sends, source, address) == ("judgments, reviews, gold", "shop", "http://tool:6006")
    assert "judgeboard worker" in shown(page)
    page.button(key="target_paused").click().run()
    assert target_progress(page_store)[0].state == "paused"
