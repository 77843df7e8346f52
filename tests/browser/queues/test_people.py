"""A lead gives a person's open items to another, who is told and finds them in their queues."""

import pytest
from playwright.sync_api import expect

from page_state import idle
from queue_page import opened

pytestmark = pytest.mark.browser


def test_a_lead_reassigns_the_queues_of_the_chosen_person_who_then_has_them(reviewer, site) -> None:
    case = site.case
    other = site.queue(1, assigned=(case.jon,))
    name = site.queue(2, assigned=(case.mara,))
    lead = reviewer("Lead")
    lead.goto("/people")
    heading = lead.locator("[data-testid=stMain]")
    expect(heading).to_contain_text("Jon: queues and agreement")
    idle(lead)
    table = lead.locator("[data-testid=stDataFrame] canvas").first
    table.click(position={"x": 15, "y": 37 + 36 + 18}, force=True)  # the second row
    expect(heading).to_contain_text("Mara: queues and agreement")
    idle(lead)
    lead.get_by_role("combobox", name="To").click()
    lead.get_by_role("option", name="Ada").click()
    idle(lead)
    lead.get_by_role("button", name="Reassign").click()
    expect(lead.locator(".jb-say", has_text=f"Reassigned from Mara to Ada: {name}.")).to_be_visible()
    ada = reviewer("Ada")
    ada.goto("/item")
    ada.locator(".st-key-bell button", has_text="Notifications (1)").click()
    ada.get_by_role("button", name=f"Lead assigned you the queue {name}").click()
    expect(ada.locator(".st-key-bell button").first).not_to_contain_text("(1)")
    opened(ada, name)
    expect(ada).to_have_title("1 of 2 · Judgeboard")
    assert [[person.name for person in case.progress(each).assigned_to] for each in (other, name)] == [["Jon"], ["Ada"]]
