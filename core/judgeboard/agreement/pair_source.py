"""Agreement of judge versions with people, by grade and query type: the one source of the page and of the report."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
from sqlalchemy import Connection

from judgeboard.agreement.rating_source import LeftOut
from judgeboard.answer_pairs import GRADES, AnswerPairs, GradeName, pairs_of, people_values
from judgeboard.domain import Estimate, Label
from judgeboard.errors import BadInput
from judgeboard.stats.calibration import MIN_CALIBRATION, Tenth, calibration
from judgeboard.stats.estimates import complement
from judgeboard.stats.pair_statistics import PairStatistics, pair_statistics
from judgeboard.stats.people import Human, PeopleValues
from judgeboard.stats.resampling import RESAMPLES
from judgeboard.stats.scales import SCALES
from judgeboard.store.figures.graded_answers import GradedAnswers, load_graded
from judgeboard.store.judgments.judge_versions import StoredVersion, list_versions
from judgeboard.store.settings_table import thresholds


@dataclass(frozen=True, slots=True)
class AgreementRow:
    """One judge version against people on one grade, in one query type or (None) in all.

    ``cut`` of the pairs' labels were cut from the judge's groundedness at ``cut_at``. ``calibration`` is there for
    labels of 100 scored answers or more. ``left_out`` is of all query types.
    """

    version: StoredVersion
    grade: GradeName
    query_type: str | None
    statistics: PairStatistics
    cut: int
    cut_at: float
    left_out: LeftOut
    calibration: tuple[Tenth, ...] | None = None

    @property
    def n(self) -> int:
        """How many answers both graded."""
        return self.statistics.n

    @property
    def missed(self) -> Estimate:
        """The share of bad answers that the judge calls good."""
        return complement(self.statistics.sensitivity)

    @property
    def false_alarms(self) -> Estimate:
        """The share of good answers that the judge calls bad."""
        return complement(self.statistics.specificity)

    @property
    def note(self) -> str | None:
        """How labels came about that the judge did not give, None where it gave all."""
        return cut_words(self.version.title, self.cut, self.n, self.cut_at)


@dataclass(frozen=True, slots=True)
class AgreementTable:
    """Rows by judge version, grade and query type (all of them first).

    ``reviewed`` counts the logged answers that people reviewed; ``query_types`` are those of the judged among them.
    """

    rows: tuple[AgreementRow, ...]
    query_types: tuple[str, ...]
    reviewed: int

    def row(self, version_id: int, grade: GradeName, query_type: str | None = None) -> AgreementRow | None:
        """Return one row, None where it was not asked for."""
        wanted = (version_id, grade, query_type)
        return next((row for row in self.rows if (row.version.id, row.grade, row.query_type) == wanted), None)


class PairSource:
    """One load of everything that people graded, and the pairs taken from it."""

    def __init__(
        self, graded: GradedAnswers, cut: float, reviewer_id: int | None = None, human: Human = "gold"
    ) -> None:
        """Take what ``load_graded`` read; with ``reviewer_id`` people are this one."""
        self.graded = graded
        self.human = human
        self.cut = cut
        self._reviewer_id = reviewer_id
        self._people: dict[GradeName, PeopleValues] = {}
        self._pairs: dict[tuple[int, GradeName], AnswerPairs] = {}

    @classmethod
    def open(cls, connection: Connection, reviewer_id: int | None = None, human: Human = "gold") -> "PairSource":
        """Read what people and judges gave, once for all versions, grades and query types."""
        return cls(load_graded(connection), thresholds(connection).low_groundedness, reviewer_id, human)

    @property
    def reviewed(self) -> int:
        """How many logged answers people reviewed."""
        return len(np.unique(self.graded.reviews.response_ids))

    def people(self, grade: GradeName) -> PeopleValues:
        """Return one value per answer that people gave the grade."""
        if grade not in self._people:
            self._people[grade] = people_values(self.graded.reviews, SCALES[grade], self._reviewer_id, self.human)
        return self._people[grade]

    def pairs(self, version_id: int, grade: GradeName) -> AnswerPairs:
        """Return the pairs of a judge version with people on one grade."""
        if (version_id, grade) not in self._pairs:
            self._pairs[version_id, grade] = pairs_of(
                self.graded, version_id, self.people(grade), SCALES[grade], self.cut
            )
        return self._pairs[version_id, grade]

    def paired(
        self, versions: Sequence[StoredVersion], grade: GradeName, primary: str | None
    ) -> tuple[StoredVersion, ...]:
        """Return the versions with pairs of a grade; first the primary judge's newest, without one that with the most.

        The others keep their order.
        """
        return led_by_primary(versions, {each.id: self.pairs(each.id, grade).n for each in versions}, primary)

    def row(
        self,
        version: StoredVersion,
        pairs: AnswerPairs,
        query_type: str | None = None,
        *,
        resamples: int = RESAMPLES,
        only: Collection[str] | None = None,
    ) -> AgreementRow:
        """Return the row of a judge version's pairs, of one query type where it is named; ``only`` some statistics."""
        grade = cast("GradeName", pairs.grade)
        people = self.people(grade)
        left_out = left_out_of(people, pairs)
        shown = pairs if query_type is None else self.of_query_type(pairs, query_type)
        statistics = statistics_of(shown, resamples=resamples, only=only)
        curve = calibration_of(shown) if query_type is None and only is None else None
        return AgreementRow(version, grade, query_type, statistics, int(shown.cut.sum()), self.cut, left_out, curve)

    def of_query_type(self, pairs: AnswerPairs, query_type: str) -> AnswerPairs:
        """Return the pairs of one query type."""
        return pairs.at(pairs.query_types == self._code(query_type))

    def rows(self, version: StoredVersion, grade: GradeName, *, by_query_type: bool) -> Iterator[AgreementRow]:
        """Yield the row of all query types, then one for each."""
        pairs = self.pairs(version.id, grade)
        yield self.row(version, pairs)
        for query_type in self.graded.query_type_names if by_query_type else ():
            yield self.row(version, pairs, query_type)

    def _code(self, query_type: str) -> int:
        return self.graded.query_type_names.index(query_type)


