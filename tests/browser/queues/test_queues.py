"""Named queues in a browser: two people on one queue, blind, revealed, split, adjudicated, undone, with keys alone."""

import pytest
from playwright.sync_api import Page, expect
from sqlalchemy import select, text

from judgeboard.domain import Preference, QueueOrder
from judgeboard.people.roster import ensure_reviewer
from judgeboard.store.engine import Store
from judgeboard.store.tables import DRAFT
from judging_log import until
from page_state import GUARD, hold, idle, mash, settled, visit
from pair_log import add_pairs
from queue_page import opened, press, row
from served_queues import BLIND, HIDDEN

pytestmark = pytest.mark.browser
JUDGE = '[class*="st-key-pane_judge"]:visible'


def listened(page: Page) -> list[str]:
    """All that the server sends this window from now on, as text."""
    frames: list[str] = []

    def keep(payload: str | bytes) -> None:
        frames.append(payload if isinstance(payload, str) else payload.decode("utf-8", "replace"))

    page.on("websocket", lambda socket: socket.on("framereceived", keep))
    return frames


def sent(frames: list[str]) -> list[str]:
    return [word for word in HIDDEN if any(word in frame for frame in frames)]


def test_two_people_grade_blind_keep_split_and_a_lead_decides_and_takes_it_back(reviewer, site) -> None:
    name = site.queue(2, needed=2, grades=("groundedness", "label"), **BLIND)
    mara, jon, lead = reviewer("Mara"), reviewer("Jon"), reviewer("Lead")
    grades_and_keeps(mara, name)
    grades_and_changes(jon, name)
    assert site.reviews() == [
        ("Mara", "confirm", "blind", 0.5, "hiddennote"),
        ("Mara", "confirm", "revealed", 0.5, "hiddennote"),
        ("Jon", "dismiss", "blind", 1.0, None),
        ("Jon", "confirm", "revealed", 0.2, None),
    ]
    address = decides_the_split(lead)
    states = site.case.item_states()
    assert states[-2:] == ["adjudicated", "open"]
    site.case.queue("training", training=True, assigned=(site.case.ada,))
    practises(reviewer("Ada"))
    visit(mara, address)
    expect(mara.locator(".jb-gold")).to_contain_text("The passage says nothing of it")
    expect(mara.locator(".jb-reviews")).to_contain_text("Jon")
    lead.wait_for_timeout(GUARD)
    lead.keyboard.press("z")
    expect(lead.locator(".jb-head")).to_contain_text("is in conflict again")
    expect(lead.locator('[class*="st-key-note_"] input:visible')).to_have_value("The passage says nothing of it")
    assert site.case.item_states()[len(states) - 2 : len(states)] == ["conflict", "open"]


def grades_and_keeps(page: Page, name: str) -> None:
    """Grade the first item blind, with a note, and keep the grade once the judge is shown."""
    frames = listened(page)
    opened(page, name)
    expect(page).to_have_title("1 of 2 · Judgeboard")
    expect(page.locator(JUDGE)).to_contain_text("Blind until you grade")
    expect(page.get_by_role("button", name="Hallucinated")).to_be_visible()
    expect(page.get_by_role("button", name="Fails")).to_have_count(0)
    for key in "dw":
        page.keyboard.press(key)
    expect(page.get_by_role("button", name="Hallucinated")).to_have_attribute("kind", "primary")
    idle(page)
    assert sent(frames) == [], "nothing hidden reaches the window before the grade"
    page.keyboard.press("m")
    page.keyboard.type("hiddennote")
    page.keyboard.press("Escape")
    press(page, "y")
    expect(page.locator(".jb-against").first).to_contain_text("You: 0.50")
    expect(page.locator(".jb-against").first).to_contain_text("Judge: 0.12")
    expect(page.locator(".jb-reason").first).to_contain_text("hiddenreason")
    page.keyboard.press("F7")
    expect(page.locator(".jb-judgments")).to_contain_text("hiddenreason")
    expect(page.get_by_role("columnheader", name="hiddenjudge v1")).to_be_visible()
    press(page, "y")
    expect(page.locator(".jb-head")).to_contain_text("Kept")
    expect(page).to_have_title("2 of 2 · Judgeboard")


