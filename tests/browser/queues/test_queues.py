"""Named queues in a browser: items are graded blind, revealed, skipped, declined and undone, with keys alone."""

import pytest
from playwright.sync_api import expect
from sqlalchemy import select

from judgeboard.domain import Label
from judgeboard.store.tables import DRAFT
from judging_log import until
from page_state import GUARD, PAUSE, hold, idle, mash, settled
from queue_case import CONFIRM
from queue_page import opened, press, row
from served_queues import BLIND, HIDDEN

pytestmark = pytest.mark.browser
JUDGE = '[class*="st-key-pane_judge"]:visible'


def listened(page):
    """All that the server sends this window from now on, as text."""
    frames = []

    def keep(payload):
        frames.append(payload if isinstance(payload, str) else payload.decode("utf-8", "replace"))

    page.on("websocket", lambda socket: socket.on("framereceived", keep))
    return frames


def test_a_blind_grade_is_changed_after_the_reveal_and_a_lead_decides_the_split(reviewer, site):
    case, mara = site.case, reviewer("Mara")
    name = site.queue(2, needed=2, grades=("groundedness", "label"), **BLIND)
    blind = case.review(
        case.jon, CONFIRM, name, label=Label.HALLUCINATED, groundedness=0.5, note="hiddennote"
    )
    case.reveal(blind, case.jon, CONFIRM, label=Label.HALLUCINATED, groundedness=0.5)
    frames = listened(mara)
    opened(mara, name)
    expect(mara).to_have_title("1 of 2 · Judgeboard")
    expect(mara.locator(JUDGE)).to_contain_text("Blind until you grade")
    expect(mara.get_by_role("button", name="Fails")).to_have_count(0)
    mara.keyboard.press("g")
    mara.keyboard.press("y")
    expect(mara.locator(".jb-refused")).to_contain_text(
        "Not saved: this queue requires label (Q W)."
    )
    idle(mara)
    assert [word for word in HIDDEN if any(word in frame for frame in frames)] == []
    mara.keyboard.press("q")
    expect(mara.get_by_role("button", name="Grounded")).to_have_attribute("kind", "primary")
    expect(mara.locator(".st-key-bar")).to_contain_text("No problem")
    mara.wait_for_timeout(PAUSE)
    press(mara, "y")
    against = mara.locator(".jb-against").first
    for said in ("You: 1.00", "Judge: 0.12"):
        expect(against).to_contain_text(said)
    expect(mara.locator(".jb-reason").first).to_contain_text("hiddenreason")
    expect(mara.locator(JUDGE)).to_contain_text("Jon")
    # Else no frame could have leaked it.
    assert any("hiddennote" in frame for frame in frames)
    press(mara, "e")
    expect(mara.locator(".st-key-bar")).to_contain_text("You have seen the judge")
    mara.keyboard.press("s")
    press(mara, "y")
    expect(mara.locator(".jb-head")).to_contain_text("Changed")
    expect(mara).to_have_title("2 of 2 · Judgeboard")
    assert site.reviews()[-2:] == [
        ("Mara", "dismiss", "blind", 1.0, None),
        ("Mara", "confirm", "revealed", 0.2, None),
    ]
    decides_the_split(reviewer("Lead"), name)
    assert case.item_states()[-2:] == ["adjudicated", "open"]


def decides_the_split(page, name):
    """Adjudicate the only conflict of a queue, which needs a reason."""
    page.goto(f"/conflicts?of={name}")
    expect(page.get_by_role("button", name="Start")).to_be_visible()
    idle(page)
    page.keyboard.press("Enter")
    settled(page)
    for said in ("Mara", "Jon", "Confirmed", "Dismissed", "hiddennote"):
        expect(page.locator(".jb-reviews")).to_contain_text(said)
    page.keyboard.press("y")
    expect(page.locator(".jb-refused")).to_contain_text("enter a reason first")
    expect(page.locator('[class*="st-key-note_"] input')).to_be_focused()
    page.wait_for_timeout(GUARD)
    page.keyboard.type("The passage says nothing of it")
    page.keyboard.press("Escape")
    page.keyboard.press("y")
    expect(page.get_by_text("is adjudicated: confirmed")).to_be_visible()


def kept_notes(store):
    with store.reading() as connection:
        return [
            content.get("note") for content in connection.execute(select(DRAFT.c.content)).scalars()
        ]


def test_a_reload_and_undo_in_a_queue_bring_the_item_back_with_its_grades(mara, site):
    name = site.queue(3)
    opened(mara, name)
    mara.keyboard.press("2")
    mara.keyboard.press("m")
    mara.keyboard.type("half a")
    mara.keyboard.press("Enter")
    mara.keyboard.type(" note")
    note = mara.locator('[class*="st-key-note_"] input:visible')
    expect(note).to_be_focused()
    # What is typed is sent after a calm moment, without leaving the field, and stored soon.
    until(lambda: "half a note" in kept_notes(site.store), "the draft")
    expect(note).to_be_focused()
    mara.reload()
    expect(note).to_have_value("half a note")
    expect(mara.get_by_role("button", name="Weak")).to_have_attribute("kind", "primary")
    mara.wait_for_timeout(GUARD)
    press(mara, "n")
    press(mara, "z")
    expect(mara.locator(".jb-head")).to_contain_text("Undone")
    expect(mara).to_have_title("1 of 3 · Judgeboard")
    expect(mara.get_by_role("button", name="Weak")).to_have_attribute("kind", "primary")


def test_a_decline_of_the_last_item_is_undone_with_a_key_and_leaving_gives_it_back(mara, site):
    name = site.queue(1)
    opened(mara, name)
    mara.keyboard.press("2")
    expect(mara.get_by_role("button", name="Weak")).to_have_attribute("kind", "primary")
    first = row(mara)
    mara.wait_for_timeout(GUARD)
    mara.get_by_role("button", name="Decline").click()
    expect(mara.get_by_text("Declined: type")).to_be_visible()
    mara.wait_for_timeout(GUARD)
    mara.keyboard.press("z")
    expect(mara.locator(".jb-head")).to_contain_text("is yours again")
    assert row(mara) == first
    expect(mara.get_by_role("button", name="Weak")).to_have_attribute("kind", "primary")
    assert site.case.take(site.case.jon, name) is None
    mara.wait_for_timeout(GUARD)
    mara.keyboard.press("l")
    expect(mara.get_by_role("button", name="Start reviewing")).to_be_visible()
    idle(mara)
    assert site.case.take(site.case.jon, name) is not None


def test_a_held_key_and_mashed_keys_decide_one_item_and_keys_pressed_across_each_other_grade_it(
    mara, site
):
    opened(mara, site.queue(4))
    before, first = len(site.reviews()), row(mara)
    for key in "3d":
        mara.keyboard.down(key)
    for key in "3d":
        mara.keyboard.up(key)
    mara.keyboard.press("q")  # no button takes it: the next is not to wait for it
    hold(mara, "y")
    expect(mara.locator(f".jb-head:not([data-row='{first}'])")).to_be_visible()
    settled(mara)
    assert [review[:4] for review in site.reviews()[before:]] == [("Mara", "confirm", None, 0.5)]
    before, first = len(site.reviews()), row(mara)
    mash(mara, "n")
    expect(mara.locator(f".jb-head:not([data-row='{first}'])")).to_be_visible()
    settled(mara)
    assert len(site.reviews()) == before + 1
