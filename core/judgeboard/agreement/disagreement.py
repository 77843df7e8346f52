"""Answers on which a judge version and people differ, worst first, counted by cell and in words."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal, cast

import numpy as np
from sqlalchemy import Connection

from judgeboard.agreement.answer_pairs import AnswerPairs, GradeName
from judgeboard.agreement.cells import cell_names, cell_places
from judgeboard.agreement.notes import EMPTY
from judgeboard.agreement.ratings import PairSource
from judgeboard.domain import Label
from judgeboard.flags.rule import HALF_STEP
from judgeboard.stats.arrays import BoolArray, FloatArray, IntArray
from judgeboard.store.judge_versions import StoredVersion, list_versions
from judgeboard.store.settings import rules_in_force
from judgeboard.store.verdict_pairs import JudgedText, PersonReview, judged_texts, person_reviews


def times(n: int) -> str:
    """Return "never", "once", "twice" or "564 times"."""
    return {0: "never", 1: "once", 2: "twice"}.get(n, f"{n:,} times")


def disagreement_sentence(grade: GradeName, gap: float, pairs: int, *, too_kind: int, too_harsh: int) -> str:
    """Return how many of ``pairs`` answers differ by ``gap`` or more (labels: at all), and in which direction."""
    if pairs == 0:
        return EMPTY
    apart = too_kind + too_harsh
    answers = "1 answer" if pairs == 1 else f"{pairs:,} answers"
    if apart == 0:
        how = "give different labels" if grade == "label" else f"differ by {gap:g} or more"
        return f"Judge and people never {how} on {answers}."
    how = "give different labels" if grade == "label" else f"are {gap:g} or more apart"
    first, second = (("harsh", too_harsh), ("kind", too_kind))
    if too_kind > too_harsh:
        first, second = second, first
    said = f"{times(first[1])} the judge was too {first[0]}, {times(second[1])} too {second[0]}"
    return f"On {apart:,} of {answers} judge and people {how}: {said}."


@dataclass(frozen=True, slots=True)
class Picture:
    """How many pairs people put into which row and the judge into which column: tenths, or the grade's categories.

    ``apart`` counts those of a cell that differ by the page's gap or more. It is counted answer by answer, as the
    sentence is: tenths four steps apart hold 0.19 against 0.50, which are only 0.31 apart.
    """

    axis: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]
    apart: tuple[tuple[int, ...], ...]


def picture_of(grade: GradeName, pairs: AnswerPairs | None = None, apart: BoolArray | None = None) -> Picture:
    """Return the counts of these pairs, ``apart`` marking those that differ enough to be listed."""
    axis = cell_names(grade)
    k = len(axis)
    if pairs is None or apart is None or pairs.n == 0:
        none = ((0,) * k,) * k
        return Picture(axis, none, none)
    cells = cell_places(grade, pairs.people) * k + cell_places(grade, pairs.judge)
    counts, far = (np.bincount(inside, minlength=k * k).reshape(k, k).tolist() for inside in (cells, cells[apart]))
    return Picture(axis, tuple(map(tuple, counts)), tuple(map(tuple, far)))


Direction = Literal["too_kind", "too_harsh"]
Value = str | float | int

FEW = 30
"""Below this many pairs a scatter of points says more than counts by tenths."""


@dataclass(frozen=True, slots=True)
class Disagreement:
    """One answer: what the judge gave it and what people together did.

    ``difference`` is judge - people in units of the grade (labels: +1 where the judge was too kind, -1 too harsh).
    ``person_reviews`` are the reviews behind it, the latest first.
    """

    said: JudgedText
    judge: Value
    people: Value
    difference: float
    person_reviews: tuple[PersonReview, ...]


@dataclass(frozen=True, slots=True)
class Scattered:
    """One pair as a point, where there are few."""

    response_id: int
    people: Value
    judge: Value


@dataclass(frozen=True, slots=True)
class DisagreementPage:
    """The answers that a filter leaves, and a page of their rows.

    ``versions`` are those with pairs of this grade, the one that is shown unasked first. ``pairs`` answers have both
    grades; ``apart`` of them differ by ``gap`` or more (labels: at all), in ``too_kind`` and ``too_harsh`` ways.
    ``total`` rows are listed: those that differ, or all of the chosen cell.
    """

    sentence: str
    version: StoredVersion | None
    versions: tuple[StoredVersion, ...]
    grade: GradeName
    gap: float
    pairs: int
    apart: int
    too_kind: int
    too_harsh: int
    picture: Picture
    points: tuple[Scattered, ...]
    rows: tuple[Disagreement, ...]
    total: int


def disagreement_page(
    connection: Connection,
    *,
    version_id: int | None = None,
    grade: GradeName = "groundedness",
    query_types: Collection[str] = (),
    reviewer_id: int | None = None,
    direction: Direction | None = None,
    cell: tuple[int, int] | None = None,
    offset: int = 0,
    limit: int = 50,
    source: PairSource | None = None,
) -> DisagreementPage:
    """Return where a judge version and people differ, worst first.

    Args:
        connection: An open transaction.
        version_id: The judge version; None is the primary judge's newest that has pairs of this grade.
        grade: ``label``, ``groundedness`` or ``quality``.
        query_types: Only these, all where empty.
        reviewer_id: Only what this reviewer said counts as people.
        direction: Only answers of which the judge thinks better (``too_kind``) or worse than people.
        cell: Only answers in this (row, column) of the picture, whether or not they differ enough to be listed.
        offset: How many rows to skip.
        limit: How many rows to return, texts loaded for these only.
        source: What `PairSource.open` read for this reviewer, where that was done already.
    """
    source = source or PairSource.open(connection, reviewer_id)
    rules = rules_in_force(connection)
    gap = {"label": 1.0, "groundedness": rules.thresholds.disagree_groundedness}.get(
        grade, rules.thresholds.disagree_quality
    )
    versions = source.paired(list_versions(connection), grade, rules.primary_judge)
    version = next((each for each in versions if version_id in {None, each.id}), None)
    if version is None:
        return DisagreementPage(EMPTY, None, versions, grade, gap, 0, 0, 0, 0, picture_of(grade), (), (), 0)
    pairs = _of_types(source, source.pairs(version.id, grade), query_types)
    difference = _differences(pairs)
    apart = np.abs(difference) >= gap - HALF_STEP
    kind, harsh = int((apart & (difference > 0)).sum()), int((apart & (difference < 0)).sum())
    listed = apart if cell is None else _in_cell(pairs, cell)
    if direction is not None:
        listed = listed & (difference > 0 if direction == "too_kind" else difference < 0)
    order = _worst_first(pairs, difference, np.flatnonzero(listed))
    shown = order[offset : offset + limit]
    few = pairs.n < FEW
    return DisagreementPage(
        disagreement_sentence(grade, gap, pairs.n, too_kind=kind, too_harsh=harsh),
        version,
        versions,
        grade,
        gap,
        pairs.n,
        int(apart.sum()),
        kind,
        harsh,
        picture_of(grade, pairs, apart),
        tuple(map(Scattered, pairs.response_ids.tolist(), pairs.people.tolist(), pairs.judge.tolist())) if few else (),
        _rows(connection, version.id, pairs.at(shown), difference[shown], reviewer_id),
        len(order),
    )


def _of_types(source: PairSource, pairs: AnswerPairs, query_types: Collection[str]) -> AnswerPairs:
    if not query_types:
        return pairs
    names = source.graded.query_type_names
    codes = [code for code, name in enumerate(names) if name in set(query_types)]
    return pairs.at(np.isin(pairs.query_types, codes))


def _differences(pairs: AnswerPairs) -> FloatArray:
    if pairs.grade != "label":
        return np.asarray(pairs.judge - pairs.people, dtype=np.float64)
    good = Label.GROUNDED.value
    return np.asarray(pairs.judge == good, dtype=np.float64) - np.asarray(pairs.people == good, dtype=np.float64)


def _worst_first(pairs: AnswerPairs, difference: FloatArray, rows: IntArray) -> IntArray:
    """Return rows by how far apart the sides are (rounded: float noise must not order a page), then by id."""
    apart = np.rint(np.abs(difference[rows]) / (2 * HALF_STEP)).astype(np.int64)
    # A label has one distance only: there the surest wrong scores come first.
    sure = np.abs(np.nan_to_num(pairs.scores[rows], nan=0.5) - 0.5) if pairs.grade == "label" else np.zeros(len(rows))
    return rows[np.lexsort((pairs.response_ids[rows], -sure, -apart))]


def _in_cell(pairs: AnswerPairs, cell: tuple[int, int]) -> BoolArray:
    people, judge = cell
    grade = cast("GradeName", pairs.grade)
    inside = (cell_places(grade, pairs.people) == people) & (cell_places(grade, pairs.judge) == judge)
    return np.asarray(inside)


def _rows(
    connection: Connection, version_id: int, pairs: AnswerPairs, difference: FloatArray, reviewer_id: int | None
) -> tuple[Disagreement, ...]:
    ids = pairs.response_ids.tolist()
    if not ids:
        return ()
    answers, people = judged_texts(connection, version_id, ids), person_reviews(connection, ids)
    columns = zip(ids, pairs.judge.tolist(), pairs.people.tolist(), difference.tolist(), strict=True)
    return tuple(
        Disagreement(
            answers[response_id],
            judge,
            said,
            round(apart, 9),
            tuple(each for each in people.get(response_id, ()) if reviewer_id in {None, each.reviewer_id}),
        )
        for response_id, judge, said, apart in columns
    )
