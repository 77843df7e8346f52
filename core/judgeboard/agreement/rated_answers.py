"""Ratings of logged answers on one grade: a label, a groundedness, a quality, or a dimension of a rubric."""

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from sqlalchemy import Connection

from judgeboard.agreement.pair_source import led_by_primary, left_out_of
from judgeboard.agreement.rating_source import HeldAgainst, ItemRatings, RatedTwice, Unit, item_ratings, values_at
from judgeboard.answer_pairs import (
    GRADES,
    as_said,
    column_of,
    gold,
    is_given,
    judge_values,
    pairs_of,
    people_values,
    voices,
)
from judgeboard.errors import BadInput, NotFound
from judgeboard.imports.cells import Unusable
from judgeboard.imports.scales import scale_in
from judgeboard.stats.arrays import FloatArray, IntArray, among
from judgeboard.stats.people import Human, PeopleValues
from judgeboard.stats.ratings import positions
from judgeboard.stats.scales import SCALES, Scale
from judgeboard.store.figures.current_verdicts import current_verdicts
from judgeboard.store.figures.graded_answers import GradedAnswers, load_graded
from judgeboard.store.judgments.judge_versions import StoredVersion, list_versions
from judgeboard.store.responses.response_facts import response_facts
from judgeboard.store.reviews.dimensions import dimensions_scored, scales_of_dimension
from judgeboard.store.reviews.ratings import ADJUDICATION, AGAIN
from judgeboard.store.reviews.reviewers import reviewer_names
from judgeboard.store.settings_table import primary_judge, thresholds

_MOST_LEVELS = 20  # a scale with more of them is a score


