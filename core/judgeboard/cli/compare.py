"""The commands `compare` and `ssr`: a judge compares pairs. With `ssr`, it may also see its own answer."""

import sys
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from judgeboard.cli import options
from judgeboard.cli.asking import (
    account_lines,
    address_options,
    check_pairs,
    chosen_generator,
    generator_settings,
    last_address_options,
    limit_options,
    model_options,
    named_judge,
    nobody_asked,
    price_options,
    prompt_option,
    prompt_warning,
    refuse_given,
    run_options,
    skips_questions,
    stopped_lines,
    use_named_judge,
    warned,
)
from judgeboard.cli.help import Command
from judgeboard.errors import BadInput
from judgeboard.stats.estimates import percent_words
from judgeboard.store.filters import RowFilter
from judgeboard.text import counted

if TYPE_CHECKING:
    from judgeboard.domain import Estimate
    from judgeboard.methods.pair_report import PairReport
    from judgeboard.methods.self_reference_report import SelfReferenceReport
    from judgeboard.methods.self_reference_scores import Tuned
    from judgeboard.methods.written_answers import WrittenPairs
    from judgeboard.store.engine import Store


@options.command(
    "judgeboard compare --a shop-v1 --b shop-v2 --model gpt-4o-mini",
    "judgeboard compare --pairs pairs.jsonl --model gpt-4o-mini --aspect overall --aspect style",
    "judgeboard compare --recorded --judge-version GPT-4 --by query_type --json",
    "judgeboard compare --recorded",
)
@click.option(
    "--a", "source_a", metavar="SOURCE", help="With --b: compare the logged answers of two sources, paired by question."
)
@click.option("--b", "source_b", metavar="SOURCE", help="The second source.")
@click.option("--pairs", "file", type=options.FILE, help="Import this file of pairs and compare them.")
@click.option(
    "--recorded",
    is_flag=True,
    help="Measure the stored comparisons of --judge-version and people's preferences; make no model calls.",
)
@options.judge_version(help="With --recorded: the judge version (default: only rank models, by people and gold).")
@click.option("--source", help="With --pairs: name of the set, if the file has none.")
@click.option("--by", type=click.Choice(["query_type"]), help="Also show the figures per query type.")
@options.where
@click.option("--aspect", "aspects", multiple=True, help="Aspect to compare (default: overall). Repeatable.")
@options.pair_verdicts("for agreement with gold or people")
@click.option("--rejudge", type=click.Choice(["failed"]), help="Repeat the calls without a usable verdict.")
@options.judge_name("Name of the judge (default: pairwise). Each name has its own version numbers.")
@click.option("--domain", help="Field of expertise for the judge's prompt, for example 'climbing knowledge'.")
@model_options
@prompt_option
@named_judge
@click.pass_context
def compare_command(
    context: click.Context,
    /,
    named: str | None,
    source_a: str | None,
    source_b: str | None,
    file: Path | None,
    recorded: bool,
    judge_version: str | None,
    source: str | None,
    by: str | None,
    where: RowFilter,
    aspects: tuple[str, ...],
    unusable: str,
    inconsistent: str,
    **chosen: Any,
) -> int:
    """Compare pairs of answers in both orders (two calls per pair).

    NAME is a judge of judgeboard.toml, whose model and address are used.

    A pair is inconsistent if the verdicts in the two orders differ. To continue an interrupted run, repeat the command.
    For exit codes see `judgeboard judge`.
    """
    from judgeboard.methods.pair_report import measure_pairs
    from judgeboard.methods.pairwise import compare_pairs, make_pairwise_judge, pairs_between, pairs_in_file
    from judgeboard.store.comparisons import versions_that_compared
    from judgeboard.store.judge_versions import choose_version
    from judgeboard.store.pairs import matching_pairs

    ways = (source_a is not None or source_b is not None, file is not None, recorded)
    if sum(ways) != 1 or (source_a is None) != (source_b is None):
        why = "choose the pairs: --a SOURCE with --b SOURCE, or --pairs FILE, or --recorded"
        command = options.same_command(*([] if recorded else ["--recorded"]), without=["--a", "--b", "--pairs"])
        raise BadInput(f"{why}, for example: `{command}`")
    if judge_version is not None and not recorded:
        why = "--judge-version needs --recorded. To ask a judge, give --model"
        command = options.same_command("--recorded", without=["--model"])
        raise BadInput(f"{why}, for example: `{command}`")
    use_named_judge(named, chosen, as_kind="pairwise")
    if recorded:
        nobody_asked(context, "domain", "source")
    if file is not None:
        check_pairs(file, source)
    figures: dict[str, Any] = {"by_query_type": by is not None, "aspects": aspects, "where": where}
    figures |= {"unusable": unusable, "inconsistent": inconsistent}
    store = options.open_store(create=file is not None)
    if recorded:
        with store.reading() as connection:
            known = versions_that_compared(connection)
            version_id = (
                None if judge_version is None else choose_version(connection, judge_version, known, "compared pairs").id
            )
        report = measure_pairs(options.seen(store), version_id, **figures)
        options.show(report, comparison_lines(report))
        return 0
    make = partial(make_pairwise_judge, aspects=aspects)
    judge = make(**chosen | last_address_options(store, make, chosen))
    warnings = warned([prompt_warning(judge)])
    if file is not None:
        made = pairs_in_file(store, file, source=source, actor=options.actor())
    else:
        made = pairs_between(store, source_a or "", source_b or "", actor=options.actor())
    with store.reading() as connection:
        matching = matching_pairs(connection, where)
    pair_ids = [id_ for id_ in made.pair_ids if matching is None or id_ in matching]
    with run_options(chosen["concurrency"], chosen["max_cost"]) as run:
        compared = compare_pairs(store, judge, pair_ids, again=chosen["rejudge"] is not None, **run)
    version_id = compared.version.id
    report = measure_pairs(store, version_id, pair_ids=pair_ids, account=compared.account, **figures)
    left_out = f", {made.left_out:,} left out" if made.left_out else ""
    counts = {"pairs": len(pair_ids), "left_out": made.left_out, **warnings}
    options.show(
        report, [f"{made.words}: {counted(len(pair_ids), 'pair')}{left_out}", *comparison_lines(report)], counts
    )
    options.suggest("serve")
    return report.account.exit_code