def practises(page: Page) -> None:
    """Review an item whose gold label is known, and be told it."""
    opened(page, "training")
    expect(page.locator(".jb-training")).to_contain_text("Training. The gold label of each item is shown here")
    page.keyboard.press("n")
    expect(page.locator(".jb-training")).to_contain_text("Differs from the gold label on decision")
    expect(page.locator(".jb-training")).to_contain_text("Reason: The passage says nothing of it")


def grades_and_changes(page: Page, name: str) -> None:
    """Grade the same item otherwise, and change the grade once the judge and the other person are shown."""
    frames = listened(page)
    opened(page, name)
    page.keyboard.press("g")
    expect(page.locator("button[kind=primary]").first).to_be_visible()
    idle(page)
    page.wait_for_timeout(GUARD)
    page.keyboard.press("y")
    expect(page.locator(".jb-refused")).to_contain_text("Not saved: this queue requires label (Q W).")
    idle(page)
    assert sent(frames) == [], "neither what the judge said nor what the other person did"
    page.keyboard.press("q")
    expect(page.get_by_role("button", name="Grounded")).to_have_attribute("kind", "primary")
    expect(page.locator(".st-key-bar")).to_contain_text("No problem")
    press(page, "y")
    expect(page.locator(".jb-against").first).to_contain_text("You: 1.00")
    expect(page.locator(JUDGE)).to_contain_text("Mara")
    press(page, "e")
    expect(page.locator(".st-key-bar")).to_contain_text("You have seen the judge")
    page.keyboard.press("s")
    press(page, "y")
    expect(page.locator(".jb-head")).to_contain_text("Changed")


def decides_the_split(page: Page) -> str:
    """Adjudicate the first conflict, which needs a reason; return its address. The next one or the list follows."""
    page.goto("/conflicts")
    expect(page.get_by_role("button", name="Start")).to_be_visible()
    idle(page)
    page.keyboard.press("Enter")
    settled(page)
    words = page.locator(".jb-reviews")
    for said in ("Mara", "Jon", "Confirmed", "Dismissed", "hiddennote"):
        expect(words).to_contain_text(said)
    expect(page.locator(JUDGE)).to_contain_text("hiddenreason")
    page.keyboard.press("y")
    expect(page.locator(".jb-refused")).to_contain_text("enter a reason first")
    expect(page.locator('[class*="st-key-note_"] input')).to_be_focused()
    page.wait_for_timeout(GUARD)
    page.keyboard.type("The passage says nothing of it")
    page.keyboard.press("Escape")
    address = page.url
    page.keyboard.press("y")
    expect(page.get_by_text("is adjudicated: confirmed")).to_be_visible()
    return address


def kept_notes(store: Store) -> list[str | None]:
    with store.reading() as connection:
        return [content.get("note") for content in connection.execute(select(DRAFT.c.content)).scalars()]


def test_a_reload_and_undo_in_a_queue_bring_the_item_back_with_its_grades(mara, site) -> None:
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


def test_a_rubric_is_graded_with_keys_beside_the_quality_and_without_it(mara, site) -> None:
    for asked, keys in ((("quality", "tone", "safety"), "490"), (("tone", "safety"), "44")):
        opened(mara, site.queue(2, grades=asked))
        group = mara.locator(".st-key-rubric_group_fields")
        expect(group).to_contain_text("▸ tone")
        for key in keys:
            mara.keyboard.press(key)
        expect(group).to_contain_text("▸ safety")
        expect(group.locator('button[kind="primary"]')).to_have_count(2)
        press(mara, "y")
    with site.store.reading() as connection:
        query = "SELECT dimension, value FROM review_score ORDER BY id DESC LIMIT 4"
        given = [tuple(one) for one in connection.execute(text(query))]
        quality = connection.execute(text("SELECT quality FROM review ORDER BY id DESC LIMIT 2")).scalars().all()
    assert given == [("safety", 4.0), ("tone", 4.0), ("safety", 5.0), ("tone", 4.0)]
    assert quality == [None, 4]


def test_keys_pressed_across_each_other_leave_none_deaf(mara, site) -> None:
    opened(mara, site.queue(2, grades=("quality", "groundedness")))
    for key in "3d":
        mara.keyboard.down(key)
    for key in "3d":
        mara.keyboard.up(key)
    mara.keyboard.press("q")  # no button takes it: the next is not to wait for it
    expect(mara.get_by_role("button", name="Gaps")).to_have_attribute("kind", "primary")
    press(mara, "y")
    assert site.reviews()[-1][:4] == ("Mara", "confirm", None, 0.5)


