"""Whether people sign in, and that nobody gets in by a mistake in how the server was set up."""

import shutil
import time
from pathlib import Path

import pytest
import streamlit as st
from sqlalchemy import select
from streamlit.testing.v1 import AppTest

from app_pages import button_labels, click, enter, keys, markup, press, shown, with_label
from judgeboard.domain import Action, Role
from judgeboard.errors import BadInput
from judgeboard.people.permissions import why_not
from judgeboard.people.roster import add_person, admit, change_role, ensure_reviewer, remove_person
from judgeboard.reviews.queues import create_queue
from judgeboard.runs.jobs import recent_jobs
from judgeboard.runs.judging_rules import add_rule
from judgeboard.store.events import EventFilter, latest_events
from judgeboard.store.opening import open_store
from judgeboard.store.queues import new_queue
from judgeboard.store.reviewers import find_reviewer
from judgeboard.store.tables import DRAFT, METADATA, Reviewer
from judgeboard_dashboard import server as serving
from judgeboard_dashboard import session
from judgeboard_dashboard import sign_in as seam
from judgeboard_dashboard.app import TABS
from judgeboard_dashboard.evidence import as_label
from judgeboard_dashboard.gate import MANAGED
from judgeboard_dashboard.review.drafts import draft_writer
from judgeboard_dashboard.sign_in import (
    SignIn,
    SignIns,
    checked_auth,
    configured_sign_in,
    provider_entry,
    sign_in,
)
from judgeboard_dashboard.widgets import texts
from oidc_provider import COOKIE_SECRET
from stored_rows import read, rows_of

ANN = "ann@example.org"
PROVIDER = {
    "client_id": "c",
    "client_secret": "s",
    "server_metadata_url": "https://id.example.org/.well-known/x",
}
SHARED = {"redirect_uri": "https://case.example.org/oauth2callback", "cookie_secret": COOKIE_SECRET}


@pytest.fixture(autouse=True)
def unread():
    """Forget what the secrets said in another test."""
    configured_sign_in.cache_clear()
    yield
    configured_sign_in.cache_clear()


@pytest.fixture
def who(monkeypatch):
    """What the provider says of who is there."""
    said = {}
    monkeypatch.setattr(seam, "claims", lambda: said)
    return said


@pytest.fixture
def open_signed_in(who):
    def opened(name, query=None, **secrets):
        app = AppTest.from_file(Path(seam.__file__).with_name("app.py"), default_timeout=60)
        app.secrets["auth"] = SHARED | PROVIDER | secrets
        for field, value in (query or {}).items():
            app.query_params[field] = value
        app.switch_page(f"views/{name}.py")
        return app.run()

    return opened


@pytest.fixture
def as_ann(page_rows, who, sqlite_store):
    """Adds Ann with a role, and signs her in."""

    def signed_in(role):
        add_person(sqlite_store, ANN, role, "cli:root")
        who.update(email=ANN, email_verified=True)

    return signed_in


def refusal(action, role):
    return why_not(action, Reviewer(origin="oidc", name=ANN, role=role))


def told(store, **only):
    """The newest events: what, and by whom."""
    events = read(store, latest_events, EventFilter(**only), limit=20)
    return [(event.kind, event.actor) for event in events]


def test_one_provider_and_several_by_name_are_asked():
    assert checked_auth(SHARED | PROVIDER) == SignIn(True, (None,), "case.example.org")
    several = checked_auth(SHARED | {"okta": PROVIDER, "google": PROVIDER})
    assert several.providers == ("google", "okta")
    assert several.fault is None


@pytest.mark.parametrize("path", ["", "/judgeboard", "/tools/judge-1"])
def test_the_path_of_the_redirect_address_is_that_of_the_pages(path):
    auth = checked_auth(
        SHARED | PROVIDER | {"redirect_uri": f"https://case.example.org{path}/oauth2callback"}
    )
    assert (auth.prefix, auth.host, auth.fault) == (path, "case.example.org", None)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"client_id": ""}, "client_id, client_secret, server_metadata_url"),
        ({"server_metadata_url": None}, "server_metadata_url"),
        ({"my_okta": PROVIDER}, "not contain an underscore"),
        ({"redirect_uri": "https://case.example.org/"}, "/oauth2callback"),
        *(
            ({"redirect_uri": f"{place}/oauth2callback"}, "the address of this server")
            for place in (
                "case.example.org",
                "https://case.example.org/",
                "https://case.example.org/?to=",
            )
        ),
        ({"cookie_secret": "guess me"}, "32 random characters"),
    ],
)
def test_what_would_not_keep_people_out_is_a_fault_that_names_no_secret(changes, said):
    fault = checked_auth(SHARED | PROVIDER | changes).fault
    assert fault is not None
    assert said in fault
    assert "example.org" not in fault
    assert "guess me" not in fault


