"""The cookie of a sign-in at an identity provider: parts of two sign-ins make no third, and long claims fit."""

import json
import random
import shutil
import string
import time
from contextlib import closing

import httpx
import pytest
from joserfc import jwt
from joserfc.jwk import OctKey
from streamlit.web.server.starlette.starlette_app_utils import (
    create_signed_value,
    generate_xsrf_token_string,
)

from judgeboard.domain import Role
from judgeboard.people.roster import add_person
from judgeboard.store.opening import open_store
from oidc_provider import COOKIE_SECRET, identity_provider, write_secrets
from page_session import page_session
from served import free_port, serving

ADMIN = "admin@example.org"
USER, TOKENS = "_streamlit_user", "_streamlit_user_tokens"
PEOPLE = "/people?part=Accounts"
IN, OUT = b"Manage people", b"Sign in"
LONG = "".join(random.Random(1).choices(string.ascii_letters, k=5_000))


@pytest.fixture(scope="module")
def url(sqlite_template, tmp_path_factory):
    """A server where an admin signs in at a provider that sends long claims."""
    folder = tmp_path_factory.mktemp("provider")
    database = shutil.copyfile(sqlite_template, folder / "judgeboard.db")
    with closing(open_store(database)) as store:
        add_person(store, ADMIN, Role.ADMIN, "cli:root")
    port = free_port()
    claims = {"email": ADMIN, "email_verified": True, "picture": LONG}
    with identity_provider({"admin": claims}) as provider:
        write_secrets(folder, provider, f"http://localhost:{port}")
        with serving(database, port, HOME=str(folder)) as address:
            yield address


def shown(url, cookies):
    """Return what a new session with these cookies is sent."""
    token = generate_xsrf_token_string()
    with page_session(url, {"_streamlit_xsrf": token, **cookies}) as session:
        session.open(PEOPLE)
        return b"".join(session.sent[PEOPLE])


def signed(name, value):
    return create_signed_value(COOKIE_SECRET, name, value).decode()


def claims_of(url, email, *, verified=True):
    """Return the claims of a sign-in as Streamlit writes them into its cookie."""
    claims = {"iss": "https://id.example.org", "exp": time.time() + 600, "email": email}
    about = {"email_verified": verified, "origin": url, "is_logged_in": True}
    return json.dumps(claims | about)


def in_parts(*parts):
    """Return the cookies that Streamlit makes of a long one."""
    names = [f"{USER}_{number}" for number in range(1, len(parts) + 1)]
    return {USER: signed(USER, f"chunks-{len(parts)}")} | {
        name: signed(name, part) for name, part in zip(names, parts, strict=True)
    }


def test_a_whole_cookie_signs_in(url):
    assert IN in shown(url, {USER: signed(USER, claims_of(url, ADMIN))})


@pytest.mark.parametrize("blank", ["", " ", "\t", "\xa0", "\x85"])
def test_parts_of_the_cookies_of_two_sign_ins_sign_in_nobody(url, blank):
    address_of_another, _ = claims_of(url, ADMIN, verified=False).split("false")
    _, verified = claims_of(url, "eve@example.net").split('verified": ')
    spliced = in_parts(address_of_another, verified)
    assert json.loads(address_of_another + verified)["email"] == ADMIN
    sent = shown(
        url, {f"{blank}{name}" if name[-1].isdigit() else name: spliced[name] for name in spliced}
    )
    assert OUT in sent
    assert IN not in sent


def test_a_person_with_long_claims_comes_in_and_earlier_parts_are_deleted(url):
    token = jwt.encode(
        {"alg": "HS256"},
        {"provider": "default", "exp": time.time() + 60},
        OctKey.import_key(COOKIE_SECRET),
    )
    earlier = {f"{USER}_1": "x", f"{TOKENS}_7": "x"}
    with httpx.Client() as browser:
        login = browser.get(f"{url}/auth/login", params={"provider": token})
        back = browser.post(login.headers["location"], data={"sub": "admin"})
        state = "; ".join(
            f"{name}={value}" for name, value in (earlier | dict(login.cookies)).items()
        )
        headers = {"cookie": state, "x-forwarded-proto": "https"}
        reply = httpx.get(back.headers["location"], headers=headers)
    headers = reply.headers.get_list("set-cookie")
    assert all("; Secure" in cookie for cookie in headers)
    cookies = dict(cookie.partition(";")[0].split("=", 1) for cookie in headers)
    deleted = {name for name, value in cookies.items() if value == '""'}
    assert {*earlier, TOKENS} <= deleted
    assert {name for name in cookies if name.startswith(USER)} - deleted == {USER}
    assert len(cookies[USER]) < 1_000
    assert IN in shown(url, {name: cookies[name] for name in cookies.keys() - deleted})
