"""Preferences of people and judges (which of two answers is better), read from the store."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from sqlalchemy import Connection

from judgeboard.agreement.answer_pairs import AnswerPairs
from judgeboard.agreement.choice import By, Unit, slices_of
from judgeboard.agreement.ratings import ItemRatings, RatedTwice, RatingPairs, item_ratings, values_at
from judgeboard.domain import OVERALL, Preference, Stage
from judgeboard.errors import BadInput, NotFound
from judgeboard.imports.scales import SCORE
from judgeboard.stats.arrays import TIE, AnyArray, BoolArray, FloatArray, IntArray, among
from judgeboard.stats.both_orders import INCONSISTENT, NONE, UnusableAs
from judgeboard.stats.ratings import Human, PeopleValues, Scale, human_values
from judgeboard.store.comparisons import PLAIN, load_comparisons, versions_that_compared
from judgeboard.store.judge_versions import StoredVersion, list_versions
from judgeboard.store.preferences import (
    CurrentPreference,
    PairFacts,
    codes,
    counted_preferences,
    dimensions_of_version,
    is_one_order,
    load_preferences,
    order_verdicts,
    pair_facts,
    score_differences,
    side_of,
)
from judgeboard.store.reviewers import reviewer_names

SIDES = tuple(each.value for each in (Preference.A, Preference.B, Preference.TIE))
UNUSABLE = "unusable"

PREFERENCE = Scale("preference", SIDES)
PREFERENCE_OR_NONE = Scale("preference", (*SIDES, UNUSABLE))
"""The scale if unusable verdicts count as wrong."""

DIFFERENCE = Scale("difference")
"""How much better B is than A: people's grades of a pair, or a judge's score of B minus that of A."""

_NO_GRADE = 0


@dataclass(frozen=True, slots=True, eq=False)
class PairVerdicts:
    """A judge version's verdicts on pairs, by their id.

    ``sides`` are positions in ``SIDES``, `INCONSISTENT` or `NONE`. ``differences`` exist if the judge scored both
    answers instead of comparing them.
    """

    ids: IntArray
    sides: IntArray
    differences: FloatArray | None = None


class PairRatings:
    """Preferences of people and judges on one aspect, loaded once.

    ``revealed`` counts the reviews that do not count, since their author had seen other verdicts before.
    """

    unit: Unit = "pairs"

    def __init__(
        self,
        connection: Connection,
        aspect: str | None = None,
        unusable: UnusableAs = "drop",
        human: Human = "gold",
    ) -> None:
        """Load them; raise `BadInput` if an aspect must be named, `NotFound` for one without preferences."""
        self._connection = connection
        self.unusable = unusable
        self.human = human
        every = load_preferences(connection)
        aspects = sorted({each.aspect for each in every if each.blind})
        self.aspect = _aspect(aspect, aspects)
        of_aspect = [each for each in every if each.aspect == self.aspect]
        self._blind = [each for each in of_aspect if each.blind]
        reviewed = {(each.pair_id, each.reviewer_id) for each in of_aspect if each.stage is not Stage.ADJUDICATION}
        self.revealed = len(reviewed - {(each.pair_id, each.reviewer_id) for each in self._blind})
        self._gold_counts = self.aspect == OVERALL or len(aspects) < 2
        self._verdicts: dict[int, PairVerdicts] = {}
        self._compared: dict[int, RatingPairs] = {}
        preferences = [each for of_pair in counted_preferences(self._blind).values() for each in of_pair.values()]
        self._pair_ids = np.array([each.pair_id for each in preferences], dtype=np.int64)
        self._reviewer_ids = np.array([each.reviewer_id for each in preferences], dtype=np.int64)
        self._sides = codes(side_of(each) for each in preferences)
        self.numbers: FloatArray = np.array(
            [np.nan if each.value is None else each.value for each in preferences], dtype=np.float64
        )
        self.names = reviewer_names(connection)

    @property
    def scale(self) -> Scale:
        """A, B or tie."""
        return PREFERENCE

    @property
    def picked(self) -> IntArray:
        """No pair is graded on a flag."""
        return np.empty(0, dtype=np.int64)

    @property
    def graded(self) -> "PairNumbers | None":
        """The grades of people on a scale, as numbers; None if there are none."""
        return None if np.isnan(self.numbers).all() else PairNumbers(self)

    def people(self) -> ItemRatings:
        """Return which side each person preferred."""
        sides = _words(self._sides)
        return item_ratings(
            self._pair_ids, self._reviewer_ids, sides, PREFERENCE, self._pair_ids, self.names, unit="pairs"
        )

    def rated_twice(self) -> RatedTwice:
        """Return people's first and last preference on pairs that they reviewed more than once, as in both orders."""
        reviews: dict[tuple[int, int], list[CurrentPreference]] = {}
        for each in self._blind:
            reviews.setdefault((each.pair_id, each.reviewer_id), []).append(each)
        again = [sorted(rows, key=lambda each: each.review_id) for rows in reviews.values() if len(rows) > 1]
        ids = np.array([rows[0].pair_id for rows in again], dtype=np.int64)
        names = np.array([self.names[rows[0].reviewer_id] for rows in again], dtype=np.str_)
        first, second = (_words(codes(side_of(rows[at]) for rows in again)) for at in (0, -1))
        return RatedTwice(ids, names, first, second, ids)

    def gold(self, ids: IntArray) -> FloatArray:
        """Return the gold labels of pairs; they are overall preferences, so one of several aspects has none."""
        known = (self.facts.gold != _NO_GRADE) & self._gold_counts
        return values_at(ids, self.facts.ids[known], (self.facts.gold[known] - 1).astype(np.float64))

    @cached_property
    def versions(self) -> Sequence[StoredVersion]:
        """The judges that compared pairs of people's reviews, else those that scored both answers; most pairs first."""
        versions = versions_that_compared(self._connection) or list_versions(self._connection)
        counts = {each.id: self.compared(each).pairs.n for each in versions if self._has_verdicts(each)}
        return sorted((each for each in versions if counts.get(each.id)), key=lambda each: -counts[each.id])

    def compared(self, version: StoredVersion) -> RatingPairs:
        """Return the rating pairs of a judge version.

        Pairs with contradictory orders have no verdict; unusable verdicts count as ``unusable`` says.
        """
        if version.id not in self._compared:
            self._compared[version.id] = self._compare(version)
        return self._compared[version.id]

    def _compare(self, version: StoredVersion) -> RatingPairs:
        verdicts = self.verdicts(version)
        people = self.people_values(self._sides, "label")
        known = among(people.response_ids, verdicts.ids)
        sides = np.full(len(known), NONE)
        sides[known] = verdicts.sides[np.searchsorted(verdicts.ids, people.response_ids[known])]
        none = known & (sides == NONE)
        if self.unusable == "tie":
            sides = np.where(none, SIDES.index(Preference.TIE.value), sides)
        usable = known & (sides >= 0)
        wrong = none if self.unusable == "wrong" else np.zeros_like(none)
        left_out = {
            "ties": people.ties,
            "only_gold": people.only_gold,
            "without_verdict": int((~known).sum()),
            "inconsistent": int((known & (sides == INCONSISTENT)).sum()),
            "unusable": int(none.sum()) if self.unusable == "drop" else 0,
        }
        preferences = _words(people.values.astype(np.int64))
        pairs = self.as_pairs(PREFERENCE, people.response_ids[usable], _words(sides[usable]), preferences[usable])
        counted = self.as_pairs(
            PREFERENCE_OR_NONE,
            people.response_ids[usable | wrong],
            np.where(wrong, UNUSABLE, _words(np.maximum(sides, 0)))[usable | wrong],
            preferences[usable | wrong],
        )
        return RatingPairs(pairs, {why: n for why, n in left_out.items() if n}, counted if wrong.any() else None)

    def slices(self, by: By, pairs: AnswerPairs) -> Iterator[tuple[str, BoolArray]]:
        """Yield the slices of pairs, each with a mask of its pairs."""
        return slices_of(self._connection, self.unit, by, pairs.response_ids)

    def judge_on(self, version: StoredVersion, ids: IntArray) -> FloatArray:
        """Return a judge version's verdicts on pairs, NaN if there is no usable one."""
        verdicts = self.verdicts(version)
        sides = verdicts.sides
        if self.unusable == "tie":
            sides = np.where(sides == NONE, SIDES.index(Preference.TIE.value), sides)
        given = sides >= 0
        return values_at(ids, verdicts.ids[given], sides[given].astype(np.float64))

    def judges(self, versions: Sequence[StoredVersion]) -> ItemRatings:
        """Return the verdicts of judge versions on all pairs that any of them judged."""
        usable: list[IntArray] = [np.empty((3, 0), dtype=np.int64)]  # pair, judge version, side
        for each in versions:
            if self._has_verdicts(each):
                verdicts = self.verdicts(each)
                given = verdicts.sides >= 0
                ids = verdicts.ids[given]
                usable.append(np.stack((ids, np.full(len(ids), each.id), verdicts.sides[given])))
        ids, raters, sides = np.concatenate(usable, axis=1)
        titles = {each.id: each.title for each in versions}
        return item_ratings(ids, raters, _words(sides), PREFERENCE, ids, titles, unit="pairs")

    def verdicts(self, version: StoredVersion) -> PairVerdicts:
        """Return a version's verdicts on this aspect: its comparisons, else the difference of its scores.

        Raises:
            NotFound: It has no verdict on this aspect.
        """
        if version.id not in self._verdicts:
            self._verdicts[version.id] = self._asked(version) or self._scored(version)
        return self._verdicts[version.id]

    def people_values(self, values: AnyArray, kind: Literal["label", "groundedness"]) -> PeopleValues:
        """Return what a judge is compared with; ``values`` has one value per person and pair, NaN if there is none."""
        rows = ~np.isnan(values.astype(np.float64))
        ids, reviewer_ids, values = self._pair_ids[rows], self._reviewer_ids[rows], values[rows]
        if kind != "label":
            return human_values(ids, reviewer_ids, values, kind, human=self.human)
        known = (self.facts.gold != _NO_GRADE) & self._gold_counts
        ids = np.concatenate((ids, self.facts.ids[known]))
        reviewer_ids = np.concatenate((reviewer_ids, np.zeros(int(known.sum()), dtype=np.int64)))
        values = np.concatenate((values, self.facts.gold[known] - 1))
        is_gold = np.arange(len(ids)) >= int(rows.sum())
        return human_values(ids, reviewer_ids, values, kind, gold=is_gold, human=self.human)

    def as_pairs(self, scale: Scale, ids: IntArray, judge: AnyArray, people: AnyArray) -> AnswerPairs:
        """Return rating pairs of a preference or a difference."""
        types = self.facts.query_types.codes[np.searchsorted(self.facts.ids, ids)]
        nothing = np.full(len(ids), np.nan)
        no_cut = np.zeros(len(ids), dtype=np.bool_)
        return AnswerPairs(scale, ids, judge, people, nothing, no_cut, ids, types, np.full(len(ids), -1))

    @cached_property
    def facts(self) -> PairFacts:
        """Query type, source and gold label of all pairs."""
        return pair_facts(self._connection)

    def people_numbers(self) -> ItemRatings:
        """Return the grade of each person on a scale."""
        rows = ~np.isnan(self.numbers)
        ids = self._pair_ids[rows]
        return item_ratings(
            ids, self._reviewer_ids[rows], self.numbers[rows], DIFFERENCE, ids, self.names, unit="pairs"
        )

    def _has_verdicts(self, version: StoredVersion) -> bool:
        try:
            self.verdicts(version)
        except NotFound:
            return False
        return True

    def _asked(self, version: StoredVersion) -> PairVerdicts | None:
        every = load_comparisons(self._connection, [version.id], condition=PLAIN)
        rows = [row for row in every if row.aspect == self.aspect]
        if not rows:
            return None
        ids = np.array([row.pair_id for row in rows], dtype=np.int64)
        return PairVerdicts(ids, order_verdicts(rows, one_order=is_one_order(version, every)).verdicts)

    def _scored(self, version: StoredVersion) -> PairVerdicts:
        scored = dimensions_of_version(self._connection, version.id)
        overall = self.aspect == OVERALL
        dimension = next((name for name in (self.aspect, *((SCORE,) if overall else ())) if name in scored), None)
        ids = np.empty(0, dtype=np.int64)
        if dimension is not None or overall:
            ids, differences = score_differences(self._connection, version.id, dimension)
        if not len(ids):
            raise NotFound(f"{version.title} has no verdict on pairs for {self.aspect}")
        sides = np.where(np.abs(differences) < TIE, 2, np.where(differences > 0, 1, 0))
        return PairVerdicts(ids, sides.astype(np.int64), differences)


