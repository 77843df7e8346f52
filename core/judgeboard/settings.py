"""The settings from environment variables, and the secrets that this process knows."""

import base64
import json
import logging
import math
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import Field, dataclass, field, fields
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import Any, get_args
from urllib.parse import quote, quote_plus, unquote

from judgeboard.errors import BadInput
from judgeboard.text import folded_address

PREFIX = "JUDGEBOARD_"
ENVIRONMENT: Mapping[str, str] = os.environ
"""All variables, for those that other tools define."""
# Mask up to the last @ of the word: a password may contain @ and /. It is safer to mask too much than too little.
_PASSWORD = re.compile(
    r"(://[^:/@\s]*:)\S+(@)|([?&][\w-]*(?:password|passphrase|secret|token|key)=)[^&\s]+", re.IGNORECASE
)
SHORTEST_SECRET = 12
"""Characters. A shorter text also stands in texts by chance, so it is not masked there."""
_SECRET_VARIABLE = re.compile(r"(?:API_KEY|SECRET_KEY|SECRET|TOKEN|PASSWORD)\Z")
_HEADERS_VARIABLE = re.compile(r"HEADERS\Z")
_LOGIN = re.compile(r"://([^/\s]*)@")
_PLAIN_HEADERS = frozenset({"accept", "content-type", "user-agent"})


def _number(least: float, most: float = 1e9) -> Any:
    return field(default=None, metadata={"least": least, "most": most})


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings from the environment, None if a variable is not set. A command option takes precedence.

    ``JUDGEBOARD_DB`` is the database (a path or an SQLAlchemy URL), ``JUDGEBOARD_ADMIN`` the e-mail address of the
    first admin, ``JUDGEBOARD_PROVIDER`` and ``JUDGEBOARD_MODEL`` the provider and name of the judge's model,
    ``JUDGEBOARD_PRICES`` a price file, ``JUDGEBOARD_FAMILIES`` a table of models' families and sizes. The primary judge
    and the thresholds (``flags.rule.Thresholds``) take precedence over stored settings. ``JUDGEBOARD_ALWAYS_REVIEW``
    (query types), ``JUDGEBOARD_LOW_GROUNDEDNESS_BY_TYPE`` (``QA=0.3,Summary=0.4``) and ``JUDGEBOARD_IMPLIED_LABELS``
    (rules) are comma-separated lists, or ``none``. ``JUDGEBOARD_CHECKS`` is the file of the checks of logged answers.
    ``JUDGEBOARD_TRACE_QUIET`` and ``JUDGEBOARD_TRACE_LONGEST`` are seconds: a trace whose root has ended becomes an
    answer after 2 quiet seconds, any other after 60. ``JUDGEBOARD_REQUESTS_PER_MINUTE`` and
    ``JUDGEBOARD_TOKENS_PER_MINUTE`` limit the calls of each model at each address, in all processes together: a number,
    or several by pattern of the model's name (``500,claude-*=50``). ``JUDGEBOARD_REPLY_MB`` (8) limits one reply of a
    model, as sent and decompressed. Feedback waits
    ``JUDGEBOARD_FEEDBACK_DAYS`` (7) for its answer. Alerts use ``JUDGEBOARD_SMTP`` (the mail
    server: ``smtps://user:password@host``, ``smtp+starttls://…`` or ``smtp://…``), ``JUDGEBOARD_SMTP_FROM`` (the
    sender), ``JUDGEBOARD_ALERT_COMMAND`` and ``JUDGEBOARD_ALERT_NETWORKS`` (private networks that webhooks may reach).
    """

    db: str | None = None
    provider: str | None = None
    model: str | None = None
    admin: str | None = None
    prices: Path | None = None
    families: Path | None = None
    primary_judge: str | None = None
    low_groundedness: float | None = None
    low_quality: float | None = None
    feedback_gap: float | None = None
    poor_rating: float | None = None
    disagree_groundedness: float | None = None
    disagree_quality: float | None = None
    uncertain_verdict: float | None = None
    random_share: float | None = None
    excuse_refusals: bool | None = None
    excuse_confident: bool | None = None
    implied_labels: tuple[str, ...] | None = None
    random_seed: str | None = None
    always_review: tuple[str, ...] | None = None
    low_groundedness_by_type: tuple[str, ...] | None = None
    checks: Path | None = None
    trace_quiet: float | None = _number(0)
    trace_longest: float | None = _number(0)
    feedback_days: float | None = _number(0.001, 36_500)
    requests_per_minute: tuple[str, ...] | None = None
    tokens_per_minute: tuple[str, ...] | None = None
    reply_mb: float | None = _number(0.01, 1_000)
    smtp: str | None = field(default=None, repr=False)
    smtp_from: str | None = None
    alert_command: str | None = field(default=None, repr=False)
    alert_networks: tuple[str, ...] | None = None


def load_settings() -> Settings:
    """Return the current settings of the environment; raise BadInput for a value of the wrong type."""
    return _parse(tuple(os.environ.items()))


def variable_of(field: str) -> str:
    """Return the name of the environment variable behind a field of `Settings`."""
    return f"{PREFIX}{field.upper()}"


def provider_key(provider: str) -> str | None:
    """Return the key of a provider: OPENAI_API_KEY, ANTHROPIC_API_KEY and so on."""
    key = os.environ.get(f"{provider.upper()}_API_KEY") or None
    register_secret(key)
    return key


def server_address() -> str | None:
    """Return JUDGEBOARD_URL, the address of the pages and of the server that gets answers."""
    return (os.environ.get("JUDGEBOARD_URL") or "").rstrip("/") or None


def provider_address(provider: str) -> str | None:
    """Return the configured address of a provider: OPENAI_BASE_URL, ANTHROPIC_BASE_URL and so on."""
    return os.environ.get(f"{provider.upper()}_BASE_URL") or None


def config_values(settings: Settings, providers: Iterable[str]) -> dict[str, str | None]:
    """Return each variable's value, None if not set. Providers come first. Passwords and keys are masked."""
    values: dict[str, str | None] = {}
    for provider in providers:
        key, address = provider_key(provider), provider_address(provider)
        values[f"{provider.upper()}_API_KEY"] = key and f"{'*' * 8}{key[-4:] if len(key) >= 16 else ''}"
        values[f"{provider.upper()}_BASE_URL"] = address and masked(address)
    for about in fields(settings):
        value = getattr(settings, about.name)
        shown = ", ".join(value) if isinstance(value, tuple) else masked(str(value)) if about.repr else "*" * 8
        values[variable_of(about.name)] = None if value is None else shown
    return values


