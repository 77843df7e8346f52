"""Agreement as one HTML file that needs nothing else, and as lines for a terminal."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from html import escape

from sqlalchemy import Connection

from judgeboard.agreement.answer_pairs import GradeName
from judgeboard.agreement.choice import AgreementChoice
from judgeboard.agreement.measure import agreement_of
from judgeboard.agreement.notes import epsilon_sentence, p_words, stand_in_sentence
from judgeboard.agreement.result import (
    AgreementResult,
    Statistics,
    is_share,
    left_out_words,
    shown_statistics,
    statistic_name,
)
from judgeboard.domain import Estimate
from judgeboard.errors import NotFound
from judgeboard.reports.json_output import to_json
from judgeboard.stats.alternative_annotator import EPSILONS, MIN_ITEMS
from judgeboard.stats.confusion import Confusion
from judgeboard.stats.estimates import interval, number_words, percent, percent_interval, percent_words, two_decimals
from judgeboard.stats.ratings import Human

_OF = {
    "people": "People and people",
    "judge": "Judge and people",
    "judges": "Judges and judges",
    "repeats": "A judge and its repeats",
}
RHO = "\N{GREEK SMALL LETTER RHO}"
_LEAD = ("agreement", "kappa", "weighted_kappa", "alpha", "spearman")
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
    connection: Connection, grade: GradeName, version_id: int | None, human: Human
) -> list[AgreementResult]:
    """Return what a report holds: a judge beside people, people with each other, judges with each other.

    A ``version_id`` of None is the judge version that is meant unasked; ``human`` is what it is compared with.
    """
    versions = () if version_id is None else (version_id,)
    choices = (
        AgreementChoice("judge", versions, grade=grade, human=human, by="query_type", epsilon=EPSILONS["experts"]),
        AgreementChoice("people", grade=grade, by="query_type"),
        AgreementChoice("judges", grade=grade),
    )
    found = []
    for choice in choices:
        with suppress(NotFound):  # nothing of the kind is there: the report holds what is
            found.append(agreement_of(connection, choice))
    return found


def report_page(results: Sequence[AgreementResult], title: str = "Agreement") -> str:
    """Return a whole HTML page of results, in their order; the same results give the same text.

    All that comes from the database is escaped; there are no scripts and nothing is loaded. The results stand in it
    once more as JSON, for programs.
    """
    parts = [part for result in results for part in _section(result)]
    safe = to_json(results).replace("<", "\\u003c")  # a text of the log must not end the block it stands in
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)} · Judgeboard</title><style>{_STYLE}</style></head><body>\n"
        f"<h1>{escape(title)}</h1>\n"
        '<p class="quiet">Intervals hold the truth 95 times in 100; each says what it resamples. A figure that cannot '
        "be said has its reason in its place.</p>\n"
        f"{''.join(parts)}"
        f'<script type="application/json" id="agreement">{safe}</script>\n</body></html>\n'
    )


def _section(result: AgreementResult) -> Iterator[str]:
    what = result.grade if result.aspect is None else f"{result.grade} on {result.aspect}"
    name = result.title if result.of in {"judge", "repeats"} else ""
    yield f"<h2>{escape(' · '.join(filter(None, (_OF[result.of], name, what))))}</h2>\n"
    yield _p(result.sentence)
    if result.people_say is not None:
        yield _p(f"People: {result.people_say}.", "quiet")
    for note in result.notes:
        yield _p(note.text, "note")
    for why, n in result.left_out.items():
        yield _p(f"Left out: {n:,} {left_out_words(why)}.", "quiet")
    yield _figures(result.statistics)
    yield from _confusion(result.confusion)
    yield from _calibration(result)
    yield from _stand_in(result)
    yield from _slices(result)
    yield from _raters(result)
    for grade, share in result.anchoring.items():
        moved = _value(share, share=True)
        yield _p(f"After they saw the judge, people moved on {grade} by {moved} of the way to its score.")


def _figures(statistics: Statistics) -> str:
    rows = (
        (
            statistic_name(name),
            _value(each, share=is_share(name)),
            _interval(each, share=is_share(name)),
            f"{each.n:,}",
            "; ".join(filter(None, (each.method, each.unit and f"by {each.unit}"))),
        )
        for name, each in shown_statistics(statistics).items()
    )
    return _table(("Figure", "Value", "95 %", "n", "Interval"), rows, numbers={3})


def _confusion(table: Confusion | None) -> Iterator[str]:
    if table is None:
        return
    yield "<h3>Where they differ</h3>\n"
    names = [str(each) for each in table.categories]
    rows = (
        (f"people: {name}", *(f"{count:,}" for count in counts))
        for name, counts in zip(names, table.counts, strict=True)
    )
    yield _table(("", *(f"judge: {name}" for name in names)), rows, numbers=set(range(1, len(names) + 1)))


def _calibration(result: AgreementResult) -> Iterator[str]:
    if result.calibration is None:
        return
    yield "<h3>Calibration</h3>\n"
    rows = (
        (
            f"{tenth.low:.1f} to {tenth.high:.1f}",
            two_decimals(tenth.mean_score),
            _value(tenth.share_grounded, share=True),
            _interval(tenth.share_grounded, share=True),
            f"{tenth.share_grounded.n:,}",
        )
        for tenth in result.calibration
        if tenth.mean_score is not None
    )
    yield _table(("Judge scores", "Mean", "People: grounded", "95 %", "n"), rows, numbers={4})


def _stand_in(result: AgreementResult) -> Iterator[str]:
    test = result.alt_test
    if test is None:
        return
    yield "<h3>May the judge stand in for a person?</h3>\n"
    yield _p(stand_in_sentence(test))
    yield _p(epsilon_sentence(test.epsilon), "quiet")
    omega, rho = (_value(each, share=False) for each in (test.omega, test.rho))
    advantage = f"advantage probability {RHO} {rho} {_interval(test.rho, share=False)}"
    yield _p(f"Winning rate ω {omega}, {advantage}, on {test.n:,}.", "quiet")
    rows = ((each.name, f"{each.n:,}", p_words(each.p), "yes" if each.rejected else "no") for each in test.people)
    yield _table(("Person", "n", "p", "Holds against"), rows, numbers={1})


def _slices(result: AgreementResult) -> Iterator[str]:
    if not result.slices:
        return
    yield f"<h3>By {escape((result.by or '').replace('_', ' '))}</h3>\n"
    yield _leading([((one.name,), one.n, one.statistics) for one in result.slices], ("",))


def _raters(result: AgreementResult) -> Iterator[str]:
    if result.rater_pairs:
        yield "<h3>Pair by pair</h3>\n"
        yield _leading(
            [((each.first, each.second), each.n, each.statistics) for each in result.rater_pairs], ("", "and")
        )
    if result.self_agreement:
        yield "<h3>With themselves</h3>\n"
        yield _leading([((each.first,), each.n, each.statistics) for each in result.self_agreement], ("",))
    if result.against_gold:
        yield "<h3>Against what a lead settled</h3>\n"
        lines = [((each.name,), each.n, each.statistics) for each in result.against_gold]
        yield _leading(lines, ("",))


def _leading(lines: Sequence[tuple[tuple[str, ...], int, Statistics]], first: tuple[str, ...]) -> str:
    """Return a table of the figures that lead, a line per slice or pair of raters."""
    names = [name for name in _LEAD if any(name in statistics for _, _, statistics in lines)]
    rows = (
        (*who, f"{n:,}", *(cell for name in names for cell in _both(name, statistics.get(name))))
        for who, n, statistics in lines
    )
    heads = [cell for name in names for cell in (statistic_name(name), "95 %")]
    return _table((*first, "n", *heads), rows, numbers={len(first)})


def _both(name: str, estimate: Estimate | None) -> tuple[str, str]:
    if estimate is None:
        return "–", ""
    return _value(estimate, share=is_share(name)), _interval(estimate, share=is_share(name))


def _value(estimate: Estimate, *, share: bool) -> str:
    if estimate.value is None:
        return estimate.reason or "unknown"
    return percent(estimate.value) if share else two_decimals(estimate.value)


def _interval(estimate: Estimate, *, share: bool) -> str:
    return (percent_interval(estimate) if share else interval(estimate)) or ""


def _p(text: str, kind: str = "") -> str:
    return f'<p class="{kind}">{escape(text)}</p>\n' if kind else f"<p>{escape(text)}</p>\n"


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]], numbers: set[int]) -> str:
    def cells(tag: str, texts: Sequence[str]) -> str:
        return "".join(
            f"<{tag}{' class=n' if place in numbers else ''}>{escape(text)}</{tag}>" for place, text in enumerate(texts)
        )

    lines = "".join(f"<tr>{cells('td', row)}</tr>\n" for row in rows)
    return f'<div class="wide"><table><tr>{cells("th", heads)}</tr>\n{lines}</table></div>\n'


_LINE_LEADS = ("kappa", "weighted_kappa", "alpha", "spearman", "agreement")


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
        yield f"  {statistic_name(name)}: {_figure_words(name, estimate)}"
    yield from _confusion_lines(result)
    yield from _rater_lines(result)
    yield from _stand_in_lines(result)
    yield from _slice_lines(result)
    for grade, share in result.anchoring.items():
        yield f"after they saw the judge, people moved on {grade} by {percent_words(share)} of the way"
    for note in result.notes:
        yield f"note ({note.code}): {note.text}"


def _confusion_lines(result: AgreementResult) -> Iterator[str]:
    if result.confusion is not None:
        yield "people in the rows, the judge in the columns: " + ", ".join(map(str, result.confusion.categories))
        for label, row in zip(result.confusion.categories, result.confusion.counts, strict=True):
            yield f"  {label}: " + " ".join(f"{count:,}" for count in row)


def _rater_lines(result: AgreementResult) -> Iterator[str]:
    for pair in result.rater_pairs:
        yield f"{pair.first} and {pair.second}, {pair.n:,}: {_lead_words(pair.statistics)}"
    for pair in result.self_agreement:
        yield f"{pair.first} with themselves, {pair.n:,} rated twice: {_lead_words(pair.statistics)}"
    for rater in result.against_gold:
        yield f"{rater.name} against gold, {rater.n:,}: {_lead_words(rater.statistics)}"


def _slice_lines(result: AgreementResult) -> Iterator[str]:
    for one in result.slices:
        yield f"{result.by} {one.name}, {one.n:,}: {_lead_words(one.statistics)}"
        if one.alt_test is not None:
            yield f"    {stand_in_sentence(one.alt_test)}"


def _stand_in_lines(result: AgreementResult) -> Iterator[str]:
    test = result.alt_test
    if test is None:
        return
    yield stand_in_sentence(test)
    yield f"  {epsilon_sentence(test.epsilon)}"
    yield f"  omega {_exact(test.omega)}, rho {number_words(test.rho)}, on {test.n:,}"
    for each in test.people:
        rejected = ", rejected" if each.rejected else ""
        p = f"not tested: under {MIN_ITEMS}" if each.p is None else f"p {p_words(each.p)}{rejected}"
        yield f"  {each.name}, {each.n:,}: {p}"


def _lead_words(statistics: Statistics) -> str:
    shown = [
        f"{statistic_name(name)} {_figure_words(name, statistics[name])}" for name in _LINE_LEADS if name in statistics
    ]
    return ", ".join(shown)


def _figure_words(name: str, estimate: Estimate) -> str:
    said = percent_words(estimate) if is_share(name) else number_words(estimate)
    return f"{said} (n {estimate.n:,})" if estimate.value is not None else said


def _exact(estimate: Estimate) -> str:
    return "undefined" if estimate.value is None else f"{estimate.value:.4f}"
