"""Sends messages to webhooks, by e-mail and to a command, with retries and back-off, never to a private address."""

import base64
import email.message
import email.policy
import email.utils
import ipaddress
import json
import smtplib
import socket
import ssl
import subprocess
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from datetime import datetime, timedelta
from html import escape
from types import MappingProxyType
from typing import Any
from urllib.parse import unquote

import httpcore

from judgeboard.alerts.destinations import (
    address_in,
    alert_command,
    destination_of,
    mail_sender,
    mail_server,
)
from judgeboard.domain import MessageKind
from judgeboard.errors import BadInput, NotSent
from judgeboard.settings.masking import without_secrets
from judgeboard.settings.model import load_settings, variable_of
from judgeboard.store.alerts import begin_attempt, due_deliveries, end_attempt
from judgeboard.store.clock import utc_now
from judgeboard.store.engine import Store
from judgeboard.store.tables import AlertDelivery

WAITS = tuple(timedelta(minutes=minutes) for minutes in (2, 5, 15, 60, 240))
"""The time from each attempt to the next; a message fails after as many attempts. Longer than an attempt can take."""
_TIMEOUT_S = 10.0
_COMMAND_TIMEOUT_S = 30.0

Message = Mapping[str, Any]
Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network


def deliver_due(store: Store, clock: Callable[[], datetime]) -> None:
    """Send the messages that are due.

    Each attempt is stored before the message is sent. If the process ends during an attempt, nobody
    knows whether the message arrived: the message is sent again later, with the same id.
    """
    with store.reading() as connection:
        deliveries = due_deliveries(connection, clock())
    for each in deliveries:
        deliver(store, each, clock())


def deliver(store: Store, delivery: AlertDelivery, now: datetime) -> None:
    """Make one attempt and store the outcome, unless another process sends the message."""
    attempt = min(delivery.attempts, len(WAITS) - 1)
    with store.writing() as connection:
        if not begin_attempt(connection, delivery, now, now + WAITS[attempt]):
            return
    error = None
    try:
        send(delivery.destination, delivery.message)
    except (BadInput, NotSent) as reason:
        error = without_secrets(str(reason))
    except Exception as unexpected:  # noqa: BLE001 - the text may contain the address, which is a secret
        error = type(unexpected).__name__
    is_last = delivery.kind is MessageKind.TEST or delivery.attempts + 1 >= len(WAITS)
    with store.writing() as connection:
        end_attempt(connection, delivery.id, error, is_last=is_last, now=now)


def send(destination: str, message: Message) -> None:
    """Send a message without known secrets; raise NotSent or BadInput with a reason that contains no secret."""
    kind, value = destination_of(destination)
    webhook = (
        address_in(value, ("https", "http")) if kind in BODIES else None
    )  # first, so that the secret in the address is known
    message = {
        name: without_secrets(part) if isinstance(part, str) else part
        for name, part in message.items()
    }
    if webhook is not None:
        body = json.dumps(BODIES[kind](message)).encode()
        message_id = message["id"]
        headers: dict[bytes | str, bytes | str] = {
            "content-type": "application/json",
            "user-agent": "judgeboard",
            "idempotency-key": message_id,
        }
        if webhook.username is not None:
            login = f"{unquote(webhook.username)}:{unquote(webhook.password or '')}".encode()
            headers["authorization"] = f"Basic {base64.b64encode(login).decode()}"
        bare = webhook._replace(netloc=webhook.netloc.rpartition("@")[2], fragment="").geturl()
        limits = {"timeout": dict.fromkeys(("connect", "read", "write", "pool"), _TIMEOUT_S)}
        try:
            # httpcore, because httpx writes whole addresses to the log, follows proxies and resolves
            # names itself.
            with (
                httpcore.ConnectionPool(network_backend=_CheckedNetwork()) as pool,
                pool.stream(
                    "POST", bare, headers=headers, content=body, extensions=limits
                ) as reply,
            ):
                status = reply.status
        except httpcore.TimeoutException:
            raise NotSent(f"the webhook did not answer within {_TIMEOUT_S:.0f} s") from None
        except httpcore.NetworkError as error:
            raise NotSent(f"the webhook cannot be reached: {error}") from None
        except (httpcore.ProtocolError, httpcore.UnsupportedProtocol) as error:
            raise NotSent(f"the webhook cannot be used: {type(error).__name__}") from None
        if not 200 <= status < 300:  # the body may repeat the address, so no error shows it
            why = "; redirects are not followed" if 300 <= status < 400 else ""
            raise NotSent(f"the webhook answered {status}{why}")
    elif kind == "email":
        _send_mail(value, message)
    else:
        # The command gets the message as JSON.
        words, command = alert_command(), f"the command in {variable_of('alert_command')}"
        try:
            subprocess.run(  # noqa: S603 - the operator's own command, without a shell
                words,
                input=json.dumps(message).encode(),
                capture_output=True,
                check=True,
                timeout=_COMMAND_TIMEOUT_S,
            )
        except subprocess.CalledProcessError as error:
            raise NotSent(f"{command} ended with exit code {error.returncode}") from None
        except subprocess.TimeoutExpired:
            raise NotSent(f"{command} did not end within {_COMMAND_TIMEOUT_S:.0f} s") from None
        except OSError as error:
            raise NotSent(f"{command} cannot be started: {error.strerror}") from None


