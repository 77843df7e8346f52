"""People sign in with a real provider: who was added comes in, with their role and no more, as long as it is theirs."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.sync.client import connect

from browser_windows import Windows
from judgeboard.domain import Role
from judgeboard.people.roster import add_person, remove_person
from judgeboard.store.engine import Store
from judgeboard.store.events import EventFilter, StoredEvent, latest_events
from judgeboard.store.opening import open_store
from oidc_provider import CLIENT_SECRET, COOKIE_SECRET, identity_provider, write_secrets
from page_rows import fill_pages
from page_state import idle, visit
from prefix_proxy import prefix_proxy
from served import free_port, serving

ANN, BOB, EVE, MAL = (f"{name}@example.org" for name in ("ann", "bob", "eve", "mal"))
PEOPLE = {
    "ann": {"email": "Ann@Example.org", "email_verified": True},
    "bob": {"email": BOB, "email_verified": True},
    "eve": {"email": EVE, "email_verified": True},
    "mal": {"email": ANN, "email_verified": False},
}


class Site:
    """A server where people sign in, and browsers that do."""

    def __init__(self, windows: Windows, store: Store) -> None:
        self.windows, self.url, self.store = windows, windows.url, store
        self.contexts: list[BrowserContext] = []
        self.frames: list[bytes] = []

    def browse(self) -> Page:
        """Open a browser of its own; what the server sends it is kept."""
        context = self.windows.take()
        self.contexts.append(context)
        page = context.new_page()
        page.set_viewport_size({"width": 1440, "height": 900})
        page.set_default_timeout(60_000)
        page.on("websocket", lambda socket: socket.on("framereceived", self._keep))
        return page

    def sign_in(self, name: str, path: str = "/") -> Page:
        """Sign in by the provider's own form."""
        page = self.browse()
        page.goto(path)
        page.get_by_role("button", name="Sign in").click()
        page.locator("input[name=sub]").fill(name)
        page.get_by_role("button", name="Authorize").click()
        page.wait_for_url(f"{self.url}/**")
        return page

    def events(self, **given: str) -> tuple[StoredEvent, ...]:
        with self.store.reading() as connection:
            return latest_events(connection, EventFilter(**given), limit=100)

    def close(self) -> None:
        for context in self.contexts:
            self.windows.give_back(context)

    def _keep(self, payload: str | bytes) -> None:
        self.frames.append(payload if isinstance(payload, bytes) else payload.encode())


@pytest.fixture(scope="module")
def served(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Store]]:
    folder = tmp_path_factory.mktemp("signing_in")
    shutil.copyfile(sqlite_template, folder / "site.db")
    store = open_store(folder / "site.db")
    fill_pages(store)
    with identity_provider(PEOPLE) as provider:
        server = serving(folder / "site.db", HOME=str(folder), JUDGEBOARD_ADMIN="ann@EXAMPLE.org")
        write_secrets(folder, provider, f"http://localhost:{server.port}")
        with server as url:
            yield url, store
    store.close()


