"""No press is lost or doubled on a busy machine: list of flags, blind queue, pairs, conflicts."""

import os
import signal
import threading
from contextlib import contextmanager
from functools import partial
from types import SimpleNamespace

import pytest
from playwright.sync_api import expect
from presses import NAME, SURFACES, fill, walk

from browser_windows import Reviewers
from page_state import idle, settled, visit
from served import serving

pytestmark = pytest.mark.browser

ITEMS = {"list": 3, "queue": 1, "pairs": 1, "conflicts": 2}


@pytest.fixture(scope="module")
def site(new_store, port):
    """A server on a few items of each kind."""
    store = new_store()
    fill(store, max(ITEMS.values()) + 1)
    server = serving(str(store.engine.url.database), port)
    with server as url:
        yield SimpleNamespace(url=url, store=store, server=server)


@pytest.fixture(scope="module")
def page(windows):
    """The page of the reviewer whose presses are counted."""
    opened = Reviewers(windows)
    yield opened(NAME)
    opened.close()


# What is taken out of the page, without texts of answers, and without fields and forms, which
# belong to their item.
REMOVED = """() => {
  const OWN = ":has(input), input, p, svg, [class*=st-key-send_]";
  window.removed = [];
  new MutationObserver((changes) => {
    for (const { target, removedNodes } of changes)
      for (const node of removedNodes)
        if (node.nodeType === 1 && !target.closest("[data-testid=stHtml]") && !node.matches(OWN))
          window.removed.push(node.outerHTML.slice(0, 200));
  }).observe(document.querySelector("[data-testid=stMain]"), {childList: true, subtree: true});
}"""


def test_between_two_items_nothing_but_the_texts_changes(page):
    page.goto("/item?query_type=list")
    settled(page)
    page.evaluate(REMOVED)
    for key, number in (("j", "2"), ("k", "1")):
        page.keyboard.press(key)
        expect(page.locator(".jb-rest b")).to_have_text(number)
        idle(page)
    page.get_by_role("button", name="Next").click()
    expect(page.locator(".jb-head[data-done='3'] .jb-rest b")).to_have_text("2")
    assert page.evaluate("removed") == []


@contextmanager
def slowed(browser, server):
    """Let the process that draws the page run only a quarter of the time, and the server too.

    As beside many other processes, but without taking the processor from other tests, and however
    many cores there are. Chromium can slow down its pages itself, but by computing nothing in
    particular for three quarters of the time.
    """
    over = threading.Event()

    def interrupt(process, runs):
        while not over.wait(runs):
            os.kill(process, signal.SIGSTOP)
            over.wait(3 * runs)
            os.kill(process, signal.SIGCONT)

    assert server.process.pid is not None
    # Of different times, so that each also runs while the other does not.
    stopped = ((server.process.pid, 0.05), (drawing(browser), 0.03))
    interrupting = [threading.Thread(target=interrupt, args=each) for each in stopped]
    for thread in interrupting:
        thread.start()
    try:
        yield
    finally:
        over.set()
        for thread in interrupting:
            thread.join()


def drawing(browser):
    """Return the process that draws the pages of an address: it worked most, others are empty."""
    devtools = browser.new_browser_cdp_session()
    processes = devtools.send("SystemInfo.getProcessInfo")["processInfo"]
    devtools.detach()
    renderers = {each["cpuTime"]: each["id"] for each in processes if each["type"] == "renderer"}
    return int(renderers[max(renderers)])


@pytest.mark.parametrize("name", SURFACES)
def test_every_press_is_executed_once(page, browser, site, name):
    walked = walk(page, site.store, name, ITEMS[name], partial(slowed, browser, site.server), visit)
    assert (walked.lost, walked.doubled, walked.stuck) == (0, 0, 0), str(walked)
