"""The commands `health` and `control-answers`: faults of a judge."""

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from judgeboard.cli import options
from judgeboard.cli.asking import as_json as json_option
from judgeboard.cli.asking import few_shot_options, model_options, reviewed_examples, run_options, show_json

if TYPE_CHECKING:
    from judgeboard.health.record import Check


@click.command(
    epilog=options.example("judgeboard health --judge-version rag", "judgeboard health --judge-version 'rag v3' --json")
)
@click.option(
    "--judge-version",
    required=True,
    metavar="NAME|FINGERPRINT",
    help="Judge version: name (newest version), 'name v3' or fingerprint.",
)
@click.option(
    "--families",
    type=click.Path(path_type=Path),
    help="Your own models in TOML: families, sizes, and ladders (from small to large; default: JUDGEBOARD_FAMILIES).",
)
@click.option("--gate", is_flag=True, help="Exit with code 1 if any check warns.")
@json_option
@options.database
def health_command(judge_version: str, families: Path | None, gate: bool, as_json: bool, db: str | None) -> int:
    """Check a judge for typical faults, from stored judgments only.

    The checks: family, size, score collapse, control answers, verbosity, position bias, confidence, self-consistency,
    user feedback, unusable verdicts, cost. A check without data shows the command that measures it. Makes no model
    calls. Exit code 0; with `--gate`, 1 if any check warns.
    """
    from judgeboard.cli.options import seen
    from judgeboard.health.record import State
    from judgeboard.health.report import measure_health
    from judgeboard.reports.json_output import to_json
    from judgeboard.store.engine import open_store

    with closing(open_store(db)) as store:
        report = measure_health(seen(store), judge_version, families=families)
    if as_json:
        click.echo(to_json(report))
    else:
        click.echo(report.judge)
        order = (State.WARNING, State.OK, State.NOT_MEASURED)
        for check in sorted(report.checks, key=lambda check: (not check.applies, order.index(check.state))):
            for line in _lines(check):
                click.echo(line)
    return int(gate and report.warnings > 0)


def _lines(check: "Check") -> list[str]:
    from judgeboard.health.record import State

    name = check.name.replace("_", " ")
    if not check.applies:
        return [f"-  {name}: {check.sentence}"]
    lines = [f"{check.state.value.replace('_', ' ')}  {name}: {check.sentence}"]
    if check.state is not State.OK and check.command:
        lines.append(f"    {check.command}")
    return lines


_kinds = click.option(
    "--kinds",
    metavar="KIND,…",
    help="passages_removed, other_answer, truncated, numbers_changed (known-bad); passages_reordered, hedges_removed "
    "(neutral). Default: all.",
)


@click.group(
    no_args_is_help=True,
    epilog=options.example(
        "judgeboard control-answers make",
        "judgeboard control-answers judge --judge rag --model gpt-4o-mini",
        "judgeboard health --judge-version rag",
    ),
)
def control_answers_command() -> None:
    """Make and judge control answers: changed copies of logged answers, known to be worse or equally good.

    They show what a judge does not notice. They do not appear in queues, trends or agreement.
    """


@control_answers_command.command(
    epilog=options.example("judgeboard control-answers make --kinds truncated,hedges_removed --n 100")
)
@_kinds
@click.option("--n", type=click.IntRange(1), default=50, show_default=True, help="Number of control answers per kind.")
@click.option(
    "--seed", type=int, default=0, show_default=True, help="Seed of the selection. Another seed selects other answers."
)
@options.where
@json_option
@options.database
def make(kinds: str | None, n: int, seed: int, where: tuple[str, ...], as_json: bool, db: str | None) -> None:
    """Make control answers from logged answers. Running it twice adds nothing."""
    from judgeboard.cli.options import actor
    from judgeboard.methods.control_answers import make_control_answers
    from judgeboard.store.engine import open_store
    from judgeboard.store.filters import parse_where

    with closing(open_store(db)) as store:
        made = make_control_answers(
            store, kinds=options.listed(kinds or ""), n=n, seed=seed, where=parse_where(where), actor=actor()
        )
    if as_json:
        show_json({"made": sum(each.made for each in made), "kinds": made})
        return
    for each in made:
        fewer = "" if each.made + each.known >= n else f"; only {each.made + each.known:,} suitable answers"
        known = f", {each.known:,} stored before" if each.known else ""
        click.echo(f"{each.kind}: {each.made:,} made{known}{fewer}")
    click.echo("To judge them: judgeboard control-answers judge --judge KIND")


@control_answers_command.command(
    epilog=options.example("judgeboard control-answers judge --judge rag --model gpt-4o-mini")
)
@_kinds
@click.option("--judge", "kind", required=True, metavar="KIND", help="Kind of judge: rag, lexical, …")
@click.option("--name", help="Name of the judge (default: its kind). Each name has its own version numbers.")
@model_options
@click.option("--domain", help="Field of expertise for the judge's prompt, for example 'climbing knowledge'.")
@click.option("--claims", is_flag=True, help="Also ask for the claims of the answer, with quotes.")
@click.option("--logprobs", is_flag=True, help="Also store the expected score, computed from token log-probabilities.")
@few_shot_options
@json_option
@options.database
def judge(
    kinds: str | None,
    kind: str,
    examples_from_reviews: int | None,
    max_cost: float | None,
    as_json: bool,
    db: str | None,
    **chosen: Any,
) -> int:
    """Judge the control answers, and their originals if this judge has not judged them yet.

    Use the options of your `judgeboard judge` command to get the same judge version. To continue an interrupted run,
    repeat the command. For exit codes see `judgeboard judge`.
    """
    from judgeboard.cli.judge import summary_lines
    from judgeboard.methods.control_answers import judge_control_answers
    from judgeboard.runs.judging import make_judge
    from judgeboard.store.engine import open_store

    if examples_from_reviews:
        chosen |= reviewed_examples(db, kind, examples_from_reviews, chosen)
    asked_judge = make_judge(kind, **chosen)
    with closing(open_store(db)) as store, run_options(chosen["concurrency"], max_cost) as how:
        summary = judge_control_answers(store, asked_judge, kinds=options.listed(kinds or ""), **how)
    if as_json:
        show_json(summary)
    else:
        for line in summary_lines(summary):
            click.echo(line)
    return summary.exit_code
