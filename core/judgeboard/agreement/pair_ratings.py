"""Ratings from the store: which of two answers is better, given by people and by judges."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from sqlalchemy import Connection

from judgeboard.agreement.answer_pairs import AnswerPairs
from judgeboard.agreement.choice import By, Unit, slices_of
from judgeboard.agreement.ratings import ItemRatings, RatedTwice, RatingPairs, item_ratings, values_at
from judgeboard.domain import OVERALL, Preference, Stage
from judgeboard.errors import BadInput, NotFound
from judgeboard.imports.scales import SCORE
from judgeboard.stats.arrays import TIE, AnyArray, BoolArray, FloatArray, IntArray
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
"""Where unusable verdicts count as wrong: people never say it."""

DIFFERENCE = Scale("difference")
"""How much better B is than A: people's grades of a pair, a judge's score of B less that of A."""

_NO_GRADE = 0


@dataclass(frozen=True, slots=True, eq=False)
class PairVerdicts:
    """What a judge version says of pairs, by their id.

    ``sides`` are positions in ``SIDES``, `INCONSISTENT` or `NONE`; ``differences`` are there where the judge scored
    both answers instead of comparing them.
    """

    ids: IntArray
    sides: IntArray
    differences: FloatArray | None = None


class PairRatings:
    """What people and judges said of pairs on one aspect, read once.

    ``revealed`` counts the people's words that do not count: what was said of a pair after the rest was revealed only.
    """

    unit: Unit = "pairs"

    def __init__(
        self,
        connection: Connection,
        aspect: str | None = None,
        unusable: UnusableAs = "drop",
        human: Human = "gold",
    ) -> None:
        """Read what people said; raise `BadInput` where an aspect must be named, `NotFound` for one nobody spoke of."""
        self._connection = connection
        self.unusable = unusable
        self.human = human
        every = load_preferences(connection)
        standing = [each for each in every if each.blind]
        spoken = sorted({each.aspect for each in standing})
        self.aspect = _aspect(aspect, spoken)
        self._standing = [each for each in standing if each.aspect == self.aspect]
        blind = {(each.pair_id, each.reviewer_id) for each in self._standing}
        told = {
            (each.pair_id, each.reviewer_id)
            for each in every
            if each.aspect == self.aspect and each.stage is not Stage.ADJUDICATION
        } - blind
        self.revealed = len(told)
        self._gold_counts = self.aspect == OVERALL or len(spoken) < 2
        self._verdicts: dict[int, PairVerdicts] = {}
        self._compared: dict[int, RatingPairs] = {}
        voices = [each for of_pair in counted_preferences(self._standing).values() for each in of_pair.values()]
        self._pair_ids = np.array([each.pair_id for each in voices], dtype=np.int64)
        self._reviewer_ids = np.array([each.reviewer_id for each in voices], dtype=np.int64)
        self._sides = codes(side_of(each) for each in voices)
        self._numbers = _numbers(voices)
        self.names = reviewer_names(connection)

    @property
    def scale(self) -> Scale:
        """Which of two answers is better."""
        return PREFERENCE

    @property
    def picked(self) -> IntArray:
        """No pair is graded on a flag."""
        return np.empty(0, dtype=np.int64)

    @property
    def graded(self) -> "PairNumbers | None":
        """What people graded on a scale, as numbers; None where nobody did."""
        return None if np.isnan(self._numbers).all() else PairNumbers(self)

    def people(self) -> ItemRatings:
        """Return which side each person preferred."""
        return item_ratings(
            self._pair_ids,
            self._reviewer_ids,
            _words(self._sides),
            PREFERENCE,
            self._pair_ids,
            self.names,
            unit="pairs",
        )

    def rated_twice(self) -> RatedTwice:
        """Return what people said first and last of pairs that they judged more than once, as in both orders."""
        said: dict[tuple[int, int], list[CurrentPreference]] = {}
        for each in self._standing:
            said.setdefault((each.pair_id, each.reviewer_id), []).append(each)
        again = [sorted(rows, key=lambda each: each.review_id) for rows in said.values() if len(rows) > 1]
        ids = np.array([rows[0].pair_id for rows in again], dtype=np.int64)
        names = np.array([self.names[rows[0].reviewer_id] for rows in again], dtype=np.str_)
        first, second = (_words(codes(side_of(rows[at]) for rows in again)) for at in (0, -1))
        return RatedTwice(ids, names, first, second, ids)

    def gold(self, ids: IntArray) -> FloatArray:
        """Return the gold of pairs; it says which answer is better all in all, so on one of several aspects none."""
        known = self.facts.gold != _NO_GRADE
        known &= self._gold_counts
        return values_at(ids, self.facts.ids[known], (self.facts.gold[known] - 1).astype(np.float64))

    @cached_property
    def versions(self) -> Sequence[StoredVersion]:
        """The judges that compared pairs which people spoke of, else those that scored both answers."""
        compared = versions_that_compared(self._connection) or list_versions(self._connection)
        counts = {each.id: self.compared(each).pairs.n for each in compared if self._speaks(each)}
        found = [each for each in compared if counts.get(each.id)]
        return sorted(found, key=lambda each: -counts[each.id])

    def compared(self, version: StoredVersion) -> RatingPairs:
        """Return a judge version's verdicts beside what people say.

        Pairs on which both orders contradict each other have no verdict; unusable ones count as was chosen.
        """
        if version.id not in self._compared:
            self._compared[version.id] = self._compare(version)
        return self._compared[version.id]

    def _compare(self, version: StoredVersion) -> RatingPairs:
        verdicts = self.verdicts(version)
        people = self.people_say(self._sides, "label")
        at, known = _places(people.response_ids, verdicts.ids)
        sides = np.where(known, verdicts.sides[at] if len(verdicts.ids) else NONE, NONE)
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
        said = _words(people.values.astype(np.int64))
        pairs = self.as_pairs(PREFERENCE, people.response_ids[usable], _words(sides[usable]), said[usable])
        counted = self.as_pairs(
            PREFERENCE_OR_NONE,
            people.response_ids[usable | wrong],
            np.where(wrong, UNUSABLE, _words(np.maximum(sides, 0)))[usable | wrong],
            said[usable | wrong],
        )
        return RatingPairs(pairs, {why: n for why, n in left_out.items() if n}, counted if wrong.any() else None)

    def slices(self, by: By, pairs: AnswerPairs) -> Iterator[tuple[str, BoolArray]]:
        """Yield the slices of pairs with a mask of which lie in each."""
        return slices_of(self._connection, self.unit, by, pairs.response_ids)

    def judge_on(self, version: StoredVersion, ids: IntArray) -> FloatArray:
        """Return a judge version's verdicts on pairs; what is unusable counts as a tie where that was chosen."""
        verdicts = self.verdicts(version)
        sides = verdicts.sides
        if self.unusable == "tie":
            sides = np.where(sides == NONE, SIDES.index(Preference.TIE.value), sides)
        given = sides >= 0
        return values_at(ids, verdicts.ids[given], sides[given].astype(np.float64))

    def judges(self, versions: Sequence[StoredVersion]) -> ItemRatings:
        """Return what judge versions say of all pairs that any of them was asked about."""
        said = [(each.id, self.verdicts(each)) for each in versions if self._speaks(each)]
        usable = [(id_, one.ids[one.sides >= 0], one.sides[one.sides >= 0]) for id_, one in said]
        none: IntArray = np.empty(0, dtype=np.int64)
        ids = np.concatenate([none, *(each for _, each, _ in usable)])
        raters = np.concatenate([none, *(np.full(len(each), id_) for id_, each, _ in usable)])
        sides = np.concatenate([none, *(each for _, _, each in usable)])
        return item_ratings(
            ids, raters, _words(sides), PREFERENCE, ids, {each.id: each.title for each in versions}, unit="pairs"
        )

    def verdicts(self, version: StoredVersion) -> PairVerdicts:
        """Return what a version says of pairs on this aspect: its comparisons, else the difference of its scores.

        Raises:
            NotFound: It says nothing of pairs on this aspect.
        """
        if version.id not in self._verdicts:
            self._verdicts[version.id] = self._asked(version) or self._scored(version)
        return self._verdicts[version.id]

    def people_say(self, values: AnyArray, kind: str) -> PeopleValues:
        """Return what a judge is compared with: ``values`` are of the voices, NaN where one has none."""
        rows = ~np.isnan(values.astype(np.float64))
        ids, who, said = self._pair_ids[rows], self._reviewer_ids[rows], values[rows]
        if kind != "label":
            return human_values(ids, who, said, "groundedness", human=self.human)
        known = (self.facts.gold != _NO_GRADE) & self._gold_counts
        ids = np.concatenate((ids, self.facts.ids[known]))
        who = np.concatenate((who, np.zeros(int(known.sum()), dtype=np.int64)))
        said = np.concatenate((said, self.facts.gold[known] - 1))
        return human_values(ids, who, said, "label", gold=np.arange(len(ids)) >= int(rows.sum()), human=self.human)

    def as_pairs(self, scale: Scale, ids: IntArray, judge: AnyArray, people: AnyArray) -> AnswerPairs:
        """Return rows of pairs as the statistics of agreement take them."""
        types = self.facts.query_types.codes[np.searchsorted(self.facts.ids, ids)]
        nothing = np.full(len(ids), np.nan)
        no_cut = np.zeros(len(ids), dtype=np.bool_)
        return AnswerPairs(scale, ids, judge, people, nothing, no_cut, ids, types, np.full(len(ids), -1))

    @cached_property
    def facts(self) -> PairFacts:
        """Type, source and gold of all pairs."""
        return pair_facts(self._connection)

    def numbers(self) -> tuple[IntArray, IntArray, FloatArray]:
        """Return pair, person and grade of the voices with a number."""
        rows = ~np.isnan(self._numbers)
        return self._pair_ids[rows], self._reviewer_ids[rows], self._numbers[rows]

    @property
    def all_numbers(self) -> FloatArray:
        """The grade of every voice, NaN where it named a side only."""
        return self._numbers

    def _speaks(self, version: StoredVersion) -> bool:
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
        named = [name for name in (self.aspect, *((SCORE,) if self.aspect == OVERALL else ())) if name in scored]
        of_overall = self.aspect == OVERALL and not named
        if not named and not of_overall:
            raise NotFound(f"{version.title} says nothing of pairs on {self.aspect}")
        ids, differences = score_differences(self._connection, version.id, named[0] if named else None)
        if not len(ids):
            raise NotFound(f"{version.title} says nothing of pairs on {self.aspect}")
        sides = np.where(np.abs(differences) < TIE, 2, np.where(differences > 0, 1, 0))
        return PairVerdicts(ids, sides.astype(np.int64), differences)


