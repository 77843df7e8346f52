"""The result of measuring agreement: its type and its statistics."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from statistics import median

from judgeboard.domain import Estimate
from judgeboard.measure.all_answers import InAllAnswers, ToLabel
from judgeboard.measure.choice import AgreementChoice, Of, Unit
from judgeboard.measure.notes import Note, note
from judgeboard.measure.ratings import Comparisons, RatingPairs, UnjudgedAnswers, grouping_of
from judgeboard.measure.result import ALL, About, Result, Row
from judgeboard.measure.words import LEFT_OUT
from judgeboard.stats.alternative_annotator import AlternativeAnnotatorTest
from judgeboard.stats.confusion import Confusion
from judgeboard.stats.detection import Tenth
from judgeboard.stats.estimates import MIN_PAIRS, complement
from judgeboard.stats.pair_statistics import (
    STATISTICS,
    STATISTICS_OF_ALL,
    Pairs,
    PairStatistics,
    statistics_of,
)
from judgeboard.stats.rater_agreement import (
    OverallAgreement,
    RaterPair,
    overall_agreement,
    pairs_of_raters,
)
from judgeboard.stats.ratings import Human, Ratings, Scale
from judgeboard.text import counted

Statistics = dict[str, Estimate]


@dataclass(frozen=True, slots=True, kw_only=True)
class AgreementResult(Result):
    """Agreement of people, of a judge with people, of judges, or of a judge with itself. JSON has the same fields.

    ``title`` names who was measured. The row ``n`` is the number of items (of grades, if people are
    stacked) behind the statistics of a slice. If people's labels came by known chances, the
    statistics describe all ``answers`` with a verdict (otherwise there is no such row). If some
    answers are not graded, rows ``graded_…`` have the weighted figures on the graded answers alone,
    and all other statistics describe the graded answers.

    ``to_label`` says what to label for figures of all answers, None if nothing is missing.
    ``unjudged`` are graded answers that the judge has to judge first, None if people have to grade
    more. ``about.counts`` has the ``ungraded`` answers with a verdict that nobody has reviewed.
    ``alt_tests`` are corrected for the tests in all slices. ``parts`` are further results, such as
    every two raters.
    """

    of: Of
    unit: Unit
    title: str = ""
    aspect: str | None = None
    to_label: ToLabel | None = None
    unjudged: UnjudgedAnswers | None = None
    confusion: Confusion | None = None
    calibration: tuple[Tenth, ...] | None = None
    alt_test: AlternativeAnnotatorTest | None = None
    alt_tests: Mapping[str, AlternativeAnnotatorTest] = field(default_factory=dict)
    parts: tuple[Result, ...] = ()

    @property
    def n(self) -> int:
        """The number of items behind the statistics."""
        return self.figure("n").n

    @property
    def answers(self) -> int | None:
        """The number of answers that the statistics describe; None: the graded answers alone."""
        return self.figure("answers").n if self.has("answers") else None

    @property
    def statistics(self) -> Statistics:
        """The statistics of all items."""
        return statistics_of_slice(self, ALL)

    @property
    def graded(self) -> Statistics:
        """The weighted statistics on the graded answers alone."""
        names = {f"graded_{name}": name for name in STATISTICS}
        return {names[row.figure]: row.estimate for row in self.rows if row.figure in names}

    @property
    def is_of_graded(self) -> bool:
        """Whether other statistics than those of all answers describe the graded answers alone."""
        return bool(self.graded) or (
            self.of == "judge" and self.unit == "responses" and self.answers is None
        )

    def part(self, code: str) -> Result | None:
        """Return the part with this code, if there is one."""
        return next((each for each in self.parts if each.headline.code == code), None)


def statistics_of_slice(result: Result, slice_: str | None) -> Statistics:
    """Return the statistics of a slice by name."""
    return {
        row.figure: row.estimate
        for row in result.rows
        if row.slice == slice_ and row.figure in STATISTICS
    }


def shown_rows(result: Result) -> tuple[Row, ...]:
    """Return the rows for tables and charts of slices: a weighted statistic without an interval has no value.

    A few labels may represent most answers. Beside a large n, the value would look certain.
    """
    of_all = {row.slice for row in result.rows if row.figure == "answers"}
    return tuple(
        replace(row, value=None, reason=(row.reason or "no interval").removeprefix("no interval: "))
        if row.low is None and row.slice in of_all and row.figure in STATISTICS_OF_ALL
        else row
        for row in result.rows
    )


def rows_of(
    n: int, statistics: Mapping[str, Estimate], slice_: str | None = ALL, answers: int | None = None
) -> tuple[Row, ...]:
    """Return the statistics of a slice as rows, from ``n`` items; the statistics describe all ``answers``."""
    counts = {"n": n} | ({} if answers is None else {"answers": answers})
    return (
        *(Row(name, slice_, count, n=count) for name, count in counts.items()),
        *(Row.of(name, slice_, each) for name, each in statistics.items()),
    )


def part_of(
    code: str, by: str, lines: Iterable[tuple[str, int, Mapping[str, Estimate]]], *caveats: Note
) -> Iterator[Result]:
    """Yield a part of a result if there are ``lines``: the name of a slice, its number of items, and its figures."""
    rows = tuple(row for name, n, figures in lines for row in rows_of(n, figures, name))
    if rows:
        yield Result(about=About(by=by), headline=note(code), rows=rows, caveats=caveats)


def pair_name(first: str, second: str) -> str:
    """Return the name of the slice of two raters."""
    return f"{first} / {second}"


def answers_words(n: int, answers: int | None, thing: str = "graded answer") -> str:
    """Return what figures describe: "all 442 judged answers", or the graded answers alone ("146 graded answers")."""
    return counted(n, thing) if answers is None else f"all {counted(answers, 'judged answer')}"


def left_out_sentence(left_out: Mapping[str, int]) -> str | None:
    """Return what was left out, for counts by reason; None without reasons."""
    return left_out_words((LEFT_OUT[reason], n) for reason, n in left_out.items())


def left_out_words(counts: Iterable[tuple[str, int]]) -> str | None:
    """Return "Left out: people tied (3), unusable verdict (1)." for reasons with counts; None without reasons."""
    reasons = ", ".join(f"{reason} ({n:,})" for reason, n in counts)
    return note("left_out", reasons=reasons).text if reasons else None


def shown_statistics(statistics: Mapping[str, Estimate]) -> Statistics:
    """Return the statistics to show, in their order: misses and false alarms replace sensitivity and specificity.

    A statistic with two names is shown once.
    """
    by_name = dict(statistics)
    for name, complementary in COMPLEMENTS.items():
        if complementary in by_name:
            by_name[name] = complement(by_name.pop(complementary))
    alpha = by_name.get("alpha")
    return {
        name: by_name[name]
        for name in STATISTICS
        if name in by_name and name != "accuracy" and (name == "alpha" or by_name[name] != alpha)
    }


def judge_statistics(
    pairs: RatingPairs,
    unit: Unit = "responses",
    human: Human = "gold",
    *,
    only: Collection[str] | None = None,
) -> PairStatistics:
    """Return every statistic of a judge version compared with people, or ``only`` the named ones.

    Every page, file and command takes the figures of a judge and people from this function. A
    statistic is the same to the last bit, whichever other statistics are computed in the same call.
    """
    scores = pairs.scores if pairs.scale.grade == "label" else None
    groups = grouping_of(pairs, unit, human)
    return statistics_of(Pairs(pairs.judge, pairs.people, pairs.scale, groups, scores=scores), only)


def order_statistics(comparisons: Comparisons | None) -> Statistics:
    """Return the figures that depend on the order of the answers; none if the judge scored each answer alone.

    The figures are how often the judge changes its preference with the order, and how often its
    verdicts are unusable.
    """
    if comparisons is None or comparisons.differences is not None:
        return {}
    return {
        "changed_with_order": comparisons.orders.changed_with_order(),
        "unusable_verdicts": comparisons.orders.unusable(comparisons.asked),
    }


def with_accuracy(statistics: PairStatistics) -> Statistics:
    """Return the estimates with ``accuracy``, another name of ``agreement``."""
    estimates = dict(statistics.estimates)
    if "agreement" in estimates:
        agreement = estimates["agreement"]
        # An earlier accuracy may describe other answers: `for_all` replaces the agreement alone.
        return {"agreement": agreement, "accuracy": agreement} | estimates | {"accuracy": agreement}
    return estimates


def for_all(
    of_pairs: PairStatistics, in_all: InAllAnswers | None
) -> tuple[PairStatistics, Statistics]:
    """Return the statistics, replaced by those of all answers, and the replaced statistics of the graded answers.

    If the labels came by no known chances, or all answers are graded, nothing is replaced.
    """
    if in_all is None or not in_all.is_weighted:
        return of_pairs, {}
    of_all = _replaced(of_pairs, in_all)
    graded_estimates = {
        name: each for name, each in of_pairs.estimates.items() if name in in_all.statistics
    }
    return of_all, with_accuracy(replace(of_pairs, estimates=graded_estimates))


def slice_of(name: str, of_pairs: PairStatistics, in_all: InAllAnswers | None) -> tuple[Row, ...]:
    """Return the rows of a slice, with its statistics of all answers, if available.

    If a part has too few labels, the statistics have no value: otherwise figures of the graded
    answers would stand beside figures of all answers.
    """
    described = None if in_all is None else in_all.described
    if in_all is None or not (
        in_all.is_weighted or (in_all.too_few is not None and described is None)
    ):
        return rows_of(of_pairs.n, with_accuracy(of_pairs), name, described)
    return rows_of(in_all.labels, with_accuracy(_replaced(of_pairs, in_all)), name, in_all.answers)


def _replaced(of_pairs: PairStatistics, in_all: InAllAnswers) -> PairStatistics:
    """Return the statistics, replaced by those of all answers."""
    of_all = {name: in_all.statistics.get(name, each) for name, each in of_pairs.estimates.items()}
    return replace(of_pairs, estimates=of_all)


COMPLEMENTS = {"missed": "sensitivity", "false_alarms": "specificity"}
"""The shares of errors that pages show, each with the statistic to which it is the complement."""

HEADLINES = ("weighted_kappa", "kappa", "spearman")
"""The statistics of `headline_name`. The first one that a result has is that of its scale."""
LEADING = tuple(name for name, row in STATISTICS.items() if row.leads)
"""The names of the statistics in short tables."""


def headline_name(scale: Scale) -> str:
    """Return the statistic that compares raters on a scale: kappa, weighted kappa of levels, rank correlation."""
    if scale.categories is None:
        return "spearman"
    return "kappa" if scale.weights is None else "weighted_kappa"


def raters_headline(n: int, statistics: Statistics, code: str) -> Note:
    """Return how far several raters agree on ``n`` items; ``code`` is "people", "judges" or "repeats"."""
    if n < MIN_PAIRS:
        return note("few_rated", n=n, least=MIN_PAIRS)
    same = statistics.get("self_consistency") or statistics.get("agreement")
    if same is None:
        return note("rated_scores", n=n, alpha=statistics["alpha"])
    return note(code, n=n, same=same, alpha=statistics["alpha"])


def of_raters(
    choice: AgreementChoice, ratings: Ratings, more: Statistics | None = None
) -> AgreementResult:
    """Return the figures of several raters (of exactly two: also their pair's statistics), without caveats.

    ``more`` are further figures of all items.
    """
    overall, pairs = overall_agreement(ratings), pairs_of_raters(ratings)
    of_pair = pairs[0].statistics if len(pairs) == 1 and overall.raters == 2 else {}
    statistics = of_pair | with_alpha(overall, ratings.scale) | (more or {})
    return AgreementResult(
        of=choice.of,
        unit=choice.unit,
        about=About(grade=ratings.scale.grade, by=choice.by, unit=choice.things),
        headline=raters_headline(overall.items, statistics, choice.of),
        rows=rows_of(overall.items, statistics),
        parts=tuple(part_of("rater_pairs", "raters", map(pair_line, pairs))),
    )


def pair_line(pair: RaterPair) -> tuple[str, int, Statistics]:
    """Return two raters as a line of a part."""
    return pair_name(pair.first, pair.second), pair.n, pair.statistics


def with_alpha(overall: OverallAgreement, scale: Scale) -> Statistics:
    """Return the estimates with ``alpha``: nominal alpha for unordered categories, interval alpha otherwise."""
    is_unordered = scale.categories is not None and scale.weights is None
    return {
        "alpha": overall.estimates["alpha_nominal" if is_unordered else "alpha_interval"],
        **overall.estimates,
    }


MOST_LINES = 50


def shortened(result: AgreementResult, most: int = MOST_LINES) -> AgreementResult:
    """Return the result with at most ``most`` lines in each part: the lines with the most items."""
    parts = []
    for part in result.parts:
        sizes = {name: part.figure("n", name).n for name in part.slices}
        if len(sizes) <= most:
            parts.append(part)
            continue
        largest = set(sorted(sizes, key=lambda name: -sizes[name])[:most])
        caveats = [*part.caveats, note("shortened", n=most, lines=len(sizes))]
        for name in HEADLINES:
            values = sorted(
                row.value for row in part.rows if row.figure == name and row.value is not None
            )
            if values:
                ends = {"lowest": values[0], "highest": values[-1]}
                caveats.append(note("range", median=median(values), **ends))
                break
        rows = tuple(row for row in part.rows if row.slice in largest)
        parts.append(replace(part, rows=rows, caveats=tuple(caveats)))
    return replace(result, parts=tuple(parts))
