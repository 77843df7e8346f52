"""Reviewing with keys: what a press does, and what it must not do; many answers at once."""

import re

import pytest
from playwright.sync_api import expect
from sqlalchemy import select, text

from judgeboard.domain import Decision, Grade
from judgeboard.people.roster import ensure_reviewer
from judgeboard.reviews.submissions import Submission, submit
from judgeboard.store.tables import FLAG
from page_state import DECIDE, idle, settled, visit
from queue_case import queue_case

pytestmark = pytest.mark.browser

LIST = "/item?rule=low_groundedness&query_type=simple&query_type=complex"


def decisions(store):
    """(reviewer, decision, note) of every review, in order."""
    query = "SELECT w.name, r.decision, r.note FROM review r JOIN reviewer w ON w.id = r.reviewer_id ORDER BY r.id"
    with store.reading() as connection:
        return [tuple(row) for row in connection.execute(text(query))]


def grades(store):
    """(quality, groundedness, decision) of every review, in order."""
    with store.reading() as connection:
        rows = connection.execute(
            text("SELECT quality, groundedness, decision FROM review ORDER BY id")
        )
        return [tuple(row) for row in rows]


def opened(page, address=LIST):
    """Open an item and return the flag that is shown, once it may be decided."""
    visit(page, address)
    settled(page, DECIDE)
    return shown(page)


def shown(page):
    """The flag in the address."""
    match = re.search(r"flag=(\d+)", page.url)
    return match[1]


def other_flag(flag):
    """What the address of another flag matches; 12 is another flag than 1."""
    return re.compile(rf"flag=(?!{flag}\b)\d")


def press_and_follow(page, key):
    """Press a key that decides, wait for the next item."""
    before = shown(page)
    page.keyboard.press(key)
    page.wait_for_url(other_flag(before))
    settled(page, DECIDE)
    return shown(page)


def test_enter_presses_the_button_that_the_tab_key_reached(page, site):
    visit(page, "/open_flags?rule=low_groundedness")
    expect(page.get_by_role("button", name="Start reviewing")).to_be_visible()
    idle(page)
    button = page.get_by_role("button", name="Open an issue")
    button.focus()
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Tab")
    expect(button).to_be_focused()
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(r"/problems\?"))
    expect(page.get_by_role("textbox", name="Title")).to_be_visible()


def test_flags_are_decided_with_keys_only(page, site):
    visit(page, "/open_flags?rule=low_groundedness&query_type=simple&query_type=complex")
    expect(page.get_by_role("button", name="Start reviewing")).to_be_visible()
    idle(page)
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(r"/item\?.*flag="))
    settled(page, DECIDE)
    before = len(decisions(site.store))
    seen = [shown(page)]
    for place, key in enumerate("YNU"):
        page.keyboard.press("3")
        page.keyboard.press("D")
        seen.append(press_and_follow(page, key))
        expect(page.locator(".jb-head")).to_contain_text("Saved:")
        assert len(decisions(site.store)) == before + place + 1
    made = [decision for _, decision, _ in decisions(site.store)[before:]]
    assert made == [{"Y": "confirm", "N": "dismiss", "U": "unsure"}[key] for key in "YNU"]
    # Every press was for another flag.
    assert len(set(seen)) == 4
    assert {each[:2] for each in grades(site.store)[before:]} == {(3, 0.5)}


def test_after_a_decision_of_somebody_else_nothing_is_decided_and_the_note_is_kept(page, site):
    flag = site.rows.flags["claims"]
    opened(page, f"/item?flag={flag}")
    before = len(decisions(site.store))
    jon = ensure_reviewer(site.store, "page", "Jon")
    submit(
        site.store,
        Submission(
            flag_id=flag,
            reviewer=jon,
            decision=Decision.CONFIRM,
            grade=Grade(),
            request_key="first",
        ),
    )
    page.keyboard.press("m")
    page.keyboard.type("Basalt is younger.")
    page.keyboard.press("Escape")
    expect(page.get_by_text("No open flag to decide")).to_be_visible()
    page.keyboard.press("n")
    idle(page)
    assert [(name, decision) for name, decision, _ in decisions(site.store)[before:]] == [
        ("Jon", "confirm")
    ]
    expect(page.locator('[class*="st-key-note_"] input:visible')).to_have_value(
        "Basalt is younger."
    )


