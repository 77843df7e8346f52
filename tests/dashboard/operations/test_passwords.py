"""The pages of passwords under attack: guesses, other servers' pages, prepared cookies, and odd forms."""

import pytest
from argon2 import PasswordHasher
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.testclient import TestClient
from streamlit import config

from judgeboard.accounts import accounts
from judgeboard.accounts.accounts import invite, person_of_link, person_of_session, set_password
from judgeboard.domain import Role
from judgeboard.people.roster import remove_person
from judgeboard.store.api_keys import token_hash
from judgeboard_dashboard import passwords, sign_in
from judgeboard_dashboard.passwords import COOKIE, FORM, Passwords, Tries
from judgeboard_dashboard.server import OwnCookies, SafeHeaders
from judgeboard_dashboard.sign_in import configured_sign_in
from stored_rows import read

ROOT = "cli:root"
PASSWORD = "correct horse battery"
ANN = {"name": "ann", "password": PASSWORD}
BOTH = {"password": PASSWORD, "again": PASSWORD}


@pytest.fixture(autouse=True)
def unread():
    """Forget the settings of another test."""
    cached = configured_sign_in, sign_in.trusted_proxies, accounts._nobodys_hash
    for each in cached:
        each.cache_clear()
    yield
    for each in cached:
        each.cache_clear()


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """Let Argon2 take little: a tenth of a second for each password is not what is tested here."""
    hasher = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
    monkeypatch.setattr(accounts, "_hasher", lambda: hasher)


@pytest.fixture
def way():
    return Passwords()


@pytest.fixture
def browse(page_store, way):
    """Returns a browser at an address, with an empty jar of cookies."""
    hosts = config.get_option("server.allowedHosts")
    config.set_option("server.allowedHosts", ["Judge.test"])
    set_password(page_store, invite(page_store, "ann", Role.LEAD, ROOT), PASSWORD)
    app = Starlette(
        routes=way.routes(), middleware=[Middleware(SafeHeaders), Middleware(OwnCookies)]
    )

    def opened(address="203.0.113.9", url="http://judge.test:8501"):
        return TestClient(app, url, follow_redirects=False, client=(address, 4711))

    yield opened
    config.set_option("server.allowedHosts", hosts)


def tries(browser, name, password="wrong", **options):
    answer = browser.post(FORM, data={"name": name, "password": password}, headers=options)
    return answer.status_code


def enters(browser, **options):
    return tries(browser, **ANN, **options)


def cookie_of(browser):
    return browser.cookies[f"{COOKIE}_8501"]


def person_with(store, token):
    """Return whose session has this cookie."""
    return read(store, person_of_session, token_hash(token))


@pytest.fixture
def frozen(monkeypatch):
    clock = [1_000.0]
    monkeypatch.setattr(passwords.time, "monotonic", lambda: clock[0])
    return clock


def test_a_link_is_not_used_up_by_looking_and_begins_a_session_when_the_password_is_set(
    browse, page_store
):
    token = invite(page_store, "bob <b>", None, ROOT)
    browser, link = browse(), f"/account/link/{token}"
    for _ in range(2):
        page = browser.get(link)
        assert page.status_code == 200
        assert "bob &lt;b&gt;" in page.text
        assert "<script" not in page.text
        assert page.headers["cache-control"] == "no-store"
        # The browser's request for an icon, say, does not name the link to the log of a proxy.
        assert '<meta name="referrer" content="strict-origin">' in page.text
    for password, again in (("short", "short"), (PASSWORD, "another"), (PASSWORD, "")):
        answer = browser.post(link, data={"password": password, "again": again})
        assert answer.status_code == 400
        assert "set-cookie" not in answer.headers
    answer = browser.post(link, data=BOTH)
    assert answer.status_code == 303
    person = person_with(page_store, cookie_of(browser))
    assert person.name == "bob <b>"
    assert browser.get(link).status_code == 404
    assert browser.post(link, data=BOTH).status_code == 404


