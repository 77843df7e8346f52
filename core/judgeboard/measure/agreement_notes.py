"""The sentences above figures of agreement, and the caveats beside them, the most serious first."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from shlex import quote

import numpy as np

from judgeboard.domain import Estimate
from judgeboard.measure.agreement_result import (
    AgreementResult,
    AgreementSlice,
    Note,
    Statistics,
    headline_name,
    headline_words,
)
from judgeboard.measure.all_answers import WIDE, InAllAnswers, all_answers_words
from judgeboard.measure.choice import GRADES, By, Unit, sliced_by
from judgeboard.measure.ratings import ItemRatings, PairSource, RatingPairs, column_of, grouping_of, is_given
from judgeboard.stats.arrays import FloatArray, IntArray, among
from judgeboard.stats.estimates import (
    MIN_PAIRS,
    complement,
    far_from_others,
    kappa_words,
    more_pairs,
    number_words,
    percent,
    percent_words,
    surely_above,
    too_few,
    two_decimals,
)
from judgeboard.stats.pair_orders import InconsistentAs, UnusableAs
from judgeboard.stats.pair_statistics import PairStatistics
from judgeboard.stats.rater_agreement import judges_and_people
from judgeboard.stats.ratings import SCALES, Human, Kind, Scale
from judgeboard.store.filters import conditions_of
from judgeboard.store.grades import AGAIN, GradedReviews, dimensions_of_both, dimensions_scored, graded_reviews
from judgeboard.store.judge_versions import StoredVersion
from judgeboard.store.verdicts import current_verdicts
from judgeboard.text import counted

EMPTY = (
    "No answer has both a verdict of this judge and a grade by a person. Grade some answers on the item page, or "
    "import existing grades: `judgeboard import --kind grades grades.jsonl`"
)

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
_NAMES = {"spearman": "rank correlation", "alpha": "Krippendorff's alpha"}


def compared_with(human: Human, kind: Kind) -> str:
    """Return which grades a judge is compared with."""
    combined = COMBINED[kind]
    return {
        "gold": f"gold label, else {combined}",
        "majority": combined,
        "mean": combined,
        "each": "each person alone",
    }[human]


def judge_sentence(
    statistics: PairStatistics, rows: str, in_all: InAllAnswers | None = None, graded: Statistics | None = None
) -> str:
    """Return how far a judge and people agree on ``rows`` (answers, pairs or grades), or ``in_all`` answers.

    Beside weighted figures, ``graded`` are those of the graded answers alone.
    Where the figures describe the graded answers alone, a sentence before them says what is missing for all.
    """
    n = statistics.n
    if n < MIN_PAIRS:
        rated = {"pairs": "graded pair", "grades": "grade"}.get(rows.split(" ", 1)[0], "graded answer")
        have = f"{counted(n, rated)} {'has' if n == 1 else 'have'} a verdict of this judge"
        return f"{have}; at least {MIN_PAIRS} are needed. {_grade_more(n, in_all)}".rstrip()
    clauses = tuple(_clauses(statistics))
    if in_all is None:
        return _sentences(f"On {n:,} {rows},", clauses)
    everything = all_answers_words(in_all.answers, in_all.hidden)
    if in_all.is_weighted:
        return " ".join((_sentences(f"In {everything},", clauses), *_basis(in_all, graded or {})))
    if in_all.is_complete:
        return _sentences(f"On {everything}," if n == in_all.answers else f"On {n:,} grades of {everything},", clauses)
    if in_all.is_random:
        return _sentences(f"On {n:,} {rows}, a random sample of {everything},", clauses)
    return " ".join((_missing(statistics.grade, in_all, everything), *_alone(statistics, rows, in_all, clauses)))


def _grade_more(n: int, in_all: InAllAnswers | None) -> str:
    """Return how many answers to grade beside these ``n``, and to judge if too few are left.

    An empty text if it is not known how many are left: all pairs may be graded, and left out.
    """
    missing = MIN_PAIRS - n
    if in_all is None:
        return ""
    left = missing if in_all.ungraded is None else in_all.ungraded
    if left >= missing:
        return f"Grade {missing:,} more."
    judge = f"judge and grade {missing - left:,} more"
    return f"Grade the other {left:,}, and {judge}." if left else f"All answers that it judged are graded: {judge}."


def _alone(statistics: PairStatistics, rows: str, in_all: InAllAnswers, clauses: Sequence[str]) -> Iterator[str]:
    """Yield the figures of the graded answers alone. Each sentence says that it is about these."""
    stacked = not rows.startswith("answers")
    graded, these = ("grades of single people", "grades") if stacked else ("graded answers", "answers")
    chosen = ", which are no random sample" if in_all.statistics or statistics.grade != "label" else ""
    first, *others = clauses
    yield f"On the {statistics.n:,} {graded} alone{chosen}, {first}."
    if others:
        yield f"On these {these}, {', and '.join(others)}."
        errors = (statistics.estimates[name] for name in ("sensitivity", "specificity") if name in statistics.estimates)
        if all(each.value is not None for each in errors):
            yield from filter(None, [in_all.error_sentence])


def _sentences(start: str, clauses: Sequence[str]) -> str:
    first, *others = clauses
    return " ".join((f"{start} {first}.", *(f"{each[:1].upper()}{each[1:]}." for each in others)))


def _basis(in_all: InAllAnswers, graded: Statistics) -> Iterator[str]:
    """Yield on which labels figures of all answers rest, and the same figures on the graded answers alone."""
    sampled = in_all.labels - in_all.complete
    others = in_all.answers - in_all.reviewed_answers
    undecided = in_all.reviewed_answers - in_all.complete
    sample = f"a random sample of {sampled:,} of the {'other ' if in_all.complete else ''}{others:,}"
    if not sampled:
        others_words = counted(undecided, "answer")
        yield f"The figures rest on {in_all.labels:,} labels. People did not decide the other {others_words}."
    elif not in_all.complete:
        yield f"The figures rest on {sample} answers."
    elif in_all.reviewed == "answers" or " and " in in_all.reviewed:  # no short name for what is reviewed
        yield f"The figures rest on {in_all.labels:,} labels, weighted by the chance of each answer to get a label."
    else:
        left = f" (people did not decide {undecided:,} of them)" if undecided else ""
        yield f"The figures rest on all {in_all.reviewed_answers:,} {in_all.reviewed}{left} and on {sample}."
    if in_all.extras:
        yield (
            "1 label of a chosen answer does not count."
            if in_all.extras == 1
            else f"{in_all.extras:,} labels of chosen answers do not count."
        )
    alone, kappa = graded.get("agreement"), graded.get("kappa")
    if not in_all.is_random and alone is not None and alone.value is not None:
        and_kappa = "" if kappa is None or kappa.value is None else f" and kappa is {two_decimals(kappa.value)}"
        yield (
            f"For comparison only: on the {alone.n:,} graded answers, which are no random sample, agreement is "
            f"{percent(alone.value)}{and_kappa}."
        )


def _missing(grade: str, in_all: InAllAnswers, everything: str) -> str:
    """Return the sentence on what is missing for figures of all answers."""
    if not in_all.statistics and grade == "label":
        return f"For a figure of {everything}, compare with the gold label or the majority."
    start = f"There is no figure of {everything} yet:"
    if not in_all.statistics:
        return f"{start} it needs grades of all of them, or grades of a random sample only."
    need = in_all.to_label
    if need is None and in_all.too_few is not None:
        return f"{start} {in_all.too_few}."
    if need is None:
        return f"{start} people did not decide any answer of a part of them."
    if need.hidden:
        return f"There is no figure of all answers yet: {need.missing}. {need.advice}"
    return f"{start} {need.missing}. {need.advice.removesuffix('.')} (`{need.command}`)."


_CHANGED: dict[InconsistentAs, str] = {
    "net": "Such a pair is a tie if its verdicts prefer different answers. If only one is a tie, the other counts.",
    "drop": "These pairs are left out.",
    "wrong": "These pairs count as wrong.",
    "tie": "These pairs count as ties.",
}


def order_sentence(changed: Estimate, inconsistent: InconsistentAs) -> str | None:
    """Return how often a judge's preference changes with the order and how such pairs count; None below 10 pairs."""
    if changed.value is None or changed.n < MIN_PAIRS:
        return None
    share = f"On {percent(changed.value)} of the pairs the verdicts in the two orders differ."
    return f"{share} {_CHANGED[inconsistent]}" if changed.value else share


