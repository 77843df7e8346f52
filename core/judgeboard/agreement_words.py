"""The sentence over the agreement page, one per grade, and the words for what is missing."""

from judgeboard.agreement import AgreementRow
from judgeboard.answer_pairs import GradeName
from judgeboard.stats.estimates import MIN_PAIRS, TOO_FEW
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


def agreement_sentence(row: AgreementRow) -> str:
    """Return in plain words how far a judge version and people agree on all query types."""
    if row.n == 0:
        return EMPTY
    if row.n < MIN_PAIRS:
        n = "1 answer has" if row.n == 1 else f"{row.n} answers have"
        return f"{n} both a verdict of this judge and a person's grade: {TOO_FEW}."
    start = f"On {row.n:,} answers that people graded,"
    match row.grade:
        case "label":
            return f"{start} {_label(row)}"
        case "groundedness":
            return f"{start} {_groundedness(row)}"
        case "quality":
            return f"{start} {_quality(row)}"


def shares_of(share: float, bad: str) -> str:
    """Return "1 in 4 bad answers", "79 % of bad answers", "no bad answer" or "every bad answer"."""
    if share == 0:
        return f"no {bad} answer"
    if share == 1:
        return f"every {bad} answer"
    said = one_in(share)
    return f"{said} {bad} answers" if said.startswith("1 in ") else f"{said} of {bad} answers"


def _label(row: AgreementRow) -> str:
    statistics = row.statistics
    said = f"judge and people agree on {percent_words(statistics.agreement)}."
    if statistics.kappa.value is not None:
        word = kappa_word(statistics.kappa.value)
        said += f" Corrected for chance that is a kappa of {number_words(statistics.kappa)}: {word}."
    errors = []
    if row.missed.value is not None:
        errors.append(f"misses {shares_of(row.missed.value, 'bad')}")
    if row.false_alarms.value is not None:
        errors.append(f"raises {_alarms(row.false_alarms.value)}")
    return f"{said} It {' and '.join(errors)}." if errors else said


def _alarms(share: float) -> str:
    return (
        "no false alarm" if share == 0 else f"a false alarm on {shares_of(share, 'good').replace(' answers', ' ones')}"
    )


def _groundedness(row: AgreementRow) -> str:
    statistics = row.statistics
    said = f"their scores differ by {number_words(statistics.mean_absolute_difference)} on average"
    bias = statistics.bias.value
    if bias is not None:
        apart, side = two_decimals(abs(bias)), "lower" if bias < 0 else "higher"
        level = apart == two_decimals(0)
        said += "; the judge is neither lower nor higher" if level else f"; the judge is {apart} {side} than people"
    return f"{said}; rank correlation {number_words(statistics.spearman)}."


def _quality(row: AgreementRow) -> str:
    statistics = row.statistics
    said = f"judge and people give the same quality on {percent_words(statistics.agreement)}"
    if statistics.at_most_one_apart.value is not None:
        said += f" and are at most one apart on {percent(statistics.at_most_one_apart.value)}"
    return f"{said}; weighted kappa {number_words(statistics.weighted_kappa)}."
