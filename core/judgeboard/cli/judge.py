"""The command `judge`: judge answers with one judge, with a jury, or repeatedly."""

import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import click

from judgeboard.cli import options
from judgeboard.cli.asked_judge import judge_kind, judge_of_options, named_judge
from judgeboard.cli.asking import (
    at_last_address,
    confirm_host,
    judge_keywords,
    prompt_warning,
    run_options,
    stored_judge_options,
    to_continue,
    warned,
)
from judgeboard.domain import JURY
from judgeboard.errors import BadInput
from judgeboard.store.filters import RowFilter
from judgeboard.text import counted, file_text, money

if TYPE_CHECKING:
    from judgeboard.cli.asking import StoredJudgeKeywords
    from judgeboard.judges.judge import Judge, JudgeKeywords
    from judgeboard.runs.judging import JudgingSummary
    from judgeboard.store.engine import Store


@options.command(
    "judgeboard judge --judge lexical",
    "judgeboard judge strict",
    "judgeboard judge strict-v2 --model gpt-4o-mini --prompt strict-v2.txt --since 2026-05-01 --max-cost 10",
    "judgeboard judge --model llama-3.1-8b-instruct --base-url http://localhost:8000/v1",
    "judgeboard judge --judge rag --model gpt-4o-mini --where query_type=complex --rejudge all --max-cost 5",
    "judgeboard judge --judge rubric --rubric house.yaml --model gpt-4o-mini",
)
@named_judge
@judge_kind(
    "Kind of judge: rag (groundedness and quality), rubric (1 to 5 per dimension), grade (correct or not), rating "
    "(1 to 4, used by `judgeboard refine`) or lexical (word overlap, offline)."
)
@click.option(
    "--judge-version",
    "number",
    type=click.IntRange(1),
    metavar="N",
    help="Number of the version of the judge NAME to use. Default: the judge as judgeboard.toml describes it, or the "
    "version that `judgeboard align --accept` accepted in its place. If judgeboard.toml has no judge NAME, the "
    "default is the newest version.",
)
@stored_judge_options
@click.option("--limit", type=click.IntRange(1, 10**9), help="Maximum number of answers to judge (default: no limit).")
@options.where
@click.option(
    "--rejudge",
    type=click.Choice(["all", "failed"]),
    help="Judge again: all answers, or those without a usable verdict (default: only answers not judged yet).",
)
@click.option(
    "--jury", metavar="M1,M2,M3", help="Judge with each of these models, and store the combined verdict of the jury."
)
@click.option(
    "--repeats",
    type=click.IntRange(2, 1000),
    help="Judge each answer this many times, to measure how stable the judge is.",
)
@click.option(
    "--workers",
    is_flag=True,
    help="Let the workers of the database judge, and follow them (default: this process judges alone).",
)
def judge_command(
    named: str | None,
    kind: str | None,
    number: int | None,
    where: RowFilter,
    rejudge: str | None,
    limit: int | None,
    max_cost: float | None,
    jury: str | None,
    repeats: int | None,
    workers: bool,
    **chosen: "Unpack[StoredJudgeKeywords]",
) -> int:
    """Judge the answers that have no verdict of this judge yet.

    NAME is a judge of judgeboard.toml or of the database, or a kind of judge. If there is no judge NAME yet, describe
    it with --model, --prompt or --judge. To describe a judge without judging anything, add [judges.NAME] to
    judgeboard.toml. To continue a run that stopped early, repeat the command. Exit code 0: no call failed; 1: some
    calls failed, or no reply was usable; 2: the run stopped early (key, address, cost limit, wrong option); 130:
    Ctrl-C.
    """
    from judgeboard.cli.repeats import repeats_lines
    from judgeboard.health.family import run_warning
    from judgeboard.judges.judge import fingerprint
    from judgeboard.methods.repeats import judge_repeats, repeats_report
    from judgeboard.runs.judging import judge_pending, make_judge
    from judgeboard.store.overview import count_responses
    from judgeboard.store.settings import check_primary_judge

    if number is not None and (named is None or kind is not None or jury is not None):
        raise BadInput("--judge-version is the number of a version of NAME: add NAME, and remove --judge and --jury")
    kind = judge_of_options(named, kind, chosen, jury=jury is not None, number=number)
    _refuse_together(jury=jury, rejudge=rejudge, repeats=repeats, limit=limit, workers=workers)
    asked = judge_keywords(kind, chosen)
    store = options.open_store()
    if workers:
        return _judge_by_workers(store, kind, asked, where=where, mode=rejudge or "plain", max_cost=max_cost)
    described = _jury_members(jury, asked, kind) if jury else [asked]
    make = partial(make_judge, kind)
    judges = [make(**at_last_address(store, make, each)) for each in described]
    names = [each.version.name for each in judges]
    with store.reading() as connection:
        check_primary_judge(connection, *names, *([named or JURY] if jury else []))
    warnings = warned([prompt_warning(judges[0])])  # all members of a jury have the same prompt

    def ask(judge: "Judge", most: float | None) -> "JudgingSummary":
        with run_options(chosen["concurrency"], most) as run:
            if repeats:
                summary = judge_repeats(store, judge, repeats, where=where, limit=limit, **run)
            else:
                summary = judge_pending(store, judge, where=where, mode=rejudge or "plain", limit=limit, **run)
        warnings["warnings"] += warned([run_warning(store, judge.version.model, summary.run_id)])["warnings"]
        return summary

    if jury:
        return _judge_by_jury(store, judges, ask, warnings, where=where, max_cost=max_cost, name=named)
    summary = ask(judges[0], max_cost)
    more: dict[str, Any] = dict(warnings)
    lines = summary_lines(summary)
    if repeats and summary.ok:
        with store.reading() as connection:
            more["repeats"] = report = repeats_report(connection, version=fingerprint(judges[0].version))
        lines += repeats_lines(report)
    elif chosen["logprobs"]:
        lines += expected_lines(store, summary)
    options.show(summary, lines, more)
    if summary.exit_code == 0 and not repeats:
        with store.reading() as connection:
            has_answers = summary.selected or count_responses(connection)
        options.suggest(*(("serve",) if has_answers else options.FIRST_STEP))
    return summary.exit_code


