"""A page that has nothing yet says first what it is for, and has one next step."""

import pytest

from app_pages import labels, texts

PURPOSES = {
    "suites": "A suite asks your assistant the same questions",
    "pairs": "Pairs show which of two answers",
    "self_reference": "Self-reference shows whether a judge",
    "verdicts": "This page compares the verdicts",
}
COMMANDS = {
    "suites": "judgeboard suite run suite.yaml",
    "pairs": "judgeboard compare --a SOURCE --b SOURCE --model NAME",
    "self_reference": "judgeboard compare ssr --pairs pairs.jsonl",
    "verdicts": "judgeboard judge --judge NAME",
}
STARTED = (
    *("open_flags", "item", "people", "trends", "agreement", "problems"),
    *("judges", "pairs", "suites", "responses", "runs"),
    *("self_reference", "conflicts", "rejudge", "my_reviews"),
)


@pytest.mark.parametrize("page", STARTED)
def test_an_empty_database_leads_to_the_import(open_page, page):
    app = open_page(page)
    assert "Import a log" in labels(app)
    assert not app.code
    assert "judgeboard judge" not in texts(app, "jb-empty")[0]  # nothing is there to judge


@pytest.mark.parametrize("page", list(COMMANDS))
def test_an_empty_page_says_what_it_is_for_and_has_its_command_to_copy(open_page, log, page):
    log.say_all(log.version(), log.answers(3), groundedness=0.4)
    app = open_page(page)
    (words,) = texts(app, "jb-empty")
    assert words.startswith(PURPOSES[page])
    (command,) = app.code
    assert command.value.startswith(COMMANDS[page])
    assert "Import a log" not in labels(app)
