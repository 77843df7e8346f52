"""Ratings of logged answers by people and by judge versions, read from the store, and their rating pairs."""

import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeAlias

import numpy as np
from sqlalchemy import Connection

from judgeboard.domain import Estimate
from judgeboard.errors import BadInput, NotFound
from judgeboard.flags.rule import HALF_STEP
from judgeboard.imports.fields import Unusable
from judgeboard.imports.scales import scale_in
from judgeboard.judges.evidence_alignment import Level
from judgeboard.measure.choice import EVERYBODY, GRADES, By, CountedGrades, Unit, slices_of
from judgeboard.measure.result import without_zeros
from judgeboard.measure.sample import graded_of, reviewed_for_flags, served_notices
from judgeboard.settings.model import Cuts
from judgeboard.stats.arrays import (
    AnyArray,
    BoolArray,
    FloatArray,
    Grouping,
    IntArray,
    among,
    grouping,
)
from judgeboard.stats.estimates import MIN_PAIRS
from judgeboard.stats.pair_orders import OrderVerdicts
from judgeboard.stats.proportions import anchoring, share
from judgeboard.stats.ratings import (
    SCALES,
    Human,
    Kind,
    PeopleValues,
    Ratings,
    Scale,
    human_values,
    positions_of_codes,
    ratings_of,
)
from judgeboard.store.filters import RowFilter, where_options
from judgeboard.store.grades import (
    ADJUDICATION,
    AGAIN,
    BLIND,
    GROUNDED,
    HALLUCINATED,
    GradedReviews,
    Grades,
    any_reveal,
    before_and_after,
    dimensions_scored,
    graded_reviews,
    scales_of_dimension,
)
from judgeboard.store.judge_versions import (
    list_versions,
    retired_versions,
)
from judgeboard.store.label_schemas import classes_of
from judgeboard.store.response_pages import response_facts
from judgeboard.store.responses import last_response_id
from judgeboard.store.reviewers import reviewer_names
from judgeboard.store.runs import PLAIN, Selection, count_unasked
from judgeboard.store.settings import primary_judge, thresholds
from judgeboard.store.statements import Columns, TextColumn
from judgeboard.store.tables import StoredVersion
from judgeboard.store.verdicts import (
    CurrentVerdicts,
    MadePrompt,
    answers_of_prompts,
    current_verdicts,
    graded_answers,
    made_prompts,
    matching_answers,
    read_verdicts,
)

RESAMPLED: dict[Unit, tuple[str, str]] = {
    "responses": ("response", "evidence group"),
    "pairs": ("pair", "question"),
}
"""The names of rows and of the groups that an interval resamples."""

_MOST_LEVELS = 20  # a scale with more levels is a score

Cut: TypeAlias = float | FloatArray  # one value, or one per row


@dataclass(frozen=True, slots=True, eq=False)
class RatingPairs:
    """One row per item that the judge and people rated (if people are stacked: per person and item), by id.

    An item is an answer or a pair of answers. ``judge`` and ``people`` are positions among the
    categories of ``scale``, or scores. ``scores`` is the judge's groundedness, NaN if there is
    none; ``cut`` marks labels derived from groundedness. ``groups`` are evidence groups,
    ``query_types`` are positions in the loaded names, ``days`` are UTC days (below 0: no time).
    ``left_out`` counts the items without a row by reason. Only pairs of answers have
    ``comparisons``.
    """

    scale: Scale
    response_ids: IntArray
    judge: FloatArray
    people: FloatArray
    scores: FloatArray
    cut: BoolArray
    groups: IntArray
    query_types: IntArray
    days: IntArray
    left_out: dict[str, int] = field(default_factory=dict)
    comparisons: "Comparisons | None" = None

    @property
    def n(self) -> int:
        """The number of pairs."""
        return len(self.response_ids)

    def at(self, rows: AnyArray) -> "RatingPairs":
        """Return some of the pairs, by a mask or by positions, as if there were no others."""
        return RatingPairs(self.scale, *(getattr(self, name)[rows] for name in _COLUMNS))


_COLUMNS = ("response_ids", "judge", "people", "scores", "cut", "groups", "query_types", "days")


