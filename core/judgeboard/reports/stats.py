"""The figures of ``judgeboard stats``, typed, with their tables."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from shlex import quote

from sqlalchemy import Connection

from judgeboard.domain import Estimate, FlagState, Status
from judgeboard.flags.rules import RULES
from judgeboard.formats.output import Column, Table
from judgeboard.measure.agreement import every_judge
from judgeboard.measure.agreement_result import HEADLINES, AgreementResult, left_out_sentence
from judgeboard.measure.choice import GRADES
from judgeboard.reports.agreement import ANSWERS, leading_statistics, statistics_table
from judgeboard.stats.estimates import MIN_PAIRS, no_interval_sentences, number_words, percent_words
from judgeboard.store.engine import Readable
from judgeboard.store.judge_versions import StoredVersion, list_versions, version_title
from judgeboard.store.overview import (
    Grader,
    count_flags,
    count_graders,
    count_judgments,
    count_labels,
    count_open_graded,
    count_responses,
    count_tied,
    count_without_groundedness,
)
from judgeboard.store.runs import Counts
from judgeboard.store.statements import record_of
from judgeboard.text import counted, money


@dataclass(frozen=True, slots=True)
class VersionCounts:
    """A judge version with its judgments by status; of the unparsable ones, ``ties`` are ties of a jury.

    ``cost`` is in the currency of the price file, None if the cost of a usable judgment is unknown.
    ``without_groundedness`` counts judged answers without groundedness and label, if other answers have one.
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
    """Flags by state, and by rule and state; ``open_graded`` of the open ones are on answers that a person graded."""

    by_state: Mapping[str, int]
    by_rule: Mapping[str, Mapping[str, int]]
    open_graded: int


@dataclass(frozen=True, slots=True)
class VersionAgreement:
    """Agreement of a judge version with people on one grade, in one query type or (None) in all.

    If labels came by known chances, the figures are for all ``answers`` with a verdict, and ``n`` counts these labels.
    If not all of these answers are graded, ``graded`` has the same figures on the graded answers alone (for all query
    types only). Without known chances, ``answers`` is None, and the figures are about the graded answers alone.
    ``left_out`` counts answers that people graded and that the figures leave out, by reason; empty in a query type.
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
    """What a database contains, and how far each judge version agrees with people.

    ``reviews`` is the number of current reviews, including imported ones. ``judgments`` counts every request, by
    status. Lists are sorted, so that they do not depend on the database engine.
    """

    responses: int
    reviews: int
    labels: Mapping[str, int]
    judgments: Mapping[str, int]
    judge_versions: tuple[VersionCounts, ...]
    flags: FlagCounts
    graders: tuple[Grader, ...]
    agreement: tuple[VersionAgreement, ...]


def measure_log(store: Readable) -> Stats:
    """Return the figures of ``judgeboard stats``."""
    with store.reading() as connection:
        return stats(connection)


def stats(connection: Connection) -> Stats:
    """Return the figures of ``judgeboard stats`` in the caller's transaction."""
    totals, graders = count_judgments(connection), count_graders(connection)
    without, ties = count_without_groundedness(connection), count_tied(connection)
    versions = tuple(
        _version(version, totals.get(version.id), without.get(version.id, 0), ties.get(version.id, 0))
        for version in list_versions(connection)
    )
    return Stats(
        responses=count_responses(connection),
        reviews=sum(grader.reviews for grader in graders),
        labels=count_labels(connection),
        judgments={status: sum(version.counts[status] for version in versions) for status in map(str, Status)},
        judge_versions=versions,
        flags=_flags(count_flags(connection), count_open_graded(connection)),
        graders=tuple(graders),
        agreement=tuple(
            row for result in every_judge(connection, only=leading_statistics()) for row in _agreement(result, versions)
        ),
    )


def stats_words(stats: Stats) -> Iterator[str]:
    """Yield what the database contains, and how far each judge version agrees with people in all answers."""
    yield f"{counted(stats.responses, 'response')}, {counted(stats.reviews, 'review')}."
    labelled = [(title, row) for title, row in _in_all(stats) if row.grade == "label"]
    for title, row in labelled:
        agreement, kappa = row.statistics["agreement"], row.statistics.get("kappa")
        if row.answers is not None and agreement.value is not None:
            chance = "" if kappa is None or kappa.value is None else f"; Cohen's kappa is {number_words(kappa)}"
            yield (
                f"{title}: on all {row.answers:,} answers with a verdict, it agrees with people on about "
                f"{percent_words(agreement)}, estimated from the {counted(agreement.n, 'label')} that count{chance}."
            )
    if labelled and all(row.answers is None for _, row in labelled):
        missing = "`judgeboard agreement` names the labels that are missing"
        yield f"How far a judge and people agree in all answers is not known: {missing}."


