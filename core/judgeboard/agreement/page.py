"""Everything that the agreement page shows of one judge version and grade, from one load of pairs."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from sqlalchemy import Connection

from judgeboard.agreement.anchoring import anchored
from judgeboard.agreement.choice import By
from judgeboard.agreement.notes import Note, compared, headline, headline_name, notes
from judgeboard.agreement.other_grades import other_grades
from judgeboard.agreement.pair_source import AgreementRow, PairSource, of_one_making, statistics_of
from judgeboard.agreement.result import Anchored
from judgeboard.agreement.slices import SLICES, slices_of
from judgeboard.agreement.words import EMPTY, STACKED, agreement_sentence, judge_sentence
from judgeboard.answer_pairs import AnswerPairs, GradeName
from judgeboard.domain import Estimate
from judgeboard.flag_worth import FlagsWorth, flags_worth
from judgeboard.stats.arrays import among
from judgeboard.stats.estimates import MIN_PAIRS
from judgeboard.stats.means import mean_interval
from judgeboard.stats.people import Human
from judgeboard.stats.proportions import share_intervals
from judgeboard.store.figures.why_counts import WhyCounts, why_counts
from judgeboard.store.flags.flag_outcomes import judged_again
from judgeboard.store.judgments.judge_versions import StoredVersion, list_versions
from judgeboard.store.settings_table import primary_judge
from judgeboard.trend_periods import Period, PeriodSums, start_of

COMPARED_BY = (
    "agreement",
    "at_most_one_apart",
    "kappa",
    "weighted_kappa",
    "sensitivity",
    "specificity",
    "spearman",
    "mean_absolute_difference",
    "bias",
)
"""The statistics by which judge versions are held beside each other."""


OF_A_SLICE = 1_000
"""Resamples behind the interval of a slice: it comes from their spread, which half as many tell almost as well."""


@dataclass(frozen=True, slots=True)
class SameAnswers:
    """All judge versions on the ``n`` answers that each of them and people graded.

    ``weakest`` names each version's query type with the lowest headline statistic, where two or more have ten pairs.
    ``rows`` hold the statistics by which versions are compared, `AgreementPage.whole` all of one. ``left_out`` are
    versions with too few verdicts on the others' answers.
    """

    n: int
    rows: tuple[AgreementRow, ...]
    pairs: tuple[AnswerPairs, ...]
    weakest: tuple[str | None, ...]
    left_out: tuple[StoredVersion, ...]


@dataclass(frozen=True, slots=True)
class TimePoint:
    """Agreement on the answers asked in one period that begins with UTC day ``start``.

    ``estimate`` is the share of equal labels or qualities, or the mean absolute difference of groundedness.
    """

    start: int
    estimate: Estimate
    segment: int


@dataclass(frozen=True, slots=True)
class AgreementSlice:
    """A judge version on the ``pairs`` of one slice, with the statistic by which slices are compared."""

    name: str
    pairs: AnswerPairs
    headline: Estimate

    @property
    def n(self) -> int:
        """How many answers both graded there."""
        return self.pairs.n


@dataclass(frozen=True, slots=True)
class AgreementPage:
    """One judge version on one grade; ``row`` is None where nothing can be paired, and ``sentence`` says so.

    ``versions`` are those with pairs of this grade, the one that is shown unasked first; ``slices`` are by the field
    that was asked for; ``without_time`` pairs are not in ``over_time``. ``anchoring`` is empty where nobody graded
    before and after the judge was shown, ``differing`` None where nobody said why they differ from it.
    """

    sentence: str
    grade: GradeName
    versions: tuple[StoredVersion, ...]
    row: AgreementRow | None
    slices: tuple[AgreementSlice, ...]
    notes: tuple[Note, ...]
    same_answers: SameAnswers
    flags: FlagsWorth
    over_time: tuple[TimePoint, ...]
    without_time: int
    source: PairSource
    anchoring: tuple[Anchored, ...] = ()
    differing: WhyCounts | None = None

    def whole(self, version: StoredVersion, pairs: AnswerPairs) -> AgreementRow:
        """Return every statistic of a version on some pairs: of a slice, of the answers that all versions share."""
        return self.source.row(version, pairs)


def agreement_page(
    connection: Connection,
    *,
    version_id: int | None = None,
    grade: GradeName = "label",
    reviewer_id: int | None = None,
    human: Human = "gold",
    by: By = "query_type",
    period: Period = "week",
    source: PairSource | None = None,
) -> AgreementPage:
    """Return the agreement page of a judge version (None: the primary judge's newest that has pairs).

    Args:
        connection: An open transaction.
        version_id: The judge version.
        grade: ``label``, ``groundedness`` or ``quality``.
        reviewer_id: Only what this reviewer said counts as people; None is everybody.
        human: What everybody says: what a lead settled else people together, people together, or each by themselves.
        by: The slices; judge versions are in a table of their own.
        period: How agreement over time is folded, by the day the answers were asked.
        source: What `PairSource.open` read for this reviewer and ``human``, where that was done already.
    """
    source = source or PairSource.open(connection, reviewer_id, human)
    versions = source.paired(list_versions(connection), grade, primary_judge(connection))
    pairs = {version.id: source.pairs(version.id, grade) for version in versions}
    flags = flags_worth(connection)
    chosen = next((version for version in versions if version_id in {None, version.id}), None)
    first = [] if chosen is None else [chosen]
    row = None if chosen is None else source.row(chosen, pairs[chosen.id])
    same = same_answers(source, [*first, *(version for version in versions if version != chosen)], pairs, row)
    uncounted = tuple(other_grades(source.graded.reviews, grade, reviewer_id))
    if chosen is None or row is None:
        return AgreementPage(EMPTY, grade, versions, None, (), uncounted, same, flags, (), 0, source)
    mine = pairs[chosen.id]
    slices = tuple(_slices(connection, source, mine, by))
    said = notes(
        compared(row, mine),
        picked=flags.picked,
        judged_again=judged_again(connection, chosen.id),
        others=[
            (other.title, pairs[other.id])
            for other in versions
            if not of_one_making(other, chosen) and source.human != "each"
        ],
        slices=sum(each.n >= MIN_PAIRS for each in slices),
        sliced_by=SLICES[by],
    )
    timed = mine.at(mine.days >= 0)
    return AgreementPage(
        agreement_sentence(row) if source.human != "each" else judge_sentence(row.statistics, STACKED),
        grade,
        versions,
        row,
        slices,
        (*said, *uncounted),
        same,
        flags,
        over_time(timed, period),
        mine.n - timed.n,
        source,
        anchored(connection, chosen),
        next((each for each in why_counts(connection) if each.version_id == chosen.id), None),
    )


def same_answers(
    source: PairSource,
    versions: Sequence[StoredVersion],
    pairs: Mapping[int, AnswerPairs],
    known: AgreementRow | None = None,
) -> SameAnswers:
    """Return judge versions on the answers that all of them judged.

    The first version is there in any case, then those with the most pairs; a version that would leave fewer than ten
    answers, or fewer than half of those that the others share, is left out instead. ``known`` is the row of one of
    them on all its pairs, where it was computed already.
    """
    kept: list[StoredVersion] = []
    common = np.empty(0, dtype=np.int64)
    for version in [*versions[:1], *sorted(versions[1:], key=lambda each: -pairs[each.id].n)]:
        ids = pairs[version.id].response_ids
        shared = np.intersect1d(common, ids) if kept else np.unique(ids)
        if len(shared) >= max(MIN_PAIRS, len(common) / 2):
            kept.append(version)
            common = shared
    rows, weakest, shared_pairs = [], [], []
    for version in sorted(kept, key=_by_name):
        shown = pairs[version.id]
        shown = shown.at(among(shown.response_ids, common))
        shared_pairs.append(shown)
        whole = known is not None and known.version == version and known.n == shown.n
        rows.append(known if known is not None and whole else source.row(version, shown, only=COMPARED_BY))
        weakest.append(_weakest(source, shown))
    left_out = sorted((version for version in versions if version not in kept), key=_by_name)
    return SameAnswers(len(common), tuple(rows), tuple(shared_pairs), tuple(weakest), tuple(left_out))


def over_time(pairs: AnswerPairs, period: Period) -> tuple[TimePoint, ...]:
    """Return agreement by the period in which the answers were asked; every pair needs a time."""
    apart = np.abs(pairs.judge - pairs.people) if pairs.grade == "groundedness" else pairs.judge == pairs.people
    days, values, each_once = pairs.days, apart.astype(np.float64), True
    if len(np.unique(pairs.response_ids)) < pairs.n:  # stacked: an answer is the mean over its people
        _, first, of_answer = np.unique(pairs.response_ids, return_index=True, return_inverse=True)
        values = np.bincount(of_answer, values) / np.bincount(of_answer)
        days, each_once = pairs.days[first], False
    starts, at = np.unique(start_of(days, period), return_inverse=True)
    n, total, squares = (np.bincount(at, weights) for weights in (None, values, values * values))
    sums = PeriodSums(*(tuple(column.tolist()) for column in (starts, n, total, squares)))
    if pairs.grade == "groundedness" or not each_once:
        estimates = mean_interval(sums.n, sums.total, sums.squares, bounds=(0.0, 1.0))
    else:
        estimates = share_intervals([round(total) for total in sums.total], sums.n)
    points = zip(sums.starts, estimates, sums.segments(period), strict=True)
    return tuple(TimePoint(start, estimate, segment) for start, estimate, segment in points)


def _slices(connection: Connection, source: PairSource, pairs: AnswerPairs, by: By) -> Iterator[AgreementSlice]:
    if by == "query_type":  # known already: no look at the answers
        for query_type in source.graded.query_type_names:
            some = source.of_query_type(pairs, query_type)
            yield AgreementSlice(query_type, some, _headline(some))
        return
    for name, inside in slices_of(connection, "responses", by, pairs.response_ids):
        sliced = pairs.at(inside)
        yield AgreementSlice(name, sliced, _headline(sliced))


def _headline(pairs: AnswerPairs, resamples: int = OF_A_SLICE) -> Estimate:
    return headline(statistics_of(pairs, resamples=resamples, only=(headline_name(pairs.scale),)))


def _by_name(version: StoredVersion) -> tuple[str, int]:
    return version.name, version.number


def _weakest(source: PairSource, pairs: AnswerPairs) -> str | None:
    found: list[tuple[float, str]] = []
    for query_type in source.graded.query_type_names:
        # Two resamples: only the value is read here, never its interval.
        value = _headline(source.of_query_type(pairs, query_type), resamples=2).value
        if value is not None:
            found.append((value, query_type))
    return min(found)[1] if len(found) > 1 else None
