"""LangSmith: runs of a project and their feedback."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any
from uuid import UUID

from judgeboard.errors import NotFound
from judgeboard.imports.exports.entry import objects
from judgeboard.imports.history.pages import History, Names, Page, Row, Window, by_key, is_own, whole_traces
from judgeboard.targets.langsmith import LANGSMITH
from judgeboard.targets.target import Http
from judgeboard.text import iso_z

_MOST = 100  # runs and feedback in one reply
_NAMES = Names("trace_id", "parent_run_id", "start_time", "end_time")
_FIELDS = (
    *("id", "trace_id", "parent_run_id", "name", "run_type", "start_time", "end_time", "inputs", "outputs", "error"),
    *("extra", "tags", "prompt_tokens", "completion_tokens", "total_cost", "dotted_order", "session_id"),
)


class LangsmithHistory(History):
    """A project, by its name."""

    target = LANGSMITH

    def __init__(self, http: Http, project: str | None) -> None:
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
            traces[trace_id] = self._runs_of(trace_id)
        self._add_feedback([run for runs in traces.values() for run in runs])
        return Page("LangSmith runs", traces, _next(reply), _as_received)

    def _runs(self, body: dict[str, Any], cursor: str | None) -> Any:
        common = {"session": [self._session], "select": list(_FIELDS), "limit": _MOST}
        return self.read("POST", "/runs/query", common | body | ({"cursor": cursor} if cursor else {}))

    def _runs_of(self, trace_id: str) -> list[Row]:
        runs: list[Row] = []
        cursor = None
        while True:
            reply = self._runs({"trace": trace_id}, cursor)
            runs += objects(reply.get("runs"))
            cursor = _next(reply)
            if not cursor:
                return runs

    def _add_feedback(self, runs: list[Row]) -> None:
        for start in range(0, len(runs), _MOST):
            some = {str(run.get("id")): run for run in runs[start : start + _MOST]}
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


def _as_received(trace_id: str, runs: Sequence[Row]) -> tuple[str, Sequence[Row]]:
    with suppress(ValueError):
        trace_id = UUID(trace_id).hex
    return trace_id, [run | {"trace_id": trace_id} for run in runs]


def _next(reply: Any) -> str | None:
    cursor = (reply.get("cursors") or {}).get("next")
    return str(cursor) if cursor else None
