"""The queue page: what it lists, how it is narrowed, what it says when empty."""

import pytest
from streamlit.testing.v1 import AppTest

from app_pages import markup, press
from judgeboard.domain import QueueOrder, Response
from judgeboard.reports.output import Column, Table, to_csv
from judgeboard.store.engine import Store
from judgeboard.store.storing import store_responses
from queue_case import queue_case


def ids(page: AppTest) -> list[str]:
    return [str(value) for table in page.dataframe for value in table.value["Id"]]


def test_open_flags_are_listed_worst_first(page_rows, open_page) -> None:
    page = open_page("queue", rule="low_groundedness")
    assert not page.exception
    assert ids(page)[:3] == ["plain-01", "plain-02", "plain-03"]
    scores = list(page.dataframe[0].value["Groundedness"])
    assert scores == sorted(scores)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({"text": "plain-07"}, {"plain-07"}),
        ({"query_type": "complex"}, {f"plain-{number:02}" for number in (2, 4, 6, 8, 10, 12)}),
        ({"rule": "judge_failed"}, {"unusable"}),
        ({"min_score": 0.08, "max_score": 0.1}, {"plain-03"}),
        ({"from": "2026-03-10", "to": "2026-03-10", "rule": "low_groundedness"}, {"plain-08"}),
    ],
)
def test_a_filter_of_the_address_narrows_the_list(page_rows, open_page, query, expected: set[str]) -> None:
    page = open_page("queue", **query)
    assert set(ids(page)) == expected


def test_a_field_narrows_and_the_address_follows(page_rows, open_page) -> None:
    page = open_page("queue")
    page.text_input(key="queue_text").set_value("plain-05").run()
    assert ids(page) == ["plain-05"]
    assert page.query_params["text"] in {"plain-05", ("plain-05",)}
    page.button(key="queue_clear").click().run()
    assert "text" not in page.query_params
    assert len(ids(page)) > 10


def test_a_bad_address_says_what_it_left_out(page_rows, open_page) -> None:
    page = open_page("queue", min_score=7, text="plain-05")
    assert "min_score=7" in markup(page)
    assert ids(page) == ["plain-05"]


def test_the_name_is_asked_on_the_first_page_and_can_be_changed(page_rows, open_page) -> None:
    page = open_page("queue", reviewer="")
    page.text_input(key="who_name").set_value("Jon").run()
    assert page.button(key="queue_who").label == "Jon"
    page.button(key="queue_who").click().run()
    page.text_input(key="who_name").set_value("  Mara\t*M*").run()
    assert page.button(key="queue_who").label == r"Mara \*M\*"


def test_nothing_matches_says_so(page_rows, open_page) -> None:
    assert "No answer with an open flag matches." in markup(open_page("queue", text="no such text"))


def test_an_empty_database_names_the_next_command(page_store: Store, open_page) -> None:
    page = open_page("queue")
    assert "No answers yet." in markup(page)
    assert "judgeboard demo" in markup(page)
    with page_store.writing() as connection:
        store_responses(connection, [Response("log", "one", "q", "a", ("p",))])
    page = open_page("queue")
    assert "1 answer, none judged." in markup(page)
    assert "judgeboard judge --judge lexical" in markup(page)


def test_a_missing_database_is_said_and_no_page_breaks(tmp_path, monkeypatch, open_page) -> None:
    monkeypatch.setenv("JUDGEBOARD_DB", str(tmp_path / "none.db"))
    page = open_page("queue")
    assert not page.exception
    assert "no database at" in markup(page)


def test_a_spreadsheet_gets_texts_not_formulas() -> None:
    rows = Table((Column("a"), Column("b", "number")), (("=1+1", 0.5), ("+cmd", None), ("plain", 1.0)))
    assert to_csv(rows).splitlines() == ["a,b", "'=1+1,0.5", "'+cmd,", "plain,1.0"]


def test_the_list_of_keys_opens_after_the_reveal_too(open_page, sqlite_store, monkeypatch) -> None:
    case = queue_case(sqlite_store)
    case.flagged(0.1)
    case.queue(blind_judge=True, blind_people=True, order=QueueOrder.OLDEST)
    monkeypatch.setenv("JUDGEBOARD_DB", str(sqlite_store.engine.url.database))
    page = press(open_page("item", queue="q"), "confirm_")
    assert "You and the judge" in markup(page)
    assert "jb-keys" not in markup(page)
    assert "jb-keys" in markup(press(page, "keys_"))
