"""A cell that cuts its text shows the whole on hover, and so does a line; no table but a wide list scrolls sideways."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from judgeboard.cli.demo import fill
from judgeboard.store.engine import Store
from page_state import VIEWS, at_rest, idle, in_the_end, settled, turn_to, visit
from served import serving

pytestmark = pytest.mark.browser

CELL = "td[aria-colindex='{column}']"
COLUMNS = """node => {
  const canvas = node.querySelector("canvas[data-testid=data-grid-canvas]");
  const key = Object.keys(canvas).find(name => name.startsWith("__reactFiber$"));
  let fiber = canvas[key];
  while (!(fiber.memoizedProps?.columns && fiber.memoizedProps.headerHeight)) fiber = fiber.return;
  return fiber.memoizedProps.columns.map(column => [column.title, column.width]);
}"""


def hover(page: Page, table: Locator, title: str, row: int) -> None:
    """Move the pointer over a cell; row -1 is the header."""
    left = 0
    for name, width in table.evaluate(COLUMNS):
        if name == title:
            box = table.bounding_box()
            assert box is not None
            page.mouse.move(box["x"] + left + width / 2, box["y"] + 54 + 36 * row)
            return
        left += width
    raise AssertionError(title)


def test_a_cell_that_is_cut_shows_its_whole_text(reviewer, site) -> None:
    page = reviewer("Mara")
    page.goto("/open_flags")
    table = page.locator("[data-testid=stDataFrame]").first
    expect(table.locator("canvas").first).to_be_visible()
    idle(page)
    columns = [title for title, _ in table.evaluate(COLUMNS)]
    cells = table.locator(CELL.format(column=columns.index("Answer") + 1))
    expect(cells.first).to_be_attached()  # what screen readers get comes a moment after the drawing
    answers = cells.all_inner_texts()
    lengths = [len(answer) for answer in answers]
    longest, shortest = lengths.index(max(lengths)), lengths.index(min(lengths))
    hover(page, table, "Answer", longest)
    expect(table).to_have_attribute("title", answers[longest].strip())
    hover(page, table, "Answer", shortest)
    expect(table).not_to_have_attribute("title", answers[longest].strip())
    hover(page, table, "Quality", longest)
    expect(table).not_to_have_attribute("title", answers[longest].strip())


WIDER = """() => [...document.querySelectorAll("[data-testid=stDataFrame] .dvn-scroller")]
  .filter(node => node.offsetParent && node.scrollWidth - node.clientWidth > 1).length"""
# By view: the lists whose numbers and names alone are wider than a page of 800 px.
LISTS = {"runs": 1, "responses": 1}
# The titles of the columns whose short texts (a number, an interval, a state) do not fit.
CUT_VALUES = """node => {
  const canvas = node.querySelector("canvas[data-testid=data-grid-canvas]"), context = canvas.getContext("2d");
  const columns = (COLUMNS)(node), found = [];
  for (const cell of canvas.querySelectorAll("td")) {
    const [title, width] = columns[cell.ariaColIndex - 1], needed = context.measureText(cell.textContent).width;
    if (needed < 130 && needed > width) found.push(`${title}: ${cell.textContent}`);
  }
  return found;
}""".replace("COLUMNS", COLUMNS)


@pytest.fixture
def demo(browser: Browser, new_store: Callable[[], Store]) -> Iterator[Page]:
    """A window of 800 px on the sample log."""
    store = new_store()
    with ThreadPoolExecutor() as pool:  # the driver of the browser keeps an event loop in this thread
        pool.submit(fill, store).result()
    with (
        serving(str(store.engine.url.database)) as url,
        browser.new_context(base_url=url, viewport={"width": 800, "height": 900}) as context,
    ):
        yield context.new_page()


def test_no_table_but_a_wide_list_scrolls_sideways(demo: Page) -> None:
    visit(demo, "/schemas")
    for view in VIEWS:
        turn_to(demo, view)
        lists = LISTS.get(view, 0)
        assert in_the_end(partial(demo.evaluate, WIDER), lists) == lists, view
    visit(demo, "/pairs")
    tables = demo.locator("[data-testid=stDataFrame]")
    expect(tables.first.locator("canvas").first).to_be_visible()
    idle(demo)
    narrow = at_rest(lambda: [table.evaluate(COLUMNS) for table in tables.all()])
    assert [table.evaluate(CUT_VALUES) for table in tables.all()] == [[]] * len(narrow)
    demo.set_viewport_size({"width": 1440, "height": 900})
    widths = partial(tables.first.evaluate, f"node => ({COLUMNS})(node).reduce((all, column) => all + column[1], 0)")
    place = tables.first.evaluate("node => node.querySelector('.dvn-scroller').clientWidth")
    assert in_the_end(lambda: 0 <= place - widths() <= len(narrow[0]), expected=True), "a wider window is filled again"
    for view in ("queues", "self_reference", "runs"):
        visit(demo, f"/{view}")
        expect(demo.locator("[data-testid=stDataFrame] canvas").first).to_be_visible()
        idle(demo)
        assert in_the_end(partial(demo.evaluate, WIDER), 0) == 0, view


def test_a_line_that_is_cut_shows_its_whole_text(reviewer, site) -> None:
    page = reviewer("Mara", width=800)
    page.goto("/item")
    settled(page)
    rest = page.locator(".jb-head > .jb-rest")
    assert rest.evaluate("node => node.scrollWidth > node.clientWidth")
    rest.hover()
    expect(rest).to_have_attribute("title", str(rest.text_content()).strip())
