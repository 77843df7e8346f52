"""Agreement as sentences and tables, rendered for a terminal or as one self-contained HTML file."""

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection

from judgeboard.domain import Estimate
from judgeboard.errors import NotFound
from judgeboard.formats.output import Column, Table, text_lines, to_json
from judgeboard.measure.agreement import agreement_of
from judgeboard.measure.agreement_result import (
    LEADING,
    AgreementResult,
    Statistics,
    answers_words,
    left_out_sentence,
    left_out_words,
    shown_rows,
    shown_statistics,
    statistics_of_slice,
)
from judgeboard.measure.choice import AgreementChoice, CountedGrades, GradeName, Of
from judgeboard.measure.fields import FieldAgreement
from judgeboard.measure.notes import note
from judgeboard.measure.reliance import Reliance, reliance, reliance_of, stand_in_note
from judgeboard.measure.result import Result
from judgeboard.measure.words import FIGURES
from judgeboard.reports.front_page import CHART_STYLE, LogSummary, front_page, html_of
from judgeboard.stats.alternative_annotator import EPSILONS, MIN_ITEMS, AlternativeAnnotatorTest
from judgeboard.stats.confusion import Confusion
from judgeboard.stats.detection import Tenth
from judgeboard.stats.estimates import (
    MIN_PAIRS,
    interval,
    p_words,
    percent,
    percent_interval,
    two_decimals,
)
from judgeboard.stats.pair_statistics import STATISTICS
from judgeboard.store.filters import filter_sentence, from_dict, where_options

OF_NAMES: dict[Of, str] = {
    "judge": "Judge and people",
    "people": "People and people",
    "judges": "Judge and judge",
    "repeats": "Judge and its repeats",
}
TITLES = {
    "confusion": "Where they differ",
    "calibration": "Calibration",
    "alt_test": "May the judge replace a person?",
}
"""The titles of the parts of a result, by the field that has the figures."""

PART_FIGURES = {
    "classes": ("precision", "recall", "f1"),
    "anchoring": ("moved",),
    "notices": ("bad_answers",),
}
"""The figures in the tables of parts; other parts have the leading statistics."""
_STYLE = """
:root{color-scheme:light dark;--ink:light-dark(#1d2433,#e7eaf0);--quiet:light-dark(#5b6475,#9aa3b2);
--line:light-dark(#d9dee7,#39414f);--bar:light-dark(#b7791f,#e0b25c);--page:light-dark(#fff,#14181f)}
body{font:16px/1.58 system-ui,sans-serif;color:var(--ink);background:var(--page);max-width:62rem;margin:2rem auto;
padding:0 1rem}
h1{font-size:1.5rem;margin:0}h2{font-size:1.15rem;margin:2.2rem 0 .2rem}h3{font-size:1rem;margin:1.2rem 0 .3rem}
p{margin:.3rem 0;max-width:70ch}.quiet{color:var(--quiet);font-size:.9rem}
.note{border-left:3px solid var(--bar);padding-left:.7rem}
.wide{overflow-x:auto}table{border-collapse:collapse;font-variant-numeric:tabular-nums;font-size:.92rem}
th,td{padding:.22rem .8rem .22rem 0;border-bottom:1px solid var(--line);text-align:left;white-space:nowrap}
td.n,th.n{text-align:right}
"""
_PAGE = """\
<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Agreement · Judgeboard</title><style>{style}</style></head><body>
{first}<h2 class="appendix">Appendix: all statistics</h2>
<p class="quiet">Intervals are 95 % confidence intervals (CI). A figure that is not available shows the reason.</p>
{appendix}<script type="application/json" id="agreement">{results}</script>
</body></html>
"""


