"""A page of a list that is read by key: its lines, and where in the list they stand."""

from dataclasses import dataclass
from typing import Generic, TypeVar

from judgeboard.store.sql.keyset import Stretch

Line = TypeVar("Line")


@dataclass(frozen=True, slots=True)
class LinePage(Generic[Line]):
    """Some lines of ``total``; ``first`` is the place of the first line, from 1 (0 where there is none).

    ``next_key`` and ``previous_key`` are what ``after`` and ``before`` take; None at the ends.
    """

    lines: tuple[Line, ...]
    total: int
    first: int
    next_key: str | None
    previous_key: str | None


def line_page(stretch: Stretch, lines: tuple[Line, ...]) -> LinePage[Line]:
    """Return the page of a stretch, whose places are ``lines`` in full."""
    return LinePage(
        lines=lines,
        total=stretch.total,
        first=stretch.before + 1 if stretch.places else 0,
        next_key=stretch.next_key,
        previous_key=stretch.previous_key,
    )