class PairNumbers:
    """The grades that people gave pairs on a scale, beside the difference of a judge's scores of both answers."""

    unit: Unit = "pairs"
    scale = DIFFERENCE

    def __init__(self, pairs: PairRatings) -> None:
        """Take the pairs that were read."""
        self._pairs = pairs

    def people(self) -> ItemRatings:
        """Return what each person graded."""
        ids, who, values = self._pairs.numbers()
        return item_ratings(ids, who, values, DIFFERENCE, ids, self._pairs.names, unit="pairs")

    def compared(self, version: StoredVersion) -> RatingPairs:
        """Return the difference of a judge's scores beside people's grades; empty for one that compared."""
        verdicts = self._pairs.verdicts(version)
        people = self._pairs.people_say(self._pairs.all_numbers, "score")
        differences = verdicts.differences
        if differences is None:
            differences = np.full(len(verdicts.ids), np.nan)
        judge = values_at(people.response_ids, verdicts.ids, differences)
        rows: BoolArray = ~np.isnan(judge)
        return RatingPairs(
            self._pairs.as_pairs(DIFFERENCE, people.response_ids[rows], judge[rows], people.values[rows]), {}
        )


def _aspect(wanted: str | None, spoken: Sequence[str]) -> str:
    """Return the aspect that is meant: the one named, else overall, else the only one that people speak of."""
    if wanted is not None:
        if spoken and wanted not in spoken:
            raise NotFound(f"nobody spoke of the aspect {wanted!r}; aspects here: {', '.join(spoken)}")
        return wanted
    if OVERALL in spoken or not spoken:
        return OVERALL
    if len(spoken) > 1:
        raise BadInput(f"say on which aspect, with --aspect: {', '.join(spoken)}")
    return spoken[0]


def _numbers(voices: Sequence[CurrentPreference]) -> FloatArray:
    return np.array([np.nan if each.value is None else each.value for each in voices], dtype=np.float64)


def _words(sides: IntArray) -> AnyArray:
    return np.array(SIDES, dtype="U8")[sides]


def _places(ids: IntArray, known: IntArray) -> tuple[IntArray, BoolArray]:
    """Return where each id stands among ``known`` (ascending), and whether it does."""
    if not len(known):
        return np.zeros(len(ids), dtype=np.int64), np.zeros(len(ids), dtype=np.bool_)
    at = np.minimum(np.searchsorted(known, ids), len(known) - 1)
    return at, np.asarray(known[at] == ids)
