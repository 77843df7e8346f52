"""People sign in with a real provider: who was added comes in, with their role and no more, as long as it is theirs."""

import re
from itertools import chain

import httpx
import pytest
from playwright.sync_api import expect

from browser_windows import Windows
from judgeboard.domain import Role
from judgeboard.people.roster import add_person, change_role
from judgeboard.store.events import EventFilter, latest_events
from oidc_provider import CLIENT_SECRET, COOKIE_SECRET, identity_provider, write_secrets
from page_rows import fill_pages
from page_session import page_session
from page_state import visit
from prefix_proxy import prefix_proxy
from served import free_port, serving

ANN, BOB, EVE = (f"{name}@example.org" for name in ("ann", "bob", "eve"))
PEOPLE = {
    "ann": {"email": "Ann@Example.org", "email_verified": True},
    "bob": {"email": BOB, "email_verified": True},
    "eve": {"email": EVE, "email_verified": True},
}


class Site:
    """A server where people sign in, and browsers that do."""

    def __init__(self, windows, store):
        self.windows, self.url, self.store = windows, windows.url, store
        self.contexts = []
        self.frames = []

    def browse(self):
        """Open a browser of its own; what the server sends it is kept."""
        context = self.windows.take()
        self.contexts.append(context)
        page = context.new_page()
        page.set_viewport_size({"width": 1440, "height": 900})
        page.set_default_timeout(60_000)
        page.on("websocket", lambda socket: socket.on("framereceived", self._keep))
        return page

    def sign_in(self, name, path="/"):
        """Sign in by the provider's own form."""
        page = self.browse()
        page.goto(path)
        page.get_by_role("button", name="Sign in").click()
        page.locator("input[name=sub]").fill(name)
        page.get_by_role("button", name="Authorize").click()
        page.wait_for_url(f"{self.url}/**")
        return page

    def events(self, **given):
        with self.store.reading() as connection:
            return latest_events(connection, EventFilter(**given), limit=100)

    def close(self):
        for context in self.contexts:
            self.windows.give_back(context)

    def _keep(self, payload):
        self.frames.append(payload if isinstance(payload, bytes) else payload.encode())


@pytest.fixture(scope="module")
def provider():
    with identity_provider(PEOPLE) as address:
        yield address


@pytest.fixture(scope="module")
def served(provider, new_store, tmp_path_factory):
    folder, store = tmp_path_factory.mktemp("signing_in"), new_store()
    fill_pages(store)
    server = serving(
        str(store.engine.url.database), HOME=str(folder), JUDGEBOARD_ADMIN="ann@EXAMPLE.org"
    )
    write_secrets(folder, provider, f"http://localhost:{server.port}")
    with server as url:
        yield url, store


@pytest.fixture(scope="module")
def served_below_a_path(provider, served, tmp_path_factory):
    """The same database behind a proxy, at the path /judgeboard of its host."""
    folder, store = tmp_path_factory.mktemp("below_a_path"), served[1]
    server = serving(str(store.engine.url.database), HOME=str(folder), JUDGEBOARD_ADMIN=ANN)
    port = free_port()
    write_secrets(folder, provider, f"http://localhost:{port}/judgeboard")
    with server, prefix_proxy("/judgeboard", server.port, port) as url:
        yield url


@pytest.fixture(scope="module")
def windows(browser, served):
    opened = Windows(browser, served[0])
    yield opened
    opened.close()


@pytest.fixture
def site(windows, served):
    opened = Site(windows, served[1])
    yield opened
    opened.close()


def test_whom_nobody_added_gets_no_page_and_nothing_of_the_log(site):
    page = site.sign_in("eve", "/responses")
    expect(page.get_by_text(f"{EVE} may not sign in here yet")).to_be_visible()
    expect(page.get_by_text("An admin can add you")).to_be_visible()
    expect(page).to_have_url(f"{site.url}/responses")
    with site.store.reading() as connection:
        texts = connection.exec_driver_sql(
            "SELECT query FROM response UNION SELECT answer FROM response"
        )
        marks = [text[:40].encode() for (text,) in texts if text and len(text) > 12]
    assert marks
    assert not [mark for mark in marks if any(mark in frame for frame in site.frames)]
    assert {
        (event.actor, event.details["action"]) for event in site.events(kind="refused", actor=EVE)
    } == {(EVE, "enter")}