@dataclass(frozen=True, slots=True, eq=False)
class Comparisons:
    """A judge version's verdicts on pairs of answers, by id, whether or not a verdict counts.

    ``asked`` is a mask for each order (A first, B first): the pairs about which the judge was
    asked. ``differences`` is None if the judge compared the answers. A judge that scored each
    answer alone has verdicts of one order.
    """

    ids: IntArray
    orders: OrderVerdicts
    asked: tuple[BoolArray, BoolArray]
    differences: FloatArray | None = None

    def at(self, rows: AnyArray) -> "Comparisons":
        """Return the verdicts on some of the pairs, by a mask or by positions."""
        a_first, b_first = self.asked
        differences = None if self.differences is None else self.differences[rows]
        return Comparisons(
            self.ids[rows], self.orders.at(rows), (a_first[rows], b_first[rows]), differences
        )


def person_grades(
    reviews: GradedReviews, grade: str, reviewer_id: int | None = None
) -> GradedReviews:
    """Return the review with the grade of each person, or of one person, on each answer.

    Each reviewer's latest blind review counts, or else their latest review. Adjudications
    (``gold``) and reviews after the reveal or of a repeated item do not count.
    """
    rows = (reviews.stages != ADJUDICATION) & (reviews.stages != AGAIN)
    if reviewer_id is not None:
        rows &= reviews.reviewer_ids == reviewer_id
    return _latest(reviews, grade, rows, by_reviewer=True)


def gold(reviews: GradedReviews, grade: str) -> GradedReviews:
    """Return the latest adjudication of each answer that has the grade."""
    return _latest(reviews, grade, reviews.stages == ADJUDICATION, by_reviewer=False)


def people_values(
    reviews: GradedReviews, scale: Scale, reviewer_id: int | None = None, human: Human = "gold"
) -> PeopleValues:
    """Return the grades that a judge is compared with (``human_values``), in the order of the answers' ids.

    With ``reviewer_id`` only this person's grades count, and no adjudications.
    """
    own = person_grades(reviews, scale.grade, reviewer_id)
    parts = [own] if reviewer_id is not None else [own, gold(reviews, scale.grade)]
    ids, reviewer_ids = (
        np.concatenate([getattr(part, name) for part in parts])
        for name in ("response_ids", "reviewer_ids")
    )
    values = np.concatenate([column_of(part, scale.grade) for part in parts])
    is_gold = np.arange(len(ids)) >= len(own.response_ids)
    return human_values(ids, reviewer_ids, values, combined_as(scale), gold=is_gold, human=human)


def combined_as(scale: Scale) -> Kind:
    """Return how the grades of several people are combined: majority, lower median of ordered categories, or mean."""
    if scale.categories is None:
        return "groundedness"
    return "label" if scale.weights is None else "quality"


def pairs_of(
    verdicts: CurrentVerdicts, people: PeopleValues, scale: Scale, cut: Cut
) -> RatingPairs:
    """Return the rating pairs of one judge version's ``verdicts``, by answer, and grades of people (``people_values``).

    If the judge gave no label, the answer counts as hallucinated if its groundedness is below
    ``cut``, one value or one per verdict.
    """
    is_judged = among(people.response_ids, verdicts.response_ids)
    at, grades = (
        np.searchsorted(verdicts.response_ids, people.response_ids[is_judged]),
        people.values[is_judged],
    )
    values, was_cut = judge_values(verdicts, scale.grade, cut)
    rows = is_given(values[at])
    at, grades = at[rows], grades[rows]
    return RatingPairs(
        scale,
        verdicts.response_ids[at],
        positions_of_codes(values[at], scale),
        positions_of_codes(grades, scale),
        verdicts.groundedness[at],
        was_cut[at],
        verdicts.evidence_groups[at],
        verdicts.query_types.codes[at],
        verdicts.days[at],
    )


def judge_values(verdicts: Grades, grade: str, cut: Cut) -> tuple[AnyArray, BoolArray]:
    """Return a judge's values of a grade (labels as positions), and the mask of labels derived from groundedness."""
    values = column_of(verdicts, grade)
    if grade != "label":
        return values, np.zeros(len(values), dtype=np.bool_)
    return with_cut(values, verdicts.groundedness, cut)


