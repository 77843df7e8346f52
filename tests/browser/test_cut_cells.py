"""A cell that cuts its text shows the whole on hover, and no table scrolls sideways."""

import pytest
from playwright.sync_api import Locator, Page, expect

from page_state import idle, visit

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