def _slack(message: Message) -> dict[str, Any]:
    # "plain_text" shows names of sources unchanged: a name cannot mention a channel or hide a link.
    title = {
        "type": "header",
        "text": {"type": "plain_text", "text": message["title"][:150], "emoji": False},
    }
    lines = {
        "type": "section",
        "text": {"type": "plain_text", "text": message["text"][:3000], "emoji": False},
    }
    small = {
        "type": "context",
        "elements": [{"type": "plain_text", "text": f"Judgeboard, {message['id']}"}],
    }
    summary = escape(f"{message['title']}. {message['text']}", quote=False)
    return {"text": summary, "blocks": [title, lines, small]}


BODIES: Mapping[str, Callable[[Message], Message]] = MappingProxyType(
    {"webhook": dict, "slack": _slack}
)
"""The body of each kind of webhook."""


def is_public(address: Address) -> bool:
    """Return whether an address is reachable from the whole internet, also inside an IPv6 address that wraps one."""
    if isinstance(address, ipaddress.IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour
        if inner is None and address in _NAT64:
            inner = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
        if inner is not None:
            return is_public(inner)
    return address.is_global and not address.is_multicast


_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")


def allowed_networks() -> list[Network]:
    """Return the private networks that webhooks may reach; raise BadInput if the setting is not usable."""
    try:
        return [
            ipaddress.ip_network(each, strict=False)
            for each in load_settings().alert_networks or ()
        ]
    except ValueError as error:
        raise BadInput(
            f"{variable_of('alert_networks')} must be networks such as 10.0.0.0/8: {error}"
        ) from None


def checked_addresses(host: str, port: int, networks: Iterable[Network]) -> list[str]:
    """Return the addresses of a host; raise NotSent if an address is private and not in an allowed network."""
    try:
        entries = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise NotSent("the host name of the webhook is unknown") from None
    addresses = list(dict.fromkeys(str(entry[4][0]) for entry in entries))
    for each in map(ipaddress.ip_address, addresses):
        if not is_public(each) and not any(each in network for network in networks):
            variable = variable_of("alert_networks")
            raise NotSent(
                f"the webhook has a private address; if that is intended, add its network to {variable}"
            )
    return addresses


class _CheckedNetwork(httpcore.SyncBackend):
    """Connects only to checked addresses. The name is resolved once: the address cannot change after the check."""

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        """Connect to the first address that answers."""
        failure: Exception | None = None
        for address in checked_addresses(host, port, allowed_networks()):
            try:
                return super().connect_tcp(address, port, timeout, local_address, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                failure = error
        raise failure or NotSent("the host name of the webhook has no address")


def _send_mail(to: str, message: Message) -> None:
    server = mail_server()
    mail = email.message.EmailMessage(policy=email.policy.SMTP)
    mail["Subject"] = " ".join(f"[Judgeboard] {message['title']}".split())
    mail["From"], mail["To"] = mail_sender(server), to
    mail["Date"] = email.utils.format_datetime(utc_now())
    mail["Message-ID"] = f"<{message['id']}@judgeboard>"
    mail["Auto-Submitted"] = "auto-generated"
    mail.set_content(f"{message['text']}\n\nRule: {message['rule']}\nMessage: {message['id']}\n")
    try:
        host, context = server.hostname or "", ssl.create_default_context()
        if server.scheme == "smtps":
            connection: smtplib.SMTP = smtplib.SMTP_SSL(
                host, server.port or 465, timeout=_TIMEOUT_S, context=context
            )
        else:
            connection = smtplib.SMTP(host, server.port or 25, timeout=_TIMEOUT_S)
        with closing(connection):  # also if the server refuses the login
            if server.scheme == "smtp+starttls":
                connection.starttls(context=context)
            if server.password is not None:
                connection.login(unquote(server.username or ""), unquote(server.password))
            with connection:  # ends with QUIT
                connection.send_message(mail)
    except smtplib.SMTPRecipientsRefused as error:
        codes = ", ".join(str(code) for code, _ in error.recipients.values())
        raise NotSent(f"the mail server refused the address: {codes}") from None
    except smtplib.SMTPResponseException as error:
        raise NotSent(f"the mail server refused the message: {error.smtp_code}") from None
    except (smtplib.SMTPException, OSError) as error:
        raise NotSent(f"the mail server did not take the message: {type(error).__name__}") from None
