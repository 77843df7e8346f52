"""The commands of `judgeboard suite`, which run suites and show the results."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from judgeboard.cli import options
from judgeboard.cli.asked_judge import use_named_judge
from judgeboard.cli.asking import (
    account_lines,
    asking_options,
    at_last_address,
    model_options,
    run_options,
    warned,
)
from judgeboard.errors import BadInput, MissingOption, NotFound
from judgeboard.text import shortened

if TYPE_CHECKING:
    from judgeboard.methods.suites.results import SuiteResult


MOST_CASES = 20


@options.group(
    "judgeboard suite run suite.yaml --candidate model:gpt-4o-mini --model gpt-4o",
    "judgeboard suite run suite.yaml --candidate python:my_app:answer --model gpt-4o --baseline latest",
    "judgeboard suite list",
)
def suite_command() -> None:
    """Run suites of test cases, for example to gate a build."""


@options.command(
    "judgeboard suite run examples/suite.yaml --candidate model:gpt-4o-mini --model gpt-4o",
    "judgeboard suite run suite.yaml --candidate source:shop --model gpt-4o --baseline latest",
    group=suite_command,
)
@options.named_section("suites", "suite", metavar="FILE|NAME")
@click.option(
    "--by",
    metavar="NAME",
    help="Judge whose model scores the answers, instead of --model: a judge of judgeboard.toml or of the database.",
)
@click.option(
    "--candidate",
    metavar="WHO",
    help="Candidate: model:NAME, python:module:function, or source:NAME for logged answers (default: the candidate in "
    "the suite file).",
)
@click.option(
    "--candidate-base-url", help="Address of the candidate's model (default: the judge's)."
)
@click.option(
    "--candidate-max-output",
    type=click.IntRange(1),
    help="Maximum tokens of an answer (default: 2,048).",
)
@click.option(
    "--baseline",
    metavar="RUN",
    help="Run to compare with. latest: the newest run of the same judge and candidate.",
)
@click.option(
    "--max-drop",
    type=options.FiniteRange(0, 1),
    help="With --baseline: maximum drop of the pass rate (default: 0.05; 0 to 1).",
)
@click.option(
    "--threshold",
    type=options.FiniteRange(1, 5),
    help="Minimum score of a case, and minimum average of the scores on the rubric, 1 to 5 (default: the suite's own).",
)
@click.option(
    "--max-unmeasured",
    type=options.FiniteRange(0, 1),
    help="Maximum share of cases without a score (default: the suite's own; 0 to 1).",
)
@options.judge_name("Name of the judge (default: the name of the rubric).")
@model_options
@asking_options
def run(
    suite: str,
    by: str | None,
    candidate: str | None,
    candidate_base_url: str | None,
    candidate_max_output: int | None,
    baseline: str | None,
    max_drop: float | None,
    threshold: float | None,
    max_unmeasured: float | None,
    max_cost: float | None,
    **fields: object,
) -> int:
    """Run a suite: a candidate answers, a judge scores. The judge (--model) scores the answers on a rubric.

    A suite does not measure the groundedness. To watch the mean groundedness of logged answers, add
    an alert rule: `judgeboard rule add alert NAME --when level --measure groundedness --below 0.8
    --to DESTINATION`.

    FILE is a suite file. NAME is a suite of judgeboard.toml: [suites.NAME] has its file, and values
    for options that you do not type. examples/suite.yaml shows all fields of a suite and a rubric.
    To continue an interrupted run, repeat the command. If no run was interrupted, the command
    starts a new run. A comparison with a baseline needs at least 20 common cases. Exit code 0:
    pass; 1: a case fails a check, or the average is below the threshold or worse than the baseline;
    2: not measured, or stopped; 130: Ctrl-C.
    """
    from judgeboard.health.family import run_warning
    from judgeboard.methods.suites.file import read_suite
    from judgeboard.methods.suites.run import make_candidate, run_suite
    from judgeboard.runs.judging import make_judge
    from judgeboard.settings.model import load_settings

    if by is not None and fields["model"]:
        raise BadInput("--by and --model both choose the judge: remove one of them")
    suites = load_settings().suites
    section = suites.get(suite)
    if section is None and not Path(suite).exists():
        there_are = (
            f"judgeboard.toml has {', '.join(suites)}"
            if suites
            else "judgeboard.toml names no suite"
        )
        raise NotFound(f"there is no suite file {suite!r}, and {there_are}")
    cases = read_suite(suite if section is None else section.file)
    cases = replace(
        cases,
        threshold=cases.threshold if threshold is None else threshold,
        max_unmeasured=cases.max_unmeasured if max_unmeasured is None else max_unmeasured,
        max_drop=cases.max_drop if max_drop is None else max_drop,
    )
    name = fields.pop("name")  # of --by, a suite takes the model, not the name
    use_named_judge(by, fields, as_kind="rubric")
    candidate = candidate or cases.candidate
    if candidate is None:
        why = "no candidate: give --candidate model:NAME, python:module:function or source:NAME"
        raise MissingOption(why, "--candidate", "model:gpt-4o-mini")
    # A suite needs no log: in a build server's fresh checkout there is no database yet.
    store = options.open_store(create=True)
    answerer = make_candidate(
        candidate,
        max_output=candidate_max_output,
        provider=fields["provider"],
        base_url=candidate_base_url or fields["base_url"],
        concurrency=fields["concurrency"],
        timeout_s=fields["timeout_s"],
        prices=fields["prices"],
    )
    make = partial(make_judge, "rubric")
    judge = make(**at_last_address(store, make, {**fields, "name": name, "rubric": cases.rubric}))
    with run_options(fields, max_cost) as how:
        result = run_suite(store, cases, answerer, judge=judge, baseline=baseline, **how)
    warnings = warned([run_warning(store, judge.version.model, result.run)])
    code = _show(result, warnings)
    options.suggest("serve")
    return code


@options.command(
    "judgeboard suite list",
    "judgeboard suite list 3 --baseline latest",
    group=suite_command,
    rows="runs",
)
@click.argument("run_id", type=options.ROW_ID, metavar="[RUN]", required=False)
@click.option("--name", help="Only runs of this suite.")
@click.option(
    "--baseline",
    metavar="RUN",
    help="The run that RUN is compared with. latest is the previous run of the same judge and candidate.",
)
def list_(run_id: int | None, name: str | None, baseline: str | None) -> int:
    """List the runs of suites, newest first. With RUN, show its result; the exit codes are those of `suite run`."""
    if run_id is not None:
        from judgeboard.health.family import run_warning
        from judgeboard.methods.suites.results import suite_result
        from judgeboard.store.judge_versions import get_version

        store = options.open_store()
        result = suite_result(options.seen(store), run_id, baseline=baseline)
        with store.reading() as connection:
            model = get_version(connection, result.judge).model
        return _show(result, warned([run_warning(store, model, result.run)]))
    if baseline is not None:
        raise MissingOption("--baseline is about one run: name it", "1")
    from judgeboard.formats.output import Column, Columns, Table, text_lines
    from judgeboard.methods.suites.results import SuiteRun, list_results

    runs = list_results(options.seen(options.open_store()), name)
    columns: Columns[SuiteRun] = {
        Column("Run", "integer"): lambda run: run.run,
        Column("Time", "time"): lambda run: run.at,
        Column("Suite"): lambda run: run.suite,
        Column("Candidate"): lambda run: run.candidate,
        Column("Average", "estimate"): lambda run: run.average_score,
        Column("Scored", "count"): lambda run: run.measured,
        Column("Cases", "count"): lambda run: run.total_cases,
        Column("State"): lambda run: run.state.value,
    }
    none = "There are no suite runs yet. To run a suite: `judgeboard suite run SUITE.yaml --candidate model:NAME`"
    options.show({"runs": runs}, text_lines(Table.of(runs, columns)) if runs else [none])
    return 0


def _show(result: "SuiteResult", warnings: dict[str, list[str]]) -> int:
    options.show(result, summary_lines(result), warnings)
    return result.exit_code


def summary_lines(result: "SuiteResult") -> Iterator[str]:
    """Yield a suite run in lines for a terminal."""
    from judgeboard.formats.output import Column, Columns, Table, text_lines
    from judgeboard.methods.suites.results import CaseResult, baseline_notes, findings

    head = f"{result.suite}, run {result.run}: {result.candidate}, judged by {result.judge}"
    yield from account_lines(head, result.account)
    means = {"average": result.average_score, **result.dimensions}
    columns = Column("Score"), Column("Mean", "estimate"), Column("Cases", "count")
    yield from text_lines(
        Table(columns, tuple((name, mean, mean.n) for name, mean in means.items()))
    )
    cases = (*result.failures, *result.without_score)
    of_cases: Columns[CaseResult] = {
        Column("Case"): lambda case: case.case,
        Column("Score", "number"): lambda case: case.score,
        Column("Question"): lambda case: shortened(" ".join((case.query or "").split())),
        Column("Why"): lambda case: shortened(" ".join(case.why.split())),
    }
    if cases:
        yield from ("", *text_lines(Table.of(cases[:MOST_CASES], of_cases)))
    if len(cases) > MOST_CASES:
        yield "To list all: --json"
    if result.baseline is not None:
        yield from (each.text for each in baseline_notes(result.baseline))
    yield from (each.text for each in (*result.notes, *findings(result)))
