"""The command `pull`: the history of another tool, with its scores and annotations."""

from datetime import datetime
from typing import TYPE_CHECKING

import click

from judgeboard.cli import options
from judgeboard.cli.push import as_seconds
from judgeboard.text import counted

if TYPE_CHECKING:
    from judgeboard.imports.history.pull import PullResult

TOOLS = ("phoenix", "mlflow", "langfuse", "langsmith")


@options.command(
    "judgeboard pull phoenix --url http://localhost:6006 --project default",
    "judgeboard pull mlflow --project support --since 2026-11-01",
    "judgeboard pull langfuse --source shop",
)
@click.argument("tool", type=click.Choice(TOOLS))
@click.option("--url", metavar="URL", help="Address of the tool (default: its own environment variable).")
@click.option(
    "--project",
    metavar="NAME",
    help="Project or experiment (default: `default`; MLflow: `Default`; Langfuse: the project of the keys).",
)
@options.since("Read traces from this day or time on (UTC), even if pulled before (default: only what is new).")
@options.with_default(
    "--again",
    metavar="DURATION",
    default="1d",
    callback=as_seconds,
    help="Also read traces that began up to this long before the last pull, for their later scores.",
)
@click.option("--source", metavar="NAME", help="Source of the answers (default: TOOL:PROJECT).")
def pull_command(
    tool: str, url: str | None, project: str | None, since: datetime | None, again: float, source: str | None
) -> int:
    """Import traces of another tool as answers, with its scores and annotations as verdicts and grades.

    Imports what is new since the last pull. A pull that was interrupted continues; a pull without news changes nothing.
    Traces that Judgeboard also received keep their answer. Scores that Judgeboard has pushed are left out.

    The keys and addresses are those of `judgeboard push`.

    Exit code 1: some items could not be used, or the tool did not answer.
    """
    from judgeboard.imports.history.pull import pull

    store = options.open_store(create=True)
    with options.progress("pulled") as update:
        result = pull(
            store,
            tool,
            project=project,
            since=since,
            again_s=again,
            source=source,
            address=url,
            actor=options.actor(),
            progress=lambda traces: update(completed=traces),
        )
    options.show(result, _lines(result))
    return 1 if result.rejected or result.stopped else 0


def _lines(result: "PullResult") -> list[str]:
    words = {"responses": "answers", "verdicts": "verdicts", "grades": "grades"}
    new = ", ".join(f"{result.new[kind]:,} {word}" for kind, word in words.items())
    new += f", {result.new['feedback']:,} feedback"
    read = counted(result.traces, "trace")
    lines = [f"{result.tool} {result.project}: {read} read; new: {new}; source: {result.source}"]
    if result.differing:
        lines.append(f"not changed: {counted(result.differing, 'item')} with other content than stored")
    lines += [
        f"not used: {counted(count, 'item')}: {reason} (for example trace {result.examples[reason]})"
        for reason, count in sorted(result.rejected.items(), key=lambda item: -item[1])
    ]
    return lines + ([f"stopped: {result.stopped}"] if result.stopped else [])
