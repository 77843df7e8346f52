"""``judgeboard ssr``: judge pairs with and without the judge's own answer, and measure when that helps."""

import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from judgeboard.cli import options
from judgeboard.cli.asking import as_json as json_option
from judgeboard.cli.asking import check_pairs, model_options, nobody_asked, run_options, show_json
from judgeboard.cli.options import cost_text
from judgeboard.errors import BadInput
from judgeboard.stats.estimates import percent_words

if TYPE_CHECKING:
    from judgeboard.methods.self_reference_report import SelfReferenceReport
    from judgeboard.methods.self_reference_scores import Tuned
    from judgeboard.store.engine import Store


_NAMES = {"A": "A no reference", "B": "B always", "C": "C selective"}


def report_lines(report: "SelfReferenceReport", *, sweep: bool = False) -> list[str]:
    """Return the lines; ``sweep`` adds every threshold that k samples tell apart."""
    return [*_account(report), *_figures(report), *(_swept(report) if sweep else ()), *_rest(report)]


def _account(report: "SelfReferenceReport") -> Iterator[str]:
    account = report.account
    where = "" if account.run_id is None else f", run {account.run_id}"
    line = f"{report.judge}{where}: {account.words()}"
    line += f"; {account.not_reached:,} not reached" if account.not_reached else ""
    yield line + (f"; cost {cost_text(account.cost_micro)}" if account.run_id else "")
    if account.why_stopped:
        yield f"stopped: {account.why_stopped}"
    if account.not_reached:
        yield "The same command goes on where this one ended."


def _figures(report: "SelfReferenceReport") -> Iterator[str]:
    yield (
        f"{report.items:,} items of {report.k} samples; gate on from {report.needed} of {report.k}: "
        f"{percent_words(report.gate.on_rate)} of the items, its answer right on {percent_words(report.gate.precision)}"
    )
    for name, scores in report.conditions.items():
        said = percent_words(scores.accuracy)
        if scores.accuracy.value is not None:
            said += f"; gate on {percent_words(scores.on)}, off {percent_words(scores.off)}"
            said += f"; {scores.splits:,} split, {scores.unmeasured:,} unmeasured"
        yield f"{_NAMES[name]}: {said}"
    for each in report.slices:
        verdicts = {"A": each.without, "B": each.always}
        known = [f", {name} {percent_words(one)}" for name, one in verdicts.items() if one.value is not None]
        yield (
            f"gate {'on' if each.gate_on else 'off'}, own answer {'right' if each.majority_right else 'wrong'}: "
            f"{each.n:,} items{''.join(known)}"
        )
    for level in report.calibration:
        right = f", right on {percent_words(level.share)}" if level.n else ""
        yield f"{level.agree} of {report.k} agree: {level.n:,} items{right}"


def _swept(report: "SelfReferenceReport") -> Iterator[str]:
    for point in report.sweep:
        yield (
            f"gate from {point.agree} of {report.k}: on for {percent_words(point.gate.on_rate)}, "
            f"precision {percent_words(point.gate.precision)}, C {percent_words(point.scores.accuracy)}"
        )


def _rest(report: "SelfReferenceReport") -> Iterator[str]:
    if report.tuned is not None:
        yield from _tuned(report.tuned, report.k)
    yield from report.notes


def _tuned(tuned: "Tuned", k: int) -> Iterator[str]:
    label = "optimistic" if tuned.optimistic else "cross-validated"
    yield f"C with a threshold for each category ({label}): {percent_words(tuned.accuracy)}"
    for each in tuned.categories:
        gate = f"from {each.agree} of {k}" if each.agree <= k else "never"
        optimistic = ", optimistic" if each.optimistic else ""
        yield f"  {each.category}: gate {gate}, {percent_words(each.accuracy)} on {each.n:,} items{optimistic}"