def test_sign_in_ends_at_the_answer_where_it_began_and_no_secret_of_the_provider_is_sent(site):
    with site.store.reading() as connection:
        response_id = connection.exec_driver_sql(
            "SELECT min(response_id) FROM flag WHERE state = 'open'"
        ).scalar_one()
    page = site.sign_in("ann", f"/item?response={response_id}")
    expect(page.get_by_role("button", name="Confirm")).to_be_visible()
    expect(page).to_have_url(re.compile(rf"^{site.url}/item\?.*response={response_id}\b"))
    visit(page, "/sources")
    page.locator("input[type=file]").set_input_files(
        {"name": "more.csv", "mimeType": "text/csv", "buffer": b"id,question,answer\n1,Why?,So.\n"}
    )
    expect(page.get_by_role("button", name="Import", exact=True)).to_be_visible()
    with page_session(site.url, cookies_of(page)) as session:
        for path in ("/people?part=Accounts", "/events"):
            session.open(path)
            assert ANN.encode() in b"".join(session.sent[path])
    sent = b" ".join([*site.frames, *chain.from_iterable(session.sent.values())])
    told = "".join(str(event.details) for event in site.events())
    for secret in (COOKIE_SECRET, CLIENT_SECRET, "openid-configuration"):
        assert secret not in told
        assert secret.encode() not in sent


def test_who_has_not_signed_in_uploads_nothing(site):
    with page_session(site.url, {}) as session, httpx.Client(base_url=site.url) as client:
        session.open("/sources")
        client.get("/_stcore/host-config")
        client.get("/_stcore/health")
        headers = {"X-Xsrftoken": client.cookies.get("_streamlit_xsrf", "")}
        files = {"file": ("a.csv", b"x" * 1_000_000)}
        answer = client.put(
            f"/_stcore/upload_file/{session.session_id}/file", files=files, headers=headers
        )
    assert answer.status_code == 403
    assert "sign in" in answer.text


def test_a_role_counts_at_once_and_signing_out_ends_also_a_copy_of_the_cookie(site):
    add_person(site.store, BOB, Role.REVIEWER, "cli:root")
    page = site.sign_in("bob", "/settings")
    refused = (
        "imports, keys, people and events is for auditors, leads and admins; you are a reviewer"
    )
    expect(page.get_by_role("alert").filter(has_text=refused)).to_be_visible()
    menu = page.get_by_test_id("stToolbar")
    for title in ("Data & settings", "Runs & alerts", "Overview"):
        expect(menu).not_to_contain_text(title)
    details = [event.details for event in site.events(kind="refused", actor=BOB)]
    assert {(each["action"], each["role"]) for each in details} == {("see_managed", "reviewer")}
    change_role(site.store, BOB, Role.LEAD, "cli:root")
    visit(page, "/settings")
    expect(page.get_by_role("button", name=re.compile("^Apply the rules"))).to_be_visible()
    expect(menu).to_contain_text("Data & settings")
    copied = cookies_of(page)
    with page_session(site.url, copied) as open_since:
        open_since.open("/item")
        page.get_by_role("button", name=BOB).click()
        expect(
            page.get_by_role("button", name="End session")
        ).to_be_visible()  # the provider's own page
        open_since.open("/open_flags")
    with page_session(site.url, copied) as opened_after:
        opened_after.open("/open_flags")
    assert b"Confirm" in b"".join(open_since.sent["/item"])
    for thief in (open_since, opened_after):
        assert b"You signed out. Sign in again." in b"".join(thief.sent["/open_flags"])
    page.get_by_role("button", name="End session").click()
    page.wait_for_url(f"{site.url}/**")
    expect(page.get_by_role("button", name="Sign in")).to_be_visible()
    expect(page.get_by_text("You signed out")).to_have_count(0)  # the next person is asked


def test_below_a_path_people_sign_in_and_out_and_stay_below_it(
    browser, served, served_below_a_path
):
    windows = Windows(browser, served_below_a_path)
    site = Site(windows, served[1])
    page = site.sign_in("ann", f"{site.url}/open_flags?text=plain")
    expect(page.get_by_role("button", name=ANN)).to_be_visible()
    expect(page).to_have_url(f"{site.url}/open_flags?text=plain")
    assert {cookie["path"] for cookie in site.contexts[0].cookies()} == {"/judgeboard"}
    page.get_by_role("button", name=ANN).click()
    page.get_by_role("button", name="End session").click()  # the provider's own page
    page.wait_for_url(f"{site.url}/")
    expect(page.get_by_role("button", name="Sign in")).to_be_visible()
    site.close()
    windows.close()


def cookies_of(page):
    return {cookie["name"]: cookie["value"] for cookie in page.context.cookies()}
