"""The settings page: who set what, what the environment decides, what differs between two judge versions."""

import math

import pytest

from app_pages import FIELDS, check_markup, click, enter, markup, table, text_with, texts
from judgeboard.domain import JudgeVersion, Role
from judgeboard.people.roster import add_person, list_people, remove_person
from judgeboard.store.events import EventFilter, latest_events, record_event
from judgeboard.store.judge_versions import ensure_version
from judgeboard.store.settings import SETTING_KEYS, setting_origins, thresholds
from judgeboard.store.tables import FLAG
from stored_rows import read, values_of, write_to


def in_force(store, key):
    line = next(line for line in read(store, setting_origins) if line.key == key)
    return line.value, line.origin, line.stored and line.stored.by


pytestmark = pytest.mark.usefixtures("page_rows")


def test_a_threshold_is_stored_with_who_set_it(open_page, sqlite_store):
    page = open_page("settings")
    assert page.button(key="settings_save").disabled
    # All digits of a chosen threshold.
    assert page.number_input(key="setting_low_groundedness").proto.format == "%.6g"
    enter(page, "setting_low_groundedness", 0.35)
    assert page.button(key="settings_save").label == "Save 1 change"
    click(page, "settings_save")
    assert in_force(sqlite_store, "low_groundedness") == (0.35, "stored", "Mara")
    check_markup(page, "By Mara, ", "judgeboard flags apply")


@pytest.mark.parametrize(
    ("key", "value", "why"),
    [
        ("low_groundedness", math.nan, "Low groundedness below: enter a number from 0 to 1."),
        ("low_groundedness", -0.5, "Low groundedness below: enter a number from 0 to 1, not -0.5."),
        ("feedback_gap", None, "User and judge differ by: enter a number from 0.25 to 3."),
    ],
)
def test_a_threshold_out_of_its_range_is_said_and_not_stored(
    open_page, sqlite_store, key, value, why
):
    page = open_page("settings")
    enter(page, "setting_random_share", 0.5)
    enter(page, f"setting_{key}", value)
    assert text_with(page, why, cls="jb-note")
    assert page.button(key="settings_save").disabled
    assert in_force(sqlite_store, key)[1] == "default"
    enter(page, f"setting_{key}", 0.75)
    assert not texts(page, "jb-note")
    assert page.button(key="settings_save").label == "Save 2 changes"


def test_checks_of_answers_are_defined_on_the_page_and_applied(open_page, sqlite_store):
    page = open_page("settings")
    enter(page, "setting_checks", "checks:\n- {name: long, length: {min_wods: 900}}")
    click(page, "settings_save")
    assert text_with(page, "line 2", "checks[0].length", cls="jb-note")
    assert in_force(sqlite_store, "checks")[1] == "default"
    enter(page, "setting_checks", "checks:\n- {name: long, length: {min_words: 900}}")
    click(page, "settings_save")
    assert in_force(sqlite_store, "checks")[1:] == ("stored", "Mara")
    click(page, "settings_apply")
    assert "flags raised" in markup(page)
    assert "failed_check" in values_of(sqlite_store, FLAG.c.rule, FLAG.c.state == "open")


def test_applying_the_rules_brings_the_flags_up_to_date(open_page):
    page = open_page("settings")
    enter(page, "setting_low_groundedness", 0.2)
    click(page, "settings_save")
    click(page, "settings_apply")
    assert "be superseded" in markup(page)
    click(page, "settings_apply_cancelled")
    assert "superseded" not in markup(page), "nothing was changed"
    click(page, "settings_apply")
    click(page, "settings_apply_confirmed")
    assert "superseded." in markup(page)
    assert "30 answers" in text_with(page, "superseded.")
    assert "judgeboard flags apply" not in markup(page)


def test_defaults_come_back(open_page, sqlite_store):
    page = open_page("settings")
    enter(page, "setting_random_share", 0.5)
    enter(page, "setting_always_review", ["odd"])
    page.checkbox(key="setting_excuse_refusals").uncheck().run()
    click(page, "settings_save")
    stored = read(sqlite_store, thresholds)
    assert stored.always_review == ("odd",)
    assert stored.excuse_refusals is False
    click(page, "settings_defaults")
    assert in_force(sqlite_store, "random_share") == (0.02, "default", None)
    assert page.number_input(key="setting_random_share").value == 0.02


def test_a_value_of_the_environment_or_of_the_project_file_wins_and_says_so(
    open_page, sqlite_store, tmp_path, monkeypatch
):
    file = tmp_path / "judgeboard.toml"
    file.write_text("# ours\nlow_quality = 3\nexcuse_refusals = false\n")
    monkeypatch.setenv("JUDGEBOARD_CONFIG", str(file))
    monkeypatch.setenv("JUDGEBOARD_FEEDBACK_GAP", "2.5")
    page = open_page("settings")
    for key, value in (("low_quality", 3), ("feedback_gap", 2.5)):
        field = page.number_input(key=f"setting_{key}")
        assert field.value == value
        assert field.disabled is True
    assert page.checkbox(key="setting_excuse_refusals").disabled
    assert "Set by JUDGEBOARD_FEEDBACK_GAP" in markup(page)
    assert in_force(sqlite_store, "low_quality")[1] == "judgeboard.toml, line 2"
    assert "Set by judgeboard.toml, line 2" in markup(page)


