"""The commands `push` and `pull`: scores to another tool, and the history of another tool."""

import time
from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, TypedDict, Unpack

import click

from judgeboard.cli import options
from judgeboard.errors import BadInput
from judgeboard.registry.tools import pull_names, push_names
from judgeboard.reports.terminal import progress
from judgeboard.text import counted, seconds_of

if TYPE_CHECKING:
    from judgeboard.store.tools import What

    class PushKeywords(TypedDict):
        """The values of `push_options`: arguments of `push` and of `add_target`."""

        what: tuple[What, ...]
        since: datetime | None
        judges: tuple[str, ...]
        source: str | None
        with_notes: bool
        address: str | None


_FIRST = ("phoenix", "mlflow", "langfuse", "langsmith", "label-studio", "otlp")
"""The order of the tools in helps; others follow."""


class ToolChoice(click.Choice[str]):
    """The names of tools, read when the help or a name needs the names, because other packages add tools."""

    def __init__(self, names: Callable[[], list[str]]) -> None:
        # Not click's own, which reads the names at once.
        self._names, self.case_sensitive = names, True

    @property
    def choices(self) -> tuple[str, ...]:  # type: ignore[override]  # click never changes it
        """The names in the order of helps."""
        names = set(self._names())
        return tuple(name for name in _FIRST if name in names) + tuple(
            sorted(names.difference(_FIRST))
        )


TARGETS = ToolChoice(push_names)
KINDS = ("judgments", "reviews", "gold")


def as_seconds(_context: click.Context, option: click.Parameter, text: str | None) -> float | None:
    """Return the seconds of a duration such as 60s or 5m."""
    return None if text is None else seconds_of(text, option.opts[0])


def _kinds(_context: click.Context, option: click.Parameter, text: str) -> "tuple[What, ...]":
    from judgeboard.store.tools import What

    kinds = options.listed(text)
    if not kinds or not {*kinds} <= {*KINDS}:
        raise BadInput(f"{option.opts[0]}: choose from {', '.join(KINDS)}, not {text!r}")
    return tuple(What(kind) for kind in kinds)


_url = click.option(
    "--url",
    "address",
    metavar="URL",
    help="Address of the tool (default: its own environment variable).",
)
push_options = options.decorator(
    options.with_default(
        "--what",
        default=",".join(KINDS),
        metavar="KINDS",
        callback=_kinds,
        help=f"Kinds to send, separated by commas: {', '.join(KINDS)} (default: all). gold: adjudications.",
    ),
    options.since("Only what was judged or reviewed from this day or time on (UTC)."),
    click.option(
        "--judge",
        "judges",
        multiple=True,
        metavar="NAME",
        help="Only judgments of this judge. Repeat it for more judges (default: all but imported judgments).",
    ),
    click.option(
        "--source", metavar="NAME", help="Only answers of this source (default: all sources)."
    ),
    click.option(
        "--with-notes", is_flag=True, help="Also send reviewers' notes and corrected answers."
    ),
    _url,
)


