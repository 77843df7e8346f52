"""Agreement as lines for a terminal."""

from collections.abc import Iterator

from judgeboard.agreement.result import AgreementResult
from judgeboard.agreement.statistics import Statistics, is_share, left_out_words, shown_statistics, statistic_name
from judgeboard.agreement.words import epsilon_sentence, p_words, stand_in_sentence
from judgeboard.domain import Estimate
from judgeboard.stats.alternative_annotator import MIN_ITEMS
from judgeboard.stats.words import number_words, percent_words

_LEADS = ("kappa", "weighted_kappa", "alpha", "spearman", "agreement")


def result_lines(result: AgreementResult) -> Iterator[str]:
    """Yield a result: the sentence, every figure with its n and interval, pairs of raters, slices, notes."""
    what = result.grade if result.aspect is None else f"{result.grade} on {result.aspect}"
    yield f"{result.title}, {what}"
    yield result.sentence
    if result.people_say is not None:
        yield f"People: {result.people_say}."
    for why, n in result.left_out.items():
        yield f"left out: {n:,} {left_out_words(why)}"
    for name, estimate in shown_statistics(result.statistics).items():
        yield f"  {statistic_name(name)}: {_words(name, estimate)}"
    yield from _table(result)
    yield from _raters(result)
    yield from _stand_in(result)
    yield from _slices(result)
    for grade, share in result.anchoring.items():
        yield f"after they saw the judge, people moved on {grade} by {percent_words(share)} of the way"
    for note in result.notes:
        yield f"note ({note.code}): {note.text}"


def _table(result: AgreementResult) -> Iterator[str]:
    if result.confusion is not None:
        yield "people in the rows, the judge in the columns: " + ", ".join(map(str, result.confusion.categories))
        for label, row in zip(result.confusion.categories, result.confusion.counts, strict=True):
            yield f"  {label}: " + " ".join(f"{count:,}" for count in row)


def _raters(result: AgreementResult) -> Iterator[str]:
    for pair in result.rater_pairs:
        yield f"{pair.first} and {pair.second}, {pair.n:,}: {_lead(pair.statistics)}"
    for pair in result.self_agreement:
        yield f"{pair.first} with themselves, {pair.n:,} rated twice: {_lead(pair.statistics)}"
    for rater in result.against_gold:
        yield f"{rater.name} against gold, {rater.n:,}: {_lead(rater.statistics)}"


def _slices(result: AgreementResult) -> Iterator[str]:
    for one in result.slices:
        yield f"{result.by} {one.name}, {one.n:,}: {_lead(one.statistics)}"
        if one.alt_test is not None:
            yield f"    {stand_in_sentence(one.alt_test)}"


def _stand_in(result: AgreementResult) -> Iterator[str]:
    test = result.alt_test
    if test is None:
        return
    yield stand_in_sentence(test)
    yield f"  {epsilon_sentence(test.epsilon)}"
    yield f"  omega {_number(test.omega)}, rho {number_words(test.rho)}, on {test.n:,}"
    for each in test.people:
        rejected = ", rejected" if each.rejected else ""
        p = f"not tested: under {MIN_ITEMS}" if each.p is None else f"p {p_words(each.p)}{rejected}"
        yield f"  {each.name}, {each.n:,}: {p}"


def _lead(statistics: Statistics) -> str:
    shown = [f"{statistic_name(name)} {_words(name, statistics[name])}" for name in _LEADS if name in statistics]
    return ", ".join(shown)


def _words(name: str, estimate: Estimate) -> str:
    said = percent_words(estimate) if is_share(name) else number_words(estimate)
    return f"{said} (n {estimate.n:,})" if estimate.value is not None else said


def _number(estimate: Estimate) -> str:
    return "undefined" if estimate.value is None else f"{estimate.value:.4f}"
