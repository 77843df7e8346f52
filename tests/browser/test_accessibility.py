"""Every page, light and wide, dark and narrow: it fits, and axe-core finds nothing serious in what is ours."""

import re
from importlib.resources import files
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from page_fit import looks, overflowing
from page_state import DECIDE, VIEWS, settled, turn_to, visit

pytestmark = pytest.mark.browser

# What others draw and no option changes: rule -> the markup that it is excused for.
EXCUSED = {
    # Vega gives the group of a kind of marks a role also where it has no marks: there is nothing to name.
    "svg-img-alt": re.compile(r'<g [^>]*role="graphics-symbol"[^>]*></g>'),
}
AXE = files("axe_playwright_python") / "axe.min.js"
# The light page is checked by all rules of WCAG 2.2 AA, the dark one by the only one that looks at colours.
RULES = {"light": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"], "dark": ["color-contrast"]}


def findings(page: Page, scheme: str, part: str) -> list[tuple[str, str, str]]:
    """(rule, impact, markup) of every serious or critical finding in this part of the page."""
    result: dict[str, Any] = page.evaluate(
        "([part, rules]) => axe.run(part, { runOnly: rules, resultTypes: ['violations'] })", [part, RULES[scheme]]
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
        part = "[data-testid=stMain]" if number else "html"  # all pages have the same header and menu
        expect(page.locator(".jb-note", has_text="Something went wrong")).to_have_count(0)
        for look in looks(page):
            problems += [(view, look, name) for name in overflowing(page)]
            problems += [(view, look, *found) for found in findings(page, look.split()[1], part)]
    assert problems == []


def test_an_item_is_read_and_decided_on_a_phone_and_at_200_percent(page: Page, site) -> None:
    for flag, (width, height) in zip(("plain-03", "plain-04"), ((390, 844), (720, 450)), strict=True):
        page.set_viewport_size({"width": width, "height": height})
        visit(page, f"/item?flag={site.rows.flags[flag]}")
        settled(page, DECIDE)
        assert page.evaluate("document.scrollingElement.scrollWidth") <= width
        for text in ("What is rock number", "Granite cools slowly below the surface.", "is below"):
            found = page.get_by_text(text).locator("visible=true").first
            found.scroll_into_view_if_needed()
            expect(found).to_be_in_viewport()
        button = page.get_by_role("button", name="Dismiss")
        button.scroll_into_view_if_needed()
        button.click()
        expect(page.get_by_role("status").filter(has_text=f"Saved: dismissed {flag}")).to_have_count(1)
        expect(page.get_by_role("heading", level=1)).to_have_count(1)