@click.group(
    invoke_without_command=True,
    epilog=options.example(
        "judgeboard ssr make-pairs --questions mmlu.jsonl -o pairs.jsonl",
        "judgeboard ssr --pairs pairs.jsonl --model gpt-4o-mini",
        "judgeboard ssr --pairs pairs.jsonl --model gpt-4o-mini --conditions C --tau 0.8",
        "judgeboard ssr --recorded --judge-version ssr --sweep --tau-by category",
    ),
)
@click.option("--pairs", type=click.Path(path_type=Path), help="Import this file of pairs and ask about them.")
@click.option("--recorded", is_flag=True, help="Measure what is stored; ask nobody.")
@click.option("--judge-version", metavar="NAME|FINGERPRINT", help="With --recorded: who sampled and judged.")
@click.option("--source", help="Of the pairs: of a file without its own; with --recorded, only these.")
@click.option("--k", type=click.IntRange(1), help="Samples of each question that count, the first ones (5).")
@click.option(
    "--tau",
    type=options.FiniteRange(0, 1, min_open=True),
    default=0.8,
    show_default=True,
    help="The judge is shown its own answer where at least this share of the samples agree.",
)
@click.option("--temperature", type=options.FiniteRange(0, 2), help="Of the samples (0.7); verdicts are asked at 0.")
@click.option("--conditions", default="A,B,C", show_default=True, help="A no reference, B always, C selective.")
@click.option("--sweep", is_flag=True, help="Also show every other threshold; no further calls.")
@click.option("--tau-by", type=click.Choice(["category"]), help="Also tune the threshold of each category.")
@click.option("--limit", type=click.IntRange(1), help="Ask about this many pairs of the file at most.")
@click.option(
    "--rejudge", type=click.Choice(["failed"]), help="Ask again for failed samples, and orders without a verdict."
)
@click.option("--name", help="What people call the judge ('ssr').")
@click.option("--yes", is_flag=True, help="Do not ask before the calls are made.")
@model_options
@json_option
@options.database
@click.pass_context
def ssr_command(context: click.Context, /, recorded: bool, as_json: bool, db: str | None, **chosen: Any) -> int | None:
    """Judge pairs with selective self-reference (SSR-Judge).

    The judge solves each question k times. Where its answers agree, it is shown its own answer as the correct one.
    Calls and cost are said before the first call. The same command again goes on where an earlier one ended. Exit
    codes as `judgeboard judge`.
    """
    from judgeboard.store.engine import open_store

    if context.invoked_subcommand is not None:
        return None
    if recorded == (chosen["pairs"] is not None):
        raise BadInput("give --pairs FILE to ask a judge, or --recorded to measure what is stored")
    if recorded:
        nobody_asked(context, "temperature", "limit", "yes")
    elif chosen["judge_version"] is not None:
        raise BadInput("--judge-version is a stored judge, for --recorded: name the model to ask with --model")
    else:
        check_pairs(chosen["pairs"], chosen["source"])
    with closing(open_store(db)) as store:
        report = _recorded(store, chosen) if recorded else _asked(store, chosen)
    if report is None:
        click.echo("nothing was asked", err=True)
        return 0
    _show(report, as_json=as_json, sweep=chosen["sweep"])
    return report.account.exit_code


@ssr_command.command("make-pairs", epilog=options.example("judgeboard ssr make-pairs --questions q.jsonl -o p.jsonl"))
@click.option("--questions", required=True, metavar="FILE", help="Rows of id, question, options, reference, category.")
@click.option("--seed", type=int, default=0, show_default=True, help="Equal seeds make equal pairs.")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Where to; standard output by default.")
def make_pairs_command(questions: str, seed: int, output: Path | None) -> None:
    """Make pairs from questions with options: the right one against a wrong one drawn at random."""
    from judgeboard.methods.own_answers import make_pairs

    if output is None:
        made = make_pairs(questions, sys.stdout.write, seed=seed)
    else:
        try:
            with output.open("w", encoding="utf-8") as lines:
                made = make_pairs(questions, lines.write, seed=seed)
        except OSError as error:
            raise BadInput(f"{output} cannot be written: {error.strerror or error}") from error
    click.echo(f"{made.made:,} pairs made, {made.left_out:,} questions left out", err=True)
    for line, reason in made.first_left_out:
        click.echo(f"  line {line}: {reason}", err=True)


def _conditions(chosen: dict[str, Any]) -> list[str]:
    return [name.upper() for name in options.listed(chosen["conditions"])]


def _recorded(store: "Store", chosen: dict[str, Any]) -> "SelfReferenceReport":
    from judgeboard.cli.options import seen
    from judgeboard.methods.self_reference_report import measure_self_reference
    from judgeboard.store.judge_versions import choose_version
    from judgeboard.store.samples import sampling_versions

    version = chosen["judge_version"]
    if version is not None:
        with store.reading() as connection:
            version = choose_version(connection, version, sampling_versions(connection), "sampled answers").id
    return measure_self_reference(
        seen(store),
        version,
        k=chosen["k"],
        tau=chosen["tau"],
        conditions=_conditions(chosen),
        tau_by_category=chosen["tau_by"] is not None,
        source=chosen["source"],
    )


def _asked(store: "Store", chosen: dict[str, Any]) -> "SelfReferenceReport | None":
    from judgeboard.cli.options import actor
    from judgeboard.methods.pairwise import pairs_in_file
    from judgeboard.methods.self_reference import estimate_run, make_self_reference_judge, self_refer
    from judgeboard.methods.self_reference_report import checked_conditions
    from judgeboard.runs.method import require_price

    conditions = checked_conditions(_conditions(chosen))
    judge = make_self_reference_judge(**chosen)
    require_price(chosen["max_cost"], priced=judge.priced, model=judge.version.model)
    pair_ids = pairs_in_file(store, chosen["pairs"], source=chosen["source"], actor=actor()).pair_ids[: chosen["limit"]]
    again = chosen["rejudge"] is not None
    planned = estimate_run(store, judge, pair_ids, tau=chosen["tau"], conditions=conditions, again=again)
    click.echo(planned.sentence, err=True)
    if planned.calls_left and not chosen["yes"] and sys.stdin.isatty() and not click.confirm("Ask?", err=True):
        return None
    with run_options(chosen["concurrency"], chosen["max_cost"]) as how:
        return self_refer(
            store,
            judge,
            pair_ids,
            tau=chosen["tau"],
            conditions=conditions,
            tau_by_category=chosen["tau_by"] is not None,
            again=again,
            **how,
        )


def _show(report: "SelfReferenceReport", *, as_json: bool, sweep: bool) -> None:

    if as_json:
        show_json(report)
        return
    for line in report_lines(report, sweep=sweep):
        click.echo(line)
