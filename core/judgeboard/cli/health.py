"""The commands `health` and `control-answers`: faults of a judge."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from judgeboard.cli import options
from judgeboard.cli.asking import read_few_shot, run_options, stored_judge_options
from judgeboard.store.filters import RowFilter

if TYPE_CHECKING:
    from judgeboard.health.report import HealthReport


@options.command("judgeboard health --judge-version rag", "judgeboard health --judge-version 'rag v3' --json")
@click.option(
    "--judge-version",
    required=True,
    metavar="NAME|FINGERPRINT",
    help="Judge version: name (newest version), 'name v3' or fingerprint.",
)
@click.option(
    "--families",
    type=options.FILE,
    help="Your own models in TOML: families, sizes, and ladders (from small to large; default: JUDGEBOARD_FAMILIES).",
)
@click.option("--gate", is_flag=True, help="Exit with code 1 if any check warns.")
def health_command(judge_version: str, families: Path | None, gate: bool) -> int:
    """Check a judge for typical faults, from stored judgments only.

    The checks: family, size, score collapse, control answers, verbosity, position bias, confidence, self-consistency,
    user feedback, unusable verdicts, cost. A check without data shows the command that measures it. Makes no model
    calls. Exit code 0; with `--gate`, 1 if any check warns.
    """
    from judgeboard.health.report import measure_health

    report = measure_health(options.seen(options.open_store()), judge_version, families=families)
    options.show(report, _lines(report))
    return int(gate and report.warnings > 0)


def _lines(report: "HealthReport") -> Iterator[str]:
    from judgeboard.health.record import State

    yield report.judge
    order = (State.WARNING, State.OK, State.NOT_MEASURED)
    for check in sorted(report.checks, key=lambda check: (not check.applies, order.index(check.state))):
        name = check.name.replace("_", " ")
        if not check.applies:
            yield f"-  {name}: {check.sentence}"
            continue
        yield f"{check.state.value.replace('_', ' ')}  {name}: {check.sentence}"
        if check.state is not State.OK and check.command:
            yield f"    {check.command}"


_kinds = click.option(
    "--kinds",
    metavar="KIND,…",
    help="passages_removed, other_answer, truncated, numbers_changed (known-bad); passages_reordered, hedges_removed "
    "(neutral). Default: all.",
)


@options.group(
    "judgeboard control-answers make",
    "judgeboard control-answers judge --judge rag --model gpt-4o-mini",
    "judgeboard health --judge-version rag",
    no_args_is_help=True,
)
def control_answers_command() -> None:
    """Make and judge control answers: changed copies of logged answers, known to be worse or equally good.

    They show what a judge does not notice. They do not appear in queues, trends or agreement.
    """


@options.command(
    "judgeboard control-answers make --kinds truncated,hedges_removed --n 100", group=control_answers_command
)
@_kinds
@options.with_default("--n", type=click.IntRange(1), default=50, help="Number of control answers per kind.")
@options.with_default("--seed", type=int, default=0, help="Seed of the selection. Another seed selects other answers.")
@options.where
def make(kinds: str | None, n: int, seed: int, where: RowFilter) -> None:
    """Make control answers from logged answers. Running it twice adds nothing."""
    from judgeboard.methods.control_answers import make_control_answers

    made = make_control_answers(
        options.open_store(), kinds=options.listed(kinds or ""), n=n, seed=seed, where=where, actor=options.actor()
    )
    lines = []
    for each in made:
        fewer = "" if each.made + each.known >= n else f"; suitable answers: {each.made + each.known:,}"
        known = f", {each.known:,} stored before" if each.known else ""
        lines.append(f"{each.kind}: {each.made:,} made{known}{fewer}")
    lines.append("To judge them: judgeboard control-answers judge --judge KIND")
    options.show({"made": sum(each.made for each in made), "kinds": made}, lines)


@options.command("judgeboard control-answers judge --judge rag --model gpt-4o-mini", group=control_answers_command)
@_kinds
@click.option("--judge", "kind", required=True, metavar="KIND", help="Kind of judge: rag, lexical, …")
@stored_judge_options
def judge(kinds: str | None, kind: str, max_cost: float | None, **chosen: Any) -> int:
    """Judge the control answers, and their originals if this judge has not judged them yet.

    Use the options of your `judgeboard judge` command to get the same judge version. To continue an interrupted run,
    repeat the command. For exit codes see `judgeboard judge`.
    """
    from judgeboard.cli.judge import summary_lines
    from judgeboard.methods.control_answers import judge_control_answers
    from judgeboard.runs.judging import make_judge

    read_few_shot(kind, chosen)
    asked_judge = make_judge(kind, **chosen)
    store = options.open_store()
    with run_options(chosen["concurrency"], max_cost) as how:
        summary = judge_control_answers(store, asked_judge, kinds=options.listed(kinds or ""), **how)
    options.show(summary, summary_lines(summary))
    return summary.exit_code
