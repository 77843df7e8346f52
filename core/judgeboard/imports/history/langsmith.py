"""LangSmith: runs of a project and their feedback."""

from functools import partial
from typing import Any

from judgeboard.errors import NotFound
from judgeboard.imports.exports.entry import objects
from judgeboard.imports.history.pages import (
    History,
    JsonRow,
    Names,
    Page,
    Window,
    by_key,
    rows_of_pages,
    whole_traces,
)
from judgeboard.store.filters import value_at
from judgeboard.store.statements import batches
from judgeboard.targets.langsmith import LANGSMITH
from judgeboard.targets.target import Connection, is_own
from judgeboard.text import iso_z

_MOST = 100  # runs and feedback in one reply
_CURSOR = ("cursors", "next")  # where a reply has the position of the next page
_NAMES = Names("trace_id", "parent_run_id", "start_time", "end_time")
_FIELDS = (
    *("id", "trace_id", "parent_run_id", "name", "run_type", "start_time", "end_time", "inputs", "outputs", "error"),
    *("extra", "tags", "prompt_tokens", "completion_tokens", "total_cost", "dotted_order", "session_id"),
)


class LangsmithHistory(History):
    """A project, by its name."""

    target = LANGSMITH

    def __init__(self, http: Connection, project: str | None) -> None:
        super().__init__(http, project)
        sessions = objects(self.get("/sessions", name=self.project, limit=1))
        if not sessions:
            raise NotFound(f"LangSmith has no project {self.project!r}: name it with --project")
        self._session = str(sessions[0]["id"])

    def page(self, window: Window, position: str | None) -> Page:
        """Return the traces at a position, newest first."""
        bounds = [f'lt(start_time, "{iso_z(window.until)}")']
        body: dict[str, Any] = {"order": "desc"}
        if window.since is not None:
            bounds.append(f'gte(start_time, "{iso_z(window.since)}")')
            body["start_time"] = iso_z(window.since)
        body["filter"] = bounds[0] if len(bounds) == 1 else f"and({', '.join(bounds)})"
        reply = self._runs(body, position)
        traces, divided = whole_traces(objects(reply.get("runs")), _NAMES)
        for trace_id in divided:
            traces[trace_id] = rows_of_pages(partial(self._runs, {"trace": trace_id}), "runs", *_CURSOR)
        self._add_feedback([run for runs in traces.values() for run in runs])
        return Page("LangSmith runs", traces, value_at(reply, _CURSOR) or None)

    def _runs(self, body: dict[str, Any], cursor: str | None) -> Any:
        common = {"session": [self._session], "select": list(_FIELDS), "limit": _MOST}
        return self.read("POST", "/runs/query", common | body | ({"cursor": cursor} if cursor else {}))

    def _add_feedback(self, runs: list[JsonRow]) -> None:
        for batch in batches(runs, _MOST):
            some = {str(run.get("id")): run for run in batch}
            offset = 0
            while True:
                reply = objects(self.get("/feedback", run=list(some), limit=_MOST, offset=offset))
                for run_id, entries in by_key(reply, "run_id").items():
                    own = [each for each in entries if not is_own((each.get("feedback_source") or {}).get("metadata"))]
                    if run_id in some:
                        some[run_id].setdefault("feedback", []).extend(own)
                offset += len(reply)
                if len(reply) < _MOST:
                    break