def judgments_table(stats: Stats) -> Table:
    """Return the judgments of each version by status, ties of juries apart; versions without judgments are left out."""
    statuses = [str(status) for status in Status]
    columns = (
        Column("Judge version"),
        *(Column(status, "count") for status in statuses),
        *(Column("tied", "count"), Column("Cost")),
    )
    rows = (
        (
            version_title(version.name, version.number),
            *(version.counts[status] - (version.ties if status == Status.UNPARSABLE else 0) for status in statuses),
            version.ties or None,
            None if version.cost is None else money(round(version.cost * 1_000_000)),
        )
        for version in stats.judge_versions
        if any(version.counts.values())  # versions without judgments compare pairs or answer for a suite
    )
    return Table(columns, tuple(rows)).without_empty({"tied"})


def flags_table(stats: Stats) -> Table:
    """Return the flags of each rule by state."""
    columns = (Column("Flag rule"), *(Column(state, "count") for state in map(str, FlagState)))
    rows = ((rule.replace("_", " "), *states.values()) for rule, states in stats.flags.by_rule.items())
    return Table(columns, tuple(rows))


def flags_sentence(stats: Stats) -> str | None:
    """Return how many open flags are on answers that people graded; None if there are none."""
    graded, opened = stats.flags.open_graded, stats.flags.by_state[FlagState.OPEN]
    if not graded:
        return None
    if opened == 1:
        some = "The open flag is on a graded answer"
    elif graded == opened:
        some = f"All {opened:,} open flags are on graded answers"
    else:
        some = f"{graded:,} of {opened:,} open flags {'is' if graded == 1 else 'are'} on graded answers"
    several = " One answer may have several flags." if opened > 1 else ""
    return f"{some}.{several} A grade alone closes no flag."


def agreement_tables(stats: Stats) -> Iterator[Table]:
    """Yield a table for each grade that people gave: each judge version, over all query types.

    A table has the share of same grades and the headline statistic alone, so that it fits in 80 columns.
    """
    for grade in GRADES:
        rows: list[tuple[tuple[str, ...], int, Mapping[str, Estimate]]] = []
        for title, row in _in_all(stats):
            if row.grade != grade:
                continue
            rows.append(((title, "graded" if row.answers is None else f"all {row.answers:,}"), row.n, row.statistics))
            if row.graded:
                rows.append(((title, "graded"), _graded_answers(row), row.graded))
        headline = next((name for name in HEADLINES if any(name in statistics for *_, statistics in rows)), None)
        if headline is not None:
            names = (f"Agreement on {grade}", ANSWERS)
            yield statistics_table(names, rows, ("agreement", headline))


def agreement_words(stats: Stats) -> Iterator[str]:
    """Yield what the answers of the tables are, why figures have no interval, and which rows not to compare."""
    rows = [*_in_all(stats)]
    if any(row.answers is not None for _, row in rows):
        chosen = ", which are no random sample" if any(row.graded for _, row in rows) else ""
        yield f'Answers: "all" are those with a usable verdict, "graded" those that people graded{chosen}.'
    without = [row.grade for _, row in rows if row.answers is None]
    if others := [*dict.fromkeys(each for each in without if each != "label")]:
        yield (
            f"Agreement on {' and '.join(others)} is not available for all answers: it needs grades of all of them, or "
            "of a random sample only. For all answers, it may be far from the figure of the graded ones."
        )
    if "label" in without:
        yield (
            "Figures of the graded answers alone do not hold for all answers if people chose which to grade, for "
            "example flagged ones: see `judgeboard agreement`."
        )
    yield from no_interval_sentences(
        (f"{title}, {row.grade}", row.statistics[name])
        for title, row in rows
        for name in ("agreement", next((each for each in HEADLINES if each in row.statistics), "agreement"))
        if name in row.statistics
    )
    yield from _not_comparable(rows)


