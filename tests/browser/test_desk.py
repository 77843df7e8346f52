"""What stands around a decision: the drawers of an item."""

import os
import re
import signal

import pytest
from playwright.sync_api import expect

from page_state import DECIDE, PAUSE, settled

pytestmark = pytest.mark.browser


def test_judgments_raw_calls_stored_texts_and_a_correction_are_one_key_away(reviewer, site) -> None:
    page = reviewer("Mara")
    page.goto(f"/item?flag={site.rows.flags['two-judges']}")
    settled(page, DECIDE)
    page.keyboard.press("F7")
    judgments = page.locator("table.jb-judgments")
    expect(judgments).to_contain_text("Half of it stands.")
    expect(judgments).to_contain_text("Fine.")
    expect(judgments.locator("th", has_text="Groundedness")).to_contain_text("differ")
    expect(page.get_by_text("F7: back to the texts")).to_be_visible()
    page.keyboard.press("F2")
    expect(page.get_by_text("Raw calls", exact=True).first).to_be_visible()
    expect(judgments).to_have_count(0)
    expect(page.get_by_text("F2: back to the texts")).to_be_visible()
    page.wait_for_timeout(PAUSE)
    page.keyboard.press("F2")
    expect(page.locator(".jb-answer").first).to_be_visible()
    page.evaluate("document.querySelector('.st-key-pane_answer').firstElementChild.style.minHeight = '900px'")
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
