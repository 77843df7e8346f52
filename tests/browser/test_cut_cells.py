"""A cell that cuts its text shows the whole on hover, and no table scrolls sideways."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from types import SimpleNamespace

import pytest
from playwright.sync_api import Locator, Page, expect

from browser_windows import Reviewers, Windows
from judgeboard.cli.demo import fill
from judgeboard.store.engine import Store
from page_fit import SIZES
from page_state import at_rest, idle, in_the_end, visit
from served import serving

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def site(new_store: Callable[[], Store], port: int) -> Iterator[SimpleNamespace]:
    """A server on the database of `judgeboard quickstart`."""
    store = new_store()
    with (
        ThreadPoolExecutor() as pool
    ):  # the driver of the browser keeps an event loop in this thread
        pool.submit(fill, store).result()
    with serving(str(store.engine.url.database), port) as url:
        yield SimpleNamespace(url=url)


@pytest.fixture(scope="module")
def page(windows: Windows) -> Iterator[Page]:
    """A window that is narrow when it is opened: tables leave out columns for its width at that time."""
    opened = Reviewers(windows)
    yield opened(width=800)
    opened.close()


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


def test_a_cell_that_is_cut_shows_its_whole_text(page: Page) -> None:
    visit(page, "/open_flags")
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
    hover(page, table, next(title for title in columns if title not in {"", "Answer"}), longest)
    expect(table).not_to_have_attribute("title", answers[longest].strip())


WIDER = """() => [...document.querySelectorAll("[data-testid=stDataFrame] .dvn-scroller")]
  .filter(node => node.offsetParent && node.scrollWidth - node.clientWidth > 1).length"""
BOTH = (1440, 800)
VIEWS = (
    "problems",
    "suites",
    "self_reference",
    "agreement",
    "runs",
    "pairs",
    "open_flags",
    "responses",
)
WITH_TABLES = dict.fromkeys(VIEWS, BOTH) | dict.fromkeys(("queues", "sources"), (1440,))


def test_no_table_scrolls_sideways(page: Page) -> None:
    for number, (view, widths) in enumerate(WITH_TABLES.items()):
        visit(page, f"/{view}")
        expect(page.locator("[data-testid=stDataFrame] canvas").first).to_be_visible()
        for width in (
            widths if number % 2 else widths[::-1]
        ):  # each second page is narrow when it is opened
            page.set_viewport_size({"width": width, "height": 900})
            idle(page)
            at_rest(partial(page.evaluate, SIZES))
            assert in_the_end(partial(page.evaluate, WIDER), 0) == 0, (width, view)
