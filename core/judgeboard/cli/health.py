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


SOUND, WARNED = 0, 1


@click.command(
    epilog=options.example("judgeboard health --judge-version rag", "judgeboard health --judge-version 'rag v3' --json")
)
@click.option(
    "--judge-version",
    required=True,
    metavar="NAME|FINGERPRINT",
    help="The judge: its name (the newest version), 'name v3' or a fingerprint.",
)
@click.option(
    "--families",
    type=click.Path(path_type=Path),
    help="A table of models of your own (TOML): families, sizes, ladders. Default: JUDGEBOARD_FAMILIES.",
)
@click.option("--gate", is_flag=True, help="Exit code 1 where any check warns.")
@json_option
@options.database
def health_command(judge_version: str, families: Path | None, gate: bool, as_json: bool, db: str | None) -> int:
    """Check a judge for faults of its own; what was not measured names the command that would.

    Family, size, collapse of scores, controls, verbosity, position, confidence, self-consistency, users, unusable
    verdicts, cost. Nobody is asked anything. Exit code 0, with --gate 1 where any check warns; 2: a bad option.
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
    return WARNED if gate and report.warnings else SOUND


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
    """Answers made from logged ones: surely worse, or just as good. They show what a judge does not notice.

    They stay out of the queue, of trends and of agreement.
    """


@control_answers_command.command(
    epilog=options.example("judgeboard control-answers make --kinds truncated,hedges_removed --n 100")
)
@_kinds
@click.option("--n", type=click.IntRange(1), default=50, show_default=True, help="Control answers of each kind.")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the choice. Another seed makes more.")
@options.where
@json_option
@options.database
def make(kinds: str | None, n: int, seed: int, where: tuple[str, ...], as_json: bool, db: str | None) -> None:
    """Make control answers from logged ones. The same command again adds nothing."""
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
        fewer = "" if each.made + each.known >= n else f"; it applies to no more than {each.made + each.known:,}"
        known = f", {each.known:,} there already" if each.known else ""
        click.echo(f"{each.kind}: {each.made:,} made{known}{fewer}")
    click.echo("Ask a judge about them: judgeboard control-answers judge --judge KIND")


@control_answers_command.command(
    epilog=options.example("judgeboard control-answers judge --judge rag --model gpt-4o-mini")
)
@_kinds
@click.option("--judge", "kind", required=True, metavar="KIND", help="As of judgeboard judge: rag, lexical, …")
@click.option("--name", help="What people call this judge; its kind by default. Versions count within a name.")
@model_options
@click.option("--domain", help="What the judge is an expert of, for its prompt: 'climbing knowledge'.")
@click.option("--claims", is_flag=True, help="Also ask for each claim of the answer with its quotes.")
@click.option("--logprobs", is_flag=True, help="Also keep the expected score, by the probabilities of its digit.")
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
    """Ask a judge about the control answers, and about their originals where it has not judged them.

    Name the judge as for `judgeboard judge`, with the same options: then it is the same judge version. The same
    command again goes on where an earlier one ended. Exit codes as `judgeboard judge`.
    """
    from judgeboard.cli.judge import summary_lines
    from judgeboard.methods.control_answers import judge_control_answers
    from judgeboard.runs.judging import make_judge
    from judgeboard.store.engine import open_store

    if examples_from_reviews:
        chosen |= reviewed_examples(db, kind, examples_from_reviews, chosen)
    asked = make_judge(kind, **chosen)
    with closing(open_store(db)) as store, run_options(chosen["concurrency"], max_cost) as how:
        summary = judge_control_answers(store, asked, kinds=options.listed(kinds or ""), **how)
    if as_json:
        show_json(summary)
    else:
        for line in summary_lines(summary):
            click.echo(line)
    return summary.exit_code
