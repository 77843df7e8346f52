"""The page of conflicts."""

from app_pages import texts
from judgeboard_dashboard.review import conflicts
from queue_case import CONFIRM, DISMISS, queue_case


def test_more_conflicts_than_the_page_shows_are_not_counted_as_all(open_page, sqlite_store, monkeypatch) -> None:
    case = queue_case(sqlite_store)
    case.flagged(0.1, 0.2)
    case.queue(needed=2)
    for _ in range(2):
        case.review(case.mara, CONFIRM)
        case.review(case.jon, DISMISS)
    monkeypatch.setenv("JUDGEBOARD_DB", str(sqlite_store.engine.url.database))
    monkeypatch.setattr(conflicts, "MOST", 1)
    assert "You and others differ on more than 1 item." in texts(open_page("queue", show="Conflicts"))
    monkeypatch.setattr(conflicts, "MOST", 2)
    assert "You and others differ on 2 items." in texts(open_page("queue", show="Conflicts"))
