"""The command `watch`: detectors of changes, for a weekly job or CI."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from judgeboard.cli import options
from judgeboard.errors import BadInput
from judgeboard.text import utc_day

if TYPE_CHECKING:
    from judgeboard.agreement.alarms import WatchResult


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
    "day of the change.",
)
@click.option("--note", help="Why the alarm is acknowledged: its cause, or what was done (with --acknowledge).")
def watch_command(since: datetime | None, acknowledge: int | None, note: str | None) -> int:
    """Find out whether a watched figure rose or fell, or a judge has another model, and raise alarms.

    Each query type has two detectors for each of three figures: the share of bad answers, corrected by people's labels;
    the judge's error, which is its own share of bad answers minus the corrected share; and the share of unusable
    verdicts. They read the weeks that have ended. Run this command weekly. Exit code 0; 1 if there is a new alarm.
    Leads acknowledge alarms.
    """
    if (acknowledge is None) != (note is None):
        raise BadInput("--acknowledge and --note belong together")
    if acknowledge is not None and note is not None:
        return _acknowledged(acknowledge, note, since)
    from judgeboard.agreement.alarms import watch

    first = None if since is None else utc_day(since.replace(tzinfo=UTC))
    result = watch(options.open_store(), by=options.actor(), since=first)
    options.show(result, _lines(result))
    if result.new:
        options.suggest("watch", "--acknowledge", str(result.new[0]), "--note", "WHY")
    return int(bool(result.new))


def _acknowledged(alarm_id: int, note: str, since: datetime | None) -> int:
    from judgeboard.agreement.alarms import acknowledge, alarm_sentence

    if since is not None:
        raise BadInput("--since does not apply to --acknowledge")
    store = options.open_store()
    alarm = acknowledge(store, alarm_id, note, by=options.reviewer(store))
    options.show(alarm, [f"Alarm {alarm.id} is acknowledged. {alarm_sentence(alarm)}"])
    return 0


def _lines(result: "WatchResult") -> Iterator[str]:
    from judgeboard.agreement.alarms import alarm_sentence
    from judgeboard.reports.output import text_lines
    from judgeboard.reports.trends import detectors_table

    yield result.promise
    if result.detectors:
        yield from text_lines(detectors_table(result))
    for alarm in reversed(result.alarms):
        yield f"{'New alarm' if alarm.id in result.new else 'Alarm'} {alarm.id}: {alarm_sentence(alarm)}"
    if not result.alarms and result.detectors:
        yield "No open alarm."