def with_cut(labels: IntArray, groundedness: FloatArray, cut: Cut) -> tuple[IntArray, BoolArray]:
    """Return labels (as positions), derived from groundedness where missing, and the mask of derived labels."""
    was_cut = (labels == 0) & ~np.isnan(groundedness)
    return np.where(
        was_cut, np.where(groundedness < cut - HALF_STEP, HALLUCINATED, GROUNDED), labels
    ), was_cut


def cuts_of(cuts: Cuts, query_types: TextColumn) -> FloatArray:
    """Return the cut of each row."""
    return np.array([cuts.of(name) for name in query_types.names], dtype=np.float64)[
        query_types.codes
    ]


def is_given(values: AnyArray) -> BoolArray:
    """Return which values of a grade exist: scores that are not NaN, labels and qualities that are not 0."""
    return ~np.isnan(values) if values.dtype.kind == "f" else np.asarray(values != 0)


def column_of(grades: Grades, grade: str) -> AnyArray:
    """Return the values of a grade; any other name is the rubric dimension that was loaded."""
    table = {"label": grades.labels, "groundedness": grades.groundedness, "quality": grades.quality}
    return table.get(grade, grades.scores)


def _latest(
    reviews: GradedReviews, grade: str, is_counted: BoolArray, *, by_reviewer: bool
) -> GradedReviews:
    """Return one review per response (and person, if ``by_reviewer``): the latest blind one, or else the latest."""
    values = column_of(reviews, grade)
    rows = np.flatnonzero(is_given(values) & is_counted)  # the oldest first
    reviewer_ids = (
        reviews.reviewer_ids[rows] if by_reviewer else np.zeros(len(rows), dtype=np.int64)
    )
    # lexsort is stable: among equals the rows keep their order, so the latest comes last.
    at = np.lexsort((reviews.stages[rows] == BLIND, reviewer_ids, reviews.response_ids[rows]))
    response_ids, reviewer_ids = reviews.response_ids[rows[at]], reviewer_ids[at]
    is_last = np.ones(len(at), dtype=np.bool_)
    is_last[:-1] = (response_ids[1:] != response_ids[:-1]) | (reviewer_ids[1:] != reviewer_ids[:-1])
    return reviews.at(rows[at][is_last])


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
    rater_list = np.flatnonzero(np.bincount(rater_ids)).tolist()
    rater_names = [names.get(each, str(each)) for each in rater_list]
    raters = tuple(
        name if rater_names.count(name) == 1 else f"{name} ({each})"
        for each, name in zip(rater_list, rater_names, strict=True)
    )
    row, group = RESAMPLED[unit]
    return ItemRatings(
        items, replace(ratings, raters=raters, groups=replace(ratings.groups, row=row, group=group))
    )


def grouping_of(pairs: RatingPairs, unit: Unit, human: Human) -> Grouping:
    """Return the groups that an interval resamples: evidence groups of answers, or questions of pairs."""
    row, group = RESAMPLED[unit]
    return grouping(pairs.groups, pairs.n, row="grade" if human == "each" else row, group=group)


def values_at(ids: IntArray, item_ids: IntArray, item_values: FloatArray) -> FloatArray:
    """Return for each of ``ids`` the value of the item in ``item_ids`` (ascending), NaN for other ids."""
    values: FloatArray = np.full(len(ids), np.nan)
    rows = among(ids, item_ids)
    values[rows] = item_values[np.searchsorted(item_ids, ids[rows])]
    return values


def are_related(one: StoredVersion, other: StoredVersion) -> bool:
    """Return whether two versions have the same name, or one is a jury with the other as a member."""
    members = {*one.params.get("members", ()), *other.params.get("members", ())}
    return one.name == other.name or one.fingerprint in members or other.fingerprint in members