def _refuse_together(
    *, jury: str | None, rejudge: str | None, repeats: int | None, limit: int | None, workers: bool
) -> None:
    """Raise BadInput for options that exclude each other."""
    if repeats and (jury or rejudge):
        raise BadInput("--repeats works with one judge and new judgments: remove --jury and --rejudge")
    if workers and (jury or repeats or limit):
        raise BadInput("--workers works with one judge and all answers: remove --jury, --repeats and --limit")


FOLLOW_SECONDS = 0.5


def _judge_by_workers(
    store: "Store", kind: str, asked: "JudgeKeywords", *, where: RowFilter, mode: str, max_cost: float | None
) -> int:
    """Request a job and follow it; Ctrl-C leaves it to the workers."""
    from judgeboard.errors import OtherHost
    from judgeboard.runs.jobs import estimate_calls, job_progress, request_rejudge

    judge: dict[str, Any] = {
        "kind": kind,
        **{name: value for name, value in asked.items() if value not in (None, False)},
    }
    concurrency = judge.pop("concurrency", 16)
    if isinstance(prompt := judge.get("prompt"), Path):
        judge["prompt"] = file_text(prompt)  # workers cannot read the files of this machine
    estimate = estimate_calls(store, judge=judge, where=where, mode=mode, concurrency=concurrency)
    request = partial(
        request_rejudge,
        store,
        judge=judge,
        where=where,
        mode=mode,
        max_cost=max_cost,
        concurrency=concurrency,
        estimate=estimate,
        actor=options.actor(),
    )
    try:
        job_id = request()
    except OtherHost as change:
        if not confirm_host(change):
            raise
        job_id = request(confirmed_host=change.now)
    try:
        with options.progress("judging", "{task.fields[more]}", more="") as update:
            while not (job := job_progress(store, job_id)).finished:
                waits = job.state == "waiting" and not job.worker_alive
                more = "no worker lives: start `judgeboard worker`" if waits else job.state
                update(completed=job.asked, total=job.selected, more=more)
                time.sleep(FOLLOW_SECONDS)
    except KeyboardInterrupt:
        options.echo(f"the workers go on; to cancel the job: `judgeboard worker cancel {job_id}`", err=True)
        raise
    lines = [f"{job.judge_title or kind}, run {job.run_id}: {job.words()}; cost {money(job.cost_micro)}"]
    lines += [f"{job.state}: {job.why}"] if job.why else []
    options.show(job, lines)
    if job.state != "done":
        return 2
    return 1 if job.error or (job.asked and not job.ok) else 0


