"""Sign-in with the identity provider that .streamlit/secrets.toml configures."""

import importlib.util
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import streamlit as st

from judgeboard.errors import BadInput
from judgeboard.people.roster import checked_address
from judgeboard.settings import load_settings, register_secret

SHORTEST_SECRET = 32  # characters: whoever guesses it can sign in as anybody
CALLBACK = "/oauth2callback"
NEEDED = ("client_id", "client_secret", "server_metadata_url")


class SignIn(NamedTuple):
    """The configuration of sign-in; ``asked`` is whether people must sign in, ``fault`` what is wrong with it.

    The provider None is configured in [auth] itself and has no name. Providers send browsers back to ``host``.
    """

    asked: bool
    providers: tuple[str | None, ...] = ()
    host: str | None = None
    fault: str | None = None


_NO_PROVIDER = "JUDGEBOARD_ADMIN is set, but .streamlit/secrets.toml has no section [auth]"


@cache
def sign_in() -> SignIn:
    """Return the configuration of sign-in, read once, so that editing the file cannot open a running server.

    If it has a fault, nobody can sign in. ``JUDGEBOARD_ADMIN`` without a provider is also a fault, because the server
    is not meant to be open.
    """
    try:
        auth = dict(st.secrets).get("auth")
    except Exception:  # noqa: BLE001 - the file is missing or unreadable; the error could quote its secrets
        if any(Path(path).exists() for path in st.get_option("secrets.files")):
            return SignIn(True, fault="the secrets file is not valid TOML")
        auth = None
    if auth is None:
        if load_settings().admin is not None:
            return SignIn(True, fault=_NO_PROVIDER)
        return SignIn(asked=False)
    if not isinstance(auth, Mapping):
        return SignIn(True, fault="[auth] in the secrets must be a table")
    return checked_auth(auth)


def checked_auth(auth: Mapping[str, Any]) -> SignIn:
    """Return the configuration in the section [auth] of the secrets."""
    named = tuple(sorted(name for name, part in auth.items() if isinstance(part, Mapping) and "client_id" in part))
    providers: tuple[str | None, ...] = ((None,) if "client_id" in auth else ()) + named
    callback = str(auth.get("redirect_uri", ""))
    fault = None
    parts = [auth if name is None else auth[name] for name in providers]
    register_secret(
        *(str(part.get(name, "")) for part in (auth, *parts) for name in ("client_secret", "cookie_secret"))
    )
    if not parts or any(not part.get(needed) for part in parts for needed in NEEDED):
        fault = f"[auth] in the secrets needs {', '.join(NEEDED)} for each provider"
    elif any("_" in name for name in named):
        fault = "the name of a provider in the secrets must not contain an underscore"
    elif not callback.startswith(("http://", "https://")) or not callback.endswith(CALLBACK):
        fault = f"redirect_uri in [auth] of the secrets must be the address of this server followed by {CALLBACK}"
    elif len(str(auth.get("cookie_secret", ""))) < SHORTEST_SECRET:
        fault = f"cookie_secret in [auth] of the secrets needs at least {SHORTEST_SECRET} random characters"
    elif importlib.util.find_spec("authlib") is None or importlib.util.find_spec("httpx") is None:
        fault = "the packages for sign-in are not installed: pip install 'judgeboard[auth]'"
    return SignIn(True, providers, urlsplit(callback).hostname, fault)


def claims() -> Mapping[str, Any]:
    """Return the identity provider's claims about the person; empty before sign-in."""
    return st.user.to_dict() if st.user.get("is_logged_in") else {}


def verified_address() -> str | None:
    """Return the verified e-mail address of the person, None before sign-in.

    Raises BadInput if the provider sent no verified address.
    """
    person = claims()
    if not person:
        return None
    address = person.get("email")
    # Some providers send email_verified as a text.
    if not isinstance(address, str) or str(person.get("email_verified")).lower() != "true":
        raise BadInput("Your identity provider has not verified your e-mail address.")
    return checked_address(address)