def test_an_item_is_skipped_with_a_reason_and_goes_to_somebody_else(mara, site) -> None:
    name = site.queue(2)
    opened(mara, name)
    mara.keyboard.press("j")
    expect(mara.locator('[class*="st-key-reason_"] input')).to_be_focused()
    mara.keyboard.type("in Welsh")
    mara.keyboard.press("Enter")
    expect(mara.locator(".jb-head")).to_contain_text("Skipped")
    with site.store.reading() as connection:
        assert connection.execute(text("SELECT reason FROM skip ORDER BY id DESC LIMIT 1")).scalar_one() == "in Welsh"


def test_enter_skips_also_before_the_form_for_the_reason_is_drawn(mara, site) -> None:
    opened(mara, site.queue(4))
    for pause in (0, 60, 150):  # ms between the two keys
        first = row(mara)
        mara.keyboard.press("j")
        mara.wait_for_timeout(pause)
        mara.keyboard.press("Enter")
        expect(mara.locator(f".jb-head:not([data-row='{first}'])")).to_contain_text("Skipped")
        settled(mara)


def test_a_decline_of_the_last_item_is_undone_with_a_key(mara, site) -> None:
    opened(mara, site.queue(1))
    mara.keyboard.press("2")
    expect(mara.get_by_role("button", name="Weak")).to_have_attribute("kind", "primary")
    first = row(mara)
    mara.keyboard.press("j")
    mara.get_by_role("button", name="Decline").click()
    expect(mara.get_by_text("Nobody else gets it.")).to_be_visible()
    mara.wait_for_timeout(GUARD)
    mara.keyboard.press("z")
    expect(mara.locator(".jb-head")).to_contain_text("is yours again")
    assert row(mara) == first
    expect(mara.get_by_role("button", name="Weak")).to_have_attribute("kind", "primary")


def test_esc_and_a_decision_leave_the_reason_to_skip(mara, site) -> None:
    opened(mara, site.queue(2))
    reason = mara.locator('[class*="st-key-reason_"] input')
    before, first = len(site.reviews()), row(mara)
    mara.keyboard.press("j")
    expect(reason).to_be_focused()
    mara.keyboard.type("no, I can")
    mara.keyboard.press("Escape")
    expect(mara.get_by_role("button", name="Confirm").or_(mara.get_by_role("button", name="Yes"))).to_be_visible()
    expect(reason).to_have_count(0)
    mara.keyboard.press("j")
    expect(reason).to_be_focused()
    mara.evaluate("document.activeElement.blur()")  # the cursor leaves the field, and the form stays
    mara.keyboard.press("y")
    expect(mara.locator(f".jb-head:not([data-row='{first}'])")).to_be_visible()
    assert len(site.reviews()) == before + 1


def test_keys_leave_the_reason_to_skip_at_any_speed(mara, site) -> None:
    opened(mara, site.queue(5))
    reason = mara.locator('[class*="st-key-reason_"] input')
    for pause in (0, 60, 150, 300):  # ms between two keys
        before, first = len(site.reviews()), row(mara)
        for key in ("j", "Escape"):
            mara.keyboard.press(key)
            mara.wait_for_timeout(pause)
        mara.keyboard.press("y")
        expect(mara.locator(f".jb-head:not([data-row='{first}'])")).to_be_visible()
        assert [review[1] for review in site.reviews()[before:]] == ["confirm"], pause
        settled(mara)
        mara.keyboard.press("j")
        mara.wait_for_timeout(pause)
        mara.keyboard.press("Escape")
        mara.wait_for_timeout(1_000)
        idle(mara)
        expect(reason).to_have_count(0)
        assert len(site.reviews()) == before + 1, pause


def test_a_held_key_and_mashed_keys_decide_one_item(mara, site) -> None:
    name = site.queue(4)
    opened(mara, name)
    before, first = len(site.reviews()), row(mara)
    hold(mara, "y")
    expect(mara.locator(f".jb-head:not([data-row='{first}'])")).to_be_visible()
    settled(mara)
    assert len(site.reviews()) == before + 1
    before, first = len(site.reviews()), row(mara)
    mash(mara, "n")
    expect(mara.locator(f".jb-head:not([data-row='{first}'])")).to_be_visible()
    settled(mara)
    assert len(site.reviews()) == before + 1


