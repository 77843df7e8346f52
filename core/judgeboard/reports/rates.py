"""A rate of all answers as tables, and as lines for a terminal."""

from collections.abc import Iterator, Sequence
from typing import get_args

from judgeboard.domain import Estimate
from judgeboard.formats.output import UNKNOWN, Column, Format, Table, cell_text, text_lines
from judgeboard.measure.all_answers import all_answers_words, other_verdicts
from judgeboard.measure.rates import ALL, RateResult
from judgeboard.measure.samples import JudgeVerdict, Picked
from judgeboard.stats.estimates import no_interval_sentences
from judgeboard.stats.pair_statistics import STATISTICS
from judgeboard.stats.rates import UNLABELLED
from judgeboard.text import counted

_SHOWN = ("agreement", "kappa", "sensitivity", "specificity", "precision")
JUDGE_ALONE = "Judge alone: the interval covers the sampling error, not the judge's errors."
GAP = f"\N{EN DASH} means: {UNLABELLED}."
NOT_WEIGHTED = "Labels alone: not weighted. Kinds of answers that people label more often count more."


def is_gap(estimate: Estimate) -> bool:
    """Return whether an estimate is not available because a part of its answers has no label that counts."""
    return estimate.value is None and estimate.reason == UNLABELLED


def unless_gap(estimate: Estimate) -> Estimate | None:
    """Return the estimate for a cell of a table, None (a dash) for a gap, which `GAP` below the table explains."""
    return None if is_gap(estimate) else estimate


def rate_table(result: RateResult, title: str = "Answers of") -> Table:
    """Return the rate of all answers and of each slice, beside the judge's own share and the labels alone."""
    is_label = result.grade == "label"
    estimate: Format = "share estimate" if is_label else "estimate"
    columns = (
        Column(title),
        Column("Bad answers" if is_label else f"Mean {result.grade}", estimate),
        Column(_labels_title(result, *result.slices), "count"),
        Column("Answers", "count"),
        Column("Judge alone", estimate),
        Column("Verdicts", "count"),
        Column("Labels alone", estimate),
        Column("n of labels alone", "count"),
    )
    rows = (
        (
            "all answers" if each.name == ALL else each.name,
            unless_gap(each.shown),
            each.n_labelled,
            each.n_answers,
            each.judge_share,
            None if each.judge_share is None else each.judge_share.n,
            each.labels_only,
            each.labels_only.n,
        )
        for each in (*result.slices, result)
    )
    return Table(columns, tuple(rows))


def _labels_title(*results: RateResult) -> str:
    return "Labels that count" if any(each.extras for each in results) else "Labels"


def _verdict_words(verdicts: Sequence[JudgeVerdict]) -> str:
    """Return "bad", "good or none", or "any" for all verdicts."""
    if len(verdicts) == len(get_args(JudgeVerdict)):
        return "any"
    return " or ".join("none" if each == "unusable" else each for each in verdicts)


_LATER = {False: "before the sample was drawn", True: "after it"}


def rate_notes(result: RateResult) -> tuple[str, ...]:
    """Return what a dash means, why slices have no interval, and what *Judge alone* and *Labels alone* leave out."""
    notes = {
        GAP: any(is_gap(each.estimate) for each in (*result.slices, result)),
        JUDGE_ALONE: result.judge_share is not None,
        NOT_WEIGHTED: _is_weighted(result),
    }
    named = [*((each.name, each.estimate) for each in result.slices), ("all answers", result.estimate)]
    reasons = no_interval_sentences(named) if result.slices else ()
    near_end = "only an interval, because the value would be near one end of it"
    wide = (f"{each.name}: {near_end}: {each.reason}." for each in result.slices if each.has_wide_bounds)
    return (*reasons, *wide, *(note for note, applies in notes.items() if applies))


def _is_weighted(result: RateResult) -> bool:
    return bool(result.strata) and not result.is_random


def strata_table(result: RateResult) -> Table:
    """Return the strata of all answers with their labels."""
    columns = (
        Column("Logged and judged"),
        Column("Flagged"),
        Column("Judge"),
        Column("Answers", "count"),
        Column(_labels_title(result), "count"),
        Column("Bad", "count"),
    )
    later = any(each.is_later for each in result.strata)
    named = {
        picked: {each.verdict for each in result.strata if each.picked == picked and each.verdict}
        for picked in get_args(Picked)
    }
    rows = (
        (
            _LATER[each.is_later] if later else None,
            each.picked,
            _verdict_words((each.verdict,) if each.verdict else other_verdicts(named[each.picked])),
            each.N,
            each.n,
            each.k,
        )
        for each in result.strata
    )
    return Table(columns, tuple(rows)).without_empty({"Logged and judged", "Bad"})


def agreement_table(result: RateResult) -> Table:
    """Return the agreement of judge and people in all answers with a verdict, beside those that people graded.

    If the figures of both are the same, for example because people graded all answers, there is one column.
    """
    judged = 0 if result.judge_share is None else result.judge_share.n
    graded = result.in_graded_answers["agreement"].n
    everything, alone = all_answers_words(judged).capitalize(), f"The {counted(graded, 'graded answer')} alone"
    share = Column("", "share estimate")
    plain = Column("", "estimate")
    rows, missing = [], result.in_all_answers["agreement"].reason
    for name in [each for each in _SHOWN if each in result.in_all_answers]:
        each = result.in_all_answers[name]
        column = share if STATISTICS[name].share else plain
        rows.append(
            (
                STATISTICS[name].name,
                cell_text(None if each.value is None and each.reason == missing else each, column),
                cell_text(result.in_graded_answers[name], column),
            )
        )
    if result.people_alpha.value is not None:
        rows.append(("Alpha among people", "", cell_text(result.people_alpha, plain)))
    if result.in_all_answers == result.in_graded_answers:
        return Table((Column("Figure"), Column(everything)), tuple((name, figure) for name, _, figure in rows))
    return Table((Column("Figure"), Column(everything), Column(alone)), tuple(rows))


def rate_lines(result: RateResult) -> Iterator[str]:
    """Yield the sentence, the warnings and the tables."""
    yield result.sentence
    if result.to_label is not None and not result.to_label.hidden:
        yield f"To label answers: `{result.to_label.command}`"
    yield from (f"Note: {each.text}" for each in result.warnings)
    if result.left_out_sentence:
        yield result.left_out_sentence
    yield ""
    yield from text_lines(rate_table(result, (result.by or "Answers").replace("_", " ").capitalize()))
    yield from rate_notes(result)
    if _is_weighted(result):
        yield ""
        yield from text_lines(strata_table(result))
    if not result.in_all_answers or not (graded := result.in_graded_answers["agreement"]).n:
        return
    yield ""
    if graded.value is None:
        yield f"The agreement of the judge and people is not available: {graded.reason}."
    else:
        yield from text_lines(agreement_table(result))
        shown = (each for each in result.in_all_answers.items() if each[0] in _SHOWN)
        yield from no_interval_sentences((STATISTICS[name].name, each) for name, each in shown)
        agreed = result.in_all_answers["agreement"]
        if agreed.value is None and not (is_gap(agreed) and GAP in rate_notes(result)):
            yield f"{UNKNOWN} means: {agreed.reason}."