def comparison_lines(report: "PairReport") -> Iterator[str]:
    """Yield the figures of a judge on pairs in lines for a terminal."""
    from judgeboard.methods.pair_report import group_lines, ranking_lines, report_sentence

    account = report.account
    yield report_sentence(report)
    if account.run_id is not None:
        yield f"run {account.run_id}, {account.not_reached:,} not reached, cost {account.cost_words}"
    yield from stopped_lines(account)
    for group in report.groups:
        yield from group_lines(group)
    for ranking in report.rankings:
        yield from ranking_lines(ranking)


def report_lines(report: "SelfReferenceReport", *, sweep: bool = False) -> Iterator[str]:
    """Yield a report in lines for a terminal. ``sweep`` adds lines for all other thresholds."""
    where = "" if report.account.run_id is None else f", run {report.account.run_id}"
    yield from account_lines(f"{report.judge}{where}", report.account)
    yield from _figures(report)
    if sweep:
        for point in report.sweep:
            yield (
                f"gate threshold {point.agree} of {report.k}: on for {percent_words(point.gate.on_rate)}, "
                f"precision {percent_words(point.gate.precision)}, C {percent_words(point.scores.accuracy)}"
            )
    if report.tuned is not None:
        yield from _tuned(report.tuned, report.k)
    yield from report.notes


def _figures(report: "SelfReferenceReport") -> Iterator[str]:
    from judgeboard.methods.self_reference_report import CONDITION_WORDS, agreeing_words, samples_sentence

    yield (
        f"{counted(report.items, 'item')} with {counted(report.k, 'sample')} each. The gate ({agreeing_words(report)}) "
        f"is on for {percent_words(report.gate.on_rate)} of the items. On these, the "
        f"judge's own answer is right for {percent_words(report.gate.precision)}."
    )
    if (of_samples := samples_sentence(report)) is not None:
        yield of_samples
    for name, scores in report.conditions.items():
        words = percent_words(scores.accuracy)
        if scores.accuracy.value is not None:
            words += f"; gate on {percent_words(scores.on)}, off {percent_words(scores.off)}"
            words += f"; {scores.splits:,} split, {scores.unmeasured:,} unmeasured"
        yield f"{CONDITION_WORDS[name]}: {words}"
    for each in report.slices:
        scores_of = {"A": each.without, "B": each.always}
        known = [f", {name} {percent_words(share)}" for name, share in scores_of.items() if share.value is not None]
        yield (
            f"gate {'on' if each.gate_on else 'off'}, own answer {'right' if each.majority_right else 'wrong'}: "
            f"{counted(each.n, 'item')}{_of_all(each.share)}{''.join(known)}"
        )
    for level in report.calibration:
        if level.n:
            agree = "agrees" if report.k == 1 else "agree"
            words = f"{counted(level.n, 'item')}, right on {percent_words(level.share)}"
            yield f"{level.agree} of {report.k} {agree}: {words}"


def _of_all(share: "Estimate") -> str:
    """Return the share of a slice in brackets; empty without items."""
    return "" if share.value is None else f" ({percent_words(share)} of all)"


