"""Pulls the history of a tool: traces become answers, scores become verdicts and grades, as from exports."""

import io
import json
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from judgeboard.domain import Action, Rejected
from judgeboard.errors import BadInput, NotSent
from judgeboard.imports.exports.export import KINDS_OF_EXPORTS
from judgeboard.imports.importing import OpenBatch, import_file
from judgeboard.people.permissions import Actor, check_allowed
from judgeboard.registry.tools import tools
from judgeboard.settings.model import ENVIRONMENT
from judgeboard.store.clock import utc_now
from judgeboard.store.engine import Store
from judgeboard.store.tables import Pull
from judgeboard.store.tools import get_pull, save_pull
from judgeboard.tools.history import History, Page, Window
from judgeboard.tools.http import Http
from judgeboard.tools.target import Refused

QUIET = timedelta(seconds=60)  # younger traces may still get spans
AGAIN_S = 86_400.0  # traces of this time before the last pull are read again: scores come later than traces


def known_histories() -> Mapping[str, type[History]]:
    """Return the `History` class of each tool that can be pulled, by name of the tool."""
    histories = (tool.history for tool in tools() if tool.history is not None)
    return {each.target.name: each for each in histories}


@dataclass(slots=True)
class PullResult:
    """The result of one pull.

    ``traces`` were read, and gave ``new`` records by kind; ``unchanged`` were stored already.
    ``differing`` answers are stored with other content, and were not changed. ``rejected`` counts
    items that cannot be used, by reason; the first of each are named in ``examples``. ``stopped``
    says why the pull stopped early.
    """

    tool: str
    project: str
    source: str
    traces: int = 0
    new: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    unchanged: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    differing: int = 0
    rejected: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    examples: dict[str, str] = field(default_factory=dict)
    stopped: str | None = None

    def reject(self, rejected: Rejected, trace_id: str) -> None:
        """Count an item that cannot be used."""
        if rejected.differs:
            self.differing += 1
            return
        reason = f"{rejected.field}: {rejected.reason}" if rejected.field else rejected.reason
        self.rejected[reason] += 1
        self.examples.setdefault(reason, trace_id)


def pull(
    store: Store,
    tool: str,
    *,
    project: str | None = None,
    since: datetime | None = None,
    again_s: float = AGAIN_S,
    source: str | None = None,
    address: str | None = None,
    actor: Actor = "library",
    environment: Mapping[str, str] = ENVIRONMENT,
    progress: Callable[[int], None] = lambda _traces: None,
    wait: Callable[[float], object] = time.sleep,
    now: datetime | None = None,
) -> PullResult:
    """Import the traces and scores of a tool that were not pulled yet.

    The position is stored after each page, so that the next pull continues a killed pull. A second
    pull changes nothing. Verdicts, grades and feedback that are new or changed are stored; an
    answer never changes. Traces that were also received keep the answer, and get the verdicts and
    grades. Scores that Judgeboard has sent to the tool are left out.

    Args:
        store: The database.
        tool: A name in `known_histories`.
        project: The project or experiment (default: the tool's default).
        since: Traces that began from this time on (default: everything that was not pulled yet).
        again_s: Traces of so many seconds before the last pull are read again, for later scores.
        source: The source of the answers (default: ``TOOL:PROJECT``).
        address: Address of the tool (default: from the tool's environment variable).
        actor: Who pulls.
        environment: Where the keys of the tool are.
        progress: Is called with the number of traces so far.
        wait: Waits some seconds before a request is repeated.
        now: The time of the pull.

    Raises:
        NotAllowed: The actor is neither lead nor admin.
        BadInput: A key is missing, or the tool does not know the project.
    """
    check_allowed(store, actor, Action.IMPORT)
    now = now or utc_now()
    histories = known_histories()
    if tool not in histories:  # of a package that is gone, or cannot be loaded
        raise BadInput(f"there is no tool {tool!r} to pull from; choose {', '.join(histories)}")
    history_of = histories[tool]
    target = history_of.target
    access = target.access(target.find_address(address, environment), environment)
    name = f"{tool} {access.address}"
    result = PullResult(name, project or "", source or "")
    with Http(access, wait) as http:
        try:
            history = history_of(http, project)
            result.project = history.project
            result.source = source or f"{tool}:{history.project}"
            with store.reading() as connection:
                last_pull = get_pull(connection, name, history.project)
            batches = {
                kind: OpenBatch(f"pull {tool} {history.project}") for kind in KINDS_OF_EXPORTS
            }

            def add(page: Page) -> None:
                _import_page(store, result, actor, batches, page)
                progress(result.traces)

            try:
                for window in _windows(last_pull, since, timedelta(seconds=again_s), now):
                    _pull_window(store, history, window, add)
            finally:
                for batch in batches.values():
                    batch.finish(store)
        except NotSent as error:
            result.stopped = str(error)
        except Refused as error:
            raise BadInput(
                f"{name} refuses project {result.project or project!r}: {error}"
            ) from None
    return result


def _windows(pull: Pull, since: datetime | None, again: timedelta, now: datetime) -> list[Pull]:
    """Return the windows to pull: the open window, unless an earlier window is requested, and the time after."""
    is_open = pull.until is not None and (
        since is None or pull.since is None or pull.since <= since
    )
    done_until = _done(pull) if is_open else pull.done_until
    begin = since
    if is_open or since is None:
        last = done_until if since is None else pull.until
        begin = None if last is None else last - again
    new = Pull(
        tool=pull.tool, project=pull.project, done_until=done_until, since=begin, until=now - QUIET
    )
    return [pull, new] if is_open else [new]


def _done(pull: Pull) -> datetime | None:
    """Return the time up to which all is pulled after the open window; a window that begins later leaves a gap."""
    if pull.done_until is not None and pull.since is not None and pull.since > pull.done_until:
        return pull.done_until
    return pull.until


def _import_page(
    store: Store, result: PullResult, actor: Actor, batches: Mapping[str, OpenBatch], page: Page
) -> None:
    """Import the traces of a page; the new records of a kind are one batch of the pull.

    Traces that came another way only give feedback, verdicts and grades.
    """
    traces = page.traces
    if not traces:
        return
    ids = [trace_id for trace_id, rows in traces.items() for _ in rows]
    lines = [json.dumps(row) for rows in traces.values() for row in rows]
    content = "\n".join(lines).encode()

    def reject(rejected: Rejected) -> None:
        result.reject(rejected, ids[rejected.line - 1] if rejected.line <= len(ids) else "")

    for kind, batch in batches.items():
        summary = import_file(
            store,
            io.BytesIO(content),
            kind=kind,
            format="jsonl",
            export=page.export,
            source=result.source,
            newer_counts=True,
            actor=actor,
            name=f"{result.tool} {result.project}",
            batch=batch,
            on_rejected=reject,
        )
        result.new[kind] += summary.new
        result.new["feedback"] += summary.feedback_added
        result.unchanged[kind] += summary.unchanged
    result.traces += len(traces)


def _pull_window(store: Store, history: History, pull: Pull, add: Callable[[Page], None]) -> None:
    if pull.until is None:
        return
    window = Window(pull.since, pull.until)
    again = False
    while True:
        try:
            page = history.page(window, pull.position)
        except Refused:
            if pull.position is None or again:
                raise
            again, pull = True, pull.changed(position=None)  # the tool has forgotten the position
            continue
        add(page)
        if page.next is None:
            pull = pull.changed(done_until=_done(pull), since=None, until=None)
        pull = pull.changed(position=page.next)
        with store.writing() as connection:
            save_pull(connection, pull, utc_now())
        if page.next is None:
            return
