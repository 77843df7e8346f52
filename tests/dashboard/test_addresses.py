"""Old addresses of pages, and the first page at the address with its name."""

import pytest

from app_pages import OpenPage


@pytest.mark.usefixtures("page_rows")
@pytest.mark.parametrize(
    ("old", "title"),
    [("overview", "Overview"), ("imports", "Import"), ("self_reference", "Self-reference")],
)
def test_an_old_address_opens_the_page_and_keeps_its_query(open_page: OpenPage, old: str, title: str) -> None:
    page = open_page(old, judge="rag v1")
    assert {old, "first", "label-schemas"} <= {known["url_pathname"] for known in page._registered_pages.values()}
    assert [shown.value for shown in page.title] == [title]
    assert page.query_params["judge"] in ("rag v1", ["rag v1"])


@pytest.mark.usefixtures("page_rows")
def test_what_was_a_part_of_the_queue_page_opens_its_own_page(open_page: OpenPage) -> None:
    conflicts = open_page("queue", show="Conflicts", of="none")
    assert [shown.value for shown in conflicts.title] == ["Conflicts"]
    assert conflicts.query_params["of"] in ("none", ["none"])
    assert "show" not in conflicts.query_params
    mine = open_page("queue", show="My reviews", on="pairs")
    assert [shown.value for shown in mine.title] == ["My reviews"]
