"""The commands `compare ssr`, which may show a judge its own answer, and `compare make-pairs`, which makes pairs."""

import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from judgeboard.cli import options
from judgeboard.cli.asking import (
    account_lines,
    at_last_address,
    check_pairs,
    model_options,
    nobody_asked,
    prompt_option,
    run_options,
)
from judgeboard.cli.groups import Command
from judgeboard.errors import BadInput
from judgeboard.text import counted

if TYPE_CHECKING:
    from judgeboard.methods.self_reference.report import SelfReferenceResult


def result_lines(result: "SelfReferenceResult") -> Iterator[str]:
    """Yield a result in lines for a terminal: calls, headline, caveats, and a table for each part."""
    [judge] = result.about.judges
    where = "" if result.account.run_id is None else f", run {result.account.run_id}"
    yield from account_lines(f"{judge}{where}", result.account)
    yield from result.lines(("n", "share", "without", "always", "selective"), FIGURES)
    for part in result.parts:
        if part.rows:
            yield ""
            yield from part.lines(())


FIGURES = (
    *("gate_on", "right_if_on", "gain_without", "gain_always"),
    *("sample_right", "sample_majority", "sample_best"),
)
"""The figures of all pairs."""
LISTED = 5
"""Questions without a pair that the command names."""


@options.command(
    "judgeboard compare ssr --pairs pairs.jsonl --model gpt-4o-mini",
    "judgeboard compare ssr --pairs pairs.jsonl --model gpt-4o-mini --conditions C --tau 0.8",
    "judgeboard compare ssr --recorded --judge-version ssr",
    rows="rows",
)
@click.option(
    "--pairs", "file", type=options.FILE, help="Import this file of pairs and judge them."
)
@click.option(
    "--recorded",
    is_flag=True,
    help="Make no model calls; use the stored samples (the judge's own answers to the questions).",
)
@options.judge_version(help="With --recorded: the judge version.")
@click.option(
    "--source",
    help="Source of the pairs, if the file has none. With --recorded: measure this source only.",
)
@click.option(
    "--k",
    type=click.IntRange(1),
    help="Samples per question, that is, how often the judge answers it (default: 5). If more are stored, only the "
    "first K are used.",
)
@options.with_default(
    "--tau",
    type=options.FiniteRange(0, 1, min_open=True),
    default=0.8,
    help="For condition C of --conditions: the judge sees its own answer if at least this share of samples agrees "
    "(above 0, at most 1).",
)
@click.option(
    "--temperature",
    type=options.FiniteRange(0, 2),
    help="Temperature of the samples (default: 0.7); comparisons use 0.",
)
@options.with_default(
    "--conditions",
    default="A,B,C",
    help="Conditions to compare. A: the judge never sees its own answer. B: the judge always sees it. C: the judge "
    "sees it if enough samples agree.",
)
@click.option("--limit", type=click.IntRange(1), help="Maximum number of pairs of the file.")
@click.option(
    "--rejudge",
    type=click.Choice(["failed"]),
    help="Repeat failed samples and comparisons without a usable verdict.",
)
@options.judge_name("Name of the judge (default: ssr).")
@model_options
@prompt_option
@click.pass_context
def ssr_command(
    context: click.Context,
    /,
    file: Path | None,
    recorded: bool,
    judge_version: str | None,
    source: str | None,
    k: int | None,
    tau: float,
    conditions: str,
    limit: int | None,
    rejudge: str | None,
    max_cost: float | None,
    **fields: object,
) -> int:
    """Compare pairs with selective self-reference (SSR-Judge).

    The judge answers each question k times; these answers are the samples. If enough samples agree,
    the judge sees its own answer when it compares the pair. That answer is shown as the correct
    one. The number of calls and their maximum cost are shown first. To continue an interrupted run,
    repeat the command. For exit codes see `judgeboard judge`.
    """
    from judgeboard.methods.self_reference.queries import sampling_versions
    from judgeboard.methods.self_reference.report import measure_self_reference
    from judgeboard.methods.self_reference.run import checked_conditions, self_refer
    from judgeboard.runs.pairwise import pairs_in_file
    from judgeboard.store.judge_versions import choose_version

    if recorded == (file is not None):
        why = "give --pairs FILE to ask a judge, or --recorded to measure stored samples"
        command = options.same_command(*([] if recorded else ["--recorded"]), without=["--pairs"])
        raise BadInput(f"{why}, for example: `{command}`")
    if file is None:
        nobody_asked(context, "limit", "conditions")
    elif judge_version is not None:
        why = "--judge-version needs --recorded. To ask a judge, give --model"
        command = options.same_command("--recorded", without=["--model"])
        raise BadInput(f"{why}, for example: `{command}`")
    else:
        check_pairs(file, source)
    store = options.open_store(create=not recorded)
    if file is None:
        seen = options.seen(store)
        sampled_version = None
        if judge_version is not None:
            with store.reading() as connection:
                versions = sampling_versions(connection)
                sampled_version = choose_version(
                    connection, judge_version, versions, "sampled answers"
                ).id
        result = measure_self_reference(seen, sampled_version, k=k, tau=tau, source=source)
    else:
        condition_names = checked_conditions([name.upper() for name in options.listed(conditions)])
        from judgeboard.methods.self_reference.run import make_self_reference_judge
        from judgeboard.runs.method import require_price

        make = partial(make_self_reference_judge, k)
        judge = make(**at_last_address(store, make, fields))
        require_price(max_cost, priced=judge.priced, model=judge.version.model)
        pair_ids = pairs_in_file(store, file, source=source, actor=options.actor()).pair_ids[:limit]
        again = rejudge is not None
        with run_options(fields, max_cost) as how:
            result = self_refer(
                store, judge, pair_ids, tau=tau, conditions=condition_names, again=again, **how
            )
    options.show(result, result_lines(result))
    options.suggest("serve")
    return result.account.exit_code


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
