"""MLflow: assessments of traces."""

from collections.abc import Mapping, Sequence
from typing import Any

from judgeboard.store.tools import PushItem
from judgeboard.targets.target import Access, Connection, Refused, Target, facts, needed_trace_id, span_id, stable_id
from judgeboard.text import iso_z


def _access(address: str, environment: Mapping[str, str]) -> Access:
    names = ("TOKEN", "USERNAME", "PASSWORD")
    token, user, password = (environment.get(f"MLFLOW_TRACKING_{name}", "").strip() for name in names)
    if token:
        return Access(address, {"authorization": f"Bearer {token}"})
    return Access(address, auth=(user, password) if user else None)


def _send(http: Connection, items: Sequence[PushItem]) -> None:
    for item in items:
        path = f"/api/3.0/mlflow/traces/tr-{needed_trace_id(item)}/assessments"
        for score in item.scores:
            value = score.value if score.label is None else score.label
            _store(http, path, _assessment(item, score.name, {"feedback": {"value": value}}, score.reasoning))
        if corrected := item.texts.get("corrected_answer"):
            expectation = {"expectation": {"value": corrected}}
            _store(http, path, _assessment(item, "expected_response", expectation, None))


def _assessment(item: PushItem, name: str, content: Mapping[str, Any], reasoning: str | None) -> dict[str, Any]:
    # Any other source_type is stored as SOURCE_TYPE_UNSPECIFIED, without an error.
    source = {
        "source_type": "HUMAN" if item.by_person else "LLM_JUDGE",
        "source_id": item.more.get("by", f"judgeboard/{item.author}"),
    }
    assessment = {
        "assessment_id": f"a-{stable_id(item, name).hex}",
        "assessment_name": name,
        "source": source,
        "create_time": iso_z(item.at),
        "last_update_time": iso_z(item.at),
        "rationale": reasoning or item.note,
        "metadata": facts(item),
        "span_id": span_id(item),
        **content,
    }
    return {key: value for key, value in assessment.items() if value is not None}


def _store(http: Connection, path: str, assessment: dict[str, Any]) -> None:
    try:
        http.send("POST", path, {"assessment": assessment})
    except Refused as error:
        # That is how MLflow answers an assessment_id that it has; the content may be new.
        if error.status != 500 or "constraint" not in str(error):
            raise
        content = "expectation" if "expectation" in assessment else "feedback"
        body = {"assessment": assessment, "update_mask": f"{content},rationale,metadata"}
        http.send("PATCH", f"{path}/{assessment['assessment_id']}", body)


MLFLOW = Target("mlflow", ("MLFLOW_TRACKING_URI",), _access, _send, default_address="http://localhost:5000")
