"""``judgeboard suite``: run evaluation suites, list their runs, show one."""

from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from judgeboard.cli import options
from judgeboard.cli.asking import as_json, model_options, run_options, show_json

if TYPE_CHECKING:
    from judgeboard.methods.suite_results import CaseResult, SuiteResult


MOST_FAILURES = 10


@click.group(
    epilog=options.example(
        "judgeboard suite run suite.yaml --candidate model:gpt-4o-mini --model gpt-4o",
        "judgeboard suite run suite.yaml --candidate python:my_app:answer --model gpt-4o --baseline latest",
        "judgeboard suite list",
    )
)
def suite_command() -> None:
    """Judge a candidate's answers to a suite of cases by a rubric, and gate a build on it."""


@suite_command.command(
    "run",
    epilog=options.example(
        "judgeboard suite run examples/suite.yaml --candidate model:gpt-4o-mini --model gpt-4o",
        "judgeboard suite run suite.yaml --candidate source:shop --model gpt-4o --baseline latest --junit suite.xml",
    ),
)
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--candidate",
    metavar="WHO",
    help="Who answers: model:NAME, python:module:function, or source:NAME (answers in the log). "
    "Default: the suite's own.",
)
@click.option("--candidate-base-url", help="Where the candidate's model is; the judge's address by default.")
@click.option("--candidate-max-output", type=click.IntRange(1), help="Tokens an answer may have (2,048).")
@click.option(
    "--baseline", metavar="RUN", help="Compare with this run; latest: the newest of the same judge and candidate."
)
@click.option("--max-drop", type=options.FiniteRange(0, 1), help="How far the pass rate may fall (0.05).")
@click.option("--junit", type=click.Path(path_type=Path), help="Also write the cases as a JUnit file.")
@click.option("--name", help="What people call the judge; the rubric's name by default.")
@model_options
@as_json
@options.database
def run(
    file: Path,
    candidate: str | None,
    candidate_base_url: str | None,
    candidate_max_output: int | None,
    baseline: str | None,
    max_drop: float | None,
    junit: Path | None,
    name: str | None,
    max_cost: float | None,
    as_json: bool,
    db: str | None,
    **chosen: Any,
) -> int:
    """Have a candidate answer the cases of a suite file and a judge (--model) score the answers.

    examples/suite.yaml shows every field of a suite and of a rubric. The same command goes on where an interrupted
    one ended; a finished one runs anew. A baseline is measured on 20 cases or more that both runs have. Exit code 0:
    pass; 1: the average is below the threshold, or worse than the baseline; 2: it could not be measured, or was
    stopped; 130: Ctrl-C.
    """
    from judgeboard.errors import BadInput
    from judgeboard.methods.suite_file import read_suite
    from judgeboard.methods.suite_results import require_writable
    from judgeboard.methods.suite_run import make_candidate, run_suite
    from judgeboard.runs.judging import make_judge
    from judgeboard.store.engine import open_store

    if junit is not None:
        require_writable(junit)  # before any call is paid
    suite = read_suite(file)
    if max_drop is not None:
        suite = replace(suite, max_drop=max_drop)
    who = candidate or suite.candidate
    if who is None:
        raise BadInput("nobody answers: give --candidate model:NAME, python:module:function or source:NAME")
    address = {key: chosen[key] for key in ("provider", "concurrency", "timeout_s", "prices")}
    answering = make_candidate(
        who,
        **address | {"base_url": candidate_base_url or chosen["base_url"]},
        **({} if candidate_max_output is None else {"max_output": candidate_max_output}),
    )
    judge = make_judge("rubric", name=name, rubric=suite.rubric, **chosen)
    # A suite needs no log: in a build server's fresh checkout there is no database yet.
    with closing(open_store(db, create=True)) as store, run_options(chosen["concurrency"], max_cost) as how:
        result = run_suite(store, suite, answering, judge=judge, baseline=baseline, **how)
    return _show(result, junit, as_json=as_json)


