"""The result of measuring agreement: its type, its statistics by name, and their words."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from sqlalchemy import Connection

from judgeboard.agreement.answer_pairs import GRADES, AnswerPairs
from judgeboard.agreement.choice import By, Of, Unit
from judgeboard.agreement.ratings import RatingPairs, grouping_of
from judgeboard.domain import Estimate, Label
from judgeboard.stats.alternative_annotator import AlternativeAnnotatorTest
from judgeboard.stats.anchoring import anchoring
from judgeboard.stats.arrays import grouping
from judgeboard.stats.confusion import Confusion
from judgeboard.stats.detection import MIN_CALIBRATION, Tenth, calibration
from judgeboard.stats.estimates import complement
from judgeboard.stats.intervals import RESAMPLES
from judgeboard.stats.pair_statistics import NOT_ASKED, NOT_FOR_GRADE, STATISTICS, PairStatistics, pair_statistics
from judgeboard.stats.rater_agreement import OverallAgreement, RaterAgainstGold, RaterPair
from judgeboard.stats.ratings import Human, Scale
from judgeboard.store.grades import before_and_after
from judgeboard.store.judge_versions import StoredVersion

Statistics = dict[str, Estimate]


_LEFT_OUT = {
    "ties": "on which as many people said one as the other",
    "only_gold": "that only a lead has graded",
    "without_verdict": "without a usable verdict of this version",
    "inconsistent": "on which the judge contradicts itself when the order is turned round",
    "unusable": "with a verdict that cannot be used",
    "one_person": "that one person rated",
    "revealed": "on which somebody spoke only after the rest was revealed",
    "one_judge": "that one judge rated",
    "incomplete": "without a usable verdict every time",
}
_OF_NUMBERS = ("alpha_ordinal", "alpha_interval", "pearson", "spearman", "kendall")
_VALUE_ONLY = 2  # the fewest resamples: the value does not depend on them


def statistic_name(name: str) -> str:
    """Return what a statistic is called in words."""
    return STATISTICS[name].name if name in STATISTICS else name.replace("_", " ")


def is_share(name: str) -> bool:
    """Return whether a statistic is a share, shown in percent."""
    return name in STATISTICS and STATISTICS[name].share


def shown_statistics(statistics: Mapping[str, Estimate]) -> Statistics:
    """Return the statistics that pages, reports and terminals show, in their order.

    What the judge misses and its false alarms stand in the place of their complements, and a figure that has two names
    is there once.
    """
    found = dict(statistics)
    for name, complementary in (("missed", "sensitivity"), ("false_alarms", "specificity")):
        if complementary in found:
            found[name] = complement(found.pop(complementary))
    lead = found.get("alpha")
    return {
        name: found[name]
        for name in STATISTICS
        if name in found and name != "accuracy" and (name == "alpha" or found[name] is not lead)
    }


def left_out_words(why: str) -> str:
    """Return why items were left out, after their number."""
    return _LEFT_OUT.get(why, why.replace("_", " "))


def measured(
    pairs: AnswerPairs,
    unit: Unit = "responses",
    human: Human = "gold",
    *,
    only: Collection[str] | None = None,
    resamples: int = RESAMPLES,
) -> PairStatistics:
    """Return every statistic of a judge version compared with people, or ``only`` the named ones.

    Every figure of a judge and people on every page, in every file and in every command comes from here. A statistic
    is the same, to the last bit, whichever others are computed with it.
    """
    return pair_statistics(
        pairs.judge,
        pairs.people,
        pairs.scale,
        grouping_of(pairs, unit, human),
        scores=pairs.scores if pairs.grade == "label" else None,
        resamples=resamples,
        only=only,
    )


def of_grade(statistics: PairStatistics) -> Statistics:
    """Return the statistics that the grade has; ``accuracy`` is another name of ``agreement``."""
    found = {name: each for name, each in statistics.estimates.items() if each.reason not in {NOT_FOR_GRADE, NOT_ASKED}}
    if "agreement" in found:
        found = {"agreement": found["agreement"], "accuracy": found["agreement"], **found}
    return found


def counting_wrong(
    found: Statistics, compared: RatingPairs, unit: Unit, human: Human
) -> tuple[Statistics, Confusion | None]:
    """Return the statistics, and the table, with unusable verdicts counted as wrong where there are any.

    This changes how often the judge is right. What needs the judge's own categories stays as it is without them.
    """
    if compared.wrong is None:
        return found, None
    counted = measured(compared.wrong, unit, human)
    return found | {"agreement": counted.agreement, "accuracy": counted.agreement}, counted.confusion


def alpha_of(scale: Scale) -> str:
    """Return which of Krippendorff's alphas leads on a scale: nominal for unordered categories, else interval."""
    return "alpha_nominal" if scale.categories is not None and scale.weights is None else "alpha_interval"