class PairNumbers:
    """Grades of pairs on a scale by people, and the difference of a judge's scores of both answers."""

    unit: Unit = "pairs"
    scale = DIFFERENCE

    def __init__(self, pairs: PairRatings) -> None:
        """Use the preferences that were loaded."""
        self._pairs = pairs

    def people(self) -> ItemRatings:
        """Return the grade of each person."""
        return self._pairs.people_numbers()

    def compared(self, version: StoredVersion) -> RatingPairs:
        """Return the rating pairs of a judge's differences; empty for a judge that compared."""
        verdicts = self._pairs.verdicts(version)
        people = self._pairs.people_values(self._pairs.numbers, "groundedness")
        differences = verdicts.differences
        if differences is None:
            differences = np.full(len(verdicts.ids), np.nan)
        judge = values_at(people.response_ids, verdicts.ids, differences)
        rows: BoolArray = ~np.isnan(judge)
        return RatingPairs(
            self._pairs.as_pairs(DIFFERENCE, people.response_ids[rows], judge[rows], people.values[rows]), {}
        )


def _aspect(name: str | None, aspects: Sequence[str]) -> str:
    """Return the named aspect, else overall, else the only one with preferences."""
    if name is not None:
        if aspects and name not in aspects:
            raise NotFound(f"there is no review of the aspect {name!r}; known aspects: {', '.join(aspects)}")
        return name
    if OVERALL in aspects or not aspects:
        return OVERALL
    if len(aspects) > 1:
        raise BadInput(f"choose an aspect with --aspect: {', '.join(aspects)}")
    return aspects[0]


def _words(sides: IntArray) -> AnyArray:
    return np.array(SIDES, dtype="U8")[sides]
