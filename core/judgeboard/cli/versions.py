"""The commands `versions`, `versus`, `ab`, `align` and `anchors`: which version is better, and does a judge drift?"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import click

from judgeboard.cli import options
from judgeboard.cli.asking import (
    EXAMPLE_MODEL,
    call_options,
    chosen_kind,
    judge_kind,
    last_address_options,
    read_few_shot,
    refuse_given,
    run_options,
    stored_judge_options,
)
from judgeboard.cli.judge import summary_lines
from judgeboard.errors import BadInput, MissingOption
from judgeboard.text import counted, money

if TYPE_CHECKING:
    from judgeboard.agreement.ab import SourcesCompared
    from judgeboard.agreement.anchors import AnchorReport
    from judgeboard.agreement.versus import VersionsCompared
    from judgeboard.methods.alignment import Alignment
    from judgeboard.stats.paired import PairedShares


@options.group(
    "judgeboard versions",
    'judgeboard versions retire "rag v1"',
    'judgeboard versions restore "rag v1"',
    invoke_without_command=True,
)
@click.pass_context
def versions_command(context: click.Context) -> None:
    """List, retire and restore judge versions. Without a command, list them.

    A version never changes, and its judgments are kept.
    """
    if context.invoked_subcommand is None:
        _list_versions()


@options.command("judgeboard versions list --json", group=versions_command)
def versions_list() -> None:
    """List all judge versions by name and number."""
    _list_versions()


def _list_versions() -> None:
    from judgeboard.store.judge_versions import list_versions, retired_versions

    with options.open_store().reading() as connection:
        versions, retirements = list_versions(connection), retired_versions(connection)
    rows, lines = [], []
    for version in versions:
        fact = retirements.get(version.id)
        by, at = (None, None) if fact is None else (fact.by, fact.at)
        state = "" if fact is None else f"  retired by {fact.by} on {fact.at:%d %b %Y}"
        names = ("name", "number", "kind", "model", "fingerprint")
        rows.append({name: getattr(version, name) for name in names} | {"retired_by": by, "retired_at": at})
        lines.append(f"{version.title}  {version.kind}  {version.model or '–'}{state}")
    options.show(
        {"versions": rows}, lines or ["There are no judge versions yet. To judge: `judgeboard judge --judge lexical`"]
    )


@options.command('judgeboard versions retire "rag v1"', group=versions_command, json=False)
@click.argument("version")
def versions_retire(version: str) -> None:
    """Retire VERSION: it makes no new judgments; existing ones are kept.

    VERSION is a title ("rag v1"), the name of a judge (its newest version), or a fingerprint.
    """
    from judgeboard.people.roster import retire_version

    retired = retire_version(options.open_store(), version, options.actor())
    options.echo(f"{retired.title} is retired: it makes no new judgments; existing ones are kept")


@options.command('judgeboard versions restore "rag v1"', group=versions_command, json=False)
@click.argument("version")
def versions_restore(version: str) -> None:
    """Restore a retired VERSION: it can judge again."""
    from judgeboard.people.roster import restore_version

    restored = restore_version(options.open_store(), version, options.actor())
    options.echo(f"{restored.title} is restored: it can judge again")


def _within(equally_good: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    words = f"{equally_good} by at most this number, from 0 to 1."
    return options.with_default("--within", type=options.FiniteRange(0, 1), default=0.02, help=words)


@options.command(
    "judgeboard versus --judge-version 'rag v1' --judge-version 'rag v2'",
    "judgeboard versus --judge-version large --judge-version small --within 0.03 --json",
)
@options.judge_version(
    "judge_versions",
    multiple=True,
    required=True,
    help="Judge version: name (newest version), 'name v3' or fingerprint. Give it twice: first the old one, "
    "then the new one.",
)
@_within("The new version counts as equally good if its share of right verdicts is lower")
def versus_command(judge_versions: tuple[str, ...], within: float) -> int:
    """Show whether a judge version is better than another one.

    Compares both with the labels of people, on the answers that both judged. Labels are weighted by the chance that
    their answers had to get one. Answers with the same passages count as one unit. Exit code 0: the new version is
    better, or worse by at most --within; 1: worse; 2: too few labels to decide. The output then says how many labels
    are needed.
    """
    from judgeboard.agreement.versus import compare_versions

    if len(judge_versions) != 2:
        raise _one_version(judge_versions)
    with options.seen(options.open_store()).reading() as connection:
        result = compare_versions(connection, *judge_versions, within=within)
    options.show(result, _version_lines(result))
    return result.exit_code


@options.command(
    "judgeboard ab --a app-v1 --b app-v2",
    "judgeboard ab --a gpt-3.5-turbo --b gpt-4 --by query_type --json",
)
@click.option("--a", required=True, metavar="SOURCE|MODEL", help="Source of the first answers, or their model.")
@click.option("--b", required=True, metavar="SOURCE|MODEL", help="Source of the second answers, or their model.")
@options.judge_version(
    help="Judge version: name (newest version), 'name v3' or fingerprint (default: the newest version of "
    "the primary judge)."
)
@click.option(
    "--by", type=click.Choice(["query_type"]), help="Also compare each query type. The intervals are simultaneous."
)
@_within("B counts as equally good if its share of bad answers is higher")
def ab_command(a: str, b: str, judge_version: str | None, by: Literal["query_type"] | None, within: float) -> int:
    """Show whether one source of answers is better than another one.

    Compares the shares of bad answers on questions that both sources answered. Labels count if they are a random
    sample, or if all these answers are labelled. The judge's verdicts narrow the interval, but never decide alone. Exit
    code 0: B is better, or worse by at most --within; 1: worse; 2: too few labels to decide.
    """
    from judgeboard.agreement.ab import compare_sources

    with options.seen(options.open_store()).reading() as connection:
        result = compare_sources(connection, a, b, judge_version=judge_version, by=by, within=within)
    options.show(result, _source_lines(result))
    return result.exit_code


def _one_version(given: Sequence[str]) -> BadInput:
    from judgeboard.cli.corrections import other_version

    other = None if len(given) > 1 else other_version(given[0])
    why = "versus compares two judge versions: give --judge-version twice"
    return BadInput(why) if other is None else MissingOption(why, "--judge-version", other)


_CHANGES = {  # name, and which labels n counts
    "kappa": ("Cohen's kappa", ""),
    "sensitivity": ("recall of bad answers", " that people call bad"),
    "specificity": ("specificity", " that people call good"),
}


def _version_lines(result: "VersionsCompared") -> Iterator[str]:
    from judgeboard.stats.estimates import number_words

    yield result.sentence
    yield from result.warnings
    if result.left_out_sentence is not None:
        yield result.left_out_sentence
    if not result.counts.n:
        return
    if not result.alone:
        yield _counts_line(result, result.counts)
    if result.changes:
        where = f" in all {counted(result.answers, 'answer')}" if result.alone else ""
        if result.changes["kappa"].n < result.counts.n:
            where += " (some labels count only for answers on which they differ)"
        yield f"change{where}: " + ", ".join(
            f"{_CHANGES[name][0]} {number_words(each, sign=True)} (n = {each.n:,}{_CHANGES[name][1]})"
            if each.value is not None
            else f"{_CHANGES[name][0]} not available ({each.reason})"
            for name, each in result.changes.items()
        )
    if any(result.unusable.values()):
        yield "unusable verdicts: " + ", ".join(f"{title} {n:,}" for title, n in result.unusable.items())
    if result.as_wrong is not None:
        yield f"with unusable verdicts as wrong: {_counts_line(result, result.as_wrong)}"


def _counts_line(result: "VersionsCompared", counts: "PairedShares") -> str:
    ps = (("p = {:.2g} by evidence group", counts.p), ("McNemar p = {:.2g}", counts.p_mcnemar))
    p = ", ".join(words.format(value) for words, value in ps if value is not None)
    both_wrong = counts.n - counts.first_right - counts.only_second
    return (
        f"both right {counts.first_right - counts.only_first:,}, only {result.first} right {counts.only_first:,}, "
        f"only {result.second} right {counts.only_second:,}, both wrong {both_wrong:,} "
        f"({p})"
    )


def _source_lines(result: "SourcesCompared") -> Iterator[str]:
    from judgeboard.agreement.notes import p_words
    from judgeboard.agreement.versus import start_words
    from judgeboard.stats.estimates import points_words

    yield result.sentence
    yield from result.warnings
    if result.change.value is not None:
        yield f"labels without the judge: {points_words(result.labels_only, sign=True)}"
    yield f"{result.judge} alone (does not decide): {points_words(result.judge_alone, sign=True)}"
    for each in result.types:
        start = start_words(each.conclusion, result.a, result.b, result.within)
        line = f"{each.query_type}: {start}: {points_words(each.change, sign=True)}"
        if each.change.value is not None:
            line += "" if each.p_holm is None else f", p {p_words(each.p_holm)} (Holm)"
            line += f", from {counted(each.questions, 'question')}, {each.labelled:,} with labels on both answers"
        yield line


@options.command(
    "judgeboard align --judge-version rag --model gpt-4o",
    "judgeboard align --judge-version 'rag v2' --model gpt-4o --candidates 3 --max-cost 5 --json",
    "judgeboard align --judge-version 'rag v2' --accept 'rag candidate v1'",
)
@options.judge_version(
    required=True, help="Judge version of the kind rag or grade: name (newest version), 'name v3' or fingerprint."
)
@click.option(
    "--model", help="Chat model that proposes changed instructions. Choose a strong model. Required without --accept."
)
@options.with_default(
    "--candidates", type=click.IntRange(1, 50), default=5, help="Number of changed prompts that the model proposes."
)
@click.option("--judge-base-url", help="Address of the judge's endpoint, with /v1 (default: where it judged last).")
@click.option(
    "--accept",
    metavar="CANDIDATE",
    help="Accept this candidate, for example 'rag candidate v1', as the next version of the judge. Its latest test "
    "must have shown that it is better. Makes no model calls.",
)
@call_options
@options.with_default(
    "--max-output", type=click.IntRange(1), default=2048, help="Maximum number of tokens of a proposal."
)
def align_command(
    judge_version: str,
    accept: str | None,
    candidates: int,
    judge_base_url: str | None,
    max_cost: float | None,
    max_output: int,
    **chosen: Any,
) -> int:
    """Let a model propose better instructions for a judge, and test them on labels of people.

    Each evidence group (the answers to one question from the same passages) has one role: held out (50 %), develop
    (30 %) or examples (20 %). Groups drawn by `judgeboard anchors make` have no role. The model reads the develop
    answers on which the judge and people differ. It proposes changed instructions, the candidates. Each candidate
    judges all develop answers. The best candidate then judges the held-out answers, once. The verdicts of candidates
    are not stored. The page Judges shows the result. If the candidate is better, a lead accepts it there or with
    --accept.

    Exit code 0: the candidate is better; 1: it is worse; 2: the test cannot decide, and the output says why. The
    interval and p are corrected for the number of tests on the same held-out labels. In a --replies file, the
    proposals have the response_ids "candidate 1", "candidate 2" and so on. The verdict of a candidate on the answer a7
    has the response_id "candidate 1/a7".
    """
    from judgeboard.methods.alignment import accept_latest, align
    from judgeboard.runs.addresses import last_address
    from judgeboard.store.judge_versions import get_version
    from judgeboard.store.overview import count_judgments
    from judgeboard.store.runs import Counts

    if accept is not None:
        context = click.get_current_context()
        unread = {each.name for each in context.command.params if each.name} - {"judge_version", "accept", "db", "json"}
        refuse_given(context, "--accept makes no model calls", unread)
        store = options.open_store()
        accepted = accept_latest(store, judge_version, accept, options.actor())
        with store.reading() as connection:
            judgments = sum(count_judgments(connection).get(accepted.id, Counts()).by_status.values())
        has = f"has {counted(judgments, 'judgment')}" if judgments else "has judged nothing yet"
        options.show(accepted, [f"{accept} is accepted: it is {accepted.title}, which {has}."])
        options.suggest("prompt", accepted.title)
        return 0
    if chosen["model"] is None:
        raise MissingOption("--model is required, except with --accept", "--model", EXAMPLE_MODEL)
    shared = {name: chosen[name] for name in ("replies", "concurrency", "prices", "timeout_s")}
    model = {name: chosen[name] for name in ("model", "provider", "base_url")} | shared
    store = options.open_store()
    with store.reading() as connection:
        last = last_address(connection, get_version(connection, judge_version).id)
    judge = {"base_url": judge_base_url or (chosen["base_url"] if last is None else None)} | shared
    with run_options(chosen["concurrency"], max_cost) as run:
        result = align(
            store,
            judge_version,
            candidates=candidates,
            max_output=max_output,
            model=model,
            judge={name: value for name, value in judge.items() if value is not None},
            **run,
        )
    options.show(result, _alignment_lines(result))
    return result.exit_code


def _alignment_lines(result: "Alignment") -> Iterator[str]:
    yield result.sentence
    if result.held_out is not None:
        yield from result.held_out.warnings
    roles = ", ".join(f"{name.replace('_', ' ')} {n:,}" for name, n in result.labelled.items())
    yield f"labelled answers: {roles}"
    if anchors := result.left_out.get("anchors"):
        yield f"left out: {counted(anchors, 'labelled answer')} with the evidence of an anchor"
    if result.differences:
        reasons = ", ".join(f"{reason} {n:,}" for reason, n in result.differences.items())
        yield f"develop answers on which {result.judge} and people differ, by reason: {reasons}"
    for each in result.candidates:
        outcome = each.refused if each.right is None else f"right on {counted(each.right, 'develop answer')}"
        best = ", best" if each.number == result.best else ""
        yield f"candidate {each.number}{best}: {outcome}" + (f" ({each.why})" if each.why else "")
    if result.candidates:
        yield f"{result.judge}: right on {counted(result.right, 'develop answer')}; cost {money(result.cost_micro)}"
    if result.held_out is not None:
        yield f"mended {len(result.mended):,}, broken {len(result.broken):,} held-out answers"
        yield f"To read the prompt: `judgeboard prompt '{result.held_out.second}'`"
        if result.exit_code == 0:
            command = f"judgeboard align --judge-version '{result.judge}' --accept '{result.held_out.second}'"
            yield f"To accept it: `{command}`"


@options.group(
    "judgeboard anchors make",
    "judgeboard anchors judge --judge rag --model gpt-4o-mini",
    "judgeboard anchors report --json",
)
def anchors_command() -> None:
    """Judge a fixed set of answers, the anchors, repeatedly to find out whether a judge drifts."""


@options.command("judgeboard anchors make", "judgeboard anchors make --n 150 --replace", group=anchors_command)
@options.with_default(
    "--n",
    type=click.IntRange(1, 100_000),
    default=60,
    help="Number of anchors. It is approximate, because whole evidence groups are drawn.",
)
@options.with_default("--seed", default="anchors", help="Seed of the draw.")
@click.option("--replace", is_flag=True, help="Replace the current anchors. Their verdicts stay stored.")
def anchors_make(n: int, seed: str, *, replace: bool) -> None:
    """Draw the anchors at random, and store which answers they are.

    Draws whole evidence groups (the answers to one question from the same passages), beginning with labelled groups.
    The anchors have about the same shares of query types and of bad answers as all labelled answers. Leaves out groups
    with an answer that is an example in a judge's prompt, and groups whose labels `judgeboard align` used.
    """
    from judgeboard.agreement.anchors import make_anchors

    made = make_anchors(options.open_store(), n=n, seed=seed, replace=replace, by=options.actor())
    options.show(made, [made.sentence])
    options.suggest("anchors", "judge", "--judge", "KIND")


@options.command(
    "judgeboard anchors judge --judge lexical",
    "judgeboard anchors judge --judge rag --model gpt-4o-mini --max-cost 0.5",
    group=anchors_command,
)
@judge_kind("Kind of judge: rag, rubric, grade, rating or lexical.")
@stored_judge_options
def anchors_judge(kind: str | None, max_cost: float | None, **chosen: Any) -> int:
    """Judge the anchors once more. Only `anchors report` uses these verdicts.

    Give the same options with which the judge version judged the log. If a run stops early, repeat the command to
    continue it. The exit codes are those of `judgeboard judge`.
    """
    from judgeboard.agreement.anchors import stored_anchors
    from judgeboard.runs.judging import judge_pending, make_judge
    from judgeboard.store.filters import RowFilter
    from judgeboard.store.runs import AskMode

    kind = chosen_kind(kind, chosen)
    read_few_shot(kind, chosen)
    store = options.open_store()
    judge = make_judge(kind, **chosen | last_address_options(store, partial(make_judge, kind), chosen))
    with store.reading() as connection:
        where = RowFilter(response_ids=stored_anchors(connection).response_ids)
    with run_options(chosen["concurrency"], max_cost) as run:
        summary = judge_pending(store, judge, where=where, mode=AskMode.ANCHORS, **run)
    options.show(summary, summary_lines(summary))
    options.suggest("anchors", "report", "--judge-version", summary.judge)
    return summary.exit_code


@options.command(
    "judgeboard anchors report", "judgeboard anchors report --judge-version 'rag v1' --json", group=anchors_command
)
@options.judge_version(
    help="Judge version: name (newest version), 'name v3' or fingerprint (default: the version that judged the anchors "
    "last)."
)
@options.with_default(
    "--looks",
    type=click.IntRange(1, 10_000),
    default=52,
    help="Number of reports that you plan to make. If the judge does not drift, the probability that any of them shows "
    "drift is at most 5 %.",
)
def anchors_report(judge_version: str | None, looks: int) -> int:
    """Show whether a judge drifts: whether its verdicts on the anchors have changed.

    Compares the newest verdicts with the first ones and with those of the previous run. Makes no model calls. Exit code
    1 if drift is shown, otherwise 0.
    """
    from judgeboard.agreement.anchors import anchor_report

    with options.seen(options.open_store()).reading() as connection:
        result = anchor_report(connection, judge_version=judge_version, looks=looks)
    options.show(result, _anchor_lines(result))
    return result.exit_code


def _anchor_lines(result: "AnchorReport") -> Iterator[str]:
    yield result.sentence
    for comparison in result.comparisons:
        yield from comparison.sentences
    yield from result.warnings
