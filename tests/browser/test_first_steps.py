"""A new database in a browser: answers are tried with a judge and a typed key, then judged."""

from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from playwright.sync_api import expect

from graded_log import GradedLog
from held_endpoint import HeldEndpoint
from judgeboard.store.engine import Store
from page_state import idle
from served import serving

pytestmark = pytest.mark.browser

KEY = "sk-typed-in-a-browser"


@pytest.fixture(scope="module")
def site(new_store: Callable[[], Store], port: int) -> Iterator[SimpleNamespace]:
    """A server on five answers that nobody judged."""
    store = new_store()
    GradedLog(store).answers(5)
    path = Path(str(store.engine.url.database))
    with serving(path, port) as url:
        yield SimpleNamespace(url=url, path=path)


def test_three_answers_are_tried_before_all_are_judged(
    reviewer, site, endpoint: HeldEndpoint
) -> None:
    page = reviewer("Mara")
    page.goto("/")
    page.get_by_role("button", name="Judge answers").click()
    page.wait_for_url("**/rejudge?rows=plain**")
    expect(page.get_by_role("textbox", name="Model")).to_be_visible()
    idle(page)
    for label, value in (("Model", "gpt-4o-mini"), ("Address", endpoint.url), ("API key", KEY)):
        field = page.get_by_role("textbox", name=label)
        field.fill(value)
        field.press("Enter")
        expect(page.locator(".jb-say")).to_contain_text("5 calls")  # the server has the model
        idle(page)
        expect(field).to_have_value(value)
    page.get_by_role("button", name="Try 3 answers").click()
    expect(page.get_by_text("3 of 3 verdicts usable. Nothing is stored.")).to_be_visible()
    calls = page.locator(".jb-pane details", has_text="Raw call")
    expect(calls).to_have_count(3)
    calls.first.locator("summary").click()
    expect(calls.first).to_contain_text("answer 1")
    page.get_by_role("button", name="Judge 5 answers").click()
    expect(page.locator(".jb-tally")).to_contain_text(
        "5 ok", timeout=60_000
    )  # a worker begins first
    expect(page.locator(".st-key-job_panel")).to_contain_text("Done in")
    assert {request.headers["authorization"] for request in endpoint.server.requests} == {
        f"Bearer {KEY}"
    }
    assert not [
        file
        for file in site.path.parent.iterdir()
        if file.is_file() and KEY.encode() in file.read_bytes()
    ]
