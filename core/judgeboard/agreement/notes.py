"""The sentences above figures of agreement, and what a reader has to know beside them, the worst first."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from judgeboard.agreement.answer_pairs import GRADES, AnswerPairs, GradeName, column_of, is_given
from judgeboard.agreement.ratings import ItemRatings
from judgeboard.agreement.result import Note, headline_name, headline_value, headline_words
from judgeboard.domain import Estimate, Label
from judgeboard.stats.alternative_annotator import AlternativeAnnotatorTest
from judgeboard.stats.arrays import AnyArray, IntArray, among
from judgeboard.stats.estimates import (
    MIN_PAIRS,
    TOO_FEW,
    complement,
    kappa_range_words,
    kappa_word,
    luck_of_slices,
    more_pairs,
    number_words,
    one_in,
    percent,
    percent_words,
    two_decimals,
)
from judgeboard.stats.pair_statistics import NOT_FOR_GRADE, PairStatistics
from judgeboard.stats.rater_agreement import OverallAgreement, RaterPair
from judgeboard.stats.ratings import Human, Kind, Scale
from judgeboard.store.grades import AGAIN, GradedReviews

EMPTY = (
    "No answer has both a verdict of this judge and a person's grade. Grade some on the item page, or bring grades "
    "you already have: `judgeboard import --kind grades grades.jsonl`"
)

WHAT_PEOPLE_GAVE: dict[GradeName, str] = {
    "label": "People: the label of the majority",
    "groundedness": "People: the mean of what they gave",
    "quality": "People: the lower median of what they gave",
}
"""What one side of every pair is, for the line under a chart."""

PEOPLE_SAY: dict[Human, dict[Kind, str]] = {
    "gold": {
        "label": "what a lead settled, else the majority of people",
        "groundedness": "what a lead settled, else the mean of people",
        "quality": "what a lead settled, else the lower median of people",
    },
    "majority": {
        "label": "the majority of people",
        "groundedness": "the mean of people",
        "quality": "the lower median of people",
    },
    "each": dict.fromkeys(("label", "groundedness", "quality"), "each person by themselves, stacked"),
}
"""What a judge is compared with, by how it is chosen and how several people become one."""


def judge_sentence(statistics: PairStatistics, rows: str = "answers that people graded") -> str:
    """Return in plain words how far a judge and people agree on ``rows``: answers, pairs or grades."""
    n = statistics.n
    thing = rows.split(" ", 1)[0]
    if n < MIN_PAIRS:
        has = f"1 {thing.removesuffix('s')} has" if n == 1 else f"{n} {thing} have"
        return f"{has} both a verdict of this judge and a person's grade: {TOO_FEW}."
    start = f"On {n:,} {rows},"
    if statistics.confusion is None:
        return f"{start} {_scores(statistics)}"
    return f"{start} {_categories(statistics) if _unordered(statistics) else _levels(statistics)}"


def people_sentence(agreed: OverallAgreement, headline: Estimate, rows: str, who: str) -> str:
    """Return in plain words how far several raters agree.

    Args:
        agreed: All of them together.
        headline: The alpha that leads on their scale.
        rows: What they rated, in the plural.
        who: Who they are, in the plural: people, judge versions.
    """
    if agreed.items == 0:
        return f"No {rows.removesuffix('s')} was rated by two {who}, so nothing can be said of how far they agree."
    if agreed.items < MIN_PAIRS:
        were = "1 was" if agreed.items == 1 else f"{agreed.items} {rows} were"
        return f"Only {were} rated by two {who} or more: {TOO_FEW}."
    start = f"On {agreed.items:,} {rows} that two {who} or more rated,"
    if headline.value is None:
        return f"{start} two of them agree on {percent_words(agreed.agreement)}. No alpha: {headline.reason}."
    alpha = f"alpha {number_words(headline)}: {kappa_word(headline.value)}"
    if agreed.agreement.value is None:
        return f"{start} they agree with {alpha}."
    return f"{start} two of them agree on {percent_words(agreed.agreement)}. Corrected for chance that is {alpha}."


def repeats_sentence(n: int, same: Estimate, alpha: Estimate, rows: str) -> str:
    """Return in plain words how far a judge agrees with itself on ``n`` items that it was asked about repeatedly."""
    if n < MIN_PAIRS:
        were = f"1 {rows.removesuffix('s')} was" if n == 1 else f"{n} {rows} were"
        return f"Only {were} judged several times with a usable verdict each time: {TOO_FEW}."
    said = f"Asked again about {n:,} {rows}, it says the same every time on {percent_words(same)}"
    if alpha.value is None:
        return f"{said}."
    return f"{said}; corrected for chance that is alpha {number_words(alpha)}: {kappa_word(alpha.value)}."


def stand_in_sentence(test: AlternativeAnnotatorTest) -> str:
    """Return what the alternative annotator test came to."""
    if test.omega.value is None:
        return f"Whether the judge may stand in for a person cannot be tested: {test.omega.reason}."
    tested = [each for each in test.people if each.p is not None]
    won = sum(each.rejected for each in tested)
    people = "1 person" if len(tested) == 1 else f"{len(tested)} people"
    may = "so it may stand in for a person" if test.passed else "so it may not stand in for a person"
    return f"It holds against {won} of {people} at ε = {test.epsilon:g}, {may} here."


def not_tested_words(test: AlternativeAnnotatorTest) -> str:
    """Return what the test left out and why: "1 person with fewer than 30 usable items."."""
    one = {"people ": "person ", "items ": "item "}
    said = []
    for why, n in test.left_out:
        many = next(each for each in one if why.startswith(each))
        said.append(f"{n:,} {why if n > 1 else one[many] + why.removeprefix(many)}.")
    return " ".join(said)


def p_words(p: float | None) -> str:
    """Return a p-value as it is shown: "0.0276", "under 0.0001", a dash where nothing was tested."""
    if p is None:
        return "–"
    return f"{p:.4f}" if p >= 0.00005 else "under 0.0001"


def epsilon_sentence(epsilon: float) -> str:
    """Return what ε means, in one sentence."""
    return (
        f"ε = {epsilon:g} is what people cost: where whoever is nearer to the other people wins an answer, the judge "
        f"may lose {round(epsilon * 100, 6):g} of 100 answers more than it wins against the person it would replace "
        "(0.2 for experts, 0.15 for skilled people, 0.1 for a crowd)."
    )


def shares_of(share: float, bad: str) -> str:
    """Return "1 in 4 bad answers", "79 % of bad answers", "no bad answer" or "every bad answer"."""
    if share == 0:
        return f"no {bad} answer"
    if share == 1:
        return f"every {bad} answer"
    said = one_in(share)
    return f"{said} {bad} answers" if said.startswith("1 in ") else f"{said} of {bad} answers"


def _unordered(statistics: PairStatistics) -> bool:
    return statistics.weighted_kappa.reason == NOT_FOR_GRADE


def _categories(statistics: PairStatistics) -> str:
    said = f"judge and people agree on {percent_words(statistics.agreement)}."
    if statistics.kappa.value is not None:
        word = kappa_word(statistics.kappa.value)
        said += f" Corrected for chance that is a kappa of {number_words(statistics.kappa)}: {word}."
    errors = []
    missed, false_alarms = complement(statistics.sensitivity), complement(statistics.specificity)
    if missed.value is not None:
        errors.append(f"misses {shares_of(missed.value, 'bad')}")
    if false_alarms.value is not None:
        errors.append(f"raises {_alarms(false_alarms.value)}")
    return f"{said} It {' and '.join(errors)}." if errors else said


def _alarms(share: float) -> str:
    return (
        "no false alarm" if share == 0 else f"a false alarm on {shares_of(share, 'good').replace(' answers', ' ones')}"
    )


def _scores(statistics: PairStatistics) -> str:
    said = f"their scores differ by {number_words(statistics.mean_absolute_difference)} on average"
    bias = statistics.bias.value
    if bias is not None:
        apart, side = two_decimals(abs(bias)), "lower" if bias < 0 else "higher"
        level = apart == two_decimals(0)
        said += "; the judge is neither lower nor higher" if level else f"; the judge is {apart} {side} than people"
    return f"{said}; rank correlation {number_words(statistics.spearman)}."


def _levels(statistics: PairStatistics) -> str:
    said = f"judge and people give the same {statistics.grade} on {percent_words(statistics.agreement)}"
    if statistics.at_most_one_apart.value is not None:
        said += f" and are at most one apart on {percent(statistics.at_most_one_apart.value)}"
    return f"{said}; weighted kappa {number_words(statistics.weighted_kappa)}."


_WIDE = 0.1  # half an interval: beyond it a kappa may be of several words
_PICKED = 1 / 3
_SKEWED = 0.9
_HIGH, _LOW = 0.8, 0.4
_FEW_OF_A_CLASS = 15
_LUCKY_SLICES = 4


@dataclass(frozen=True, slots=True)
class Compared:
    """A judge version beside people, as the notes read it.

    ``left_out`` counts what is in no pair, by why; ``cut`` says how labels came about that the judge did not give.
    ``things`` are what was rated, in the plural.
    """

    title: str
    statistics: PairStatistics
    pairs: AnswerPairs
    left_out: Mapping[str, int]
    cut: str | None = None
    things: str = "answers"

    @property
    def n(self) -> int:
        """How many pairs there are."""
        return self.statistics.n

    @property
    def headline(self) -> Estimate:
        """The statistic by which versions are compared: kappa, weighted kappa of levels, rank correlation."""
        found: Estimate = getattr(self.statistics, headline_name(self.pairs.scale))
        return found

    @property
    def measure(self) -> str:
        """What `headline` is, in a sentence."""
        return headline_words(self.pairs.scale)


def notes(
    judge: Compared,
    *,
    picked: IntArray,
    judged_again: Sequence[int],
    others: Sequence[tuple[str, AnswerPairs]],
    slices: int = 1,
    sliced_by: str = "query types",
) -> tuple[Note, ...]:
    """Return what to know of a judge version against people, the worst first.

    Args:
        judge: The judge version beside people, on all that both rated.
        picked: Ids, ascending, of responses that were graded on a flag which picked them (``flag_worth``).
        judged_again: Responses that this version was asked about more than once.
        others: Title and pairs of judge versions of other names, for the same grade.
        slices: How many slices are shown beside each other.
        sliced_by: What the slices are, in the plural.
    """
    if judge.n < MIN_PAIRS:
        return tuple(_left_out(judge))
    return (
        *_one_class(judge),
        *_too_early(judge),
        *_selection(judge.pairs.response_ids, picked, judge.things),
        *_skewed(judge),
        *few_of_rarer(judge.pairs.people, judge.pairs.scale, judge.things),
        *_judges_alike(judge, others),
        *luck(slices, sliced_by),
        *_judged_again(judge.pairs, judged_again),
        *_cut(judge),
        *_left_out(judge),
    )


def notes_on_people(
    rated: ItemRatings,
    agreed: OverallAgreement,
    *,
    picked: IntArray,
    slices: int = 1,
    sliced_by: str = "query types",
    things: str = "answers",
) -> tuple[Note, ...]:
    """Return what to know of several raters on the items that two or more of them rated; arguments as in `notes`."""
    common = rated.at(rated.ratings.per_item >= 2)
    if agreed.items < MIN_PAIRS:
        return ()
    said = common.ratings.as_given(common.ratings.values[common.ratings.given])
    return (
        *_selection(common.ids, picked, things),
        *_skewed_ratings(said, common.ratings.scale, agreed),
        *few_of_rarer(said, common.ratings.scale, things, of="ratings of these"),
        *luck(slices, sliced_by),
    )


def other_grades(reviews: GradedReviews, grade: str, reviewer_id: int | None = None) -> Iterator[Note]:
    """Say how many reviews, of one person or of all, give none of this grade, and which grades count them.

    Nothing is said of a rubric's dimension: who was asked for it is not known.
    """
    if grade not in GRADES:
        return
    rows = (reviews.stages != AGAIN) & ~is_given(column_of(reviews.given, grade))
    if reviewer_id is not None:
        rows &= reviews.reviewer_ids == reviewer_id
    n = int(np.count_nonzero(rows))
    if n:
        given = reviews.given.at(rows)
        others = [each for each in GRADES if is_given(column_of(given, each)).any()]
        give, do, them = ("1 review gives", "does", "it") if n == 1 else (f"{n:,} reviews give", "do", "them")
        counts = f"the grade {' or '.join(others)} counts {them}"
        yield Note("other_grades", f"{give} no {grade}, and {do} not count here: {counts}.")


def _one_class(judge: Compared) -> Iterator[Note]:
    if judge.pairs.scale.bad is None:
        return
    statistics = judge.statistics
    for missing, other, agreed in (
        ("bad", "good", statistics.specificity),
        ("good", "bad", statistics.sensitivity),
    ):
        absent = statistics.sensitivity if missing == "bad" else statistics.specificity
        if absent.value is None and agreed.value is not None:
            lost = "misses" if missing == "bad" else "false alarms"
            yield Note(
                "one_class",
                f"People found no {missing} answer here, so {lost} and AUROC cannot be computed and kappa says "
                f"nothing; agreement on {other} answers is {percent_words(agreed)}.",
            )


def _too_early(judge: Compared) -> Iterator[Note]:
    estimate = judge.headline
    if estimate.low is None or estimate.high is None or (estimate.high - estimate.low) / 2 <= _WIDE:
        return
    words, more = kappa_range_words(estimate), more_pairs(estimate)
    if words is not None and more:
        could = f"With {judge.n:,} {judge.things} the {judge.measure} could be anything {words}."
        yield Note("too_early", f"{could} About {more:,} more bring the interval to ± 0.1.")


def _selection(ids: IntArray, picked: IntArray, things: str) -> Iterator[Note]:
    share = float(among(ids, picked).mean())
    if share == 0:
        return
    said = f"{percent(share)} of these {things} were flagged before they were graded"
    if share >= _PICKED:
        yield Note("selection", f"{said}, so they are harder than usual.")
    else:
        yield Note("some_flagged", f"{said}: these figures are of the {things} that people graded, not of all.")


def _skewed(judge: Compared) -> Iterator[Note]:
    pairs = judge.pairs
    if pairs.scale.bad is None:
        yield from _paradox(judge.statistics.agreement, judge.statistics.kappa, judge.statistics.ac1)
        return
    good = float((pairs.people == Label.GROUNDED.value).mean())
    for share, word, other in ((good, "good", "bad"), (1 - good, "bad", "good")):
        if _SKEWED <= share < 1:
            said = f"{percent(share)} of these answers are {word}. Always saying '{word}' would agree on"
            yield Note("skewed", f"{said} {percent(share)} too; look at kappa and at the {other} ones.")
            return
    yield from _paradox(judge.statistics.agreement, judge.statistics.kappa, judge.statistics.ac1)


def _skewed_ratings(said: AnyArray, scale: Scale, agreed: OverallAgreement) -> Iterator[Note]:
    if scale.categories is None or scale.weights is not None:
        return
    names, counts = np.unique(said, return_counts=True)
    share = float(counts.max() / counts.sum())
    if _SKEWED <= share < 1:
        word = str(names[counts.argmax()])
        yield Note(
            "skewed",
            f"{percent(share)} of what people said is '{word}': they agree often by that alone; look at alpha and at "
            "the other kind.",
        )
        return
    yield from _paradox(agreed.agreement, agreed.alpha_nominal, agreed.ac1)


def _paradox(agreement: Estimate, kappa: Estimate, ac1: Estimate) -> Iterator[Note]:
    """High raw agreement with low agreement beyond chance: one class prevails, whichever figure is looked at."""
    values = agreement.value, kappa.value, ac1.value
    if None in values or agreement.value is None or kappa.value is None or ac1.value is None:
        return
    if agreement.value >= _HIGH and kappa.value < _LOW:
        yield Note(
            "skewed",
            f"They agree on {percent(agreement.value)}, but corrected for chance it is {two_decimals(kappa.value)}: "
            f"one kind prevails. Gwet's AC1, which that moves less, is {two_decimals(ac1.value)}.",
        )


def few_of_rarer(said: AnyArray, scale: Scale, things: str, *, of: str = "of these") -> Iterator[Note]:
    """Say where fewer than 15 are of the rarest of unordered categories that occur at all."""
    if scale.categories is None or scale.weights is not None:
        return
    counts = {each: int((said == each).sum()) for each in scale.categories}
    rarest = min((each for each in counts if counts[each]), key=counts.__getitem__, default=None)
    if rarest is None or counts[rarest] >= _FEW_OF_A_CLASS or len([n for n in counts.values() if n]) < 2:
        return
    n = counts[rarest]
    yield Note(
        "few_of_rarer",
        f"Only {n:,} {of} {things} {'is' if n == 1 else 'are'} '{rarest}' by people: whatever is said of that kind "
        "rests on them.",
    )


def _judges_alike(judge: Compared, others: Sequence[tuple[str, AnswerPairs]]) -> Iterator[Note]:
    """The other judge that agrees most with this one, where that is beyond what people's interval allows."""
    people = judge.headline
    if people.value is None or people.high is None:
        return
    alike = [(value, title) for title, other in others if (value := _between(judge.pairs, other)) is not None]
    value, title = max(alike, default=(-1.0, ""))
    if value > people.high:
        yield Note(
            "judges_alike",
            f"{judge.title} and {title} agree with each other ({judge.measure} {two_decimals(value)}) more "
            f"than {judge.title} with people ({two_decimals(people.value)}): judges can be wrong together.",
        )


