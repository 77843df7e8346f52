"""The figures of ``judgeboard stats``, typed, with their tables."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, field
from shlex import quote

from sqlalchemy import Connection

from judgeboard.domain import Estimate, FlagState, Status
from judgeboard.flags.rules import RULES
from judgeboard.formats.output import Column, Table
from judgeboard.measure.agreement import every_judge
from judgeboard.measure.agreement_result import (
    HEADLINES,
    LEADING,
    AgreementResult,
    statistics_of_slice,
)
from judgeboard.measure.choice import GRADES
from judgeboard.measure.notes import Note, note
from judgeboard.measure.words import FIGURES, LEFT_OUT
from judgeboard.registry.masks import MaskTotal, mask_totals
from judgeboard.stats.estimates import no_interval_sentences
from judgeboard.store.engine import Readable
from judgeboard.store.judge_versions import list_versions
from judgeboard.store.overview import (
    Grader,
    count_flags,
    count_forgotten,
    count_graders,
    count_judgments,
    count_labels,
    count_log,
    count_open_graded,
    count_tied,
    count_without_groundedness,
)
from judgeboard.store.runs import Counts
from judgeboard.store.statements import record_of
from judgeboard.store.tables import version_title
from judgeboard.text import money


@dataclass(frozen=True, slots=True)
class VersionCounts:
    """A judge version with its judgments by status; of the unparsable ones, ``ties`` are ties of a jury.

    ``cost`` is in the currency of the price file, None if the cost of a usable judgment is unknown.
    ``without_groundedness`` counts judged answers without groundedness and label, if other answers
    have one.
    """

    fingerprint: str
    name: str
    number: int
    kind: str
    model: str | None
    counts: Mapping[str, int]
    cost: float | None
    without_groundedness: int
    ties: int


@dataclass(frozen=True, slots=True)
class FlagCounts:
    """Flags by state, and by rule and state; ``open_graded`` counts open flags on answers that a person graded."""

    by_state: Mapping[str, int]
    by_rule: Mapping[str, Mapping[str, int]]
    open_graded: int


@dataclass(frozen=True, slots=True)
class VersionAgreement:
    """Agreement of a judge version with people on one grade, in one query type or (None) in all.

    If labels came by known chances, the figures describe all ``answers`` with a verdict, and ``n``
    counts these labels. If not all of these answers are graded, ``graded`` has the same figures on
    the graded answers alone (for all query types only). Without known chances, ``answers`` is None,
    and the figures describe the graded answers alone. ``left_out`` counts by reason the answers
    that people graded and that the figures leave out; empty in a query type.
    """

    judge: str
    judge_version: str
    grade: str
    query_type: str | None
    n: int
    statistics: Mapping[str, Estimate]
    answers: int | None
    graded: Mapping[str, Estimate]
    left_out: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Stats:
    """The contents of a database, and how far each judge version agrees with people.

    ``reviews`` is the number of current reviews, including imported ones. ``judgments`` counts
    every request, by status. ``masks`` counts masked values of answers, ``forgotten`` answers whose
    texts are gone. Lists are sorted, to be equal on all database engines.
    """

    responses: int
    reviews: int
    labels: Mapping[str, int]
    judgments: Mapping[str, int]
    judge_versions: tuple[VersionCounts, ...]
    flags: FlagCounts
    graders: tuple[Grader, ...]
    agreement: tuple[VersionAgreement, ...]
    masks: tuple[MaskTotal, ...] = ()
    forgotten: int = 0


def measure_log(store: Readable) -> Stats:
    """Return the figures of ``judgeboard stats``."""
    with store.reading() as connection:
        return stats(connection)


def stats(connection: Connection) -> Stats:
    """Return the figures of ``judgeboard stats`` in the caller's transaction."""
    totals, graders = count_judgments(connection), count_graders(connection)
    without, ties = count_without_groundedness(connection), count_tied(connection)
    versions = []
    for version in list_versions(connection):
        total = totals.get(version.id)
        cost = None if total is None else total.total_cost_micro
        counts = record_of(
            VersionCounts,
            version,
            counts=(total or Counts()).by_status,
            cost=None if cost is None else cost / 1_000_000,
            without_groundedness=without.get(version.id, 0),
            ties=ties.get(version.id, 0),
        )
        versions.append(counts)
    by_rule = count_flags(connection)
    open_graded = count_open_graded(connection)
    nothing = dict.fromkeys(map(str, FlagState), 0)
    rules = sorted(RULES.keys() | by_rule.keys())
    by_rule_and_state = {rule: nothing | by_rule.get(rule, {}) for rule in rules}
    by_state = {
        state: sum(states[state] for states in by_rule_and_state.values()) for state in nothing
    }
    return Stats(
        responses=count_log(connection),
        reviews=sum(grader.reviews for grader in graders),
        labels=count_labels(connection),
        judgments={
            status: sum(version.counts[status] for version in versions)
            for status in map(str, Status)
        },
        judge_versions=tuple(versions),
        flags=FlagCounts(by_state, by_rule_and_state, open_graded),
        graders=tuple(graders),
        agreement=tuple(
            row
            for result in every_judge(connection, only=LEADING)
            for row in _agreement(result, versions)
        ),
        masks=tuple(mask_totals(connection)),
        forgotten=count_forgotten(connection),
    )


