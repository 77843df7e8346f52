"""The commands `push` and `pull`: scores to another tool, and the history of another tool."""

import time
from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

from judgeboard.cli import options
from judgeboard.cli.groups import CommandWithArguments
from judgeboard.domain import RuleState
from judgeboard.errors import BadInput
from judgeboard.text import counted, seconds_of

if TYPE_CHECKING:
    from judgeboard.imports.history.pull import PullResult
    from judgeboard.targets.push import PushResult, TargetProgress


TARGETS = ("phoenix", "mlflow", "langfuse", "langsmith", "label-studio", "otlp")
KINDS = ("judgments", "reviews", "gold")


def _as_seconds(_context: click.Context, option: click.Parameter, text: str | None) -> float | None:
    try:
        return None if text is None else seconds_of(text)
    except BadInput as error:
        raise BadInput(f"{option.opts[0]}: {error}") from error


def _kinds(_context: click.Context, option: click.Parameter, text: str) -> tuple[str, ...]:
    kinds = options.listed(text)
    if not kinds or not {*kinds} <= {*KINDS}:
        raise BadInput(f"{option.opts[0]}: choose from {', '.join(KINDS)}, not {text!r}")
    return tuple(kinds)


_url = click.option(
    "--url", "address", metavar="URL", help="Address of the tool (default: its own environment variable)."
)
_chosen = options.decorator(
    options.with_default(
        "--what",
        default=",".join(KINDS),
        metavar="KINDS",
        callback=_kinds,
        help="Kinds to send, separated by commas. gold: adjudications.",
    ),
    options.since("Only what was judged or reviewed from this day or time on (UTC)."),
    click.option(
        "--judge",
        "judges",
        multiple=True,
        metavar="NAME",
        help="Only judgments of this judge. Repeat it for more judges (default: all but imported judgments).",
    ),
    click.option("--source", metavar="NAME", help="Only answers of this source (default: all sources)."),
    click.option("--with-notes", is_flag=True, help="Also send reviewers' notes and corrected answers."),
    _url,
)


@options.group(
    "judgeboard push phoenix --url http://localhost:6006",
    "judgeboard push mlflow --what judgments,gold --since 2026-11-01",
    "judgeboard push add langfuse --every 60s",
    "judgeboard push",
    cls=CommandWithArguments,
)
@click.argument("tool", type=click.Choice(TARGETS), required=False)
@_chosen
@click.option(
    "--every",
    metavar="DURATION",
    callback=_as_seconds,
    help="Push repeatedly until Ctrl-C, for example every 60s (default: push once).",
)
def push_command(tool: str | None, every: float | None, **chosen: Any) -> int:
    """Send judgments, reviews and gold labels to the tool that has the traces. Without a tool, show what each has.

    Sends only what the tool has not got yet. A changed review or a new judgment overwrites the earlier one. Imported
    reviews are not sent. An answer is found by its trace id: its external id, or metadata.trace_id and
    metadata.span_id.

    The keys are in the variables of the tools: PHOENIX_API_KEY, MLFLOW_TRACKING_TOKEN, LANGFUSE_PUBLIC_KEY and
    LANGFUSE_SECRET_KEY, LANGSMITH_API_KEY, LABEL_STUDIO_API_KEY, OTEL_EXPORTER_OTLP_HEADERS. The addresses are in
    PHOENIX_COLLECTOR_ENDPOINT, MLFLOW_TRACKING_URI, LANGFUSE_BASE_URL, LANGSMITH_ENDPOINT, LABEL_STUDIO_URL,
    OTEL_EXPORTER_OTLP_ENDPOINT.

    Exit code 1: the tool refused items, or did not answer. The next push sends them again.
    """
    if tool is None:
        return _show_states()
    from judgeboard.targets.push import REFUSED_AGAIN_S, push

    store = options.open_store()
    refused_again_s = 0.0
    while True:
        with options.progress("pushed") as update:
            result = push(
                store,
                tool,
                **_arguments(chosen),
                refused_again_s=refused_again_s,
                seen=options.seen(store),
                actor=options.actor(),
                progress=lambda done, update=update: update(completed=done),  # type: ignore[misc]
            )
        if every is None or any(result.sent.values()) or result.stopped:
            options.show(result, _lines(result))
        if every is None:
            return 1 if result.refused or result.stopped else 0
        refused_again_s = REFUSED_AGAIN_S
        time.sleep(every)


def _arguments(chosen: dict[str, Any]) -> dict[str, Any]:
    from judgeboard.store.tools import What

    what: list[What] = [What(kind) for kind in chosen["what"]]
    return chosen | {"what": what}


