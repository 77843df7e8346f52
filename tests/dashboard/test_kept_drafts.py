"""Drafts are kept beyond a session: after a reload, and on another server, for their author alone."""

import asyncio
import getpass
import re

import pytest
from streamlit.runtime.context import ContextProxy

from app_pages import click, enter, field_of, keys, markup, press
from judgeboard.domain import ClaimMark, ClaimStatus, Label
from judgeboard.store.filters import RowFilter
from judgeboard.store.forgetting import forget_response
from judgeboard.store.own_reviews import read_draft
from judgeboard.store.tables import DRAFT, RESPONSE, REVIEWER
from judgeboard_dashboard import server
from judgeboard_dashboard.review.claims import subject_of
from judgeboard_dashboard.review.drafts import Draft, DraftWriter, draft_writer
from judgeboard_dashboard.session import NAME_COOKIE, SUGGESTED_COOKIE
from queue_case import queue_case
from stored_rows import values_of, write_to


@pytest.fixture
def queues(page_rows, sqlite_store):
    made = queue_case(sqlite_store)
    made.queue(where=RowFilter(rules=("low_groundedness",)), order="oldest")
    return made


def note(page):
    return field_of(page, "note_").value


def is_chosen(page, key):
    return page.button(key=key).proto.type == "primary"


@pytest.mark.parametrize("stored", [False, True])
def test_a_reload_brings_back_grade_and_note(queues, open_page, stored):
    page = open_page("item", queue="q")
    field_of(page, "note_").input("half of it")
    click(page, "quality2")
    row = page.session_state["keyboard"].row
    if stored:
        draft_writer().flush()
        draft_writer.clear()  # as on another server
        assert [row["content"] for row in queues.rows(DRAFT)] == [
            {"quality": 2, "note": "half of it"}
        ]
    again = open_page("item", queue="q")
    assert again.session_state["keyboard"].row == row, "the same item"
    assert note(again) == "half of it"
    assert is_chosen(again, "quality2")
    press(again, "confirm_")
    draft_writer().flush()
    # The review replaces it.
    assert queues.rows(DRAFT) == []
    assert queues.reviews()[-1]["note"] == "half of it"


def chosen(page):
    grades = [key for start in ("groundedness", "quality") for key in keys(page) if start in key]
    return [key for key in grades if is_chosen(page, key)]


def passed_over(page, _open_page):
    return press(press(page, "next"), "previous")


def visited_later(page, _open_page):
    return page.switch_page("views/overview.py").run().switch_page("views/item.py").run()


def reopened(page, open_page):
    return open_page("item", **{name: page.query_params[name] for name in page.query_params})


@pytest.mark.parametrize(
    ("address", "leave_and_return"),
    [("flag", passed_over), ("flag", reopened), ("queue", visited_later)],
)
def test_the_same_keys_keep_the_grades_of_a_draft_that_comes_back(
    queues, page_rows, open_page, address, leave_and_return
):
    """Reviewers who return to an item type their grades again: that must not store a review without grades."""
    page = open_page(
        "item", **{address: {"flag": page_rows.flags["plain-05"], "queue": "q"}[address]}
    )
    grades = ["groundednessD", "quality3"]
    for _ in range(2):
        for grade in grades:
            press(page, f"{grade}_")
        assert chosen(page) == grades
        page = leave_and_return(page, open_page)
        # The draft comes back.
        assert chosen(page) == grades
    for _ in range(2):
        press(page, "quality3_")
    # The second press removes a grade.
    assert chosen(page) == ["groundednessD"]
    press(page, "confirm_")
    stored = queues.reviews()[-1]
    assert stored["groundedness"] == 0.5
    assert stored["quality"] is None


def unnamed_draft(page_rows, open_page):
    """Open an item under the suggested name, and begin a draft on it."""
    page = open_page("open_flags", reviewer=None, flag=page_rows.flags["claims"])
    page.switch_page("views/item.py").run()
    assert "who_name" not in [field.key for field in page.text_input]
    return press(page, "quality3_")


def take_over(page):
    """Enter Ida's name, and return to the item."""
    click(page, "person")
    enter(page, "who_name", "Ida")
    page.switch_page("views/item.py").run()


def kept(queues):
    draft_writer().flush()
    names = {row["id"]: row["name"] for row in queues.rows(REVIEWER)}
    return {names[row["reviewer_id"]]: row["content"] for row in queues.rows(DRAFT)}