def judgments_table(stats: Stats) -> Table:
    """Return the judgments of each version by status, ties of juries apart; versions without judgments are left out."""
    statuses = [str(status) for status in Status]
    columns = (
        Column("Judge version"),
        *(Column(status, "count") for status in statuses),
        *(Column("tied", "count"), Column("no score", "count"), Column("Cost")),
    )
    rows = (
        (
            version_title(version.name, version.number),
            *(
                version.counts[status] - (version.ties if status == Status.UNPARSABLE else 0)
                for status in statuses
            ),
            version.ties or None,
            version.without_groundedness or None,
            None if version.cost is None else money(round(version.cost * 1_000_000)),
        )
        for version in stats.judge_versions
        if any(
            version.counts.values()
        )  # versions without judgments compare pairs or answer for a suite
    )
    return Table(columns, tuple(rows)).without_empty({"tied", "no score"})


def flags_table(stats: Stats) -> Table:
    """Return the flags of each rule by state."""
    columns = (Column("Flag rule"), *(Column(state, "count") for state in map(str, FlagState)))
    rows = (
        (rule.replace("_", " "), *states.values()) for rule, states in stats.flags.by_rule.items()
    )
    return Table(columns, tuple(rows))


def agreement_tables(stats: Stats) -> Iterator[Table]:
    """Yield a table for each grade that people gave: each judge version, over all query types.

    A table has only the share of same grades and the headline statistic, to fit in 80 columns.
    """
    for grade in GRADES:
        rows: list[tuple[tuple[str, ...], int, Mapping[str, Estimate]]] = []
        for title, row in _in_all(stats):
            if row.grade != grade:
                continue
            rows.append(
                (
                    (title, "graded" if row.answers is None else f"all {row.answers:,}"),
                    row.n,
                    row.statistics,
                )
            )
            if row.graded:
                rows.append(((title, "graded"), row.graded["agreement"].n, row.graded))
        headline = next(
            (name for name in HEADLINES if any(name in statistics for *_, statistics in rows)), None
        )
        if headline is not None:
            names = [
                each
                for each in ("agreement", headline)
                if any(each in statistics for *_, statistics in rows)
            ]
            first = (Column(f"Agreement on {grade}"), Column("Answers"), Column("n", "count"))
            yield Table(
                (*first, *(FIGURES[each] for each in names)),
                tuple((*who, n, *map(figures.get, names)) for who, n, figures in rows),
            )


def stats_notes(stats: Stats) -> Iterator[Note]:
    """Yield what the figures do not show, and how to compare judge versions."""
    rows = [*_in_all(stats)]
    if stats.forgotten:
        yield note("forgotten_texts", n=stats.forgotten)
    if count := stats.flags.open_graded:
        yield note("open_graded", n=count, flags=stats.flags.by_state[FlagState.OPEN])
    if any(row.answers is None for _, row in rows):
        yield note("no_sample")
    # `compare versions` compares labels. The versions with the most labels share the most labels.
    label_rows = sorted(
        (row for row in rows if row[1].grade == "label"), key=lambda each: -each[1].n
    )
    if len(label_rows) > 1:
        versions = " ".join(quote(title) for title, _ in label_rows[:2])
        yield note("compare_versions", command=f"judgeboard compare versions {versions}")


def missing_intervals(stats: Stats) -> Iterator[str]:
    """Yield why figures of the tables have no interval."""
    yield from no_interval_sentences(
        (f"{title}, {row.grade}", row.statistics[name])
        for title, row in _in_all(stats)
        for name in (
            "agreement",
            next((each for each in HEADLINES if each in row.statistics), "agreement"),
        )
        if name in row.statistics
    )


def masks_table(stats: Stats) -> Table:
    """Return how many values are masked, by kind."""
    columns = (
        Column("Masked"),
        Column("Masks"),
        Column("Values", "count"),
        Column("Answers", "count"),
    )
    return Table(columns, tuple(map(astuple, stats.masks)))


def left_out_table(stats: Stats) -> Table:
    """Return the graded answers that the figures leave out, by reason."""
    columns = (Column("Left out"), Column("Grade"), Column("Reason"), Column("Answers", "count"))
    rows = (
        (title, row.grade, LEFT_OUT[reason], n)
        for title, row in _in_all(stats)
        for reason, n in row.left_out.items()
    )
    return Table(columns, tuple(rows))


def _in_all(stats: Stats) -> Iterator[tuple[str, VersionAgreement]]:
    """Yield the agreement over all query types that people graded, with the title of the judge version."""
    titles = {
        each.fingerprint: version_title(each.name, each.number) for each in stats.judge_versions
    }
    for row in stats.agreement:
        if row.query_type is None and row.n:
            yield titles[row.judge_version], row


def _agreement(
    result: AgreementResult, versions: Sequence[VersionCounts]
) -> Iterator[VersionAgreement]:
    version = next(
        each for each in versions if version_title(each.name, each.number) == result.title
    )
    judge, fingerprint, about = version.name, version.fingerprint, result.about
    n = result.statistics["agreement"].n if result.graded else result.n
    leading = {name: result.graded[name] for name in LEADING if name in result.graded}
    yield VersionAgreement(
        judge,
        fingerprint,
        about.grade,
        None,
        n,
        result.statistics,
        result.answers,
        leading,
        about.left_out,
    )
    for name in result.slices:
        answers = result.figure("answers", name).n if result.has("answers", name) else None
        n, statistics = result.figure("n", name).n, statistics_of_slice(result, name)
        yield VersionAgreement(judge, fingerprint, about.grade, name, n, statistics, answers, {})
