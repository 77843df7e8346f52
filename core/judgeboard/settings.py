"""The settings from environment variables."""

import math
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import Field, dataclass, field, fields
from functools import lru_cache
from pathlib import Path
from typing import Any, get_args

from judgeboard.errors import BadInput
from judgeboard.text import folded_address

PREFIX = "JUDGEBOARD_"
ENVIRONMENT: Mapping[str, str] = os.environ
"""All variables, for those that other tools define."""
# Mask up to the last @ of the word: a password may contain @ and /. It is safer to mask too much than too little.
_PASSWORD = re.compile(
    r"(://[^:/@\s]*:)\S+(@)|([?&][\w-]*(?:password|passphrase|secret|token|key)=)[^&\s]+", re.IGNORECASE
)


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
    or several by pattern of the model's name (``500,claude-*=50``). Feedback waits
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
    smtp: str | None = field(default=None, repr=False)
    smtp_from: str | None = None
    alert_command: str | None = field(default=None, repr=False)
    alert_networks: tuple[str, ...] | None = None


def load_settings() -> Settings:
    """Return the current settings of the environment; raise BadInput for a value of the wrong type."""
    named = ((name.upper(), value) for name, value in os.environ.items() if value)
    return _parse(tuple(sorted((name, value) for name, value in named if name.startswith(PREFIX))))


def variable_of(field: str) -> str:
    """Return the name of the environment variable behind a field of `Settings`."""
    return f"{PREFIX}{field.upper()}"


def provider_key(provider: str) -> str | None:
    """Return the key of a provider: OPENAI_API_KEY, ANTHROPIC_API_KEY and so on."""
    return os.environ.get(f"{provider.upper()}_API_KEY") or None


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
    """Return an address or URL with the passwords in it masked."""
    return _PASSWORD.sub(lambda match: f"{match[1] or match[3]}***{match[2] or ''}", address)


@lru_cache(maxsize=4)
def _parse(environment: tuple[tuple[str, str], ...]) -> Settings:
    # Cached, because each stored batch reads the thresholds, and parsing them takes longer than the SQL statement.
    texts, values = dict(environment), {}
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
