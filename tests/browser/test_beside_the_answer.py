"""What stands beside an answer on the item page: attempts at a better one, a trace, drawers, a correction."""

import os
import re
import signal

import pytest
from playwright.sync_api import expect
from sqlalchemy import select

from judgeboard.store.tables import TRACE
from page_fit import misfits
from page_state import DECIDE, PAUSE, idle, settled, visit
from refined_answers import fill_attempts
from refining_log import standing
from sent_traces import PROTOBUF, gathered, receiving, request, trace

pytestmark = pytest.mark.browser

_FILLED = {}


def filled(store):
    """The answers with attempts, made once for the served database."""
    return _FILLED.setdefault(id(store.engine), fill_attempts(store))


def open_item(page, response_id):
    """Open an answer. Its hostile texts run no script."""
    visit(page, f"/item?response={response_id}")
    expect(page.locator(".jb-attempts")).to_be_visible()
    idle(page)
    assert page.evaluate("window.hacked === undefined")


def test_a_person_says_with_keys_which_attempt_stands_and_it_is_there_after_a_reload(page, site):
    answer = filled(site.store)["refined"]
    open_item(page, answer)
    viewed = page.locator(".jb-attempt.jb-viewed .jb-attempt-head")
    expect(viewed).to_contain_text("Attempt 3")
    sides = page.locator(".jb-sides > div")
    expect(sides.first).to_contain_text("Attempt 2")
    expect(sides.last.locator("ins")).not_to_have_count(0)
    old, new = sides.evaluate_all("sides => sides.map((side) => side.getBoundingClientRect().y)")
    assert old == new, "side by side"
    page.keyboard.press("9")
    expect(viewed).to_contain_text("The original")
    page.wait_for_timeout(PAUSE)
    page.keyboard.press("9")  # and at once, before the next one is drawn:
    page.keyboard.press("0")
    line = page.locator(".jb-selected")
    expect(line).to_contain_text("Mara selected attempt 1, ")
    expect(page.locator(".jb-head")).to_contain_text("Saved: attempt 1 of refined is selected")
    assert [(row["number"], row["withdrawn"]) for row in standing(site.store)] == [(1, False)]
    page.reload()
    expect(line).to_contain_text("Mara selected attempt 1, ")
    expect(viewed).to_contain_text("Attempt 3")
    for attempt in ("The original", "Attempt 1"):
        page.wait_for_timeout(PAUSE)
        page.keyboard.press("9")
        expect(viewed).to_contain_text(attempt)
    page.get_by_role("button", name="Deselect").click()
    expect(line).to_have_count(0)
    assert [(row["number"], row["withdrawn"]) for row in standing(site.store)] == [
        (1, False),
        (1, True),
    ]


def test_one_key_shows_the_spans_and_leads_back(page, site):
    with receiving(site.store) as http:
        http.post("/v1/traces", content=request(trace(7, passages=2)), headers=PROTOBUF)
    gathered(site.store)
    with site.store.reading() as connection:
        response_id = connection.execute(select(TRACE.c.response_id)).scalar_one()
    visit(page, f"/item?response={response_id}")
    settled(page, DECIDE)
    page.keyboard.press("F10")
    rows = page.locator(".jb-span > summary")
    expect(rows).to_have_count(3)
    expect(page.get_by_text("passage 2 of 7", exact=True)).to_have_count(
        2
    )  # as a passage and among the attributes
    expect(page.get_by_text("passage 2 of 7", exact=True).first).to_be_hidden()
    rows.nth(2).click()
    expect(page.get_by_text("passage 2 of 7", exact=True).first).to_be_visible()
    page.keyboard.press("3")
    expect(page.get_by_role("button", name="Gaps")).to_have_attribute("kind", "primary")
    expect(
        page.get_by_text("passage 2 of 7", exact=True).first
    ).to_be_visible()  # a key folds nothing
    assert misfits(page) == {}
    idle(page)
    page.wait_for_timeout(PAUSE)
    page.keyboard.press("F10")
    expect(page.locator(".jb-answer").first).to_be_visible()
    expect(rows).to_have_count(0)


def test_judgments_raw_calls_stored_texts_and_a_correction_are_one_key_away(page, site):
    page.set_viewport_size({"width": 1440, "height": 900})
    visit(page, f"/item?flag={site.rows.flags['two-judges']}")
    settled(page, DECIDE)
    page.keyboard.press("F7")
    judgments = page.locator("table.jb-judgments")
    expect(judgments).to_contain_text("Half of it stands.")
    expect(judgments).to_contain_text("Fine.")
    expect(judgments.locator("th", has_text="Groundedness")).to_contain_text("differ")
    expect(page.get_by_text("F7: back to the texts")).to_be_visible()
    page.keyboard.press("F2")
    expect(judgments).to_have_count(0)
    expect(page.get_by_text("F2: back to the texts")).to_be_visible()
    page.wait_for_timeout(PAUSE)
    page.keyboard.press("F2")
    expect(page.locator(".jb-answer").first).to_be_visible()
    page.evaluate(
        "document.querySelector('.st-key-pane_answer').firstElementChild.style.minHeight = '900px'"
    )
    page.keyboard.press("F9")
    field = page.get_by_role("textbox", name="Corrected answer")
    expect(field).to_be_focused()
    expect(field).to_be_in_viewport(ratio=0.5)  # also below texts that fill the pane
    page.keyboard.press("Control+End")
    page.keyboard.type(" Not a new decision.")
    os.kill(site.server.process.pid, signal.SIGSTOP)  # a busy server draws the button of F8 late
    try:
        page.keyboard.press("F8")
        page.wait_for_timeout(1_000)
    finally:
        os.kill(site.server.process.pid, signal.SIGCONT)
    expect(page.get_by_role("button", name="In the suite")).to_be_visible()
    expect(page.locator("ins")).to_have_text(re.compile("new decision"))
