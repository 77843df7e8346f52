"""Ratings of logged answers by people and by judge versions, read from the store, and their rating pairs."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from sqlalchemy import Connection

from judgeboard.agreement.answer_pairs import (
    GRADES,
    RatingPairs,
    column_of,
    cuts_of,
    gold,
    is_given,
    judge_values,
    pairs_of,
    people_values,
    person_grades,
)
from judgeboard.agreement.choice import By, Unit, Whose, slices_of
from judgeboard.domain import Estimate
from judgeboard.errors import BadInput, NotFound
from judgeboard.imports.fields import Unusable
from judgeboard.imports.scales import scale_in
from judgeboard.stats.arrays import AnyArray, FloatArray, Grouping, IntArray, among, grouping
from judgeboard.stats.proportions import anchoring
from judgeboard.stats.ratings import SCALES, Human, PeopleValues, Ratings, Scale, positions_of_codes, ratings_of
from judgeboard.store.filters import RowFilter
from judgeboard.store.flags import reviewed_for_flags
from judgeboard.store.grades import ADJUDICATION, AGAIN, before_and_after, dimensions_scored, scales_of_dimension
from judgeboard.store.judge_versions import StoredVersion, list_versions
from judgeboard.store.label_schemas import classes_of
from judgeboard.store.response_pages import response_facts
from judgeboard.store.reviewers import reviewer_names
from judgeboard.store.settings import primary_judge, thresholds
from judgeboard.store.statements import Columns
from judgeboard.store.verdicts import answers_of_prompts, current_verdicts, load_graded, matching_answers

RESAMPLED: dict[Unit, tuple[str, str]] = {"responses": ("response", "evidence group"), "pairs": ("pair", "question")}
"""The names of rows and of the groups that an interval resamples."""

_MOST_LEVELS = 20  # a scale with more levels is a score


@dataclass(frozen=True, slots=True, eq=False)
class ItemRatings(Columns):
    """Items by id, ascending, with one row of ``ratings`` per item."""

    ids: IntArray
    ratings: Ratings


@dataclass(frozen=True, slots=True, eq=False)
class RatedTwice:
    """The first and the latest rating of items that a person rated more than once, one row per person and item."""

    ids: IntArray
    raters: AnyArray
    first: FloatArray
    second: FloatArray
    groups: IntArray


def item_ratings(
    ids: IntArray,
    rater_ids: IntArray,
    values: FloatArray,
    scale: Scale,
    groups: IntArray,
    names: dict[int, str],
    *,
    unit: Unit = "responses",
) -> ItemRatings:
    """Return single ratings as a matrix. Raters with the same name (``names`` by id) get their id as a suffix."""
    items, ratings = ratings_of(ids, rater_ids, values, scale, groups)
    rater_list = np.unique(rater_ids).tolist()
    known = [names.get(each, str(each)) for each in rater_list]
    raters = tuple(
        name if known.count(name) == 1 else f"{name} ({each})" for each, name in zip(rater_list, known, strict=True)
    )
    row, group = RESAMPLED[unit]
    return ItemRatings(items, replace(ratings, raters=raters, groups=replace(ratings.groups, row=row, group=group)))


def grouping_of(pairs: RatingPairs, unit: Unit, human: Human) -> Grouping:
    """Return the groups that an interval resamples: evidence groups of answers, or questions of pairs."""
    row, group = RESAMPLED[unit]
    return grouping(pairs.groups, pairs.n, row="grade" if human == "each" else row, group=group)


def values_at(ids: IntArray, known: IntArray, known_values: FloatArray) -> FloatArray:
    """Return the values of ``known`` items (ascending) for each of ``ids``, NaN if an item is not known."""
    values: FloatArray = np.full(len(ids), np.nan)
    rows = among(ids, known)
    values[rows] = known_values[np.searchsorted(known, ids[rows])]
    return values


def are_related(one: StoredVersion, other: StoredVersion) -> bool:
    """Return whether two versions have the same name, or one is a jury with the other as a member."""
    combined = {*one.params.get("members", ()), *other.params.get("members", ())}
    return one.name == other.name or one.fingerprint in combined or other.fingerprint in combined


class PairSource:
    """Everything that people graded, loaded once, with the rating pairs of each judge version."""

    def __init__(
        self,
        connection: Connection,
        whose: Whose | None = None,
        grade: str | None = None,
    ) -> None:
        """Load all three grades, or one dimension of scores or category of a label schema (``grade``).

        Raises BadInput if people have its scores on several scales, or if ``whose`` asks for the mean of a category.
        """
        dimension = None if grade in {None, *GRADES} else grade
        self.connection = connection
        self._dimension = None if dimension is None else Dimension(connection, dimension)
        self.scales = SCALES if self._dimension is None else {self._dimension.name: self._dimension.scale()}
        self.whose = whose or Whose()
        classes = () if self._dimension is None else self._dimension.classes
        if classes and self.whose.human == "mean":
            raise BadInput(f"the classes of {grade} have no mean: use --human majority")
        self.graded = load_graded(
            connection,
            dimension,
            implied_labels=self.whose.implied_labels,
            where=self.whose.where,
            classes=classes,
        )
        self.cuts = thresholds(connection).cuts
        self.cut = cuts_of(self.cuts, self.graded.query_type_names, self.graded.query_types)
        self._people: dict[Scale, PeopleValues] = {}
        self._pairs: dict[tuple[int, str], RatingPairs] = {}

    def scale_with(self, version_ids: Iterable[int], grade: str, *, people: bool = True) -> Scale:
        """Return the scale on which judge versions are compared with people, or with each other."""
        return self.scales[grade] if self._dimension is None else self._dimension.scale(version_ids, people=people)

    def people(self, grade: str, scale: Scale | None = None) -> PeopleValues:
        """Return one value per answer with this grade, combined as on ``scale`` (default: the scale of people)."""
        scale = scale or self.scales[grade]
        if scale not in self._people:
            self._people[scale] = people_values(self.graded.reviews, scale, self.whose.reviewer_id, self.whose.human)
        return self._people[scale]

    def pairs(self, version_id: int, grade: str) -> RatingPairs:
        """Return the pairs of a judge version with people on one grade."""
        if (version_id, grade) not in self._pairs:
            scale = self.scale_with((version_id,), grade)
            if self.whose.human == "mean" and not scale.names_classes:
                scale = replace(scale, categories=None, weights=None)
            self._pairs[version_id, grade] = pairs_of(
                self.graded, version_id, self.people(grade, scale), scale, self.cut
            )
        return self._pairs[version_id, grade]

    def versions(self, grade: str) -> tuple[StoredVersion, ...]:
        """Return the versions with pairs of a grade; first the primary judge's newest, or else that with most pairs."""
        versions = list_versions(self.connection)
        counts = {each.id: self.pairs(each.id, grade).n for each in versions}
        paired = [version for version in versions if counts[version.id]]
        primary = primary_judge(self.connection)
        of_primary = [version for version in paired if version.name == primary]
        first = of_primary[-1:] or sorted(paired, key=lambda each: (-counts[each.id], -each.id))[:1]
        return (*first, *(version for version in paired if version not in first))


