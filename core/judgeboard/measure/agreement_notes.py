"""The headline of figures of agreement, and the caveats with the headline, the most serious first."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from shlex import quote

import numpy as np

from judgeboard.domain import Estimate
from judgeboard.measure.agreement_result import AgreementResult, Statistics, headline_name
from judgeboard.measure.all_answers import WIDE, InAllAnswers
from judgeboard.measure.choice import GRADES, Unit, sliced_by
from judgeboard.measure.notes import Note, note
from judgeboard.measure.ratings import (
    ItemRatings,
    PairSource,
    RatingPairs,
    column_of,
    grouping_of,
    is_given,
)
from judgeboard.stats.arrays import FloatArray, IntArray, among
from judgeboard.stats.estimates import (
    MIN_PAIRS,
    complement,
    far_from_others,
    more_pairs,
    surely_above,
)
from judgeboard.stats.pair_orders import InconsistentAs
from judgeboard.stats.pair_statistics import STATISTICS, PairStatistics
from judgeboard.stats.rater_agreement import agreement_beyond_people
from judgeboard.stats.ratings import SCALES, Human, Kind, Scale
from judgeboard.store.filters import conditions_of
from judgeboard.store.grades import (
    AGAIN,
    GradedReviews,
    dimensions_of_both,
    dimensions_scored,
    graded_reviews,
)
from judgeboard.store.tables import StoredVersion
from judgeboard.store.verdicts import current_verdicts

COMBINED: dict[Kind, str] = {
    "label": "majority of people",
    "groundedness": "mean of people",
    "quality": "lower median of people",
}
"""How the grades of several people become one."""

_PICKED = 1 / 3
_SKEWED = 0.9
_HIGH, _LOW = 0.8, 0.4
_FEW_OF_A_CATEGORY = 15
_MANY_SLICES = 4
# So many times more labels of what the judge calls bad: then the direction of the error is known
_UNEVEN = 1.5


def compared_with(human: Human, kind: Kind) -> str:
    """Return which grades a judge is compared with."""
    combined = COMBINED[kind]
    return {
        "gold": f"gold label, else {combined}",
        "majority": combined,
        "mean": combined,
        "each": "each person alone",
    }[human]


def judge_headline(statistics: PairStatistics, on: str) -> Note:
    """Return how far a judge and people agree; ``on`` names the answers: "146 graded answers"."""
    figures = statistics.estimates
    if statistics.n < MIN_PAIRS:
        return note("few_graded", graded=on, least=MIN_PAIRS)
    if statistics.confusion is None:
        return note("scores", on=on, rank=figures["spearman"])
    agreement = statistics.agreement
    if "weighted_kappa" in figures:
        return note("levels", on=on, kappa=statistics.weighted_kappa, agreement=agreement)
    kappa = figures["kappa"]
    by_class = [figures[name] for name in ("sensitivity", "specificity") if name in figures]
    if any(each.value is None for each in (kappa, *by_class)):
        return note("one_label", on=on, agreement=agreement)
    if not by_class:
        return note("categories", on=on, agreement=agreement, kappa=kappa)
    return note("labels", on=on, kappa=kappa, missed=complement(by_class[0]))


def judge_caveats(
    statistics: PairStatistics,
    pairs: RatingPairs,
    *,
    in_all: InAllAnswers | None,
    cut_at: str | None,
    picked: IntArray,
    judged_again: Collection[int],
    correlated: Iterable[Note],
    luck: Iterable[Note],
) -> Iterator[Note]:
    """Yield the caveats of a judge version compared with people, the most serious first.

    Below the groundedness ``cut_at`` an answer without a label counts as hallucinated. ``picked``
    are the ascending ids of answers that people graded because of a flag of a selective rule.
    """
    if statistics.n < MIN_PAIRS:
        return
    headline, estimates = headline_name(pairs.scale), statistics.estimates
    if "sensitivity" in estimates and statistics.agreement.value is not None:
        for label, share in (("bad", statistics.sensitivity), ("good", statistics.specificity)):
            if share.value is None:
                yield note("one_class", missing=label)
    yield from _graded_alone(in_all)
    yield from _no_interval(headline, estimates)
    yield from _wide_interval(estimates[headline], in_all)
    if in_all is None or not in_all.is_random:
        yield from _flagged(pairs.response_ids, picked)
    yield from _skewed(pairs.people, pairs.scale, estimates, "kappa")
    yield from _few_of_rarer(pairs.people, pairs.scale)
    yield from correlated
    yield from luck
    again = among(np.unique(pairs.response_ids), np.array(sorted(judged_again), dtype=np.int64))
    if again.any():
        yield note("judged_again", n=int(again.sum()))
    # Some labels were derived from groundedness.
    if cut_at is not None and pairs.cut.any():
        yield note("cut", n=int(pairs.cut.sum()), cut=cut_at)
    if in_all and in_all.is_weighted and in_all.extras:
        yield note("picked_labels", n=in_all.extras)


def people_caveats(
    items: ItemRatings, statistics: Statistics, *, picked: IntArray, luck: Iterable[Note]
) -> list[Note]:
    """Return the caveats of several raters on the items that two or more rated; arguments as in `judge_caveats`."""
    common = items.at(items.ratings.per_item >= 2)
    if len(common.ids) < MIN_PAIRS:
        return []
    scale, grades = common.ratings.scale, common.ratings.values[common.ratings.rated]
    return [
        *_flagged(common.ids, picked),
        *_skewed(grades, scale, statistics, "alpha_nominal"),
        *_few_of_rarer(grades, scale),
        *luck,
    ]


def other_grades(
    reviews: GradedReviews, grade: str, reviewer_id: int | None = None
) -> Iterator[Note]:
    """Yield a note on how many reviews (of one person or of all) lack this grade, and which grades these reviews have.

    There is no note on rubric dimensions, because the log does not tell which reviewers were asked
    for a dimension.
    """
    if grade not in GRADES:
        return
    rows = (reviews.stages != AGAIN) & ~is_given(column_of(reviews, grade))
    if reviewer_id is not None:
        rows &= reviews.reviewer_ids == reviewer_id
    without = reviews.at(rows)
    others = [name for name in GRADES if is_given(column_of(without, name)).any()]
    if others:
        yield note("other_grades", n=int(np.count_nonzero(rows)), grade=grade, others=others)


def order_note(share: Estimate, inconsistent: InconsistentAs) -> Iterator[Note]:
    """Yield how pairs count if verdicts differ with the order of the answers, if there are such pairs."""
    if share.value and share.n >= MIN_PAIRS:
        yield note(f"orders_{inconsistent}", changed=share.value)


def _graded_alone(in_all: InAllAnswers | None) -> Iterator[Note]:
    """Yield what figures of chosen answers do not show."""
    if in_all is None or in_all.described is not None:
        return
    if in_all.to_label is not None and in_all.to_label.hidden:
        yield note("hidden_until_reviewed", n=in_all.to_label.hidden)
    yield note("graded_alone", answers=in_all.answers)
    # Labels of answers judged bad find false alarms, labels of answers judged good find misses
    # (Begg, Greenes, 1983).
    of_bad, of_good = in_all.labelled_shares or (0.0, 0.0)
    if of_bad and of_bad >= _UNEVEN * of_good:
        yield note("labelled_unevenly", bad=of_bad, good=of_good)


def _no_interval(headline: str, estimates: Mapping[str, Estimate]) -> Iterator[Note]:
    for name in (headline, "sensitivity"):
        each = estimates.get(name)
        if (
            each is not None
            and each.value is not None
            and each.low is None
            and each.reason is not None
        ):
            yield note(
                "no_interval",
                figure=STATISTICS[name].name,
                reason=each.reason.removeprefix("no interval: "),
            )
            return


def _wide_interval(headline: Estimate, in_all: InAllAnswers | None) -> Iterator[Note]:
    if headline.low is None or headline.high is None or (headline.high - headline.low) / 2 <= WIDE:
        return
    if in_all is not None and in_all.described is None:
        return  # more of the chosen answers would narrow the wrong figure
    more = more_pairs(headline)
    if in_all is not None and in_all.is_weighted:
        labels = in_all.to_narrow
        more = (
            labels.more
            if labels is not None and in_all.unlabelled and labels.shows <= WIDE
            else None
        )
    yield note("wide_interval") if more is None else note("wide_interval_more", more=more)


def _flagged(ids: IntArray, picked: IntArray) -> Iterator[Note]:
    share = float(among(ids, picked).mean())
    if share >= _PICKED:
        yield note("flagged", share=share)


def _skewed(
    grades: FloatArray, scale: Scale, estimates: Mapping[str, Estimate], chance_corrected: str
) -> Iterator[Note]:
    """Yield a note if one category is so frequent that agreement is high by chance; ``grades`` are positions."""
    agreement, by_chance, ac1 = (
        estimates.get(each) for each in ("agreement", chance_corrected, "ac1")
    )
    if agreement is None or by_chance is None or ac1 is None or ac1.value is None:
        return
    frequent = scale.categories is not None and scale.weights is None and len(grades) > 0
    share = np.unique(grades, return_counts=True)[1].max() / len(grades) if frequent else 0.0
    is_low = (
        (agreement.value or 0) >= _HIGH and by_chance.value is not None and by_chance.value < _LOW
    )
    if _SKEWED <= share < 1 or is_low:
        yield note("skewed", agreement=agreement, ac1=ac1)


def _few_of_rarer(grades: FloatArray, scale: Scale) -> Iterator[Note]:
    """Yield a note if the rarest of the unordered categories that occur has fewer than 15 items."""
    if scale.categories is None or scale.weights is not None:
        return
    places, counts = np.unique(grades, return_counts=True)
    if len(places) > 1 and counts.min() < _FEW_OF_A_CATEGORY:
        rarest = scale.categories[int(places[counts.argmin()])]
        yield note("few_labels_of", label=str(rarest), n=int(counts.min()), labels=len(grades))


def luck(result: AgreementResult, statistic: str) -> Iterator[Note]:
    """Yield a note on the slice that is far from all others; without one, the probability of a difference by chance.

    The slices are compared on ``statistic``.
    """
    noun = sliced_by(result.about.by or "query_type")
    figures = {
        name: result.figure(statistic, name)
        for name in result.slices
        if result.figure("n", name).n >= MIN_PAIRS
    }
    apart = far_from_others(figures)
    if apart is not None:
        yield note("slice_apart", slice=apart, slices=noun, figure=figures[apart])
    elif len(figures) >= _MANY_SLICES:
        yield note("slices", n=len(figures), slices=noun, chance=1 - 0.95 ** len(figures))


def correlated_judges(
    judges: Iterable[tuple[tuple[str, RatingPairs], tuple[str, RatingPairs]]],
    unit: Unit,
    human: Human,
) -> Iterator[Note]:
    """Yield a note on the two judges that agree most beyond people, if any two surely agree more than with people.

    Each judge is a title with its rating pairs. All figures describe the answers that both judges
    and people graded.
    """
    excesses: list[tuple[float, Note]] = []
    for (first, of_first), (second, of_second) in judges:
        # Both have their rows in the same order, even if people are stacked.
        one = of_first.at(np.isin(of_first.response_ids, of_second.response_ids))
        other = of_second.at(np.isin(of_second.response_ids, of_first.response_ids))
        groups = grouping_of(one, unit, human)
        # Scores without levels, or verdicts with a further category, are positions on the scale of
        # their own pairs.
        wider = min(one, other, key=lambda each: (bool(each.scale.k), -each.scale.k))
        excess = agreement_beyond_people(one.judge, other.judge, wider.people, wider.scale, groups)
        if excess is not None and excess.value is not None and surely_above(excess, 0):
            words = note("correlated_judges", first=first, second=second, excess=excess)
            excesses.append((excess.value, words))
    if excesses:
        yield max(excesses, key=lambda each: each[0])[1]


def nothing_to_compare(source: PairSource, version: StoredVersion | None, grade: str) -> Note:
    """Return why no answer has the grade of both, and which grades exist; ``version`` is None for all judges."""
    if source.scales is not SCALES:  # only one dimension is loaded
        source = PairSource(source.connection, source.counted)
    # Grades that both gave to the same answers, the most frequent first
    both: dict[str, int] = {}
    for name in GRADES:
        judge = version or next(iter(source.versions(name)), None)
        both[name] = 0 if judge is None else source.pairs(judge.id, name).n
    dimensions = dimensions_of_both(source.connection, None if version is None else version.id)
    both |= {
        of_people: n for (of_people, of_judge), n in dimensions.items() if of_people == of_judge
    }
    existing = [name for _, name in sorted((-n, name) for name, n in both.items() if n)]
    if existing:
        options = "" if version is None else f" --judge-version {quote(version.title)}"
        options += "".join(
            f" --where {quote(each)}" for each in conditions_of(source.counted.where)
        )
        command = f"judgeboard agreement{options} --grade {quote(existing[0])}"
        return note("both_gave", grade=grade, others=existing, command=command)
    # Grades of the same answers under different names
    by_people, by_judge = ({names[side] for names in dimensions} for side in (0, 1))
    if not dimensions:
        # Grades of people and of the judge (None: any) on the answers that both graded, by any name
        verdicts = current_verdicts(
            source.connection,
            of_reviewed=True,
            version_ids=None if version is None else {version.id},
        )
        reviews: dict[str, GradedReviews] = {
            **dict.fromkeys(GRADES, source.reviews),
            **{
                name: graded_reviews(source.connection, name)
                for name in dimensions_scored(source.connection)
            },
        }
        people = {
            name: each.response_ids[is_given(column_of(each, name))]
            for name, each in reviews.items()
        }
        common = among(verdicts.response_ids, np.unique(np.concatenate(list(people.values()))))
        of_both = verdicts.at(common)
        by_people = {
            name
            for name, of_people in people.items()
            if np.isin(of_people, of_both.response_ids).any()
        }
        by_judge = {str(name) for name in GRADES if is_given(column_of(of_both, name)).any()}
    if by_people and by_judge and not by_people & by_judge:
        return note("other_names", people=sorted(by_people), judge=sorted(by_judge))
    return note("nothing_in_common")
