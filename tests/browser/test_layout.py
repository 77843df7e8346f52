"""Every page fits, axe-core finds nothing serious in what is ours, and nothing moves between items, in both looks."""

import re
from functools import partial
from importlib.resources import files
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from judgeboard.domain import ClaimMark, ClaimStatus, Decision, Grade, Label
from judgeboard.people.roster import ensure_reviewer
from judgeboard.reviews.submissions import Submission, submit
from judgeboard_dashboard.app import page_of
from page_fit import looks, misfits, overflowing, reaches_bar
from page_state import DECIDE, PAUSE, VIEWS, at_rest, idle, in_the_end, settled, turn_to, visit

pytestmark = pytest.mark.browser

# What others draw and no option changes: rule -> the markup that it is excused for.
EXCUSED = {
    # Vega gives the group of a kind of marks a role also where it has no marks: there is nothing to
    # name.
    "svg-img-alt": re.compile(r'<g [^>]*role="graphics-symbol"[^>]*></g>'),
}
AXE = files("axe_playwright_python") / "axe.min.js"
# The light page is checked by all rules of WCAG 2.2 AA, the dark one by the only one that looks at
# colours.
RULES = {
    "light": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"],
    "dark": ["color-contrast"],
}


def findings(page: Page, scheme: str, part: str) -> list[tuple[str, str, str]]:
    """(rule, impact, markup) of every serious or critical finding in this part of the page."""
    result: dict[str, Any] = page.evaluate(
        "([part, rules]) => axe.run(part, { runOnly: rules, resultTypes: ['violations'] })",
        [part, RULES[scheme]],
    )
    return [
        (found["id"], found["impact"], node["html"][:300])
        for found in result["violations"]
        if found["impact"] in {"serious", "critical"}
        for node in found["nodes"]
        if found["id"] not in EXCUSED or not EXCUSED[found["id"]].fullmatch(node["html"])
    ]


def test_every_page_fits_and_has_no_serious_finding_light_or_dark(page: Page) -> None:
    visit(page, "/schemas")
    expect(page.locator(".jb-reviewer")).to_have_count(1)
    page.add_script_tag(content=AXE.read_text(encoding="utf-8"))
    problems: list[tuple[str, ...]] = []
    for number, view in enumerate(VIEWS):
        turn_to(page, view)
        assert page.title(), view
        part = (
            "[data-testid=stMain]" if number else "html"
        )  # all pages have the same header and menu
        expect(page.locator(".jb-note", has_text="Something went wrong")).to_have_count(0)
        for look in looks(page):
            problems += [(view, look, name) for name in overflowing(page)]
            problems += [(view, look, *found) for found in findings(page, look.split()[1], part)]
    assert problems == []


ANCHORS = (
    ".st-key-head",
    "[class*='st-key-pane_answer']:visible",
    "[class*='st-key-pane_passages']:visible",
    "[class*='st-key-pane_judge']:visible",
    ".st-key-bar",
    ".st-key-decide",
)


# Panes scroll, the page does not.
PAGE_STANDS = """() => {
  const main = document.querySelector("[data-testid=stMain]");
  return main.scrollHeight - main.clientHeight <= 1;
}"""


def boxes(page: Page) -> dict[str, Any]:
    return {name: page.locator(name).bounding_box() for name in ANCHORS}


def settle(page: Page, *, after: str = "") -> str:
    """Wait until a row other than ``after`` is drawn whole; return which."""
    head = page.locator(f".jb-head:not([data-row='{after}'])")
    expect(head).to_be_visible()
    expect(page.locator(".st-key-decide button:visible").first).to_be_visible()
    idle(page)
    return str(head.get_attribute("data-row"))


def test_the_anchors_keep_their_place_over_all_items(page: Page, site) -> None:
    """Down the list in one look, and up again in the other."""
    visit(page, "/item")
    row = settle(page)
    for look, key in zip(looks(page), "jk", strict=True):
        before = at_rest(partial(boxes, page))
        assert all(before.values()), before
        for _ in range(4):
            page.wait_for_timeout(PAUSE)
            page.keyboard.press(key)
            row = settle(page, after=row)
            assert in_the_end(partial(boxes, page), before) == before, look


def test_items_and_a_filtered_list_are_not_cut_and_do_not_wrap(page: Page, site) -> None:
    claims, good = site.rows.flags["claims"], site.rows.responses["good"]
    for address in (
        "/open_flags?rule=low_groundedness&rule=low_quality&judge_side=low&max_score=0.3",
        f"/item?flag={claims}",
        f"/item?response={good}",
    ):
        visit(page, address)
        expect(
            page.locator("[data-testid=stDataFrame], .st-key-decide button:visible").first
        ).to_be_visible()
        idle(page)
        assert misfits(page) == {}, address


