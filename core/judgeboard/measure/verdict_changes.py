"""Old and new verdicts on the same answers: which verdicts changed, and which verdicts people agree with."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from sqlalchemy import Connection

from judgeboard.domain import Label
from judgeboard.flags.rule import HALF_STEP
from judgeboard.measure.ratings import PairSource, person_grades
from judgeboard.settings.model import Cuts
from judgeboard.store.grades import HALLUCINATED
from judgeboard.store.verdict_pairs import JudgedText, VerdictPair, texts_of_judgments


class Direction(StrEnum):
    """The direction of a changed verdict: towards the side of people, or away."""

    TOWARDS = "towards"
    AWAY = "away"


class Side(StrEnum):
    """The label of a verdict or a person; without a label, the groundedness cut at the threshold of the flag rule."""

    GOOD = "good"
    BAD = "bad"


@dataclass(frozen=True, slots=True)
class Compared:
    """One response: the sides of both verdicts and of people (None: unknown), and the change of groundedness."""

    pair: VerdictPair
    old_side: Side | None
    new_side: Side | None
    people: Side | None
    change: float | None

    @property
    def flip(self) -> Side | None:
        """The new side if it differs from the old one, else None."""
        if self.old_side is None or self.new_side is None or self.old_side is self.new_side:
            return None
        return self.new_side

    @property
    def direction(self) -> Direction | None:
        """The direction of a changed verdict; None for an unchanged verdict, or if people have no side."""
        if self.flip is None or self.people is None:
            return None
        return Direction.TOWARDS if self.flip is self.people else Direction.AWAY


@dataclass(frozen=True, slots=True)
class Comparison:
    """All pairs in order of interest, and their counts.

    ``compared`` pairs have both sides; people graded ``graded`` of the compared pairs.
    """

    rows: tuple[Compared, ...]
    compared: int
    now_good: int
    now_bad: int
    graded: int
    old_right: int
    new_right: int


def side_of(label: str | None, groundedness: float | None, cut: float) -> Side | None:
    """Return the side of a label, or else of a groundedness (bad below ``cut``); None if both are missing."""
    if label is not None:
        return Side.BAD if label == Label.HALLUCINATED else Side.GOOD
    if groundedness is None:
        return None
    return Side.BAD if groundedness < cut - HALF_STEP else Side.GOOD


def compare(pairs: Sequence[VerdictPair], people: Mapping[int, Side], cuts: Cuts) -> Comparison:
    """Return every pair: changed sides first, then the largest change of groundedness, then by response.

    ``people`` are people's sides by response. A verdict without a label is bad if the groundedness
    is below the cut.
    """
    rows = []
    for pair in pairs:
        cut, old, new = cuts.of(pair.query_type), pair.old.groundedness, pair.new.groundedness
        change = None if old is None or new is None else round(new - old, 9)
        sides = side_of(pair.old.label, old, cut), side_of(pair.new.label, new, cut)
        rows.append(Compared(pair, *sides, people.get(pair.response_id), change))
    both = [row for row in rows if row.old_side is not None and row.new_side is not None]
    graded_rows = [row for row in both if row.people is not None]
    old_right = sum(row.old_side is row.people for row in graded_rows)
    new_right = sum(row.new_side is row.people for row in graded_rows)
    return Comparison(
        tuple(
            sorted(
                rows,
                key=lambda row: (row.flip is None, -abs(row.change or 0.0), row.pair.response_id),
            )
        ),
        len(both),
        sum(row.flip is Side.GOOD for row in both),
        sum(row.flip is Side.BAD for row in both),
        len(graded_rows),
        old_right,
        new_right,
    )


@dataclass(frozen=True, slots=True)
class ComparisonPage:
    """The comparison, and one page of its rows with their texts by judgment; ``total`` rows have the direction."""

    comparison: Comparison
    total: int
    shown: tuple[Compared, ...]
    texts: Mapping[int, JudgedText]


def comparison_page(
    connection: Connection,
    pairs: Sequence[VerdictPair],
    *,
    direction: Direction | None = None,
    offset: int = 0,
    limit: int | None = 50,
) -> ComparisonPage:
    """Return the comparison of ``pairs``, which are from a run or from two versions.

    With a ``direction``, the rows are only the verdicts that moved so; the sentence still describes
    all pairs.
    """
    source = PairSource(connection)
    # People's sides: from the majority label, or else from the mean groundedness, cut like a
    # judge's.
    labelled_ids = person_grades(source.reviews, "label").response_ids
    labels, scores = source.people("label"), source.people("groundedness")
    types = {pair.response_id: pair.query_type for pair in pairs}
    cut = np.array(
        [source.cuts.of(types.get(id_, "")) for id_ in scores.response_ids.tolist()],
        dtype=np.float64,
    )
    below = scores.values < cut - HALF_STEP
    bad = labels.values == HALLUCINATED
    without_label = ~np.isin(scores.response_ids, labelled_ids)
    sides = dict(
        zip(scores.response_ids[without_label].tolist(), below[without_label].tolist(), strict=True)
    )
    sides |= zip(labels.response_ids.tolist(), bad.tolist(), strict=True)
    comparison = compare(
        pairs,
        {response_id: Side.BAD if is_bad else Side.GOOD for response_id, is_bad in sides.items()},
        source.cuts,
    )
    rows = [row for row in comparison.rows if direction is None or row.direction is direction]
    page_rows = tuple(rows[offset : None if limit is None else offset + limit])
    judgment_ids = [
        verdict.judgment_id for row in page_rows for verdict in (row.pair.old, row.pair.new)
    ]
    texts = texts_of_judgments(connection, judgment_ids)
    return ComparisonPage(comparison, len(rows), page_rows, texts)
