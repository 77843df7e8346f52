"""The group `test controls`: control answers, and how a judge scores them."""

from functools import partial

import click

from judgeboard.cli import asked_judge, asking, options
from judgeboard.store.filters import RowFilter

_kinds = click.option(
    "--kinds",
    metavar="KIND,…",
    help="Kinds of control answers, separated by commas (default: all). Known to be worse: passages_removed, "
    "other_answer, truncated, numbers_changed. Equally good: passages_reordered, hedges_removed. Worthless: constant. "
    "With a text that orders a verdict: injected, or injected_answer_high, injected_answer_low, injected_passage_high, "
    "injected_passage_low.",
)


@options.group(
    "judgeboard test controls make",
    "judgeboard test controls judge --judge rag --model gpt-4o-mini",
    "judgeboard test health rag",
    help="""Make and judge control answers. They are changed copies of logged answers. Each copy is known to be worse
than its original, or equally good, or it orders the judge to give a certain verdict. If you have answers with known
labels, you need no control answers. Run instead:
`judgeboard import FILE`, `judgeboard import FILE --kind grades --set annotator=known`, `judgeboard judge NAME`,
`judgeboard agreement`.

Control answers show what a judge does not notice. They do not appear in queues, trends or agreement.
""",
)
def controls_command() -> None:
    """Make and judge control answers."""


@options.command(
    "judgeboard test controls make --kinds truncated,hedges_removed --n 100", group=controls_command
)
@_kinds
@options.with_default(
    "--n", type=click.IntRange(1), default=50, help="Number of control answers per kind."
)
@options.with_default(
    "--seed", type=int, default=0, help="Seed of the selection. Another seed selects other answers."
)
@options.where
def make(kinds: str | None, n: int, seed: int, where: RowFilter) -> None:
    """Make control answers from logged answers. Running it twice adds nothing."""
    from judgeboard.methods.control_answers.run import make_control_answers

    results = make_control_answers(
        options.open_store(),
        kinds=options.listed(kinds or ""),
        n=n,
        seed=seed,
        where=where,
        actor=options.actor(),
    )
    lines = []
    for each in results:
        fewer = (
            "" if each.made + each.known >= n else f"; suitable answers: {each.made + each.known:,}"
        )
        stored_words = f", {each.known:,} stored before" if each.known else ""
        lines.append(f"{each.kind}: {each.made:,} made{stored_words}{fewer}")
    if any(each.made + each.known for each in results):
        lines.append("To judge them: `judgeboard test controls judge --judge KIND`")
    options.show({"made": sum(each.made for each in results), "kinds": results}, lines)


@options.command(
    "judgeboard test controls judge strict",
    "judgeboard test controls judge --judge rag --model gpt-4o-mini",
    group=controls_command,
)
@asked_judge.named_judge
@_kinds
@asked_judge.judge_kind()
@asking.stored_judge_options
def judge(
    named: str | None,
    kinds: str | None,
    kind: str | None,
    max_cost: float | None,
    **fields: object,
) -> int:
    """Judge the control answers and their originals. Originals that this judge has judged already are not judged again.

    To get the same judge version, give NAME, a judge of judgeboard.toml, or the options of your
    `judgeboard judge` command. To continue an interrupted run, repeat the command. For exit codes
    see `judgeboard judge`.
    """
    from judgeboard.cli.judge import summary_lines
    from judgeboard.methods.control_answers.run import judge_control_answers
    from judgeboard.runs.judging import make_judge
    from judgeboard.runs.named_judges import judge_keywords

    kind = asked_judge.judge_of_options(named, kind, fields)
    keywords = judge_keywords(options.open_store, kind, fields)
    store = options.open_store()
    judge_to_ask = make_judge(
        kind, **asking.at_last_address(store, partial(make_judge, kind), keywords)
    )
    with asking.run_options(fields, max_cost) as how:
        summary = judge_control_answers(
            store, judge_to_ask, kinds=options.listed(kinds or ""), **how
        )
    options.show(summary, summary_lines(summary))
    if summary.ok:
        options.suggest("test", "health", summary.judge)
    return summary.exit_code
