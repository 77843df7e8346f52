"""A reload begins a new session: what was given on the item in hand is there again, for its holder alone."""

import pytest
from streamlit.testing.v1 import AppTest

from judgeboard.domain import QueueOrder
from judgeboard.store.engine import Store
from judgeboard.store.filters import RowFilter
from judgeboard_dashboard.review.drafts import MOST_KEPT, Draft, KeptDrafts
from queue_case import QueueCase, queue_case


@pytest.fixture
def queues(page_rows, sqlite_store: Store) -> QueueCase:
    made = queue_case(sqlite_store)
    made.queue(where=RowFilter(rules=("low_groundedness",)), order=QueueOrder.OLDEST)
    return made


def note(page: AppTest) -> str:
    [field] = [one for one in page.text_input if one.key and one.key.startswith("note_")]
    return str(field.value)


def weak(page: AppTest):
    [button] = [one for one in page.button if one.key and one.key.startswith("quality2_")]
    return button


def test_a_reload_brings_back_grade_and_note(queues, open_page) -> None:
    page = open_page("item", queue="q")
    [field] = [one for one in page.text_input if one.key and one.key.startswith("note_")]
    field.input("half of it")
    weak(page).click().run()
    again = open_page("item", queue="q")
    assert weak(again).key == weak(page).key, "the same item"
    assert note(again) == "half of it"
    assert weak(again).proto.type == "primary"


def test_another_person_gets_another_item_and_nothing_of_it(queues, open_page) -> None:
    page = open_page("item", queue="q")
    weak(page).click().run()
    other = open_page("item", reviewer="Jon", queue="q")
    assert weak(other).key != weak(page).key
    assert weak(other).proto.type == "secondary"


def test_the_oldest_drafts_go_first() -> None:
    kept = KeptDrafts()
    for number in range(MOST_KEPT + 1):
        kept.keep(str(number), Draft(note=str(number)))
    assert kept.of("0") is None
    assert kept.of("1") == Draft(note="1")


def test_a_kept_draft_is_not_changed_by_later_presses() -> None:
    kept, draft = KeptDrafts(), Draft(note="first", scores={"tone": 2})
    kept.keep("one", draft)
    draft.note = "second"
    draft.scores["tone"] = 5
    given = kept.of("one")
    assert given == Draft(note="first", scores={"tone": 2})