@pytest.fixture(scope="module")
def served_below_a_path(served: tuple[str, Store], tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The same database behind a proxy, at the path /judgeboard of its host."""
    folder, store = tmp_path_factory.mktemp("below_a_path"), served[1]
    with identity_provider(PEOPLE) as provider:
        server = serving(str(store.engine.url.database), HOME=str(folder), JUDGEBOARD_ADMIN=ANN)
        port = free_port()
        write_secrets(folder, provider, f"http://localhost:{port}/judgeboard")
        with server, prefix_proxy("/judgeboard", server.port, port) as url:
            yield url


@pytest.fixture(scope="module")
def windows(browser: Browser, served: tuple[str, Store]) -> Iterator[Windows]:
    opened = Windows(browser, served[0])
    yield opened
    opened.close()


@pytest.fixture
def site(windows: Windows, served: tuple[str, Store]) -> Iterator[Site]:
    opened = Site(windows, served[1])
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def admin(windows: Windows, served: tuple[str, Store]) -> Iterator[Page]:
    """The admin's browser, signed in for all tests."""
    opened = Site(windows, served[1])
    page = opened.sign_in("ann")
    expect(page.get_by_role("heading", name="Overview")).to_be_visible()
    idle(page)
    yield page
    opened.close()


def test_whom_nobody_added_gets_no_page_and_nothing_of_the_log(site: Site) -> None:
    page = site.sign_in("eve", "/responses")
    expect(page.get_by_text(f"{EVE} may not sign in here yet")).to_be_visible()
    page.goto("/responses")
    expect(page.get_by_text("An admin can add you")).to_be_visible()
    expect(page.get_by_test_id("stDataFrame")).to_have_count(0)
    with site.store.reading() as connection:
        texts = connection.exec_driver_sql("SELECT query FROM response UNION SELECT answer FROM response")
        marks = [text[:40].encode() for (text,) in texts if text and len(text) > 12]
    assert marks
    assert not [mark for mark in marks if any(mark in frame for frame in site.frames)]
    assert {(event.actor, event.details["action"]) for event in site.events(kind="refused", actor=EVE)} == {
        (EVE, "enter")
    }


def test_an_address_that_nobody_verified_is_nobodys(site: Site) -> None:
    page = site.sign_in("mal")  # with the address of the admin
    expect(page.get_by_text("has not verified")).to_be_visible()
    assert site.events(kind="refused", actor="not verified")
    assert not site.events(kind="sign_in", actor=ANN)


def test_a_reviewer_is_refused_what_a_lead_may_until_an_admin_makes_them_one_and_removal_counts_at_once(
    site: Site, admin: Page
) -> None:
    visit(admin, "/accounts")
    expect(admin.get_by_label("E-mail address")).to_be_visible()
    idle(admin)
    admin.get_by_label("E-mail address").fill("Bob@example.org")
    admin.get_by_label("E-mail address").press("Enter")
    admin.get_by_role("button", name="Add person", exact=True).click()
    expect(admin.get_by_text(f"{BOB} may sign in, as reviewer.")).to_be_visible()

    page = site.sign_in("bob")
    expect(page.get_by_role("heading", name="Overview")).to_be_visible()
    menu = page.get_by_test_id("stToolbar")
    for title in ("Settings", "Judge answers"):
        expect(menu).not_to_contain_text(title)
    said = "imports, keys, people and events is for auditors, leads and admins; you are a reviewer"
    for path in ("/settings", "/events", "/rejudge?query_type=QA", "/import"):
        visit(page, path)
        expect(page.get_by_role("alert").filter(has_text=said)).to_be_visible()
    refused = [event.details for event in site.events(kind="refused", actor=BOB)]
    assert {details["action"] for details in refused} == {"see_managed"}
    assert {details["role"] for details in refused} == {"reviewer"}

    admin.get_by_test_id("stSelectbox").filter(has_text="New role").click()
    admin.get_by_role("option", name="Lead").click()
    admin.get_by_role("button", name="Change role").click()
    expect(admin.get_by_text(f"{BOB} is now lead.")).to_be_visible()
    visit(page, "/settings")
    expect(page.get_by_role("button", name=re.compile("^Apply the rules"))).to_be_visible()
    expect(page.get_by_text("Database in use")).to_have_count(0)

    remove_person(site.store, BOB, "cli:root")
    page.get_by_role("button", name=re.compile("^Apply the rules")).click()
    expect(page.get_by_text(f"{BOB} may not sign in here yet")).to_be_visible()
    assert not site.events(kind="apply_rules", actor=BOB)
    assert [event.kind for event in site.events(actor=ANN)][:2] == ["change_role", "add_person"]


def test_only_who_may_import_uploads(site: Site, admin: Page) -> None:
    run = BackMsg()
    run.rerun_script.query_string = ""
    with connect(f"{site.url.replace('http', 'ws')}/_stcore/stream", max_size=None) as socket:
        socket.send(run.SerializeToString())
        messages = iter(lambda: ForwardMsg.FromString(socket.recv()), None)
        begun = next(message for message in messages if message.HasField("new_session"))
        session_id = begun.new_session.initialize.session_id
        with httpx.Client(base_url=site.url) as client:
            client.get("/_stcore/host-config")
            client.get("/_stcore/health")
            headers = {"X-Xsrftoken": client.cookies.get("_streamlit_xsrf", "")}
            files = {"file": ("a.csv", b"x" * 1_000_000)}
            answer = client.put(f"/_stcore/upload_file/{session_id}/file", files=files, headers=headers)
    assert answer.status_code == 403
    assert "sign in, then open the page Import" in answer.text
    visit(admin, "/import")
    admin.locator("input[type=file]").set_input_files(
        {"name": "more.csv", "mimeType": "text/csv", "buffer": b"id,question,answer\n1,Why?,So.\n"}
    )
    expect(admin.get_by_role("button", name="Import 1 row")).to_be_visible()


def test_signing_out_ends_all_tabs_and_a_copy_of_the_cookie_and_the_next_person_is_asked(site: Site) -> None:
    add_person(site.store, BOB, Role.LEAD, "cli:root")
    page = site.sign_in("bob", "/settings")
    expect(page.get_by_role("button", name=BOB)).to_be_visible()
    [context] = site.contexts
    cookies = context.cookies()
    item = context.new_page()
    item.goto("/item")
    expect(item.get_by_role("button", name="Confirm")).to_be_visible()
    idle(item)
    page.get_by_role("button", name=BOB).click()
    expect(page.get_by_role("button", name="End session")).to_be_visible()  # the provider's own page
    item.get_by_role("button", name="Confirm").click()
    expect(item.get_by_text("You signed out. Sign in again.")).to_be_visible()
    assert not site.events(kind="decide", actor=BOB)
    thief = site.browse()
    site.contexts[-1].add_cookies(cookies)
    thief.goto("/open_flags")
    expect(thief.get_by_text("You signed out. Sign in again.")).to_be_visible()
    page.get_by_role("button", name="End session").click()
    page.wait_for_url(f"{site.url}/**")
    expect(page.get_by_role("button", name="Sign in")).to_be_visible()
    page.goto("/settings")
    expect(page.get_by_role("button", name="Sign in")).to_be_visible()


def test_sign_in_ends_at_the_answer_where_it_began_and_no_secret_of_the_provider_reaches_a_page_or_an_event(
    site: Site,
) -> None:
    response_id = _some_response(site.store)
    page = site.sign_in("ann", f"/item?response={response_id}")
    expect(page.get_by_role("button", name="Confirm")).to_be_visible()
    expect(page).to_have_url(re.compile(rf"^{site.url}/item\?.*response={response_id}\b"))
    for path in ("/settings", "/accounts", "/events"):
        visit(page, path)
        expect(page.get_by_role("button", name=ANN)).to_be_visible()
    told = "".join(str(event.details) for event in site.events())
    for secret in (COOKIE_SECRET, CLIENT_SECRET, "openid-configuration"):
        assert secret not in told
        assert not [frame for frame in site.frames if secret.encode() in frame]


def test_below_a_path_people_sign_in_and_out_and_stay_below_it(
    browser: Browser, served: tuple[str, Store], served_below_a_path: str
) -> None:
    windows, response_id = Windows(browser, served_below_a_path), _some_response(served[1])
    site = Site(windows, served[1])
    page = site.sign_in("ann", f"{site.url}/item?response={response_id}")
    expect(page.get_by_role("button", name="Confirm")).to_be_visible()
    expect(page).to_have_url(re.compile(rf"^{site.url}/item\?.*response={response_id}\b"))
    assert {cookie["path"] for cookie in site.contexts[0].cookies()} == {"/judgeboard"}
    visit(page, f"{site.url}/queue")
    page.get_by_role("button", name=ANN).click()
    page.get_by_role("button", name="End session").click()  # the provider's own page
    page.wait_for_url(f"{site.url}/")
    expect(page.get_by_role("button", name="Sign in")).to_be_visible()
    site.close()
    windows.close()


def _some_response(store: Store) -> int:
    with store.reading() as connection:
        return int(connection.exec_driver_sql("SELECT min(response_id) FROM flag WHERE state = 'open'").scalar_one())