def _tuned(tuned: "Tuned", k: int) -> Iterator[str]:
    label = "optimistic" if tuned.optimistic else "cross-validated"
    yield f"C with a threshold per category ({label}): {percent_words(tuned.accuracy)}"
    for each in tuned.categories:
        gate = f"threshold {each.agree} of {k}" if each.agree <= k else "never on"
        optimistic = ", optimistic" if each.optimistic else ""
        yield f"  {each.category}: gate {gate}, accuracy {percent_words(each.accuracy)} (n = {each.n:,}){optimistic}"


@options.group(
    "judgeboard ssr make-pairs --questions mmlu.jsonl -o pairs.jsonl",
    "judgeboard ssr --pairs pairs.jsonl --model gpt-4o-mini",
    "judgeboard ssr --pairs pairs.jsonl --model gpt-4o-mini --conditions C --tau 0.8",
    "judgeboard ssr --recorded --judge-version ssr --sweep --tau-by category",
    invoke_without_command=True,
)
@click.option("--pairs", type=options.FILE, help="Import this file of pairs and judge them.")
@click.option("--recorded", is_flag=True, help="Measure the stored samples; make no model calls.")
@options.judge_version(help="With --recorded: the judge version.")
@click.option("--source", help="Source of the pairs, if the file has none. With --recorded: measure this source only.")
@click.option(
    "--k",
    type=click.IntRange(1),
    help="Samples per question (default: 5). If more are stored, only the first K are used.",
)
@options.with_default(
    "--tau",
    type=options.FiniteRange(0, 1, min_open=True),
    default=0.8,
    help="Condition C: the judge sees its own answer if at least this share of samples agrees (above 0, at most 1).",
)
@click.option(
    "--temperature",
    type=options.FiniteRange(0, 2),
    help="Temperature of the samples (default: 0.7); comparisons use 0.",
)
@options.with_default(
    "--conditions",
    default="A,B,C",
    help="A: the judge never sees its own answer. B: always. C: if enough samples agree.",
)
@click.option("--sweep", is_flag=True, help="Also show all other thresholds, without further calls.")
@click.option("--tau-by", type=click.Choice(["category"]), help="Also tune a threshold per category.")
@click.option("--limit", type=click.IntRange(1), help="Maximum number of pairs of the file.")
@click.option(
    "--rejudge", type=click.Choice(["failed"]), help="Repeat failed samples and comparisons without a usable verdict."
)
@options.judge_name("Name of the judge (default: ssr).")
@model_options
@prompt_option
@click.pass_context
def ssr_command(context: click.Context, /, recorded: bool, **chosen: Any) -> int | None:
    """Compare pairs with selective self-reference (SSR-Judge).

    The judge answers each question k times. If enough of these answers agree, the judge sees its own answer, shown as
    the correct one, when it compares the pair. The number of calls and their maximum cost are shown first. To continue
    an interrupted run, repeat the command. For exit codes see `judgeboard judge`.
    """
    from judgeboard.methods.self_reference_report import checked_conditions

    if context.invoked_subcommand is not None:
        return None
    if recorded == (chosen["pairs"] is not None):
        why = "give --pairs FILE to ask a judge, or --recorded to measure stored samples"
        command = options.same_command(*([] if recorded else ["--recorded"]), without=["--pairs"])
        raise BadInput(f"{why}, for example: `{command}`")
    if recorded:
        nobody_asked(context, "limit", "yes")
    elif chosen["judge_version"] is not None:
        why = "--judge-version needs --recorded. To ask a judge, give --model"
        command = options.same_command("--recorded", without=["--model"])
        raise BadInput(f"{why}, for example: `{command}`")
    else:
        check_pairs(chosen["pairs"], chosen["source"])
    store = options.open_store(create=not recorded)
    figures = {
        "tau": chosen["tau"],
        "conditions": checked_conditions([name.upper() for name in options.listed(chosen["conditions"])]),
        "tau_by_category": chosen["tau_by"] is not None,
    }
    report = _recorded(store, chosen, figures) if recorded else _asked(store, chosen, figures)
    if report is None:
        click.echo("canceled: no calls were made", err=True)
        return 0
    options.show(report, report_lines(report, sweep=chosen["sweep"]))
    options.suggest("serve")
    return report.account.exit_code


