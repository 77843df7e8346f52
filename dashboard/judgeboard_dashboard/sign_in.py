"""Who has signed in at this browser, by the configured identity provider."""

import importlib.util
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import streamlit as st

from judgeboard.errors import BadInput
from judgeboard.people.roster import checked_address
from judgeboard.settings import load_settings

SHORTEST_SECRET = 32  # characters: who guesses it can say that they are anybody
CALLBACK = "/oauth2callback"
NEEDED = ("client_id", "client_secret", "server_metadata_url")


class SignIn(NamedTuple):
    """What the secrets say: whether people sign in, by which providers (None: the only one), what is wrong with it.

    ``host`` is the name under which browsers come back from the provider.
    """

    asked: bool
    providers: tuple[str | None, ...] = ()
    host: str | None = None
    fault: str | None = None


_NO_PROVIDER = "JUDGEBOARD_ADMIN is set, and .streamlit/secrets.toml has no part [auth] to sign in with"


@cache
def sign_in() -> SignIn:
    """Return what the secrets say of signing in, read once: nobody who edits them opens a running desk to everybody.

    Whatever cannot be read or used is a fault, and then nobody gets in. ``JUDGEBOARD_ADMIN`` without a provider is
    one too: whoever sets it does not mean a desk that is open to all.
    """
    try:
        auth = dict(st.secrets).get("auth")
    except Exception:  # noqa: BLE001 - none is there, or it cannot be read; its text must not be shown
        if any(Path(path).exists() for path in st.get_option("secrets.files")):
            return SignIn(True, fault="the secrets file cannot be read: it is not TOML")
        auth = None
    if auth is None:
        if load_settings().admin is not None:
            return SignIn(True, fault=_NO_PROVIDER)
        return SignIn(asked=False)
    if not isinstance(auth, Mapping):
        return SignIn(True, fault="[auth] in the secrets must be a table")
    return checked_auth(auth)


def checked_auth(auth: Mapping[str, Any]) -> SignIn:
    """Return what the part [auth] of the secrets comes to."""
    named = tuple(sorted(name for name, part in auth.items() if isinstance(part, Mapping) and "client_id" in part))
    providers: tuple[str | None, ...] = ((None,) if "client_id" in auth else ()) + named
    callback = str(auth.get("redirect_uri", ""))
    fault = None
    if not providers or any(_lacks(auth if name is None else auth[name]) for name in providers):
        fault = f"[auth] in the secrets needs {', '.join(NEEDED)} of a provider"
    elif any("_" in name for name in named):
        fault = "the name of a provider in the secrets has no underscore"
    elif not callback.startswith(("http://", "https://")) or not callback.endswith(CALLBACK):
        fault = f"redirect_uri in [auth] of the secrets is this server's own address with {CALLBACK} behind it"
    elif len(str(auth.get("cookie_secret", ""))) < SHORTEST_SECRET:
        fault = f"cookie_secret in [auth] of the secrets needs {SHORTEST_SECRET} random characters at least"
    elif importlib.util.find_spec("authlib") is None or importlib.util.find_spec("httpx") is None:
        fault = "what signs people in is not installed: pip install 'judgeboard[auth]'"
    return SignIn(True, providers, urlsplit(callback).hostname, fault)


def _lacks(provider: Mapping[str, Any]) -> bool:
    return any(not provider.get(name) for name in NEEDED)


def claims() -> Mapping[str, Any]:
    """Return what the identity provider says of who uses this browser, empty where nobody has signed in."""
    return st.user.to_dict() if st.user.get("is_logged_in") else {}


def verified_address() -> str | None:
    """Return the verified e-mail address of who signed in, None where nobody did.

    Raises:
        BadInput: The provider gave no address, or did not verify it: anybody could have written it there.
    """
    said = claims()
    if not said:
        return None
    address = said.get("email")
    # Some providers write it as a text.
    if not isinstance(address, str) or str(said.get("email_verified")).lower() != "true":
        raise BadInput("Your identity provider did not say that it has verified your e-mail address.")
    return checked_address(address)
