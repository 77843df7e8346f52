"""Sessions of a served page: what a stolen cookie, a forged header and an open tab are worth."""

import shutil
import socket
from urllib.parse import urlsplit

import httpx
import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg
from websockets.exceptions import ConnectionClosed

from judgeboard.accounts.accounts import begin_session, end_session, invite, set_password
from judgeboard.domain import Role
from judgeboard.people.roster import add_person, remove_person
from judgeboard.store.api_keys import token_hash
from judgeboard.store.events import EventFilter, latest_events
from judgeboard.store.opening import open_store
from judgeboard_dashboard.passwords import COOKIE, FORM
from judgeboard_dashboard.sign_in import own_cookie
from judging_log import address
from page_session import page_session
from served import serving
from stored_rows import read

ROOT = "cli:root"
PASSWORD = "correct horse battery"
PEOPLE = "/people?part=Accounts"
HEADER = "X-Forwarded-User"
IN, OUT = b"Manage people", b"Sign in"


@pytest.fixture(scope="module")
def database(sqlite_template, tmp_path_factory):
    path = tmp_path_factory.mktemp("served") / "judgeboard.db"
    shutil.copyfile(sqlite_template, path)
    store = open_store(path)
    for name in ("ann", "bob"):
        add_person(store, name, Role.ADMIN, ROOT, any_name=True)
    yield store
    store.close()


def account(store):
    return set_password(store, invite(store, "ann", None, ROOT), PASSWORD)


@pytest.fixture(scope="module")
def url(database):
    account(database)
    with serving(address(database)) as served:
        yield served


@pytest.fixture(scope="module")
def second_url(database, url):
    """Another server with the same database."""
    with serving(address(database)) as served:
        yield served


def shown(address, token="", headers=()):
    """Return what a new session with this cookie is sent."""
    with page_session(address, {own_cookie(COOKIE, address): token}, headers) as session:
        session.open(PEOPLE)
        return b"".join(session.sent[PEOPLE])


def signed_in(sent):
    assert (IN in sent) is not (OUT in sent)
    return IN in sent


def removed(store, _account, _token):
    remove_person(store, "ann", ROOT)
    add_person(store, "ann", Role.ADMIN, ROOT, any_name=True)


@pytest.mark.parametrize(
    "end",
    [
        lambda store, _, token: end_session(store, token_hash(token)),
        lambda store, *_: account(store),
        removed,
    ],
    ids=["sign-out", "reset", "removal"],
)
def test_an_open_tab_and_a_stolen_cookie_end_with_the_session_on_all_servers(
    database, url, second_url, end
):
    ann = account(database)
    token = begin_session(database, ann)
    assert all(signed_in(shown(each, token)) for each in (url, second_url))
    with page_session(second_url, {own_cookie(COOKIE, second_url): token}) as open_tab:
        open_tab.open(PEOPLE)
        end(database, ann, token)
        open_tab.open("/people")
    assert signed_in(b"".join(open_tab.sent[PEOPLE]))
    for sent in (b"".join(open_tab.sent["/people"]), shown(url, token), shown(second_url, token)):
        assert not signed_in(sent)


def test_no_cookie_and_no_header_of_a_stranger_opens_a_page(database, url):
    token = begin_session(database, account(database))
    hashed = token_hash(token)
    for cookie in ("", hashed, "x" * 43, token[:-1], f"{token}%00"):
        assert not signed_in(shown(url, cookie))
    for name in ("x-judgeboard-session", "X-Judgeboard-Session"):
        assert not signed_in(shown(url, headers=[(name, hashed)]))
    for name in (HEADER, "x-judgeboard-proxy", "X-Forwarded-Email", "Remote-User"):
        assert not signed_in(shown(url, headers=[(name, "ann")]))
    # Of two headers, that of the server counts.
    assert signed_in(shown(url, token, [("x-judgeboard-session", "other")]))


def test_a_session_survives_a_restart(database):
    """It began before the server did."""
    token = begin_session(database, account(database))
    with serving(address(database)) as served:
        assert signed_in(shown(served, token))


