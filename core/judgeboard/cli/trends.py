"""The group `trends`: do answers become better or worse over time, and is there an alarm?"""

from datetime import UTC, datetime
from itertools import chain
from typing import TYPE_CHECKING, get_args

import click

from judgeboard.cli import options
from judgeboard.cli.asking import refuse_given
from judgeboard.cli.groups import CommandWithArguments
from judgeboard.errors import BadInput
from judgeboard.store.filters import MeasureName
from judgeboard.text import utc_day

_OF_ALARMS = (
    "This is the share of bad answers by the judge's verdicts, corrected by labels of people. The trend below is of "
    "another measure."
)

if TYPE_CHECKING:
    from judgeboard.measure.periods import Period


@options.group(
    "judgeboard trends",
    "judgeboard trends --measure flagged_share --period day --last 30",
    "judgeboard trends --by model",
    "judgeboard trends --by metadata.tenant --json",
    "judgeboard trends --criterion completeness",
    "judgeboard trends --own-label verdict=fix",
    "judgeboard trends --corrected",
    cls=CommandWithArguments,
)
@options.with_default(
    "--measure",
    type=click.Choice(get_args(MeasureName)),
    default="groundedness",
    help="Figure to show: mean groundedness, mean quality, share of low groundedness, share of flagged answers, or "
    "share of answers that fail a check.",
)
@click.option(
    "--criterion",
    metavar="NAME",
    help="Criterion of a rubric judge, instead of --measure: show its mean score. The default judge is the primary "
    "judge, or the only judge that has the criterion.",
)
@click.option(
    "--own-label",
    metavar="FIELD[=VALUE]",
    help="Field of a label schema, instead of --measure: show the mean of a scale or number (tone), or the share of "
    "one value (verdict=fix) among the answers that people labelled.",
)
@options.with_default(
    "--period", type=click.Choice(["week", "day"]), default="week", help="Length of a period (UTC)."
)
@options.with_default(
    "--by",
    default="query_type",
    metavar="query_type|source|model|metadata.KEY",
    help="Groups to show after all answers: the query types, the sources, the models that wrote the answers, or the "
    "frequent values of a metadata field.",
)
@click.option(
    "--last", type=click.IntRange(1), help="Number of newest periods to show (default: all)."
)
@options.judge_version(
    help="Judge version: name (newest version), 'name v3' or fingerprint (default: the current verdicts of the "
    "primary judge; with --corrected, the newest version of the primary judge)."
)
@click.option(
    "--corrected",
    is_flag=True,
    help="Show the corrected share of bad answers, computed from the sampled labels of each period. Periods with too "
    "few labels are joined.",
)
def trends_command(
    measure: "MeasureName",
    criterion: str | None,
    own_label: str | None,
    period: "Period",
    by: str,
    last: int | None,
    judge_version: str | None,
    corrected: bool,
) -> None:
    """Show whether answers become better or worse over time.

    The first line describes all answers, then the groups that differ from them. It names the
    changes that a detector found. The week or day of a change is an estimate. Intervals and
    detectors treat the answers to one question from the same passages as one group. These figures
    come from the judge alone, so a change of the judge looks like a change of the answers. With
    --corrected, the first line names a change only if the labels of people show it by the same test
    as in `judgeboard trends watch`.
    """
    from judgeboard.measure.alarms import share_changes
    from judgeboard.measure.corrected_trend import corrected_trend
    from judgeboard.measure.trend import QUERY_TYPE, trend
    from judgeboard.reports.trends import corrected_lines, trend_lines
    from judgeboard.store.hidden_rows import count_hidden
    from judgeboard.store.judge_versions import get_version

    if corrected:
        refuse_given(
            click.get_current_context(),
            "--corrected shows the share of bad answers by query type",
            ("measure", "criterion", "own_label", "by", "last"),
        )
    if criterion is not None:
        refuse_given(click.get_current_context(), "--criterion shows its own measure", ("measure",))
    if own_label is not None:
        unread = ("measure", "criterion", "judge_version")
        refuse_given(click.get_current_context(), "--own-label shows the labels of people", unread)
    with options.reading() as connection:
        judge = None if judge_version is None else get_version(connection, judge_version).id
        if corrected:
            shares = corrected_trend(connection, period=period, judge=judge)
            options.show(shares, corrected_lines(shares))
        else:
            result = trend(
                connection,
                measure=measure,
                criterion=criterion,
                own_label=own_label,
                period=period,
                judge=judge,
                last=last,
                by=by,
            )
            types = [panel.group for panel in result.panels] if result.by == QUERY_TYPE else []
            alarms = [each.sentence for each in share_changes(connection, types) if each.is_open]
            alarms += [_OF_ALARMS] if alarms else []
            all_seen = not count_hidden(connection)
            options.show(result, chain(alarms, trend_lines(result, all_seen=all_seen)))


@options.command(
    "judgeboard trends watch",
    "judgeboard trends watch --since 2026-03-02 --json",
    "judgeboard trends watch --acknowledge 1 --note 'New retriever since 2 March'",
    group=trends_command,
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
@click.option(
    "--note",
    help="Why the alarm is acknowledged: its cause, or what was done (with --acknowledge).",
)
def watch(since: datetime | None, acknowledge: int | None, note: str | None) -> int:
    """Raise an alarm if a watched figure or a judge's model changed. The provider reports which model has answered.

    The command watches three figures of all answers and of each query type: the corrected share of
    bad answers; the judge's share of bad answers minus the corrected share; and the share of
    unusable verdicts. Each figure has two detectors, which read the weeks that have ended. Run this
    command weekly. Exit code 0; 1 if there is a new alarm. Leads acknowledge alarms.
    """
    if (acknowledge is None) != (note is None):
        raise BadInput("--acknowledge and --note belong together")
    from judgeboard.formats.output import text_lines
    from judgeboard.measure import alarms, notes
    from judgeboard.reports.trends import detectors_table

    if acknowledge is not None and since is not None:
        raise BadInput("--since does not apply to --acknowledge")
    store = options.open_store()
    if acknowledge is not None and note is not None:
        alarm = alarms.acknowledge(store, acknowledge, note, by=options.reviewer(store))
        sentence = alarms.alarm_sentence(alarm)
        options.show(alarm, [f"Alarm {acknowledge} is acknowledged. {sentence}"])
        return 0
    first = None if since is None else utc_day(since.replace(tzinfo=UTC))
    result = alarms.watch(store, by=options.actor(), since=first)
    lines = []
    for each in result.alarms:
        number = each.alarm.id
        numbered = f"New alarm {number}" if number in result.new else f"Alarm {number} is open"
        lines.append(f"{numbered}: {alarms.alarm_sentence(each)}")
    if not result.alarms and result.detectors:
        lines.append("No open alarm.")
    lines.append(result.promise)
    if result.detectors:
        lines += (*text_lines(detectors_table(result)), notes.note("detectable").text)
    if result.alarms:
        command = f"judgeboard trends watch --acknowledge {result.alarms[0].alarm.id} --note 'The cause, in your words'"
        lines.append(notes.note("acknowledge", command=command).text)
    options.show(result, lines)
    if result.new:
        options.suggest("trends", "--corrected")
    return int(bool(result.new))
