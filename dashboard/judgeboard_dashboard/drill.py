"""Cells of agreement in an address: ``?pairs=label&of=3&people_said=hallucinated`` opens the answers of that cell."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from judgeboard.agreement.choice import By
from judgeboard.agreement.rater_cells import RaterCell, Raters, answers_rated, rater_words
from judgeboard.answer_pairs import GradeName
from judgeboard.errors import BadInput
from judgeboard.pair_cells import PairCell, answers_in, cell_words
from judgeboard.stats.people import Human
from judgeboard_dashboard.picking import Rows
from judgeboard_dashboard.session import reading

# Names that no page binds as a filter: after Back the page before carries them for a moment.
CELL_FIELDS = ("pairs", "of", "people_said", "judge_said", "scored", "reviewer", "human", "sliced", "slice", "raters")


_OF_RATERS = ("pairs", "raters", "sliced", "slice")
_RATERS = re.compile(r"([a-z]+)-(\d{1,18})-(\d{1,18})")


@dataclass(frozen=True, slots=True)
class Drilled:
    """The answers of a cell, in words, and the part of the address that names it."""

    response_ids: tuple[int, ...]
    words: str
    query: dict[str, list[str]]


def cell_rows(cell: PairCell, **more: str) -> Rows:
    """Return a cell's answers on the Responses page; ``more`` are filters that narrow it (query_type, from, to)."""
    given = (
        cell.grade,
        str(cell.version_id),
        cell.people,
        cell.judge,
        cell.score,
        None if cell.reviewer_id is None else str(cell.reviewer_id),
        None if cell.human == "gold" else cell.human,
        cell.by,
        cell.slice,
        None,
    )
    named = {name: value for name, value in zip(CELL_FIELDS, given, strict=True) if value is not None}
    return Rows("responses", {**named, **more})


def rater_rows(cell: RaterCell) -> Rows:
    """Return the answers of two raters on the Responses page."""
    named = {"pairs": cell.grade, "raters": f"{cell.raters}-{cell.first}-{cell.second}"}
    sliced = {} if cell.by is None else {"sliced": cell.by, "slice": cell.slice or ""}
    return Rows("responses", {**named, **sliced})


def drilled(address: Mapping[str, list[str]]) -> Drilled | None:
    """Return the cell that an address names, None where it names none.

    Raises:
        JudgeboardError: It names one that there is not.
    """
    given = {name: address[name][-1] for name in CELL_FIELDS if address.get(name)}
    if "pairs" not in given:
        return None
    if "raters" in given:
        return _of_raters(given)
    cell = PairCell(
        _number(given, "of"),
        cast("GradeName", given["pairs"]),
        given.get("people_said"),
        given.get("judge_said"),
        given.get("scored"),
        _number(given, "reviewer") if "reviewer" in given else None,
        cast("Human", given.get("human", "gold")),
        cast("By | None", given.get("sliced")),
        given.get("slice"),
    )
    with reading() as connection:
        words, response_ids = cell_words(connection, cell), answers_in(connection, cell)
    return Drilled(response_ids, words, {name: [value] for name, value in given.items()})


def _of_raters(given: Mapping[str, str]) -> Drilled:
    found = _RATERS.fullmatch(given["raters"])
    if found is None:
        raise BadInput(f"this address names no raters: {given['raters']}")
    raters, first, second = found.groups()
    cell = RaterCell(
        cast("Raters", raters),
        cast("GradeName", given["pairs"]),
        int(first),
        int(second),
        cast("By | None", given.get("sliced")),
        given.get("slice"),
    )
    with reading() as connection:
        words, response_ids = rater_words(connection, cell), answers_rated(connection, cell)
    return Drilled(response_ids, words, {name: [value] for name, value in given.items() if name in _OF_RATERS})


def _number(given: Mapping[str, str], name: str) -> int:
    value = given.get(name, "")
    if not value.isdecimal() or len(value) > 18:
        raise BadInput(f"this address names no cell: {name}={value}")
    return int(value)
