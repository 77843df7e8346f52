"""The commands of `judgeboard alerts`: messages while a condition is met."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click

from judgeboard.cli import options
from judgeboard.cli.asking import warned
from judgeboard.cli.options import FiniteRange
from judgeboard.domain import AlertCondition, RuleState
from judgeboard.store.filters import LevelMeasure
from judgeboard.text import counted

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from judgeboard.store.alerts import AlertEvent, AlertRule, Delivery


_WHEN = "Condition. The page Alerts and docs/how-to/alerts.md explain each."


@options.group(
    "judgeboard alerts add old --when old_flags --after 2d --to slack:env:SLACK_URL",
    "judgeboard alerts test old",
    "judgeboard alerts check",
)
def alerts_command() -> None:
    """Send a message when a condition begins, reminders while it lasts, and another message when it ends.

    `judgeboard serve` and `judgeboard worker` evaluate the rules every minute. Without them, run `alerts check`.
    """


@options.command(
    "judgeboard alerts add old --when old_flags --after 2d --to slack:env:SLACK_URL",
    "judgeboard alerts add cost --when spend --above 20 --to email:ops@example.org --quiet '22:00-07:00 Europe/Berlin'",
    "judgeboard alerts add shop --when silent_source --after 30min --only shop --to webhook:env:HOOK_URL",
    "judgeboard alerts add grounded --when level --below 0.7 --last 200 --only query_type=QA --to slack:env:SLACK_URL",
    "judgeboard alerts add complete --when level --criterion completeness --below 3.5 --last 7d --to command",
    group=alerts_command,
)
@click.argument("name")
@click.option("--when", type=click.Choice([each.value for each in AlertCondition]), required=True, help=_WHEN)
@click.option(
    "--to",
    multiple=True,
    required=True,
    metavar="DESTINATION",
    help="webhook:env:VARIABLE, slack:env:VARIABLE or teams:env:VARIABLE (the variable has the address), "
    "email:ADDRESS, or command. Repeat it for more.",
)
@click.option("--above", type=FiniteRange(), help="Threshold; for missing_worker, a minimum (default: by condition).")
@click.option("--below", type=FiniteRange(), help="Lower threshold of a level, instead of --above (default: none).")
@click.option(
    "--measure",
    type=click.Choice(get_args(LevelMeasure)),
    help="Measure of a level: mean groundedness, mean quality, or share of low groundedness in % (default: "
    "groundedness).",
)
@click.option(
    "--criterion", metavar="NAME", help="Criterion of a rubric judge, instead of --measure: its mean score is watched."
)
@click.option("--judge", metavar="NAME", help="Judge whose verdicts a level counts (default: the primary judge).")
@click.option(
    "--last",
    metavar="ANSWERS|DAYS",
    help="Window of a level: 10 to 20,000 newest answers, such as 200, or 1 to 366 days (UTC), such as 7d (default: "
    "200).",
)
@click.option("--after", metavar="PERIOD", help="Period, such as 30min, 24h or 2d (default: that of the condition).")
@click.option(
    "--only",
    multiple=True,
    metavar="NAME",
    help="Source, judge, judging rule, or slice of a level to watch, such as query_type=QA (default: all).",
)
@options.with_default("--remind", default="24h", metavar="PERIOD|never", help="Time between reminders.")
@click.option("--quiet", metavar="HOURS", help="Daily hours without messages: 'HH:MM-HH:MM ZONE' (default zone: UTC).")
def add(**chosen: Any) -> None:
    """Add an alert rule. No address with a secret is stored: a rule names the environment variable that has it."""
    from judgeboard.alerts.rules import WrittenRule, add_alert_rule, unset_words
    from judgeboard.store.alerts import alert_rule_named

    store = options.open_store(create=True)
    add_alert_rule(store, WrittenRule(**chosen), options.actor())
    with store.reading() as connection:
        rule = alert_rule_named(connection, chosen["name"].strip())
        lines = list(rule_lines(connection, [rule]))
    options.show(rule, lines, warned([unset_words(rule.destinations)]))
    options.suggest("alerts", "test", rule.name)


@options.command("judgeboard alerts import examples/alerts.yaml", group=alerts_command)
@click.argument("file", type=options.FILE)
def import_(file: Path) -> None:
    """Add the alert rules of FILE, a YAML file: all or none.

    A rule with the name of a stored rule replaces it, if they differ. Other stored rules stay.
    """
    from judgeboard.alerts.rules import import_alert_rules

    imported = import_alert_rules(options.open_store(create=True), file, options.actor())
    counts = ", ".join(f"{len(names)} {what}" for what, names in imported._asdict().items())
    options.show(imported._asdict(), [counts])


@options.command("judgeboard alerts list --json", group=alerts_command)
def list_() -> None:
    """List the alert rules and the open events."""
    from judgeboard.store.alerts import list_alert_rules, open_events

    with options.open_store().reading() as connection:
        rules, events = list_alert_rules(connection), open_events(connection)
        lines = list(rule_lines(connection, rules))
    none = ["There are no alert rules yet. To add one: `judgeboard alerts add NAME --when CONDITION --to DESTINATION`"]
    shown = {"rules": rules, "open": [event for _, event in events]}
    options.show(shown, [*(lines or none), *event_lines(events)])


def rule_lines(connection: "Connection", rules: "Iterable[AlertRule]") -> Iterator[str]:
    """Yield alert rules as lines for a terminal, a level rule with its figures now."""
    from judgeboard.alerts.levels import levels_now
    from judgeboard.alerts.rules import limits_words, reminder_words

    for rule in rules:
        yield f"{rule.name}: {rule.state.value}; {limits_words(rule)}"
        quiet = f"; quiet hours: {rule.quiet}" if rule.quiet else ""
        if rule.problem:
            yield f"  problem: {rule.problem}"
        yield from (f"  now: {sentence}" for sentence in levels_now(connection, rule))
        yield f"  to: {', '.join(rule.destinations)}; reminder: {reminder_words(rule)}{quiet}"


def event_lines(events: "Iterable[tuple[str, AlertEvent]]") -> Iterator[str]:
    """Yield open events as lines for a terminal."""
    for name, event in events:
        yield f"open since {event.opened_at:%Y-%m-%d %H:%M} UTC: {name}: {event.sentence}"


def _change(name: str, state: RuleState) -> None:
    from judgeboard.alerts.rules import change_alert_rule

    change_alert_rule(options.open_store(), name, state, options.actor())


options.state_commands(
    alerts_command,
    "old",
    _change,
    pause="Pause an alert rule: it is not evaluated and sends nothing.",
    resume="Resume an alert rule.",
    remove="Remove an alert rule. Its log is kept, and its name is free again.",
)


@options.command("judgeboard alerts test old", group=alerts_command)
@click.argument("name")
def test(name: str) -> int:
    """Send a test message to each destination of a rule, from this machine. Exit code 1 if one was not sent."""
    from judgeboard.alerts.events import send_test

    deliveries = send_test(options.open_store(), name, options.actor())
    options.show({"deliveries": deliveries}, delivery_lines(deliveries))
    return int(any(delivery.state != "sent" for delivery in deliveries))


@options.command("judgeboard alerts log", "judgeboard alerts log --limit 500 --json", group=alerts_command)
@options.with_default("--limit", type=click.IntRange(1, 10_000), default=50, help="Maximum number of messages.")
def log(limit: int) -> None:
    """List the latest messages, newest first: when, where to, and why one was not sent."""
    from judgeboard.store.alerts import latest_deliveries

    with options.open_store().reading() as connection:
        deliveries = latest_deliveries(connection, limit=limit)
    options.show(
        {"deliveries": deliveries}, delivery_lines(deliveries) if deliveries else ["There are no messages yet."]
    )


def delivery_lines(deliveries: "Iterable[Delivery]") -> Iterator[str]:
    """Yield messages as lines for a terminal."""
    for each in deliveries:
        why = f": {each.error}" if each.error else ""
        made = f"{each.state} after {counted(each.attempts, 'attempt')}{why}"
        yield f"{each.at:%Y-%m-%d %H:%M} UTC {each.rule} ({each.kind.value}) to {each.destination}: {made}"


@options.command("judgeboard alerts check", group=alerts_command)
def check() -> int:
    """Evaluate all active rules now, and send the messages that are due: for cron, where no worker runs.

    Exit code 1 if an event is open, or a rule cannot be evaluated.
    """
    from judgeboard.alerts.events import check
    from judgeboard.store.alerts import list_alert_rules, open_events

    store = options.open_store()
    sent = check(store)
    with store.reading() as connection:
        events, rules = open_events(connection), list_alert_rules(connection)
    problems = {rule.name: rule.problem for rule in rules if rule.problem and rule.state is RuleState.ACTIVE}
    lines = [*event_lines(events), *(f"{name} cannot be evaluated: {problem}" for name, problem in problems.items())]
    lines.append(f"{counted(len(events), 'open event')}, {counted(sent, 'message')} sent")
    options.show({"open": [event for _, event in events], "problems": problems, "sent": sent}, lines)
    return int(bool(events or problems))
