"""Every mark opens exactly the answers it counts, and Back brings the page as it was left."""

import re
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import expect

from judgeboard.measure.agreement import every_judge
from judgeboard.measure.trend import trend
from judgeboard.store.overview import count_log, quadrant, signal_counts
from judgeboard_dashboard.widgets.filters import as_date
from page_state import idle, visit
from stored_rows import read

pytestmark = pytest.mark.browser


def opened(page, address):
    visit(page, address)
    expect(page.locator("[data-testid=stVegaLiteChart] svg").first).to_be_visible()
    idle(page)


def marks(page, kind, *, chart=0):
    """The marks of a chart that take clicks: the last layer's, in the order of its rows."""
    return (
        page.locator("[data-testid=stVegaLiteChart]")
        .nth(chart)
        .locator(f"path[aria-roledescription^='{kind}']")
    )


def answers(page):
    """How many answers the Responses page has found."""
    page.wait_for_url(re.compile("/responses"))
    line = page.locator(".jb-say").filter(has_text=re.compile(r"newest first"))
    expect(line).to_be_visible()
    idle(page)
    return int(line.inner_text().split(" answer", maxsplit=1)[0].replace(",", ""))


def test_a_trend_point_opens_exactly_its_rows_and_back_brings_the_trend_as_it_was_left(page, site):
    panel = read(site.store, trend, measure="low_share", period="day", last=30).panels[0]
    opened(page, "/trends?show=Share below 0.5&by=Day")
    points = marks(page, "point")
    expect(points).to_have_count(len(panel.points))
    points.nth(len(panel.points) - 2).click()
    assert answers(page) == panel.points[-2].estimate.n
    shown = parse_qs(urlsplit(page.url).query)
    # The first panel has all answers.
    assert "query_type" not in shown
    assert shown["from"] == [str(as_date(panel.points[-2].start))]
    page.go_back()
    page.wait_for_url(re.compile(r"/trends\?.*show=Share"))
    expect(page.locator("[data-testid=stVegaLiteChart] svg").first).to_be_visible()
    chosen = page.locator("[data-testid=stButtonGroup] button[data-selected=true]")
    expect(chosen).to_have_text(["Share below 0.5", "Day"])
    expect(page).not_to_have_url(re.compile("from="))


def test_a_cell_of_the_two_signals_opens_its_answers(page, site):
    with site.store.reading() as connection:
        counts = quadrant(count_log(connection), signal_counts(connection))
    opened(page, "/")
    signals = page.locator("[data-testid=stVegaLiteChart]").last.locator(
        "path[aria-roledescription^='rect']"
    )
    signals.nth(0).click()
    assert answers(page) == counts["low", "down"]


def test_a_number_of_what_waits_opens_the_queue(page, site):
    opened(page, "/")
    table = page.locator("[data-testid=stDataFrame]").first
    table.scroll_into_view_if_needed()
    box = table.bounding_box()
    table.click(position={"x": box["width"] - 40, "y": 36 + 18})
    page.wait_for_url(re.compile(r"/open_flags\?.*rule="))
    expect(page.locator(".jb-say")).to_contain_text("with open flags in ")


def test_a_cell_of_the_matrix_lists_its_answers_and_a_chip_brings_all_back(page, site):
    with site.store.reading() as connection:
        (found,) = (
            row for row in every_judge(connection, ["label"]) if row.title == site.rows.rag.title
        )
    opened(page, "/agreement")
    before = page.locator(".st-key-foot_differing .jb-cap").inner_text()
    cells = marks(page, "rect")
    expect(cells).to_have_count(4)
    cells.nth(0).click()
    page.wait_for_url(re.compile(r"/agreement\?.*cell=label"))
    chip = page.get_by_role(
        "button", name=f"People hallucinated, judge hallucinated: {found.confusion.counts[0][0]} "
    )
    expect(chip).to_be_visible()
    idle(page)
    chip.click()
    expect(chip).to_have_count(0)
    expect(page).not_to_have_url(re.compile("cell="))
    expect(page.locator(".st-key-foot_differing .jb-cap")).to_have_text(before)
    marks(page, "rect").nth(0).click()
    page.get_by_role("button", name="Open in Answers").click()
    assert answers(page) == found.confusion.counts[0][0]