def _lines(result: "PushResult") -> list[str]:
    lines = [f"{result.target}: {', '.join(f'{count:,} {kind}' for kind, count in result.sent.items())} sent"]
    lines += [f"refused: {counted(count, 'item')}: {reason}" for reason, count in result.refused.items()]
    return lines + ([f"stopped: {result.stopped}"] if result.stopped else [])


def _show_states() -> int:
    from judgeboard.store.tools import target_states

    with options.seen(options.open_store()).reading() as connection:
        states = target_states(connection)
    lines = []
    for state in states:
        refused = f", {state.refused:,} refused (last: {state.error})" if state.refused else ""
        lines.append(f"{state.target}  {state.what}: {state.sent:,} sent{refused}, last on {state.last_at:%d %b %Y}")
    options.show({"targets": states}, lines or ["Nothing was sent yet. To send scores: `judgeboard push phoenix`"])
    return 0


@options.command(
    "judgeboard push add phoenix",
    "judgeboard push add langfuse --what reviews,gold --every 5m --name team",
    "judgeboard push add mlflow --source shop --with-notes",
    group=push_command,
)
@click.argument("tool", type=click.Choice(TARGETS))
@click.option("--name", help="Name of the push target (default: the name of the tool).")
@_chosen
@options.with_default(
    "--every",
    metavar="DURATION",
    default="60s",
    callback=_as_seconds,
    help="Time between two pushes, such as 60s or 5m.",
)
def add(tool: str, name: str | None, every: float, **chosen: Any) -> None:
    """Add a push target: workers push to it again and again.

    `judgeboard serve` and `judgeboard worker` push. They read the keys from their environment; keys are not stored.
    Items that the tool refuses are sent again after an hour.
    """
    from judgeboard.targets.push import add_target, target_progress

    store = options.open_store()
    added = add_target(store, tool, name=name, every_s=every, actor=options.actor(), **_arguments(chosen))
    targets = [target for target in target_progress(store) if target.name == added]
    options.show(targets[0], target_lines(targets))
    options.suggest("serve")


@options.command("judgeboard push list", "judgeboard push list --json", group=push_command)
def list_() -> None:
    """List the push targets: what each has, what is waiting, what it refused and why, and the next push."""
    from judgeboard.targets.push import target_progress

    targets = target_progress(options.open_store())
    none = ["There are no push targets yet. To add one: `judgeboard push add TOOL`"]
    options.show({"targets": targets}, target_lines(targets) if targets else none)


def target_lines(targets: "list[TargetProgress]") -> Iterator[str]:
    """Yield push targets as lines for a terminal."""
    for target in targets:
        of = "" if target.source is None else f" of {target.source}"
        notes = ", with notes" if target.with_notes else ""
        yield f"{target.name}: {target.state}; {', '.join(target.what)}{of} to {target.tool} {target.address}{notes}"
        last = f"{target.succeeded_at:%Y-%m-%d %H:%M:%S} UTC" if target.succeeded_at else "never"
        soon = f"{target.next_at:%Y-%m-%d %H:%M:%S} UTC" if target.next_at else "none"
        yield f"  pushed: {target.pushed:,}; waiting: {target.waiting:,}; last success: {last}; next push: {soon}"
        if target.refused:
            yield f"  refused: {counted(target.refused, 'item')}; the latest reason: {target.reason}"
        if target.problem:
            yield f"  problem: {target.problem}"
        if target.state == "no worker":
            yield "  No process pushes: start `judgeboard serve` or `judgeboard worker`."


def _change(name: str, state: RuleState) -> None:
    from judgeboard.targets.push import change_target

    change_target(options.open_store(), name, state, options.actor())


options.state_commands(
    push_command,
    "phoenix",
    _change,
    pause="Pause a push target. A push that is under way stops before its next request.",
    resume="Resume a push target. The next push starts at once, with what came while it was paused.",
    remove="Remove a push target. The tool keeps what it has, and the name is free again.",
)


TOOLS = ("phoenix", "mlflow", "langfuse", "langsmith")


@options.command(
    "judgeboard pull phoenix --url http://localhost:6006 --project default",
    "judgeboard pull mlflow --project support --since 2026-11-01",
    "judgeboard pull langfuse --source shop",
)
@click.argument("tool", type=click.Choice(TOOLS))
@_url
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
    callback=_as_seconds,
    help="Also read traces that began up to this long before the last pull, for their later scores.",
)
@click.option("--source", metavar="NAME", help="Source of the answers (default: TOOL:PROJECT).")
def pull_command(
    tool: str, address: str | None, project: str | None, since: datetime | None, again: float, source: str | None
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
            address=address,
            actor=options.actor(),
            progress=lambda traces: update(completed=traces),
        )
    options.show(result, _pull_lines(result))
    return 1 if result.rejected or result.stopped else 0


def _pull_lines(result: "PullResult") -> list[str]:
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