def unusable_sentence(n: int, unusable: UnusableAs) -> str | None:
    """Return how ``n`` unusable verdicts on pairs count; None if there are none, or if they are left out."""
    if not n or unusable == "drop":
        return None
    are = "1 unusable verdict counts" if n == 1 else f"{n:,} unusable verdicts count"
    return f"{are} as {'wrong' if unusable == 'wrong' else 'a tie'}."


def people_sentence(result: AgreementResult, rows: str, who: str) -> str:
    """Return how far several raters (``who``: people, judge versions) agree on ``rows``, both in the plural."""
    n, agreement = result.n, result.statistics.get("agreement")
    if n == 0:
        row = rows.removesuffix("s")
        return f"No two {who} gave a {result.grade} to the same {row}, so their agreement is not available."
    if n < MIN_PAIRS:
        return f"Two {who} or more rated {counted(n, rows.removesuffix('s'))}; at least {MIN_PAIRS} are needed."
    same = "" if agreement is None else f" two {who} agree on {percent_words(agreement)}."
    alpha = _alpha_sentence(result.statistics["alpha"], bool(same))
    return f"On the {n:,} {rows} that two {who} or more rated, which may not be a random sample,{same} {alpha}"


def repeats_sentence(n: int, same: Estimate, alpha: Estimate, rows: str) -> str:
    """Return how far a judge agrees with itself on ``n`` items that it was asked about repeatedly."""
    if n < MIN_PAIRS:
        return f"{rows.capitalize()} with a usable verdict in every repeat: {too_few(n)}."
    start = f"Asked again about {n:,} {rows}, the judge gives the same verdict every time on {percent_words(same)}."
    return start if alpha.value is None else f"{start} {_alpha_sentence(alpha, True)}"