def masked(address: str) -> str:
    """Return an address or URL with the passwords and known secrets in it masked.

    Any password in an address is masked, known or not. This fits addresses only: in running text and in JSON it would
    mask too much. `without_secrets` is for those.
    """
    return _PASSWORD.sub(lambda match: f"{match[1] or match[3]}***{match[2] or ''}", without_secrets(address))


_registered: frozenset[str] = frozenset()
_forms: tuple[str, ...] = ()
_lock = Lock()


def register_secret(*values: str | None) -> None:
    """Make secrets known to this process, so that `without_secrets` masks them.

    Whoever reads a secret registers it there. Values of fewer than 12 characters are ignored.
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

    These are the values of variables with names such as OPENAI_API_KEY or MLFLOW_TRACKING_PASSWORD, the values of
    custom headers (OTEL_EXPORTER_OTLP_HEADERS), and the passwords in addresses.
    """
    for name, value in environment.items():
        if _SECRET_VARIABLE.search(name):
            register_secret(value.strip())
        elif _HEADERS_VARIABLE.search(name):
            register_secret(*_header_secrets(value))
        if login := _LOGIN.search(value):
            user, _, password = login[1].partition(":")
            register_secret(password or user, unquote(password or user))


def without_secrets(text: str) -> str:
    """Return a text with every known secret replaced by ``***``. Secrets of fewer than 12 characters are kept.

    This is applied once where a text comes from an endpoint or a tool's error, so what is stored of it has no secret.
    It is applied once where a text leaves the process: log, terminal, error on a page, telemetry span, alert. Imported
    texts are evidence: they are stored and exported as they are, even if they contain the same characters.

    The forms of a secret in JSON, in URLs and in base64 (also inside of ``Basic user:key``) are masked as well.
    """
    for form in _forms:  # longest first: a secret may be a part of another one
        if form in text:
            text = text.replace(form, "***")
    return text


