"""Destinations of messages, and the environment variables that sending needs."""

import re
import shlex
from collections.abc import Iterable
from typing import NamedTuple
from urllib.parse import SplitResult, unquote, urlsplit

from judgeboard.errors import BadInput, MissingSetting
from judgeboard.settings.masking import register_secret
from judgeboard.settings.model import ENVIRONMENT, load_settings, variable_of

WEBHOOKS = ("webhook", "slack")
_VARIABLE = re.compile(r"env:([A-Za-z_][A-Za-z0-9_]*)", re.ASCII)
_MAIL = re.compile(r"[^\s@,;:<>\"()]+@[^\s@,;:<>\"()]+", re.ASCII)


class Destination(NamedTuple):
    """Where messages go: a webhook in an environment variable, an e-mail address, or the command of the worker."""

    kind: str
    value: str


def destination_of(text: str) -> Destination:
    """Return a destination such as "slack:env:SLACK_URL", "email:ops@example.org" or "command"; raise BadInput."""
    kind, _, value = text.strip().partition(":")
    if kind in WEBHOOKS:
        variable = _VARIABLE.fullmatch(value)
        if variable is None:  # the error does not show the value, which may be the secret
            raise BadInput(
                f"the address of a webhook is a secret: store it in an environment variable of the worker, and write "
                f"{kind}:env:NAME_OF_THE_VARIABLE"
            )
        return Destination(kind, variable[1])
    if kind == "email":
        if not _MAIL.fullmatch(value):
            raise BadInput("an e-mail destination has one address: email:ops@example.org")
        return Destination(kind, value)
    if text.strip() == "command":
        return Destination("command", "")
    kinds = ", ".join(f"{each}:env:VARIABLE" for each in WEBHOOKS)
    raise BadInput(f"unknown destination: write {kinds}, email:ADDRESS or command")


def web_addresses() -> list[str]:
    """Return the names of this process's environment variables that have a web address, without the values."""
    return sorted(
        name
        for name, value in ENVIRONMENT.items()
        if value.strip().startswith(("https://", "http://"))
    )


def check_settings(destination: str) -> None:
    """Raise BadInput if this process could not send to a destination, MissingSetting if a variable is not set.

    The variable of a webhook is not checked, because it may be set for the worker alone.
    """
    kind = destination_of(destination).kind
    if kind == "email":
        mail_sender(mail_server())
    elif kind == "command":
        alert_command()


def address_in(variable: str, schemes: Iterable[str]) -> SplitResult:
    """Return the address in an environment variable; no error shows the address."""
    value = ENVIRONMENT.get(variable)
    if not value:
        raise BadInput(f"the environment variable {variable} is not set where the worker runs")
    try:
        address = urlsplit(value.strip())
        # Whoever knows the path of a webhook can post there.
        register_secret(value.strip(), address.path, address.query, unquote(address.password or ""))
        is_usable = (
            address.scheme in schemes
            and address.hostname
            and (address.port or 1)
            and value.isascii()
        )
    except ValueError:
        is_usable = False
    if not is_usable:
        raise BadInput(
            f"the environment variable {variable} has no {' or '.join(f'{each}://' for each in schemes)} address"
        )
    return address


_SENDER = {variable_of("smtp_from"): "judgeboard@example.org"}  # an example


def mail_server() -> SplitResult:
    """Return the address of the mail server, which may have a login; raise BadInput, or MissingSetting if not set."""
    settings, variable = load_settings(), variable_of("smtp")
    if not settings.smtp:
        examples = {variable: "smtp://mail.example.org"} | ({} if settings.smtp_from else _SENDER)
        raise MissingSetting(
            f"the environment variable {variable} is not set (the mail server)", examples
        )
    address = address_in(variable, ("smtp", "smtp+starttls", "smtps"))
    if address.scheme == "smtp" and address.password is not None:
        raise BadInput(f"{variable} has a password: use smtps:// or smtp+starttls://")
    return address


def mail_sender(server: SplitResult) -> str:
    """Return the e-mail address of the sender, by default the login; raise MissingSetting if there is none."""
    sender = load_settings().smtp_from or unquote(server.username or "")
    if "@" not in sender:
        raise MissingSetting(
            f"the environment variable {variable_of('smtp_from')} has no e-mail address (the sender)",
            _SENDER,
        )
    return sender


def alert_command() -> list[str]:
    """Return the words of the command that gets messages; raise BadInput if unusable, MissingSetting if not set."""
    command, variable = load_settings().alert_command, variable_of("alert_command")
    try:
        words = shlex.split(command or "")
    except ValueError:
        raise BadInput(f"{variable} is not a command: a quotation mark is missing") from None
    if not words:
        message = (
            f"the environment variable {variable} is not set (a command that gets each message)"
        )
        raise MissingSetting(message, {variable: "tee -a alerts.jsonl"})
    return words
