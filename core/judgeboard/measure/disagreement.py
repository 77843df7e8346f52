"""Answers on which a judge version and people differ: listed with the worst first, and counted by cell."""

from dataclasses import dataclass

import numpy as np
from sqlalchemy import Connection

from judgeboard.flags.rule import HALF_STEP
from judgeboard.measure.cells import cell_names, cell_places
from judgeboard.measure.choice import GradeName
from judgeboard.measure.notes import Note, note
from judgeboard.measure.ratings import PairSource, RatingPairs
from judgeboard.measure.result import About, Result, Row
from judgeboard.stats.arrays import FloatArray
from judgeboard.stats.intervals import share_intervals
from judgeboard.store.issues import modes_of_answers
from judgeboard.store.reviews import Review
from judgeboard.store.settings import thresholds
from judgeboard.store.verdict_pairs import JudgedText, judged_texts, person_reviews


@dataclass(frozen=True, slots=True)
class Picture:
    """Counts of pairs in a table: rows are people's values, columns are the judge's, in tenths or categories.

    ``apart`` counts the pairs of a cell that differ by the gap or more. The distance between cells
    does not show this: 0.19 and 0.50 are in cells four tenths apart, but differ by only 0.31.
    """

    axis: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]
    apart: tuple[tuple[int, ...], ...]


Value = str | float | int


@dataclass(frozen=True, slots=True)
class Disagreement:
    """One answer with the grades of judge and people.

    ``difference`` is judge - people in units of the grade (labels: +1 if the judge was too kind, -1
    too harsh). ``person_reviews`` are people's reviews of the answer, the latest first.
    """

    judged: JudgedText
    judge: Value
    people: Value
    difference: float
    person_reviews: tuple[Review, ...]


@dataclass(frozen=True, slots=True)
class DisagreementPage:
    """The answers on which a judge version and people differ.

    ``total`` is the number of listed answers: answers that differ by ``gap`` or more (labels: at
    all), or all answers of the chosen cell. ``rows`` are the first listed answers.
    """

    headline: Note
    gap: float
    picture: Picture
    rows: tuple[Disagreement, ...]
    total: int


def disagreement_page(
    source: PairSource,
    version_id: int,
    grade: GradeName,
    *,
    cell: tuple[int, int] | None = None,
    limit: int = 50,
) -> DisagreementPage:
    """Return where a judge version and people differ, the answers that differ most first.

    ``cell`` selects the answers in a (row, column) of the picture, even answers that do not differ.
    """
    limits = thresholds(source.connection)
    gap = {"label": 1.0, "groundedness": limits.disagree_groundedness}.get(
        grade, limits.disagree_quality
    )
    pairs = source.pairs(version_id, grade)
    difference = pairs.judge - pairs.people  # hallucinated is 0, grounded 1
    apart = np.abs(difference) >= gap - HALF_STEP
    kind, harsh = int((apart & (difference > 0)).sum()), int((apart & (difference < 0)).sum())
    is_listed = apart
    if cell is not None:
        is_listed = (cell_places(pairs.scale, pairs.people) == cell[0]) & (
            cell_places(pairs.scale, pairs.judge) == cell[1]
        )
    # Listed rows by difference (rounded: float noise must not order a page), then by id.
    rows = np.flatnonzero(is_listed)
    steps = np.rint(np.abs(difference[rows]) / (2 * HALF_STEP)).astype(np.int64)
    # All differing labels are equally far apart: the scores that are furthest from 0.5 come first.
    sure = (
        np.abs(np.nan_to_num(pairs.scores[rows], nan=0.5) - 0.5)
        if grade == "label"
        else np.zeros(len(rows))
    )
    order = rows[np.lexsort((pairs.response_ids[rows], -sure, -steps))]
    page_rows = order[:limit]
    axis = cell_names(grade)
    k = len(axis)
    cells = cell_places(pairs.scale, pairs.people) * k + cell_places(pairs.scale, pairs.judge)
    counts, far = (
        np.bincount(inside, minlength=k * k).reshape(k, k).tolist()
        for inside in (cells, cells[apart])
    )
    return DisagreementPage(
        note("differ", answers=pairs.n, kind=kind, harsh=harsh),
        gap,
        Picture(axis, tuple(map(tuple, counts)), tuple(map(tuple, far))),
        _rows(
            source.connection,
            version_id,
            pairs.at(page_rows),
            difference[page_rows],
            source.counted.reviewer_id,
        ),
        len(order),
    )


def missed_modes(source: PairSource, version_id: int) -> Result:
    """Return what a judge version misses by failure mode, the mode with most misses first.

    Each mode is a slice: ``missed`` is the share of the bad answers of a mode that the judge labels
    good. An answer counts once per mode, whoever tagged it.
    """
    labels = source.pairs(version_id, "label")
    bad = labels.at(labels.people == labels.scale.bad)
    misses = dict(
        zip(bad.response_ids.tolist(), (bad.judge != labels.scale.bad).tolist(), strict=True)
    )
    modes = modes_of_answers(source.connection, list(misses))
    of_mode: dict[str, list[bool]] = {}
    for response_id, names in modes.items():
        for name in names:
            of_mode.setdefault(name, []).append(misses[response_id])
    order = sorted(of_mode, key=lambda mode: (-sum(of_mode[mode]), -len(of_mode[mode]), mode))
    shares = share_intervals(
        [sum(of_mode[mode]) for mode in order], [len(of_mode[mode]) for mode in order]
    )
    return Result(
        about=About(by="failure_mode"),
        headline=note("untagged", untagged=len(misses) - len(modes), bad=len(misses)),
        rows=tuple(Row.of("missed", mode, each) for mode, each in zip(order, shares, strict=True)),
    )


def _rows(
    connection: Connection,
    version_id: int,
    pairs: RatingPairs,
    difference: FloatArray,
    reviewer_id: int | None,
) -> tuple[Disagreement, ...]:
    ids = pairs.response_ids.tolist()
    if not ids:
        return ()
    answers, people = judged_texts(connection, version_id, ids), person_reviews(connection, ids)
    grades = (pairs.scale.named(side).tolist() for side in (pairs.judge, pairs.people))
    columns = zip(ids, *grades, difference.tolist(), strict=True)
    return tuple(
        Disagreement(
            answers[response_id],
            judge_grade,
            people_grade,
            round(apart, 9),
            tuple(
                each
                for each in people.get(response_id, ())
                if reviewer_id in {None, each.reviewer_id}
            ),
        )
        for response_id, judge_grade, people_grade, apart in columns
    )
