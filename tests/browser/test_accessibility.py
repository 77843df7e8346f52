"""Every page, light and dark: axe-core finds nothing serious or critical in what is ours."""

import re
from importlib.resources import files
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from page_state import DECIDE, idle, settled

pytestmark = pytest.mark.browser

PAGES = (
    "overview",
    "queue",
    "queue?show=Conflicts",
    "queue?show=My+reviews",
    "item",
    "responses",
    "disagreement",
    "agreement",
    "trends",
    "rejudge",
    "runs",
    "import",
    "settings",
    "suites",
    "pairs",
    "self_reference",
    "audits",
    "judges",
)
# What others draw and no option changes: rule -> the markup that it is excused for.
EXCUSED = {
    # Vega gives the group of a kind of marks a role also where it has no marks: there is nothing to name.
    "svg-img-alt": re.compile(r'<g [^>]*role="graphics-symbol"[^>]*></g>'),
}
AXE = files("axe_playwright_python") / "axe.min.js"
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]


def findings(page: Page) -> list[tuple[str, str, str]]:
    """(rule, impact, markup) of every serious or critical finding."""
    result: dict[str, Any] = page.evaluate(
        "tags => axe.run(document, { runOnly: tags, resultTypes: ['violations'] })", TAGS
    )
    return [
        (found["id"], found["impact"], node["html"][:300])
        for found in result["violations"]
        if found["impact"] in {"serious", "critical"}
        for node in found["nodes"]
        if found["id"] not in EXCUSED or not EXCUSED[found["id"]].fullmatch(node["html"])
    ]


def test_no_page_has_a_serious_finding_light_or_dark(reviewer, site) -> None:
    page = reviewer("Mara")
    problems: list[tuple[str, ...]] = []
    for address in PAGES:
        page.goto(f"/{address}")
        expect(page.locator(".jb-reviewer")).to_have_count(1)
        idle(page)
        expect(page.locator("[data-testid=stSkeleton]")).to_have_count(0)
        page.add_script_tag(content=AXE.read_text(encoding="utf-8"))
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            page.wait_for_timeout(200)
            problems += [(address, scheme, *found) for found in findings(page)]
        page.emulate_media(color_scheme="light")
    assert problems == []


def test_an_item_is_read_and_decided_on_a_phone_and_at_200_percent(reviewer, site) -> None:
    for flag, (width, height) in zip(("plain-03", "plain-04"), ((390, 844), (720, 450)), strict=True):
        page = reviewer("Paula", width=width, height=height)
        page.goto(f"/item?flag={site.rows.flags[flag]}")
        settled(page, DECIDE)
        assert page.evaluate("document.scrollingElement.scrollWidth") <= width
        for text in ("What is rock number", "Granite cools slowly below the surface.", "is below"):
            found = page.get_by_text(text).locator("visible=true").first
            found.scroll_into_view_if_needed()
            expect(found).to_be_in_viewport()
        button = page.get_by_role("button", name="Dismiss")
        button.scroll_into_view_if_needed()
        button.click()
        expect(page.get_by_role("status").filter(has_text="Saved: dismissed")).to_have_count(1)
        assert page.get_by_role("heading", level=1).count() == 1