def p_words(p: float | None) -> str:
    """Return a p-value: "0.0276", "under 0.0001", a dash if nothing was tested."""
    if p is None:
        return "–"
    return f"{p:.4f}" if p >= 0.00005 else "under 0.0001"


def _alpha_sentence(alpha: Estimate, begins: bool) -> str:
    name = f"{'K' if begins else 'k'}rippendorff's alpha"
    if alpha.value is None:
        return f"{name} is not available: {alpha.reason}."
    return f"{name} is {kappa_words(alpha)}."


def _clauses(statistics: PairStatistics) -> Iterator[str]:
    """Yield the clauses of the sentence about a judge and people, the first with "judge and people" as its subject."""
    if statistics.confusion is None:
        yield from _scores_clauses(statistics)
    elif "weighted_kappa" in statistics.estimates:
        yield from _levels_clauses(statistics)
    else:
        yield from _labels_clauses(statistics)


def _labels_clauses(statistics: PairStatistics) -> Iterator[str]:
    agreement, kappa = statistics.agreement, statistics.kappa
    errors = {
        of: complement(statistics.estimates[name])
        for name, of in (("sensitivity", "bad answers"), ("specificity", "good ones"))
        if name in statistics.estimates
    }
    missing = {each.reason for each in (agreement, *errors.values()) if each.value is not None and each.low is None}
    has_some = any(each.low is not None for each in (agreement, *errors.values()))
    # One reason for all figures is said once, at the end.
    reason = missing.pop() if errors and not has_some and len(missing) == 1 else None
    yield f"judge and people agree on {_with_reason(percent_words(agreement), agreement, reason)}"
    does = {"bad answers": "misses", "good ones": "raises a false alarm on"}
    words = [f"{does[of]} {_error(each, of, reason)}" for of, each in errors.items() if each.value is not None]
    if (only := _only_label(statistics)) is not None:
        yield f"the judge gave all graded ones the label {only}"
    elif kappa.value is not None and all(each.value is not None for each in errors.values()):
        yield f"Cohen's kappa is {kappa_words(kappa)}"
    if words:
        yield f"the judge {' and '.join(words)}"
    if reason is not None:
        yield f"there are no intervals: {reason.removeprefix('no interval: ')}"


