"""A new database leads from step to step, each done on a page."""

import getpass

import pytest
import streamlit as st

from app_pages import click, enter, keys, labels, markup, titles
from graded_log import GradedLog
from judgeboard.runs.jobs import held_key, recent_jobs
from judgeboard.store.responses import last_response_id
from stored_rows import read

KEY = "sk-typed-on-the-page"


def at_first(open_page):
    """Open the first page; a later run then stays on it, as in a browser, and does not ask for its other address."""
    page = open_page("overview")
    page._page_hash = ""
    return page


@pytest.mark.parametrize(
    ("button", "part"), [("Import a log", "import_form"), ("Connect an assistant", "received")]
)
def test_an_empty_database_has_three_first_steps(page_store, open_page, button, part):
    page = at_first(open_page)
    assert [code.value for code in page.code] == ["judgeboard quickstart"]
    click(page, f"step_{button}")
    assert titles(page) == ["Data & settings"]
    assert bool(page.get("file_uploader")) is (part == "import_form")


def test_answers_are_judged_from_the_page(page_store, open_page, endpoint):
    GradedLog(page_store).answers(5)
    page = click(at_first(open_page), "step_Judge answers")
    assert titles(page) == ["Runs & alerts"]
    rag = "New judge: rag (groundedness and quality)"
    enter(page, f"ask_model_{rag}", "gpt-4o-mini")
    enter(page, f"ask_base_url_{rag}", endpoint.url)
    enter(page, "ask_api_key", KEY)
    assert "Judge 5 answers" in labels(page)
    enter(page, "ask_claims", True)
    click(page, "rejudge_start")
    [job] = recent_jobs(page_store)
    assert job.judge["claims"]
    assert held_key(job.id) == KEY
    assert KEY not in markup(page) + str(dict(page.query_params))
    assert read(page_store, last_response_id) == 5


def test_the_user_of_a_server_for_this_machine_alone_is_not_asked_for_a_name(open_flag):
    page = open_flag("claims", reviewer=None)
    assert "confirm" in keys(page)
    page.switch_page("views/open_flags.py").run()
    assert page.button(key="person").label == getpass.getuser()
    click(page, "person")
    enter(page, "who_name", "Jon")
    assert page.button(key="person").label == "Jon"


def test_a_server_for_others_asks_for_a_name_at_the_top_of_each_page(
    page_rows, open_page, monkeypatch
):
    option = st.get_option
    shared = {"server.allowedHosts": ["localhost", "review.example.org"]}
    monkeypatch.setattr(st, "get_option", lambda name: shared.get(name, option(name)))
    page = open_page("open_flags", reviewer=None)
    assert not page.text_input(key="who_name").value
    page.switch_page("views/trends.py").run()
    enter(page, "who_name", "Jon")
    page.switch_page("views/my_reviews.py").run()
    assert page.button(key="person").label == "Jon"


def test_a_new_database_has_one_button_that_starts_the_review(page_rows, open_page):
    assert labels(open_page("overview")).count("Start reviewing") == 1
