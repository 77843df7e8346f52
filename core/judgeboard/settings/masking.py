"""Keeps the secrets that this process knows out of texts, addresses and log records."""

import base64
import json
import logging
import math
import re
from collections.abc import Iterator, Mapping
from threading import Lock
from urllib.parse import quote, quote_plus, unquote

# Mask up to the last @ of the word: a password may contain @ and /. Too much masking is safer than
# too little.
_PASSWORD = re.compile(
    r"(://[^:/@\s]*:)\S+(@)|([?&][\w-]*(?:password|passphrase|secret|token|key)=)[^&\s]+",
    re.IGNORECASE,
)
SHORTEST_SECRET = 12
"""Characters. A shorter text also occurs in texts by chance, so no shorter text is masked."""
_SECRET_VARIABLE = re.compile(r"(?:API_KEY|SECRET_KEY|SECRET|TOKEN|PASSWORD)\Z")
_HEADERS_VARIABLE = re.compile(r"HEADERS\Z")
_LOGIN = re.compile(r"://([^/\s]*)@")
_PLAIN_HEADERS = frozenset({"accept", "content-type", "user-agent"})


def masked(address: str) -> str:
    """Return an address or URL with all passwords and known secrets masked.

    Any password in an address is masked, known or not. Only for addresses: in running text and in
    JSON, too much would be masked. Use `without_secrets` there.
    """
    return _PASSWORD.sub(
        lambda match: f"{match[1] or match[3]}***{match[2] or ''}", without_secrets(address)
    )


_registered: frozenset[str] = frozenset()
_forms: tuple[str, ...] = ()
_lock = Lock()


def register_secret(*values: str | None) -> None:
    """Make secrets known to this process, so that `without_secrets` masks them.

    Whoever reads a secret registers the secret here. Values of fewer than 12 characters are
    ignored.
    """
    global _registered, _forms  # noqa: PLW0603 - one registry for the process; both are replaced, never changed
    new = {value for value in values if value and len(value) >= SHORTEST_SECRET} - _registered
    if not new:
        return
    with _lock:
        _registered |= new
        forms = {form for secret in _registered for form in _forms_of(secret)}
        _forms = tuple(sorted(forms, key=lambda form: (-len(form), form)))


def register_environment(environment: Mapping[str, str]) -> None:
    """Register the secrets in environment variables.

    These are the values of variables with names such as OPENAI_API_KEY or MLFLOW_TRACKING_PASSWORD,
    the values of custom headers (OTEL_EXPORTER_OTLP_HEADERS), and the passwords in addresses.
    """
    for name, value in environment.items():
        if _SECRET_VARIABLE.search(name):
            register_secret(value.strip())
        elif _HEADERS_VARIABLE.search(name):
            # A list of headers, ``name=value,…`` or lines of ``name: value``. A value may have a scheme.
            for pair in re.split(r"[,\n]", value):
                header, _, text = re.sub(r"[=:]", "=", pair, count=1).partition("=")
                if header.strip().lower() not in _PLAIN_HEADERS:
                    decoded = unquote(text).strip()
                    register_secret(text.strip(), decoded, decoded.rpartition(" ")[2])
        if login := _LOGIN.search(value):
            user, _, password = login[1].partition(":")
            register_secret(password or user, unquote(password or user))


def without_secrets(text: str) -> str:
    """Return a text with every known secret replaced by ``***``. Secrets of fewer than 12 characters are kept.

    Applied once where a text comes from an endpoint or a tool's error, so that no secret is stored.
    Also applied once where a text leaves the process: log, terminal, error on a page, alert.
    Imported texts are evidence: such texts are stored and exported unchanged, even if a text
    contains the same characters.

    The forms of a secret in JSON, in URLs and in base64 (also inside of ``Basic user:key``) are
    masked as well.
    """
    for form in _forms:  # longest first: a secret may be a part of another secret
        if form in text:
            text = text.replace(form, "***")
    return text


def _forms_of(secret: str) -> Iterator[str]:
    """Yield the forms in which an endpoint or a library may repeat a secret."""
    for text in (secret, secret.replace("/", "\\/")):
        escaped = text
        for _ in range(
            4
        ):  # a verdict is JSON in the JSON of a reply, and may quote JSON that is escaped once more
            yield escaped
            escaped = json.dumps(escaped)[1:-1]
    yield from (quote(secret, safe=""), quote(secret), quote_plus(secret))
    content = secret.encode(errors="replace")
    for shift in range(3):
        # Base64 writes 3 bytes as 4 characters, so the text depends on the number of bytes before
        # the secret. The characters at both ends also have bits of the bytes around the secret, and
        # are left out.
        first, end = math.ceil(shift * 8 / 6), (shift + len(content)) * 8 // 6
        encoded = base64.b64encode(bytes(shift) + content).decode()[first:end]
        yield from (encoded, encoded.replace("+", "-").replace("/", "_"), quote(encoded, safe=""))


def mask_logs() -> None:
    """Mask the known secrets in all log records of this process, tracebacks included. A second call changes nothing."""
    make = logging.getLogRecordFactory()
    if getattr(make, "masks_secrets", False):
        return

    def make_masked(*args: object, **options: object) -> logging.LogRecord:
        record = make(*args, **options)
        try:
            message = record.getMessage()
        except (TypeError, ValueError, LookupError):  # wrong arguments: logging reports them itself
            return record
        masked_message = without_secrets(message)
        if masked_message != message:
            record.msg, record.args = masked_message, ()
        if record.exc_info:
            # Formatters use this text instead of the exception.
            record.exc_text = without_secrets(logging.Formatter().formatException(record.exc_info))
        return record

    make_masked.masks_secrets = True  # type: ignore[attr-defined]
    logging.setLogRecordFactory(make_masked)


def log_with_time() -> None:
    """Print the log of this program to stderr with time, level and part: for processes that run for days."""
    log = logging.getLogger("judgeboard")
    if not log.handlers:
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
        log.addHandler(handler)
