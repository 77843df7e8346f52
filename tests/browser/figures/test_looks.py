"""The pages of figures in four looks: nothing is cut, wraps or runs out, charts are drawn in the theme's colours."""

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from judgeboard_dashboard.charts.frame import DARK, LIGHT

pytestmark = pytest.mark.browser

LOOKS = [(1440, "light"), (1440, "dark"), (800, "light"), (800, "dark")]
PAGES = ("/", "/responses", "/disagreement", "/agreement", "/trends")

RUNNING_OUT = """() => {
  const found = [];
  const whole = {page: document.scrollingElement, main: document.querySelector("[data-testid=stMain]")};
  for (const [name, node] of Object.entries(whole))
    if (node && node.scrollWidth > node.clientWidth) found.push(`${name} ${node.scrollWidth} > ${node.clientWidth}`);
  for (const node of document.querySelectorAll("button, label p, [data-testid=stHeading] h1")) {
    if (!node.offsetParent || node.closest("[data-testid=stDataFrame], [data-testid=stElementToolbar]")) continue;
    if (node.scrollWidth > node.clientWidth + 1) found.push(`${node.textContent.trim()} is cut`);
    const line = parseFloat(getComputedStyle(node).lineHeight) || 24;
    const text = node.tagName === "BUTTON" && node.querySelector("p");
    if (text && text.offsetHeight > line * 1.6) found.push(`${node.textContent.trim()} wraps`);
  }
  for (const chart of document.querySelectorAll("[data-testid=stVegaLiteChart]")) {
    const frame = chart.getBoundingClientRect();
    for (const text of chart.querySelectorAll("svg text")) {
      const box = text.getBoundingClientRect();
      if (text.textContent && (box.right > frame.right + 1 || box.left < frame.left - 1))
        found.push(`${text.textContent} runs out of its chart`);
    }
  }
  return found;
}"""


def drawn(page: Page, address: str) -> None:
    page.goto(address)
    expect(page.locator("[data-testid=stVegaLiteChart] svg, [data-testid=stDataFrame] canvas").first).to_be_visible()
    expect(page.locator("[data-testid=stStatusWidget]")).to_have_count(0)
    expect(page.locator("[data-testid=stSkeleton]")).to_have_count(0)


@pytest.mark.parametrize(("width", "scheme"), LOOKS)
def test_nothing_is_cut_wraps_or_runs_out(reviewer, desk, width: int, scheme: str) -> None:
    page = reviewer("Mara", width=width, scheme=scheme)
    for address in (*PAGES, "/agreement?grade=Quality", "/trends?table=true", "/disagreement?grade=Label"):
        drawn(page, address)
        assert page.evaluate(RUNNING_OUT) == [], address


@pytest.mark.parametrize(("scheme", "colours"), [("light", LIGHT), ("dark", DARK)])
def test_charts_follow_the_theme(reviewer, desk, scheme: str, colours: Any) -> None:
    page = reviewer("Mara", scheme=scheme)
    drawn(page, "/trends")
    line = page.locator("[data-testid=stVegaLiteChart] svg .mark-line path").first
    expect(line).to_have_attribute("stroke", colours.series[0])


def test_columns_stack_on_a_narrow_page(reviewer, desk) -> None:
    wide, narrow = reviewer("Mara"), reviewer("Mara", width=800)
    for page, stacked in ((wide, False), (narrow, True)):
        drawn(page, "/")
        left, right = (
            page.locator(".jb-part").filter(has_text=text).bounding_box() for text in ("What waits", "Two signals")
        )
        assert left is not None
        assert right is not None
        assert (right["y"] > left["y"] + 100) is stacked


def test_a_page_asks_nothing_of_other_hosts(reviewer, desk) -> None:
    page = reviewer("Mara")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    for address in PAGES:
        drawn(page, address)
    outside = [url for url in asked if not url.startswith((desk.url, "data:", "blob:"))]
    assert outside == []