def test_every_threshold_has_a_field(open_page, sqlite_store):
    page = open_page("settings")
    fields = [each for kind in FIELDS for each in page.get(kind)]
    shown = {each.key.removeprefix("setting_") for each in fields if each.key}
    assert {*SETTING_KEYS} <= shown
    enter(page, "setting_low_groundedness_by_type", ["odd=0.3"])
    click(page, "settings_save")
    assert in_force(sqlite_store, "low_groundedness_by_type") == (("odd=0.3",), "stored", "Mara")


def test_two_judge_versions_are_compared(open_page, sqlite_store):
    evil = "Judge it.\n<script>x</script>\nReply."
    old, _ = (
        write_to(sqlite_store, ensure_version, JudgeVersion("rag", "rag", "m", options, prompt))
        for options, prompt in (({"max_output": 512}, "Judge.\nReply."), ({"max_output": 64}, evil))
    )
    page = open_page("versions")
    assert "&lt;script&gt;x&lt;/script&gt;" in markup(page)
    enter(page, f"versions_other_{old.id + 1}", old.id)
    assert f"From {old.title} to rag v3" in markup(page)
    difference = next(each.value for each in page.code if each.language == "diff")
    assert difference.splitlines()[1:] == [
        "-Judge.",
        "+Judge it.",
        "+<script>x</script>",
        " Reply.",
    ]
    assert "<script>" not in markup(page)
    params = table(page, "Differs")
    assert params.iloc[0].tolist()[:3] == ["max_output", "512", "64"]


ANN, BOB = "ann@example.org", "bob@example.org"


def roles(store):
    return {
        line.person.name: line.role.value
        for line in read(store, list_people)
        if line.person.origin == "oidc"
    }


def give_role(page, name, role):
    enter(page, "people_names", [name])
    enter(page, "people_role", role)
    click(page, "people_save")


def test_a_person_is_added_given_a_role_and_removed_in_the_name_of_who_did_it(
    open_page, sqlite_store
):
    add_person(sqlite_store, ANN, Role.ADMIN, "cli:root")
    page = open_page("people", part="Accounts")
    assert "Sign-in is off" in markup(page)
    for name, role in ((" Bob@example.org", Role.REVIEWER), (BOB, Role.LEAD), (BOB, Role.NONE)):
        give_role(page, name, role)
        assert roles(sqlite_store) == {ANN: "admin", BOB: role}
    events = read(sqlite_store, latest_events, EventFilter(actor="Mara"), limit=3)
    assert [event.kind for event in events] == ["remove_person", "change_role", "add_person"]


def test_a_person_who_signed_in_with_a_name_is_added_again(open_page, sqlite_store):
    add_person(sqlite_store, "bob", Role.REVIEWER, "cli:root", any_name=True)
    remove_person(sqlite_store, "bob", "cli:root")
    give_role(open_page("people", part="Accounts"), "bob", Role.LEAD)
    assert roles(sqlite_store) == {"bob": "lead"}


def test_what_cannot_be_is_said(open_page, sqlite_store):
    add_person(sqlite_store, ANN, Role.ADMIN, "cli:root")
    page = open_page("people", part="Accounts")
    give_role(page, ANN, Role.NONE)
    assert text_with(page, ANN, "only admin", cls="jb-note")
    give_role(page, "bob", Role.LEAD)
    assert text_with(page, "e-mail address", cls="jb-note")
    assert roles(sqlite_store) == {ANN: "admin"}


def test_events_are_listed_newest_first_with_details_in_words(open_page, sqlite_store):
    with sqlite_store.writing() as connection:
        for number in (1, 2):
            details = {"people": ["Jon", "Mara"], "settings": {}, "item": number}
            record_event(connection, "set_setting", "Ada", details=details)
    listed = open_page("events").dataframe[0].value
    assert listed["Details"][:2].tolist() == [f"people Jon, Mara · item {each}" for each in (2, 1)]
    assert set(listed["What"][:2]) == {"set setting"}


def test_a_version_is_retired_and_taken_back(open_page):
    page = open_page("versions")
    click(page, "version_retire")
    assert "retired by Mara" in markup(page)
    listed = table(page, "Judge version")
    assert listed["Judge version"][0].endswith("(retired)")
    assert page.button(key="version_retire").label == "Restore version"
    click(page, "version_retire")
    assert "retired by" not in markup(page)
