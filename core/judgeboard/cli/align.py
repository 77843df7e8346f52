"""The command `align`: test changed prompts of a judge on labels of people."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from judgeboard.cli import options
from judgeboard.cli.asking import call_options, run_options
from judgeboard.text import counted, money

if TYPE_CHECKING:
    from judgeboard.methods.alignment import Alignment


@options.command(
    "judgeboard align --judge-version rag --model gpt-4o",
    "judgeboard align --judge-version 'rag v2' --model gpt-4o --candidates 3 --max-cost 5 --json",
)
@options.judge_version(
    required=True, help="Judge version of the kind rag or grade: a fingerprint, 'rag v1', or a name for its newest."
)
@click.option(
    "--model", required=True, help="Chat model that proposes changed instructions. It should be a strong one."
)
@options.with_default(
    "--candidates", type=click.IntRange(1, 50), default=5, help="Number of changed prompts that the model proposes."
)
@click.option("--judge-base-url", help="Address of the judge's endpoint, with /v1 (default: --base-url).")
@call_options
@options.with_default(
    "--max-output", type=click.IntRange(1), default=2048, help="Maximum number of tokens of a proposal."
)
def align_command(
    judge_version: str,
    candidates: int,
    judge_base_url: str | None,
    max_cost: float | None,
    max_output: int,
    **chosen: Any,
) -> int:
    """Let a model improve a judge's instructions, and test the best of them on held-out labels.

    Each evidence group has one role: held out (half of them), develop (30 %) or examples (20 %). The model sees develop
    answers on which the judge and people differ. Evidence groups of anchors have no role. Candidates are compared on
    develop labels, and the best one once on held-out labels. Each candidate judges all develop answers. The candidate's
    verdicts are not stored. The page Judges shows the result, and a lead accepts the candidate there.

    Exit code 0: the candidate is better; 1: worse; 2: not shown, with the reason. Looks at the same held-out labels are
    counted: the interval and p are corrected for their number. With --replies, the response ids are "candidate 1" for
    the model, and "candidate 1/ID" for the judge's verdict on the answer ID.
    """
    from judgeboard.methods.alignment import align

    shared = {name: chosen[name] for name in ("replies", "concurrency", "prices", "timeout_s")}
    model = {name: chosen[name] for name in ("model", "provider", "base_url")} | shared
    judge = {"base_url": judge_base_url or chosen["base_url"]} | shared
    store = options.open_store()
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
    options.show(result, _lines(result))
    return result.exit_code


def _lines(result: "Alignment") -> Iterator[str]:
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
        yield f"To read the prompt: judgeboard prompt '{result.held_out.second}'"