class AnswerRatings:
    """The ratings of logged answers on one grade: label, groundedness, quality or a rubric's dimension."""

    unit: Unit = "responses"
    aspect = None
    revealed = 0

    def __init__(self, source: PairSource, grade: str) -> None:
        self._connection = source.connection
        self.source = source
        self.scale = source.scales[grade]
        self.grade = grade
        self.human = source.whose.human

    @cached_property
    def picked(self) -> IntArray:
        """Ids, ascending, of answers that people graded on a flag of a selective rule."""
        return reviewed_for_flags(self._connection)

    def people(self, scale: Scale | None = None) -> ItemRatings:
        """Return the grade of each person on each answer, on ``scale`` (default: the scale of people)."""
        scale = scale or self.scale
        grades = person_grades(self.source.graded.reviews, scale.grade)
        values = positions_of_codes(column_of(grades.grades, scale.grade), scale)
        groups = self._groups(grades.response_ids)
        return item_ratings(grades.response_ids, grades.reviewer_ids, values, scale, groups, self._names)

    def with_people(self, version: StoredVersion) -> tuple[FloatArray, ItemRatings]:
        """Return a judge version's current verdicts and the grades of people on the same answers, on one scale."""
        scale = self.source.scale_with((version.id,), self.grade)
        if scale.different:
            raise BadInput(f"{version.title} and people score {self.grade} on different scales")
        rated = self.people(scale)
        return self.judge_on(version, rated.ids, scale), rated

    def rated_twice(self) -> RatedTwice:
        """Return each person's first grade of an answer, and their latest grade after a queue repeated the answer.

        Other second reviews do not count as repeats: the person may have seen the judge in between.
        """
        reviews = self.source.graded.reviews
        values = column_of(reviews.grades, self.grade)
        again = reviews.stages == AGAIN
        rows = np.flatnonzero(is_given(values) & (reviews.stages != ADJUDICATION))
        # The oldest review of an answer by a person comes first, and reviews of its repeats after all others.
        order = rows[np.lexsort((again[rows], reviews.reviewer_ids[rows], reviews.response_ids[rows]))]
        ids, who = reviews.response_ids[order], reviews.reviewer_ids[order]
        starts = np.flatnonzero(np.append(True, (ids[1:] != ids[:-1]) | (who[1:] != who[:-1]))[: len(order)])
        ends = np.append(starts[1:], len(order))[: len(starts)] - 1
        repeated = ~again[order[starts]] & again[order[ends]]
        starts, ends = starts[repeated], ends[repeated]
        names = np.array([self._names.get(each, str(each)) for each in who[starts].tolist()], dtype=np.str_)
        first, second = (positions_of_codes(values[order[at]], self.scale) for at in (starts, ends))
        return RatedTwice(ids[starts], names, first, second, self._groups(ids[starts]))

    def gold(self, ids: IntArray) -> FloatArray:
        """Return the gold labels of answers, NaN if there is none."""
        labels = gold(self.source.graded.reviews, self.grade)
        values = positions_of_codes(column_of(labels.grades, self.grade), self.scale)
        return values_at(ids, labels.response_ids, values)

    @cached_property
    def versions(self) -> Sequence[StoredVersion]:
        """The versions with rating pairs, the primary judge's newest first."""
        return self.source.versions(self.grade)

    def compared(self, version: StoredVersion) -> RatingPairs:
        """Return the rating pairs of a judge version's current verdicts, and how many answers are left out."""
        pairs = self.source.pairs(version.id, self.grade)
        people = self.source.people(self.grade, pairs.scale)
        in_prompt = answers_of_prompts(self._connection, [version.id]).counts(people.response_ids)
        counts = {
            "ties": people.ties,
            "only_gold": people.only_gold,
            **in_prompt,
            "without_verdict": len(people.response_ids) - pairs.n - sum(in_prompt.values()),
        }
        return replace(pairs, left_out={why: n for why, n in counts.items() if n})

    def slices(self, by: By, pairs: RatingPairs) -> Iterator[tuple[str, RatingPairs]]:
        """Yield each slice of the answers that a judge version and people rated; without a filter, all query types."""
        if by == "query_type":
            everything, codes = self.source.whose.where == RowFilter(), enumerate(self.source.graded.query_type_names)
            names = sorted((name, code) for code, name in codes if everything or (pairs.query_types == code).any())
            yield from ((name, pairs.at(pairs.query_types == code)) for name, code in names)
        else:
            slices = slices_of(self._connection, self.unit, by, pairs.response_ids)
            yield from ((name, pairs.at(inside)) for name, inside in slices)

    def anchoring(self, version: StoredVersion) -> dict[str, Estimate]:
        """Return how far people moved to a judge version's verdicts after they saw them, by grade (every grade).

        Each row is one person on one answer; the interval resamples answers.
        """
        shares: dict[str, Estimate] = {}
        where = self.source.whose.where
        matching = None if where == RowFilter() else matching_answers(self._connection, where)
        for grade in GRADES:
            grades = before_and_after(self._connection, version.id, grade)
            if matching is not None:
                grades = grades.at(among(grades.response_ids, matching))
            if len(grades.response_ids):
                responses = grouping(grades.response_ids, len(grades.response_ids), row="response", group="response")
                shares[grade] = anchoring(grades.judge, grades.blind, grades.revealed, responses)
        return shares

    def judge_on(self, version: StoredVersion, ids: IntArray, scale: Scale | None = None) -> FloatArray:
        """Return a judge version's current verdicts on answers, on ``scale`` (default: the scale of people)."""
        scale = scale or self.scale
        graded = self.source.graded
        verdicts = graded.verdicts.get(version.id)
        if verdicts is None:
            return np.full(len(ids), np.nan)
        values, _ = judge_values(verdicts, self.grade, self.source.cut)
        rows = is_given(values)
        return values_at(ids, graded.response_ids[rows], positions_of_codes(values[rows], scale))

    def judges(self, versions: Sequence[StoredVersion]) -> ItemRatings:
        """Return the current verdicts of judge versions on the whole log, graded by people or not."""
        dimension = None if self.grade in GRADES else self.grade
        scale = self.source.scale_with([each.id for each in versions], self.grade, people=False)
        verdicts = current_verdicts(self._connection, dimension, version_ids=[each.id for each in versions])
        cut = cuts_of(self.source.cuts, verdicts.query_types.names, verdicts.query_types.codes)
        values, _ = judge_values(verdicts.grades, self.grade, cut)
        rows = is_given(values)
        if self.source.whose.where != RowFilter():
            rows &= among(verdicts.response_ids, matching_answers(self._connection, self.source.whose.where))
        return item_ratings(
            verdicts.response_ids[rows],
            verdicts.version_ids[rows],
            positions_of_codes(values[rows], scale),
            scale,
            verdicts.evidence_groups[rows],
            {each.id: each.title for each in versions},
        )

    def left_out_of_judges(self, versions: Sequence[StoredVersion], rated: ItemRatings) -> dict[str, int]:
        """Count the answers that made the prompt of one of these judge versions, and those that only one rated."""
        made = answers_of_prompts(self._connection, [each.id for each in versions])
        alone = (rated.ratings.per_item == 1) & ~among(rated.ids, made.both)
        everything = self.source.whose.where == RowFilter()
        matching = made.both if everything else matching_answers(self._connection, self.source.whose.where)
        return {**made.counts(matching), "one_judge": int(alone.sum())}

    @cached_property
    def _names(self) -> dict[int, str]:
        return reviewer_names(self._connection)

    def _groups(self, response_ids: IntArray) -> IntArray:
        """Return the evidence group of each answer. Those of answers without a verdict are not loaded yet."""
        graded = self.source.graded
        known = among(response_ids, graded.response_ids)
        groups = np.zeros(len(response_ids), dtype=np.int64)
        groups[known] = graded.evidence_groups[np.searchsorted(graded.response_ids, response_ids[known])]
        if not known.all():
            facts = response_facts(self._connection, response_ids[~known])
            groups[~known] = facts.evidence_groups[np.searchsorted(facts.ids, response_ids[~known])]
        return groups


