"""The command `compare ssr`: a judge compares pairs, and may see its own answer."""

import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

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
    skips_questions,
)
from judgeboard.errors import BadInput

if TYPE_CHECKING:
    from judgeboard.judges.judge import JudgeKeywords
    from judgeboard.judges.pairwise import SelfReferenceJudge
    from judgeboard.methods.self_reference.report import SelfReferenceReport
    from judgeboard.methods.self_reference.run import RunEstimate
    from judgeboard.store.engine import Store


def report_lines(report: "SelfReferenceReport", *, sweep: bool = False) -> Iterator[str]:
    """Yield a report in lines for a terminal. ``sweep`` adds a table of all other thresholds."""
    from judgeboard.formats.output import text_lines
    from judgeboard.methods.self_reference import report as reports

    where = "" if report.account.run_id is None else f", run {report.account.run_id}"
    yield from account_lines(f"{report.judge}{where}", report.account)
    tuned = None if report.tuned is None else reports.tuned_note(report.tuned)
    notes = *reports.findings(report), reports.samples_note(report.samples), tuned, *report.caveats
    yield from (each.text for each in notes if each is not None)
    tables = [reports.conditions_table(report), reports.slices_table(report), reports.levels_table(report)]
    if sweep:
        tables.append(reports.gates_table(report))
    if report.tuned is not None:
        tables.append(reports.tuned_table(report.tuned, report.k))
    for table in tables:
        yield from ("", *text_lines(table))


@options.command(
    "judgeboard compare ssr --pairs pairs.jsonl --model gpt-4o-mini",
    "judgeboard compare ssr --pairs pairs.jsonl --model gpt-4o-mini --conditions C --tau 0.8",
    "judgeboard compare ssr --recorded --judge-version ssr --sweep --by category",
)
@click.option("--pairs", "file", type=options.FILE, help="Import this file of pairs and judge them.")
@click.option(
    "--recorded",
    is_flag=True,
    help="Make no model calls; use the stored samples (the judge's own answers to the questions).",
)
@options.judge_version(help="With --recorded: the judge version.")
@click.option("--source", help="Source of the pairs, if the file has none. With --recorded: measure this source only.")
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
@click.option(
    "--sweep", is_flag=True, help="Also show the results for all other values of --tau, without further calls."
)
@click.option("--by", type=click.Choice(["category"]), help="Also find the best --tau for each category.")
@click.option("--limit", type=click.IntRange(1), help="Maximum number of pairs of the file.")
@click.option(
    "--rejudge", type=click.Choice(["failed"]), help="Repeat failed samples and comparisons without a usable verdict."
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
    sweep: bool,
    by: str | None,
    limit: int | None,
    rejudge: str | None,
    max_cost: float | None,
    **chosen: "Unpack[JudgeKeywords]",
) -> int:
    """Compare pairs with selective self-reference (SSR-Judge).

    The judge answers each question k times; these answers are the samples. If enough samples agree, the judge sees its
    own answer when it compares the pair. That answer is shown as the correct one. The number of calls and their maximum
    cost are shown first. To continue an interrupted run, repeat the command. For exit codes see `judgeboard judge`.
    """
    from judgeboard.methods.self_reference.report import checked_conditions, measure_self_reference
    from judgeboard.methods.self_reference.run import estimate_run, self_refer
    from judgeboard.runs.pairwise import pairs_in_file

    if recorded == (file is not None):
        why = "give --pairs FILE to ask a judge, or --recorded to measure stored samples"
        command = options.same_command(*([] if recorded else ["--recorded"]), without=["--pairs"])
        raise BadInput(f"{why}, for example: `{command}`")
    if file is None:
        nobody_asked(context, "limit", "yes")
    elif judge_version is not None:
        why = "--judge-version needs --recorded. To ask a judge, give --model"
        command = options.same_command("--recorded", without=["--model"])
        raise BadInput(f"{why}, for example: `{command}`")
    else:
        check_pairs(file, source)
    store = options.open_store(create=not recorded)
    compared = checked_conditions([name.upper() for name in options.listed(conditions)])
    by_category = by is not None
    if file is None:
        report = measure_self_reference(
            options.seen(store),
            _sampled_version(store, judge_version),
            k=k,
            tau=tau,
            conditions=compared,
            tau_by_category=by_category,
            source=source,
        )
    else:
        judge = _asked_judge(store, k, max_cost, chosen)
        pair_ids = pairs_in_file(store, file, source=source, actor=options.actor()).pair_ids[:limit]
        again = rejudge is not None
        if not _confirmed(estimate_run(store, judge, pair_ids, tau=tau, conditions=compared, again=again)):
            click.echo("canceled: no calls were made", err=True)
            return 0
        with run_options(chosen["concurrency"], max_cost) as how:
            how["on_estimate"] = None  # the sentence above has it
            report = self_refer(
                store, judge, pair_ids, tau=tau, conditions=compared, tau_by_category=by_category, again=again, **how
            )
    options.show(report, report_lines(report, sweep=sweep))
    options.suggest("serve")
    return report.account.exit_code


def _sampled_version(store: "Store", judge_version: str | None) -> int | None:
    from judgeboard.methods.self_reference.queries import sampling_versions
    from judgeboard.store.judge_versions import choose_version

    if judge_version is None:
        return None
    with store.reading() as connection:
        return choose_version(connection, judge_version, sampling_versions(connection), "sampled answers").id


def _asked_judge(
    store: "Store", k: int | None, max_cost: float | None, chosen: "JudgeKeywords"
) -> "SelfReferenceJudge":
    from judgeboard.methods.self_reference.run import make_self_reference_judge
    from judgeboard.runs.method import require_price

    make = partial(make_self_reference_judge, k=k)
    judge = make(**at_last_address(store, make, chosen))
    require_price(max_cost, priced=judge.priced, model=judge.version.model)
    return judge


def _confirmed(planned: "RunEstimate") -> bool:
    click.echo(planned.sentence, err=True)
    if not planned.calls_left or skips_questions() or not sys.stdin.isatty():
        return True
    return click.confirm("Start?", err=True)