def _only_label(statistics: PairStatistics) -> str | None:
    """Return the label that the judge gave to all answers, if people gave several."""
    confusion = statistics.confusion
    if confusion is None or statistics.grade != "label":
        return None
    table = np.array(confusion.counts)
    used = np.flatnonzero(table.sum(axis=0))
    return str(confusion.categories[used[0]]) if len(used) == 1 and np.count_nonzero(table.sum(axis=1)) > 1 else None


def _error(share: Estimate, of: str, known: str | None) -> str:
    """Return "30 % [18, 45] of bad answers"; without an interval, 0 and 100 % are about the labels alone."""
    if share.low is None and share.value in {0, 1}:
        return f"{'all' if share.value else 'none'} of the labelled {of}"
    return _with_reason(f"{percent_words(share)} of {of}", share, known)


def _with_reason(words: str, estimate: Estimate, known: str | None) -> str:
    """Return the words with the reason if a value has no interval, and this reason is not ``known``."""
    missing = estimate.value is not None and estimate.low is None and estimate.reason
    return f"{words} ({estimate.reason})" if missing and estimate.reason != known else words


def _scores_clauses(statistics: PairStatistics) -> Iterator[str]:
    apart_by, bias = statistics.mean_absolute_difference, statistics.bias.value
    same_scale = apart_by.value is not None
    yield (
        f"judge and people differ by {number_words(apart_by)} on average"
        if same_scale
        else ("judge and people use different scales")
    )
    if bias is not None:
        apart, side = two_decimals(abs(bias)), "lower" if bias < 0 else "higher"
        level = apart == two_decimals(0)
        yield f"the judge is {'neither lower nor higher' if level else f'{apart} {side} than people'}"
    yield f"rank correlation is {number_words(statistics.spearman)}"


def _levels_clauses(statistics: PairStatistics) -> Iterator[str]:
    start = f"judge and people give the same {statistics.grade} on {percent_words(statistics.agreement)}"
    if statistics.at_most_one_apart.value is not None:
        start += f" and are at most one level apart on {percent(statistics.at_most_one_apart.value)}"
    yield start
    yield f"weighted kappa is {number_words(statistics.weighted_kappa)}"


def notes(
    title: str,
    statistics: PairStatistics,
    pairs: RatingPairs,
    *,
    things: str,
    in_all: InAllAnswers | None,
    cut_at: str | None,
    picked: IntArray,
    judged_again: Collection[int],
    correlated: Iterable[Note],
    luck: Iterable[Note],
) -> tuple[Note, ...]:
    """Return the caveats of a judge version (``title``) compared with people, the most serious first.

    Below the groundedness ``cut_at`` an answer without a label counts as hallucinated. ``picked`` are the ascending ids
    of answers that people graded because of a flag of a selective rule.
    """
    if statistics.n < MIN_PAIRS:
        return ()
    return (
        *_one_class(statistics),
        *_not_conclusive(statistics.estimates[headline_name(pairs.scale)], pairs.scale, things, in_all),
        *(() if in_all is not None and in_all.is_random else _selection(pairs.response_ids, picked, things)),
        *_skewed(pairs.people, pairs.scale, statistics.estimates, "kappa", things),
        *_few_of_rarer(pairs.people, pairs.scale, things),
        *correlated,
        *luck,
        *_judged_again(pairs, judged_again),
        *_cut(title, pairs, cut_at),
    )


def notes_on_people(
    rated: ItemRatings, result: AgreementResult, *, picked: IntArray, things: str, luck: Iterable[Note]
) -> tuple[Note, ...]:
    """Return the caveats of several raters on the items that two or more rated; arguments as in `notes`."""
    common = rated.at(rated.ratings.per_item >= 2)
    if result.n < MIN_PAIRS:
        return ()
    scale, grades = common.ratings.scale, common.ratings.values[common.ratings.rated]
    return (
        *_selection(common.ids, picked, things),
        *_skewed(grades, scale, result.statistics, "alpha_nominal", "ratings"),
        *_few_of_rarer(grades, scale, "ratings"),
        *luck,
    )