def _between(pairs: AnswerPairs, other: AnswerPairs) -> float | None:
    """Return the headline statistic of two judges on the answers that both and people graded."""
    _, mine, theirs = np.intersect1d(pairs.response_ids, other.response_ids, assume_unique=True, return_indices=True)
    return headline_value(replace(pairs.at(mine), people=other.judge[theirs]))


def luck(slices: int, sliced_by: str) -> Iterator[Note]:
    """Say how easily many slices deceive."""
    if slices >= _LUCKY_SLICES:
        chance = percent(luck_of_slices(slices))
        yield Note(
            "slices", f"With {slices} {sliced_by} there is a {chance} chance that one looks different by luck alone."
        )


def judges_more_alike(pairs: Sequence[RaterPair], with_people: Mapping[str, Estimate], scale: Scale) -> Iterator[Note]:
    """Say where two judges agree with each other more than either with people, of the pair that does so most.

    Args:
        pairs: The judges by two, by title.
        with_people: Each judge's `headline` against people, by title.
        scale: What they gave.
    """
    name = headline_name(scale)
    worst: tuple[float, RaterPair, float] | None = None
    for pair in pairs:
        between = pair.statistics[name].value
        known = [with_people[each] for each in (pair.first, pair.second) if each in with_people]
        highs = [each.high for each in known if each.high is not None]
        values = [each.value for each in known if each.value is not None]
        if between is None or len(highs) < 2 or len(values) < 2 or between <= max(highs):
            continue
        if worst is None or between - max(values) > worst[0]:
            worst = (between - max(values), pair, max(values))
    if worst is None:
        return
    _, pair, people = worst
    between = pair.statistics[name].value or 0.0
    measure = headline_words(scale)
    yield Note(
        "judges_alike",
        f"{pair.first} and {pair.second} agree with each other ({measure} {two_decimals(between)}) more than "
        f"either with people ({two_decimals(people)} at most): judges can be wrong together.",
    )


