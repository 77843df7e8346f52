"""Where a person is on the page of pairs, as its address carries it: numbers that say nothing of the judge."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import streamlit as st

from judgeboard.errors import NotFound
from judgeboard.pairs.report import Listed
from judgeboard_dashboard.picking import Rows

PAGE = "pairs"
# Of the list: bound to its fields. Of one pair: read here.
LIST_FIELDS = ("version", "aspect", "list", "types")
PAIR_FIELDS = ("pair", "of", "in", "among", "type", "seen")


@dataclass(frozen=True, slots=True)
class Place:
    """One pair of a list: ``version_id`` None is the list of pairs that no judge compared.

    ``verdict_seen`` says that it was opened by its line in the list, where the judge's verdict on it stands.
    """

    pair_id: int
    version_id: int | None
    aspect: str
    listed: Listed
    query_types: tuple[str, ...]
    verdict_seen: bool = False

    def rows(self) -> Rows:
        """Return the address of this pair."""
        query: dict[str, str | list[str]] = {"pair": str(self.pair_id), "in": self.aspect}
        if self.version_id is not None:
            query["of"] = str(self.version_id)
        if self.listed is not Listed.ALL:
            query["among"] = str(list(Listed).index(self.listed))
        if self.query_types:
            query["type"] = list(self.query_types)
        if self.verdict_seen:
            query["seen"] = "1"
        return Rows(PAGE, query)

    def at(self, pair_id: int) -> "Place":
        """Return another pair of the same list, whose verdict was not in view."""
        return replace(self, pair_id=pair_id, verdict_seen=False)


def place_in_address() -> Place | None:
    """Return the pair that the address names, None where it names none.

    Raises:
        NotFound: What it names is no number.
    """
    if not st.query_params.get("pair"):
        return None
    among = _number("among") or 0
    return Place(
        pair_id=_number("pair") or 0,
        version_id=_number("of"),
        aspect=st.query_params.get("in") or "overall",
        listed=list(Listed)[among] if among < len(Listed) else Listed.ALL,
        query_types=tuple(st.query_params.get_all("type")),
        verdict_seen=st.query_params.get("seen") == "1",
    )


def list_rows(place: Place, title: str | None, words: Mapping[Listed, str]) -> Rows:
    """Return the address of the list that a pair was opened from; ``title`` is that of its judge version."""
    query: dict[str, str | list[str]] = {"aspect": place.aspect}
    if title is not None:
        query["version"] = title
    if place.listed is not Listed.ALL:
        query["list"] = words[place.listed]
    if place.query_types:
        query["types"] = list(place.query_types)
    return Rows(PAGE, query)


def _number(name: str) -> int | None:
    given = st.query_params.get(name)
    if not given:
        return None
    if not given.isdecimal() or len(given) > 18:
        raise NotFound(f"This address names no pair: {name}={given}")
    return int(given)
