"""Waits until a page in a browser is drawn and takes decisions, and holds its keys down."""

import time

from playwright.sync_api import expect

from judgeboard_dashboard.app import HEAD_LINE, TABS
from judgeboard_dashboard.widgets.keys import FRESH_ROW, SAME_KEY

GUARD = round(FRESH_ROW * 1000) + 50  # ms until decisions about a row that just appeared are taken
PAUSE = round(SAME_KEY * 1000) + 50  # ms between two presses of one key that count as two
VIEWS = [*TABS]
# The number of the run that the page shows, in Streamlit's own state.
RUN = """() => {
  const app = document.querySelector("[data-testid=stApp]");
  let owner = app[Object.keys(app).find((name) => name.startsWith("__reactFiber$"))];
  while (owner && !owner.stateNode?.state?.scriptRunId) owner = owner.return;
  if (!owner) throw new Error("Streamlit keeps the number of its run elsewhere");
  return owner.stateNode.state.scriptRunId;
}"""
# Streamlit opens the page of another address without loading itself again, as for the Back button.
# A busy browser draws a whole run at once: then the state does not change, but the number of the
# run does.
GO = """address => new Promise((drawn, failed) => {
  const app = document.querySelector("[data-testid=stApp]"), state = "data-test-script-state";
  const run = RUN, before = run(), asked = performance.now();
  let begun = false, changed = false;
  const look = (ran = false) => {
    const running = app.getAttribute(state) !== "notRunning";
    begun ||= running || ran;
    if (!begun || running) return;
    states.disconnect();
    clearInterval(runs);
    drawn();
  };
  const states = new MutationObserver((changes) => look(changes.length > 1));
  states.observe(app, {attributeFilter: [state]});
  const runs = setInterval(() => {
    look(changed);
    if (performance.now() - asked > 60000) failed("no run of the page began in a minute");
    changed = run() !== before;  // a run that goes on shows its state before the next look
  }, 200);
  history.pushState({}, "", address);
  dispatchEvent(new PopStateEvent("popstate"));
})""".replace("RUN", RUN)
# The script has run, no part of the page waits for its code, and no font is on its way: it would
# make texts wider. No colour is still turning into another.
IDLE = """() => document.querySelector("[data-testid=stApp]")?.dataset.testScriptState === "notRunning"
  && !document.querySelector("[data-testid=stSkeleton]") && document.fonts.status === 'loaded'
  && !document.getAnimations().some((each) => each instanceof CSSTransition && each.playState === "running")"""
LOOK = 20  # ms between two looks
DECIDE = ".st-key-decide button:enabled:visible"
DRAWN = 20  # seconds in which a slow browser moves what it draws to its place


def idle(page):
    """Wait until the server draws nothing more, and no part of the page waits for its code or its font.

    The page looks itself: each time that Playwright's ``expect`` looks in vain, it describes the
    page for a report, and then waits ever longer. That took a quarter of the browser's processor
    time.
    """
    page.wait_for_function(IDLE, polling=LOOK)


def visit(page, address):
    """Open an address; a window that shows a page already need not load what every page needs, which takes longest."""
    if page.url == "about:blank":
        page.goto(address)
    else:
        page.evaluate(GO, address)
    idle(page)


def turn_to(page, address):
    """Open a view, maybe with parameters, in a window that shows one already."""
    visit(page, f"/{address}")
    view = address.partition("?")[0]
    if view == HEAD_LINE:
        expect(page.locator(".jb-head")).to_have_count(1)
    else:
        expect(page.locator("[data-testid=stHeading] h1")).to_have_text(TABS[view].page)
    idle(page)


def settled(page, part=".jb-head"):
    """Wait until this part of a row is drawn, all else too, and decisions about the row are taken."""
    expect(page.locator(part).first).to_be_visible()
    idle(page)
    page.wait_for_timeout(GUARD)


def in_the_end(read, expected):
    """Read from a page until it is as expected; return what was read last, also if it never is."""
    end = time.monotonic() + DRAWN
    while (value := read()) != expected and time.monotonic() < end:
        time.sleep(0.05)
    return value


def at_rest(read):
    """Read from a page until two reads, a tenth of a second apart, are the same; return what was read last."""
    end, value = time.monotonic() + DRAWN, read()
    while time.monotonic() < end:
        time.sleep(0.1)
        before, value = value, read()
        if value == before:
            break
    return value


def hold(page, key, repeats=60):
    """Hold a key down for some seconds."""
    for _ in range(repeats):
        page.keyboard.down(key)  # without a release in between these are the repeats of a held key
        page.wait_for_timeout(35)
    page.keyboard.up(key)


def press_at_times(page, letters, apart):
    """Press the keys of letters and spaces, so many seconds apart, also if a busy browser takes them later."""
    devtools, begun = page.context.new_cdp_session(page), time.time()
    for number, letter in enumerate(letters):
        code = "Space" if letter == " " else f"Key{letter.upper()}"
        press = {"key": letter, "code": code, "timestamp": begun + apart * number}
        devtools.send("Input.dispatchKeyEvent", {**press, "type": "keyDown", "text": letter})
        devtools.send("Input.dispatchKeyEvent", {**press, "type": "keyUp"})
    devtools.detach()


def mash(page, key):
    """Press the key of a letter three times in 0.6 s, before anybody could have read the next row."""
    press_at_times(page, key * 3, 0.3)
