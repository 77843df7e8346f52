"""The pages of figures in both looks: nothing is cut, wraps or runs out, charts are drawn in the theme's colours."""

from collections.abc import Iterator
from functools import partial

import pytest
from playwright.sync_api import Page, Request, expect

from judgeboard_dashboard.theme import DARK, LIGHT
from page_fit import looks, misfits, overflowing
from page_state import idle, in_the_end, visit

pytestmark = pytest.mark.browser

ADDRESSES = (
    "/agreement?cell=label:grounded:grounded",
    "/agreement?grade=Quality&all=true",
    "/agreement?compare=People+and+people",
    "/agreement?compare=People+and+people&by=Generator",
)


@pytest.fixture(autouse=True)
def own_host(page: Page, site) -> Iterator[None]:
    """Nothing is asked of other hosts."""
    asked: list[str] = []

    def note(request: Request) -> None:
        asked.append(request.url)

    page.on("request", note)
    yield
    page.remove_listener("request", note)
    assert [url for url in asked if not url.startswith((site.url, "data:", "blob:"))] == []


def drawn(page: Page, address: str) -> None:
    visit(page, address)
    expect(
        page.locator("[data-testid=stVegaLiteChart] svg, [data-testid=stDataFrame] canvas").first
    ).to_be_visible()
    idle(page)


def test_nothing_is_cut_wraps_or_runs_out(page: Page) -> None:
    for address in ADDRESSES:
        drawn(page, address)
        assert misfits(page) == {}, address


def test_the_figures_fit_and_the_table_of_flags_shows_all_its_columns(page: Page) -> None:
    drawn(page, "/agreement?all=true")
    scroller = page.locator(".st-key-opens_flags .dvn-scroller")
    expect(scroller).to_be_attached()
    for look in looks(page):
        assert overflowing(page) == [], look
        wider = "node => node.scrollWidth - node.clientWidth"
        assert in_the_end(partial(scroller.evaluate, wider), 0) == 0, look


def test_trends_fit_and_charts_follow_the_theme(page: Page) -> None:
    drawn(page, "/trends")
    line = page.locator("[data-testid=stVegaLiteChart] svg .mark-line path").first
    for look in looks(page):
        assert overflowing(page) == [], look
        colours = DARK if look.endswith("dark") else LIGHT
        expect(line).to_have_attribute("stroke", colours.series[0])
    page.emulate_media(color_scheme="light")
    expect(line).to_have_attribute("stroke", LIGHT.series[0])
    page.emulate_media(color_scheme="dark")
    expect(line).to_have_attribute("stroke", DARK.series[0])


def test_the_overview_fits_and_its_columns_stack_on_a_narrow_page(page: Page) -> None:
    drawn(page, "/")
    for look in looks(page):
        assert overflowing(page) == [], look
        stacked = look.startswith("800 ")
        assert in_the_end(partial(are_stacked, page), stacked) is stacked, look


def are_stacked(page: Page) -> bool:
    """Whether the right one of two parts is below the left one."""
    left, right = (
        page.locator(".jb-part").filter(has_text=text).bounding_box()
        for text in ("4. Which", "5. What")
    )
    assert left is not None
    assert right is not None
    return right["y"] > left["y"] + 100
