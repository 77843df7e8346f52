"""Agreement as sentences and tables, rendered for a terminal or as one self-contained HTML file."""

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from html import escape
from typing import Any

from sqlalchemy import Connection

from judgeboard.domain import Estimate
from judgeboard.errors import NotFound
from judgeboard.formats.output import Column, Table, text_lines, to_html, to_json
from judgeboard.judges.evidence_alignment import Level
from judgeboard.measure.agreement import agreement_of
from judgeboard.measure.agreement_result import (
    AgreementResult,
    AgreementSlice,
    Statistics,
    answers_words,
    left_out_words,
    shown_statistics,
)
from judgeboard.measure.choice import AgreementChoice, CountedGrades, GradeName, Of
from judgeboard.measure.fields import FieldAgreement
from judgeboard.measure.notes import note
from judgeboard.measure.ratings import NoticeLabels
from judgeboard.measure.reliance import Reliance, reliance, reliance_of, stand_in_note
from judgeboard.reports.front_page import CHART_STYLE, LogSummary, front_page
from judgeboard.stats.alternative_annotator import EPSILONS, MIN_ITEMS, AlternativeAnnotatorTest
from judgeboard.stats.confusion import Confusion
from judgeboard.stats.detection import Tenth
from judgeboard.stats.estimates import MIN_PAIRS, interval, p_words, percent, percent_interval, two_decimals
from judgeboard.stats.pair_statistics import STATISTICS, ClassStatistics
from judgeboard.stats.rater_agreement import RaterAgainstGold, RaterPair
from judgeboard.store.filters import conditions_of, filter_sentence, from_dict

OF_NAMES: dict[Of, str] = {
    "judge": "Judge and people",
    "people": "People and people",
    "judges": "Judge and judge",
    "repeats": "Judge and its repeats",
}
TITLES = {
    "confusion": "Where they differ",
    "classes": "Each class",
    "calibration": "Calibration",
    "alt_test": "May the judge replace a person?",
    "rater_pairs": "Pair by pair",
    "self_agreement": "People with themselves",
    "against_gold": "People and gold labels",
    "anchoring": "People after they saw the judge",
    "notices": "Bad answers by the notice that readers saw",
}
"""The titles of the parts of a result, by the field that has the figures."""

ANCHORING_WORDS = "How far people moved towards the judge's grade (0 % = not at all, 100 % = adopted it)."
NOTICES_WORDS = (
    "Labels of people on served answers. If many answers without a notice are bad, 0.8 is too low; if few with a "
    "warning are bad, it is too high. The same holds for 0.6 and the disclaimer. Flagged answers are labelled more "
    "often."
)
_NOTICES = {
    Level.FULL: "none (groundedness 0.8 or more)",
    Level.WARNING: "warning (0.6 to below 0.8)",
    Level.DISCLAIMER: "disclaimer (below 0.6)",
    Level.UNMEASURED: "none (no groundedness)",
    Level.UNCHECKED: "disclaimer (not judged)",
}
ANSWERS = "Answers"
NOT_SHOWN = "Not available"
"""The titles of the columns that say which answers figures describe, and why a figure is missing."""
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