def test_without_secrets_nobody_signs_in(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert sign_in() == SignIn(asked=False)


def test_an_admin_in_the_environment_and_nothing_to_sign_in_with_lets_nobody_in(
    monkeypatch, sqlite_store
):
    monkeypatch.setenv("JUDGEBOARD_ADMIN", ANN)
    with pytest.raises(BadInput, match=r"JUDGEBOARD_ADMIN.*secrets\.toml"):
        serving.serve(str(sqlite_store.engine.url.database))


def test_secrets_that_cannot_be_read_let_nobody_in(tmp_path):
    broken = tmp_path / "secrets.toml"
    broken.write_text("[auth\ncookie_secret = ")
    before = st.get_option("secrets.files")
    try:
        st.config.set_option("secrets.files", [str(broken)])
        assert "TOML" in str(sign_in().fault)
    finally:
        st.config.set_option("secrets.files", before)


@pytest.mark.parametrize("verified", [None, False, "false", 1, "yes"])
def test_an_address_that_is_not_verified_is_not_taken(verified):
    with pytest.raises(BadInput, match="verified"):
        provider_entry({"email": ANN, "email_verified": verified}).check()


@pytest.mark.parametrize("verified", [True, "true"])
def test_a_verified_address_is_taken_in_lower_case(verified):
    assert provider_entry({"email": "Ann@Example.org", "email_verified": verified}).check() == ANN


@pytest.mark.parametrize("seconds", [-1, 0])
def test_an_expired_token_is_asked_for_again_also_in_an_open_tab(
    as_ann, open_signed_in, who, sqlite_store, seconds
):
    as_ann(Role.REVIEWER)
    who.update(exp=int(time.time()) + 3600)
    page = open_signed_in("item")
    assert {"Confirm", "Dismiss"} <= set(button_labels(page))
    who.update(exp=int(time.time()) + seconds)
    with_label(page.button, "Confirm").click().run()
    assert button_labels(page) == ["Sign in"]
    assert not told(sqlite_store, kind="decide")


def test_a_change_in_a_tab_whose_sign_in_has_ended_is_not_made(
    as_ann, open_signed_in, who, sqlite_store
):
    as_ann(Role.ADMIN)
    page = open_signed_in("people", {"part": "Accounts"})
    enter(page, "people_names", ["bob@example.org"])
    who.update(exp=1)
    click(page, "people_save")
    assert not page.exception
    assert button_labels(page) == ["Sign in"]
    assert read(sqlite_store, find_reviewer, "oidc", "bob@example.org") is None


def test_signing_out_ends_the_other_tabs_and_no_other_sign_in(
    as_ann, open_signed_in, who, sqlite_store, monkeypatch
):
    monkeypatch.setattr(seam, "_ended", SignIns())
    as_ann(Role.REVIEWER)
    who.update(exp=time.time() + 3600, nonce="first")
    tab, other_tab = open_signed_in("open_flags"), open_signed_in("item")
    click(tab, "person")
    with_label(other_tab.button, "Confirm").click().run()
    assert "signed out" in markup(other_tab)
    assert button_labels(other_tab) == ["Sign in"]
    assert not told(sqlite_store, kind="decide")
    who.update(nonce="second")
    assert "signed out" not in markup(other_tab.run())


def test_a_sign_in_is_one_event_however_often_its_pages_are_loaded(
    page_rows, open_signed_in, who, sqlite_store
):
    who.update(email=ANN, email_verified=True, nonce="first")
    open_signed_in("item")
    assert told(sqlite_store).count(("refused", ANN)) == 1
    add_person(sqlite_store, ANN, Role.REVIEWER, "cli:root")
    for _ in range(3):
        assert not open_signed_in("item").exception
    assert told(sqlite_store).count(("sign_in", ANN)) == 1
    who.update(nonce="second")
    open_signed_in("item")
    assert told(sqlite_store).count(("sign_in", ANN)) == 2


def test_a_run_of_a_page_reads_who_signed_in_at_its_begin_and_not_for_each_part(
    as_ann, open_signed_in, monkeypatch
):
    as_ann(Role.LEAD)
    page = open_signed_in("overview")
    admitted = []

    def counted(store, address, *, arrives=False):
        admitted.append(address)
        return admit(store, address, arrives=arrives)

    monkeypatch.setattr(session, "admit", counted)
    assert len(page.run().button) > 5
    # Once a run, of which there are two; not for each view in the menu and each figure.
    assert 0 < len(admitted) <= 2


def test_the_record_of_ended_sign_ins_is_bounded(monkeypatch):
    clock = [1000.0]
    monkeypatch.setattr(seam.time, "time", lambda: clock[0])
    ended = SignIns(most=2)
    people = [{"sub": "ann", "nonce": str(number), "exp": 1100 + number} for number in range(4)]
    for person in people[:3]:
        ended.add(person)
    assert [person in ended for person in people] == [False, True, True, False]
    clock[0] = 1101.5
    ended.add(people[3])
    assert [person in ended for person in people] == [False, False, True, True]


def test_nobody_sees_a_page_before_signing_in(page_rows, open_signed_in):
    page = open_signed_in("open_flags", okta=PROVIDER)
    first, second = button_labels(page)
    assert first == "Sign in"
    assert second.endswith(" okta")
    assert not page.dataframe
    assert "An admin" in markup(page)


def test_a_fault_is_not_shown_to_who_comes(page_rows, open_signed_in):
    page = open_signed_in("open_flags", cookie_secret="short")
    assert "server's log" in shown(page)
    assert "cookie_secret" not in markup(page)
    assert not page.button


def test_whom_nobody_added_is_told_whom_to_ask_and_leaves_one_event_a_visit(
    page_rows, open_signed_in, who, sqlite_store
):
    who.update(email="eve@example.org", email_verified=True)
    page = open_signed_in("open_flags")
    assert "eve@example.org" in markup(page)
    assert keys(page) == ["sign_out"]
    assert not page.dataframe
    page.run()
    # Strangers must not fill the database.
    for verified in (True, False):
        who.update(email_verified=verified)
        for _ in range(3):
            open_signed_in("open_flags")
    assert told(sqlite_store).count(("refused", "eve@example.org")) == 1
    assert told(sqlite_store).count(("refused", "not verified")) == 1


def test_an_address_that_nobody_verified_is_nobodys(page_rows, open_signed_in, who, sqlite_store):
    add_person(sqlite_store, ANN, Role.ADMIN, "cli:root")
    who.update(email=ANN, email_verified=False)
    page = open_signed_in("open_flags")
    assert "not verified" in markup(page)
    assert keys(page) == ["sign_out"]
    assert not page.dataframe
    assert told(sqlite_store)[:2] == [("refused", "not verified"), ("add_person", "cli:root")]


@pytest.mark.parametrize("name", sorted(MANAGED))
def test_a_page_of_leads_refuses_a_reviewer_and_once_is_one_event(
    as_ann, open_signed_in, sqlite_store, name
):
    as_ann(Role.REVIEWER)
    page = open_signed_in(name)
    assert refusal(Action.SEE_MANAGED, Role.REVIEWER) in markup(page)
    page.run()
    assert told(sqlite_store).count(("refused", ANN)) == 1


@pytest.mark.parametrize("name", sorted(MANAGED))
def test_an_auditor_sees_a_page_of_leads_and_no_button_of_it_changes_anything(
    as_ann, open_signed_in, sqlite_store, name
):
    as_ann(Role.AUDITOR)
    page = open_signed_in(name)
    assert refusal(Action.SEE_MANAGED, Role.AUDITOR) not in markup(page)
    before = all_rows(sqlite_store)
    press_each(page, lambda: open_signed_in(name), {"person", "sign_out"})
    assert all_rows(sqlite_store) == before
    # No button is shown that is refused.
    assert not told(sqlite_store, kind="refused")


def press_each(page, opened, without):
    """Press each button that a page shows; the page is opened again where a press has led away or changed buttons."""
    shown = enabled_keys(page)
    for key in shown:
        if key in without:
            continue
        if enabled_keys(page) != shown:
            page = opened()
        click(page, key)
        assert not page.exception


def enabled_keys(page):
    return [each.key for each in page.button if not each.disabled]


STARTS = {
    "item": ["mark_supported", "mark_unsupported"],
    "open_flags": ["queue_start_button"],
    "overview": ["overview_start"],
    "queues": ["queue_review"],
}
"""The buttons of each page that start a review or are part of one."""


@pytest.fixture(scope="module")
def demo_of_auditor(demo, tmp_path_factory):
    """The demo with an auditor and one more queue, and its rows, which none of the auditor's presses changes."""
    path = tmp_path_factory.mktemp("auditor") / "demo.db"
    shutil.copyfile(demo, path)
    store = open_store(path)
    create_queue(store, new_queue("flagged"), by="cli:root")
    add_person(store, ANN, Role.AUDITOR, "cli:root")
    yield store, all_rows(store)
    store.close()


@pytest.mark.parametrize(
    ("name", "query"),
    [
        *((view, {}) for view in sorted(TABS.keys() - MANAGED)),
        ("queues", {"queue": "flagged"}),
        ("rejudge", {"response": "1"}),
    ],
)
def test_no_page_shows_an_auditor_a_button_that_is_refused(
    demo_of_auditor, open_signed_in, who, monkeypatch, name, query
):
    store, before = demo_of_auditor
    monkeypatch.setenv("JUDGEBOARD_DB", str(store.engine.url.database))
    who.update(email=ANN, email_verified=True)

    def opened():
        return open_signed_in(name, query)

    page = opened()
    reason = refusal(Action.REVIEW, Role.AUDITOR)
    for key in STARTS.get(name, []):
        assert page.button(key=key).disabled is True
        assert page.button(key=key).help == reason
    assert not [field for field in page.text_input if "omment" in field.label]
    press_each(page, opened, ("person", "theme_changed"))
    assert all_rows(store) == before
    assert not told(store, kind="refused")
    session.store().close()


def all_rows(store):
    """Return the rows of all tables but those that note visits, and changes of figures."""
    tables = [
        table
        for table in METADATA.sorted_tables
        if table.name not in {"change", "event", "visit", "reviewer"}
    ]
    with store.reading() as connection:
        return {table.name: connection.execute(select(table)).all() for table in tables}


def test_a_reviewer_sees_the_queue_without_what_leads_do(as_ann, open_signed_in, sqlite_store):
    as_ann(Role.REVIEWER)
    page = open_signed_in("open_flags")
    assert page.button(key="person").label == as_label(ANN)
    assert "open_flags_rejudge" not in keys(page)
    remove_person(sqlite_store, ANN, "cli:root")
    assert [button.key for button in page.run().button] == ["sign_out"]
    assert not page.dataframe


def test_a_press_of_somebody_who_was_removed_meanwhile_changes_nothing(
    as_ann, open_signed_in, sqlite_store
):
    as_ann(Role.LEAD)
    page = open_signed_in("settings")
    remove_person(sqlite_store, ANN, "cli:root")
    click(page, "settings_apply")
    assert keys(page) == ["sign_out"]
    assert ("apply_rules", ANN) not in told(sqlite_store)


def test_who_manages_people_is_told_how_an_annotator_becomes_a_person(
    as_ann, open_signed_in, sqlite_store
):
    as_ann(Role.ADMIN)
    page = open_signed_in("people", {"part": "Accounts"})
    assert "--annotator" not in markup(page)
    ensure_reviewer(sqlite_store, "import", "mara")
    assert "--annotator NAME" in markup(page.run())


def test_only_leads_are_told_of_test_items_and_repeats(as_ann, open_signed_in, sqlite_store):
    as_ann(Role.REVIEWER)
    create_queue(sqlite_store, new_queue("q", test_rate=0.05, repeat_rate=0.05), by="cli:root")
    page = open_signed_in("queues")
    assert "Reviews per item: 1" in markup(page)
    assert "Test items:" not in markup(page)
    change_role(sqlite_store, ANN, Role.LEAD, "cli:root")
    assert "Test items: 5 %" in markup(page.run())


def test_a_reviewer_has_an_answer_judged_by_a_known_judge_and_is_given_no_field_for_another(
    page_rows, as_ann, open_signed_in, sqlite_store
):
    as_ann(Role.REVIEWER)
    page = open_signed_in("rejudge", {"response": str(page_rows.responses["claims"])})
    assert not [each for each in page.selectbox if each.label == "Judge version"]
    assert "rejudge_start" not in enabled_keys(page)
    judge = {"kind": "rag", "name": "ours", "model": "m", "base_url": "http://localhost:9/v1"}
    add_rule(sqlite_store, "live", judge=judge, actor="Mara")
    page.run()
    judges = with_label(page.selectbox, "Judge version")
    assert [words.split(" · ") for words in judges.options] == [["ours v1", "m"]]
    assert not page.text_input
    click(page, "rejudge_start")
    (job,) = recent_jobs(sqlite_store)
    assert job.actor == ANN
    assert job.judge["name"] == "ours"
    assert job.judge["base_url"] == judge["base_url"]


@pytest.mark.parametrize("role", [Role.VIEWER, Role.REVIEWER, Role.LEAD, Role.ADMIN])
def test_only_an_admin_sees_the_address_of_the_database(
    as_ann, open_signed_in, sqlite_store, monkeypatch, tmp_path, role
):
    add_person(sqlite_store, "bob@example.org", Role.ADMIN, "cli:root")  # one stays
    as_ann(role)
    path = str(sqlite_store.engine.url.database)
    monkeypatch.setattr(texts, "DEFAULT_DATABASE", str(tmp_path / "other.db"))  # commands need --db
    page = open_signed_in("judges")

    def commands():
        return "".join(code.value for code in page.code) + markup(page)

    assert "judgeboard " in commands()
    assert (path in commands()) is (role is Role.ADMIN)
    Path(path).replace(f"{path}.away")
    session.store().close()
    page.run()
    assert path not in commands()


def test_a_viewer_sees_an_item_and_no_button_that_decides(
    as_ann, open_signed_in, who, sqlite_store
):
    as_ann(Role.VIEWER)
    page = open_signed_in("item")
    assert refusal(Action.REVIEW, Role.VIEWER) in markup(page)
    decisions = {"Confirm", "Dismiss", "Unsure"}
    assert not (decisions | {"Yes", "No", "Rejudge this answer"}) & set(button_labels(page))
    add_person(sqlite_store, "bob@example.org", Role.REVIEWER, "cli:root")
    who.update(email="bob@example.org")
    assert decisions <= set(button_labels(open_signed_in("item")))


def test_a_viewers_page_stores_no_draft(as_ann, open_signed_in, sqlite_store):
    as_ann(Role.REVIEWER)
    page = open_signed_in("item")
    change_role(sqlite_store, ANN, Role.VIEWER, "cli:root")
    press(page, "quality3_")
    assert refusal(Action.REVIEW, Role.VIEWER) in markup(page)
    draft_writer().flush()
    assert rows_of(sqlite_store, DRAFT) == []


def test_people_from_before_sign_in_are_offered_nowhere_and_an_admin_removes_them(
    as_ann, open_signed_in, sqlite_store
):
    as_ann(Role.ADMIN)
    queue = open_signed_in("queues", {"new": "1"})
    options = {option for field in queue.multiselect for option in field.options}
    assert ANN in options
    assert "Mara" not in options
    page = open_signed_in("people", {"part": "Accounts"})
    enter(page, "people_names", ["Mara (name on a page)"])
    for role in (Role.NONE, Role.REVIEWER):
        enter(page, "people_role", role)
        click(page, "people_save")
    assert told(sqlite_store)[:2] == [("add_person", ANN), ("remove_person", ANN)]


def test_without_a_button_to_sign_in_the_page_names_the_proxy(page_store, monkeypatch):
    monkeypatch.setenv("JUDGEBOARD_TRUSTED_HEADER", "X-Forwarded-User")
    monkeypatch.setenv("JUDGEBOARD_TRUSTED_PROXIES", "10.0.0.5")
    seam.trusted_proxies.cache_clear()
    app = AppTest.from_file(Path(seam.__file__).with_name("app.py"), default_timeout=60).run()
    seam.trusted_proxies.cache_clear()
    assert button_labels(app) == []
    assert "proxy" in shown(app)
