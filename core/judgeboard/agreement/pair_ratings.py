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
from judgeboard.stats.arrays import TIE, AnyArray, BoolArray, FloatArray, IntArray, among, no_ints
from judgeboard.stats.ratings import PREFERENCE, Human, PeopleValues, Scale, human_values
from judgeboard.stats.repeats import INCONSISTENT, NONE, UnusableAs
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

SIDES = tuple(map(str, Preference))
UNUSABLE = "unusable"

PREFERENCE_OR_NONE = Scale("preference", (*SIDES, UNUSABLE))
"""The scale if unusable verdicts count as wrong."""

DIFFERENCE = Scale("difference")
"""How much better B is than A: people's grades of a pair, or a judge's score of B minus its score of A."""

_NO_GRADE = 0


@dataclass(frozen=True, slots=True, eq=False)
class PairVerdicts:
    """A judge version's verdicts on pairs: ``sides`` are positions in ``SIDES``, `INCONSISTENT` or `NONE`.

    ``differences`` are NaN if the judge compared the answers and did not score each of them.
    """

    ids: IntArray
    sides: IntArray
    differences: FloatArray


class PairRatings:
    """Preferences of people and judges on one aspect, loaded once.

    ``revealed`` is the number of reviews left out because their author had seen other verdicts before.
    """

    unit: Unit = "pairs"
    scale = PREFERENCE
    picked = no_ints()  # no pair is graded on a flag

    def __init__(
        self,
        connection: Connection,
        aspect: str | None = None,
        unusable: UnusableAs = "drop",
        human: Human = "gold",
    ) -> None:
        """Load the preferences; raise `BadInput` if an aspect must be named, `NotFound` if it has no preferences."""
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
        self._verdicts: dict[int, PairVerdicts | None] = {}
        self._compared: dict[int, RatingPairs] = {}
        preferences = [each for of_pair in counted_preferences(self._blind).values() for each in of_pair.values()]
        self._pair_ids = np.array([each.pair_id for each in preferences], dtype=np.int64)
        self._reviewer_ids = np.array([each.reviewer_id for each in preferences], dtype=np.int64)
        self._sides = codes(side_of(each) for each in preferences)
        self._numbers: FloatArray = np.array(
            [np.nan if each.value is None else each.value for each in preferences], dtype=np.float64
        )
        self.names = reviewer_names(connection)

    def people(self) -> ItemRatings:
        """Return which side each person preferred."""
        return self._ratings(self._pair_ids, self._reviewer_ids, _words(self._sides), PREFERENCE, self.names)

    def people_numbers(self) -> ItemRatings | None:
        """Return each person's grades of pairs on a scale; None if there are none."""
        rows = ~np.isnan(self._numbers)
        if not rows.any():
            return None
        return self._ratings(
            self._pair_ids[rows], self._reviewer_ids[rows], self._numbers[rows], DIFFERENCE, self.names
        )

    def rated_twice(self) -> RatedTwice:
        """Return people's first and last preference on pairs that they reviewed repeatedly (such as in both orders)."""
        reviews: dict[tuple[int, int], list[CurrentPreference]] = {}
        for each in self._blind:
            reviews.setdefault((each.pair_id, each.reviewer_id), []).append(each)
        again = [sorted(rows, key=lambda each: each.review_id) for rows in reviews.values() if len(rows) > 1]
        ids = np.array([rows[0].pair_id for rows in again], dtype=np.int64)
        names = np.array([self.names[rows[0].reviewer_id] for rows in again], dtype=np.str_)
        first, second = (_words(codes(side_of(rows[at]) for rows in again)) for at in (0, -1))
        return RatedTwice(ids, names, first, second, ids)

    def gold(self, ids: IntArray) -> FloatArray:
        """Return the gold labels of pairs."""
        known, sides = self._gold
        return values_at(ids, known, sides.astype(np.float64))

    @cached_property
    def versions(self) -> Sequence[StoredVersion]:
        """The versions with rating pairs that compared answers, or else that scored them; the most pairs come first."""
        versions = versions_that_compared(self._connection) or list_versions(self._connection)
        counts = {each.id: self.compared(each).pairs.n for each in versions if self._found(each)}
        return sorted((each for each in versions if counts.get(each.id)), key=lambda each: -counts[each.id])

    def compared(self, version: StoredVersion) -> RatingPairs:
        """Return the rating pairs of a judge version; pairs with contradictory orders have no verdict."""
        if version.id not in self._compared:
            self._compared[version.id] = self._compare(version)
        return self._compared[version.id]

    def _compare(self, version: StoredVersion) -> RatingPairs:
        verdicts = self.verdicts(version)
        people = self._people_values(self._sides, "label")
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
        pairs = self._as_pairs(PREFERENCE, people.response_ids[usable], _words(sides[usable]), preferences[usable])
        counted = self._as_pairs(
            PREFERENCE_OR_NONE,
            people.response_ids[usable | wrong],
            np.where(wrong, UNUSABLE, _words(np.maximum(sides, 0)))[usable | wrong],
            preferences[usable | wrong],
        )
        return RatingPairs(pairs, {why: n for why, n in left_out.items() if n}, counted if wrong.any() else None)

    def compared_numbers(self, version: StoredVersion) -> RatingPairs:
        """Pair people's grades with the differences of a judge's scores (no pairs if the judge compared answers)."""
        verdicts, people = self.verdicts(version), self._people_values(self._numbers, "groundedness")
        judge = values_at(people.response_ids, verdicts.ids, verdicts.differences)
        rows: BoolArray = ~np.isnan(judge)
        return RatingPairs(self._as_pairs(DIFFERENCE, people.response_ids[rows], judge[rows], people.values[rows]), {})

    def slices(self, by: By, pairs: AnswerPairs) -> Iterator[tuple[str, BoolArray]]:
        """Yield the slices of pairs, each with a mask of its pairs."""
        return slices_of(self._connection, self.unit, by, pairs.response_ids)

    def judge_on(self, version: StoredVersion, ids: IntArray) -> FloatArray:
        """Return a judge version's verdicts on pairs, NaN if there is no usable one."""
        verdicts = self.verdicts(version)
        sides = verdicts.sides
        if self.unusable == "tie":
            sides = np.where(sides == NONE, SIDES.index(Preference.TIE.value), sides)
        rows = sides >= 0
        return values_at(ids, verdicts.ids[rows], sides[rows].astype(np.float64))

    def judges(self, versions: Sequence[StoredVersion]) -> ItemRatings:
        """Return the verdicts of judge versions on all pairs that any of them judged."""
        usable: list[IntArray] = [np.empty((3, 0), dtype=np.int64)]  # pair, judge version, side
        for each in versions:
            if (verdicts := self._found(each)) is not None:
                rows = verdicts.sides >= 0
                ids = verdicts.ids[rows]
                usable.append(np.stack((ids, np.full(len(ids), each.id), verdicts.sides[rows])))
        ids, raters, sides = np.concatenate(usable, axis=1)
        return self._ratings(ids, raters, _words(sides), PREFERENCE, {each.id: each.title for each in versions})

    def verdicts(self, version: StoredVersion) -> PairVerdicts:
        """Return a version's comparisons on this aspect, or else its score differences; `NotFound` without both."""
        verdicts = self._found(version)
        if verdicts is None:
            raise NotFound(f"{version.title} has no verdict on pairs for {self.aspect}")
        return verdicts

    def _found(self, version: StoredVersion) -> PairVerdicts | None:
        if version.id not in self._verdicts:
            self._verdicts[version.id] = self._asked(version) or self._scored(version)
        return self._verdicts[version.id]

    def _people_values(self, values: AnyArray, kind: Literal["label", "groundedness"]) -> PeopleValues:
        """Return the values that a judge is compared with; ``values`` has one per person and pair (NaN: no value)."""
        rows = ~np.isnan(values.astype(np.float64))
        ids, reviewer_ids, values = self._pair_ids[rows], self._reviewer_ids[rows], values[rows]
        if kind != "label":
            return human_values(ids, reviewer_ids, values, kind, human=self.human)
        known, sides = self._gold
        is_gold = np.repeat([False, True], (len(ids), len(known)))
        ids = np.concatenate((ids, known))
        reviewer_ids = np.concatenate((reviewer_ids, np.zeros_like(known)))
        return human_values(ids, reviewer_ids, np.concatenate((values, sides)), kind, gold=is_gold, human=self.human)

    def _as_pairs(self, scale: Scale, ids: IntArray, judge: AnyArray, people: AnyArray) -> AnswerPairs:
        types = self.facts.query_types.codes[np.searchsorted(self.facts.ids, ids)]
        nothing = np.full(len(ids), np.nan)
        no_cut = np.zeros(len(ids), dtype=np.bool_)
        return AnswerPairs(scale, ids, judge, people, nothing, no_cut, ids, types, np.full(len(ids), -1))

    @cached_property
    def facts(self) -> PairFacts:
        """Query type, source and gold label of all pairs."""
        return pair_facts(self._connection)

    @property
    def _gold(self) -> tuple[IntArray, IntArray]:
        """The pairs with a gold label and its side. On other aspects than overall, gold labels may not count."""
        known = (self.facts.gold != _NO_GRADE) & self._gold_counts
        return self.facts.ids[known], self.facts.gold[known] - 1

    @staticmethod
    def _ratings(
        ids: IntArray, rater_ids: IntArray, values: AnyArray, scale: Scale, names: dict[int, str]
    ) -> ItemRatings:
        return item_ratings(ids, rater_ids, values, scale, ids, names, unit="pairs")

    def _asked(self, version: StoredVersion) -> PairVerdicts | None:
        every = load_comparisons(self._connection, [version.id], condition=PLAIN)
        rows = [row for row in every if row.aspect == self.aspect]
        if not rows:
            return None
        ids = np.array([row.pair_id for row in rows], dtype=np.int64)
        sides = order_verdicts(rows, one_order=is_one_order(version, every)).verdicts
        return PairVerdicts(ids, sides, np.full(len(ids), np.nan))

    def _scored(self, version: StoredVersion) -> PairVerdicts | None:
        scored = dimensions_of_version(self._connection, version.id)
        overall = self.aspect == OVERALL
        dimension = next((name for name in (self.aspect, *((SCORE,) if overall else ())) if name in scored), None)
        ids = np.empty(0, dtype=np.int64)
        if dimension is not None or overall:
            ids, differences = score_differences(self._connection, version.id, dimension)
        if not len(ids):
            return None
        sides = np.where(np.abs(differences) < TIE, 2, np.where(differences > 0, 1, 0))
        return PairVerdicts(ids, sides.astype(np.int64), differences)


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
