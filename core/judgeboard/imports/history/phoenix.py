"""Phoenix: traces of a project, their spans, and the annotations of spans and traces."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any
from urllib.parse import quote

from judgeboard.imports.history.pages import History, JsonRow, Page, QueryValue, Window, by_key, rows_of_pages
from judgeboard.store.statements import batches
from judgeboard.targets.phoenix import PHOENIX
from judgeboard.targets.target import Refused, is_own
from judgeboard.text import as_utc

_TRACES = 100  # of one page: their spans are selected by ids in the address
_MOST = 1_000
_IDS = 100  # in one address
_NOT_FOUND = 404
_LONGEST = timedelta(hours=1)  # from the start of a trace to the end of its root; a later pull reads it again


def _is_young(trace: JsonRow, window: Window) -> bool:
    start = trace.get("start_time")
    return start is not None and as_utc(start) > window.until - _LONGEST


class PhoenixHistory(History):
    """A project, by its name or id."""

    target = PHOENIX

    def page(self, window: Window, position: str | None) -> Page:
        """Return the traces at a position, oldest first."""
        times = window.named("start_time", "end_time")
        reply = self._get("traces", limit=_TRACES, cursor=position, sort="start_time", order="asc", **times)
        ids = [str(trace.get("trace_id")) for trace in reply.get("data") or ()]
        if not ids:
            return Page("Phoenix spans", {}, None)
        spans = self._all("spans", limit=_MOST, trace_id=ids)
        traces = by_key(spans, "context", "trace_id")
        self._annotate(traces)
        # A trace without spans is reported, like every item that cannot be used.
        missing: dict[str, list[JsonRow]] = {trace_id: [{"context.trace_id": trace_id}] for trace_id in ids}
        young = {str(trace.get("trace_id")) for trace in reply["data"] if _is_young(trace, window)}
        # The root of a young trace may follow: without it, the output of another span would become the answer.
        rootless = {each for each in young if all(row.get("parent_id") for row in traces.get(each, ()))}
        read = {each: rows for each, rows in (missing | traces).items() if each not in rootless}
        return Page("Phoenix spans", read, reply.get("next_cursor"))

    def _annotate(self, traces: dict[str, list[JsonRow]]) -> None:
        """Add the annotations of each span to its row, and those of a trace to the row of its root."""
        rows = {str(row["context"].get("span_id")): row for group in traces.values() for row in group}
        roots = {
            trace_id: next((row for row in group if not row.get("parent_id")), group[0])
            for trace_id, group in traces.items()
        }
        for path, name, owners in (
            ("span_annotations", "span_ids", rows),
            ("trace_annotations", "trace_ids", roots),
        ):
            for ids in batches(list(owners), _IDS):
                for annotation in self._annotations(path, {name: ids}):
                    row = owners.get(str(annotation.get(name.removesuffix("s"))))
                    if row is not None and not is_own(annotation.get("metadata")):
                        row.setdefault("annotations", []).append(annotation)

    def _annotations(self, path: str, ids: dict[str, Sequence[str]]) -> list[JsonRow]:
        try:
            return self._all(path, limit=_MOST, **ids)
        except Refused as error:
            if error.status != _NOT_FOUND:  # older servers have no annotations of traces
                raise
            return []

    def _all(self, path: str, **query: QueryValue) -> list[JsonRow]:
        return rows_of_pages(lambda cursor: self._get(path, cursor=cursor, **query), "data", "next_cursor")

    def _get(self, path: str, **query: QueryValue) -> Any:
        return self.get(f"/v1/projects/{quote(self.project, safe='')}/{path}", **query)