def report_results(
    connection: Connection,
    grade: GradeName,
    version_id: int | None,
    counted: CountedGrades,
) -> list[AgreementResult]:
    """Return the results of a report: a judge and people, people with each other, judges with each other.

    A ``version_id`` of None means the default judge version. The report is of everybody, also if ``counted`` names one
    reviewer.
    """
    versions = () if version_id is None else (version_id,)
    everybody, by_people = replace(counted, reviewer_id=None), counted.of_everybody()
    epsilon = EPSILONS["experts"]
    choices = (
        AgreementChoice("judge", versions, grade=grade, counted=everybody, by="query_type", epsilon=epsilon),
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

    Every text of the database is escaped; the page has no scripts and loads nothing. It contains the results as JSON
    too, for programs.
    """
    body = "".join(_html(each) for result in results for each in _report(result))
    safe = to_json(results).replace("<", "\\u003c")  # a text of the log must not end the script element
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>Agreement · Judgeboard</title><style>{_STYLE}{CHART_STYLE}</style></head><body>\n"
        f"{''.join(front_page(results[0], log)) if results else ''}"
        '<h2 class="appendix">Appendix: all statistics</h2>\n'
        '<p class="quiet">Intervals are 95 % confidence intervals (CI). A figure that is not available shows the '
        "reason.</p>\n"
        f'{body}<script type="application/json" id="agreement">{safe}</script>\n</body></html>\n'
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

    These are the answers that figures of all answers need, or else the items up to ten. None if enough are graded, if
    all answers are graded, if no people grade, or if the judge cannot judge the graded answers.
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
    if result.ungraded == 0:
        return None
    words = ["judgeboard", "queue", "create", "labels", "--plan", "rate", "--n", str(MIN_PAIRS - result.n)]
    if result.grade != "label":
        words += ["--grades", result.grade]
    if result.of == "people":
        words += ["--needed", "2"]
    words += [word for condition in conditions_of(from_dict(dict(result.where))) for word in ("--where", condition)]
    return shlex.join(words)


def figures_table(statistics: Statistics) -> Table:
    """Return every statistic with its value, interval and n."""
    columns = (Column("Figure", width=230), *map(Column, ("Value", "95 % CI")), Column("n", "count"))
    columns += (Column("Method", width=300),)
    return Table(columns, tuple(_figure_row(name, each) for name, each in shown_statistics(statistics).items()))


def figures_file(grade: str, parts: Iterable[tuple[str, str, Statistics]]) -> Table:
    """Return every statistic as plain numbers, for a file; ``parts`` have a judge version and a slice."""
    names = ("Judge version", "Grade", "Slice", "Figure")
    rows = (
        (judge, grade, part, STATISTICS[name].name, each.value, each.low, each.high, each.n, each.reason)
        for judge, part, statistics in parts
        for name, each in shown_statistics(statistics).items()
    )
    numbers = (*(Column(name, "number") for name in ("Value", "Low", "High")), Column("n", "count"), Column("Reason"))
    return Table((*map(Column, names), *numbers), tuple(rows))


def all_and_alone(result: AgreementResult) -> tuple[Statistics, Statistics]:
    """Return the statistics of all answers and those of the graded answers alone; if nothing is weighted, the first."""
    if not result.graded:
        return result.statistics, {}
    return {name: result.statistics[name] for name in result.graded}, result.statistics | result.graded


def statistics_table(
    names: Sequence[str],
    rows: Sequence[tuple[tuple[str | None, ...], int, Mapping[str, Estimate | None]]],
    only: Sequence[str] = (),
) -> Table:
    """Return a table of the leading statistics, or of those in ``only``. ``names`` titles the first columns."""
    wanted = only or leading_statistics()
    shown = [name for name in wanted if any(name in statistics for *_, statistics in rows)]
    columns = (
        *map(Column, names),
        Column("n", "count"),
        *(Column(STATISTICS[name].name, "share estimate" if STATISTICS[name].share else "estimate") for name in shown),
    )
    return Table(columns, tuple((*who, n, *(each.get(name) for name in shown)) for who, n, each in rows))


def leading_statistics() -> list[str]:
    """Return the names of the statistics in short tables."""
    return [name for name, row in STATISTICS.items() if row.leads]


def fields_table(fields: Sequence[FieldAgreement]) -> Table:
    """Return the leading statistics of each field of a label schema: of people, of each option, of each judge."""
    columns = (*map(Column, ("Field", "Raters")), Column("n", "count"), *map(Column, ("Figure", "Value", "95 % CI")))
    rows: list[tuple[Any, ...]] = []
    for each in fields:
        figures = [("people", STATISTICS[name].name, name, estimate) for name, estimate in _leading(each.statistics)]
        figures += [("people", f"Alpha of {option}", "alpha", alpha) for option, alpha in each.options.items()]
        for judge, statistics in each.judges.items():
            raters = f"{judge} vs. people"
            figures += [(raters, STATISTICS[name].name, name, estimate) for name, estimate in _leading(statistics)]
        for raters, title, name, estimate in figures:
            _, value, bounds, _, _ = _figure_row(name, estimate)
            rows.append((each.field, raters, each.n if raters == "people" else estimate.n, title, value, bounds))
    return Table(columns, tuple(rows))


def stand_ins_of_fields(fields: Sequence[FieldAgreement]) -> Iterator[str]:
    """Yield the conclusion of each alternative annotator test of the fields of a label schema."""
    for each in fields:
        for title, test in each.tests.items():
            yield f"{each.field}, {title}: {stand_in_note(test, reliance(each.judges[title])).text}"


def _leading(statistics: Mapping[str, Estimate]) -> list[tuple[str, Estimate]]:
    return [(name, statistics[name]) for name in leading_statistics() if name in statistics]


def slices_table(by: str, slices: Sequence[AgreementSlice], only: Sequence[str] = ()) -> Table:
    """Return the leading statistics of slices, or ``only`` these, with the reason why some are not shown."""
    rows = [
        (
            (part.name, answers_words(part.n, part.answers)),
            part.n,
            {name: None if name in part.not_shown else each for name, each in part.statistics.items()},
        )
        for part in slices
    ]
    table = statistics_table((by, ANSWERS), rows, only)
    reasons = (next(iter(part.not_shown.values()), None) for part in slices)
    lines = tuple((*line, reason) for line, reason in zip(table.rows, reasons, strict=True))
    table = Table((*table.columns, Column(NOT_SHOWN)), lines).without_empty({NOT_SHOWN})
    has_whole = any(each.answers is not None for each in slices)
    return table if has_whole else table.without({ANSWERS})


def pairs_table(pairs: Sequence[RaterPair]) -> Table:
    """Return the leading statistics of each pair of raters."""
    return statistics_table(
        ("First", "Second"), [((each.first, each.second), each.n, each.statistics) for each in pairs]
    )


def persons_table(people: Sequence[RaterPair | RaterAgainstGold]) -> Table:
    """Return the leading statistics of people who rated twice, or who are compared with gold labels."""
    names = [each.first if isinstance(each, RaterPair) else each.name for each in people]
    rows = [((name,), each.n, each.statistics) for name, each in zip(names, people, strict=True)]
    return statistics_table(("Person",), rows)


def confusion_table(confusion: Confusion) -> Table:
    """Return one line per cell of a confusion table, row by row."""
    columns = (Column("People"), Column("Judge"), Column("Answers", "count"), Column("Share of row", "share"))
    rows = (
        (people, judge, count, share)
        for people, counts, shares in zip(confusion.categories, confusion.counts, confusion.row_shares, strict=True)
        for judge, count, share in zip(confusion.categories, counts, shares, strict=True)
    )
    return Table(columns, tuple(rows))


def classes_table(classes: Sequence[ClassStatistics]) -> Table:
    """Return precision, recall and F1 of each class."""
    columns = (
        *(Column("Class"), Column("n", "count")),
        *(Column(name, "share estimate") for name in ("Precision", "Recall", "F1")),
    )
    return Table(columns, tuple((each.category, each.n, each.precision, each.recall, each.f1) for each in classes))


def calibration_table(tenths: Sequence[Tenth]) -> Table:
    """Return the tenths that have answers."""
    columns = (
        *(Column("Judge score"), Column("Mean", "number"), Column("n", "count")),
        Column("People: grounded", "share estimate"),
    )
    rows = (
        (f"{tenth.low:.1f} to {tenth.high:.1f}", tenth.mean_score, tenth.share_grounded.n, tenth.share_grounded)
        for tenth in tenths
        if tenth.mean_score is not None
    )
    return Table(columns, tuple(rows))


def stand_in_table(test: AlternativeAnnotatorTest) -> Table:
    """Return the alternative annotator test of each person."""
    columns = (Column("Person"), Column("n", "count"), Column("Judge as near", "share"), Column("p"), Column("Passed"))
    rows = (
        (
            *(each.name, each.n, each.advantage, p_words(each.p)),
            f"not tested: under {MIN_ITEMS}" if each.p is None else "yes" if each.rejected else "no",
        )
        for each in test.people
    )
    return Table(columns, tuple(rows))


def stand_in_words(test: AlternativeAnnotatorTest, allowed: Reliance) -> Iterator[str]:
    """Yield the result of the alternative annotator test, the meaning of ε, and what was left out."""
    yield stand_in_note(test, allowed).text
    yield note("epsilon", epsilon=test.epsilon, fewer=round(test.epsilon * 100, 6)).text
    if test.omega.value is not None:
        yield note("stand_in_wins", n=test.n, rho=test.rho).text
    if (left_out := left_out_words(test.left_out)) is not None:
        yield left_out


def anchoring_table(anchoring: Mapping[str, Estimate]) -> Table:
    """Return how far people moved towards the judge's grade, by grade."""
    columns = (Column("Grade"), Column("n", "count"), Column("Moved", "share estimate"))
    return Table(columns, tuple((grade, share.n, share) for grade, share in anchoring.items()))


def notices_table(notices: Sequence[NoticeLabels]) -> Table:
    """Return the share of bad answers by the notice that readers saw and by query type."""
    columns = (
        Column("Notice"),
        Column("Query type"),
        Column("Labels", "count"),
        Column("Bad answers", "share estimate"),
    )
    rows = ((_NOTICES[Level(each.notice)], each.query_type or "all", each.bad.n, each.bad) for each in notices)
    return Table(columns, tuple(rows))


def _report(result: AgreementResult) -> Iterator[Table | tuple[str, str]]:
    """Yield the report of a result: tables, and texts with their kind (h2, h3, p, note, quiet)."""
    what = result.grade if result.aspect is None else f"{result.grade} on {result.aspect}"
    name = result.title if result.of in {"judge", "repeats"} else ""
    yield "h2", " · ".join(filter(None, (OF_NAMES[result.of], name, what)))
    yield "p", result.sentence
    if result.where:
        yield "quiet", filter_sentence(from_dict(dict(result.where)))
    if result.compared_with is not None:
        yield "quiet", f"Compared with: {result.compared_with}."
    for caveat in result.caveats:
        yield "note", caveat.text
    yield from (("quiet", each.text) for each in result.next)
    if result.left_out_sentence is not None:
        yield "quiet", result.left_out_sentence
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
    by = (result.by or "").replace("_", " ")
    yield "h3", f"By {by}"
    yield slices_table(by.capitalize(), result.slices)
    rows = []
    for part in result.slices:
        if part.alt_test is not None:
            # Only labels are weighted in slices. With other grades, a slice describes what the whole describes.
            of_all = part.answers is not None or result.grade != "label"
            allowed = min(reliance_of(result), reliance(part.statistics, of_all=of_all))
            rows.append((part.name, stand_in_note(part.alt_test, allowed).text))
    if rows:
        yield Table((Column(by.capitalize()), Column(TITLES["alt_test"])), tuple(rows))


def _sections(result: AgreementResult) -> Iterator[tuple[str, Iterable[str], Table | None]]:
    """Yield title, texts and table of each part of a result; parts without rows are not shown."""
    confusion, calibration, test = result.confusion, result.calibration, result.alt_test
    # A reader who looks at one table alone must see that it does not describe all answers.
    alone = f": {answers_words(result.n, None)}" if result.is_of_graded else ""
    yield f"{TITLES['confusion']}{alone}", (), None if confusion is None else confusion_table(confusion)
    yield f"{TITLES['classes']}{alone}", (), classes_table(result.classes)
    yield f"{TITLES['calibration']}{alone}", (), None if calibration is None else calibration_table(calibration)
    yield (
        TITLES["alt_test"],
        () if test is None else stand_in_words(test, reliance_of(result)),
        None if test is None else stand_in_table(test),
    )
    for name, table in (
        ("rater_pairs", pairs_table(result.rater_pairs)),
        ("self_agreement", persons_table(result.self_agreement)),
        ("against_gold", persons_table(result.against_gold)),
    ):
        yield TITLES[name], _shortened_words(result, name), table
    yield TITLES["anchoring"], (ANCHORING_WORDS,), anchoring_table(result.anchoring)
    yield TITLES["notices"], (NOTICES_WORDS,), notices_table(result.notices)


def _shortened_words(result: AgreementResult, name: str) -> Iterator[str]:
    """Yield what is left out of a list, if it is shortened."""
    if (cut := result.shortened.get(name)) is not None:
        yield note("shortened", n=cut.lines - cut.left_out, lines=cut.lines).text
        if cut.lowest is not None and cut.median is not None and cut.highest is not None:
            yield note("range", lowest=cut.lowest, median=cut.median, highest=cut.highest).text


def _html(part: Table | tuple[str, str]) -> str:
    if isinstance(part, Table):
        return to_html(part)
    kind, text = part
    tag = kind if kind in {"h2", "h3"} else "p"
    return f"<{tag}{'' if kind == tag else f' class={chr(34)}{kind}{chr(34)}'}>{escape(text)}</{tag}>\n"


def _figure_row(name: str, estimate: Estimate) -> tuple[Any, ...]:
    if estimate.value is None:
        return (STATISTICS[name].name, None, estimate.reason, estimate.n, None)
    share = STATISTICS[name].share
    value = percent(estimate.value) if share else two_decimals(estimate.value)
    bounds = percent_interval(estimate) if share else interval(estimate)
    method = "; ".join(filter(None, (estimate.method, estimate.unit and f"by {estimate.unit}")))
    return (STATISTICS[name].name, value, bounds, estimate.n, method or estimate.reason)
