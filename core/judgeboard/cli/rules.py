"""The commands of `judgeboard rules`: judge answers as they come."""

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from judgeboard.cli import options
from judgeboard.cli.asking import (
    address_options,
    address_unknown,
    chosen_kind,
    confirm_host,
    judge_kind,
    yes_option,
)
from judgeboard.cli.options import FiniteRange
from judgeboard.domain import RuleState
from judgeboard.errors import AddressUnknown, BadInput, OtherHost
from judgeboard.store.filters import RowFilter, describe
from judgeboard.text import counted, money

if TYPE_CHECKING:
    from judgeboard.runs.judging_rules import RuleProgress


@options.group(
    "judgeboard rules add live --judge lexical",
    "judgeboard rules list",
    "judgeboard rules pause live",
)
def rules_command() -> None:
    """Judge answers as they come: each judging rule has a filter, a judge version, a sampling rate and a budget.

    `judgeboard serve` and `judgeboard worker` follow the rules. No answer is judged twice by one judge version.
    """


@options.command(
    "judgeboard rules add live --judge lexical",
    "judgeboard rules add sampled --judge rag --model gpt-4o-mini --rate 0.1 --rate complex=0.5 --max-cost 5",
    "judgeboard rules add complaints --judge-version 'rag v2' --where rule=poor_rating --existing",
    group=rules_command,
)
@click.argument("rule", metavar="NAME")
@judge_kind("Kind of judge: rag, rubric, grade, rating or lexical.")
@options.judge_version(help="Stored judge version, instead of --judge: name (newest), 'name v3' or fingerprint.")
@options.judge_name("Name of the judge (default: its kind). Each judge name has its own version numbers.")
@click.option("--model", help="Name of the chat model, as its endpoint spells it (default: JUDGEBOARD_MODEL).")
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
@click.option(
    "--max-cost", type=FiniteRange(0, min_open=True), help="Maximum cost per day (UTC), in dollars (default: no limit)."
)
@click.option(
    "--max-calls",
    type=click.IntRange(1, 10**9),
    help="Maximum number of calls per day (UTC). A call judges one answer (default: no limit).",
)
@options.with_default(
    "--concurrency",
    type=click.IntRange(1, 1024),
    default=8,
    help="Maximum number of calls at the same time, in each worker.",
)
@options.with_default(
    "--delay", type=FiniteRange(0), default=0.0, help="Seconds to wait after an answer was stored, before it is judged."
)
@click.option("--existing", is_flag=True, help="Also judge the answers that are stored already.")
def add(
    rule: str,
    kind: str | None,
    judge_version: str | None,
    where: RowFilter,
    rates: tuple[str, ...],
    max_cost: float | None,
    max_calls: int | None,
    concurrency: int,
    delay: float,
    *,
    existing: bool,
    **chosen: Any,
) -> None:
    """Add a judging rule. Answers that are stored from now on are judged, if they match and are sampled.

    The limits are per day. When the budget is used up, answers wait until the next day. Rules with the same sampling
    rate select the same answers.
    """
    from judgeboard.runs.jobs import judge_spec
    from judgeboard.runs.judging_rules import add_rule, rule_progress, sampling_rates
    from judgeboard.store.judge_versions import get_version

    if judge_version is None:
        kind = chosen_kind(kind, chosen)
    elif kind is not None:
        command = options.same_command(without=["--judge"])
        raise BadInput(f"--judge and --judge-version both choose the judge: remove one, for example: `{command}`")
    judge = {key: value for key, value in chosen.items() if value is not None}
    store = options.open_store(create=True)
    if judge_version is None:
        judge["kind"] = kind
    else:
        with store.reading() as connection:
            version = get_version(connection, judge_version)
            spec = judge_spec(connection, version)
        if spec is None:
            raise BadInput(f"{version.title} cannot judge again: its verdicts were imported or combined")
        judge = spec | judge
    rate, by_type = sampling_rates(rates)
    add = partial(
        add_rule,
        store,
        rule,
        judge=judge,
        where=where,
        rate=rate,
        rates=by_type,
        max_cost=max_cost,
        max_calls=max_calls,
        concurrency=concurrency,
        delay_s=delay,
        existing=existing,
        actor=options.actor(),
    )
    try:
        added = add()
    except AddressUnknown as error:
        raise address_unknown(error) from None
    except OtherHost as change:
        if not confirm_host(change):
            raise
        added = add(confirmed_host=change.now)
    lines = rule_progress(store, name=added.name)
    options.show(lines[0], rule_lines(lines))
    options.suggest("serve")


@options.command("judgeboard rules list", "judgeboard rules list --json", group=rules_command)
def list_() -> None:
    """List the judging rules, with the answers that wait for each and its cost today."""
    from judgeboard.runs.judging_rules import rule_progress

    lines = rule_progress(options.seen(options.open_store()))
    none = ["There are no judging rules yet. To add one: `judgeboard rules add NAME --judge KIND`"]
    options.show({"rules": lines}, rule_lines(lines) if lines else none)


def rule_lines(lines: "list[RuleProgress]") -> Iterator[str]:
    """Yield judging rules as lines for a terminal."""
    for line in lines:
        oldest = f", the oldest since {line.oldest:%Y-%m-%d %H:%M} UTC" if line.oldest else ""
        failed = f" ({line.failed_today:,} without a verdict)" if line.failed_today else ""
        yield f"{line.name}: {line.state}; {line.judge} judges {line.rate_words} of {describe(line.where)}"
        today = f"{counted(line.calls_today, 'call')}{failed}, {money(line.cost_micro)}"
        yield f"  waiting: {counted(line.waiting, 'answer')}{oldest}; today: {today}; per day: {line.budget_words}"
        for each in line.earlier:
            yield f"  judge before: {each.title} until {each.until:%Y-%m-%d %H:%M} UTC"
        if line.problem:
            yield f"  problem: {line.problem}"
        if line.state == "no worker":
            yield "  No process judges: start `judgeboard serve` or `judgeboard worker`."


def _change(name: str, state: RuleState) -> None:
    from judgeboard.runs.judging_rules import change_rule

    change_rule(options.open_store(), name, state, options.actor())


options.state_commands(
    rules_command,
    "live",
    _change,
    pause="Pause a judging rule. Calls in flight are finished, and new answers wait.",
    resume="Resume a judging rule. It also judges the answers that came while it was paused.",
    remove="Remove a judging rule. Its judgments are kept, and its name is free again.",
)
