"""The tree of a trace's spans opens and closes with one key, and fits its pane."""

import pytest
from playwright.sync_api import expect
from sqlalchemy import select

from judgeboard.store.tables import TRACE
from page_fit import misfits
from page_state import DECIDE, PAUSE, idle, settled
from sent_traces import PROTOBUF, gathered, receiving, request, trace

pytestmark = pytest.mark.browser


def test_one_key_shows_the_spans_and_leads_back(reviewer, site) -> None:
    with receiving(site.store) as http:
        http.post("/v1/traces", content=request(trace(7, passages=2)), headers=PROTOBUF)
    gathered(site.store)
    with site.store.reading() as connection:
        response_id = connection.execute(select(TRACE.c.response_id)).scalar_one()
    page = reviewer("Mara")
    page.goto(f"/item?response={response_id}")
    settled(page, DECIDE)
    page.keyboard.press("F10")
    rows = page.locator(".jb-span > summary")
    expect(rows).to_have_count(3)
    expect(page.get_by_text("passage 2 of 7", exact=True)).to_have_count(2)  # as a passage and among the attributes
    expect(page.get_by_text("passage 2 of 7", exact=True).first).to_be_hidden()
    rows.nth(2).click()
    expect(page.get_by_text("passage 2 of 7", exact=True).first).to_be_visible()
    page.keyboard.press("3")
    expect(page.get_by_role("button", name="Gaps")).to_have_attribute("kind", "primary")
    expect(page.get_by_text("passage 2 of 7", exact=True).first).to_be_visible()  # a key folds nothing
    assert misfits(page) == {}
    idle(page)
    page.wait_for_timeout(PAUSE)
    page.keyboard.press("F10")
    expect(page.locator(".jb-answer").first).to_be_visible()
    expect(rows).to_have_count(0)