def report_results(
    connection: Connection,
    grade: GradeName,
    version_id: int | None,
    counted: CountedGrades,
) -> list[AgreementResult]:
    """Return the results of a report: a judge and people, people with each other, judges with each other.

    A ``version_id`` of None means the default judge version. The report describes everybody, even
    if ``counted`` names one reviewer.
    """
    versions = () if version_id is None else (version_id,)
    everybody, by_people = replace(counted, reviewer_id=None), counted.of_everybody()
    epsilon = EPSILONS["experts"]
    choices = (
        AgreementChoice(
            "judge", versions, grade=grade, counted=everybody, by="query_type", epsilon=epsilon
        ),
        AgreementChoice("people", grade=grade, counted=by_people, by="query_type"),
        AgreementChoice("judges", grade=grade, counted=by_people),
    )
    results = []
    for choice in choices:
        with suppress(NotFound):  # a report leaves out parts without data
            results.append(agreement_of(connection, choice))
    return results


def report_page(results: Sequence[AgreementResult], log: LogSummary) -> str:
    """Return a whole HTML page: a first page for decision makers, then every statistic.

    Every text of the database is escaped; the page has no scripts and loads nothing. The page also
    contains the results as JSON, for programs.
    """
    first = front_page(results[0], log) if results else ()
    return _PAGE.format(
        style=f"{_STYLE}{CHART_STYLE}",
        first="".join(map(html_of, first)),
        appendix="".join(html_of(part) for result in results for part in _report(result)),
        results=to_json(results).replace(
            "<", "\\u003c"
        ),  # a text of the log must not end the script element
    )


def result_lines(result: AgreementResult) -> Iterator[str]:
    """Yield a result as lines for a terminal."""
    for part in _report(result):
        if isinstance(part, Table):
            yield from text_lines(part)
        else:
            kind, text = part
            yield f"\n{text}" if kind == "h3" else f"Note: {text}" if kind == "note" else text


def next_command(result: AgreementResult) -> str | None:
    """Return the command that judges the graded answers, or else lets people grade the missing items.

    The missing items are the answers that figures of all answers need, or else the items up to ten.
    None if enough are graded, if all answers are graded, if no people grade, or if the judge cannot
    judge the graded answers.
    """
    need = result.to_label
    if result.unjudged is not None:
        return result.unjudged.command
    if result.n >= MIN_PAIRS or result.of not in {"judge", "people"}:
        return None if need is None else need.command
    if result.unit == "pairs":
        return "judgeboard serve"
    if need is not None and (need.hidden or need.undecided or need.open_queue is not None):
        return need.command
    if result.about.counts.get("ungraded") == 0:
        return None
    words = [
        "judgeboard",
        "queue",
        "create",
        "labels",
        "--plan",
        "rate",
        "--n",
        str(MIN_PAIRS - result.n),
    ]
    if result.about.grade != "label":
        words += ["--grades", result.about.grade]
    if result.of == "people":
        words += ["--needed", "2"]
    return shlex.join([*words, *where_options(from_dict(dict(result.about.where)))])


def figures_table(statistics: Statistics) -> Table:
    """Return every statistic with its value, interval and n."""
    columns = (
        Column("Figure", width=230),
        *map(Column, ("Value", "95 % CI")),
        Column("n", "count"),
    )
    return Table(
        columns,
        tuple(_figure_row(name, each) for name, each in shown_statistics(statistics).items()),
    )


def figures_file(results: Iterable[Result]) -> Table:
    """Return every figure as plain numbers, for a file."""
    names = ("Judge version", "Grade", "Slice", "Figure")
    rows = (
        (
            *(
                ", ".join(result.about.judges),
                result.about.grade,
                row.slice or "all",
                FIGURES[row.figure].title,
            ),
            *(row.value, row.low, row.high, row.n, row.reason),
        )
        for result in results
        for row in result.rows
        if row.figure in FIGURES
    )
    numbers = (
        *(Column(name, "number") for name in ("Value", "Low", "High")),
        Column("n", "count"),
        Column("Reason"),
    )
    return Table((*map(Column, names), *numbers), tuple(rows))


def all_and_alone(result: AgreementResult) -> tuple[Statistics, Statistics]:
    """Return the statistics of all answers and of the graded answers alone; without weights, only the first."""
    if not result.graded:
        return result.statistics, {}
    return {
        name: result.statistics[name] for name in result.graded
    }, result.statistics | result.graded


