"""Preferences of people and judges (which of two answers is better), read from the store."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Literal

import numpy as np
from sqlalchemy import Connection

from judgeboard.domain import OVERALL, Preference, Stage
from judgeboard.errors import BadInput, NotFound
from judgeboard.imports.scales import SCORE
from judgeboard.measure.choice import AgreementChoice, By, Unit, slices_of
from judgeboard.measure.ratings import (
    Comparisons,
    ItemRatings,
    RatedTwice,
    RatingPairs,
    item_ratings,
    values_at,
)
from judgeboard.measure.result import without_zeros
from judgeboard.stats.arrays import TIE, AnyArray, FloatArray, IntArray, among, no_ints
from judgeboard.stats.pair_orders import INCONSISTENT, NONE, WRONG, OrderVerdicts
from judgeboard.stats.ratings import PREFERENCE, PeopleValues, Scale, human_values
from judgeboard.store.comparisons import PLAIN, load_comparisons, versions_that_compared
from judgeboard.store.judge_versions import list_versions
from judgeboard.store.pairs import matching_pairs
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
from judgeboard.store.tables import StoredVersion

SIDES = tuple(map(str, Preference))
NO_VERDICT = "no verdict"

PREFERENCE_OR_NONE = Scale("preference", (*SIDES, NO_VERDICT))
"""The scale if contradictory or unusable verdicts count as wrong."""

DIFFERENCE = Scale("difference")
"""How much better B is than A: people's grades of a pair, or a judge's score of B minus the score of A."""

_NO_GRADE = 0


class PairRatings:
    """Preferences of people and judges on one aspect, loaded once.

    ``revealed`` is the number of reviews left out because their author had seen other verdicts
    before.
    """

    unit: Unit = "pairs"
    scale = PREFERENCE
    picked = no_ints()  # no pair is graded on a flag

    def __init__(
        self,
        connection: Connection,
        choice: AgreementChoice,
    ) -> None:
        """Load the preferences; raise `BadInput` if an aspect must be named, `NotFound` if the aspect has none."""
        self.connection = connection
        self._choice = choice
        self.human = choice.counted.human
        self._matching_ids = matching_pairs(connection, choice.counted.where)
        every = load_preferences(connection, self._matching_ids)
        aspects = sorted({each.aspect for each in every if each.blind})
        name = choice.aspect if choice.grade in {None, PREFERENCE.grade} else choice.grade
        # The named aspect, else overall, else the only aspect with preferences.
        if name is not None:
            if aspects and name not in aspects:
                raise NotFound(
                    f"there is no review of the aspect {name!r}; known aspects: {', '.join(aspects)}"
                )
            self.aspect = name
        elif OVERALL in aspects or not aspects:
            self.aspect = OVERALL
        elif len(aspects) > 1:
            raise BadInput(f"choose an aspect with --aspect: {', '.join(aspects)}")
        else:
            self.aspect = aspects[0]
        of_aspect = [each for each in every if each.aspect == self.aspect]
        self._blind = [each for each in of_aspect if each.blind]
        reviewed_pairs = {
            (each.pair_id, each.reviewer_id)
            for each in of_aspect
            if each.stage is not Stage.ADJUDICATION
        }
        self.revealed = len(
            reviewed_pairs - {(each.pair_id, each.reviewer_id) for each in self._blind}
        )
        self._gold_counts = self.aspect == OVERALL or len(aspects) < 2
        self._verdicts: dict[int, Comparisons | None] = {}
        self._rating_pairs: dict[int, RatingPairs] = {}
        preferences = [
            each
            for of_pair in counted_preferences(self._blind).values()
            for each in of_pair.values()
        ]
        self._pair_ids = np.array([each.pair_id for each in preferences], dtype=np.int64)
        self._reviewer_ids = np.array([each.reviewer_id for each in preferences], dtype=np.int64)
        self._sides = codes(side_of(each) for each in preferences)
        self._numbers: FloatArray = np.array(
            [np.nan if each.value is None else each.value for each in preferences], dtype=np.float64
        )
        self.names = reviewer_names(connection)

    def people(self) -> ItemRatings:
        """Return which side each person preferred."""
        return self._ratings(
            self._pair_ids, self._reviewer_ids, self._sides.astype(np.float64), PREFERENCE
        )

    def people_numbers(self) -> ItemRatings | None:
        """Return each person's grades of pairs on a scale; None if there are none."""
        rows = ~np.isnan(self._numbers)
        if not rows.any():
            return None
        return self._ratings(
            self._pair_ids[rows], self._reviewer_ids[rows], self._numbers[rows], DIFFERENCE
        )

    def rated_twice(self) -> RatedTwice:
        """Return people's first and last preference on pairs that they reviewed repeatedly (such as in both orders)."""
        reviews: dict[tuple[int, int], list[CurrentPreference]] = {}
        for each in self._blind:
            reviews.setdefault((each.pair_id, each.reviewer_id), []).append(each)
        again = [
            sorted(rows, key=lambda each: each.review_id)
            for rows in reviews.values()
            if len(rows) > 1
        ]
        ids = np.array([rows[0].pair_id for rows in again], dtype=np.int64)
        names = np.array([self.names[rows[0].reviewer_id] for rows in again], dtype=np.str_)
        first, second = (
            codes(side_of(rows[at]) for rows in again).astype(np.float64) for at in (0, -1)
        )
        return RatedTwice(ids, names, first, second, self._questions(ids))

    def gold(self, ids: IntArray) -> FloatArray:
        """Return the gold labels of pairs."""
        gold_ids, sides = self._gold
        return values_at(ids, gold_ids, sides.astype(np.float64))

    @cached_property
    def versions(self) -> Sequence[StoredVersion]:
        """The versions with rating pairs that compared answers, or else that scored answers; the most pairs first."""
        versions = versions_that_compared(self.connection) or list_versions(self.connection)
        counts = {each.id: self.compared(each).n for each in versions if self._found(each)}
        return sorted(
            (each for each in versions if counts.get(each.id)), key=lambda each: -counts[each.id]
        )

    def compared(self, version: StoredVersion) -> RatingPairs:
        """Return the rating pairs of a judge version."""
        if version.id in self._rating_pairs:
            return self._rating_pairs[version.id]
        verdicts = self.verdicts(version)
        people = self._people_values(self._sides, "label")
        is_judged = among(people.response_ids, verdicts.ids)
        at = np.searchsorted(verdicts.ids, people.response_ids[is_judged])
        sides = self._counted(verdicts)[at]
        left_out = {
            "ties": people.ties,
            "only_gold": people.only_gold,
            "without_verdict": int((~is_judged).sum()),
            "inconsistent": int((sides == INCONSISTENT).sum()),
            "unusable": int((sides == NONE).sum()),
        }
        preferences = people.values.astype(np.int64)[is_judged]
        counts = sides >= 0
        scale = PREFERENCE_OR_NONE if (sides == WRONG).any() else PREFERENCE
        pairs = self._as_pairs(scale, verdicts.ids[at][counts], sides[counts], preferences[counts])
        pairs = replace(
            pairs, left_out=without_zeros(left_out), comparisons=verdicts.at(np.unique(at))
        )
        self._rating_pairs[version.id] = pairs
        return pairs

    def compared_numbers(self, version: StoredVersion) -> RatingPairs:
        """Pair people's grades with the differences of a judge's scores (no pairs if the judge compared answers)."""
        verdicts, people = (
            self.verdicts(version),
            self._people_values(self._numbers, "groundedness"),
        )
        is_judged = among(
            people.response_ids, verdicts.ids if verdicts.differences is not None else no_ints()
        )
        ids, values = people.response_ids[is_judged], people.values[is_judged]
        judge = (
            values
            if verdicts.differences is None
            else verdicts.differences[np.searchsorted(verdicts.ids, ids)]
        )
        return self._as_pairs(DIFFERENCE, ids, judge, values)

    def slices(self, by: By, pairs: RatingPairs) -> Iterator[tuple[str, RatingPairs]]:
        """Yield each slice of the pairs that a judge version and people rated."""
        every = pairs.comparisons
        if every is not None:
            for name, inside in slices_of(self.connection, self.unit, by, every.ids):
                part = pairs.at(among(pairs.response_ids, every.ids[inside]))
                yield name, replace(part, comparisons=every.at(inside))

    def with_people(self, version: StoredVersion) -> tuple[FloatArray, ItemRatings]:
        """Return a judge version's preferences and the preferences of people on the same pairs."""
        items = self.people()
        return self.judge_on(version, items.ids), items

    def judge_on(self, version: StoredVersion, ids: IntArray) -> FloatArray:
        """Return a judge version's verdicts on pairs, as inconsistent and unusable ones count; NaN if there is none."""
        verdicts = self.verdicts(version)
        sides = self._counted(verdicts)
        rows = sides >= 0
        return values_at(ids, verdicts.ids[rows], sides[rows].astype(np.float64))

    def _counted(self, verdicts: Comparisons) -> IntArray:
        return verdicts.orders.counted(self._choice.inconsistent, self._choice.unusable)

    def judges(self, versions: Sequence[StoredVersion]) -> ItemRatings:
        """Return the usable verdicts of judge versions in each order: a row is a pair in one order.

        Judges are compared in the same order, because preferences may change with the order.
        """
        usable: list[IntArray] = [
            np.empty((3, 0), dtype=np.int64)
        ]  # pair and order, judge version, side
        for each in versions:
            if (verdicts := self._found(each)) is not None:
                for place, sides in enumerate((verdicts.orders.ab, verdicts.orders.ba)):
                    items = _in_order(verdicts.ids, place)[sides >= 0]
                    usable.append(
                        np.stack((items, np.full(len(items), each.id), sides[sides >= 0]))
                    )
        items, raters, sides = np.concatenate(usable, axis=1)
        names = {each.id: each.title for each in versions}
        questions = self._questions(items // 2)
        ratings = item_ratings(
            items, raters, sides.astype(np.float64), PREFERENCE, questions, names, unit=self.unit
        )
        return replace(ratings, ids=ratings.ids // 2)

    def left_out_of_judges(
        self, versions: Sequence[StoredVersion], items: ItemRatings
    ) -> dict[str, int]:
        """Count the pairs in one order that fewer than two of these judge versions rated, by reason."""
        verdicts = [
            comparisons for each in versions if (comparisons := self._found(each)) is not None
        ]
        asked_ids = [
            _in_order(each.ids[each.asked[place]], place) for each in verdicts for place in (0, 1)
        ]
        _, judges = np.unique(np.concatenate(asked_ids), return_counts=True)
        in_common = int((items.ratings.per_item > 1).sum())
        return {
            "one_judge": int((judges == 1).sum()),
            "few_usable": int((judges > 1).sum()) - in_common,
        }

    def verdicts(self, version: StoredVersion) -> Comparisons:
        """Return a version's comparisons on this aspect, or else its score differences; `NotFound` without both."""
        verdicts = self._found(version)
        if verdicts is None:
            raise NotFound(f"{version.title} has no verdict on pairs for {self.aspect}")
        return verdicts

    def _found(self, version: StoredVersion) -> Comparisons | None:
        if version.id not in self._verdicts:
            self._verdicts[version.id] = self._asked(version) or self._scored(version)
        return self._verdicts[version.id]

    def _people_values(
        self, values: AnyArray, kind: Literal["label", "groundedness"]
    ) -> PeopleValues:
        """Return the values that a judge is compared with; ``values`` has one per person and pair (NaN: no value)."""
        rows = ~np.isnan(values.astype(np.float64))
        ids, reviewer_ids, values = self._pair_ids[rows], self._reviewer_ids[rows], values[rows]
        if kind != "label":
            return human_values(ids, reviewer_ids, values, kind, human=self.human)
        gold_ids, sides = self._gold
        is_gold = np.repeat([False, True], (len(ids), len(gold_ids)))
        ids = np.concatenate((ids, gold_ids))
        reviewer_ids = np.concatenate((reviewer_ids, np.zeros_like(gold_ids)))
        return human_values(
            ids, reviewer_ids, np.concatenate((values, sides)), kind, gold=is_gold, human=self.human
        )

    def _as_pairs(
        self, scale: Scale, ids: IntArray, judge: AnyArray, people: AnyArray
    ) -> RatingPairs:
        types = self.facts.query_types.codes[np.searchsorted(self.facts.ids, ids)]
        nothing = np.full(len(ids), np.nan)
        no_cut = np.zeros(len(ids), dtype=np.bool_)
        no_days = np.full(len(ids), -1)
        sides = (judge.astype(np.float64), people.astype(np.float64))
        return RatingPairs(
            scale, ids, *sides, nothing, no_cut, self._questions(ids), types, no_days
        )

    @cached_property
    def facts(self) -> PairFacts:
        """Query type, source, gold label and question of all pairs."""
        return pair_facts(self.connection)

    def _questions(self, ids: IntArray) -> IntArray:
        """Return the question of each pair, as a number: intervals resample questions."""
        return self.facts.questions[np.searchsorted(self.facts.ids, ids)]

    @property
    def _gold(self) -> tuple[IntArray, IntArray]:
        """The pairs with a gold label, and its side. On other aspects than overall, gold labels may not count."""
        has_gold = (self.facts.gold != _NO_GRADE) & self._gold_counts
        if self._matching_ids is not None:
            has_gold &= np.isin(self.facts.ids, list(self._matching_ids))
        return self.facts.ids[has_gold], self.facts.gold[has_gold] - 1

    def _ratings(
        self, ids: IntArray, reviewer_ids: IntArray, values: FloatArray, scale: Scale
    ) -> ItemRatings:
        return item_ratings(
            ids, reviewer_ids, values, scale, self._questions(ids), self.names, unit=self.unit
        )

    def _is_wanted(self, pair_id: int) -> bool:
        return self._matching_ids is None or pair_id in self._matching_ids

    def _asked(self, version: StoredVersion) -> Comparisons | None:
        every = load_comparisons(self.connection, [version.id], condition=PLAIN)
        rows = [row for row in every if row.aspect == self.aspect and self._is_wanted(row.pair_id)]
        if not rows:
            return None
        ids = np.array([row.pair_id for row in rows], dtype=np.int64)
        masks = np.array([row.asked_ab for row in rows]), np.array([row.asked_ba for row in rows])
        return Comparisons(ids, order_verdicts(rows, one_order=is_one_order(version, every)), masks)

    def _scored(self, version: StoredVersion) -> Comparisons | None:
        names = dimensions_of_version(self.connection, version.id)
        overall = self.aspect == OVERALL
        dimension = next(
            (name for name in (self.aspect, *((SCORE,) if overall else ())) if name in names), None
        )
        ids = np.empty(0, dtype=np.int64)
        if dimension is not None or overall:
            ids, differences = score_differences(self.connection, version.id, dimension)
        is_matching = np.array([self._is_wanted(id_) for id_ in ids.tolist()], dtype=np.bool_)
        if not is_matching.any():
            return None
        ids, differences = ids[is_matching], differences[is_matching]
        sides = np.where(np.abs(differences) < TIE, 2, np.where(differences > 0, 1, 0)).astype(
            np.int64
        )
        orders = OrderVerdicts(
            sides, np.full_like(sides, NONE), one_order=True, questions=self._questions(ids)
        )
        is_asked = np.ones(len(ids), dtype=np.bool_)
        return Comparisons(ids, orders, (is_asked, ~is_asked), differences)


def _in_order(ids: IntArray, place: int) -> IntArray:
    """Return an id for each pair in one order: ``place`` is 0 with A first, 1 with B first."""
    return ids * 2 + place
