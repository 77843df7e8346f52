"""Finds the one response or pair that a record names by its outside id."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol, TypeVar


class Named(Protocol):
    """What answers to an outside id."""

    @property
    def source(self) -> str:
        """Which source it is of."""


class Name(NamedTuple):
    """An outside id with the source it is looked for in; None looks everywhere."""

    external_id: str
    source: str | None


Found = TypeVar("Found", bound=Named)


def the_named(what: str, name: Name, named: Mapping[str, Sequence[Found]]) -> Found | str:
    """Return the one that answers to a name, or why there is none.

    Args:
        what: response or pair.
        name: What is looked for.
        named: Those that are stored, by outside id.
    """
    candidates = [one for one in named.get(name.external_id, ()) if name.source is None or one.source == name.source]
    if len(candidates) == 1:
        return candidates[0]
    if candidates:
        sources = " and ".join(repr(one.source) for one in candidates)
        return f"{name.external_id!r} is in the sources {sources}: say which with --source"
    where = "" if name.source is None else f" in source {name.source!r}"
    return f"no {what} {name.external_id!r}{where}: import the {what}s first"