def test_a_form_that_never_ends_is_dropped(url):
    place = urlsplit(url)
    with socket.create_connection((place.hostname, place.port), timeout=30) as slow:
        slow.sendall(
            f"POST {FORM} HTTP/1.1\r\nHost: {place.netloc}\r\nContent-Length: 999\r\n\r\nname=".encode()
        )
        assert b" 400 " in slow.recv(100)


def test_nobody_is_told_how_many_sessions_there_are(url):
    for path in (
        "/_stcore/metrics",
        "/_stcore/metrics/",
        "/_stcore/metrics?families=session_events",
    ):
        assert "session" not in httpx.get(url + path).text, path


def test_a_message_of_a_stranger_is_not_kept_if_it_is_long(url):
    with page_session(url, {}) as session:
        message = BackMsg()
        message.rerun_script.query_string = "x" * 3_000_000
        session.socket.send(message.SerializeToString())
        with pytest.raises(ConnectionClosed) as closed:
            session.open("/")
        assert closed.value.rcvd.code == 1009


def test_keys_are_needed_as_soon_as_people_sign_in(url):
    for headers in ({}, {HEADER: "ann"}, {"x-judgeboard-proxy": "ann"}):
        assert httpx.post(f"{url}/v1/traces", json={}, headers=headers).status_code == 401
        assert httpx.get(f"{url}/api/flags", headers=headers).status_code == 401


@pytest.fixture(scope="module")
def behind_proxy(database, tmp_path_factory):
    """A server that trusts this machine as a proxy."""
    server = serving(
        address(database),
        HOME=str(tmp_path_factory.mktemp("home")),
        JUDGEBOARD_TRUSTED_HEADER=HEADER,
        JUDGEBOARD_TRUSTED_PROXIES="10.0.0.0/8,127.0.0.1",
    )
    with server as served:
        yield served


def test_a_trusted_proxy_tells_who_signed_in_and_the_roster_decides(database, behind_proxy):
    assert signed_in(shown(behind_proxy, headers=[(HEADER, "bob")]))
    assert signed_in(shown(behind_proxy, headers=[(HEADER.lower(), " BOB ")]))
    sent = shown(behind_proxy, headers=[(HEADER, "eve")])
    assert b"eve may not sign in here yet" in sent
    assert IN not in sent
    events = read(database, latest_events, EventFilter(), limit=9)
    assert {("sign_in", "bob"), ("refused", "eve")} <= {(each.kind, each.actor) for each in events}


def test_a_header_that_is_sent_twice_empty_or_not_at_all_opens_nothing(behind_proxy):
    for names in (["bob", "bob"], ["bob", "ann"], ["", "bob"], [""], []):
        assert not signed_in(shown(behind_proxy, headers=[(HEADER, name) for name in names]))
    for name in ("bob, ann", "cli:root", "bob\xff"):
        sent = shown(behind_proxy, headers=[(HEADER, name)])
        assert IN not in sent


def test_the_api_is_not_opened_by_the_header_of_a_proxy(behind_proxy):
    answer = httpx.post(f"{behind_proxy}/v1/traces", json={}, headers={HEADER: "bob"})
    assert answer.status_code == 401


def test_a_header_from_another_address_is_ignored_whatever_address_it_claims(database, tmp_path):
    server = serving(
        address(database),
        HOME=str(tmp_path),
        JUDGEBOARD_TRUSTED_HEADER=HEADER,
        JUDGEBOARD_TRUSTED_PROXIES="10.0.0.5",
        FORWARDED_ALLOW_IPS="*",
    )
    with server as served:
        forwarded = [
            [],
            [("X-Forwarded-For", "10.0.0.5")],
            [("X-Forwarded-For", "10.0.0.5, 10.0.0.5")],
            [("Forwarded", "for=10.0.0.5")],
            [("X-Real-IP", "10.0.0.5")],
        ]
        for headers in forwarded:
            assert not signed_in(shown(served, headers=[(HEADER, "bob"), *headers]))
