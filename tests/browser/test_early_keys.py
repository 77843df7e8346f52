"""Keys pressed while the page is still being drawn: the script alone, on a page that draws itself in known order."""

from importlib.resources import files

import pytest
from playwright.sync_api import Browser, Page, expect

pytestmark = pytest.mark.browser

# What the script looks at: the state of the run, the head with how many presses were taken, buttons with their keys.
PAGE = """
<div data-testid="stApp" data-test-script-state="notRunning">
  <div class="jb-head" data-row="7" data-taken="0"></div>
</div>
<script>
  const head = document.querySelector(".jb-head");
  const heard = [];
  function draw(key) {
    const button = document.createElement("button");
    button.innerHTML = `<kbd aria-label="Shortcut ${key}">${key}</kbd>`;
    document.body.append(button);
    document.addEventListener("keydown", (event) => {
      if (event.key.toUpperCase() !== key) return;
      heard.push(key);
      head.dataset.taken = heard.length;
    });
  }
</script>
"""


@pytest.fixture
def bare(browser: Browser) -> Page:
    """A page with a head and no button yet."""
    page = browser.new_page()
    page.set_content(PAGE)
    page.add_script_tag(content=(files("judgeboard_dashboard") / "keys.js").read_text(encoding="utf-8"))
    return page


def test_a_press_before_any_button_stands_waits_for_its_button(bare: Page) -> None:
    bare.keyboard.press("j")
    bare.keyboard.press("g")
    bare.wait_for_timeout(800)
    bare.evaluate("draw('J'); draw('G')")
    expect(bare.locator(".jb-head")).to_have_attribute("data-taken", "2")
    assert bare.evaluate("heard") == ["J", "G"]


def test_a_press_that_no_button_takes_is_forgotten_soon(bare: Page) -> None:
    bare.evaluate("draw('J')")
    bare.keyboard.press("g")
    bare.keyboard.press("j")
    expect(bare.locator(".jb-head")).to_have_attribute("data-taken", "1")
    bare.evaluate("draw('G')")
    bare.wait_for_timeout(500)
    assert bare.evaluate("heard") == ["J"]


def test_a_press_waits_for_a_page_that_is_too_busy_drawing_to_look(bare: Page) -> None:
    bare.evaluate("draw('J')")
    bare.keyboard.press("g")
    bare.evaluate("""() => {
      const end = performance.now() + 700;
      while (performance.now() < end);
      setTimeout(() => draw('G'), 100);
    }""")
    expect(bare.locator(".jb-head")).to_have_attribute("data-taken", "1")
    assert bare.evaluate("heard") == ["G"]


def test_a_press_made_on_another_row_is_not_taken(bare: Page) -> None:
    bare.keyboard.press("g")
    bare.evaluate("head.dataset.row = '8'; draw('G'); draw('J')")
    bare.keyboard.press("j")
    expect(bare.locator(".jb-head")).to_have_attribute("data-taken", "1")
    assert bare.evaluate("heard") == ["J"]


SLOW = """() => {
  const server = { times: {}, done: [] };
  window.server = server;
  const button = document.createElement("button");
  button.innerHTML = '<kbd aria-label="Shortcut G">G</kbd>';
  document.body.append(button);
  document.addEventListener("keydown", (event) => {
    if (event.key !== "g") return;
    setTimeout(() => {
      const now = performance.now();
      if (!(now - server.times.g < 250)) server.done.push(now);
      server.times.g = now;
      head.dataset.taken = 1 + Number(head.dataset.taken);
    }, server.done.length ? 0 : 600);
  });
}"""


def test_presses_that_a_slow_server_gets_late_are_not_taken_for_one(bare: Page) -> None:
    bare.evaluate(SLOW)
    for _ in range(3):
        bare.keyboard.press("g")
        bare.wait_for_timeout(300)
    expect(bare.locator(".jb-head")).to_have_attribute("data-taken", "3")
    assert len(bare.evaluate("server.done")) == 3


def test_a_double_press_is_one_also_for_a_slow_server(bare: Page) -> None:
    bare.evaluate(SLOW)
    bare.keyboard.press("g")
    bare.keyboard.press("g")
    bare.wait_for_timeout(1200)
    assert len(bare.evaluate("server.done")) == 1


def test_a_press_that_waits_is_shown_and_one_that_is_never_taken_is_said(bare: Page) -> None:
    bare.evaluate("draw('J'); document.addEventListener('keydown', () => { head.dataset.taken = 0; })")
    bare.keyboard.press("j")
    expect(bare.locator(".jb-head[data-waits='1']")).to_have_count(1)
    expect(bare.locator(".jb-head[data-lost='J']")).to_have_count(1)
    expect(bare.locator(".jb-head[data-waits]")).to_have_count(0)