def _not_comparable(rows: Sequence[tuple[str, VersionAgreement]]) -> Iterator[str]:
    """Yield how to compare versions if their labels were chosen or differ; the counts show which differ."""
    grades = len({row.grade for _, row in rows})
    graded = {(row.grade, _graded_answers(row), *row.left_out.items()) for _, row in rows}
    in_all = {(row.grade, row.answers) for _, row in rows if row.answers is not None}
    labels = {(row.grade, row.n, row.answers) for _, row in rows}
    of_labels = [row for _, row in rows if row.grade == "label" and row.n >= MIN_PAIRS]
    if len(of_labels) > 1 and any(row.answers is None for row in of_labels):
        # A judge whose flags chose the labels seems worse than it is.
        yield (
            "The graded answers are no random sample: flags or people chose them. So their rows do not show which "
            "version is better."
        )
    elif len(graded) > grades or len(in_all) > len({grade for grade, _ in in_all}):
        yield "The versions judged different answers, so do not compare their rows."
    elif len(labels) > grades:
        yield "The rows rest on different labels (see n), so do not compare them."
    else:
        return
    # `compare versions` compares labels. The versions with the most labels share the most of them.
    labelled = sorted((row for row in rows if row[1].grade == "label"), key=lambda each: -each[1].n)
    if len(labelled) > 1:
        versions = " ".join(quote(title) for title, _ in labelled[:2])
        yield f"To compare {'them' if len(labelled) == 2 else 'two of them'}: `judgeboard compare versions {versions}`"


def _graded_answers(row: VersionAgreement) -> int:
    return row.graded["agreement"].n if row.graded else row.n


def left_out_lines(stats: Stats) -> Iterator[str]:
    """Yield which answers the figures leave out: judged ones without groundedness, and graded ones by reason."""
    compared = {row.judge_version for _, row in _in_all(stats) if row.grade != "quality"}
    for version in stats.judge_versions:
        if version.fingerprint in compared and version.without_groundedness:
            answers = counted(version.without_groundedness, "judged answer")
            have, them = ("has", "it") if version.without_groundedness == 1 else ("have", "them")
            title = version_title(version.name, version.number)
            yield (
                f"{title}: {answers} {have} neither groundedness nor a label. The figures on labels and groundedness "
                f"leave {them} out."
            )
    for title, row in _in_all(stats):
        if (sentence := left_out_sentence(row.left_out)) is not None:
            yield f"{title}, {row.grade}: {sentence[0].lower()}{sentence[1:]}"


def _in_all(stats: Stats) -> Iterator[tuple[str, VersionAgreement]]:
    """Yield the agreement over all query types that people graded, with the title of the judge version."""
    titles = {each.fingerprint: version_title(each.name, each.number) for each in stats.judge_versions}
    for row in stats.agreement:
        if row.query_type is None and row.n:
            yield titles[row.judge_version], row


def _version(version: StoredVersion, totals: Counts | None, without_groundedness: int, ties: int) -> VersionCounts:
    cost = None if totals is None or totals.total_cost_micro is None else totals.total_cost_micro / 1_000_000
    counts = (totals or Counts()).by_status
    return record_of(
        VersionCounts, version, counts=counts, cost=cost, without_groundedness=without_groundedness, ties=ties
    )


def _flags(by_rule: dict[str, dict[str, int]], open_graded: int) -> FlagCounts:
    nothing = dict.fromkeys(map(str, FlagState), 0)
    rules = sorted(RULES.keys() | by_rule.keys())
    by_rule_and_state = {rule: nothing | by_rule.get(rule, {}) for rule in rules}
    by_state = {state: sum(states[state] for states in by_rule_and_state.values()) for state in nothing}
    return FlagCounts(by_state, by_rule_and_state, open_graded)


def _agreement(result: AgreementResult, versions: Sequence[VersionCounts]) -> Iterator[VersionAgreement]:
    fingerprint = result.judge_versions[0].fingerprint
    judge = next(version.name for version in versions if version.fingerprint == fingerprint)
    n = result.statistics["agreement"].n if result.graded else result.n
    leading = {name: result.graded[name] for name in leading_statistics() if name in result.graded}
    yield VersionAgreement(
        judge, fingerprint, result.grade, None, n, result.statistics, result.answers, leading, result.left_out
    )
    for part in result.slices:
        yield VersionAgreement(judge, fingerprint, result.grade, part.name, part.n, part.statistics, part.answers, {})
