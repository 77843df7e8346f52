"""The sentences over figures of agreement, and the words for what is missing."""

from judgeboard.answer_pairs import GradeName
from judgeboard.domain import Estimate
from judgeboard.stats.alternative_annotator import AlternativeAnnotatorTest
from judgeboard.stats.estimates import MIN_PAIRS, TOO_FEW, complement
from judgeboard.stats.pair_statistics import NOT_FOR_GRADE, PairStatistics
from judgeboard.stats.people import Human, Kind
from judgeboard.stats.rater_agreement import OverallAgreement
from judgeboard.stats.rounding import two_decimals
from judgeboard.stats.words import kappa_word, number_words, one_in, percent, percent_words

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
