"""``judgeboard health``: a judge's own faults, as far as what is stored shows them."""

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import click

from judgeboard.cli import options
from judgeboard.cli.asking import as_json as json_option

if TYPE_CHECKING:
    from judgeboard.judge_health import Check

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
def command(judge_version: str, families: Path | None, gate: bool, as_json: bool, db: str | None) -> int:
    """Check a judge for faults of its own; what was not measured names the command that would.

    Family, size, collapse of scores, controls, verbosity, position, confidence, self-consistency, users, unusable
    verdicts, cost. Nobody is asked anything. Exit code 0, with --gate 1 where any check warns; 2: a bad option.
    """
    from judgeboard.cli.terminal import seen
    from judgeboard.judge_health import State, health
    from judgeboard.reports.json_output import to_json
    from judgeboard.store.engine import open_store

    with closing(open_store(db)) as store:
        report = health(seen(store), judge_version, families=families)
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
    from judgeboard.judge_health import State

    name = check.name.replace("_", " ")
    if not check.applies:
        return [f"-  {name}: {check.sentence}"]
    lines = [f"{check.state.value.replace('_', ' ')}  {name}: {check.sentence}"]
    if check.state is not State.OK and check.command:
        lines.append(f"    {check.command}")
    return lines
