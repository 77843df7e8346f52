"""Recent failures to arrive or to run: sources, traces without an answer, alerts, jobs, runs, rules and pushes."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import Connection

from judgeboard.alerts.conditions import silent_sources
from judgeboard.domain import AlertCondition, RunState
from judgeboard.store.alerts import open_events
from judgeboard.store.jobs import list_jobs
from judgeboard.store.judge_versions import version_titles
from judgeboard.store.rules import active_rules, list_rules
from judgeboard.store.runs import list_runs
from judgeboard.store.tables import RULES, AlertRule, PushTarget
from judgeboard.store.traces import unused_traces
from judgeboard.text import counted

DAYS = 7
"""The number of days for which failures are listed."""

_SILENT = timedelta(days=1)
_GIVEN_UP = timedelta(days=30)  # a source that is silent for longer was switched off
_MOST_RUNS = 50


@dataclass(frozen=True, slots=True)
class Failure:
    """Something that failed; ``lead`` names it, ``words`` describe it, ``subject`` is its source, run or rule.

    ``kind`` is silent_source, unused_traces, alert, job, run, or the ``event`` of a class of rules.
    """

    kind: str
    subject: str
    lead: str
    words: str


def failures(connection: Connection, now: datetime) -> list[Failure]:
    """Return what failed in the last `DAYS` days and is not resolved. Alarms of figures are not included.

    A source is silent after a day without a span. After 30 days, a silent source no longer counts.
    """
    since = now - timedelta(days=DAYS)
    # Open alerts; the source of an alert is not named again as silent.
    conditions = {rule.name: rule.condition for rule in list_rules(connection, AlertRule)}
    failures = [
        Failure("alert", event.subject or name, f"Alert {name}.", event.sentence)
        for name, event in open_events(connection)
        if conditions[name] is not AlertCondition.ALARM
    ]
    subjects = {failure.subject for failure in failures}
    failures += (
        Failure("silent_source", each.subject, "Silent source.", each.sentence)
        for each in silent_sources(connection, now, _SILENT)
        if each.subject not in subjects and (each.value or 0) <= _GIVEN_UP.total_seconds()
    )
    # Traces without an answer.
    traces = unused_traces(connection, since)
    if traces is not None:
        reason = " ".join((traces.reason or "reason unknown").split())
        lead = f"{counted(traces.traces, 'trace')} without an answer."
        words = f"{traces.of_source:,} from {traces.source}: {reason}"
        failures.append(Failure("unused_traces", traces.source, lead, words))
    # Jobs that failed before their run began, and runs that stopped.
    failures += unstarted_jobs(connection, since)
    titles = version_titles(connection)
    for run in list_runs(connection, limit=_MOST_RUNS):
        if run.started_at >= since and run.state in {RunState.STOPPED, RunState.INTERRUPTED}:
            judge = titles.get(run.judge_version_id or 0)
            what = run.kind if judge is None else f"{run.kind} with {judge}"
            reason = f": {' '.join(run.why_stopped.split())}" if run.why_stopped else ""
            lead = f"Run {run.id} was {run.state.value}."
            failures.append(Failure("run", str(run.id), lead, f"{what.capitalize()}{reason}."))
    # Rules with a problem, and pushes with items that the tool refused.
    for rule in (rule for rules in RULES.values() for rule in active_rules(connection, rules)):
        if rule.problem:
            lead = f"{rule.noun.capitalize()} {rule.name}:"
            failures.append(Failure(rule.event, rule.name, lead, " ".join(rule.problem.split())))
        elif isinstance(rule, PushTarget) and rule.refused and rule.reason:
            lead = f"{rule.tool} refused {counted(rule.refused, 'item')} of the push {rule.name}."
            failures.append(Failure(rule.event, rule.name, lead, " ".join(rule.reason.split())))
    return failures


def unstarted_jobs(connection: Connection, since: datetime) -> Iterator[Failure]:
    """Yield the jobs that failed before their run began, the newest first."""
    for job in list_jobs(connection, limit=_MOST_RUNS):
        if job.created_at >= since and job.failed is not None and job.run_id is None:
            words = f"Judging again, requested by {job.actor}: {' '.join(job.failed.split())}."
            yield Failure("job", job.id, "A job did not start.", words)