def test_a_note_reaches_the_decision_and_its_letters_decide_nothing(page, site):
    opened(page, f"/item?flag={site.rows.flags['many-passages']}")
    before = len(decisions(site.store))
    page.keyboard.press("m")
    typed = "yes, nobody uses my 1234"
    page.keyboard.type(typed)
    page.wait_for_timeout(300)
    assert len(decisions(site.store)) == before
    page.keyboard.press("Escape")
    page.keyboard.press("y")
    expect(page.locator(".jb-head")).to_contain_text("Saved: confirmed many-passages")
    assert decisions(site.store)[before:] == [("Mara", "confirm", typed)]


def test_a_note_begun_right_after_a_grade_loses_no_letter(page, site):
    visit(page, f"/item?response={site.rows.responses['good']}")
    expect(page.get_by_role("button", name="Save grade")).to_be_visible()
    for key, words in (("f", "the second passage"), ("g", " says otherwise")):
        page.keyboard.press(key)
        page.keyboard.press("m")
        page.keyboard.type(words, delay=60)
        page.keyboard.press("Escape")
    expect(page.locator(".st-key-groundednessG button:visible")).to_have_attribute(
        "kind", "primary"
    )
    note = page.locator('[class*="st-key-note_"] input:visible')
    expect(note).to_have_value("the second passage says otherwise")


def test_the_suggested_name_is_replaced_at_the_top_and_kept_over_a_reload(reviewer, site):
    page = reviewer()
    page.goto("/open_flags")
    expect(page.locator(".st-key-person button").first).to_be_visible()
    idle(page)
    page.locator(".st-key-person button").first.click()
    name = page.get_by_placeholder("Your name")
    expect(name).to_be_visible()
    idle(page)  # while the page is drawn again, the old button stands beside the new one
    page.get_by_role("button", name="Start reviewing").click()
    settled(page)
    expect(name).to_be_visible()
    page.wait_for_function("window.__judgeboardKeys")  # from now on no key is lost
    page.keyboard.press("y")
    expect(name).to_be_focused()
    idle(page)
    name.fill("  Quinn \t Q. ")
    name.press("Enter")
    expect(page.get_by_role("button", name="Confirm")).to_be_visible()
    page.mouse.click(5, 450)
    page.reload()
    expect(page.get_by_role("button", name="Confirm")).to_be_visible()
    expect(page.get_by_placeholder("Your name")).to_have_count(0)
    visit(page, "/settings")  # a page without items keeps a new name at once, too
    person = page.locator(".st-key-person button").first
    expect(person).to_contain_text("Quinn Q.")
    person.click()
    name = page.get_by_label("Your name")
    expect(name).to_be_visible()
    idle(page)
    name.fill("Quinn")
    name.press("Enter")
    expect(name).to_have_count(0)
    page.wait_for_function(
        "new RegExp(`judgeboard_reviewer_${location.port}=Quinn(;|$)`).test(document.cookie)"
    )


def test_rows_are_selected_with_shift_confirmed_and_undone(page, site):
    case = queue_case(site.store)
    earlier = {flag["id"] for flag in case.flags()}  # one of them may be held in a queue

    def states():
        new = select(FLAG.c.state).where(FLAG.c.id.not_in(earlier)).order_by(FLAG.c.id)
        with site.store.reading() as connection:
            return list(connection.execute(new).scalars())

    case.flagged(*(0.1 for _ in range(45)))  # more than one page
    case.decide(case.flags()[-1]["id"], case.jon)
    before = states()
    visit(page, "/open_flags")
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
    page.keyboard.press("y")
    done = page.locator(".st-key-bulk_done .jb-say")
    expect(done).to_contain_text("Confirmed 3")
    idle(page)
    page.keyboard.press("z")
    expect(done).to_contain_text("Undone")
    assert states() == before