def other_grades(reviews: GradedReviews, grade: str, reviewer_id: int | None = None) -> Iterator[Note]:
    """Yield a note on how many reviews (of one person or of all) lack this grade, and which grades they have.

    There is no note on rubric dimensions, because it is not known which reviewers were asked for them.
    """
    if grade not in GRADES:
        return
    rows = (reviews.stages != AGAIN) & ~is_given(column_of(reviews, grade))
    if reviewer_id is not None:
        rows &= reviews.reviewer_ids == reviewer_id
    if n := int(np.count_nonzero(rows)):
        without = reviews.at(rows)
        others = [name for name in GRADES if is_given(column_of(without, name)).any()]
        lack, they, have = ("has", "it does", "It has") if n == 1 else ("have", "they do", "They have")
        text = f"{counted(n, 'review')} {lack} no {grade}, so {they} not count."
        see = " or ".join(f"`--grade {name}`" for name in others)
        yield Note("other_grades", f"{text} {have} a {' or a '.join(others)}: see {see}." if others else text)


def _one_class(statistics: PairStatistics) -> Iterator[Note]:
    if "sensitivity" not in statistics.estimates:
        return
    caught, recognised = statistics.sensitivity, statistics.specificity
    for missing, other, absent, agreed, lost in (
        ("bad", "good", caught, recognised, "misses"),
        ("good", "bad", recognised, caught, "false alarms"),
    ):
        if absent.value is None and agreed.value is not None:
            yield Note(
                "one_class",
                f"People found no {missing} answer here, so {lost} and AUROC are not available and kappa is not "
                f"meaningful. Agreement on {other} answers is {percent_words(agreed)}.",
            )


def _not_conclusive(headline: Estimate, scale: Scale, things: str, in_all: InAllAnswers | None) -> Iterator[Note]:
    if headline.low is None or headline.high is None or (headline.high - headline.low) / 2 <= WIDE:
        return
    if in_all is not None and in_all.described is None:
        return  # more of the chosen answers would narrow the wrong figure
    ends = f"{two_decimals(headline.low)} to {two_decimals(headline.high)}"
    between, narrower = f"The 95 % interval of {headline_words(scale)} is {ends}", "would narrow the interval to ±0.1"
    if in_all is None or not in_all.is_weighted:
        more = f"About {more_pairs(headline):,} more graded {things} {narrower}."
        yield Note("not_conclusive", f"{between} (n = {headline.n:,}). {more}")
        return
    of = "a random sample" if in_all.sampled_from == "answers" else f"a random sample of {in_all.sampled_from}"
    start = f"{between} (n = {headline.n:,})."
    sampled = in_all.labels - in_all.complete
    if few_decide := 0 < sampled < in_all.complete:
        start = f"{between}. The width comes mainly from the {sampled:,} labels of {of}."
    labels = in_all.to_narrow
    if labels is None or not in_all.unlabelled:
        yield Note("not_conclusive", start)
    elif labels.shows <= WIDE:
        more = f"{'At least about' if labels.is_rough else 'About'} {labels.more:,} more"
        more += " of these labels" if few_decide else f" labels of {of}"
        yield Note("not_conclusive", f"{start} {more} {narrower}.")
    else:
        yield Note("not_conclusive", f"{start} Labels of all {counted(in_all.unlabelled, 'other answer')} narrow it.")


def _selection(ids: IntArray, picked: IntArray, things: str) -> Iterator[Note]:
    share = float(among(ids, picked).mean())
    start = f"{percent(share)} of these {things} were reviewed because a rule flagged them"
    if share >= _PICKED:
        yield Note("selection", f"{start}, so they are harder than usual.")
    elif share > 0:
        yield Note("some_flagged", f"{start}. The figures describe the graded {things}, not all {things}.")


