"""Many answers at once, in a browser: rows selected with Shift, all of the filter, the question, one undo."""

import pytest
from playwright.sync_api import expect
from sqlalchemy import func, select

from judgeboard.store.tables import FLAG
from page_state import idle
from queue_case import queue_case

pytestmark = pytest.mark.browser


def test_rows_are_selected_with_shift_and_all_of_a_filter_is_confirmed_and_undone(reviewer, site) -> None:
    def still_open() -> int:
        with site.store.reading() as connection:
            return connection.execute(select(func.count()).where(FLAG.c.state == "open")).scalar_one()

    queue_case(site.store).flagged(*(0.1 for _ in range(30)))  # more than one page
    before = still_open()
    page = reviewer("Mara")
    page.goto("/open_flags")
    words = page.locator(".st-key-open_flags_bulk .jb-say")
    expect(page.locator(".st-key-queue_start .jb-say")).to_contain_text("with open flags")
    page.keyboard.press("x")
    expect(words).to_have_text("0 answers selected")
    idle(page)
    table = page.locator("[data-testid=stDataFrame] canvas").first
    table.click(position={"x": 15, "y": 55}, force=True)
    expect(words).to_have_text("1 answer selected")
    idle(page)
    table.click(position={"x": 15, "y": 125}, modifiers=["Shift"], force=True)
    expect(words).to_have_text("3 answers selected")
    page.get_by_text("in this filter").click()
    expect(words).not_to_have_text("3 answers selected")
    idle(page)
    page.keyboard.press("y")
    page.get_by_role("button", name="answers?").first.click()
    done = page.locator(".st-key-bulk_done .jb-say")
    expect(done).to_contain_text("Confirmed")
    assert still_open() < before - 50
    page.keyboard.press("u")
    expect(done).to_contain_text("Undone")
    assert still_open() == before
