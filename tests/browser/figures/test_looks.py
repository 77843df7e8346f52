"""The pages of figures in both looks: nothing is cut, wraps or runs out, charts are drawn in the theme's colours."""

from functools import partial

import pytest
from playwright.sync_api import Page, expect

from judgeboard_dashboard.theme import DARK, LIGHT
from page_fit import looks, misfits
from page_state import idle, in_the_end, visit

pytestmark = pytest.mark.browser

PAGES = ("/", "/responses", "/disagreement", "/agreement", "/trends")

OTHERWISE = (
    "/agreement?grade=Quality",
    "/agreement?compare=People+and+people",
    "/agreement?compare=Judge+and+judge&by=Generator",
    "/trends?table=true",
    "/disagreement?grade=Label",
)


def drawn(page: Page, address: str) -> None:
    visit(page, address)
    expect(page.locator("[data-testid=stVegaLiteChart] svg, [data-testid=stDataFrame] canvas").first).to_be_visible()
    idle(page)


def test_nothing_is_cut_wraps_or_runs_out_and_nothing_is_asked_of_other_hosts(reviewer, site) -> None:
    page = reviewer("Mara", width=800, scheme="dark")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    for address in (*PAGES, *OTHERWISE):
        drawn(page, address)
        assert misfits(page) == {}, address
    assert asked
    assert [url for url in asked if not url.startswith((site.url, "data:", "blob:"))] == []


def test_the_table_of_flags_shows_all_its_columns(reviewer, site) -> None:
    page = reviewer("Mara")
    drawn(page, "/agreement")
    scroller = page.locator(".st-key-opens_flags .dvn-scroller")
    expect(scroller).to_be_attached()
    for look in looks(page):
        wider = "node => node.scrollWidth - node.clientWidth"
        assert in_the_end(partial(scroller.evaluate, wider), 0) == 0, look


def test_charts_follow_the_theme_but_do_not_close_the_palette(reviewer, site) -> None:
    page = reviewer("Mara")
    drawn(page, "/trends")
    line = page.locator("[data-testid=stVegaLiteChart] svg .mark-line path").first
    for scheme, colours in (("light", LIGHT), ("dark", DARK), ("light", LIGHT)):
        page.emulate_media(color_scheme=scheme)
        expect(line).to_have_attribute("stroke", colours.series[0])
    page.keyboard.press("/")
    palette = page.locator("[role=dialog] input")
    palette.fill("queue")
    expect(page.locator(".jb-found[data-text=queue]")).to_be_attached()
    page.emulate_media(color_scheme="dark")
    page.wait_for_function("getComputedStyle(document.querySelector('.stApp')).colorScheme === 'dark'")
    palette.fill("trends")
    expect(page.locator(".jb-found[data-text=trends]")).to_be_attached()
    page.keyboard.press("Escape")
    expect(palette).to_be_hidden()
    expect(line).to_have_attribute("stroke", DARK.series[0])


def test_columns_stack_on_a_narrow_page(reviewer, site) -> None:
    page = reviewer("Mara")
    drawn(page, "/")
    for width, stacked in ((1440, False), (800, True)):
        page.set_viewport_size({"width": width, "height": 900})
        assert in_the_end(partial(are_stacked, page), stacked) is stacked


def are_stacked(page: Page) -> bool:
    """Whether the right one of two parts is below the left one."""
    left, right = (page.locator(".jb-part").filter(has_text=text).bounding_box() for text in ("4. Which", "5. What"))
    assert left is not None
    assert right is not None
    return right["y"] > left["y"] + 100
