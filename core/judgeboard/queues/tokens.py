"""Tokens of held items: the item's number and a secret, so that the item is known even when somebody else has it."""

import secrets

from judgeboard.errors import BadInput
from judgeboard.storable_text import unstorable
from judgeboard.store.queues.leases import Lease

HIGHEST = 2**63 - 1  # a row's number in either database


def new_secret() -> str:
    """Return a secret that nobody guesses."""
    return secrets.token_urlsafe(16)


def token_of(lease: Lease) -> str:
    """Return the token of a place that somebody holds."""
    return f"{lease.queue_item_id}.{lease.token}"


def split_token(token: str) -> tuple[int, str]:
    """Return the item and the secret that a token is made of.

    Raises:
        BadInput: It is no token.
    """
    item, dot, secret = token.partition(".")
    known = item.isdecimal() and len(item) <= len(str(HIGHEST)) and int(item) <= HIGHEST
    if not dot or not known or not secret or unstorable(secret):
        raise BadInput("this is not the token of an item: take one with `judgeboard queue next`")
    return int(item), secret
