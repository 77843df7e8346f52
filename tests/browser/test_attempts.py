"""The attempts on the item page in a real browser: which is selected, what fits, what may not run."""

import pytest
from playwright.sync_api import Page, expect

from judgeboard.store.engine import Store
from page_fit import misfits
from page_state import PAUSE, idle, visit
from refined_answers import fill_attempts
from refining_log import standing

pytestmark = pytest.mark.browser

# Whether the text of the chosen attempt is whole between the top of the window and the bar at its end.
IN_VIEW = """() => {
  const [text, bar] = [".jb-attempt-text", ".st-key-bar"].map((name) => document.querySelector(name));
  const { top, bottom } = text.getBoundingClientRect();
  return 0 < top && top < bottom && bottom < bar.getBoundingClientRect().top;
}"""
_FILLED: dict[int, dict[str, int]] = {}


def filled(store: Store) -> dict[str, int]:
    """The answers with attempts, made once for the served database."""
    return _FILLED.setdefault(id(store.engine), fill_attempts(store))


def open_item(page: Page, response_id: int) -> None:
    visit(page, f"/item?response={response_id}")
    expect(page.locator(".jb-attempts")).to_be_visible()
    idle(page)


def test_a_person_says_with_keys_which_attempt_stands_and_it_is_there_after_a_reload(reviewer, site) -> None:
    answer = filled(site.store)["refined"]
    page = reviewer("Mara")
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
    assert [(row["number"], row["withdrawn"]) for row in standing(site.store)] == [(1, False), (1, True)]


def test_the_line_at_the_answer_leads_to_the_attempts(page: Page, site) -> None:
    open_item(page, filled(site.store)["reflected"])
    page.get_by_role("link", name="1 attempt at a better answer").click()
    expect(page.locator(".jb-attempts")).to_be_in_viewport()


def test_the_text_of_the_chosen_attempt_is_in_view(page: Page, site) -> None:
    text, main = page.locator(".jb-attempt-text"), page.locator("[data-testid=stMain]")
    top, end = (f"node => node.scrollTo({{top: {place}, behavior: 'instant'}})" for place in ("0", "node.scrollHeight"))
    open_item(page, filled(site.store)["refined"])
    for width, chosen in ((1440, "The original"), (800, "Attempt 1")):
        page.set_viewport_size({"width": width, "height": 1000})
        main.evaluate(top)
        page.keyboard.press("9")
        expect(text).to_contain_text(chosen)
        idle(page)
        page.wait_for_function(IN_VIEW)  # it is scrolled to
        main.evaluate(end)  # all cards are scrolled through
        page.wait_for_function(IN_VIEW)
        page.wait_for_timeout(PAUSE)


def test_attempts_fit_and_run_no_script(page: Page, site) -> None:
    for name in ("reflected", "refined"):
        open_item(page, filled(site.store)[name])
        assert misfits(page) == {}, name
        assert page.evaluate("window.hacked === undefined")
