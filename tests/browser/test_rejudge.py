"""A rejudge in a browser: both verdicts, the item judged again, progress, and an end before all is judged."""

import re

import pytest
from playwright.sync_api import expect

from judgeboard.llm.recording_endpoint import verdict
from judgeboard.runs.jobs import recent_jobs
from judging_log import until
from page_state import idle, visit

pytestmark = pytest.mark.browser


def begin(page, endpoint, address):
    """Open the page, name the judge, agree with another host than in an earlier test, press the button."""
    visit(page, address)
    expect(page.get_by_role("textbox", name="Model")).to_be_visible()
    idle(page)
    for label, value in (("Model", "gpt-4o-mini"), ("Address", endpoint.url)):
        field = page.get_by_role("textbox", name=label)
        field.fill(value)
        field.press("Enter")
        idle(page)
        expect(field).to_have_value(value)
    host = re.escape(endpoint.url.split("/")[2])
    destination = page.get_by_text(re.compile(rf"^Sends? \d+ answers? to {host}"))
    expect(destination).to_be_visible()
    if page.get_by_role("checkbox", name=re.compile("^Send ")).count():
        destination.click()
        idle(page)
    page.get_by_role("button", name=re.compile(r"Rejudge \d+ answer")).click()


def test_one_answer_is_judged_again_and_f6_judges_it_while_keys_and_typing_go_on(
    page, site, endpoint
):
    begin(page, endpoint, f"/rejudge?response={site.rows.responses['claims']}")
    expect(page.locator(".st-key-job_panel")).to_contain_text(
        "Done in", timeout=60_000
    )  # a worker begins first
    page.get_by_role("button", name="Show changes").click()
    sides = page.locator(".jb-two > div")
    expect(sides.nth(0)).to_contain_text("Old · rag v1")
    expect(sides.nth(0)).to_contain_text("One is wrong.")
    expect(sides.nth(1)).to_contain_text("New · rag v2")
    expect(sides.nth(1)).to_contain_text("Every statement stands in passage 1.")
    assert len(endpoint.server.requests) == 1
    page.get_by_role("button", name="Open item").first.click()
    page.wait_for_url(re.compile(r"/item\?response=\d+"))
    status, judge = page.locator(".jb-again"), page.locator(".jb-signals")
    expect(status).to_contain_text("rag v2 (gpt-4o-mini), about $")
    idle(page)
    place = judge.bounding_box()
    endpoint.reply = verdict(groundedness=0.8, quality=3)
    endpoint.hold_after(1)
    page.keyboard.press("F6")
    expect(status).to_contain_text(
        "rag v2 is judging this answer.", timeout=60_000
    )  # a worker begins first
    assert judge.bounding_box() == place
    page.keyboard.press("3")
    expect(page.get_by_role("button", name="Gaps")).to_have_attribute("kind", "primary")
    page.keyboard.press("m")
    page.keyboard.type("Seen twi")
    endpoint.release()
    expect(status).to_contain_text("Now")
    page.keyboard.type("ce")
    expect(page.get_by_role("textbox", name="Note")).to_have_value("Seen twice")
    expect(status).to_contain_text("Before1.00, 4 / 4")
    expect(status).to_contain_text("Now0.80, 3 / 4")
    assert judge.bounding_box() == place


def test_a_job_shows_its_progress_on_a_page_that_stays_free_and_is_cancelled_from_it(
    page, site, endpoint
):
    endpoint.hold_after(2)
    begin(page, endpoint, "/rejudge?rows=match")
    panel = page.locator(".st-key-job_panel")
    expect(panel.locator(".jb-tally")).to_contain_text(
        re.compile(r"2 ok.*\d waiting"), timeout=60_000
    )
    expect(panel).to_contain_text(re.compile(r"2 of \d+"))
    expect(panel).to_contain_text("requested by Mara")
    visit(page, "/runs")
    expect(page.locator(".jb-note")).to_contain_text("Job of Mara", timeout=60_000)
    page.get_by_role("button", name="Open job").click()
    expect(panel.locator(".jb-tally")).to_contain_text("2 ok")
    until(lambda: len(endpoint.server.requests) > 2, "calls in flight")
    page.get_by_role("button", name="Cancel").click()
    expect(panel).to_contain_text("Stopping: waiting for the running calls")
    page.reload()  # takes its time on a slow machine, as the look of the worker does
    expect(panel).to_contain_text("Stopping: waiting for the running calls")
    page.wait_for_timeout(600)  # the worker looks twice a second
    endpoint.release(slowly=True)
    expect(panel).to_contain_text("Cancelled at")
    job = recent_jobs(site.store)[0]
    assert job.state == "cancelled"
    # Sixteen are in flight, and nothing is asked after the press.
    assert 2 < job.asked <= 18
    expect(panel).to_contain_text(f"Cancelled at {job.asked} of")