class PairSource:
    """Everything that people graded, loaded once, with the rating pairs of each judge version."""

    def __init__(
        self, connection: Connection, counted: CountedGrades = EVERYBODY, grade: str | None = None
    ) -> None:
        """Load all three grades, or one dimension of scores or category of a label schema (``grade``).

        Raises BadInput if people have scores of the dimension on several scales, or if ``counted``
        asks for the mean of a category.
        """
        dimension = None if grade in {None, *GRADES} else grade
        self.connection = connection
        self._dimension = None if dimension is None else Dimension(connection, dimension)
        self.scales = (
            SCALES if self._dimension is None else {self._dimension.name: self._dimension.scale()}
        )
        self.counted = counted
        classes = () if self._dimension is None else self._dimension.classes
        if classes and self.counted.human == "mean":
            raise BadInput(f"the classes of {grade} have no mean: use --human majority")
        # The ids of the answers that count, None for all.
        self.matching = (
            None if counted.where == RowFilter() else matching_answers(connection, counted.where)
        )
        if dimension is None:
            reviews, verdicts = graded_of(connection, implied_labels=counted.implied_labels)
        else:
            reviews = graded_reviews(
                connection, dimension, implied_labels=counted.implied_labels, classes=classes
            )
            verdicts = read_verdicts(connection, dimension, of_reviewed=True)
            reviews, verdicts = graded_answers(connection, reviews, verdicts)
        if self.matching is not None:
            reviews = reviews.at(among(reviews.response_ids, self.matching))
            verdicts = verdicts.at(among(verdicts.response_ids, self.matching))
        self.reviews, self._current = reviews, verdicts
        self.cuts = thresholds(connection).cuts
        self._people: dict[Scale, PeopleValues] = {}
        self._verdicts: dict[int, CurrentVerdicts] = {}
        self._pairs: dict[tuple[int, str], RatingPairs] = {}

    @property
    def query_types(self) -> tuple[str, ...]:
        """The names to which the positions in `RatingPairs.query_types` refer."""
        return self._current.query_types.names

    def evidence_groups(self, response_ids: IntArray) -> IntArray:
        """Return the evidence group of each answer. Groups of answers without a verdict are loaded here."""
        judged_ids, first = np.unique(self._current.response_ids, return_index=True)
        is_judged = among(response_ids, judged_ids)
        groups = np.zeros(len(response_ids), dtype=np.int64)
        groups[is_judged] = self._current.evidence_groups[first][
            np.searchsorted(judged_ids, response_ids[is_judged])
        ]
        if not is_judged.all():
            facts = response_facts(self.connection, response_ids[~is_judged])
            groups[~is_judged] = facts.evidence_groups[
                np.searchsorted(facts.ids, response_ids[~is_judged])
            ]
        return groups

    def verdicts(self, version_id: int) -> CurrentVerdicts:
        """Return the current verdicts of a judge version on the graded answers, by answer."""
        if version_id not in self._verdicts:
            self._verdicts[version_id] = self._current.of_version(version_id)
        return self._verdicts[version_id]

    def judge_values(self, verdicts: CurrentVerdicts, grade: str) -> AnyArray:
        """Return the values of a grade in verdicts; labels are cut at the threshold of the query type."""
        return judge_values(verdicts, grade, cuts_of(self.cuts, verdicts.query_types))[0]

    def scale_with(self, version_ids: Iterable[int], grade: str, *, people: bool = True) -> Scale:
        """Return the scale on which judge versions are compared with people, or with each other."""
        return (
            self.scales[grade]
            if self._dimension is None
            else self._dimension.scale(version_ids, people=people)
        )

    def people(self, grade: str, scale: Scale | None = None) -> PeopleValues:
        """Return one value per answer with this grade, combined as on ``scale`` (default: the scale of people)."""
        scale = scale or self.scales[grade]
        if scale not in self._people:
            self._people[scale] = people_values(
                self.reviews, scale, self.counted.reviewer_id, self.counted.human
            )
        return self._people[scale]

    def pairs(self, version_id: int, grade: str) -> RatingPairs:
        """Return the rating pairs of a judge version on one grade, and how many answers have none, by reason."""
        if (version_id, grade) not in self._pairs:
            scale = self.scale_with((version_id,), grade)
            if self.counted.human == "mean" and not scale.names_classes:
                scale = replace(scale, categories=None, weights=None)
            people, verdicts = self.people(grade, scale), self.verdicts(version_id)
            pairs = pairs_of(verdicts, people, scale, cuts_of(self.cuts, verdicts.query_types))
            prompt = self._prompts.get(version_id)
            in_prompt = {} if prompt is None else prompt.counts(people.response_ids)
            counts = {
                "ties": people.ties,
                "only_gold": people.only_gold,
                **in_prompt,
                "without_verdict": len(people.response_ids) - pairs.n - sum(in_prompt.values()),
            }
            self._pairs[version_id, grade] = replace(pairs, left_out=without_zeros(counts))
        return self._pairs[version_id, grade]

    @cached_property
    def _prompts(self) -> dict[int, MadePrompt]:
        return made_prompts(self.connection)

    def versions(self, grade: str) -> tuple[StoredVersion, ...]:
        """Return the versions with pairs of a grade; first the primary judge's newest, or else that with most pairs."""
        versions = list_versions(self.connection)
        counts = {each.id: self.pairs(each.id, grade).n for each in versions}
        usable = [version for version in versions if counts[version.id]]
        primary = primary_judge(self.connection)
        of_primary = [version for version in usable if version.name == primary]
        first = of_primary[-1:] or sorted(usable, key=lambda each: (-counts[each.id], -each.id))[:1]
        return (*first, *(version for version in usable if version not in first))