class AnswerRatings:
    """What people and judges gave logged answers on one grade, read once."""

    unit: Unit = "responses"

    def __init__(self, connection: Connection, grade: str, *, graded: GradedAnswers | None = None) -> None:
        """Read it; raise `NotFound` for a dimension that nobody scored, `BadInput` for one on several scales.

        ``graded`` is what `load_graded` read for one of the three grades, where that was done already.
        """
        self._connection = connection
        dimension = None if grade in GRADES else grade
        self.scale = SCALES[grade] if dimension is None else _scale_of(connection, dimension)
        self.graded = graded if graded is not None and dimension is None else load_graded(connection, dimension)
        self.cut = thresholds(connection).low_groundedness
        self._dimension = dimension
        self._held: dict[tuple[int, Human], HeldAgainst] = {}
        self._people: dict[Human, PeopleValues] = {}

    @property
    def grade(self) -> str:
        """The name of the grade."""
        return self.scale.grade

    def people(self) -> ItemRatings:
        """Return what each person gave each answer."""
        said = voices(self.graded.reviews, self.scale)
        values = as_said(said.values, self.grade)
        groups = self._groups(said.response_ids)
        return item_ratings(said.response_ids, said.reviewer_ids, values, self.scale, groups, self._names)

    def rated_twice(self) -> RatedTwice:
        """Return each person's first grade of an answer beside the latest that they gave when it was served again.

        Two other words of a person on one answer are no repeat: they had seen the judge in between, changed their mind,
        or decided two flags of one answer at once.
        """
        reviews = self.graded.reviews
        values = column_of(reviews.given, self.grade)
        again = reviews.stages == AGAIN
        rows = np.flatnonzero(is_given(values) & (reviews.stages != ADJUDICATION))
        # The oldest comes first among what somebody said of an answer, and what was said of it again after all else.
        order = rows[np.lexsort((again[rows], reviews.reviewer_ids[rows], reviews.response_ids[rows]))]
        ids, who = reviews.response_ids[order], reviews.reviewer_ids[order]
        starts = np.flatnonzero(np.append(True, (ids[1:] != ids[:-1]) | (who[1:] != who[:-1]))[: len(order)])
        ends = np.append(starts[1:], len(order))[: len(starts)] - 1
        repeated = ~again[order[starts]] & again[order[ends]]
        starts, ends = starts[repeated], ends[repeated]
        names = np.array([self._names.get(each, str(each)) for each in who[starts].tolist()], dtype=np.str_)
        first, second = (as_said(values[order[at]], self.grade) for at in (starts, ends))
        return RatedTwice(ids[starts], names, first, second, self._groups(ids[starts]))

    def gold(self, ids: IntArray) -> FloatArray:
        """Return what was adjudicated."""
        settled = gold(self.graded.reviews, self.scale)
        return values_at(ids, settled.response_ids, positions(as_said(settled.values, self.grade), self.scale))

    def versions(self) -> Sequence[StoredVersion]:
        """Return the versions with a verdict that people can be held beside: the primary judge's newest first."""
        found = [each for each in list_versions(self._connection) if each.id in self.graded.verdicts]
        counts = {each.id: self.held(each, "gold").pairs.n for each in found}
        return led_by_primary(found, counts, primary_judge(self._connection))

    def held(self, version: StoredVersion, human: Human) -> HeldAgainst:
        """Return the pairs of a judge version's current verdicts with what people say."""
        if (version.id, human) not in self._held:
            self._held[version.id, human] = self._hold(version, human)
        return self._held[version.id, human]

    def _hold(self, version: StoredVersion, human: Human) -> HeldAgainst:
        if human not in self._people:
            self._people[human] = people_values(self.graded.reviews, self.scale, human=human)
        people = self._people[human]
        pairs = pairs_of(self.graded, version.id, people, self.scale, self.cut)
        return HeldAgainst(pairs, left_out_of(people, pairs))

    def judge_on(self, version: StoredVersion, ids: IntArray) -> FloatArray:
        """Return a judge version's current verdicts on answers."""
        verdicts = self.graded.verdicts.get(version.id)
        if verdicts is None:
            return np.full(len(ids), np.nan)
        values, _ = judge_values(verdicts, self.grade, self.cut)
        given = is_given(values)
        said = positions(as_said(values[given], self.grade), self.scale)
        return values_at(ids, self.graded.response_ids[given], said)

    def judges(self, versions: Sequence[StoredVersion]) -> ItemRatings:
        """Return the current verdicts of judge versions on the whole log, whether or not people graded it."""
        found = current_verdicts(self._connection, self._dimension, version_ids=[each.id for each in versions])
        values, _ = judge_values(found.given, self.grade, self.cut)
        given = is_given(values)
        return item_ratings(
            found.response_ids[given],
            found.version_ids[given],
            as_said(values[given], self.grade),
            self.scale,
            found.evidence_groups[given],
            {each.id: each.title for each in versions},
        )

    @cached_property
    def _names(self) -> dict[int, str]:
        return reviewer_names(self._connection)

    def _groups(self, response_ids: IntArray) -> IntArray:
        """Return the evidence group of each answer: kept with verdicts, looked up where no judge gave one."""
        known = among(response_ids, self.graded.response_ids)
        groups = np.zeros(len(response_ids), dtype=np.int64)
        groups[known] = self.graded.evidence_groups[np.searchsorted(self.graded.response_ids, response_ids[known])]
        if not known.all():
            facts = response_facts(self._connection, response_ids[~known])
            groups[~known] = facts.evidence_groups[np.searchsorted(facts.ids, response_ids[~known])]
        return groups


def _scale_of(connection: Connection, dimension: str) -> Scale:
    found = scales_of_dimension(connection, dimension)
    if not found.written:
        known = ", ".join((*GRADES, *dimensions_scored(connection)))
        raise NotFound(f"nobody gave a grade called {dimension!r}; grades here: {known}")
    if len(found.written) > 1:
        raise BadInput(f"{dimension} was scored on the scales {' and '.join(found.written)}, which cannot be compared")
    levels = _levels(found.written[0]) if found.whole else None
    return Scale(dimension) if levels is None else Scale(dimension, levels, weights="quadratic")


def _levels(written: str) -> tuple[int, ...] | None:
    """Return the levels of a scale of few whole numbers, None where it is a score."""
    try:
        scale = scale_in("scale", written)
    except Unusable:
        return None
    levels = tuple(range(int(scale.low), int(scale.high) + 1))
    whole = (scale.low, scale.high) == (levels[0], levels[-1])
    return levels if whole and 2 < len(levels) <= _MOST_LEVELS else None