def test_two_windows_of_one_person_decide_each_item_once(mara, reviewer, site) -> None:
    name = site.queue(3)
    one, two = mara, reviewer("Mara")
    opened(one, name)
    opened(two, name)
    assert row(one) == row(two), "what one holds is there in both"
    before = len(site.reviews())
    press(one, "y")
    two.keyboard.press("m")
    two.keyboard.type("typed in vain?")
    two.keyboard.press("Escape")
    press(two, "n")
    expect(two.locator(".jb-refused")).to_contain_text("You decided this item already. Your note is kept")
    press(two, "y")
    press(one, "n")
    said = [(who, decision, note) for who, decision, _, _, note in site.reviews()[before:]]
    assert said.count(("Mara", None, "typed in vain?")) == 1
    assert [decision for _, decision, _ in said if decision].count("confirm") == 2


def test_leaving_the_queue_gives_back_what_was_held(mara, site) -> None:
    name = site.queue(2)
    opened(mara, name)
    assert site.case.take(site.case.jon, name) is None
    mara.keyboard.press("l")
    expect(mara.get_by_role("button", name="Start reviewing")).to_be_visible()
    idle(mara)
    assert site.case.take(site.case.jon, name) is not None


def test_pairs_are_decided_with_three_keys_and_the_sides_are_those_of_the_reader(reviewer, site) -> None:
    add_pairs(site.store, 4, query_type="pairs", gold=Preference.B, model_a="hiddenmodel", model_b="hiddenwriter")
    pia = ensure_reviewer(site.store, "page", "Pia")
    site.case.queue("pairs", subject="pairs", order=QueueOrder.OLDEST, assigned=(pia,))
    page = reviewer("Pia")
    frames = listened(page)
    opened(page, "pairs")
    lefts = []
    for key in "qwee":
        lefts.append(page.locator(".jb-answer-side").first.inner_text().splitlines()[-1].startswith("left-"))
        before = row(page)
        page.keyboard.press(key)
        expect(page.locator(f".jb-head[data-row='{before}']")).to_have_count(0)
        idle(page)
        page.wait_for_timeout(GUARD)
    expect(page.locator(".jb-empty")).to_contain_text("Nothing is left for you")
    assert sent(frames) == []
    with site.store.reading() as connection:
        query = "SELECT s.preference FROM review p JOIN preference_score s ON s.review_id = p.id ORDER BY p.id"
        values = list(connection.execute(text(query)).scalars())
    sides = {True: {"q": "a", "w": "tie", "e": "b"}, False: {"q": "b", "w": "tie", "e": "a"}}
    assert values == [sides[left][key] for left, key in zip(lefts, "qwee", strict=True)]


def test_a_lead_makes_a_queue_on_the_page_and_is_told_what_cannot_be(reviewer, site) -> None:
    site.queue(3)
    kind = f"type{site.names}"
    page = reviewer("Lead")
    page.goto(f"/open_flags?query_type={kind}")
    page.get_by_role("button", name="Create queue from these").click()
    expect(page.get_by_text("New queue")).to_be_visible()
    expect(page.locator(".jb-say", has_text=kind)).to_be_visible()
    idle(page)
    page.get_by_label("Name", exact=True).fill("Of the form")
    page.get_by_text("Blind to the judge").click()
    expect(page.get_by_role("combobox", name="Order")).to_have_value("In random order")
    page.get_by_role("combobox", name="Order").click()
    expect(page.get_by_role("option")).to_have_text(["In random order", "Oldest first"])
    page.get_by_role("option", name="Oldest first").click()
    idle(page)
    people = page.locator(".st-key-nq_people input")
    people.fill("Lead")
    people.press("Enter")
    people.press("Escape")
    idle(page)
    page.get_by_role("button", name="Create queue").click()
    expect(page.locator(".jb-say", has_text="Created: Of the form with 3 answers")).to_be_visible()
    expect(page.get_by_role("button", name="Start reviewing")).to_be_visible()
    idle(page)
    page.keyboard.press("Enter")
    expect(page.locator(".jb-head")).to_contain_text("in “Of the form”")