@suite_command.command("list")
@click.option("--name", help="Only runs of this suite.")
@as_json
@options.database
def list_(name: str | None, as_json: bool, db: str | None) -> int:
    """List the runs of suites, newest first."""
    from judgeboard.cli.options import seen
    from judgeboard.methods.suite_results import list_results, score_words
    from judgeboard.store.engine import open_store

    with closing(open_store(db)) as store:
        runs = list_results(seen(store), name)
    if as_json:
        show_json({"runs": runs})
        return 0
    if not runs:
        click.echo("No suite has been run: judgeboard suite run SUITE.yaml --candidate model:NAME")
    for one in runs:
        average = one.average_score.value
        click.echo(
            f"run {one.run}  {one.at:%Y-%m-%d %H:%M}  {one.suite}  {one.candidate}  "
            f"{'' if average is None else 'average '}{score_words(average)}, "
            f"{one.measured:,} of {one.total_cases:,} cases scored ({one.state.value})"
        )
    return 0


@suite_command.command("show")
@click.argument("run_id", type=options.ROW_ID, metavar="RUN")
@click.option(
    "--baseline", metavar="RUN", help="Compare with this run; latest: the one before it, same judge and candidate."
)
@click.option("--junit", type=click.Path(path_type=Path), help="Also write the cases as a JUnit file.")
@as_json
@options.database
def show(run_id: int, baseline: str | None, junit: Path | None, as_json: bool, db: str | None) -> int:
    """Show what a run of a suite has come to; exit codes as ``suite run``."""
    from judgeboard.cli.options import seen
    from judgeboard.methods.suite_results import suite_result
    from judgeboard.store.engine import open_store

    with closing(open_store(db)) as store:
        result = suite_result(seen(store), run_id, baseline=baseline)
    return _show(result, junit, as_json=as_json)


def _show(result: "SuiteResult", junit: Path | None, *, as_json: bool) -> int:
    from judgeboard.methods.suite_results import write_junit

    if junit is not None:
        write_junit(result, junit)
    if as_json:
        show_json(result)
    else:
        for line in summary_lines(result):
            click.echo(line)
    return result.exit_code


def summary_lines(result: "SuiteResult") -> list[str]:
    """Return what a suite run came to, in lines for a terminal."""
    from judgeboard.cli.options import cost_text
    from judgeboard.methods.suite_results import score_words
    from judgeboard.stats.estimates import percent, two_decimals

    average, rate = result.average_score.value, result.pass_rate.value
    counts = f"{result.total_cases:,} cases = {result.measured:,} measured + {result.unmeasured:,} without a score"
    lines = [
        f"{result.suite}, run {result.run}: {result.candidate}, judged by {result.judge}",
        f"{counts}; cost {cost_text(result.account.cost_micro)}",
    ]
    if average is not None and rate is not None:
        lines.append(
            f"average {two_decimals(average)} (threshold {result.threshold:g}), "
            f"{result.passing:,} of {result.measured:,} pass ({percent(rate)})"
        )
    lines += [
        f"  {name}: {'not scored' if mean.value is None else two_decimals(mean.value)}"
        for name, mean in result.dimensions.items()
    ]
    failures, unscored = result.failures, result.without_score
    lines += [
        f"failed, {score_words(case.score)}: {case.case}: {_short(case.query)}{_checks(case)}"
        for case in failures[:MOST_FAILURES]
    ]
    lines += [f"no score: {case.case}: {_short(case.reason)}" for case in unscored[:MOST_FAILURES]]
    hidden = len(failures[MOST_FAILURES:]) + len(unscored[MOST_FAILURES:])
    if hidden:
        lines.append(f"and {hidden:,} more: --json lists all")
    if result.baseline is not None:
        change, against = result.baseline.mean_change.value, result.baseline
        lines.append(
            "baseline: no case was measured in both runs"
            if change is None
            else f"against run {against.run}, {against.n:,} cases: average {two_decimals(change, sign=True)}, "
            f"{against.worse:,} worse, {against.better:,} better, p = {against.p:.3g}"
        )
    reasons = f": {'; '.join(result.gate.reasons)}" if result.gate.reasons else ""
    return [*lines, *result.notes, f"gate: {result.gate.state.replace('_', ' ')}{reasons}"]


def _checks(case: "CaseResult") -> str:
    failed = [f"{check.kind}: {check.message}" for check in case.checks if not check.passed]
    return f" ({_short('; '.join(failed))})" if failed else ""


def _short(text: str | None) -> str:
    words = " ".join((text or "").split())
    return words if len(words) <= 100 else f"{words[:99]}…"
