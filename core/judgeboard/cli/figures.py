"""The commands `agreement`, `trends`, `watch` and `stats`: figures of stored answers, judgments and reviews."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click

from judgeboard.cli import options
from judgeboard.cli.asking import refuse_given
from judgeboard.errors import BadInput, MissingOption
from judgeboard.store.filters import MeasureName
from judgeboard.text import as_utc, counted, utc_day

if TYPE_CHECKING:
    from judgeboard.agreement.alarms import WatchResult


@options.command(
    "judgeboard agreement --judge-version 'rag v3' --by query_type",
    "judgeboard agreement --of people --grade quality --json",
    "judgeboard agreement --unit pairs --judge-version pandalm-7b --alt-test --epsilon 0.2",
    "judgeboard agreement --unit pairs --judge-version gpt-4 --inconsistent drop",
    "judgeboard agreement --of repeats --judge-version gpt-4",
    "judgeboard agreement --schema support --where source=billing",
    "judgeboard agreement --report agreement.html",
)
@options.with_default(
    "--of",
    type=click.Choice(["people", "judge", "judges", "repeats"]),
    default="judge",
    help="Raters to compare: people with each other, a judge with people, judges with each other, or a judge with its "
    "own repeats.",
)
@options.judge_version(
    "judge_versions",
    multiple=True,
    help="Judge version: name (newest version), 'name v3' or fingerprint (default: the primary judge). With "
    "--of judges, repeat it (default: all judges). With --of repeats, a name means all its versions.",
)
@options.with_default(
    "--unit",
    type=click.Choice(["responses", "pairs"]),
    default="responses",
    help="What was graded: answers, or pairs of answers (which one is better).",
)
@click.option("--aspect", help="Aspect of the preference, for --unit pairs (default: overall).")
@click.option(
    "--grade",
    metavar="label|groundedness|quality|preference|NAME",
    help="Grade to compare, or the name of a score, of a rubric dimension or of a label set (default: label; "
    "preference for --unit pairs). Only --grade label shows how many bad answers a judge misses. The output has the "
    "number of reviews without a label.",
)
@options.with_default(
    "--human",
    type=click.Choice(["gold", "majority", "mean", "each"]),
    default="gold",
    help="Grades by people to compare with. gold: the adjudication; without one, the majority (label), the lower "
    "median (quality) or the mean (groundedness). majority: as gold, but without adjudications. mean: the mean of "
    "people's scores. each: every person's grade separately.",
)
@options.pair_verdicts("with --unit pairs")
@click.option(
    "--by",
    metavar="query_type|judge_version|generator|source|time|length|rule|metadata.KEY",
    help="Also measure each slice separately, if it has at least 10 answers.",
)
@options.where
@options.implied_labels
@click.option("--alt-test", is_flag=True, help="Run the alternative annotator test: can the judge replace a person?")
@click.option(
    "--epsilon",
    type=options.FiniteRange(0, 1),
    help="How much worse than a person the judge may be, for --alt-test (default: 0.2). Use 0.2 for experts, "
    "0.15 for trained annotators, 0.1 for a crowd.",
)
@options.with_default(
    "--small",
    type=click.Choice(["skip", "wilcoxon"]),
    default="skip",
    help="Test for people with fewer than 30 items, with --alt-test. skip: no test. wilcoxon: the signed-rank test.",
)
@click.option(
    "--schema",
    metavar="NAME",
    help="Measure only the fields of this label schema: agreement of people with each other and with its judges.",
)
@click.option(
    "--report",
    type=options.FILE,
    help="Also write an HTML report to this file: a first page for decision makers, then all statistics.",
)
@click.option(
    "--full",
    is_flag=True,
    help="List every pair of raters and every person, also with --json (default: at most 50 lines, those with the most "
    "items).",
)
def agreement_command(
    alt_test: bool, epsilon: float | None, report: Path | None, schema: str | None, full: bool, **chosen: Any
) -> None:
    """Measure the agreement between judges and people.

    Every figure has n, a 95 % interval and the number of excluded answers. Each answer counts once per judge
    version, with the latest usable verdict. A figure that is not available has a reason instead of a value.
    """
    from judgeboard.agreement.fields import field_agreement
    from judgeboard.agreement.measure import measure_agreement
    from judgeboard.agreement.reliance import reliance, stand_in_sentence
    from judgeboard.agreement.result import shortened
    from judgeboard.reports.agreement import fields_table, next_command, result_lines
    from judgeboard.reports.output import text_lines
    from judgeboard.store.filters import RowFilter, describe

    if epsilon is not None and not alt_test:
        raise MissingOption("--epsilon needs --alt-test", "--alt-test")
    tested = (0.2 if epsilon is None else epsilon) if alt_test else None
    if schema is not None:
        of_schema = {name: chosen.pop(name) for name in ("small", "implied_labels", "where")}
        unread = {*chosen, "report", "full"}
        refuse_given(click.get_current_context(), "--schema measures each field with the statistic of its type", unread)
        with options.seen(options.open_store()).reading() as connection:
            fields = field_agreement(connection, schema, epsilon=tested, **of_schema)
        tests = [
            f"{each.field}, {title}: {stand_in_sentence(test, reliance(each.judges[title]))}"
            for each in fields
            for title, test in each.tests.items()
        ]
        where = of_schema["where"]
        filtered = [] if where == RowFilter() else [f"Filter: {describe(where)}."]
        output = {"schema": schema, "where": where.as_dict(), "fields": fields}
        options.show(output, [*filtered, *text_lines(fields_table(fields)), *tests])
        return
    store = options.seen(options.open_store())
    if report is not None and chosen["of"] != "repeats" and chosen["by"] is None:
        chosen["by"] = "query_type"  # the first page has a chart by query type
    result = measure_agreement(store, epsilon=tested, **chosen)
    result = result if full else shortened(result)
    lines = [*result_lines(result)]
    if report is not None:
        from judgeboard.formats.files import write_whole
        from judgeboard.reports.agreement import report_page
        from judgeboard.reports.front_page import log_summary

        with store.reading() as connection:
            page = report_page([result], log_summary(connection, [result])).encode()
        write_whole(report, lambda file: file.write(page))
        lines.append(f"written to {report}")
    options.show(result, lines)
    more = next_command(result)
    if more is not None:
        options.suggest_command(more)
    elif report is None:
        options.suggest_command(options.same_command("--report", "agreement.html"))


def _window(_context: click.Context, option: click.Parameter, text: str | None) -> tuple[int, int] | None:
    """Return the first and the last day of a window, as days since 1970-01-01."""
    if text is None:
        return None
    try:
        first, last = (utc_day(as_utc(day.strip())) for day in text.split(".."))
    except ValueError:
        raise BadInput(f"{option.opts[0]} takes two days: 2026-03-02..2026-03-29, not {text!r}") from None
    return first, last


@options.command(
    "judgeboard trends",
    "judgeboard trends --measure flagged_share --period day --last 30",
    "judgeboard trends --by metadata.tenant --json",
    "judgeboard trends --criterion completeness",
    "judgeboard trends --corrected",
    "judgeboard trends --corrected --before 2026-02-02..2026-03-01 --after 2026-03-02..2026-03-29",
)
@options.with_default(
    "--measure",
    type=click.Choice(get_args(MeasureName)),
    default="groundedness",
    help="Mean groundedness, mean quality, share of low groundedness, share of flagged answers, or share of "
    "answers that fail a check.",
)
@click.option(
    "--criterion",
    metavar="NAME",
    help="Criterion of a rubric judge, instead of --measure: show its mean score (default judge: the primary judge, or "
    "the only one that has the criterion).",
)
@options.with_default("--period", type=click.Choice(["week", "day"]), default="week", help="Length of a period (UTC).")
@options.with_default(
    "--by",
    default="query_type",
    metavar="query_type|metadata.KEY",
    help="All answers, then one line per query type, or per frequent value of a metadata field.",
)
@click.option("--last", type=click.IntRange(1), help="Number of newest periods to show (default: all).")
@options.judge_version(
    help="Judge version: name (newest version), 'name v3' or fingerprint (default: current verdicts of the primary "
    "judge; with --corrected, its newest version)."
)
@click.option(
    "--corrected",
    is_flag=True,
    help="Show the corrected share of bad answers, from the sampled labels of each period. Periods with "
    "too few labels are joined.",
)
@click.option(
    "--before",
    metavar="FROM..TO",
    callback=_window,
    help="First window to compare, with --corrected and --after: two days (UTC), both included (default: none).",
)
@click.option(
    "--after", metavar="FROM..TO", callback=_window, help="Second window, later than the first (default: none)."
)
def trends_command(
    judge_version: str | None,
    corrected: bool,
    before: tuple[int, int] | None,
    after: tuple[int, int] | None,
    **chosen: Any,
) -> None:
    """Show whether answers become better or worse over time.

    The first line speaks of all answers, then of the groups that differ from them. It names the changes that a detector
    found. The week or day of a change is an estimate. Intervals and detectors treat the answers to one question from
    the same passages as one group. These figures come from the judge alone, so a change of the judge looks like a
    change of the answers. With --corrected, the first line names only changes that `judgeboard watch` would find. With
    --before and --after, it compares these two windows. Choose them by a known date, for example of a release: if you
    choose them by the figures, p is too small.
    """
    from judgeboard.agreement.corrected_trend import corrected_trend
    from judgeboard.agreement.window_comparison import compare_windows
    from judgeboard.reports.trends import corrected_lines, trend_lines, windows_lines
    from judgeboard.store.judge_versions import get_version
    from judgeboard.trends.trend import trend

    if (before is None) != (after is None) or (before is not None and not corrected):
        raise BadInput("--before and --after belong together, and need --corrected")
    if corrected:
        unread = ("measure", "criterion", "by", "last", *(("period",) if before else ()))
        refuse_given(click.get_current_context(), "--corrected shows the share of bad answers by query type", unread)
    if chosen["criterion"] is not None:
        refuse_given(click.get_current_context(), "--criterion shows its own measure", ("measure",))
    with options.seen(options.open_store()).reading() as connection:
        judge = None if judge_version is None else get_version(connection, judge_version).id
        if before is not None and after is not None:
            windows = compare_windows(connection, before, after, judge=judge)
            options.show(windows, windows_lines(windows))
        elif corrected:
            shares = corrected_trend(connection, period=chosen["period"], judge=judge)
            options.show(shares, corrected_lines(shares))
        else:
            result = trend(connection, judge=judge, **chosen)
            options.show(result, trend_lines(result))


@options.command("judgeboard stats", "judgeboard stats --json | jq .agreement")
def stats_command() -> None:
    """Show counts, and how far each judge agrees with people.

    Counts responses, reviews, judgments and flags. The same data gives the same JSON, byte for byte.
    """
    from judgeboard.reports.output import text_lines
    from judgeboard.reports.stats import (
        agreement_tables,
        agreement_words,
        flags_table,
        judgments_table,
        left_out_lines,
        measure,
    )

    stats = measure(options.seen(options.open_store()))
    tables = (judgments_table(stats), flags_table(stats), *agreement_tables(stats))
    lines = [f"{counted(stats.responses, 'response')}, {counted(stats.reviews, 'review')}"]
    lines += [line for table in tables if table.rows for line in ("", *text_lines(table))]
    options.show(stats, [*lines, *agreement_words(stats), *left_out_lines(stats)])


@options.command(
    "judgeboard watch",
    "judgeboard watch --since 2026-03-02 --json",
    "judgeboard watch --acknowledge 1 --note 'New retriever since 2 March'",
)
@click.option(
    "--since",
    metavar="DAY",
    type=click.DateTime(["%Y-%m-%d"]),
    help="Read only answers from this day (UTC) on, for example 2026-03-02 (default: all answers with a time).",
)
@click.option(
    "--acknowledge",
    type=options.ROW_ID,
    metavar="ALARM",
    help="Number of an alarm to acknowledge, with --note. The detectors of the alarm's figure then restart from the "
    "day on which that figure changed.",
)
@click.option("--note", help="Why the alarm is acknowledged: its cause, or what was done (with --acknowledge).")
def watch_command(since: datetime | None, acknowledge: int | None, note: str | None) -> int:
    """Raise an alarm if a watched figure rose or fell, or if the model of a judge changed.

    Three figures of all answers and of each query type are watched: the corrected share of bad answers; the judge's
    error; and the share of unusable verdicts. The judge's error is a difference: the judge's share of bad answers minus
    the corrected share. Each figure has two detectors, which read the weeks that have ended. Run this command weekly.
    Exit code 0; 1 if there is a new alarm. Leads acknowledge alarms.
    """
    if (acknowledge is None) != (note is None):
        raise BadInput("--acknowledge and --note belong together")
    if acknowledge is not None and note is not None:
        return _acknowledge(acknowledge, note, since)
    from judgeboard.agreement.alarms import watch

    first = None if since is None else utc_day(since.replace(tzinfo=UTC))
    result = watch(options.open_store(), by=options.actor(), since=first)
    options.show(result, _watch_lines(result))
    if result.new:
        options.suggest("trends", "--corrected")
    return int(bool(result.new))


def _acknowledge(alarm_id: int, note: str, since: datetime | None) -> int:
    from judgeboard.agreement.alarms import acknowledge, alarm_sentence

    if since is not None:
        raise BadInput("--since does not apply to --acknowledge")
    store = options.open_store()
    alarm = acknowledge(store, alarm_id, note, by=options.reviewer(store))
    options.show(alarm, [f"Alarm {alarm.id} is acknowledged. {alarm_sentence(alarm)}"])
    return 0


def _watch_lines(result: "WatchResult") -> Iterator[str]:
    from judgeboard.agreement.alarms import alarm_sentence
    from judgeboard.reports.output import text_lines
    from judgeboard.reports.trends import DETECTABLE, detectors_table

    for alarm in result.alarms:
        yield f"{'New alarm' if alarm.id in result.new else 'Alarm'} {alarm.id}: {alarm_sentence(alarm)}"
    if not result.alarms and result.detectors:
        yield "No open alarm."
    yield result.promise
    if result.detectors:
        yield from text_lines(detectors_table(result))
        yield DETECTABLE
    if result.new:
        command = f"judgeboard watch --acknowledge {result.new[0]} --note 'The cause, in your words'"
        yield f"After you know the cause, acknowledge the alarm: `{command}`"