class Dimension:
    """A dimension of scores, or a category of a label schema, and the scale on which its raters are compared.

    ``classes`` has the options of a category; it is empty if people gave scores. Raises NotFound if no one used it.
    """

    def __init__(self, connection: Connection, name: str) -> None:
        self.name = name
        self._written = scales_of_dimension(connection, name)
        by_people = any(each.version_id is None for each in self._written)
        self.classes = () if by_people else classes_of(connection, name)
        if not self._written and not self.classes:
            known = ", ".join((*GRADES, *dimensions_scored(connection)))
            raise NotFound(f"there is no grade {name!r}; known grades: {known}")

    def scale(self, version_ids: Iterable[int] = (), *, people: bool = True) -> Scale:
        """Return the scale of judge versions and ``people``; without their scores, that of all scores.

        If all scores are whole numbers on one scale of few levels, the levels are categories. Raises BadInput if people
        have scores on several scales.
        """
        if self.classes:
            return Scale(self.name, self.classes)
        raters = {*version_ids, *((None,) if people else ())}
        written = [each for each in self._written if each.version_id in raters] or self._written
        scales = sorted({each.text for each in written})
        of_people = sorted({each.text for each in written if each.version_id is None})
        if len(of_people) > 1:
            raise BadInput(f"people have scores of {self.name} on different scales: {' and '.join(of_people)}")
        if len(scales) > 1:
            return Scale(self.name, different=True)
        levels = _levels(scales[0]) if all(each.whole for each in written) else None
        return Scale(self.name) if levels is None else Scale(self.name, levels, weights="quadratic")


def _levels(written: str) -> tuple[int, ...] | None:
    """Return the levels of a scale of few whole numbers, None for a score."""
    try:
        scale = scale_in("scale", written)
    except Unusable:
        return None
    levels = tuple(range(int(scale.low), int(scale.high) + 1))
    whole = (scale.low, scale.high) == (levels[0], levels[-1])
    return levels if whole and 2 < len(levels) <= _MOST_LEVELS else None
