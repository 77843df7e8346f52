"""Lists turn their pages, and hand what they show to the view Judge answers."""

import pytest

from app_pages import click, enter, markup, table
from graded_log import GradedLog

MANY = 120


@pytest.fixture
def many_flags(page_rows, sqlite_store):
    """More open flags than a page holds."""
    log = GradedLog(sqlite_store)
    log.say_all(log.version(), log.answers(MANY), groundedness=0.3)


@pytest.mark.parametrize("name", ["open_flags", "responses"])
def test_a_list_turns_forth_and_back(many_flags, open_page, name):
    page = open_page(name)

    def ids():
        return table(page, "Id")["Id"].tolist()

    first = ids()
    click(page, f"{name}_next")
    assert len(first) == len(ids()) == 50
    assert not {*first} & {*ids()}
    click(page, f"{name}_previous")
    assert ids() == first
    click(page, f"{name}_next")
    enter(page, f"{name}_text", "plain-0")
    # Another filter starts anew.
    assert {*ids()} == {f"plain-{n:02}" for n in range(1, 10)}


@pytest.mark.parametrize(("name", "rows"), [("open_flags", "open"), ("responses", "match")])
def test_a_list_is_handed_to_rejudge_as_it_is_narrowed(page_rows, open_page, name, rows):
    page = open_page(name, query_type="complex")
    click(page, f"{name}_rejudge")
    assert page.title[0].value == "Runs & alerts"
    assert page.selectbox(key="rejudge_rows").value == rows
    assert page.multiselect(key="rejudge_query_type").value == ["complex"]
    assert {"open": "open flags, complex", "match": ">complex<"}[rows] in markup(page)