def fields_table(fields: Sequence[FieldAgreement]) -> Table:
    """Return the leading statistics of each field of a label schema: of people, of each option, of each judge."""
    columns = (
        *map(Column, ("Field", "Raters")),
        Column("n", "count"),
        *map(Column, ("Figure", "Value", "95 % CI")),
    )
    rows: list[tuple[Any, ...]] = []
    for each in fields:
        figures = [
            ("people", STATISTICS[name].name, name, estimate)
            for name, estimate in _leading(each.statistics)
        ]
        figures += [
            ("people", f"Alpha of {option}", "alpha", alpha)
            for option, alpha in each.options.items()
        ]
        for judge, statistics in each.judges.items():
            raters = f"{judge} vs. people"
            figures += [
                (raters, STATISTICS[name].name, name, estimate)
                for name, estimate in _leading(statistics)
            ]
        for raters, title, name, estimate in figures:
            _, value, bounds, _ = _figure_row(name, estimate)
            rows.append(
                (
                    each.field,
                    raters,
                    each.n if raters == "people" else estimate.n,
                    title,
                    value,
                    bounds,
                )
            )
    return Table(columns, tuple(rows))


def stand_ins_of_fields(fields: Sequence[FieldAgreement]) -> Iterator[str]:
    """Yield the conclusion of each alternative annotator test of the fields of a label schema."""
    for each in fields:
        for title, test in each.tests.items():
            yield f"{each.field}, {title}: {stand_in_note(test, reliance(each.judges[title])).text}"


def _leading(statistics: Mapping[str, Estimate]) -> list[tuple[str, Estimate]]:
    return [(name, statistics[name]) for name in LEADING if name in statistics]


def slices_table(result: AgreementResult, only: Sequence[str] = ()) -> Table:
    """Return the leading statistics of slices, or ``only`` these; a cell says why a statistic is not shown."""
    return replace(result, rows=shown_rows(result)).table("answers", "n", *(only or LEADING))


def part_table(part: Result) -> Table:
    """Return the figures of a part of a result."""
    return part.table("n", *PART_FIGURES.get(part.headline.code, LEADING))


def confusion_table(confusion: Confusion) -> Table:
    """Return one line per cell of a confusion table, row by row."""
    columns = (
        Column("People"),
        Column("Judge"),
        Column("Answers", "count"),
        Column("Share of row", "share"),
    )
    rows = (
        (people, judge, count, share)
        for people, counts, shares in zip(
            confusion.categories, confusion.counts, confusion.row_shares, strict=True
        )
        for judge, count, share in zip(confusion.categories, counts, shares, strict=True)
    )
    return Table(columns, tuple(rows))


def calibration_table(tenths: Sequence[Tenth]) -> Table:
    """Return the tenths that have answers."""
    columns = (
        *(Column("Judge score"), Column("Mean", "number"), Column("n", "count")),
        Column("People: grounded", "share estimate"),
    )
    rows = (
        (
            f"{tenth.low:.1f} to {tenth.high:.1f}",
            tenth.mean_score,
            tenth.share_grounded.n,
            tenth.share_grounded,
        )
        for tenth in tenths
        if tenth.mean_score is not None
    )
    return Table(columns, tuple(rows))


def stand_in_table(test: AlternativeAnnotatorTest) -> Table:
    """Return the alternative annotator test of each person."""
    columns = (
        Column("Person"),
        Column("n", "count"),
        Column("Judge as near", "share"),
        Column("p"),
        Column("Passed"),
    )
    rows = (
        (
            *(each.name, each.n, each.advantage, p_words(each.p)),
            f"not tested: under {MIN_ITEMS}"
            if each.p is None
            else "yes"
            if each.rejected
            else "no",
        )
        for each in test.people
    )
    return Table(columns, tuple(rows))


