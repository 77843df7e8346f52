"""A verdict's claims and attempts as JSON columns, back and forth; keys without a value are left out."""

from collections.abc import Iterable, Mapping
from typing import Any

from judgeboard.domain import Attempt, Claim, ClaimStatus
from judgeboard.storable_text import storable_or_none

_CLAIM = tuple(Claim.__dataclass_fields__)
_ATTEMPT = tuple(Attempt.__dataclass_fields__)


def claims_json(claims: Iterable[Claim] | None) -> list[dict[str, Any]] | None:
    """Return claims as JSON values; None (not asked for) stays None, none found is an empty list."""
    return None if claims is None else [_fields(claim, _CLAIM) for claim in claims]


def attempts_json(attempts: Iterable[Attempt]) -> list[dict[str, Any]]:
    """Return attempts as JSON values, in the order in which they were made."""
    return [_fields(attempt, _ATTEMPT) for attempt in attempts]


def claims_from(stored: Iterable[Mapping[str, Any]] | None) -> tuple[Claim, ...] | None:
    """Return stored claims as they were given; None where none were asked for, or they are forgotten."""
    if stored is None:
        return None
    return tuple(Claim(**{**claim, "status": ClaimStatus(claim["status"])}) for claim in stored)


def _fields(value: Claim | Attempt, names: tuple[str, ...]) -> dict[str, Any]:
    fields = {}
    for name in names:
        field = getattr(value, name)
        if field is not None:
            fields[name] = storable_or_none(str(field)) if isinstance(field, str) else field
    return fields
