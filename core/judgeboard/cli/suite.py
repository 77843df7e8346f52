"""The command `suite`: runs suites, lists runs, shows one."""

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
    """Run a suite of test cases and use the result as a gate for a build."""


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
    help="Candidate: model:NAME, python:module:function, or source:NAME for logged answers (default: the suite's own).",
)
@click.option("--candidate-base-url", help="Address of the candidate's model (default: the judge's).")
@click.option("--candidate-max-output", type=click.IntRange(1), help="Maximum tokens of an answer (default: 2,048).")
@click.option(
    "--baseline", metavar="RUN", help="Run to compare with; latest: the newest one of the same judge and candidate."
)
@click.option(
    "--max-drop", type=options.FiniteRange(0, 1), help="Maximum drop of the pass rate (default: 0.05; 0 to 1)."
)
@click.option("--junit", type=click.Path(path_type=Path), help="Also write the cases as a JUnit file.")
@click.option("--name", help="Name of the judge (default: the name of the rubric).")
@model_options
@as_json
@options.database
def run_command(
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
    """Let a candidate answer the cases of a suite file, and a judge (--model) score the answers.

    examples/suite.yaml shows all fields of a suite and a rubric. The same command continues an interrupted run; without
    one, it starts a new run. A comparison with a baseline needs at least 20 common cases. Exit codes: 0 pass; 1 the
    average is below the threshold, or worse than the baseline; 2 not measured, or stopped; 130 Ctrl-C.
    """
    from judgeboard.errors import BadInput
    from judgeboard.methods.suite_file import read_suite
    from judgeboard.methods.suite_results import require_writable
    from judgeboard.methods.suite_run import make_candidate, run_suite
    from judgeboard.runs.judging import make_judge
    from judgeboard.store.engine import open_store

    if junit is not None:
        require_writable(junit)  # before any call costs money
    suite = read_suite(file)
    if max_drop is not None:
        suite = replace(suite, max_drop=max_drop)
    candidate = candidate or suite.candidate
    if candidate is None:
        raise BadInput("no candidate: give --candidate model:NAME, python:module:function or source:NAME")
    address = {key: chosen[key] for key in ("provider", "concurrency", "timeout_s", "prices")}
    answering = make_candidate(
        candidate,
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
        click.echo("No suite runs yet. To run one: judgeboard suite run SUITE.yaml --candidate model:NAME")
    for run in runs:
        average = run.average_score.value
        click.echo(
            f"run {run.run}  {run.at:%Y-%m-%d %H:%M}  {run.suite}  {run.candidate}  "
            f"{'' if average is None else 'average '}{score_words(average)}, "
            f"{run.measured:,} of {run.total_cases:,} cases scored ({run.state.value})"
        )
    return 0


@suite_command.command("show")
@click.argument("run_id", type=options.ROW_ID, metavar="RUN")
@click.option(
    "--baseline", metavar="RUN", help="Run to compare with; latest: the one before it, of the same judge and candidate."
)
@click.option("--junit", type=click.Path(path_type=Path), help="Also write the cases as a JUnit file.")
@as_json
@options.database
def show(run_id: int, baseline: str | None, junit: Path | None, as_json: bool, db: str | None) -> int:
    """Show the result of a suite run. The exit codes are those of `suite run`."""
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
    """Return a suite run in lines for a terminal."""
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
        baseline = result.baseline
        change = baseline.mean_change.value
        lines.append(
            "baseline: no case was measured in both runs"
            if change is None
            else f"baseline run {baseline.run}, {baseline.n:,} cases: average {two_decimals(change, sign=True)}, "
            f"{baseline.worse:,} worse, {baseline.better:,} better, p = {baseline.p:.3g}"
        )
    reasons = f": {'; '.join(result.gate.reasons)}" if result.gate.reasons else ""
    return [*lines, *result.notes, f"gate: {result.gate.state.replace('_', ' ')}{reasons}"]


def _checks(case: "CaseResult") -> str:
    failed = [f"{check.kind}: {check.message}" for check in case.checks if not check.passed]
    return f" ({_short('; '.join(failed))})" if failed else ""


def _short(text: str | None) -> str:
    words = " ".join((text or "").split())
    return words if len(words) <= 100 else f"{words[:99]}…"
