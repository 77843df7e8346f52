"""The drafts of agents on the page of an answer and in their list: confirmed and dismissed by a person."""

import pytest

from app_pages import check_shown, click, keys, markup, shown
from judgeboard.mcp.drafts import DraftedMode, DraftedModes, add_draft
from judgeboard.mcp.tables import MACHINE_DRAFT, DraftKind, DraftState
from judgeboard.people.roster import ensure_reviewer
from judgeboard.receiving.api import SentGrade
from judgeboard.store.issues import list_modes
from judgeboard.store.tables import REVIEW
from stored_rows import read, rows_of

HOSTILE = "<script>window.hacked=1</script><img src=x onerror=alert(1)> **bold**"


@pytest.fixture
def draft(page_rows, page_store):
    review = SentGrade(quality=1, note=HOSTILE)
    response = page_rows.responses["good"]
    return add_draft(page_store, DraftKind.REVIEW, review, by="key:agent", response_id=response)


def confirm(page, number):
    return click(page, f"machine_draft_confirm_{number}")


def test_a_draft_is_confirmed_on_the_page_of_its_answer(draft, open_answer, sqlite_store):
    before = len(rows_of(sqlite_store, REVIEW))
    page = open_answer("good")
    check_shown(page, "key:agent", HOSTILE)
    assert "<script>window" not in markup(page)
    assert "<img src=x" not in markup(page)
    confirm(page, draft)
    reviews = rows_of(sqlite_store, REVIEW)
    assert len(reviews) == before + 1
    assert reviews[-1]["quality"] == 1
    assert reviews[-1]["note"] == HOSTILE
    assert f"machine_draft_confirm_{draft}" not in keys(page)
    assert f"review {reviews[-1]['id']}" in shown(page)


def test_a_draft_is_dismissed_in_the_list(draft, open_page, sqlite_store):
    before = rows_of(sqlite_store, REVIEW)
    page = click(open_page("machine_drafts"), f"machine_draft_dismiss_{draft}")
    assert f"machine_draft_confirm_{draft}" not in keys(page)
    assert rows_of(sqlite_store, REVIEW) == before
    assert [each["state"] for each in rows_of(sqlite_store, MACHINE_DRAFT)] == [
        DraftState.DISMISSED
    ]


def test_the_list_confirms_failure_modes_and_says_what_cannot_be_stored(
    page_rows, open_page, page_store
):
    modes = DraftedModes(modes=[DraftedMode(name="Wrong number")])
    number = add_draft(page_store, DraftKind.FAILURE_MODES, modes, by="key:agent")
    page = open_page("machine_drafts")
    assert "Wrong number" in shown(page)
    confirm(page, number)
    assert "Wrong number" in read(page_store, list_modes)
    assert "Wrong number" in shown(page)
    assert "`judgeboard mcp" not in markup(page)
    # Somebody else decided it meanwhile.
    other = add_draft(page_store, DraftKind.FAILURE_MODES, modes, by="key:agent")
    page = open_page("machine_drafts")
    ensure_reviewer(page_store, "page", "Jon")
    confirm(open_page("machine_drafts", reviewer="Jon"), other)
    assert "Jon" in shown(confirm(page, other))


def test_a_draft_about_a_blind_answer_is_not_sent_to_the_page(page_store, case, open_page):
    [answer] = case.flagged(0.1)
    case.queue(blind_judge=True, assigned=(case.mara,))
    review = SentGrade(note="the machine says hunter2")
    add_draft(page_store, DraftKind.REVIEW, review, by="key:agent", response_id=answer)
    for page in (open_page("item", response=answer), open_page("machine_drafts")):
        assert "hunter2" not in str([each.proto for each in page.main])
        assert "hunter2" not in shown(page)
    page = open_page("item", response=answer, reviewer="Stranger")
    assert "hunter2" in shown(page)