def test_a_review_of_many_words_does_not_cut_the_judge_pane(page: Page, site) -> None:
    grade = Grade(
        label=Label.HALLUCINATED,
        groundedness=0.5,
        quality=2,
        claim_marks=tuple(ClaimMark(ClaimStatus.SUPPORTED, "x", at, at + 1) for at in range(12)),
        note="Basalt is younger, as the second passage says.",
    )
    long = ensure_reviewer(site.store, "page", "Wilhelmina-Maximiliane of Wolfenbüttel")
    good = site.rows.responses["good"]
    submit(
        site.store,
        Submission(response_id=good, reviewer=long, grade=grade, request_key="many words"),
    )
    visit(page, f"/item?response={good}")
    settle(page)
    pane = page.locator(ANCHORS[3])
    page.locator(".jb-signals > details > summary").last.click()
    day = page.locator(".jb-past > span").first
    lines = "node => { const all = new Range(); all.selectNode(node.firstChild); return all.getClientRects().length }"
    fits = "node => node.scrollWidth <= node.clientWidth"
    for width in (1440, 800):
        page.set_viewport_size({"width": width, "height": 900})
        assert in_the_end(partial(pane.evaluate, fits), expected=True), width
        # The date and time are on one line.
        assert in_the_end(partial(day.evaluate, lines), 1) == 1
        for part in (".jb-past", ".jb-past > b"):
            assert in_the_end(partial(page.locator(part).first.evaluate, fits), expected=True), (
                width,
                part,
            )


def test_the_bar_is_in_view_panes_fill_the_window_and_each_item_starts_at_its_top(
    page: Page, site
) -> None:
    visit(page, f"/item?flag={site.rows.flags['many-passages']}")
    row = settle(page)
    for height in (700, 1080, 900):
        page.set_viewport_size({"width": 1440, "height": height})
        assert in_the_end(partial(reaches_bar, page, ANCHORS[2]), expected=True), height
        page.wait_for_function(PAGE_STANDS)
    pane = page.locator(ANCHORS[2])
    pane.evaluate("node => node.scrollTo({top: 300, behavior: 'instant'})")
    page.keyboard.press("3")
    expect(page.get_by_role("button", name="Gaps")).to_have_attribute("kind", "primary")
    idle(page)
    assert pane.evaluate("node => node.scrollTop") == 300
    page.keyboard.press("k")
    settle(page, after=row)
    top = partial(page.locator(ANCHORS[2]).evaluate, "node => node.scrollTop")
    # A grade keeps the place, an item does not.
    assert in_the_end(top, 0) == 0


def test_who_was_first_is_said_whole_however_long_their_name(page: Page, site) -> None:
    flag = site.rows.flags["plain-03"]
    page.set_viewport_size({"width": 1280, "height": 900})
    visit(page, f"/item?flag={flag}")
    settle(page)
    first = ensure_reviewer(
        site.store, "page", "Wilhelmina-Maximiliane Montgomery-Wittgenstein of Wolfenbüttel"
    )
    submit(
        site.store,
        Submission(
            flag_id=flag,
            reviewer=first,
            decision=Decision.CONFIRM,
            grade=Grade(),
            request_key="first",
        ),
    )
    settled(page)
    page.keyboard.press("n")
    refused = page.locator(".jb-head .jb-refused")
    expect(refused).to_contain_text("Not saved: plain-03: confirmed by Wilhelmina-Maximiliane…")
    whole = partial(refused.evaluate, "node => node.scrollWidth <= node.clientWidth")
    # No word is cut.
    assert in_the_end(whole, expected=True)


def test_a_filter_of_any_length_does_not_push_the_page_sideways(page: Page, site) -> None:
    for place in ("rejudge", "open_flags", "responses"):
        visit(page, f"/{place}?text={'x' * 6000}")
        expect(page.get_by_role("heading", level=1)).to_have_text(page_of(place))
        expect(page.get_by_role("textbox", name="Find")).to_be_visible()
        idle(page)
        expect(page.locator(".st-key-rejudge_form .jb-cap, .jb-empty").first).to_be_visible()
        assert overflowing(page) == [], place


def test_an_item_is_read_and_decided_on_a_phone_and_at_200_percent(page: Page, site) -> None:
    for flag, (width, height) in zip(
        ("plain-11", "plain-12"), ((390, 844), (720, 450)), strict=True
    ):
        page.set_viewport_size({"width": width, "height": height})
        visit(page, f"/item?flag={site.rows.flags[flag]}")
        settled(page, DECIDE)
        assert page.evaluate("document.scrollingElement.scrollWidth") <= width
        for text in (
            "What is rock number",
            "Granite cools slowly below the surface.",
            "(threshold ",
        ):
            found = page.get_by_text(text).locator("visible=true").first
            found.scroll_into_view_if_needed()
            expect(found).to_be_in_viewport()
        button = page.get_by_role("button", name="Dismiss")
        button.scroll_into_view_if_needed()
        button.click()
        expect(
            page.get_by_role("status").filter(has_text=f"Saved: dismissed {flag}")
        ).to_have_count(1)
        expect(page.get_by_role("heading", level=1)).to_have_count(1)