def stand_in_words(test: AlternativeAnnotatorTest, conclusion: Reliance) -> Iterator[str]:
    """Yield the result of the alternative annotator test, the meaning of ε, and what was left out."""
    yield stand_in_note(test, conclusion).text
    yield note("epsilon", epsilon=test.epsilon, fewer=round(test.epsilon * 100, 6)).text
    if test.omega.value is not None:
        yield note("stand_in_wins", n=test.n, rho=test.rho).text
    if (left_out := left_out_words(test.left_out)) is not None:
        yield left_out


def _report(result: AgreementResult) -> Iterator[Table | tuple[str, str]]:
    """Yield the report of a result: tables, and texts with their kind (h2, h3, p, note, quiet)."""
    about = result.about
    what = about.grade if result.aspect is None else f"{about.grade} on {result.aspect}"
    name = result.title if result.of in {"judge", "repeats"} else ""
    yield "h2", " · ".join(filter(None, (OF_NAMES[result.of], name, what)))
    yield "p", result.sentence
    if about.where:
        yield "quiet", filter_sentence(from_dict(dict(about.where)))
    if about.people is not None:
        yield "quiet", f"Compared with: {about.people}."
    for caveat in result.caveats:
        yield "note", caveat.text
    yield from (("quiet", each.text) for each in result.next)
    if (left_out := left_out_sentence(about.left_out)) is not None:
        yield "quiet", left_out
    of_all, alone = all_and_alone(result)
    if alone:
        yield "h3", answers_words(result.n, result.answers).capitalize()
    if any(each.value is not None for each in of_all.values()):
        yield figures_table(of_all)
    yield from _by_slice(result)
    if alone:
        yield "h3", answers_words(result.n, None)
        yield figures_table(alone)
    for title, texts, table in _sections(result):
        if table is not None and table.rows:
            yield "h3", title
            yield from (("quiet", text) for text in texts)
            yield table


def _by_slice(result: AgreementResult) -> Iterator[Table | tuple[str, str]]:
    """Yield the table of the slices with its title, and the alternative annotator test of each slice."""
    if not result.slices:
        return
    by = (result.about.by or "").replace("_", " ")
    yield "h3", f"By {by}"
    yield slices_table(result)
    rows = []
    for name, test in result.alt_tests.items():
        # Only labels are weighted in slices. With other grades, a slice describes the same kind of
        # answers as the whole.
        of_all = result.has("answers", name) or result.about.grade != "label"
        conclusion = min(
            reliance_of(result), reliance(statistics_of_slice(result, name), of_all=of_all)
        )
        rows.append((name, stand_in_note(test, conclusion).text))
    if rows:
        yield Table((Column(by.capitalize()), Column(TITLES["alt_test"])), tuple(rows))


def _sections(result: AgreementResult) -> Iterator[tuple[str, Iterable[str], Table | None]]:
    """Yield title, texts and table of each part of a result; parts without rows are not shown."""
    confusion, calibration, test = result.confusion, result.calibration, result.alt_test
    # A reader who looks at one table alone must see that the table does not describe all answers.
    alone = f": {answers_words(result.n, None)}" if result.is_of_graded else ""
    yield (
        f"{TITLES['confusion']}{alone}",
        (),
        None if confusion is None else confusion_table(confusion),
    )
    yield (
        f"{TITLES['calibration']}{alone}",
        (),
        None if calibration is None else calibration_table(calibration),
    )
    yield (
        TITLES["alt_test"],
        () if test is None else stand_in_words(test, reliance_of(result)),
        None if test is None else stand_in_table(test),
    )
    for part in result.parts:
        of_graded = alone if part.headline.code == "classes" else ""
        yield f"{part.sentence}{of_graded}", (each.text for each in part.caveats), part_table(part)


def _figure_row(name: str, estimate: Estimate) -> tuple[Any, ...]:
    if estimate.value is None:
        return (STATISTICS[name].name, None, estimate.reason, estimate.n)
    share = STATISTICS[name].share
    value = percent(estimate.value) if share else two_decimals(estimate.value)
    bounds = percent_interval(estimate) if share else interval(estimate)
    return (STATISTICS[name].name, value, bounds or estimate.reason, estimate.n)
