"""The pages of figures in both looks: nothing is cut, wraps or runs out, charts are drawn in the theme's colours."""

from collections.abc import Iterator
from functools import partial

import pytest
from playwright.sync_api import Page, Request, expect

from judgeboard_dashboard.theme import DARK, LIGHT
from page_fit import looks, overflowing
from page_state import idle, in_the_end, visit

pytestmark = pytest.mark.browser


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


@pytest.mark.parametrize(
    "address", ["/", "/trends", "/agreement?all=true", "/agreement?compare=People+and+people"]
)
def test_the_figures_fit_and_follow_the_theme(page: Page, address: str) -> None:
    drawn(page, address)
    for look in looks(page):
        assert overflowing(page) == [], look
        if address == "/":
            stacked = look.startswith("800 ")
            assert in_the_end(partial(are_stacked, page), stacked) is stacked, look
        elif address == "/trends":
            line = page.locator("[data-testid=stVegaLiteChart] svg .mark-line path").first
            colours = DARK if look.endswith("dark") else LIGHT
            expect(line).to_have_attribute("stroke", colours.series[0])


def are_stacked(page: Page) -> bool:
    """Whether the right one of two parts is below the left one."""
    left, right = (
        page.locator(".jb-part").filter(has_text=text).bounding_box()
        for text in ("4. Which", "5. What")
    )
    assert left is not None
    assert right is not None
    return right["y"] > left["y"] + 100
