"""A rate of all answers as tables, and as lines for a terminal."""

from collections.abc import Iterator
from typing import get_args

from judgeboard.formats.output import UNKNOWN, Column, Table, cell_text, text_lines
from judgeboard.measure.agreement_result import left_out_sentence
from judgeboard.measure.all_answers import other_verdicts
from judgeboard.measure.rates import Rate, figure_of
from judgeboard.measure.samples import JudgeVerdict, Picked
from judgeboard.measure.words import FIGURES

OF_JUDGE = ("agreement", "kappa", "sensitivity", "specificity", "precision")
_LATER = {False: "before the sample was drawn", True: "after it"}


def strata_table(result: Rate) -> Table:
    """Return the strata of all answers with their labels."""
    columns = (
        Column("Logged and judged"),
        Column("Flagged"),
        Column("Judge"),
        Column("Answers", "count"),
        Column("Labels", "count"),
        Column("Bad", "count"),
    )
    later = any(each.is_later for each in result.strata)
    verdicts_by_class = {
        flag_class: {
            each.verdict for each in result.strata if each.picked == flag_class and each.verdict
        }
        for flag_class in get_args(Picked)
    }
    rows = []
    for each in result.strata:
        verdicts = (
            (each.verdict,) if each.verdict else other_verdicts(verdicts_by_class[each.picked])
        )
        # "bad", "good or none", or "any" for all verdicts.
        words = " or ".join("none" if verdict == "unusable" else verdict for verdict in verdicts)
        rows.append(
            (
                _LATER[each.is_later] if later else None,
                each.picked,
                "any" if len(verdicts) == len(get_args(JudgeVerdict)) else words,
                each.N,
                each.n,
                each.k,
            )
        )
    return Table(columns, tuple(rows)).without_empty({"Logged and judged", "Bad"})


def agreement_table(result: Rate) -> Table:
    """Return the agreement of judge and people in all answers with a verdict, beside the graded answers alone."""
    columns = Column("Figure"), Column("All answers with a verdict"), Column("Graded answers alone")
    rows = []
    for name in OF_JUDGE:
        figures = [result.figure(each) for each in (name, f"graded_{name}") if result.has(each)]
        rows.append(
            (
                FIGURES[name].title,
                *(
                    cell_text(each if each.value is not None else None, FIGURES[name])
                    for each in figures
                ),
            )
        )
    return Table(columns, tuple(rows))


def rate_lines(result: Rate) -> Iterator[str]:
    """Yield the sentence, the next steps, the caveats and the tables."""
    yield result.sentence
    yield from (each.text for each in (*result.next, *result.caveats))
    yield from filter(None, [left_out_sentence(result.about.left_out)])
    yield ""
    alone = (
        ("judge_alone", "labels_alone")
        if result.about.grade == "label"
        else ("judge_mean", "labels_mean")
    )
    rates = result.table(
        figure_of(result.about.grade), "bad_answers_now", "labels", "answers", *alone
    )
    yield from text_lines(rates.without_empty())
    if result.strata and not result.is_random:
        yield ""
        yield from text_lines(strata_table(result))
    if result.has("graded_agreement"):
        yield ""
        yield from text_lines(agreement_table(result))
        if result.figure("agreement").value is None:
            yield f"{UNKNOWN} means: {result.figure('agreement').reason}."
