"""What failed to arrive or to run lately: sources, traces without an answer, alerts, jobs, runs, rules and pushes."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from sqlalchemy import Connection

from judgeboard.alerts.conditions import silent_sources
from judgeboard.domain import AlertCondition, RunState
from judgeboard.store.alerts import open_events
from judgeboard.store.jobs import list_jobs
from judgeboard.store.judge_versions import version_titles
from judgeboard.store.rules import active_rules, list_rules
from judgeboard.store.runs import list_runs
from judgeboard.store.tables import AlertRule, JudgingRule, PushTarget
from judgeboard.store.traces import UnusedTraces, unused_traces
from judgeboard.text import counted

DAYS = 7
"""The number of days that failures are listed for."""

_SILENT = timedelta(days=1)
_GIVEN_UP = timedelta(days=30)  # a source that is silent for longer was switched off
_MOST_RUNS = 50

Kind = Literal[
    "silent_source",
    "unused_traces",
    "alert",
    "job",
    "run",
    "judging_rule",
    "alert_rule",
    "push_target",
]


@dataclass(frozen=True, slots=True)
class Failure:
    """Something that failed; ``lead`` names it, ``words`` say what happened, ``subject`` is its source, run or rule."""

    kind: Kind
    subject: str
    lead: str
    words: str


def failures(connection: Connection, now: datetime) -> list[Failure]:
    """Return what failed in the last `DAYS` days and is not resolved. Alarms of figures are not among it.

    A source is silent after a day without a span. After 30 days it no longer counts.
    """
    since = now - timedelta(days=DAYS)
    events = [*_events(connection)]
    watched = {failure.subject for failure in events}
    silent = (
        each for each in silent_sources(connection, now, _SILENT) if each.subject not in watched
    )
    unused = unused_traces(connection, since)
    return [
        *events,
        *(
            Failure("silent_source", each.subject, "Silent source.", each.sentence)
            for each in silent
            if (each.value or 0) <= _GIVEN_UP.total_seconds()
        ),
        *(() if unused is None else (_of_traces(unused),)),
        *unstarted_jobs(connection, since),
        *_runs(connection, since),
        *_rules(connection),
        *_push_targets(connection),
    ]


def _events(connection: Connection) -> Iterator[Failure]:
    conditions = {rule.name: rule.condition for rule in list_rules(connection, AlertRule)}
    for name, event in open_events(connection):
        if conditions[name] is not AlertCondition.ALARM:
            yield Failure("alert", event.subject or name, f"Alert {name}.", event.sentence)


def _of_traces(unused: UnusedTraces) -> Failure:
    """Return "12 traces without an answer. 9 from shop: The call failed"."""
    lead = f"{counted(unused.traces, 'trace')} without an answer."
    reason = " ".join((unused.reason or "reason unknown").split())
    return Failure(
        "unused_traces", unused.source, lead, f"{unused.of_source:,} from {unused.source}: {reason}"
    )


def unstarted_jobs(connection: Connection, since: datetime) -> Iterator[Failure]:
    """Yield the jobs that failed before their run began, the newest first. `_runs` yields the others."""
    for job in list_jobs(connection, limit=_MOST_RUNS):
        if job.created_at >= since and job.failed is not None and job.run_id is None:
            words = f"Judging again, requested by {job.actor}: {' '.join(job.failed.split())}."
            yield Failure("job", job.id, "A job did not start.", words)


def _runs(connection: Connection, since: datetime) -> Iterator[Failure]:
    titles = version_titles(connection)
    for run in list_runs(connection, limit=_MOST_RUNS):
        if run.started_at >= since and run.state in {RunState.STOPPED, RunState.INTERRUPTED}:
            judge = titles.get(run.judge_version_id or 0)
            what = run.kind if judge is None else f"{run.kind} with {judge}"
            reason = f": {' '.join(run.why_stopped.split())}" if run.why_stopped else ""
            yield Failure(
                "run",
                str(run.id),
                f"Run {run.id} was {run.state.value}.",
                f"{what.capitalize()}{reason}.",
            )


def _rules(connection: Connection) -> Iterator[Failure]:
    for rule in active_rules(connection, JudgingRule):
        if rule.problem:
            yield Failure("judging_rule", rule.name, f"Judging rule {rule.name}.", rule.problem)
    for alert in active_rules(connection, AlertRule):
        if alert.problem:
            yield Failure("alert_rule", alert.name, f"Alert rule {alert.name}.", alert.problem)


def _push_targets(connection: Connection) -> Iterator[Failure]:
    for target in active_rules(connection, PushTarget):
        reason = target.problem or (target.reason if target.refused else None)
        if reason:
            lead = f"The push {target.name} stopped before its end."
            if target.problem is None:
                lead = f"{target.tool} refused {counted(target.refused, 'item')} of the push {target.name}."
            yield Failure("push_target", target.name, lead, " ".join(reason.split()))