class AnswerRatings:
    """The ratings of logged answers on one grade: label, groundedness, quality or a rubric's dimension."""

    unit: Unit = "responses"
    aspect = None
    revealed = 0

    def __init__(self, source: PairSource, grade: str) -> None:
        self.connection = source.connection
        self.source = source
        self.scale = source.scales[grade]
        self.grade = grade
        self.human = source.counted.human

    @cached_property
    def picked(self) -> IntArray:
        """Ids, ascending, of answers that people graded on a flag of a selective rule."""
        return reviewed_for_flags(self.connection)

    def people(self, scale: Scale | None = None) -> ItemRatings:
        """Return the grade of each person on each answer, on ``scale`` (default: the scale of people)."""
        scale = scale or self.scale
        grades = person_grades(self.source.reviews, scale.grade)
        values = positions_of_codes(column_of(grades, scale.grade), scale)
        groups = self.source.evidence_groups(grades.response_ids)
        return item_ratings(
            grades.response_ids, grades.reviewer_ids, values, scale, groups, self._names
        )

    def with_people(self, version: StoredVersion) -> tuple[FloatArray, ItemRatings]:
        """Return a judge version's current verdicts and the grades of people on the same answers, on one scale."""
        scale = self.source.scale_with((version.id,), self.grade)
        if scale.different:
            raise BadInput(f"{version.title} and people score {self.grade} on different scales")
        items = self.people(scale)
        return self.judge_on(version, items.ids, scale), items

    def rated_twice(self) -> RatedTwice:
        """Return each person's first grade of an answer, and their latest grade after a queue repeated the answer.

        Other second reviews do not count as repeats: the person may have seen the judge in between.
        """
        reviews = self.source.reviews
        values = column_of(reviews, self.grade)
        again = reviews.stages == AGAIN
        rows = np.flatnonzero(is_given(values) & (reviews.stages != ADJUDICATION))
        # The oldest review of an answer by a person comes first, and reviews of its repeats after
        # all others.
        order = rows[
            np.lexsort((again[rows], reviews.reviewer_ids[rows], reviews.response_ids[rows]))
        ]
        ids, who = reviews.response_ids[order], reviews.reviewer_ids[order]
        starts = np.flatnonzero(
            np.append(True, (ids[1:] != ids[:-1]) | (who[1:] != who[:-1]))[: len(order)]
        )
        ends = np.append(starts[1:], len(order))[: len(starts)] - 1
        is_repeated = ~again[order[starts]] & again[order[ends]]
        starts, ends = starts[is_repeated], ends[is_repeated]
        names = np.array(
            [self._names.get(each, str(each)) for each in who[starts].tolist()], dtype=np.str_
        )
        first, second = (positions_of_codes(values[order[at]], self.scale) for at in (starts, ends))
        return RatedTwice(
            ids[starts], names, first, second, self.source.evidence_groups(ids[starts])
        )

    def gold(self, ids: IntArray) -> FloatArray:
        """Return the gold labels of answers, NaN if there is none."""
        labels = gold(self.source.reviews, self.grade)
        values = positions_of_codes(column_of(labels, self.grade), self.scale)
        return values_at(ids, labels.response_ids, values)

    @cached_property
    def versions(self) -> Sequence[StoredVersion]:
        """The versions with rating pairs, the primary judge's newest first."""
        return self.source.versions(self.grade)

    def compared(self, version: StoredVersion) -> RatingPairs:
        """Return the rating pairs of a judge version's current verdicts, and how many answers are left out."""
        return self.source.pairs(version.id, self.grade)

    def slices(self, by: By, pairs: RatingPairs) -> Iterator[tuple[str, RatingPairs]]:
        """Yield each slice of the answers that a judge version and people rated; without a filter, all query types."""
        if by == "query_type":
            every, codes = self.source.matching is None, enumerate(self.source.query_types)
            names = sorted(
                (name, code) for code, name in codes if every or (pairs.query_types == code).any()
            )
            yield from ((name, pairs.at(pairs.query_types == code)) for name, code in names)
        else:
            slices = slices_of(self.connection, self.unit, by, pairs.response_ids)
            yield from ((name, pairs.at(inside)) for name, inside in slices)

    def anchoring(self, version: StoredVersion) -> dict[str, Estimate]:
        """Return how far people moved to a judge version's verdicts after the reveal, by grade (every grade).

        Each row is one person on one answer; the interval resamples answers.
        """
        shares: dict[str, Estimate] = {}
        for grade in GRADES if any_reveal(self.connection) else ():
            grades = before_and_after(self.connection, version.id, grade)
            if self.source.matching is not None:
                grades = grades.at(among(grades.response_ids, self.source.matching))
            if len(grades.response_ids):
                responses = grouping(
                    grades.response_ids, len(grades.response_ids), row="response", group="response"
                )
                shares[grade] = anchoring(grades.judge, grades.blind, grades.revealed, responses)
        return shares

    def judge_on(
        self, version: StoredVersion, ids: IntArray, scale: Scale | None = None
    ) -> FloatArray:
        """Return a judge version's current verdicts on answers, on ``scale`` (default: the scale of people)."""
        scale = scale or self.scale
        verdicts = self.source.verdicts(version.id)
        values = self.source.judge_values(verdicts, self.grade)
        rows = is_given(values)
        return values_at(ids, verdicts.response_ids[rows], positions_of_codes(values[rows], scale))

    def judges(self, versions: Sequence[StoredVersion]) -> ItemRatings:
        """Return the current verdicts of judge versions on the whole log, graded by people or not."""
        dimension = None if self.grade in GRADES else self.grade
        scale = self.source.scale_with([each.id for each in versions], self.grade, people=False)
        verdicts = current_verdicts(
            self.connection, dimension, version_ids=[each.id for each in versions]
        )
        values = self.source.judge_values(verdicts, self.grade)
        rows = is_given(values)
        if self.source.matching is not None:
            rows &= among(verdicts.response_ids, self.source.matching)
        return item_ratings(
            verdicts.response_ids[rows],
            verdicts.version_ids[rows],
            positions_of_codes(values[rows], scale),
            scale,
            verdicts.evidence_groups[rows],
            {each.id: each.title for each in versions},
        )

    def left_out_of_judges(
        self, versions: Sequence[StoredVersion], items: ItemRatings
    ) -> dict[str, int]:
        """Count the answers in the prompt of one of these judge versions, and the answers with a single rating."""
        prompt_answers = answers_of_prompts(self.connection, [each.id for each in versions])
        alone = (items.ratings.per_item == 1) & ~among(items.ids, prompt_answers.both)
        matching = prompt_answers.both if self.source.matching is None else self.source.matching
        return {**prompt_answers.counts(matching), "one_judge": int(alone.sum())}

    @cached_property
    def _names(self) -> dict[int, str]:
        return reviewer_names(self.connection)


