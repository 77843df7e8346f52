"""A rejudge in a browser: progress, both verdicts, a server killed in the middle."""

import io
import json
import re
import shutil
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from held_endpoint import HeldEndpoint
from judgeboard.cli.app import run
from judgeboard.imports.importing import import_file
from judgeboard.llm.recording_endpoint import verdict
from judgeboard.runs.jobs import recent_jobs
from judgeboard.store.engine import Store
from judgeboard.store.opening import open_store
from judging_log import until
from page_rows import fill_pages
from page_state import idle, visit
from served import serving

pytestmark = pytest.mark.browser

PLAIN = 12


def begin(page: Page, endpoint: HeldEndpoint, address: str) -> None:
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


def test_a_rejudge_shows_progress_and_then_both_verdicts(page: Page, site, endpoint: HeldEndpoint) -> None:
    endpoint.hold_after(5)
    begin(page, endpoint, "/rejudge?text=What+is+rock+number")
    panel = page.locator(".st-key-job_panel")
    expect(panel.locator(".jb-tally")).to_contain_text("5 ok", timeout=60_000)  # a worker begins first
    expect(panel.locator(".jb-tally")).to_contain_text(f"{PLAIN - 5} waiting")
    expect(panel).to_contain_text(f"5 of {PLAIN}")
    expect(panel).to_contain_text("requested by Mara")
    # The page does not freeze while it waits.
    visit(page, "/runs")
    expect(page.locator(".jb-note")).to_contain_text("A job is running", timeout=60_000)
    page.get_by_role("button", name="Open job").click()
    expect(panel.locator(".jb-tally")).to_contain_text("5 ok", timeout=60_000)  # a worker begins first
    endpoint.release()
    expect(panel).to_contain_text("Done in")
    expect(panel.locator(".jb-tally")).to_contain_text(f"{PLAIN} ok")
    expect(page.locator(".jb-say").last).to_contain_text("changed:")
    sides = page.locator(".jb-beside .jb-side")
    expect(sides.nth(0)).to_contain_text("Old · rag v1")
    expect(sides.nth(0)).to_contain_text("Two statements are not there.")
    expect(sides.nth(1)).to_contain_text("New · rag v2")
    expect(sides.nth(1)).to_contain_text("Every statement stands in passage 1.")
    page.get_by_role("button", name="Open item").click()
    page.wait_for_url(re.compile(r"/item\?response=\d+"))


def test_one_answer_is_judged_again(page: Page, site, endpoint: HeldEndpoint) -> None:
    # Before the whole log is judged again below: this answer's old verdict is still the first one.
    answer = site.rows.responses["claims"]
    begin(page, endpoint, f"/rejudge?response={answer}")
    expect(page.locator(".st-key-job_panel")).to_contain_text("Done in")
    expect(page.locator(".jb-beside")).to_contain_text("One is wrong.")
    assert len(endpoint.server.requests) == 1


def test_f6_judges_the_item_again_while_keys_and_typing_go_on(page: Page, site, endpoint: HeldEndpoint) -> None:
    answer = site.rows.responses["plain-03"]
    begin(page, endpoint, f"/rejudge?response={answer}")
    expect(page.locator(".st-key-job_panel")).to_contain_text("Done in")
    page.get_by_role("button", name="Open item").first.click()
    page.wait_for_url(re.compile(r"/item\?response=\d+"))
    status, judge = page.locator(".jb-again"), page.locator(".jb-signals")
    expect(status).to_contain_text("rag v2 (gpt-4o-mini), about $")
    idle(page)
    place = judge.bounding_box()
    endpoint.reply = verdict(groundedness=0.8, quality=3)
    endpoint.hold_after(1)
    page.keyboard.press("F6")
    expect(status).to_contain_text("rag v2 is judging this answer.", timeout=60_000)  # a worker begins first
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


def test_a_job_is_cancelled_from_the_page(page: Page, site, endpoint: HeldEndpoint) -> None:
    endpoint.hold_after(2)
    begin(page, endpoint, "/rejudge?rows=match")
    panel = page.locator(".st-key-job_panel")
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
    assert 2 < job.asked <= 18, "sixteen are in flight, and nothing is asked after the press"
    expect(panel).to_contain_text(f"Cancelled at {job.asked} of")


def test_a_server_killed_in_the_middle_finishes_the_job_after_a_restart(
    browser, sqlite_template: Path, tmp_path: Path, endpoint: HeldEndpoint
) -> None:
    path = tmp_path / "killed.db"
    shutil.copyfile(sqlite_template, path)
    store = open_store(path)
    fill_pages(store)
    grade(store)
    before = agreement_of_old(path)
    assert before
    endpoint.hold_after(5)
    first = serving(path)
    with first as url:
        page = opened(browser, url)
        begin(page, endpoint, "/rejudge?text=What+is+rock+number")
        expect(page.locator(".jb-tally")).to_contain_text("5 ok", timeout=60_000)
        until(lambda: len(endpoint.server.requests) == PLAIN, "the other calls in flight")
        first.kill()
    endpoint.release()
    job_id = recent_jobs(store)[0].id
    with serving(path, first.port):
        page.goto(f"/rejudge?job={job_id}")
        expect(page.locator(".st-key-job_panel")).to_contain_text("Done in", timeout=60_000)
        expect(page.locator(".jb-tally")).to_contain_text(f"{PLAIN} ok")
        page.context.close()
    (job,) = recent_jobs(store)
    assert (job.state, job.ok, job.waiting) == ("done", PLAIN, 0)
    requests = [request.body["messages"][1]["content"] for request in endpoint.server.requests]
    times = [sum(f"Number {number}." in asked for asked in requests) for number in range(1, PLAIN + 1)]
    assert all(1 <= asked <= 2 for asked in times), times
    assert len(requests) == PLAIN + 7
    assert agreement_of_old(path) == before
    store.close()


def opened(browser, url: str) -> Page:
    context = browser.new_context(viewport={"width": 1440, "height": 900}, base_url=url)
    context.add_cookies([{"name": "judgeboard_reviewer", "value": "Mara", "url": url}])
    page: Page = context.new_page()
    page.set_default_timeout(60_000)
    return page


def grade(store: Store) -> None:
    lines = [
        json.dumps(
            {"response_id": f"plain-{n:02}", "annotator": "Jon", "groundedness": n % 3 / 2, "quality": 1 + n % 4}
        )
        for n in range(1, PLAIN + 1)
    ]
    import_file(store, io.BytesIO("\n".join(lines).encode()), kind="grades", name="grades.jsonl")


def agreement_of_old(path: Path) -> list[str]:
    """What `judgeboard stats --json` says of the first version of the judge, line for line."""
    printed = io.StringIO()
    with redirect_stdout(printed):
        assert run(["stats", "--json", "--db", str(path)]) == 0
    said: dict[str, Any] = json.loads(printed.getvalue())
    old = next(one["fingerprint"] for one in said["judge_versions"] if (one["name"], one["number"]) == ("rag", 1))
    return [json.dumps(row) for row in said["agreement"] if row["judge_version"] == old]
