"""The result of measuring agreement: its type and its statistics."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import median
from typing import Any

from judgeboard.domain import Estimate
from judgeboard.measure.all_answers import InAllAnswers, ToLabel
from judgeboard.measure.choice import AgreementChoice, By, Of, Unit
from judgeboard.measure.notes import Note, note
from judgeboard.measure.ratings import Comparisons, NoticeLabels, RatingPairs, UnjudgedAnswers, grouping_of
from judgeboard.measure.words import LEFT_OUT
from judgeboard.stats.alternative_annotator import AlternativeAnnotatorTest
from judgeboard.stats.confusion import Confusion
from judgeboard.stats.detection import Tenth
from judgeboard.stats.estimates import MIN_PAIRS, complement
from judgeboard.stats.intervals import RESAMPLES
from judgeboard.stats.pair_orders import InconsistentAs, UnusableAs
from judgeboard.stats.pair_statistics import STATISTICS, ClassStatistics, Pairs, PairStatistics, statistics_of
from judgeboard.stats.rater_agreement import (
    OverallAgreement,
    RaterAgainstGold,
    RaterPair,
    overall_agreement,
    pairs_of_raters,
)
from judgeboard.stats.rates import STATISTICS_OF_ALL
from judgeboard.stats.ratings import Human, Ratings, Scale
from judgeboard.store.judge_versions import StoredVersion
from judgeboard.text import counted

Statistics = dict[str, Estimate]


@dataclass(frozen=True, slots=True)
class MeasuredVersion:
    """A judge version whose agreement was measured."""

    title: str
    fingerprint: str


@dataclass(frozen=True, slots=True)
class AgreementSlice:
    """Agreement on the ``n`` items of one slice; ``alt_test`` is corrected for the tests in all slices.

    If labels came by known chances, the figures are for all ``answers`` of the slice, and ``n`` counts these labels.
    Otherwise ``answers`` is None. If the figures weight the labels, they are ``weighted``.
    """

    name: str
    n: int
    statistics: Statistics
    alt_test: AlternativeAnnotatorTest | None = None
    answers: int | None = None
    weighted: bool = False

    @property
    def shown(self) -> Statistics:
        """The statistics for tables and charts of slices: those in `not_shown` have a reason, but no value."""
        hidden = self.not_shown
        return {
            name: replace(each, value=None, reason=hidden[name]) if name in hidden else each
            for name, each in self.statistics.items()
        }

    @property
    def not_shown(self) -> dict[str, str]:
        """The weighted statistics without a value or an interval, with the reason.

        A few labels may stand for most answers. Beside a large n, the value would look certain.
        """
        if not self.weighted:
            return {}
        return {
            name: (each.reason or "no interval").removeprefix("no interval: ")
            for name, each in self.statistics.items()
            if name in STATISTICS_OF_ALL and each.low is None
        }


@dataclass(frozen=True, slots=True)
class Shortened:
    """A shortened list of ``lines`` lines: how many are left out, and the range of a statistic over all lines."""

    lines: int
    left_out: int
    statistic: str | None = None
    lowest: float | None = None
    median: float | None = None
    highest: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AgreementResult:
    """Agreement of people, of a judge with people, of judges, or of a judge with itself. JSON has the same fields.

    ``title`` names who was measured, and ``where`` is the filter of answers or pairs (empty: all). ``n`` is the number
    of items (of grades, if people are stacked) behind the statistics; ``left_out`` counts other items by reason. Where
    people's labels came by known chances, the figures are for all ``answers`` with a verdict (otherwise None). If not
    all of them are graded, ``graded`` has the weighted figures on the graded answers alone, and each other statistic is
    about these. ``to_label`` says what to label for figures of all answers, None if nothing is missing. ``ungraded``
    counts the answers with a verdict that nobody has reviewed (None: not known).
    ``unjudged`` are graded answers that the judge has to judge first, None if people have to grade more.
    ``human`` and ``compared_with`` name the grades that a judge is compared with. ``inconsistent`` and ``unusable`` are
    the options for pairs. ``rater_pairs`` compares every two raters, ``self_agreement`` people who rated items twice,
    ``against_gold`` people with gold labels. If these lists are long, ``shortened`` tells what is left out, by name.
    ``anchoring`` is how far people moved to the judge's verdicts after they saw them, by grade. ``notices`` has the
    labels of people on served answers, by the notice that the reader saw.
    """

    of: Of
    unit: Unit
    grade: str
    aspect: str | None = None
    human: Human | None = None
    compared_with: str | None = None
    inconsistent: InconsistentAs | None = None
    unusable: UnusableAs | None = None
    where: Mapping[str, Any] = field(default_factory=dict)
    title: str = ""
    judge_versions: tuple[MeasuredVersion, ...] = ()
    headline: Note
    n: int
    left_out: Mapping[str, int] = field(default_factory=dict)
    statistics: Statistics
    answers: int | None = None
    graded: Statistics = field(default_factory=dict)
    to_label: ToLabel | None = None
    ungraded: int | None = None
    unjudged: UnjudgedAnswers | None = None
    rater_pairs: tuple[RaterPair, ...] = ()
    self_agreement: tuple[RaterPair, ...] = ()
    against_gold: tuple[RaterAgainstGold, ...] = ()
    shortened: Mapping[str, Shortened] = field(default_factory=dict)
    confusion: Confusion | None = None
    classes: tuple[ClassStatistics, ...] = ()
    calibration: tuple[Tenth, ...] | None = None
    alt_test: AlternativeAnnotatorTest | None = None
    by: By | None = None
    slices: tuple[AgreementSlice, ...] = ()
    anchoring: Mapping[str, Estimate] = field(default_factory=dict)
    notices: tuple[NoticeLabels, ...] = ()
    caveats: tuple[Note, ...] = ()
    next: tuple[Note, ...] = ()

    @property
    def whole(self) -> AgreementSlice:
        """All items as a slice, to stand beside the slices."""
        return AgreementSlice("All", self.n, self.statistics, answers=self.answers, weighted=bool(self.graded))

    @property
    def hidden(self) -> int:
        """The number of answers that are hidden from the viewer, and so few that the figures leave them out."""
        return self.left_out.get("hidden", 0)

    @property
    def is_of_graded(self) -> bool:
        """Whether other statistics than those of all answers describe the graded answers alone."""
        return bool(self.graded) or (self.of == "judge" and self.unit == "responses" and self.answers is None)

    @property
    def sentence(self) -> str:
        """The headline in words."""
        return self.headline.text

    @property
    def left_out_sentence(self) -> str | None:
        """What was left out: "Left out: people tied (3)."."""
        return left_out_sentence(self.left_out)


def answers_words(n: int, answers: int | None, thing: str = "graded answer") -> str:
    """Return what figures describe: "all 442 judged answers", or the graded ones alone ("146 graded answers")."""
    return counted(n, thing) if answers is None else f"all {counted(answers, 'judged answer')}"


def left_out_sentence(left_out: Mapping[str, int]) -> str | None:
    """Return what was left out, for counts by reason; None if there are none."""
    return left_out_words((LEFT_OUT[reason], n) for reason, n in left_out.items())


def left_out_words(counts: Iterable[tuple[str, int]]) -> str | None:
    """Return "Left out: people tied (3), unusable verdict (1)." for reasons with counts; None if there are none."""
    reasons = ", ".join(f"{reason} ({n:,})" for reason, n in counts)
    return note("left_out", reasons=reasons).text if reasons else None


def shown_statistics(statistics: Mapping[str, Estimate]) -> Statistics:
    """Return the statistics to show, in their order: misses and false alarms replace their complements.

    A statistic with two names is shown once.
    """
    shown = dict(statistics)
    for name, complementary in (("missed", "sensitivity"), ("false_alarms", "specificity")):
        if complementary in shown:
            shown[name] = complement(shown.pop(complementary))
    alpha = shown.get("alpha")
    return {
        name: shown[name]
        for name in STATISTICS
        if name in shown and name != "accuracy" and (name == "alpha" or shown[name] is not alpha)
    }


def judge_statistics(
    pairs: RatingPairs,
    unit: Unit = "responses",
    human: Human = "gold",
    *,
    only: Collection[str] | None = None,
    resamples: int = RESAMPLES,
) -> PairStatistics:
    """Return every statistic of a judge version compared with people, or ``only`` the named ones.

    Every page, file and command gets its figures of a judge and people from this function. A statistic is the same to
    the last bit, whichever other statistics are computed with it.
    """
    scores = pairs.scores if pairs.scale.grade == "label" else None
    groups = grouping_of(pairs, unit, human)
    return statistics_of(
        Pairs(pairs.judge, pairs.people, pairs.scale, groups, scores=scores, resamples=resamples), only
    )


def order_statistics(comparisons: Comparisons | None) -> Statistics:
    """Return a judge's figures that depend on the order of the answers; none if it scored each answer by itself.

    They are how often it changes its preference with the order, and how often its verdicts are unusable.
    """
    if comparisons is None or comparisons.orders is None or comparisons.asked is None:
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
        # An accuracy that is there already may be of other answers: `for_all` replaces the agreement alone.
        return {"agreement": agreement, "accuracy": agreement} | estimates | {"accuracy": agreement}
    return estimates


def for_all(of_pairs: PairStatistics, in_all: InAllAnswers | None) -> tuple[PairStatistics, Statistics]:
    """Return the statistics with those of all answers in their place, and what these are on the graded answers alone.

    Where the labels came by no known chances, or all answers are graded, nothing is replaced.
    """
    if in_all is None or not in_all.is_weighted:
        return of_pairs, {}
    of_all = _replaced(of_pairs, in_all)
    graded = {name: each for name, each in of_pairs.estimates.items() if name in in_all.statistics}
    return of_all, with_accuracy(replace(of_pairs, estimates=graded))


def slice_of(
    name: str,
    of_pairs: PairStatistics,
    in_all: InAllAnswers | None,
    test: AlternativeAnnotatorTest | None = None,
) -> AgreementSlice:
    """Return the slice with its statistics of all answers, if they are known.

    If a part has too few labels, they have no value: figures of the graded answers would stand beside those of all.
    """
    if in_all is None or not (in_all.is_weighted or in_all.lacks_labels):
        described = None if in_all is None else in_all.described
        return AgreementSlice(name, of_pairs.n, with_accuracy(of_pairs), test, described)
    statistics = with_accuracy(_replaced(of_pairs, in_all))
    return AgreementSlice(name, in_all.labels, statistics, test, in_all.answers, weighted=True)


def _replaced(of_pairs: PairStatistics, in_all: InAllAnswers) -> PairStatistics:
    """Return the statistics with those of all answers in their place."""
    of_all = {name: in_all.statistics.get(name, each) for name, each in of_pairs.estimates.items()}
    return replace(of_pairs, estimates=of_all)


HEADLINES = ("weighted_kappa", "kappa", "spearman")
"""The statistics of `headline_name`. Of those that a result has, the first is that of its scale."""


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


def of_raters(choice: AgreementChoice, ratings: Ratings, more: Statistics | None = None) -> AgreementResult:
    """Return the figures of several raters (of exactly two: also their pair's statistics), without caveats.

    ``more`` are further figures of all items.
    """
    agreed, pairs = overall_agreement(ratings), pairs_of_raters(ratings)
    of_pair = pairs[0].statistics if len(pairs) == 1 and agreed.raters == 2 else {}
    statistics = of_pair | with_alpha(agreed, ratings.scale) | (more or {})
    return AgreementResult(
        of=choice.of,
        unit=choice.unit,
        grade=ratings.scale.grade,
        headline=raters_headline(agreed.items, statistics, choice.of),
        n=agreed.items,
        statistics=statistics,
        rater_pairs=pairs,
        by=choice.by,
    )


def with_alpha(agreed: OverallAgreement, scale: Scale) -> Statistics:
    """Return the estimates with ``alpha``: nominal alpha for unordered categories, interval alpha otherwise."""
    unordered = scale.categories is not None and scale.weights is None
    return {"alpha": agreed.estimates["alpha_nominal" if unordered else "alpha_interval"], **agreed.estimates}


def measured_versions(versions: Iterable[StoredVersion]) -> tuple[MeasuredVersion, ...]:
    """Return the titles and fingerprints of judge versions."""
    return tuple(MeasuredVersion(each.title, each.fingerprint) for each in versions)


MOST_LINES = 50
_LISTS = ("rater_pairs", "self_agreement", "against_gold")


def shortened(result: AgreementResult, most: int = MOST_LINES) -> AgreementResult:
    """Return the result with at most ``most`` lines in each list of raters: those with the most items."""
    lists: dict[str, Any] = {}
    cut: dict[str, Shortened] = {}
    for name in _LISTS:
        lines = getattr(result, name)
        if len(lines) > most:
            kept = sorted(sorted(range(len(lines)), key=lambda place: (-lines[place].n, place))[:most])
            lists[name] = tuple(lines[place] for place in kept)
            cut[name] = _summary(lines, len(lines) - most)
    return replace(result, shortened=cut, **lists) if cut else result


def _summary(lines: Sequence[Any], left_out: int) -> Shortened:
    for name in HEADLINES:
        values = [each.statistics[name].value for each in lines if name in each.statistics]
        known = sorted(value for value in values if value is not None)
        if known:
            return Shortened(len(lines), left_out, name, known[0], median(known), known[-1])
    return Shortened(len(lines), left_out)
