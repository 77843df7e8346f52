"""The command `align`: better instructions for a judge, tested on labels of people."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from judgeboard.cli import options
from judgeboard.cli.asking import EXAMPLE_MODEL, call_options, refuse_given, run_options
from judgeboard.errors import MissingOption
from judgeboard.text import counted, money

if TYPE_CHECKING:
    from judgeboard.methods.alignment.run import Alignment


@options.command(
    "judgeboard align --judge-version rag --model gpt-4o",
    "judgeboard align --judge-version 'rag v2' --model gpt-4o --candidates 3 --max-cost 5 --json",
    "judgeboard align --judge-version 'rag v2' --accept 'rag candidate v1'",
)
@options.judge_version(
    required=True,
    help="Judge version of the kind rag or grade: name (newest version), 'name v3' or fingerprint.",
)
@click.option(
    "--model",
    help="Chat model that proposes changed instructions. Choose a strong model. Required without --accept.",
)
@options.with_default(
    "--candidates",
    type=click.IntRange(1, 50),
    default=5,
    help="Number of changed prompts that the model proposes.",
)
@click.option(
    "--judge-base-url",
    help="Address of the judge's endpoint, with /v1 (default: the address at which the judge judged last).",
)
@click.option(
    "--accept",
    metavar="CANDIDATE",
    help="Accept this candidate, for example 'rag candidate v1', as the next version of the judge. The latest test of "
    "the candidate must have shown that it is better. Makes no model calls.",
)
@call_options
@options.with_default(
    "--max-output",
    type=click.IntRange(1),
    default=2048,
    help="Maximum number of tokens of a proposal.",
)
def align_command(
    judge_version: str,
    accept: str | None,
    candidates: int,
    judge_base_url: str | None,
    max_cost: float | None,
    max_output: int,
    **fields: object,
) -> int:
    """Let a model improve the instructions of a judge. Labels of people show whether the judge is better with them.

    An evidence group has the answers to one question from the same passages. Each group has one
    role: held out (50 % of the groups), develop (30 %) or examples (20 %). Groups drawn by
    `judgeboard test anchors make` have no role. The model reads the develop answers on which the
    judge and people differ. It proposes changed instructions, the candidates. Each candidate judges
    all develop answers. The best candidate then judges the held-out answers, once. The verdicts of
    candidates are not stored. The page Judges shows the result. If the best candidate is better
    than the judge, a lead can accept it on that page or with --accept.

    Exit code 0: the candidate is better; 1: it is worse; 2: the test cannot decide, and the output
    says why. The interval and p are corrected for the number of tests on the same held-out labels.
    In a --replies file, the proposals have the response_ids "candidate 1", "candidate 2" and so on.
    The verdict of a candidate on the answer a7 has the response_id "candidate 1/a7".
    """
    from judgeboard.methods.alignment.run import accept_latest, align
    from judgeboard.runs.addresses import last_address
    from judgeboard.store.judge_versions import get_version
    from judgeboard.store.overview import count_judgments
    from judgeboard.store.runs import Counts

    if accept is not None:
        context = click.get_current_context()
        unread = {each.name for each in context.command.params if each.name} - {
            "judge_version",
            "accept",
            "db",
            "json",
        }
        refuse_given(context, "--accept makes no model calls", unread)
        store = options.open_store()
        accepted = accept_latest(store, judge_version, accept, options.actor())
        with store.reading() as connection:
            judgments = sum(
                count_judgments(connection).get(accepted.id, Counts()).by_status.values()
            )
        has = f"has {counted(judgments, 'judgment')}" if judgments else "has judged nothing yet"
        options.show(accepted, [f"{accept} is accepted: it is {accepted.title}, which {has}."])
        options.suggest("versions", "prompt", accepted.title)
        return 0
    if fields["model"] is None:
        raise MissingOption("--model is required, except with --accept", "--model", EXAMPLE_MODEL)
    store = options.open_store()
    with store.reading() as connection:
        last = last_address(connection, get_version(connection, judge_version).id)
    judge: dict[str, object] = {
        "base_url": judge_base_url or (fields["base_url"] if last is None else None),
        "replies": fields["replies"],
        "concurrency": fields["concurrency"],
        "prices": fields["prices"],
        "timeout_s": fields["timeout_s"],
    }
    with run_options(fields, max_cost) as run:
        result = align(
            store,
            judge_version,
            candidates=candidates,
            max_output=max_output,
            model=fields,
            judge=judge,
            **run,
        )
    options.show(result, _alignment_lines(result))
    return result.exit_code


def _alignment_lines(result: "Alignment") -> Iterator[str]:
    from judgeboard.formats.output import Column, Table, text_lines
    from judgeboard.measure.notes import note

    notes = list(result.notes)
    if result.held_out is not None:
        notes += (*result.held_out.caveats, *result.held_out.next)
        notes.append(note("align_changed", mended=len(result.mended), broken=len(result.broken)))
        notes.append(note("align_prompt", title=result.held_out.sides[1]))
        if result.exit_code == 0:
            notes.append(note("align_accept", judge=result.judge, title=result.held_out.sides[1]))
    if anchors := result.left_out.get("anchors"):
        notes.append(note("align_anchors", n=anchors))
    yield from (each.text for each in notes)
    counts = {"Labels": result.labelled, "Reason of people": result.differences}
    tables = [
        Table((Column(name), Column("Answers", "count")), tuple(each.items()))
        for name, each in counts.items()
    ]
    if result.candidates:
        columns = (
            Column("Candidate"),
            Column("Right on develop", "count"),
            Column("Refused"),
            Column("Why"),
        )
        rows = [
            (str(each.number), each.right, each.refused, each.why) for each in result.candidates
        ]
        tables.append(Table(columns, ((result.judge, result.right, None, None), *rows)))
        yield f"cost {money(result.cost_micro)}"
    for table in tables:
        if table.rows:
            yield from ("", *text_lines(table))
