"""The command `compare make-pairs`: pairs from multiple-choice questions."""

import sys
from pathlib import Path

import click

from judgeboard.cli import options
from judgeboard.cli.groups import Command
from judgeboard.text import counted

LISTED = 5
"""Questions without a pair that the command names."""


@click.command(
    cls=Command,
    epilog=options.example(
        "judgeboard compare make-pairs --questions q.jsonl -o p.jsonl",
    ),
)
@click.option(
    "--questions",
    required=True,
    metavar="FILE",
    help="File with the columns id, question, options, reference and category, or the rows of MMLU-Pro.",
)
@options.with_default("--seed", type=int, default=0, help="The same seed makes the same pairs.")
@click.option("-o", "--output", type=options.FILE, help="Output file (default: standard output).")
def make_pairs_command(questions: str, seed: int, output: Path | None) -> None:
    """Make pairs from multiple-choice questions. A pair has the correct option and a random wrong one."""
    from judgeboard.formats.files import write_whole
    from judgeboard.methods.self_reference.own_answers import pair_line, pairs_of_questions

    rows, unmade = pairs_of_questions(questions, seed=seed)
    if output is None:
        sys.stdout.writelines(map(pair_line, rows))
    else:
        write_whole(output, lambda file: file.writelines(pair_line(row).encode() for row in rows))
    summary = f"{counted(len(rows), 'pair')} made, {counted(len(unmade), 'question')} left out"
    click.echo(summary, err=True)
    for line, reason in unmade[:LISTED]:
        click.echo(f"  line {line}: {reason}", err=True)
