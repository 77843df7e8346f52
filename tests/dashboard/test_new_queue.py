"""The form of a new queue with its presets and its size, and the queues that wait for an assigned reviewer."""

import pytest

from app_pages import markup
from judgeboard.domain import Decision
from judgeboard.store.engine import Store
from judgeboard.store.tables import QUEUE
from queue_case import QueueCase, queue_case


@pytest.fixture
def queues(page_store: Store) -> QueueCase:
    made = queue_case(page_store)
    made.flagged(0.1, 0.2, *(0.9 for _ in range(150)))
    return made


def test_a_preset_fills_the_form_which_says_how_many_match(queues, open_page) -> None:
    page = open_page("queue", reviewer="Lead", show="Queues", new="1")
    assert "2 answers match." in markup(page)
    assert "The queue will have 2." in markup(page)
    page.selectbox(key="nq_preset").set_value("random").run()
    assert not page.exception
    assert "152 answers match." in markup(page)
    assert "The queue will have 100, drawn at random." in markup(page)
    page.number_input(key="nq_size").set_value(20).run()
    assert "The queue will have 20, drawn at random." in markup(page)
    page.button(key="nq_create").click().run()
    assert "Not created: a queue has a name of 1 to 60 printable characters" in markup(page)
    page.text_input(key="nq_name").set_value("gold").run()
    page.button(key="nq_create").click().run()
    [row] = queues.rows(QUEUE)
    drawn = (row["flagged_only"], row["max_items"], row["drawn_from"], row["sort"], row["reviews_needed"])
    assert drawn == (False, 20, 152, "random", 2)
    assert (row["blind_judge"], row["blind_people"]) == (True, True)
    assert (row["grades"], row["optional_grades"]) == (("label", "groundedness"), ("quality",))


def test_an_assigned_reviewer_lands_on_their_queues(queues, open_page) -> None:
    queues.queue("legal", assigned=(queues.mara,), blind_judge=True, order="oldest")
    for name in ("overview", "queue"):
        page = open_page(name, reviewer="Mara")
        assert "2 left for you, 0 done" in markup(page), name
        assert [button.label for button in page.button].count("Start") == 1
        assert "No open flags. Decided" not in markup(page)
        assert "left for you" not in markup(open_page(name, reviewer="Jon"))
    for _ in range(2):
        queues.review(queues.mara, Decision.CONFIRM, "legal")
    assert "left for you" not in markup(open_page("queue", reviewer="Mara"))