def of_raters(agreed: OverallAgreement, scale: Scale, pairs: Sequence[RaterPair]) -> Statistics:
    """Return the statistics of all raters together that the grade has, ``alpha`` the one that leads.

    Where there are two raters in all, the statistics of the two stand beside it.
    """
    found: Statistics = {"alpha": agreed.estimates[alpha_of(scale)]}
    found |= {name: each for name, each in agreed.estimates.items() if each.reason != NOT_FOR_GRADE}
    if len(pairs) == 1 and agreed.raters == 2:
        found = {**pairs[0].statistics, **found}
    return found


def with_numbers(categories: Statistics, numbers: Statistics) -> Statistics:
    """Return the statistics of sides with those of the grades behind them: correlations, interval alpha."""
    return categories | {name: numbers[name] for name in _OF_NUMBERS if name in numbers and name not in categories}


def headline_name(scale: Scale) -> str:
    """Return the statistic that compares raters on a scale: kappa, weighted kappa of levels, rank correlation."""
    if scale.categories is None:
        return "spearman"
    return "kappa" if scale.weights is None else "weighted_kappa"


def headline_words(scale: Scale) -> str:
    """Return what `headline_name` is called within a sentence."""
    return {"spearman": "rank correlation"}.get(headline_name(scale), headline_name(scale).replace("_", " "))


def headline_value(pairs: AnswerPairs) -> float | None:
    """Return the value alone of the statistic that leads, without the work of an interval."""
    name = headline_name(pairs.scale)
    found: Estimate = getattr(measured(pairs, only=(name,), resamples=_VALUE_ONLY), name)
    return found.value


def cut_words(title: str, pairs: AnswerPairs, cut_at: float) -> str | None:
    """Return how labels came about that a judge did not give, None where it gave all."""
    cut = int(pairs.cut.sum())
    if not cut:
        return None
    which = "its" if cut == pairs.n else f"on {cut:,} of {pairs.n:,} answers its"
    return f"{title} gives no label: {which} groundedness is cut at {cut_at:g}"


def calibration_of(pairs: AnswerPairs) -> tuple[Tenth, ...] | None:
    """Return the share that people call grounded per tenth of the score, of labels of 100 scored answers or more."""
    if pairs.grade != "label":
        return None
    scored = ~np.isnan(pairs.scores)
    if int(scored.sum()) < MIN_CALIBRATION:
        return None
    return calibration(pairs.scores[scored], pairs.people[scored] == Label.GROUNDED.value)


def anchoring_by_grade(connection: Connection, version: StoredVersion) -> Mapping[str, Estimate]:
    """Return how far people moved to a judge version's verdicts once these were shown, of each grade they repeated.

    Rows are a person and an answer; the interval goes by answer.
    """
    found: dict[str, Estimate] = {}
    for grade in GRADES:
        said = before_and_after(connection, version.id, grade)
        if len(said.response_ids):
            responses = grouping(said.response_ids, len(said.response_ids), row="response", group="response")
            found[grade] = anchoring(said.judge, said.blind, said.revealed, responses)
    return found


@dataclass(frozen=True, slots=True)
class Note:
    """One thing to know beside the figures; ``code`` names its kind, ``text`` is the sentence."""

    code: str
    text: str


@dataclass(frozen=True, slots=True)
class MeasuredVersion:
    """A judge version whose agreement was measured."""

    title: str
    fingerprint: str


@dataclass(frozen=True, slots=True)
class AgreementSlice:
    """Agreement on the ``n`` items of one slice; ``alt_test`` has the correction over all slices."""

    name: str
    n: int
    statistics: Statistics
    alt_test: AlternativeAnnotatorTest | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AgreementResult:
    """Agreement of people, of a judge with people, of judges, or of a judge with itself; its fields are its JSON.

    ``title`` names who was measured. ``n`` items (stacked people: grades) carry the statistics, ``left_out`` counts the
    others by why; a statistic that the grade does not have is not there. ``human`` and ``people_say`` name what a judge
    is compared with. ``rater_pairs`` are two raters each, ``self_agreement`` people who rated items twice,
    ``against_gold`` each person beside what was adjudicated. ``anchoring`` is how far people moved to the judge's
    verdicts after these were shown to them, by grade.
    """

    of: Of
    unit: Unit
    grade: str
    aspect: str | None = None
    human: Human | None = None
    people_say: str | None = None
    title: str
    judge_versions: tuple[MeasuredVersion, ...] = ()
    sentence: str
    n: int
    left_out: Mapping[str, int]
    statistics: Statistics
    rater_pairs: tuple[RaterPair, ...] = ()
    self_agreement: tuple[RaterPair, ...] = ()
    against_gold: tuple[RaterAgainstGold, ...] = ()
    confusion: Confusion | None = None
    calibration: tuple[Tenth, ...] | None = None
    alt_test: AlternativeAnnotatorTest | None = None
    by: By | None = None
    slices: tuple[AgreementSlice, ...] = ()
    anchoring: Mapping[str, Estimate] = field(default_factory=dict)
    notes: tuple[Note, ...] = ()
