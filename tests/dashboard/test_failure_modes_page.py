"""Failure modes on the pages: chosen on the item page and in a queue, counted, and edited on Settings."""

from sqlalchemy import select

from app_pages import OpenPage, press, shown
from judgeboard.people.roster import ensure_reviewer
from judgeboard.reviews.failure_modes import save_mode
from judgeboard.reviews.queues import QueueRules, create_queue
from judgeboard.store.engine import Store
from judgeboard.store.filters import RowFilter
from judgeboard.store.tables import REVIEW_FAILURE_MODE


def tags(store: Store) -> list[str]:
    with store.reading() as connection:
        return list(connection.execute(select(REVIEW_FAILURE_MODE.c.mode)).scalars())


def test_a_tag_is_chosen_kept_stored_and_counted(open_page: OpenPage, page_rows, page_store: Store) -> None:
    lead = ensure_reviewer(page_store, "page", "Mara")
    save_mode(page_store, "wrong entity", "Names another person", key="P", by=lead)
    save_mode(page_store, "outdated source", by=lead)
    assert "No answer has a failure mode yet." in shown(open_page("failure_modes"))
    flag = page_rows.flags["claims"]
    app = open_page("item", flag=flag)
    parts = [shown(app).index(words) for words in ("Why you see this", "Failure modes", "History (")]
    assert parts == sorted(parts)
    app = press(press(app, "mode_0"), "mode_1")
    again = open_page("item", flag=flag)
    chosen = [
        one.label for one in again.button if one.key and one.key.startswith("mode_") and one.proto.type == "primary"
    ]
    assert chosen == ["wrong entity", "outdated source"], "a reload keeps the draft"
    app = press(press(app, "mode_1"), "confirm")
    assert tags(page_store) == ["wrong entity"]
    assert "Failure modes: wrong entity" in shown(open_page("item", flag=flag))
    for by in ("Query type", "Judge version", "Week"):
        counted = open_page("failure_modes", by=by)
        assert not counted.exception
        assert list(counted.dataframe[0].value["Failure mode"])[:1] == ["wrong entity"]


def test_a_queue_offers_them_and_settings_lists_them(open_page: OpenPage, page_rows, page_store: Store) -> None:
    lead = ensure_reviewer(page_store, "page", "Mara")
    save_mode(page_store, "wrong entity", key="P", by=lead)
    rules = QueueRules("q", RowFilter(), order="oldest", grades=(), blind_judge=True, blind_people=True)
    create_queue(page_store, rules, by=lead)
    press(press(open_page("item", queue="q"), "mode_0"), "confirm")
    assert tags(page_store) == ["wrong entity"]
    app = open_page("settings", part="Failure modes")
    assert not app.exception
    assert "Add a mode in the last row" in shown(app)
