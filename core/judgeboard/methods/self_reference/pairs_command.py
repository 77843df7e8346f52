"""The command `compare make-pairs`: pairs from multiple-choice questions."""

import sys
from collections import Counter
from pathlib import Path

import click

from judgeboard.cli import options
from judgeboard.cli.asking import (
    address_options,
    chosen_generator,
    generator_settings,
    limit_options,
    refuse_given,
    run_options,
)
from judgeboard.cli.groups import Command
from judgeboard.text import counted

LISTED = 5
"""Questions without a pair that the command names."""


@click.command(
    cls=Command,
    epilog=options.example(
        "judgeboard compare make-pairs --questions q.jsonl -o p.jsonl",
        "judgeboard compare make-pairs --questions q.jsonl --generator gpt-4o-mini -o p.jsonl",
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
@click.option(
    "--generator",
    metavar="MODEL",
    help="Chat model that writes the two answers. Each answer gives reasons, and concludes with its option. Without "
    "--generator, the options themselves are the answers.",
)
@generator_settings
@address_options
@limit_options
def make_pairs_command(
    questions: str,
    seed: int,
    output: Path | None,
    max_cost: float | None,
    **chosen: object,
) -> int:
    """Make pairs from multiple-choice questions. A pair has the correct option and a random wrong one.

    With --generator, two calls per question write answers that argue for these options. The columns
    concludes_a and concludes_b have the option with which each answer concludes. A pair is left out
    if one of these conclusions cannot be read, or if not exactly one of the two is right. The
    number of calls and their maximum cost are shown first. In a file for --generator-replies, the
    response_id of a line is the id of the question and the letter of the option, for example 70/A.
    If no pair is made, no file is written, and the exit code is 1. For other exit codes see
    `judgeboard judge`.
    """
    from judgeboard.formats.files import write_whole
    from judgeboard.methods.self_reference.own_answers import pair_line, pairs_of_questions

    if chosen["generator"] is None:
        for_a_model = chosen.keys() - {"generator"} | {"max_cost", "yes"}
        refuse_given(
            click.get_current_context(),
            "make-pairs calls a model only with --generator",
            for_a_model,
        )
    rows, unmade = pairs_of_questions(questions, seed=seed)
    exit_code, left_out = 0, Counter[str]()
    if chosen["generator"] is not None:
        from judgeboard.methods.self_reference.written_answers import write_answers

        # Let the generator answer, and print its calls.
        generator = chosen_generator(chosen, chosen)
        with run_options(chosen, max_cost) as how:
            written = write_answers(rows, generator, **how)
        account = written.account
        cost = (
            f"cost {account.cost_words}"
            if generator.endpoint.host is not None
            else "all from recorded answers"
        )
        click.echo(f"{counted(account.asked, 'call')}, {cost}", err=True)
        if account.why_stopped is not None:
            not_made = f"{counted(account.not_reached, 'call')} not made"
            click.echo(
                f"stopped: {account.why_stopped}; {not_made}. The same command makes all calls again.",
                err=True,
            )
        rows, left_out, exit_code = written.rows, written.left_out, written.account.exit_code
    nothing = ""
    if output is None:
        sys.stdout.writelines(map(pair_line, rows))
    elif rows:
        write_whole(output, lambda file: file.writelines(pair_line(row).encode() for row in rows))
    else:
        nothing = f"; {output} was not written"
    questions_left_out = counted(len(unmade) + left_out.total(), "question")
    click.echo(
        f"{counted(len(rows), 'pair')} made, {questions_left_out} left out{nothing}", err=True
    )
    for line, reason in unmade[:LISTED]:
        click.echo(f"  line {line}: {reason}", err=True)
    for reason, times in left_out.most_common():
        click.echo(f"  {counted(times, 'question')}: {reason}", err=True)
    return exit_code or (0 if rows else 1)
