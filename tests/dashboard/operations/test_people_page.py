"""The parts People and Events of the settings: who may come in, changed by admins, and who did what."""

import pytest

from app_pages import markup
from judgeboard.domain import Role
from judgeboard.people.roster import add_person, list_people
from judgeboard.store.engine import Store
from judgeboard.store.events import EventFilter, latest_events, record_event
from judgeboard_dashboard.widgets.administration import EVENT_WORDS, event_words

ANN, BOB = "ann@example.org", "bob@example.org"


def roles(store: Store) -> dict[str, str]:
    with store.reading() as connection:
        return {line.person.name: line.role.value for line in list_people(connection) if line.person.origin == "oidc"}


def test_a_person_is_added_given_a_role_and_removed_in_the_name_of_who_did_it(
    page_rows, open_page, sqlite_store: Store
) -> None:
    add_person(sqlite_store, ANN, Role.ADMIN, "cli:root")
    page = open_page("settings", part="People")
    assert "Sign-in is off" in markup(page)
    page.text_input(key="people_address").set_value(" Bob@example.org")
    page.button(key="people_add_button").click().run()
    assert f"{BOB} may sign in, as reviewer." in markup(page)
    page.selectbox(key="people_name").set_value(BOB).run()
    page.selectbox(key=f"people_new_role_{BOB}_reviewer").set_value(Role.LEAD).run()
    page.button(key="people_change").click().run()
    assert roles(sqlite_store) == {ANN: "admin", BOB: "lead"}
    page.button(key="people_remove").click().run()
    assert roles(sqlite_store)[BOB] == "none"
    assert page.button(key="people_remove").disabled
    with sqlite_store.reading() as connection:
        events = latest_events(connection, EventFilter(actor="Mara"), limit=3)
    assert [event.kind for event in events] == ["remove_person", "change_role", "add_person"]


def test_a_name_is_chosen_as_it_is_written(page_rows, open_page, sqlite_store: Store) -> None:
    add_person(sqlite_store, "bo_b@example.org", Role.ADMIN, "cli:root")
    page = open_page("settings", part="People")
    assert "bo_b@example.org" in page.selectbox(key="people_name").options


def test_what_cannot_be_is_said(page_rows, open_page, sqlite_store: Store) -> None:
    add_person(sqlite_store, ANN, Role.ADMIN, "cli:root")
    page = open_page("settings", part="People")
    page.button(key="people_remove").click().run()
    assert f"Not changed: {ANN} is the only admin" in markup(page)
    page.text_input(key="people_address").set_value("bob")
    page.button(key="people_add_button").click().run()
    assert "e-mail address" in markup(page)
    assert roles(sqlite_store) == {ANN: "admin"}


def test_the_list_names_everybody_with_role_and_when_they_were_here(page_rows, open_page, sqlite_store: Store) -> None:
    add_person(sqlite_store, ANN, Role.LEAD, "cli:root")
    page = open_page("settings", part="People")
    rows = {row["Name"]: row for row in page.dataframe[0].value.to_dict("records")}
    assert (rows[ANN]["Role"], rows[ANN]["Origin"], rows[ANN]["Last seen"]) == ("lead", "sign-in", "–")
    assert (rows["Mara"]["Role"], rows["Mara"]["Origin"]) == ("admin", "name on a page")
    assert rows["Mara"]["Last seen"] != "–"


def test_events_are_listed_newest_first_fifty_a_page(page_rows, open_page, sqlite_store: Store) -> None:
    with sqlite_store.writing() as connection:
        for number in range(120):
            record_event(connection, "set_setting", "Ada", details={"number": number})
    page = open_page("settings", part="Events", actor="Ada")
    assert "<b>120</b> events, newest first." in markup(page)
    first = page.dataframe[0].value
    assert (len(first), first["Details"][0], first["What"][0]) == (50, "number 119", "changed a setting")
    page.button(key="events_next").click().run()
    assert page.dataframe[0].value["Details"][0] == "number 69"
    assert "51–100 of 120" in markup(page)
    page.text_input(key="answer").set_value("nothing-like-it").run()
    assert "No event matches." in markup(page)


def test_a_version_is_retired_and_taken_back(page_rows, open_page, sqlite_store: Store) -> None:
    page = open_page("settings")
    page.button(key="version_retire").click().run()
    assert "was retired by Mara" in markup(page)
    listed = next(table.value for table in page.dataframe if "Judge version" in table.value)
    assert listed["Judge version"][0].endswith("(retired)")
    assert page.button(key="version_retire").label == "Restore version"
    page.button(key="version_retire").click().run()
    assert "was retired" not in markup(page)


@pytest.mark.parametrize("kind", EVENT_WORDS)
def test_what_somebody_did_is_said_in_words(kind: str) -> None:
    assert "_" not in event_words(kind)
    assert event_words("made_of_words") == "made of words"
