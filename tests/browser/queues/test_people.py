"""A click on a line of a table chooses what the page below it shows."""

import pytest
from playwright.sync_api import expect

from judgeboard.people.roster import ensure_reviewer
from page_state import idle, visit

pytestmark = pytest.mark.browser


def test_the_queues_of_the_person_that_was_chosen_in_the_table_are_shown(mara, site):
    first, second = (ensure_reviewer(site.store, "page", name) for name in ("Aaron", "Abel"))
    site.queue(1, assigned=(first,))
    site.queue(2, assigned=(second,))
    visit(mara, "/people")
    heading = mara.locator("[data-testid=stMain]")
    expect(heading).to_contain_text("Aaron: queues and agreement")
    idle(mara)
    table = mara.locator("[data-testid=stDataFrame] canvas").first
    table.click(position={"x": 15, "y": 37 + 36 + 18}, force=True)  # the second row
    expect(heading).to_contain_text("Abel: queues and agreement")