def _skewed(
    grades: FloatArray, scale: Scale, estimates: Mapping[str, Estimate], corrected: str, things: str
) -> Iterator[Note]:
    """Yield a note if one category is so frequent that agreement is high by chance; ``grades`` are positions."""
    name = corrected.removesuffix("_nominal")
    if scale.categories is not None and scale.weights is None:
        places, counts = np.unique(grades, return_counts=True)
        share = float(counts.max() / counts.sum())
        if _SKEWED <= share < 1:
            category = scale.categories[int(places[counts.argmax()])]
            yield Note(
                "skewed",
                f"People gave '{category}' to {percent(share)} of these {things}, so agreement by chance is high. Look "
                f"at {name} and at the other {things}.",
            )
            return
    agreement, chance_corrected, ac1 = (
        estimates[each].value if each in estimates else None for each in ("agreement", corrected, "ac1")
    )
    if agreement is None or chance_corrected is None or ac1 is None:
        return
    if agreement >= _HIGH and chance_corrected < _LOW:
        yield Note(
            "skewed",
            f"Agreement is {percent(agreement)}, but {name} is only {two_decimals(chance_corrected)}, since one "
            f"category prevails among these {things}. Gwet's AC1, which depends less on that, is {two_decimals(ac1)}.",
        )


def _few_of_rarer(grades: FloatArray, scale: Scale, things: str) -> Iterator[Note]:
    """Yield a note if the rarest of the unordered categories that occur has fewer than 15 items."""
    if scale.categories is None or scale.weights is not None:
        return
    counts = [(n, category) for place, category in enumerate(scale.categories) if (n := int((grades == place).sum()))]
    n, rarest = min(counts, key=itemgetter(0), default=(0, None))
    if n >= _FEW_OF_A_CATEGORY or len(counts) < 2:
        return
    start = f"People gave '{rarest}' to only {n:,} of these {things}."
    yield Note("few_of_rarer", f"{start} All figures on that category depend on {'it' if n == 1 else 'them'}.")


def luck(slices: Sequence[AgreementSlice], by: By | None, statistic: str) -> Iterator[Note]:
    """Yield a note on the slice that is far from all others; without one, the probability of a difference by chance.

    ``statistic`` is compared. The slices are ``by`` this field, by default the query type.
    """
    noun = sliced_by(by or "query_type")
    measured = {each.name: each.statistics[statistic] for each in slices if each.n >= MIN_PAIRS}
    apart = far_from_others(measured)
    if apart is not None:
        others = [each.value for name, each in measured.items() if name != apart and each.value is not None]
        figure = f"its {_NAMES.get(statistic, statistic.replace('_', ' '))} is {number_words(measured[apart])}"
        yield Note(
            "slice_apart",
            f"{apart} differs from the other {len(others)} {noun}: {figure}, theirs are "
            f"{two_decimals(min(others))} to {two_decimals(max(others))}.",
        )
    elif len(measured) >= _MANY_SLICES:
        chance = percent(1 - 0.95 ** len(measured))
        yield Note("slices", f"With {len(measured)} {noun}, the probability that one differs by chance is {chance}.")


def correlated_judges(
    judges: Iterable[tuple[tuple[str, RatingPairs], tuple[str, RatingPairs]]], unit: Unit, human: Human, things: str
) -> Iterator[Note]:
    """Of ``judges`` that surely agree more with each other than with people, yield a note on the most extreme two.

    Each judge is a title with its rating pairs. All figures are about the answers that both judges and people graded.
    """
    excesses: list[tuple[float, str]] = []
    for (first, of_first), (second, of_second) in judges:
        # Both have their rows in the same order, even if people are stacked.
        one = of_first.at(np.isin(of_first.response_ids, of_second.response_ids))
        other = of_second.at(np.isin(of_second.response_ids, of_first.response_ids))
        groups = grouping_of(one, unit, human)
        # Scores without levels, or verdicts with a further category, are positions on the scale of their own pairs.
        wider = min(one, other, key=lambda each: (bool(each.scale.k), -each.scale.k))
        scale = wider.scale
        shared = judges_and_people(one.judge, other.judge, wider.people, scale, groups)
        if shared is not None and shared.excess.value is not None and surely_above(shared.excess, 0):
            people = " and ".join(map(two_decimals, shared.with_people))
            text = (
                f"On the {len(np.unique(one.response_ids)):,} {things} that both judges and people graded, {first} and "
                f"{second} agree more with each other ({headline_words(scale)} {two_decimals(shared.between)}) "
                f"than with people ({people}): they may share the same errors."
            )
            excesses.append((shared.excess.value, text))
    if excesses:
        yield Note("correlated_judges", max(excesses, key=itemgetter(0))[1])