def _jury_members(jury: str, chosen: "JudgeKeywords", kind: str) -> list["JudgeKeywords"]:
    models = options.listed(jury)
    if len(set(models)) < 2:
        raise BadInput(f"--jury needs at least two different models, not {jury!r}")
    if chosen.get("model"):
        command = options.same_command(without=["--model"])
        raise BadInput(f"--jury already names the models: remove --model, for example: `{command}`")
    # One name per member: under a shared name, a later member would become the next version of an earlier one.
    return [{**chosen, "model": model, "name": f"{kind} {model}"} for model in models]


def _judge_by_jury(
    store: "Store",
    judges: Sequence["Judge"],
    ask: Callable[["Judge", float | None], "JudgingSummary"],
    warnings: dict[str, list[str]],
    *,
    max_cost: float | None,
    where: RowFilter,
    name: str | None,
) -> int:
    """Judge with each model in turn, then combine the verdicts. If a run stops early, they are not combined yet."""
    from judgeboard.cli.jury import jury_lines
    from judgeboard.judges.judge import fingerprint
    from judgeboard.methods.jury import judge_by_jury
    from judgeboard.runs.method import STOPPED, require_price
    from judgeboard.store.judge_versions import list_versions
    from judgeboard.store.runs import run_counts

    for judge in judges:  # before the first call
        require_price(max_cost, priced=judge.priced, model=judge.version.model)
    summaries, report, code, spent = [], None, 0, 0
    for judge in judges:
        summary = ask(judge, None if max_cost is None else max(0.0, max_cost - spent / 1_000_000))
        summaries.append(summary)
        code = max(code, summary.exit_code)
        options.show_lines(summary_lines(summary))
        if code >= STOPPED:
            break
        if summary.run_id is not None:  # calls of unknown cost count as 0, as in the run
            with store.reading() as connection:
                spent += run_counts(connection, [summary.run_id])[summary.run_id].cost_micro or 0
    members = [fingerprint(judge.version) for judge in judges]
    with store.reading() as connection:
        known = {version.fingerprint for version in list_versions(connection)}
    if code < STOPPED and known.issuperset(members):  # a judge without answers has no stored version
        seen = options.seen(store)
        report = judge_by_jury(store, members, name=name, where=where, actor=options.actor(), seen=seen)
        options.show_lines(jury_lines(report))
    options.show({"members": summaries, "jury": report} | warnings, ())
    return code


def expected_lines(store: "Store", summary: "JudgingSummary") -> list[str]:
    """Return how many verdicts of a run have an expected score."""
    from judgeboard.store.judgments import count_expected

    if summary.run_id is None or summary.ok == 0:
        return []
    with store.reading() as connection:
        scored = count_expected(connection, summary.run_id)
    if scored == summary.ok:
        every = "the usable verdict" if scored == 1 else f"all {scored:,} usable verdicts"
        return [f"expected score: stored for {every}"]
    reason = "the other replies had no token probabilities" if scored else "the endpoint returns no token probabilities"
    return [f"expected score: stored for {scored:,} of {counted(summary.ok, 'usable verdict')}; {reason}"]


def summary_lines(summary: "JudgingSummary") -> list[str]:
    """Return the outcome of a run as lines for a terminal."""
    if summary.selected == 0:
        return [f"{summary.judge}: nothing to judge. No answer matches, or this version has judged all that match."]
    lines = [
        f"{summary.judge}, run {summary.run_id}: {summary.words()}"
        + (f"; {summary.not_reached:,} not reached" if summary.not_reached and summary.state != "done" else "")
        + f"; cost {summary.cost_words}"
    ]
    if summary.why_stopped:
        lines.append(f"stopped: {summary.why_stopped}")
    if summary.not_reached and summary.state == "done":
        lines.append(f"{counted(summary.not_reached, 'answer')} got a verdict from another run in the meantime.")
    elif summary.not_reached:
        lines.append(to_continue(summary.why_stopped))
    elif summary.asked - summary.ok:
        lines.append("To judge the answers without a usable verdict again, add --rejudge failed to the command.")
    return lines
