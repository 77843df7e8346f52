"""A new database leads from step to step, each done on a page."""

import getpass

import pytest
import streamlit as st
from sqlalchemy import select
from streamlit.testing.v1 import AppTest

from app_pages import OpenPage, labels, markup, shown
from graded_log import GradedLog
from held_endpoint import HeldEndpoint
from judgeboard.llm.recording_endpoint import failure
from judgeboard.runs.jobs import held_key, recent_jobs
from judgeboard.store.engine import Store
from judgeboard.store.responses import last_response_id
from judgeboard.store.tables import JUDGMENT

KEY = "sk-typed-on-the-page"


def at_first(open_page: OpenPage) -> AppTest:
    """Open the first page; a later run then stays on it, as in a browser, and does not ask for its other address."""
    page = open_page("overview")
    page._page_hash = ""
    return page


@pytest.mark.parametrize(
    ("button", "part"), [("Import a log", "import_form"), ("Connect an assistant", "received")]
)
def test_an_empty_database_has_three_first_steps(
    page_store: Store, open_page, button: str, part: str
) -> None:
    page = at_first(open_page)
    assert [code.value for code in page.code] == ["judgeboard quickstart"]
    page = page.button(key=f"step_{button}").click().run()
    assert [title.value for title in page.title] == ["Data & settings"]
    assert bool(page.get("file_uploader")) is (part == "import_form")


@pytest.mark.parametrize(
    "name",
    [
        "agreement",
        "trends",
        "runs",
        "responses",
        "open_flags",
        "conflicts",
        "rejudge",
        "my_reviews",
    ],
)
def test_each_empty_page_has_the_one_next_button(page_store: Store, open_page, name: str) -> None:
    page = open_page(name, reviewer="")
    assert 'class="jb-empty"' in markup(page)
    assert "Enter your name" not in markup(page)
    assert [title.value for title in page.button(key="step_Import a log").click().run().title] == [
        "Data & settings"
    ]


def test_answers_are_judged_from_the_page_after_a_trial(
    page_store: Store, open_page, endpoint: HeldEndpoint
) -> None:
    GradedLog(page_store).answers(5)
    page = at_first(open_page).button(key="step_Judge answers").click().run()
    assert [title.value for title in page.title] == ["Runs & alerts"]
    page.text_input(key="ask_model_New judge: rag (groundedness and quality)").set_value(
        "gpt-4o-mini"
    ).run()
    page.text_input(key="ask_base_url_New judge: rag (groundedness and quality)").set_value(
        endpoint.url
    ).run()
    page.text_input(key="ask_api_key").set_value(KEY).run()
    page = page.button(key="rejudge_try").click().run()
    assert "3 of 3" in shown(page)
    assert "All 5 would" in shown(page)
    with page_store.reading() as connection:
        assert not connection.execute(select(JUDGMENT)).all()
    assert "Raw call" in shown(page)
    assert "answer 1" in shown(page)
    assert len(endpoint.server.requests) == 3
    assert KEY not in markup(page)
    assert "Judge 5 answers" in labels(page)
    page = page.button(key="rejudge_start").click().run()
    [job] = recent_jobs(page_store)
    assert held_key(job.id) == KEY
    assert KEY not in str(dict(page.query_params))
    with page_store.reading() as connection:
        assert last_response_id(connection) == 5


def test_a_trial_that_fails_says_why(page_store: Store, open_page, endpoint: HeldEndpoint) -> None:
    endpoint.reply = failure(401, "bad key")
    GradedLog(page_store).answers(1)
    page = open_page("rejudge", rows="plain")
    page.text_input(key="ask_model_New judge: rag (groundedness and quality)").set_value(
        "gpt-4o-mini"
    ).run()
    page.text_input(key="ask_base_url_New judge: rag (groundedness and quality)").set_value(
        endpoint.url
    ).run()
    page = page.button(key="rejudge_try").click().run()
    assert "The trial failed:" in shown(page)
    assert "401" in shown(page)


def test_the_user_of_a_server_for_this_machine_alone_is_not_asked_for_a_name(
    page_rows, open_page
) -> None:
    page = open_page("item", reviewer=None, flag=page_rows.flags["claims"])
    assert [button for button in page.button if button.key == "confirm"]
    page.switch_page("views/open_flags.py").run()
    assert page.button(key="person").label == getpass.getuser()
    page.button(key="person").click().run()
    page.text_input(key="who_name").set_value("Jon").run()
    assert page.button(key="person").label == "Jon"


def test_a_server_for_others_asks_for_a_name_at_the_top_of_each_page(
    page_rows, open_page, monkeypatch: pytest.MonkeyPatch
) -> None:
    option = st.get_option
    shared = {"server.allowedHosts": ["localhost", "review.example.org"]}
    monkeypatch.setattr(st, "get_option", lambda name: shared.get(name, option(name)))
    page = open_page("open_flags", reviewer=None)
    assert not page.text_input(key="who_name").value
    page.switch_page("views/trends.py").run()
    page.text_input(key="who_name").set_value("Jon").run()
    page.switch_page("views/my_reviews.py").run()
    assert page.button(key="person").label == "Jon"


def test_a_new_database_has_one_button_that_starts_the_review(page_rows, open_page) -> None:
    assert labels(open_page("overview")).count("Start reviewing") == 1