def _judged_again(pairs: RatingPairs, judged_again: Collection[int]) -> Iterator[Note]:
    again = among(np.unique(pairs.response_ids), np.array(sorted(judged_again), dtype=np.int64))
    n = int(again.sum())
    if n:
        answers = "1 answer was" if n == 1 else f"{n:,} answers were"
        yield Note(
            "judged_again", f"{answers} judged again by this version. Each counts once, with its latest verdict."
        )


def _cut(title: str, pairs: RatingPairs, cut_at: str | None) -> Iterator[Note]:
    """Yield a note if labels were derived from groundedness."""
    cut = int(pairs.cut.sum())
    if cut and cut_at is not None:
        some = "" if cut == pairs.n else f" on {cut:,} of {pairs.n:,} answers"
        yield Note("cut", f"{title} gives no label{some}; groundedness below {cut_at} counts as hallucinated.")


_MOST_NAMES = 5


def nothing_to_compare(source: PairSource, version: StoredVersion | None, grade: str) -> str:
    """Return why no answer has the grade of both, and which grades exist; ``version`` is None for all judges."""
    others = comparable_sentence(source, version)
    if others is None:
        return EMPTY
    judge = "a judge" if version is None else version.title
    return f"No answer has the grade {grade} from both {judge} and a person. {others}"


def comparable_sentence(source: PairSource, version: StoredVersion | None) -> str | None:
    """Return which grades people and the judge gave to the same answers; None if there are no such answers."""
    if source.scales is not SCALES:  # only one dimension is loaded
        source = PairSource(source.connection, source.counted)
    both: dict[str, int] = {}
    for grade in GRADES:
        judge = version or next(iter(source.versions(grade)), None)
        both[grade] = 0 if judge is None else source.pairs(judge.id, grade).n
    dimensions = dimensions_of_both(source.connection, None if version is None else version.id)
    both |= {of_people: n for (of_people, of_judge), n in dimensions.items() if of_people == of_judge}
    existing = sorted((-n, name) for name, n in both.items() if n)
    if existing:
        names = _listed([f"{name} ({counted(-n, 'answer')})" for n, name in existing])
        judge_option = "" if version is None else f" --judge-version {quote(version.title)}"
        judge_option += "".join(f" --where {quote(condition)}" for condition in conditions_of(source.counted.where))
        return (
            f"Both gave {names}. To compare them: `judgeboard agreement{judge_option} --grade {quote(existing[0][1])}`"
        )
    by_people, by_judge = ({names[side] for names in dimensions} for side in (0, 1))
    if not dimensions:
        by_people, by_judge = _grades_of_both(source, version)
    if by_people and by_judge and not by_people & by_judge:
        of_judge = _listed(sorted(by_judge))
        return (
            f"On the same answers, people gave {_listed(sorted(by_people))} and the judge gave {of_judge}. Grades are "
            f"compared by name. Let people give {of_judge}, or import both under one name."
        )
    return None


def _grades_of_both(source: PairSource, version: StoredVersion | None) -> tuple[set[str], set[str]]:
    """Return what people and the judge (None: any) gave on the answers that both graded, under whatever name."""
    judged = current_verdicts(
        source.connection, of_reviewed=True, version_ids=None if version is None else {version.id}
    )
    reviews: dict[str, GradedReviews] = {
        **dict.fromkeys(GRADES, source.reviews),
        **{name: graded_reviews(source.connection, name) for name in dimensions_scored(source.connection)},
    }
    people = {name: each.response_ids[is_given(column_of(each, name))] for name, each in reviews.items()}
    common = among(judged.response_ids, np.unique(np.concatenate(list(people.values()))))
    of_both = judged.at(common)
    return (
        {name for name, of_people in people.items() if np.isin(of_people, of_both.response_ids).any()},
        {str(name) for name in GRADES if is_given(column_of(of_both, name)).any()},
    )


def _listed(names: list[str]) -> str:
    shown, more = names[:_MOST_NAMES], len(names) - _MOST_NAMES
    if more > 0:
        return f"{', '.join(shown)} and {more:,} more"
    return " and ".join(filter(None, (", ".join(shown[:-1]), shown[-1])))
