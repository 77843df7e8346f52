"""Langfuse: observations and scores. Servers of version 3 without these routes give whole traces instead."""

from functools import partial
from typing import Any

from judgeboard.imports.exports.entry import objects
from judgeboard.imports.exports.langfuse import trace_of_score
from judgeboard.imports.history.pages import (
    History,
    JsonRow,
    Names,
    Page,
    QueryValue,
    Window,
    rows_of_pages,
    whole_traces,
)
from judgeboard.store.filters import value_at
from judgeboard.store.statements import batches
from judgeboard.targets.langfuse import LANGFUSE
from judgeboard.targets.target import Connection, Refused, is_own

_OBSERVATIONS, _TRACES, _SCORES = 500, 50, 100
_FIELDS = "core,basic,time,io,metadata,model,usage,trace_context"
_NAMES = Names("traceId", "parentObservationId", "startTime", "endTime")
_CURSOR = ("meta", "cursor")  # where a reply has the position of the next page
_NOT_FOUND = 404
_OLD = "page "  # begins the positions of servers that give whole traces


class LangfuseHistory(History):
    """The project of the keys."""

    target = LANGFUSE

    def __init__(self, http: Connection, project: str | None) -> None:
        own = objects(self._projects(http))
        super().__init__(http, project or (str(own[0].get("name") or own[0].get("id")) if own else None))

    @staticmethod
    def _projects(http: Connection) -> Any:
        content = http.send("GET", "/api/public/projects")
        return content.get("data") if isinstance(content, dict) else None

    def page(self, window: Window, position: str | None) -> Page:
        """Return the traces at a position, newest first; on older servers, oldest first."""
        if position is None or not position.startswith(_OLD):
            try:
                return self._of_observations(window, position)
            except Refused as error:
                if error.status != _NOT_FOUND or position is not None:
                    raise
        return self._of_traces(window, int((position or f"{_OLD}1").removeprefix(_OLD)))

    def _of_observations(self, window: Window, cursor: str | None) -> Page:
        times = window.named("fromStartTime", "toStartTime")
        reply = self._observations(cursor, **times)
        traces, divided = whole_traces(objects(reply.get("data")), _NAMES)
        for trace_id in divided:
            read = partial(self._observations, traceId=trace_id)
            traces[trace_id] = rows_of_pages(read, "data", *_CURSOR)
        scores = self._scores(list(traces))
        for trace_id, rows in traces.items():
            root = next((row for row in rows if not row.get("parentObservationId")), rows[0])
            root["scores"] = scores.get(trace_id, [])
        return Page("Langfuse observations", traces, value_at(reply, _CURSOR))

    def _observations(self, cursor: str | None, **query: QueryValue) -> Any:
        path = "/api/public/v2/observations"
        return self.get(path, fields=_FIELDS, limit=_OBSERVATIONS, cursor=cursor, **query)

    def _scores(self, trace_ids: list[str]) -> dict[str, list[JsonRow]]:
        scores: dict[str, list[JsonRow]] = {}
        for ids in batches(trace_ids, _TRACES):
            read = partial(self._scores_at, ",".join(ids))
            for score in rows_of_pages(read, "data", *_CURSOR):
                of_trace = trace_of_score(score)
                if of_trace and not is_own(score.get("metadata")):
                    scores.setdefault(of_trace, []).append(score)
        return scores

    def _scores_at(self, trace_ids: str, cursor: str | None) -> Any:
        fields = "details,subject,annotation"
        return self.get("/api/public/v3/scores", traceId=trace_ids, fields=fields, limit=_SCORES, cursor=cursor)

    def _of_traces(self, window: Window, number: int) -> Page:
        times = window.named("fromTimestamp", "toTimestamp")
        reply = self.get("/api/public/traces", page=number, limit=_TRACES, orderBy="timestamp.asc", **times)
        listed = objects(reply.get("data"))
        traces: dict[str, list[JsonRow]] = {}
        for each in listed:
            try:
                trace = self.get(f"/api/public/traces/{each['id']}")
            except Refused:  # without its observations, an answer would have no passages: it is reported
                trace = {"id": each["id"]}
            scores = [score for score in objects(trace.get("scores")) if not is_own(score.get("metadata"))]
            traces[str(each["id"])] = [trace | {"scores": scores}]
        return Page("Langfuse traces", traces, f"{_OLD}{number + 1}" if len(listed) == _TRACES else None)
