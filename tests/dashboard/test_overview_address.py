"""The first page also opens at the address with its name."""

import pytest

from app_pages import OpenPage


@pytest.mark.usefixtures("page_rows")
def test_the_address_overview_opens_the_first_page_and_keeps_its_query(open_page: OpenPage) -> None:
    page = open_page("overview", judge="rag v1")
    assert "overview" in {known["url_pathname"] for known in page._registered_pages.values()}
    assert [title.value for title in page.title] == ["Overview"]
    assert page.query_params["judge"] in {"rag v1", ("rag v1",)}