class Dimension:
    """A dimension of scores, or a category of a label schema, and the scale on which its raters are compared.

    ``classes`` has the options of a category, and is empty if people gave scores. Raises NotFound
    if no one used the name.
    """

    def __init__(self, connection: Connection, name: str) -> None:
        self.name = name
        self._scales = scales_of_dimension(connection, name)
        by_people = any(each.version_id is None for each in self._scales)
        self.classes = () if by_people else classes_of(connection, name)
        if not self._scales and not self.classes:
            grades = ", ".join((*GRADES, *dimensions_scored(connection)))
            raise NotFound(f"there is no grade {name!r}; known grades: {grades}")

    def scale(self, version_ids: Iterable[int] = (), *, people: bool = True) -> Scale:
        """Return the scale of judge versions and ``people``; if none of these has scores, the scale of all scores.

        If all scores are whole numbers on one scale of few levels, the levels are categories.
        Raises BadInput if people have scores on several scales.
        """
        if self.classes:
            return Scale(self.name, self.classes)
        raters = {*version_ids, *((None,) if people else ())}
        rater_scales = [each for each in self._scales if each.version_id in raters] or self._scales
        scales = sorted({each.text for each in rater_scales})
        of_people = sorted({each.text for each in rater_scales if each.version_id is None})
        if len(of_people) > 1:
            raise BadInput(
                f"people have scores of {self.name} on different scales: {' and '.join(of_people)}"
            )
        if len(scales) > 1:
            return Scale(self.name, different=True)
        if not all(each.whole for each in rater_scales):
            return Scale(self.name)
        try:
            bounds = scale_in("scale", scales[0])
        except Unusable:
            return Scale(self.name)
        levels = tuple(range(int(bounds.low), int(bounds.high) + 1))
        is_whole = (bounds.low, bounds.high) == (levels[0], levels[-1])
        if is_whole and 2 < len(levels) <= _MOST_LEVELS:
            return Scale(self.name, levels, weights="quadratic")
        return Scale(self.name)