def _header_secrets(headers: str) -> Iterator[str]:
    """Yield the values in a list of headers, ``name=value,…`` or lines of ``name: value``, without the scheme."""
    for pair in re.split(r"[,\n]", headers):
        name, _, value = re.sub(r"[=:]", "=", pair, count=1).partition("=")
        if name.strip().lower() not in _PLAIN_HEADERS:
            yield value.strip()
            yield unquote(value).strip()
            yield unquote(value).strip().rpartition(" ")[2]


def _forms_of(secret: str) -> Iterator[str]:
    """Yield the forms in which an endpoint or a library may repeat a secret."""
    for text in (secret, secret.replace("/", "\\/")):
        escaped = text
        for _ in range(4):  # a verdict is JSON in the JSON of a reply, and may quote JSON that is escaped once more
            yield escaped
            escaped = json.dumps(escaped)[1:-1]
    yield from (quote(secret, safe=""), quote(secret), quote_plus(secret))
    content = secret.encode(errors="replace")
    for shift in range(3):
        # Base64 writes 3 bytes as 4 characters, so the text depends on the number of bytes before the secret. The
        # characters at both ends also have bits of the bytes around it: they are left out.
        first, end = math.ceil(shift * 8 / 6), (shift + len(content)) * 8 // 6
        encoded = base64.b64encode(bytes(shift) + content).decode()[first:end]
        yield from (encoded, encoded.replace("+", "-").replace("/", "_"), quote(encoded, safe=""))


def mask_logs() -> None:
    """Mask the known secrets in all log records of this process, tracebacks included. A second call changes nothing."""
    make = logging.getLogRecordFactory()
    if getattr(make, "masks_secrets", False):
        return

    def make_masked(*args: Any, **options: Any) -> logging.LogRecord:
        record = make(*args, **options)
        try:
            message = record.getMessage()
        except (TypeError, ValueError, LookupError):  # wrong arguments: logging reports them itself
            return record
        shown = without_secrets(message)
        if shown != message:
            record.msg, record.args = shown, ()
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


@lru_cache(maxsize=4)
def _parse(environment: tuple[tuple[str, str], ...]) -> Settings:
    # Cached, because each stored batch reads the thresholds, and parsing them takes longer than the SQL statement.
    register_environment(dict(environment))
    texts = {name.upper(): value for name, value in environment if value}
    values = {}
    for about in fields(Settings):
        name = variable_of(about.name)
        if name in texts:
            try:
                values[about.name] = _parsed(about, texts[name])
            except ValueError as error:  # the message leaves out the value, which may be a secret
                raise BadInput(f"{name} is not usable: {error}") from None
    return Settings(**values)


_BOOLEANS = dict.fromkeys(("1", "true", "t", "yes", "y", "on"), True) | dict.fromkeys(
    ("0", "false", "f", "no", "n", "off"), False
)


def _parsed(about: Field[Any], text: str) -> Any:
    """Return the value of a field in a variable's text. Raises ValueError, without the text, for a wrong value."""
    kind = get_args(about.type)[0]  # each type is "kind or None"
    if kind is bool:
        if (word := text.strip().lower()) not in _BOOLEANS:
            raise ValueError("it must be true or false")
        return _BOOLEANS[word]
    if kind is float:
        return _checked_number(text, **about.metadata)
    if kind is str or kind is Path:
        return folded_address(text.strip()) if about.name == "admin" else kind(text)
    return tuple(name for each in text.split(",") if (name := each.strip()) and name != "none")


def _checked_number(text: str, least: float = -math.inf, most: float = math.inf) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise ValueError("it must be a number")
    if not least <= number <= most:
        raise ValueError(f"it must be at least {least:g} and at most {most:g}")
    return number
