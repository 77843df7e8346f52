"""Messages reach real servers, contain no secret anywhere, and never go to a private address by mistake."""

import email
import json
import logging
import socket
import ssl
import sys
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

import httpcore
import pytest
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from hook_server import hook_server
from judgeboard.alerts.delivery import checked_addresses, send
from judgeboard.errors import BadInput, NotSent
from served import free_port

MESSAGE = {
    "id": "5d0c",
    "kind": "opened",
    "title": "Alert: cost",
    "text": "<!channel> costs $ 20.",
    "rule": "cost",
}


class Mailbox:
    """Keeps the mails that come."""

    def __init__(self):
        self.mails = []
        self.refuse = False

    async def handle_DATA(self, _server, _session, envelope):  # noqa: N802 - name of aiosmtpd
        self.mails.append((envelope.rcpt_tos, email.message_from_bytes(envelope.content or b"")))
        return "250 OK"

    async def handle_RCPT(  # noqa: N802 - name of aiosmtpd
        self, _server, _session, envelope, to, _options
    ):
        if self.refuse:
            return "550 no such person"
        envelope.rcpt_tos.append(to)
        return "250 OK"


@contextmanager
def mail_server(mailbox, **options):
    port = free_port()
    controller = Controller(mailbox, hostname="localhost", port=port, ready_timeout=60, **options)
    controller.start()
    try:
        yield port
    finally:
        controller.stop()


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """A certificate of localhost that signs itself, with its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    signed = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    path = tmp_path_factory.mktemp("tls") / "localhost.pem"
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    path.write_bytes(private + signed.public_bytes(Encoding.PEM))
    return path


def test_a_mail_goes_through_an_encrypted_and_authenticated_server(certificate, monkeypatch):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    logins = []

    def login(_server, _session, _envelope, _mechanism, data):
        logins.append(data)
        return AuthResult(success=data.password == b"S3/CR@ET", handled=False)

    mailbox = Mailbox()
    with mail_server(
        mailbox,
        tls_context=context,
        require_starttls=True,
        authenticator=login,
        auth_required=True,
    ) as port:
        server = f"localhost:{port}"
        monkeypatch.setenv(
            "JUDGEBOARD_SMTP", f"smtp+starttls://ops%40example.org:S3%2FCR%40ET@{server}"
        )
        with pytest.raises(NotSent, match="SSLCertVerificationError"):
            send("email:mara@example.org", MESSAGE)
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        send("email:mara@example.org", MESSAGE)
        monkeypatch.setenv("JUDGEBOARD_SMTP", f"smtp+starttls://ops%40example.org:WR0NG@{server}")
        with pytest.raises(NotSent, match="535") as refused:
            send("email:mara@example.org", MESSAGE)
        assert "WR0NG" not in str(refused.value)
        monkeypatch.setenv("JUDGEBOARD_SMTP", f"smtp://ops%40example.org:S3CRET@{server}")
        with pytest.raises(BadInput, match="smtps://"):
            send("email:mara@example.org", MESSAGE)
    assert {each.password for each in logins} == {b"S3/CR@ET", b"WR0NG"}
    [(to, mail)] = mailbox.mails
    assert (to, mail["From"], mail["Subject"]) == (
        ["mara@example.org"],
        "ops@example.org",
        "[Judgeboard] Alert: cost",
    )
    assert mail["Message-ID"] == "<5d0c@judgeboard>"
    assert mail.get_payload().splitlines()[0] == MESSAGE["text"]


def test_a_plain_mail_server_needs_a_sender_and_may_refuse_the_address(monkeypatch):
    mailbox = Mailbox()
    with mail_server(mailbox) as port:
        monkeypatch.setenv("JUDGEBOARD_SMTP", f"smtp://localhost:{port}")
        with pytest.raises(BadInput, match="JUDGEBOARD_SMTP_FROM"):
            send("email:mara@example.org", MESSAGE)
        monkeypatch.setenv("JUDGEBOARD_SMTP_FROM", "ops@example.org")
        send("email:mara@example.org", MESSAGE)
        mailbox.refuse = True
        with pytest.raises(NotSent, match="550"):
            send("email:mara@example.org", MESSAGE)
    assert len(mailbox.mails) == 1
    with pytest.raises(NotSent, match="ConnectionRefusedError"):
        send("email:mara@example.org", MESSAGE)


def test_slack_gets_its_own_form_in_which_a_name_can_mention_nobody(monkeypatch):
    monkeypatch.setenv("JUDGEBOARD_ALERT_NETWORKS", "127.0.0.1")
    with hook_server() as hook:
        monkeypatch.setenv("HOOK", hook.url.replace("127.0.0.1", "mara:S3CRET@127.0.0.1"))
        send("slack:env:HOOK", MESSAGE)
    [slack] = hook.bodies
    assert "&lt;!channel&gt;" in slack["text"]
    assert {block["type"] for block in slack["blocks"]} == {"header", "section", "context"}
    assert "mrkdwn" not in json.dumps(slack)
    assert [each["authorization"] for each in hook.requests] == ["Basic bWFyYTpTM0NSRVQ="]


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "10.1.2.3",
        "169.254.169.254",
        "100.64.0.1",
        "0.0.0.0",
        "224.0.0.1",
        "::1",
        "fe80::1",
        "fd00::1",
        "::ffff:127.0.0.1",
        "64:ff9b::7f00:1",
        "2002:7f00:1::",
    ],
)
def test_a_host_with_one_private_address_is_refused(address, monkeypatch):
    resolved = [(0, 0, 0, "", ("93.184.215.14", 443)), (0, 0, 0, "", (address, 443))]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_args, **_options: resolved)
    with pytest.raises(NotSent, match="JUDGEBOARD_ALERT_NETWORKS"):
        checked_addresses("hooks.example.org", 443, [])


def test_the_connection_goes_to_the_checked_address_and_follows_no_redirect(monkeypatch):
    answers = iter(["93.184.215.14", "127.0.0.1"])  # the name changes after the check
    monkeypatch.setattr(
        socket, "getaddrinfo", lambda *_args, **_options: [(0, 0, 0, "", (next(answers), 80))]
    )
    connected = []

    def connect(_self, host, *_args):
        connected.append(host)
        raise httpcore.ConnectError("no network here")

    monkeypatch.setenv("HOOK", "http://hooks.example.org/S3CRET")
    monkeypatch.setattr(httpcore.SyncBackend, "connect_tcp", connect)
    with pytest.raises(NotSent, match="no network here"):
        send("webhook:env:HOOK", MESSAGE)
    assert connected == ["93.184.215.14"]
    monkeypatch.undo()
    monkeypatch.setenv("JUDGEBOARD_ALERT_NETWORKS", "127.0.0.0/8")
    with hook_server() as other, hook_server() as hook:
        hook.status, hook.headers = 307, {"location": other.url}
        monkeypatch.setenv("HOOK", hook.url)
        with pytest.raises(NotSent, match="307"):
            send("webhook:env:HOOK", MESSAGE)
    assert (len(hook.bodies), other.bodies) == (1, [])


def test_a_command_gets_the_message_on_its_standard_input(tmp_path, monkeypatch):
    script = tmp_path / "take it.py"
    script.write_text(
        "import sys; open('got.json', 'w').write(sys.stdin.read()); sys.exit(len(sys.argv) - 1)"
    )
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BadInput, match="JUDGEBOARD_ALERT_COMMAND"):
        send("command", MESSAGE)
    monkeypatch.setenv("JUDGEBOARD_ALERT_COMMAND", f"{sys.executable} '{script}'")
    send("command", MESSAGE)
    assert json.loads((tmp_path / "got.json").read_text()) == MESSAGE
    monkeypatch.setenv("JUDGEBOARD_ALERT_COMMAND", f"{sys.executable} '{script}' S3CRET")
    with pytest.raises(NotSent, match=r"JUDGEBOARD_ALERT_COMMAND .* code 1$"):
        send("command", MESSAGE)


@pytest.mark.parametrize(
    "address",
    [
        "",
        "sk-S3CRET",
        "ftp://S3CRET@host",
        "http://[S3CRET",
        "https://hooks\u00e9.org/S3CRET",
        "http://host:S3CRET/",
    ],
)
def test_no_error_and_no_log_shows_the_address(address, monkeypatch, caplog):
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("HOOK", address)
    with pytest.raises(BadInput, match="HOOK") as refused:
        send("slack:env:HOOK", MESSAGE)
    assert "S3CRET" not in str(refused.value) + caplog.text