def left_out_of(people: PeopleValues, pairs: AnswerPairs) -> LeftOut:
    """Return how many answers (stacked people: grades) that people graded are in no pair, by why.

    ``ties``: as many people said one label as another. ``only_gold``: no other person's grade stands.
    ``without_verdict``: this judge version gave no such verdict, or none that could be used.
    """
    counts = {
        "ties": people.ties,
        "only_gold": people.only_gold,
        "without_verdict": len(people.response_ids) - pairs.n,
    }
    return {why: n for why, n in counts.items() if n}


def led_by_primary(
    versions: Sequence[StoredVersion], counts: Mapping[int, int], primary: str | None
) -> tuple[StoredVersion, ...]:
    """Return the versions with any pairs; first the primary judge's newest, without one that with the most.

    The others keep their order. ``counts`` are of pairs, by the id of the version.
    """
    found = [version for version in versions if counts.get(version.id)]
    of_primary = [version for version in found if version.name == primary]
    first = of_primary[-1:] or sorted(found, key=lambda each: (-counts[each.id], -each.id))[:1]
    return (*first, *(version for version in found if version not in first))


def of_one_making(one: StoredVersion, other: StoredVersion) -> bool:
    """Whether two versions agree by their making: of one name, or one combined from the other."""
    combined = {*one.params.get("members", ()), *other.params.get("members", ())}
    return one.name == other.name or one.fingerprint in combined or other.fingerprint in combined


def cut_words(title: str, cut: int, n: int, cut_at: float) -> str | None:
    """Return how ``cut`` of ``n`` labels came about that a judge did not give, None where it gave all."""
    if not cut:
        return None
    which = "its" if cut == n else f"on {cut:,} of {n:,} answers its"
    return f"{title} gives no label: {which} groundedness is cut at {cut_at:g}"


def agreement(
    connection: Connection,
    *,
    grade: GradeName | None = None,
    versions: Collection[int] | None = None,
    by_query_type: bool = True,
    reviewer_id: int | None = None,
) -> AgreementTable:
    """Return how far judge versions agree with people.

    One pair per answer: the version's current verdict (the latest usable one, repeat 0) against what people together
    say (``people_values``). Intervals go by evidence group: same query and passages.

    Args:
        connection: An open transaction.
        grade: One grade, None for all three.
        versions: Ids of judge versions, None for all.
        by_query_type: Whether each query type has rows of its own beside those of all.
        reviewer_id: Only what this reviewer said counts as people.

    Raises:
        BadInput: No such grade.
    """
    if grade is not None and grade not in GRADES:
        raise BadInput(f"a grade is one of {', '.join(GRADES)}, not {grade!r}")
    source = PairSource.open(connection, reviewer_id)
    chosen = [version for version in list_versions(connection) if versions is None or version.id in versions]
    grades: Sequence[GradeName] = GRADES if grade is None else (grade,)
    rows = (
        row for version in chosen for each in grades for row in source.rows(version, each, by_query_type=by_query_type)
    )
    return AgreementTable(tuple(rows), source.graded.query_type_names, source.reviewed)


def statistics_of(
    pairs: AnswerPairs, *, resamples: int = RESAMPLES, only: Collection[str] | None = None
) -> PairStatistics:
    """Return every statistic of pairs on their scale, or ``only`` some."""
    return pair_statistics(
        pairs.judge,
        pairs.people,
        pairs.scale,
        pairs.groups,
        scores=pairs.scores if pairs.grade == "label" else None,
        resamples=resamples,
        only=only,
    )


def calibration_of(pairs: AnswerPairs) -> tuple[Tenth, ...] | None:
    """Return the share that people call grounded per tenth of the score, of labels of 100 scored answers or more."""
    if pairs.grade != "label":
        return None
    scored = ~np.isnan(pairs.scores)
    if int(scored.sum()) < MIN_CALIBRATION:
        return None
    return calibration(pairs.scores[scored], pairs.people[scored] == Label.GROUNDED.value)