@ssr_command.command(
    "make-pairs",
    Command,
    epilog=options.example(
        "judgeboard ssr make-pairs --questions q.jsonl -o p.jsonl",
        "judgeboard ssr make-pairs --questions q.jsonl --generator gpt-4o-mini -o p.jsonl",
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
    help="Chat model that writes the two answers: each reasons and concludes with its option (default: the options "
    "themselves).",
)
@generator_settings
@address_options
@limit_options
@price_options
def make_pairs_command(questions: str, seed: int, output: Path | None, **chosen: Any) -> int:
    """Make pairs from multiple-choice questions: the correct option and a random wrong one.

    With --generator, two calls per question write answers that argue for these options. Each answer says its option in
    concludes_a or concludes_b. A pair is left out if a conclusion cannot be read, or if not exactly one is right. The
    number of calls and their maximum cost are shown first. The response_id of a line of --generator-replies is the id
    of the question and the letter: 70/A. Without any pair, no file is written and the exit code is 1. For other exit
    codes see `judgeboard judge`.
    """
    from judgeboard.formats.files import write_whole
    from judgeboard.methods.own_answers import MadePairs, pair_line, pairs_of_questions

    if chosen["generator"] is None:
        for_a_model = chosen.keys() - {"generator"} | {"yes"}
        refuse_given(click.get_current_context(), "make-pairs calls a model only with --generator", for_a_model)
    made = MadePairs()
    rows = list(pairs_of_questions(questions, made, seed=seed))
    exit_code, left_out = 0, Counter[str]()
    if chosen["generator"] is not None:
        written = _written(rows, chosen)
        if written is None:
            click.echo("canceled: no calls were made", err=True)
            return 0
        rows, left_out, exit_code = written.rows, written.left_out, written.account.exit_code
    nothing = ""
    if output is None:
        sys.stdout.writelines(map(pair_line, rows))
    elif rows:
        write_whole(output, lambda file: file.writelines(pair_line(row).encode() for row in rows))
    else:
        nothing = f"; {output} was not written"
    questions_left_out = counted(made.left_out + left_out.total(), "question")
    click.echo(f"{counted(len(rows), 'pair')} made, {questions_left_out} left out{nothing}", err=True)
    for line, reason in made.first_left_out:
        click.echo(f"  line {line}: {reason}", err=True)
    for reason, times in left_out.most_common():
        click.echo(f"  {counted(times, 'question')}: {reason}", err=True)
    return exit_code or (0 if rows else 1)


def _written(pairs: list[dict[str, Any]], chosen: dict[str, Any]) -> "WrittenPairs | None":
    """Return the pairs with answers of the generator, and print its calls; None if no call was to be made."""
    from judgeboard.methods.written_answers import estimate_answers, write_answers

    concurrency, max_cost = chosen["concurrency"], chosen["max_cost"]
    generator = chosen_generator(chosen, {})
    asks_model = generator.endpoint.host is not None
    if asks_model:
        click.echo(estimate_answers(pairs, generator).sentence, err=True)
    if asks_model and not skips_questions() and sys.stdin.isatty() and not click.confirm("Start?", err=True):
        return None
    with run_options(concurrency, max_cost) as how:
        written = write_answers(pairs, generator, **how)
    account = written.account
    cost = f"cost {account.cost_words}" if asks_model else "all from recorded answers"
    click.echo(f"{counted(account.asked, 'call')}, {cost}", err=True)
    if account.why_stopped is not None:
        not_made = f"{counted(account.not_reached, 'call')} not made"
        click.echo(f"stopped: {account.why_stopped}; {not_made}. The same command makes all calls again.", err=True)
    return written


def _recorded(store: "Store", chosen: dict[str, Any], figures: dict[str, Any]) -> "SelfReferenceReport":
    from judgeboard.methods.self_reference_report import measure_self_reference
    from judgeboard.store.judge_versions import choose_version
    from judgeboard.store.samples import sampling_versions

    version = chosen["judge_version"]
    if version is not None:
        with store.reading() as connection:
            version = choose_version(connection, version, sampling_versions(connection), "sampled answers").id
    return measure_self_reference(options.seen(store), version, k=chosen["k"], source=chosen["source"], **figures)


def _asked(store: "Store", chosen: dict[str, Any], figures: dict[str, Any]) -> "SelfReferenceReport | None":
    from judgeboard.methods.pairwise import pairs_in_file
    from judgeboard.methods.self_reference import estimate_run, make_self_reference_judge, self_refer
    from judgeboard.runs.method import require_price

    judge = make_self_reference_judge(**chosen | last_address_options(store, make_self_reference_judge, chosen))
    warned([prompt_warning(judge.pairwise)])  # the user's prompt is that of the comparisons
    require_price(chosen["max_cost"], priced=judge.priced, model=judge.version.model)
    pair_ids = pairs_in_file(store, chosen["pairs"], source=chosen["source"], actor=options.actor()).pair_ids[
        : chosen["limit"]
    ]
    again = chosen["rejudge"] is not None
    planned = estimate_run(store, judge, pair_ids, tau=figures["tau"], conditions=figures["conditions"], again=again)
    click.echo(planned.sentence, err=True)
    if planned.calls_left and not skips_questions() and sys.stdin.isatty() and not click.confirm("Start?", err=True):
        return None
    with run_options(chosen["concurrency"], chosen["max_cost"]) as how:
        return self_refer(store, judge, pair_ids, again=again, **figures, **how)