def _judged_again(pairs: AnswerPairs, judged_again: Sequence[int]) -> Iterator[Note]:
    again = among(np.unique(pairs.response_ids), np.array(sorted(judged_again), dtype=np.int64))
    n = int(again.sum())
    if n:
        said = "1 answer was" if n == 1 else f"{n:,} answers were"
        yield Note("judged_again", f"{said} judged again by this version; each counts once, with its latest verdict.")


def _cut(judge: Compared) -> Iterator[Note]:
    if judge.cut is not None:
        yield Note("cut", f"{judge.cut}.")


_LEFT_OUT = {
    "ties": ("left out: as many people said one {thing} as the other", "{n} {things} {are}"),
    "only_gold": ("left out: a lead settled them, and no other person's grade stands", "{n} {things} {are}"),
    "without_verdict": ("no usable verdict of this version", "{n} graded {things} {have}"),
    "inconsistent": ("left out: the judge contradicts itself when the order is turned round", "{n} {things} {are}"),
    "unusable": ("left out: the verdict could not be used", "{n} {things} {are}"),
}


def _left_out(judge: Compared) -> Iterator[Note]:
    thing = judge.things.removesuffix("s")
    what = "label" if judge.things == "answers" else "side"
    for why, (words, start) in _LEFT_OUT.items():
        n = judge.left_out.get(why, 0)
        if n:
            one = n == 1
            said = start.format(
                n=f"{n:,}",
                things=thing if one else judge.things,
                are="is" if one else "are",
                have="has" if one else "have",
            )
            yield Note(why, f"{said} {words.format(thing=what)}.")
