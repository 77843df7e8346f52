"""Alarms on Overview and Trends: everybody sees them, and only leads acknowledge them."""

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from app_pages import charts, labels, press, shown, table, text_with, texts
from graded_log import GOOD, GradedLog, labels_in
from judgeboard.domain import Role
from judgeboard.measure.alarms import watch
from judgeboard.people.roster import add_person
from judgeboard.store.alerts import list_alarms
from judgeboard_dashboard import sign_in as seam
from judgeboard_dashboard.sign_in import configured_sign_in
from oidc_provider import COOKIE_SECRET
from stored_rows import read

AUTH = {
    "redirect_uri": "https://case.example.org/oauth2callback",
    "cookie_secret": COOKIE_SECRET,
    "client_id": "c",
    "client_secret": "s",
    "server_metadata_url": "https://id.example.org/.well-known/x",
}
ROSE = "Alarm 1. The share of bad answers rose about 4 Nov 2024"


def fill(store):
    """Store a rise in the fifth of nine weeks, with an alarm."""
    log = GradedLog(store)
    version = log.version()
    for week in range(9):
        ids = log.answers(40, day=20_003 + 7 * week, query_type="QA")
        labels = labels_in(ids, ids[:: 10 if week < 4 else 2])
        log.say(version, labels)
        log.reviews(labels)
    log.say_all(version, log.answers(3, query_type="QA"), label=GOOD)  # without a time
    assert watch(store, by="test").new == (1,)


@pytest.fixture
def alarmed(page_store, fill_once):
    """A log with one alarm."""
    fill_once("alarmed", page_store, fill)
    return page_store


@pytest.mark.parametrize("name", ["overview", "trends"])
def test_a_lead_acknowledges_an_alarm_with_a_note(open_page, alarmed, name):
    page = open_page(name)
    assert texts(page, "jb-note")[0].startswith(ROSE)
    press(page, "alarm_1_save")
    assert text_with(page, "note", "2,000", cls="jb-note")
    note = "New retriever since 4 Nov"
    page.text_area(key="alarm_1_note").set_value(note)
    press(page, "alarm_1_save")
    assert texts(page, "jb-note") == []
    (alarm,) = read(alarmed, list_alarms)
    assert alarm.acknowledgement.by == "mara"
    assert alarm.acknowledgement.note == note
    anew = {
        each.weeks for each in watch(alarmed, by="test").detectors if each.measure == "bad_share"
    }
    # The reference starts anew in the week of the change.
    assert anew == {5}


def test_the_corrected_share_is_drawn_with_its_change(open_page, alarmed):
    page = open_page("trends", show="Bad, corrected")
    assert "rose about 4 Nov 2024, from 10 %" in texts(page, "jb-say")[0]
    assert charts(page)
    assert "Left out:" in texts(page, "jb-cap")
    assert [label for label in labels(page) if label.startswith("3 ")]
    page = open_page("trends", show="Bad, corrected", tables="true")
    assert list(table(page, "Labels")["Labels"])[:9] == [40] * 9


def test_a_reviewer_sees_an_alarm_and_cannot_acknowledge_it(alarmed, monkeypatch):
    who = {"email": "ann@example.org", "email_verified": True}
    monkeypatch.setattr(seam, "claims", lambda: who)
    for address, role in (("ann@example.org", Role.REVIEWER), ("bob@example.org", Role.LEAD)):
        add_person(alarmed, address, role, "cli:root")
    configured_sign_in.cache_clear()
    try:
        page = _signed_in()
        assert texts(page, "jb-note")[0].startswith(ROSE)
        assert not page.text_area
        assert "A lead" in shown(page)
        who.update(email="bob@example.org")
        assert [field.key for field in _signed_in().text_area] == ["alarm_1_note"]
    finally:
        configured_sign_in.cache_clear()


def _signed_in():
    app = AppTest.from_file(Path(seam.__file__).with_name("app.py"), default_timeout=60)
    app.secrets["auth"] = AUTH
    app.switch_page("views/trends.py")  # the menu of a reviewer has no Overview
    return app.run()
