"""The commands of `judgeboard rule`: rules that workers follow to judge answers, send messages and push scores."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, Unpack

import click

from judgeboard.cli import options
from judgeboard.cli.asked_judge import chosen_kind, judge_for_workers, judge_kind
from judgeboard.cli.asking import address_options, warned, with_confirmed_host, yes_option
from judgeboard.cli.drawn_options import drawn
from judgeboard.cli.push import TARGETS, as_seconds, push_options
from judgeboard.domain import RuleState
from judgeboard.errors import BadInput, NotFound
from judgeboard.store.filters import RowFilter, describe
from judgeboard.text import counted, iso_z, money

if TYPE_CHECKING:
    from judgeboard.cli.push import PushKeywords
    from judgeboard.store.engine import Store
    from judgeboard.store.tables import AlertEvent, Rule

F = TypeVar("F", bound=Callable[..., Any])
_EXAMPLES = {
    "judge": "judge NAME --judge KIND",
    "alert": "alert NAME --when CONDITION --to DESTINATION",
    "push": "push TOOL",
}


@options.group(
    "judgeboard rule add judge live --judge lexical",
    "judgeboard rule add alert old --when old_flags --after 2d --to slack:env:SLACK_URL",
    "judgeboard rule add push phoenix --every 60s",
    "judgeboard rule list",
    "judgeboard rule pause live",
)
def rule_command() -> None:
    """Rules let workers judge new answers, alert and push scores.

    `judgeboard serve` and `judgeboard worker` follow the rules. A rule has a kind: judge, alert or
    push. Names are unique within a kind. To send scores once, run `judgeboard push`. The rules that
    raise flags are other rules: see `judgeboard flags`.
    """


@options.group(
    "judgeboard rule add judge live --judge lexical",
    "judgeboard rule add alert old --when old_flags --after 2d --to slack:env:SLACK_URL",
    "judgeboard rule add push phoenix --every 60s",
)
def add_command() -> None:
    """Add a judging rule, an alert rule or a push target.

    A judging rule judges new answers, with a filter, a sampling rate and a budget. An alert rule
    sends messages while a condition lasts. A push target gets new judgments, reviews and gold
    labels.
    """


rule_command.add_command(add_command, "add")


@options.command(
    "judgeboard rule add judge live --judge lexical",
    "judgeboard rule add judge sampled --judge rag --model gpt-4o-mini --rate 0.1 --rate complex=0.5 --max-cost 5",
    "judgeboard rule add judge complaints --judge-version 'rag v2' --where rule=poor_rating --existing",
    group=add_command,
)
@options.named_section("judging_rules", "rule", metavar="NAME")
@judge_kind("Judge of judgeboard.toml, or kind of judge")
@options.judge_version(
    help="Stored judge version, instead of --judge: name (newest), 'name v3' or fingerprint."
)
@options.judge_name(
    "Name of the judge (default: its kind). Each judge name has its own version numbers."
)
@click.option(
    "--model", help="Name of the chat model, as its endpoint spells it (default: JUDGEBOARD_MODEL)."
)
@address_options
@yes_option
@options.where
@click.option(
    "--rate",
    "rates",
    multiple=True,
    metavar="[TYPE=]RATE",
    help="Sampling rate, 0 to 1 (default: 1). Repeat it with TYPE= for a query type, for example QA=0.5.",
)
@drawn(
    "judgeboard.settings.sections:JudgingRuleSettings",
    "max_cost",
    "max_calls",
    "concurrency",
    "delay",
    "existing",
)
def add_judge(
    rule: str,
    kind: str | None,
    judge_version: str | None,
    name: str | None,
    model: str | None,
    provider: str | None,
    base_url: str | None,
    where: RowFilter,
    rates: tuple[str, ...],
    **limits: Any,
) -> None:
    """Add a judging rule. It judges answers that are stored from now on, if they match --where and are sampled.

    The limits are per day. When the budget is used up, answers wait until the next day. Rules with
    the same sampling rate select the same answers. Options that you leave out are taken from
    [judging_rules.NAME] in judgeboard.toml.
    """
    from judgeboard.runs.jobs import judge_spec
    from judgeboard.runs.judging_rules import add_rule, sampling_rates
    from judgeboard.store.judge_versions import get_version

    typed_fields = {"name": name, "model": model, "provider": provider, "base_url": base_url}
    judge: dict[str, Any] = {key: value for key, value in typed_fields.items() if value is not None}
    in_file = None if kind is None else judge_for_workers(kind)
    if in_file is not None:
        kind, judge = (
            in_file.pop("kind", None),
            in_file | {key: value for key, value in judge.items() if value},
        )
    if judge_version is None:
        kind = chosen_kind(kind, judge)
    elif kind is not None or in_file is not None:
        command = options.same_command(without=["--judge"])
        raise BadInput(
            f"--judge and --judge-version both choose the judge: remove one, for example: `{command}`"
        )
    store = options.open_store(create=True)
    if judge_version is None:
        judge["kind"] = kind
    else:
        with store.reading() as connection:
            version = get_version(connection, judge_version)
            spec = judge_spec(connection, version)
        if spec is None:
            raise BadInput(
                f"{version.title} cannot judge by a rule: it was imported, or has own examples"
            )
        judge = spec | judge
    rate, by_type = sampling_rates(rates)
    store_rule = partial(
        add_rule,
        store,
        rule,
        judge=judge,
        where=where,
        rate=rate,
        rates=by_type,
        actor=options.actor(),
        **{name: value for name, value in limits.items() if value is not None},
    )
    new_rule = with_confirmed_host(store_rule)
    _show(store, new_rule)
    options.suggest("serve")


@options.command(
    "judgeboard rule add alert old --when old_flags --after 2d --to slack:env:SLACK_URL",
    "judgeboard rule add alert cost --when spend --above 20 --to email:ops@example.org --quiet '22:00-07:00'",
    "judgeboard rule add alert shop --when silent_source --after 30min --only shop --to webhook:env:HOOK_URL",
    "judgeboard rule add alert grounded --when level --below 0.7 --last 200 --only query_type=QA --to command",
    "judgeboard rule add alert complete --when level --criterion completeness --below 3.5 --last 7d --to command",
    group=add_command,
)
@options.named_section("alerts", "name")
@drawn("judgeboard.settings.sections:AlertSettings")
def add_alert(name: str, **fields: object) -> None:
    """Add an alert rule. It sends messages while a condition lasts.

    It sends one message when the condition begins, reminders while the condition lasts, and one
    message when it ends. Addresses of webhooks are secret, so they are not stored: a rule names the
    environment variable that has the address. Workers evaluate the rules every minute.
    """
    from judgeboard.alerts.rules import add_alert_rule, unset_webhooks
    from judgeboard.settings.option_words import checked
    from judgeboard.settings.sections import AlertSettings

    store = options.open_store(create=True)
    values = {key: value for key, value in fields.items() if value not in (None, ())}
    settings = checked(AlertSettings, values)
    rule = add_alert_rule(store, name, settings, options.actor())
    _show(store, rule, warned([unset_webhooks(settings.to)]))
    options.suggest("rule", "test", rule.name)


@options.command(
    "judgeboard rule add push phoenix",
    "judgeboard rule add push langfuse --what reviews,gold --every 5m --name team",
    "judgeboard rule add push mlflow --source shop --with-notes",
    group=add_command,
)
@click.argument("tool", type=TARGETS)
@click.option("--name", help="Name of the push target (default: the name of the tool).")
@push_options
@options.with_default(
    "--every",
    metavar="DURATION",
    default="60s",
    callback=as_seconds,
    help="Time between two pushes, such as 60s or 5m.",
)
def add_push(tool: str, name: str | None, every: float, **keywords: "Unpack[PushKeywords]") -> None:
    """Add a push target: workers push to it again and again.

    `judgeboard serve` and `judgeboard worker` push. They read the keys from their environment; keys
    are not stored. If the tool refuses an item, the item is sent again after an hour.
    """
    from judgeboard.tools.push import add_target

    store = options.open_store()
    target = add_target(store, tool, name=name, every_s=every, actor=options.actor(), **keywords)
    _show(store, target)
    options.suggest("serve")


@dataclass(frozen=True, slots=True)
class RuleLine:
    """A rule on the command line.

    ``state`` and ``does`` describe the rule. ``now`` is the problem of the rule, or else the number of
    waiting answers or messages. ``details`` are further lines in full, ``own`` further fields, and
    ``events`` the open events of an alert rule.
    """

    rule: "Rule"
    state: str
    does: str
    now: str
    details: tuple[str, ...]
    own: Mapping[str, object]
    events: "tuple[AlertEvent, ...]" = ()

    @property
    def lines(self) -> list[str]:
        """The rule in full, as lines for a terminal."""
        problem = [f"problem: {self.rule.problem}"] if self.rule.problem else []
        first = f"{self.rule.kind} {self.rule.name}: {self.state}; {self.does}"
        events = [_event_words(event) for event in self.events]
        return [first, *(f"  {line}" for line in (*self.details, *problem, *events))]

    def as_json(self) -> dict[str, object]:
        """Return the rule as JSON values: the kind, what the rule does, and the fields of this kind of rule."""
        head = {"kind": self.rule.kind, "does": self.does}
        return head | self.rule.as_json() | {"state": self.state} | dict(self.own)


def _judging_rules(store: "Store", name: str | None) -> Iterator[RuleLine]:
    from judgeboard.runs.judging_rules import rule_progress

    for each in rule_progress(options.seen(store), name=name):
        oldest = f", the oldest since {each.oldest:%Y-%m-%d %H:%M} UTC" if each.oldest else ""
        failed_words = f" ({each.failed_today:,} without a verdict)" if each.failed_today else ""
        today = f"{counted(each.calls_today, 'call')}{failed_words}, {money(each.cost_micro)}"
        waiting_words = counted(each.waiting, "answer")
        details = [
            f"waiting: {waiting_words}{oldest}; today: {today}; per day: {each.budget_words}"
        ]
        details += [
            f"judge before: {judge.title} until {judge.until:%Y-%m-%d %H:%M} UTC"
            for judge in each.earlier
        ]
        does = f"{each.version.title} judges {each.rate_words} of {describe(each.rule.filter)}"
        now = each.rule.problem or f"{waiting_words} waiting"
        yield RuleLine(each.rule, each.state, does, now, tuple(details), each.as_json())


def _alert_rules(store: "Store", name: str | None) -> Iterator[RuleLine]:
    from judgeboard.alerts.levels import levels_now
    from judgeboard.alerts.rules import limits_words, reminder_words
    from judgeboard.store.alerts import open_events
    from judgeboard.store.jobs import live_workers
    from judgeboard.store.rules import list_rules
    from judgeboard.store.tables import AlertRule

    with options.seen(store).reading() as connection:
        has_worker = bool(live_workers(connection))
        open_now = open_events(connection)
        for rule in list_rules(connection, AlertRule):
            if name not in {None, rule.name}:
                continue
            events = tuple(event for rule_name, event in open_now if rule_name == rule.name)
            quiet = f"; quiet hours: {rule.quiet}" if rule.quiet else ""
            levels = (
                [] if name is None else levels_now(connection, rule)
            )  # a table does not show levels, which take long
            details = [f"now: {sentence}" for sentence in levels]
            details += [f"reminder: {reminder_words(rule)}{quiet}"]
            state = rule.state_now(has_worker=has_worker)
            does = f"sends a message to {', '.join(rule.destinations)} while {limits_words(rule)}"
            now = rule.problem or counted(len(events), "open event")
            yield RuleLine(rule, state, does, now, tuple(details), {"open": events}, events)


def _push_targets(store: "Store", name: str | None) -> Iterator[RuleLine]:
    from judgeboard.store.jobs import live_workers
    from judgeboard.store.rules import list_rules
    from judgeboard.store.tables import PushTarget
    from judgeboard.tools.push import next_push, target_state

    with options.seen(store).reading() as connection:
        living = live_workers(connection)
        targets = list_rules(connection, PushTarget)
    for target in targets:
        if name not in {None, target.name}:
            continue
        source = "" if target.source is None else f" of {target.source}"
        notes = ", with notes" if target.with_notes else ""
        last = f"{target.succeeded_at:%Y-%m-%d %H:%M:%S} UTC" if target.succeeded_at else "never"
        next_at = next_push(target, living)
        soon = f"{next_at:%Y-%m-%d %H:%M:%S} UTC" if next_at else "none"
        refused_words = counted(target.refused, "item")
        details = [
            f"pushed: {target.pushed:,}; waiting: {target.waiting:,}; last success: {last}; next push: {soon}"
        ]
        details += (
            [f"refused: {refused_words}; the latest reason: {target.reason}"]
            if target.refused
            else []
        )
        does = f"sends {', '.join(target.what)}{source} to {target.tool} {target.address}{notes}"
        now = f"{counted(target.waiting, 'item')} waiting" + (
            f", {refused_words} refused" if target.refused else ""
        )
        now = target.problem or now
        own = {"next_at": next_at}
        yield RuleLine(target, target_state(target, living), does, now, tuple(details), own)


def _event_words(event: "AlertEvent", name: str = "") -> str:
    return f"open since {iso_z(event.opened_at)}: {name}{event.sentence}"


_READ: dict[str, Callable[["Store", str | None], Iterator[RuleLine]]] = {
    "judge": _judging_rules,
    "alert": _alert_rules,
    "push": _push_targets,
}


def _show(store: "Store", rule: "Rule", more: Mapping[str, object] | None = None) -> None:
    """Show a rule that was just stored in full, if the user may see it."""
    for line in _READ[rule.kind](store, rule.name):
        options.show(line.as_json(), [*line.lines, *_worker_lines([line])], more)


def _worker_lines(rules: Iterable[RuleLine]) -> list[str]:
    idle = any(line.state == "no worker" for line in rules)
    return (
        ["No process follows the rules: start `judgeboard serve` or `judgeboard worker`."]
        if idle
        else []
    )


def _rules_named(store: "Store", name: str, kind: str | None) -> "list[Rule]":
    """Return the rules of this name, at most one of each kind; raise NotFound if there is none."""
    from judgeboard.store.rules import list_rules
    from judgeboard.store.tables import RULES

    with store.reading() as connection:
        rules = [
            rule
            for each, rules in RULES.items()
            if kind in {None, each}
            for rule in list_rules(connection, rules)
        ]
    rules_named = [rule for rule in rules if rule.name == name]
    if not rules_named:
        noun = "rule" if kind is None else RULES[kind].noun
        names = ", ".join(
            f"{rule.name} ({rule.kind})" if kind is None else rule.name for rule in rules
        )
        raise NotFound(f"no {noun} {name!r}; known: {names or 'none'}")
    return rules_named


def _kind_option(help_: str) -> Callable[[F], F]:
    return click.option("--kind", type=click.Choice(list(_READ)), help=help_)


@options.command(
    "judgeboard rule list",
    "judgeboard rule list live",
    "judgeboard rule list --kind push --csv",
    group=rule_command,
    rows="rules",
)
@click.argument("name", required=False)
@_kind_option("Only rules of this kind (default: all kinds).")
def rule_list(name: str | None, kind: str | None) -> None:
    """List the judging rules, alert rules and push targets.

    The table has the kind and the name of each rule, what it does and its state. The last column
    has its problem, or the number of answers or messages that wait. With NAME, show the rules of
    this name in full: calls and cost today, limits, times, reminders, open events.
    """
    from judgeboard.formats.output import Column, Table, text_lines

    store = options.open_store()
    kinds = (
        [rule.kind for rule in _rules_named(store, name, kind)]
        if name is not None
        else [each for each in _READ if kind in {None, each}]
    )
    rules = [line for each in kinds for line in _READ[each](store, name)]
    rows = tuple(
        (line.rule.kind, line.rule.name, line.does, line.state, line.now) for line in rules
    )
    table = Table(
        tuple(map(Column, ("Kind", "Name", "What it does", "State", "Problem or waiting"))), rows
    )
    if name is not None:
        lines = [line for each in rules for line in each.lines]
    elif rules:
        events = [
            _event_words(event, f"{each.rule.name}: ") for each in rules for event in each.events
        ]
        lines = [*text_lines(table), *events]
    else:
        nouns = "rules" if kind is None else "rules of this kind"
        example = _EXAMPLES[kind or "judge"]
        lines = [f"There are no {nouns} yet. To add one: `judgeboard rule add {example}`"]
    options.show(
        {"rules": [each.as_json() for each in rules]}, [*lines, *_worker_lines(rules)], table=table
    )


def _change(name: str, kind: str | None, state: RuleState) -> None:
    """Store the state of the rule with this name; raise BadInput with the commands for a name of two kinds."""
    from judgeboard.runs.rules import change_rule

    store = options.open_store()
    rules = _rules_named(store, name, kind)
    kinds = [rule.kind for rule in rules]
    if len(kinds) > 1:
        commands = " or ".join(f"`{options.same_command('--kind', each)}`" for each in kinds)
        raise BadInput(
            f"rules of {len(kinds)} kinds have the name {name!r}: {' and '.join(kinds)}; write {commands}"
        )
    change_rule(store, type(rules[0]), name, state, options.actor())
    result = {"kind": kinds[0], "name": name, "state": state.value}
    options.show(result, [f"{kinds[0]} {name}: {state.value}"])


_kind_of_name = _kind_option(
    "Kind of the rule. Needed only if rules of two kinds have the same name."
)


@options.command(
    "judgeboard rule pause live", "judgeboard rule pause phoenix --kind push", group=rule_command
)
@click.argument("name")
@_kind_of_name
def rule_pause(name: str, kind: str | None) -> None:
    """Pause a rule.

    A judging rule finishes the calls in flight, and new answers wait. An alert rule is not
    evaluated and sends nothing. A push that is under way stops before its next request.
    """
    _change(name, kind, RuleState.PAUSED)


@options.command("judgeboard rule resume live", group=rule_command)
@click.argument("name")
@_kind_of_name
def rule_resume(name: str, kind: str | None) -> None:
    """Resume a paused rule.

    A judging rule also judges the answers that came while it was paused. A push target is pushed to
    at once.
    """
    _change(name, kind, RuleState.ACTIVE)


@options.command("judgeboard rule remove live", group=rule_command)
@click.argument("name")
@_kind_of_name
def rule_remove(name: str, kind: str | None) -> None:
    """Remove a rule. Its name is free again.

    The judgments of a judging rule and the messages of an alert rule are kept. What a push rule has
    sent to another tool stays there.
    """
    _change(name, kind, RuleState.REMOVED)


@options.command(
    "judgeboard rule test old",
    group=rule_command,
    rows="deliveries",
)
@click.argument("name")
def rule_test(name: str) -> int:
    """Send a test message of an alert rule.

    The message is sent to each destination of the rule, from this machine. Exit code 1 if one
    message was not sent.
    """
    from judgeboard.alerts.events import send_test

    deliveries = send_test(options.open_store(), name, options.actor())
    lines = []
    for each in deliveries:
        why = f": {each.error}" if each.error else ""
        outcome = f"{each.state} after {counted(each.attempts, 'attempt')}{why}"
        lines.append(
            f"{each.at:%Y-%m-%d %H:%M} UTC {name} ({each.kind.value}) to {each.destination}: {outcome}"
        )
    options.show({"deliveries": [{"rule": name, **each.as_json()} for each in deliveries]}, lines)
    return int(any(delivery.state != "sent" for delivery in deliveries))