def labels_by_notice(source: PairSource) -> tuple[tuple[str, Estimate], ...]:
    """Return the share of bad answers among the labelled answers, by notice ("full"), and by query type of each notice.

    The levels have the order of `Level`. A level with several query types first has a line for all
    query types. Answers that `serve_answer` did not return, or that have no notice, do not count.
    """
    people, answers = source.people("label"), served_notices(source.connection)
    answers = answers.at(among(answers.response_ids, people.response_ids))
    if not len(answers.response_ids):
        return ()
    bad = people.values[np.searchsorted(people.response_ids, answers.response_ids)] == HALLUCINATED
    groups = answers.evidence_groups
    notices, types = (
        np.array(each.names, dtype=np.str_)[each.codes]
        for each in (answers.notices, answers.query_types)
    )

    lines: list[tuple[str, Estimate]] = []
    for level in Level:
        of_level = notices == level.value
        names = sorted(set(types[of_level].tolist()))
        if len(names) > 1:
            lines.append((level.value, share(bad[of_level], groups[of_level])))
        for name in names:
            rows = of_level & (types == name)
            lines.append((f"{level.value}, {name}", share(bad[rows], groups[rows])))
    return tuple(lines)


@dataclass(frozen=True, slots=True)
class UnjudgedAnswers:
    """The ``answers`` that people graded and the judge version ``title`` has not judged, with the way to figures.

    ``command`` judges the answers; None if the version cannot judge. ``other`` is the version with
    the most rating pairs and its number of pairs, None if all versions have too few.
    """

    title: str
    answers: int
    command: str | None
    other: tuple[str, int] | None


def unjudged_answers(ratings: AnswerRatings, version: StoredVersion) -> UnjudgedAnswers | None:
    """Return the graded answers that a version has to judge.

    Returns None if the version has enough rating pairs, if even all verdicts would be too few, or
    if the version cannot judge and no other version has enough.
    """
    connection, n = ratings.connection, ratings.compared(version).n
    if n >= MIN_PAIRS:
        return None
    from judgeboard.runs.judging import (
        judge_options,
    )  # loads all kinds of judges, which few figures need

    where = replace(ratings.source.counted.where, graded=True)
    answers = count_unasked(
        connection, version.id, Selection(where, PLAIN, None, last_response_id(connection))
    )
    if n + answers < MIN_PAIRS:
        return None
    options = None if version.id in retired_versions(connection) else judge_options(version)
    command = (
        None
        if options is None
        else f"judgeboard judge {options} {shlex.join(where_options(where))}"
    )
    counts = ((ratings.compared(each).n, -each.id, each.title) for each in ratings.versions)
    other = max((each for each in counts if each[0] >= MIN_PAIRS), default=None)
    if command is None and other is None:
        return None
    return UnjudgedAnswers(
        version.title, answers, command, None if other is None else (other[2], other[0])
    )