def test_the_cookie_is_for_this_server_alone(browse):
    browser = browse()
    answer = browser.post(FORM, data={"name": "ANN", "password": PASSWORD})
    cookie = answer.headers["set-cookie"]
    assert cookie.startswith(f"{COOKIE}_8501=")
    assert {"HttpOnly", "SameSite=lax", "Path=/"} <= set(cookie.split("; "))
    assert "Secure" not in cookie
    for headers, url in (
        ({"x-forwarded-proto": "https"}, "http://judge.test"),
        ({}, "https://judge.test"),
    ):
        answer = browse(url=url).post(FORM, data=ANN, headers=headers)
        assert "Secure" in answer.headers["set-cookie"]
        assert answer.headers["set-cookie"].startswith(f"{COOKIE}=")


def test_below_a_path_the_cookie_is_for_this_path(browse, monkeypatch):
    monkeypatch.setenv("JUDGEBOARD_URL", "https://tools.example.org/judgeboard")
    answer = browse().post(f"{FORM}?page=/item%3Fflag=3", data=ANN)
    assert {"Path=/judgeboard", "Secure"} <= set(answer.headers["set-cookie"].split("; "))
    # A browser at /judgeboard/account/sign-in goes to /judgeboard/item.
    assert answer.headers["location"] == "../item?flag=3"


@pytest.mark.parametrize(
    "page", ["//evil.test", "https://evil.test", "/\\evil.test", "/../..//evil.test", "/a\r\nx: y"]
)
def test_sign_in_never_ends_at_another_server(browse, page):
    answer = browse().post(FORM, params={"page": page}, data=ANN)
    assert answer.status_code == 303
    assert answer.headers["location"] == "../"


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.test",
        "null",
        "http://judge.test",
        "http://judge.test:8502",
        "https://judge.test:8501.evil.test",
        "",
    ],
)
def test_pages_of_other_servers_sign_nobody_in_and_set_no_password(browse, page_store, origin):
    browser, token = browse(), invite(page_store, "bob", None, ROOT)
    assert enters(browser, origin=origin) == 403
    answer = browser.post(
        f"/account/link/{token}",
        data=BOTH,
        headers={"origin": origin},
    )
    assert answer.status_code == 403
    assert not browser.cookies
    assert read(page_store, person_of_link, token) is not None
    assert enters(browser, origin="http://judge.test:8501") == 303
    # A name that a page of another server has made point to this server.
    assert enters(browse(url="http://evil.test"), origin="http://evil.test") == 403


def test_a_prepared_token_is_never_the_token_of_a_session(browse, page_store):
    browser = browse()
    browser.cookies.set(f"{COOKIE}_8501", "prepared", domain="judge.test")
    assert enters(browser) == 303
    first = cookie_of(browser)
    assert first != "prepared"
    assert person_with(page_store, "prepared") is None
    assert enters(browser) == 303
    assert person_with(page_store, first) is None


def test_guesses_are_limited_and_the_page_tells_no_name(browse, frozen):
    told = []
    for number, name in enumerate(("ann", "nobody")):
        browser = browse(f"203.0.113.{number}")
        told.append([browser.post(FORM, data={"name": name, "password": "x"}) for _ in range(14)])
    for known, unknown in zip(*told, strict=True):
        assert known.status_code == unknown.status_code
        assert known.text.replace("ann", "nobody") == unknown.text
    assert [each.status_code for each in told[0]] == [403] * 10 + [429] * 4
    # The right password is refused as well: the limit tells nothing of the guess.
    assert enters(browse("203.0.113.0")) == 429
    frozen[0] += 60
    assert enters(browse("203.0.113.0")) == 303


def test_a_stranger_at_one_address_does_not_lock_a_person_out(browse, frozen):
    for _ in range(30):  # half an hour
        frozen[0] += 60
        for _ in range(5):
            tries(browse("203.0.113.66"), "ann")
    assert enters(browse("203.0.113.9")) == 303


def test_strangers_at_many_addresses_get_few_guesses_and_do_not_lock_a_known_browser_out(
    browse, frozen, page_store
):
    known = browse("203.0.113.9")
    assert enters(known) == 303
    answers = [tries(browse(f"198.51.{part}.7"), "ann") for part in range(100)]
    assert answers.count(403) == 20
    assert enters(browse("203.0.113.9")) == 429
    assert enters(known) == 303
    # A copy of the cookie of a known browser has few guesses, too, and none for other people.
    thief = browse("198.51.100.8")
    thief.cookies.update(known.cookies)
    assert [tries(thief, "ann") for _ in range(12)].count(403) == 10
    set_password(page_store, invite(page_store, "bob", None, ROOT), PASSWORD)
    for part in range(100):
        tries(browse(f"198.51.{part}.8"), "bob")
    assert tries(thief, "bob", PASSWORD) == 429


