"""Label Studio: predictions of judges and annotations of people, by the controls of its labeling interface."""

from collections.abc import Mapping, Sequence
from typing import Any

from judgeboard.errors import BadInput, NotSent
from judgeboard.store.tools import PushItem
from judgeboard.targets.target import Access, Connection, RefreshToken, Refused, Target, stable_id


def _access(address: str, environment: Mapping[str, str]) -> Access:
    token = environment.get("LABEL_STUDIO_API_KEY", "").strip()
    if not token:
        raise BadInput("no token of Label Studio: set LABEL_STUDIO_API_KEY")
    if "." in token:  # a JSON web token; legacy tokens are hex digits
        return Access(address, auth=RefreshToken("/api/token/refresh", token))
    return Access(address, {"authorization": f"Token {token}"})


def _send(http: Connection, items: Sequence[PushItem]) -> None:
    for item in items:
        task = _task(item)
        project = _read(http, f"/api/tasks/{task}/", "project")
        controls = _read(http, f"/api/projects/{project}/", "parsed_label_config") or {}
        result = _result(item, controls)
        if not result:
            names = ", ".join(score.name for score in item.scores)
            raise Refused(f"the labeling interface of project {project} has no control for {names}")
        if item.by_person:
            _store_annotation(http, task, result)
        else:
            _store_prediction(http, task, item, result)


def _read(http: Connection, path: str, name: str) -> Any:
    content = http.read_once(path)
    if not isinstance(content, dict) or name not in content:
        raise NotSent(f"{http.address} answered {path} without {name}: is it the address of the tool?")
    return content[name]


def _task(item: PushItem) -> int:
    for value in (item.metadata.get("task_id"), item.external_id):
        if str(value).isdecimal():
            return int(str(value))
    raise Refused("the answer has no task of Label Studio: neither its id nor metadata.task_id is a number")


def _result(item: PushItem, controls: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the regions for the controls that have the names of scores; texts go to text areas."""
    result = []
    values = {score.name: score for score in item.scores}
    texts = {**item.texts, **({"comment": item.note} if item.note else {})}
    for name, control in controls.items():
        score, kind = values.get(name), str(control.get("type", "")).lower()
        value: dict[str, Any] | None = None
        if kind == "textarea" and name in texts:
            value = {"text": [texts[name]]}
        elif score is not None and kind == "choices" and score.label is not None:
            value = {"choices": score.label.split(", ")}
        elif score is not None and kind in {"rating", "number"} and score.value is not None:
            value = {kind: int(score.value) if kind == "rating" else score.value}
        if value is not None:
            region = {"from_name": name, "to_name": control["to_name"][0], "type": kind, "value": value}
            result.append(region | {"id": stable_id(item, name).hex[:10]})
    return result


def _store_annotation(http: Connection, task: int, result: list[dict[str, Any]]) -> None:
    # Label Studio gives every annotation a new id: an earlier one is found by the ids of its regions.
    # So a POST without an answer is not repeated: it may be stored, and the next push finds it.
    own = {region["id"] for region in result}
    stored = http.send("GET", f"/api/tasks/{task}/annotations/") or []
    earlier = [each["id"] for each in stored if own & {region.get("id") for region in each.get("result") or ()}]
    if earlier:
        http.send("PATCH", f"/api/annotations/{earlier[0]}/", {"result": result})
    else:
        http.send("POST", f"/api/tasks/{task}/annotations/", {"result": result}, repeat=False)


def _store_prediction(http: Connection, task: int, item: PushItem, result: list[dict[str, Any]]) -> None:
    version = f"judgeboard/{item.author}"
    score = next((score.value for score in item.scores if score.name == "groundedness"), None)
    body = {"task": task, "result": result, "model_version": version} | ({} if score is None else {"score": score})
    stored = http.send("GET", f"/api/predictions/?task={task}") or []
    earlier = [each["id"] for each in stored if each.get("model_version") == version and each.get("task") == task]
    if earlier:
        http.send("PATCH", f"/api/predictions/{earlier[0]}/", body)
    else:
        http.send("POST", "/api/predictions/", body, repeat=False)


LABEL_STUDIO = Target("label-studio", ("LABEL_STUDIO_URL",), _access, _send, default_address="http://localhost:8080")
