"""What a reader of the agreement page has to know beside its figures, the worst first."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from judgeboard.agreement import AgreementRow, statistics_of
from judgeboard.answer_pairs import AnswerPairs, GradeName
from judgeboard.domain import Estimate, Label
from judgeboard.stats.arrays import IntArray, among
from judgeboard.stats.estimates import MIN_PAIRS
from judgeboard.stats.pair_statistics import PairStatistics
from judgeboard.stats.planning import luck_of_slices, more_pairs
from judgeboard.stats.rounding import two_decimals
from judgeboard.stats.words import kappa_range_words, percent, percent_words

_WIDE = 0.1  # half an interval: beyond it a kappa may be of several words
_PICKED = 1 / 3
_SKEWED = 0.9
_LUCKY_SLICES = 4

MEASURES: dict[GradeName, str] = {
    "label": "kappa",
    "quality": "weighted kappa",
    "groundedness": "rank correlation",
}
"""What `headline` returns, by its name in a sentence."""


@dataclass(frozen=True, slots=True)
class Note:
    """One thing to know; ``code`` names its kind, ``text`` is the sentence."""

    code: str
    text: str


def notes(
    row: AgreementRow,
    pairs: AnswerPairs,
    *,
    picked: IntArray,
    judged_again: Sequence[int],
    others: Sequence[tuple[str, AnswerPairs]],
    slices: int = 1,
) -> tuple[Note, ...]:
    """Return what to know of a judge version's row on all query types, the worst first.

    Args:
        row: The row.
        pairs: Its pairs.
        picked: Ids, ascending, of responses that were graded on a flag which picked them (``flag_worth``).
        judged_again: Responses that this version was asked about more than once.
        others: Title and pairs of judge versions of other names, for the same grade.
        slices: How many query types are shown beside each other.
    """
    if row.n < MIN_PAIRS:
        return tuple(_left_out(row))
    return (
        *_one_class(row),
        *_too_early(row),
        *_selection(pairs, picked),
        *_skewed(pairs),
        *_judges_alike(row, pairs, others),
        *_luck(slices),
        *_judged_again(pairs, judged_again),
        *_cut(row),
        *_left_out(row),
    )


def headline(statistics: PairStatistics) -> Estimate:
    """Return the statistic by which versions are compared: kappa, weighted kappa of quality, rank correlation."""
    return {
        "label": statistics.kappa,
        "quality": statistics.weighted_kappa,
        "groundedness": statistics.spearman,
    }[statistics.grade]


def _one_class(row: AgreementRow) -> Iterator[Note]:
    if row.grade != "label":
        return
    for missing, other, agreed in (
        ("bad", "good", row.statistics.specificity),
        ("good", "bad", row.statistics.sensitivity),
    ):
        absent = row.missed if missing == "bad" else row.false_alarms
        if absent.value is None and agreed.value is not None:
            lost = "misses" if missing == "bad" else "false alarms"
            yield Note(
                "one_class",
                f"People found no {missing} answer here, so {lost} and AUROC cannot be computed and kappa says "
                f"nothing; agreement on {other} answers is {percent_words(agreed)}.",
            )


def _too_early(row: AgreementRow) -> Iterator[Note]:
    estimate = headline(row.statistics)
    if estimate.low is None or estimate.high is None or (estimate.high - estimate.low) / 2 <= _WIDE:
        return
    words, more = kappa_range_words(estimate), more_pairs(estimate)
    if words is not None and more:
        could = f"With {row.n:,} answers the {MEASURES[row.grade]} could be anything {words}."
        yield Note("too_early", f"{could} About {more:,} more bring the interval to ± 0.1.")


def _selection(pairs: AnswerPairs, picked: IntArray) -> Iterator[Note]:
    share = float(among(pairs.response_ids, picked).mean())
    if share >= _PICKED:
        said = f"{percent(share)} of these answers were flagged before they were graded"
        yield Note("selection", f"{said}, so they are harder than usual.")


def _skewed(pairs: AnswerPairs) -> Iterator[Note]:
    if pairs.grade != "label":
        return
    good = float((pairs.people == Label.GROUNDED.value).mean())
    for share, word, other in ((good, "good", "bad"), (1 - good, "bad", "good")):
        if _SKEWED <= share < 1:
            said = f"{percent(share)} of these answers are {word}. Always saying '{word}' would agree on"
            yield Note("skewed", f"{said} {percent(share)} too; look at kappa and at the {other} ones.")


def _judges_alike(row: AgreementRow, pairs: AnswerPairs, others: Sequence[tuple[str, AnswerPairs]]) -> Iterator[Note]:
    """The other judge that agrees most with this one, where that is beyond what people's interval allows."""
    people = headline(row.statistics)
    if people.value is None or people.high is None:
        return
    alike = [(value, title) for title, other in others if (value := _between(pairs, other)) is not None]
    value, title = max(alike, default=(-1.0, ""))
    if value > people.high:
        yield Note(
            "judges_alike",
            f"{row.version.title} and {title} agree with each other ({MEASURES[row.grade]} {two_decimals(value)}) more "
            f"than {row.version.title} with people ({two_decimals(people.value)}): judges can be wrong together.",
        )


def _between(pairs: AnswerPairs, other: AnswerPairs) -> float | None:
    """Return the headline statistic of two judges on the answers that both and people graded."""
    _, mine, theirs = np.intersect1d(pairs.response_ids, other.response_ids, assume_unique=True, return_indices=True)
    both = pairs.at(mine)
    second = AnswerPairs(
        both.grade,
        both.response_ids,
        both.judge,
        other.judge[theirs],
        both.scores,
        both.cut,
        both.groups,
        both.query_types,
        both.days,
    )
    return headline(statistics_of(second, resamples=2)).value


def _luck(slices: int) -> Iterator[Note]:
    if slices >= _LUCKY_SLICES:
        chance = percent(luck_of_slices(slices))
        yield Note(
            "slices", f"With {slices} query types there is a {chance} chance that one looks different by luck alone."
        )


def _judged_again(pairs: AnswerPairs, judged_again: Sequence[int]) -> Iterator[Note]:
    n = int(among(pairs.response_ids, np.array(sorted(judged_again), dtype=np.int64)).sum())
    if n:
        said = "1 answer was" if n == 1 else f"{n:,} answers were"
        yield Note("judged_again", f"{said} judged again by this version; each counts once, with its latest verdict.")


def _cut(row: AgreementRow) -> Iterator[Note]:
    if row.note is not None:
        yield Note("cut", f"{row.note}.")


def _left_out(row: AgreementRow) -> Iterator[Note]:
    ties, silent = row.left_out.ties, row.left_out.without_verdict
    if ties:
        said = "1 answer is" if ties == 1 else f"{ties:,} answers are"
        yield Note("ties", f"{said} left out: as many people said one label as the other.")
    if silent:
        said = "1 graded answer has" if silent == 1 else f"{silent:,} graded answers have"
        yield Note("without_verdict", f"{said} no usable verdict of this version.")
