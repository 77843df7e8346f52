"""The command `push`: scores back to the tool where the team looks."""

import time
from typing import TYPE_CHECKING

import click

from judgeboard.cli import options
from judgeboard.errors import BadInput
from judgeboard.text import as_utc, counted

if TYPE_CHECKING:
    from judgeboard.targets.push import PushResult

TARGETS = ("phoenix", "mlflow", "langfuse", "langsmith", "label-studio", "otlp")
_REFUSED_AGAIN_S = 3600  # what a tool refuses it mostly refuses for good: not every minute again
KINDS = ("judgments", "reviews", "gold")


@options.command(
    "judgeboard push --to phoenix",
    "judgeboard push --to mlflow --what judgments,gold --since 2026-11-01",
    "judgeboard push --to langfuse --every 60",
    "judgeboard push",
)
@click.option("--to", type=click.Choice(TARGETS), help="Tool that gets the scores (default: show what each tool has).")
@options.with_default(
    "--what",
    default=",".join(KINDS),
    metavar="KINDS",
    help="Kinds to send, separated by commas. gold: adjudications.",
)
@click.option("--since", metavar="TIME", help="Only what was judged or reviewed from this day or time on (UTC).")
@click.option(
    "--judge",
    "judges",
    multiple=True,
    metavar="NAME",
    help="Only judgments of this judge. Repeat it for more judges (default: all but imported judgments).",
)
@click.option("--with-notes", is_flag=True, help="Also send reviewers' notes and corrected answers.")
@click.option("--address", metavar="URL", help="Address of the tool (default: the tool's own environment variable).")
@click.option("--every", type=click.IntRange(1), metavar="SECONDS", help="Push again and again until Ctrl-C.")
def push_command(
    to: str | None,
    what: str,
    since: str | None,
    judges: tuple[str, ...],
    with_notes: bool,
    address: str | None,
    every: int | None,
) -> int:
    """Send judgments, reviews and gold labels to the tool that has the traces.

    Sends only what the tool has not got yet. A changed review or a new judgment overwrites the earlier one. Imported
    reviews are not sent. An answer is found by its trace id: its external id, or metadata.trace_id and
    metadata.span_id.

    The keys are those of the tools: PHOENIX_API_KEY, MLFLOW_TRACKING_TOKEN, LANGFUSE_PUBLIC_KEY and
    LANGFUSE_SECRET_KEY, LANGSMITH_API_KEY, LABEL_STUDIO_API_KEY, OTEL_EXPORTER_OTLP_HEADERS. So are the addresses:
    PHOENIX_COLLECTOR_ENDPOINT, MLFLOW_TRACKING_URI, LANGFUSE_BASE_URL, LANGSMITH_ENDPOINT, LABEL_STUDIO_URL,
    OTEL_EXPORTER_OTLP_ENDPOINT.

    Exit code 1: the tool refused items, or did not answer. The next push sends them again.
    """
    if to is None:
        return _show_states()
    from judgeboard.store.pushed import What
    from judgeboard.targets.push import push

    kinds = options.listed(what)
    unknown = [kind for kind in kinds if kind not in KINDS]
    if unknown or not kinds:
        raise BadInput(f"--what: choose from {', '.join(KINDS)}, not {what!r}")
    try:
        begin = None if since is None else as_utc(since)
    except ValueError as error:
        raise BadInput(f"--since: {error}") from error
    store = options.open_store()
    refused_again_s = 0
    while True:
        with options.progress("pushed") as update:
            result = push(
                store,
                to,
                what=[What(kind) for kind in kinds],
                since=begin,
                judges=judges,
                with_notes=with_notes,
                address=address,
                refused_again_s=refused_again_s,
                seen=options.seen(store),
                actor=options.actor(),
                progress=lambda done, update=update: update(completed=done),  # type: ignore[misc]
            )
        if every is None or any(result.sent.values()) or result.stopped:
            options.show(result, _lines(result))
        if every is None:
            return 1 if result.refused or result.stopped else 0
        refused_again_s = _REFUSED_AGAIN_S
        time.sleep(every)


def _lines(result: "PushResult") -> list[str]:
    lines = [f"{result.target}: {', '.join(f'{count:,} {kind}' for kind, count in result.sent.items())} sent"]
    lines += [f"refused: {counted(count, 'item')}: {reason}" for reason, count in result.refused.items()]
    return lines + ([f"stopped: {result.stopped}"] if result.stopped else [])


def _show_states() -> int:
    from judgeboard.store.pushed import target_states

    with options.seen(options.open_store()).reading() as connection:
        states = target_states(connection)
    lines = []
    for state in states:
        refused = f", {state.refused:,} refused (last: {state.error})" if state.refused else ""
        lines.append(f"{state.target}  {state.what}: {state.sent:,} sent{refused}, last on {state.last_at:%d %b %Y}")
    options.show({"targets": states}, lines or ["nothing was sent yet; send scores: judgeboard push --to phoenix"])
    return 0