@options.command(
    "judgeboard push phoenix --url http://localhost:6006",
    "judgeboard push mlflow --what judgments,gold --since 2026-11-01",
    "judgeboard push",
)
@click.argument("tool", type=TARGETS, required=False)
@push_options
@click.option(
    "--every",
    metavar="DURATION",
    callback=as_seconds,
    help="Push repeatedly until Ctrl-C, for example every 60s (default: push once).",
)
def push_command(tool: str | None, every: float | None, **keywords: "Unpack[PushKeywords]") -> int:
    """Send judgments, reviews and gold labels to a tool. Without TOOL, show what was sent.

    TOOL is the tool that has the traces of the answers. The command sends only what this tool has
    not got yet. A changed review or a new judgment overwrites the earlier one. Imported reviews are
    not sent. The trace of an answer is found by its trace id: the external id of the answer, or
    metadata.trace_id. The span is found by metadata.span_id.

    The keys are in the variables of the tools: PHOENIX_API_KEY, MLFLOW_TRACKING_TOKEN,
    LANGFUSE_PUBLIC_KEY and LANGFUSE_SECRET_KEY, LANGSMITH_API_KEY, LABEL_STUDIO_API_KEY,
    OTEL_EXPORTER_OTLP_HEADERS. The addresses are in PHOENIX_COLLECTOR_ENDPOINT,
    MLFLOW_TRACKING_URI, LANGFUSE_BASE_URL, LANGSMITH_ENDPOINT, LABEL_STUDIO_URL,
    OTEL_EXPORTER_OTLP_ENDPOINT.

    Exit code 1: the tool refused items, or did not answer. The next push sends the refused and the
    missing items again.
    """
    if tool is None:
        from judgeboard.store.tools import target_states

        with options.reading() as connection:
            states = target_states(connection)
        lines = []
        for state in states:
            refusals = f", {state.refused:,} refused (last: {state.error})" if state.refused else ""
            lines.append(
                f"{state.target}  {state.what}: {state.sent:,} sent{refusals}, last on {state.last_at:%d %b %Y}"
            )
        options.show(
            {"targets": states},
            lines or ["Nothing was sent yet. To send scores: `judgeboard push phoenix`"],
        )
        return 0
    from judgeboard.tools.push import REFUSED_AGAIN_S, push

    store = options.open_store()
    refused_again_s = 0.0
    while True:
        with progress("pushed") as update:
            result = push(
                store,
                tool,
                **keywords,
                refused_again_s=refused_again_s,
                seen=options.seen(store),
                actor=options.actor(),
                progress=lambda done, update=update: update(completed=done),  # type: ignore[misc]
            )
        if every is None or any(result.sent.values()) or result.stopped:
            counts = ", ".join(f"{count:,} {kind}" for kind, count in result.sent.items())
            lines = [f"{result.target}: {counts} sent"]
            lines += [
                f"refused: {counted(count, 'item')}: {reason}"
                for reason, count in result.refused.items()
            ]
            lines += [f"stopped: {result.stopped}"] if result.stopped else []
            options.show(result, lines)
        if every is None:
            return 1 if result.refused or result.stopped else 0
        refused_again_s = REFUSED_AGAIN_S
        time.sleep(every)


@options.command(
    "judgeboard pull phoenix --url http://localhost:6006 --project default",
    "judgeboard pull mlflow --project support --since 2026-11-01",
    "judgeboard pull langfuse --source shop",
)
@click.argument("tool", type=ToolChoice(pull_names))
@_url
@click.option(
    "--project",
    metavar="NAME",
    help="Project or experiment (default: `default`; MLflow: `Default`; Langfuse: the project of the keys).",
)
@options.since(
    "Read traces from this day or time on (UTC), even if they were pulled before (default: only what is new)."
)
@options.with_default(
    "--again",
    metavar="DURATION",
    default="1d",
    callback=as_seconds,
    help="Also read again the traces that began up to this long before the last pull, because they may have got "
    "scores since.",
)
@click.option("--source", metavar="NAME", help="Source of the answers (default: TOOL:PROJECT).")
def pull_command(
    tool: str,
    address: str | None,
    project: str | None,
    since: datetime | None,
    again: float,
    source: str | None,
) -> int:
    """Import traces, scores and annotations of a tool.

    Traces become answers, scores become verdicts, and annotations become grades.

    The command imports what is new since the last pull. If the last pull was interrupted, it
    continues. If nothing is new, nothing changes. If Judgeboard has already received a trace
    itself, the answer of this trace is kept. Scores that Judgeboard has pushed are left out.

    The keys and addresses are those of `judgeboard push`.

    Exit code 1: some items could not be used, or the tool did not answer.
    """
    from judgeboard.tools.pull import pull

    store = options.open_store(create=True)
    with progress("pulled") as update:
        result = pull(
            store,
            tool,
            project=project,
            since=since,
            again_s=again,
            source=source,
            address=address,
            actor=options.actor(),
            progress=lambda traces: update(completed=traces),
        )
    words = {"responses": "answers", "verdicts": "verdicts", "grades": "grades"}
    new = ", ".join(f"{result.new[kind]:,} {word}" for kind, word in words.items())
    new += f", {result.new['feedback']:,} feedback"
    read = counted(result.traces, "trace")
    lines = [f"{result.tool} {result.project}: {read} read; new: {new}; source: {result.source}"]
    if result.differing:
        lines.append(
            f"not changed: {counted(result.differing, 'item')} with other content than stored"
        )
    lines += [
        f"not used: {counted(count, 'item')}: {reason} (for example trace {result.examples[reason]})"
        for reason, count in sorted(result.rejected.items(), key=lambda item: -item[1])
    ]
    options.show(result, lines + ([f"stopped: {result.stopped}"] if result.stopped else []))
    return 1 if result.rejected or result.stopped else 0