def test_addresses_of_one_network_of_ipv6_are_one_address(browse, frozen):
    answers = [tries(browse(f"2001:db8:1:2::{part:x}"), f"name {part}") for part in range(30)]
    assert answers.count(403) == 10


def test_addresses_of_ipv4_that_are_written_as_ipv6_are_several_addresses(browse, frozen):
    stranger = [tries(browse("::ffff:203.0.113.66"), f"name {part}") for part in range(30)]
    assert stranger.count(403) == 10
    assert tries(browse("203.0.113.66"), "name") == 429
    assert enters(browse("::ffff:203.0.113.9")) == 303


def test_an_address_that_nobody_but_a_trusted_proxy_tells_does_not_count(
    browse, frozen, monkeypatch
):
    forged = [
        tries(browse(), f"name {part}", **{"x-forwarded-for": f"198.51.100.{part}"})
        for part in range(30)
    ]
    assert forged.count(403) == 10
    monkeypatch.setenv("JUDGEBOARD_TRUSTED_PROXIES", "10.0.0.0/8")
    sign_in.trusted_proxies.cache_clear()
    # The client may send such a header, to which the proxy adds the real address.
    through_proxy = [
        tries(browse("10.0.0.5"), f"name {part}", **{"x-forwarded-for": f"192.0.2.{part}, {real}"})
        for part in range(30)
        for real in ("198.51.100.1", "198.51.100.2, 10.0.0.6")
    ]
    assert through_proxy.count(403) == 20


def test_made_up_names_fill_no_memory_and_free_no_account(frozen):
    limited = Tries(2, 60, most=100)
    assert [limited.take("ann") for _ in range(3)] == [True, True, False]
    for number in range(1_000):
        assert limited.take(number)
    assert len(limited._free_at) == 100
    frozen[0] += 120
    assert [limited.take(999) for _ in range(3)] == [True, True, False]


def test_long_and_odd_forms_are_refused(browse):
    browser = browse()
    assert tries(browser, "ann", "x" * 10_000) == 413
    assert tries(browser, "\x00\ud7ff" * 100, "\u202e" * 100) == 403
    answer = browser.post(FORM, content=b"&".join(b"%d=1" % number for number in range(500)))
    assert answer.status_code == 400
    for content in (b"", b"name=ann", b"name=ann&name=bob&password", b"\xff\xfe=%ff", b"{}"):
        assert browser.post(FORM, content=content).status_code == 403
    assert browser.put(FORM).status_code == 405


def test_a_removed_person_and_one_with_a_link_alone_do_not_sign_in(browse, page_store):
    invite(page_store, "bob", None, ROOT)
    browser = browse()
    assert tries(browser, "bob", "") == 403
    assert enters(browser) == 303
    remove_person(page_store, "ann", ROOT)
    assert enters(browser) == 403
    assert person_with(page_store, cookie_of(browser)) is None


def test_sign_in_is_on_as_soon_as_somebody_is_invited_and_stays_on(page_store, way, frozen):
    assert not way.is_on()
    invite(page_store, "ann", None, ROOT)
    frozen[0] += 1
    assert way.is_on()
    remove_person(page_store, "ann", ROOT)
    frozen[0] += 10
    assert way.is_on()


def test_only_so_many_passwords_are_checked_at_a_time(browse, way):
    way._waiting = passwords.MOST_WAITING
    assert enters(browse()) == 429
    way._waiting = 0
    assert enters(browse()) == 303


def test_a_cookie_of_another_port_is_not_of_this_server(browse, way):
    scope = {
        "type": "http",
        "headers": [
            (b"host", b"localhost:8502"),
            (b"cookie", f"{COOKIE}_8501=one; {COOKIE}=two".encode()),
        ],
    }
    assert way.credential(scope) is None
    assert sign_in.own_cookie("name", "localhost:8502") == "name_8502"
    for host in ("localhost", "[::1]", "", "a:b", "a:123456"):
        assert sign_in.own_cookie("name", host) == "name"