def reloaded(monkeypatch, page):
    """The next page is opened by the same browser, with the cookies that keys.js kept from this page."""
    kept_by_browser = {
        cookie: match[1]
        for cookie, attribute in ((NAME_COOKIE, "data-name"), (SUGGESTED_COOKIE, "data-suggested"))
        if (match := re.search(f'jb-head"[^>]*{attribute}="([^"]*)"', markup(page))) is not None
    }
    monkeypatch.setattr(ContextProxy, "cookies", property(lambda _context: kept_by_browser))


def test_a_reload_before_the_first_decision_keeps_a_name_that_is_only_suggested(
    page_rows, open_page, open_flag, monkeypatch
):
    page = unnamed_draft(page_rows, open_page)
    reloaded(monkeypatch, page)
    [flag] = re.findall(r'data-row="r\d+f(\d+)"', markup(page))
    page = open_page("item", reviewer=None, flag=flag)
    assert is_chosen(page, "quality3")
    said = f"You review as {getpass.getuser()}: change the name at the top of Review"
    press(page, "confirm_")
    assert said in markup(page)
    reloaded(monkeypatch, page)
    again = press(open_flag("claims", reviewer=None), "unsure_")
    # The first decision settled the name.
    assert said not in markup(again)


@pytest.mark.parametrize("reloads", [False, True])
def test_a_draft_under_a_suggested_name_goes_along_to_the_name_that_is_entered(
    queues, page_rows, open_page, monkeypatch, reloads
):
    page = unnamed_draft(page_rows, open_page)
    assert kept(queues) == {getpass.getuser(): {"quality": 3}}
    if reloads:
        reloaded(monkeypatch, page)
        page = open_page("open_flags", reviewer=None)
    else:
        page.switch_page("views/open_flags.py").run()
    take_over(page)
    assert is_chosen(page, "quality3")
    assert kept(queues) == {"Ida": {"quality": 3}}


def test_a_draft_of_a_person_stays_theirs_when_another_takes_over(queues, open_flag):
    press(page := open_flag("claims"), "quality3_")
    page.switch_page("views/open_flags.py").run()
    take_over(page)
    assert not is_chosen(page, "quality3")
    assert kept(queues) == {"Mara": {"quality": 3}}


def test_a_server_that_ends_stores_the_drafts_of_its_last_second(page_store, case, monkeypatch):
    monkeypatch.setattr(server, "end_in_time", lambda: None)  # the signals of this process
    [answer] = case.add("one")

    async def served():
        async with server.lifespan(server.app):
            draft_writer().put(page_store, case.mara.id, answer, {"note": "half of it"})

    asyncio.run(served())
    assert [row["content"] for row in case.rows(DRAFT)] == [{"note": "half of it"}]


def test_a_draft_keeps_every_grade():
    mark = ClaimMark(ClaimStatus.UNSUPPORTED, "The fee.", 0, 8)
    draft = Draft(
        quality=2,
        label=Label.GROUNDED,
        notes={"note": "n"},
        scores={"tone": 3},
        marks={subject_of(mark): mark},
    )
    kept = draft.content()
    assert Draft.from_content(kept) == draft
    draft.scores["tone"], draft.values["verdict"] = 1, "fix"
    # The next key press is a change that is stored.
    assert draft.content() != kept
    assert Draft().content() == {}


def test_a_draft_from_before_the_review_is_not_stored_and_forgetting_deletes_one(store):
    case, writer = queue_case(store), DraftWriter()
    case.queue_of(0.1, 0.2, order="oldest")
    leased = case.lease(case.mara)
    case.later(days=100_000)
    case.say(leased, case.mara, note="done")
    writer.put(store, case.mara.id, leased.response_id, {"note": "late"})
    writer.flush()
    assert case.rows(DRAFT) == []
    other = case.lease(case.mara).response_id
    writer.put(store, case.mara.id, other, {"note": "secret"})
    writer.flush()
    assert case.read(read_draft, case.mara.id, other) == {"note": "secret"}
    assert case.read(read_draft, case.jon.id, other) is None
    [name] = values_of(store, RESPONSE.c.external_id, RESPONSE.c.id == other)
    write_to(store, forget_response, name, actor="test")
    assert case.rows(DRAFT) == []
