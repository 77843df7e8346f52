"""MLflow: traces of an experiment with their spans and assessments."""

from collections.abc import Sequence
from typing import Any

from judgeboard.imports.exports.entry import objects
from judgeboard.imports.history.pages import History, JsonRow, Page, Window
from judgeboard.store.statements import batches
from judgeboard.targets.mlflow import MLFLOW
from judgeboard.targets.target import Connection, Refused, is_own

_TRACES = 100
_SPANS_OF = 10  # traces whose spans come in one reply
_RUNNING = "IN_PROGRESS"


class MlflowHistory(History):
    """An experiment, by its name or id."""

    target = MLFLOW
    default_project = "Default"

    def __init__(self, http: Connection, project: str | None) -> None:
        super().__init__(http, project)
        self._experiment = self._id()

    def _id(self) -> str:
        try:
            reply = self.get("/api/2.0/mlflow/experiments/get-by-name", experiment_name=self.project)
        except Refused:
            if self.project.isdecimal():
                return self.project
            raise
        return str(reply["experiment"]["experiment_id"])

    def page(self, window: Window, position: str | None) -> Page:
        """Return the traces at a position, oldest first."""
        bounds = [f"timestamp_ms < {round(window.until.timestamp() * 1000)}"]
        if window.since is not None:
            bounds.append(f"timestamp_ms >= {round(window.since.timestamp() * 1000)}")
        location = {"type": "MLFLOW_EXPERIMENT", "mlflow_experiment": {"experiment_id": self._experiment}}
        body = {
            "locations": [location],
            "filter": " AND ".join(bounds),
            "order_by": ["timestamp_ms ASC"],
            "max_results": _TRACES,
        }
        body |= {"page_token": position} if position else {}
        reply = self.read("POST", "/api/3.0/mlflow/traces/search", body)
        infos = {
            str(info["trace_id"]): info
            for info in objects(reply.get("traces"))
            if info.get("trace_id") and info.get("state") != _RUNNING
        }
        spans: dict[str, list[JsonRow]] = {}
        for ids in batches(list(infos), _SPANS_OF):
            spans |= self._spans(ids)
        traces = {
            trace_id.removeprefix("tr-"): [{"info": _without_own(info), "data": {"spans": spans.get(trace_id, [])}}]
            for trace_id, info in infos.items()
        }
        return Page("MLflow traces", traces, reply.get("next_page_token") or None)

    def _spans(self, trace_ids: Sequence[str]) -> dict[str, list[JsonRow]]:
        """Return the spans by trace. Spans that MLflow cannot read are left out, and those of others are not."""
        try:
            reply = self.get("/api/3.0/mlflow/traces/batchGet", trace_ids=trace_ids)
        except Refused:
            if len(trace_ids) == 1:
                return {}
            half = len(trace_ids) // 2
            return self._spans(trace_ids[:half]) | self._spans(trace_ids[half:])
        traces = objects(reply.get("traces"))
        return {str(trace.get("trace_info", {}).get("trace_id")): objects(trace.get("spans")) for trace in traces}


def _without_own(info: dict[str, Any]) -> dict[str, Any]:
    assessments = [each for each in objects(info.get("assessments")) if not is_own(each.get("metadata"))]
    return info | {"assessments": assessments}
