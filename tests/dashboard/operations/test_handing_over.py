"""Lists turn their pages, and hand what they show to the view Judge answers."""

import pytest

from app_pages import click, enter, markup
from judgeboard.domain import JudgeVersion, Response, Status, Verdict
from judgeboard.store.judge_versions import ensure_version
from judgeboard.store.judgments import NewJudgment
from judgeboard.store.storing import store_judgments, store_responses

MANY = 120


@pytest.fixture
def many_flags(page_rows, sqlite_store):
    """More open flags than a page holds."""
    with sqlite_store.writing() as connection:
        ids = store_responses(
            connection, [Response("log", f"m{n:03}", "q", f"answer {n}") for n in range(MANY)]
        ).new
        version = ensure_version(connection, JudgeVersion("rag", "rag", "m"))
        low = [NewJudgment(id_, 0, 0, Verdict(Status.OK, groundedness=0.3)) for id_ in ids]
        store_judgments(connection, version, None, low)


@pytest.mark.parametrize("name", ["open_flags", "responses"])
def test_a_list_turns_forth_and_back(many_flags, open_page, name):
    page = open_page(name)
    first = page.dataframe[0].value["Id"].tolist()
    click(page, f"{name}_next")
    second = page.dataframe[0].value["Id"].tolist()
    assert len(first) == len(second) == 50
    assert not set(first) & set(second)
    click(page, f"{name}_previous")
    assert page.dataframe[0].value["Id"].tolist() == first
    click(page, f"{name}_next")
    enter(page, f"{name}_text", "plain-0")
    # Another filter starts anew.
    assert set(page.dataframe[0].value["Id"]) == {f"plain-{n:02}" for n in range(1, 10)}


@pytest.mark.parametrize(("name", "rows"), [("open_flags", "open"), ("responses", "match")])
def test_a_list_is_handed_to_rejudge_as_it_is_narrowed(page_rows, open_page, name, rows):
    page = open_page(name, query_type="complex")
    click(page, f"{name}_rejudge")
    assert page.title[0].value == "Runs & alerts"
    assert page.selectbox(key="rejudge_rows").value == rows
    assert page.multiselect(key="rejudge_query_type").value == ["complex"]
    assert {"open": "open flags, complex", "match": ">complex<"}[rows] in markup(page)
