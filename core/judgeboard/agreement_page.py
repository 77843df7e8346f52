"""Everything that the agreement page shows of one judge version and grade, from one load of pairs."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from sqlalchemy import Connection

from judgeboard.agreement import AgreementRow, PairSource
from judgeboard.agreement_notes import Note, headline, notes
from judgeboard.agreement_words import EMPTY, agreement_sentence
from judgeboard.answer_pairs import AnswerPairs, GradeName
from judgeboard.domain import Estimate
from judgeboard.flag_worth import FlagsWorth, flags_worth
from judgeboard.stats.arrays import among
from judgeboard.stats.estimates import MIN_PAIRS
from judgeboard.stats.means import mean_interval
from judgeboard.stats.proportions import share_intervals
from judgeboard.store.flags.flag_outcomes import judged_again
from judgeboard.store.judgments.judge_versions import StoredVersion, list_versions
from judgeboard.store.settings_table import primary_judge
from judgeboard.trend_periods import Period, PeriodSums, start_of


@dataclass(frozen=True, slots=True)
class SameAnswers:
    """All judge versions on the ``n`` answers that each of them and people graded.

    ``weakest`` names each version's query type with the lowest headline statistic, where two or more have ten pairs.
    ``left_out`` are versions with too few verdicts on the others' answers.
    """

    n: int
    rows: tuple[AgreementRow, ...]
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
class AgreementPage:
    """One judge version on one grade; ``row`` is None where nothing can be paired, and ``sentence`` says so.

    ``versions`` are those with pairs of this grade, the one that is shown unasked first; ``without_time`` pairs are
    not in ``over_time``.
    """

    sentence: str
    grade: GradeName
    versions: tuple[StoredVersion, ...]
    row: AgreementRow | None
    by_query_type: tuple[AgreementRow, ...]
    notes: tuple[Note, ...]
    same_answers: SameAnswers
    flags: FlagsWorth
    over_time: tuple[TimePoint, ...]
    without_time: int


def agreement_page(
    connection: Connection,
    *,
    version_id: int | None = None,
    grade: GradeName = "label",
    reviewer_id: int | None = None,
    period: Period = "week",
    source: PairSource | None = None,
) -> AgreementPage:
    """Return the agreement page of a judge version (None: the primary judge's newest that has pairs).

    Args:
        connection: An open transaction.
        version_id: The judge version.
        grade: ``label``, ``groundedness`` or ``quality``.
        reviewer_id: Only what this reviewer said counts as people; None is everybody.
        period: How agreement over time is folded, by the day the answers were asked.
        source: What `PairSource.open` read for this reviewer, where that was done already.
    """
    source = source or PairSource.open(connection, reviewer_id)
    versions = source.paired(list_versions(connection), grade, primary_judge(connection))
    pairs = {version.id: source.pairs(version.id, grade) for version in versions}
    flags = flags_worth(connection)
    chosen = next((version for version in versions if version_id in {None, version.id}), None)
    first = [] if chosen is None else [chosen]
    same = same_answers(source, [*first, *(version for version in versions if version != chosen)], pairs)
    if chosen is None:
        return AgreementPage(EMPTY, grade, versions, None, (), (), same, flags, (), 0)
    mine = pairs[chosen.id]
    row, *slices = _rows(source, chosen, mine)
    said = notes(
        row,
        mine,
        picked=flags.picked,
        judged_again=judged_again(connection, chosen.id),
        others=[(other.title, pairs[other.id]) for other in versions if not _of_one_making(other, chosen)],
        slices=sum(each.n >= MIN_PAIRS for each in slices),
    )
    timed = mine.at(mine.days >= 0)
    return AgreementPage(
        agreement_sentence(row),
        grade,
        versions,
        row,
        tuple(slices),
        said,
        same,
        flags,
        over_time(timed, period),
        mine.n - timed.n,
    )


def _of_one_making(one: StoredVersion, other: StoredVersion) -> bool:
    """Whether two versions agree by their making: of one name, or one combined from the other."""
    combined = {*one.params.get("members", ()), *other.params.get("members", ())}
    return one.name == other.name or one.fingerprint in combined or other.fingerprint in combined


def same_answers(
    source: PairSource, versions: Sequence[StoredVersion], pairs: Mapping[int, AnswerPairs]
) -> SameAnswers:
    """Return judge versions on the answers that all of them judged.

    The first version is there in any case, then those with the most pairs; a version that would leave fewer than ten
    answers, or fewer than half of those that the others share, is left out instead.
    """
    kept: list[StoredVersion] = []
    common = np.empty(0, dtype=np.int64)
    for version in [*versions[:1], *sorted(versions[1:], key=lambda each: -pairs[each.id].n)]:
        ids = pairs[version.id].response_ids
        shared = np.intersect1d(common, ids, assume_unique=True) if kept else ids
        if len(shared) >= max(MIN_PAIRS, len(common) / 2):
            kept.append(version)
            common = shared
    rows, weakest = [], []
    for version in sorted(kept, key=_by_name):
        shown = pairs[version.id]
        shown = shown.at(among(shown.response_ids, common))
        rows.append(source.row(version, shown))
        weakest.append(_weakest(source, version, shown))
    left_out = sorted((version for version in versions if version not in kept), key=_by_name)
    return SameAnswers(len(common), tuple(rows), tuple(weakest), tuple(left_out))


def over_time(pairs: AnswerPairs, period: Period) -> tuple[TimePoint, ...]:
    """Return agreement by the period in which the answers were asked; every pair needs a time."""
    apart = np.abs(pairs.judge - pairs.people) if pairs.grade == "groundedness" else pairs.judge == pairs.people
    values = apart.astype(np.float64)
    starts, at = np.unique(start_of(pairs.days, period), return_inverse=True)
    n, total, squares = (np.bincount(at, weights) for weights in (None, values, values * values))
    sums = PeriodSums(*(tuple(column.tolist()) for column in (starts, n, total, squares)))
    if pairs.grade == "groundedness":
        estimates = mean_interval(sums.n, sums.total, sums.squares, bounds=(0.0, 1.0))
    else:
        estimates = share_intervals([round(total) for total in sums.total], sums.n)
    points = zip(sums.starts, estimates, sums.segments(period), strict=True)
    return tuple(TimePoint(start, estimate, segment) for start, estimate, segment in points)


def _rows(source: PairSource, version: StoredVersion, pairs: AnswerPairs) -> Iterable[AgreementRow]:
    yield source.row(version, pairs)
    for query_type in source.graded.query_type_names:
        yield source.row(version, pairs, query_type)


def _by_name(version: StoredVersion) -> tuple[str, int]:
    return version.name, version.number


def _weakest(source: PairSource, version: StoredVersion, pairs: AnswerPairs) -> str | None:
    found: list[tuple[float, str]] = []
    for query_type in source.graded.query_type_names:
        # Two resamples: only the value is read here, never its interval.
        value = headline(source.row(version, pairs, query_type, resamples=2).statistics).value
        if value is not None:
            found.append((value, query_type))
    return min(found)[1] if len(found) > 1 else None
