"""Label Studio: tasks with annotations (people) and predictions (judges), and tables of annotations."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from judgeboard.errors import BadInput, NotSent
from judgeboard.formats.files import Row
from judgeboard.imports.exports.entry import (
    Entries,
    Entry,
    answer_row,
    each_row,
    grade_row,
    named,
    objects,
    verdict_row,
)
from judgeboard.imports.exports.export import Export, Keys
from judgeboard.imports.grades import GradeImport
from judgeboard.imports.responses import ResponseImport
from judgeboard.store.filters import value_at
from judgeboard.store.tools import PushItem
from judgeboard.tools.target import Access, Connection, Refused, Target, stable_id
from judgeboard.tools.tool import Tool
from judgeboard.traces.attributes import parsed

# Exports of Label Studio


_OF_ANNOTATIONS = frozenset({"annotation_id", "annotator", "lead_time", "created_at", "updated_at"})
_IDS = ResponseImport.columns["external_id"]


@each_row
def read_tasks(task: dict[str, Any]) -> Iterator[Entry]:
    """Yield the entry of a task."""
    data = task["data"] if isinstance(task.get("data"), dict) else {}
    annotations = [
        each
        for each in objects(task.get("annotations") or task.get("completions"))
        if not each.get("was_cancelled") and each.get("result")
    ]
    predictions = objects(task.get("predictions"))
    predictions += [
        each["prediction"] for each in annotations if value_at(each, ("prediction", "result"))
    ]
    by_judge: dict[str, list[dict[str, Any]]] = {}
    for prediction in {
        str(each.get("id") or number): each for number, each in enumerate(predictions)
    }.values():
        judge = prediction.get("model_version") or "Label Studio prediction"
        scores = _answers(objects(prediction.get("result"))) | {"score": prediction.get("score")}
        by_judge.setdefault(str(judge), verdict_row(str(judge), scores))
    answer = answer_row(data, external_id=named(data, _IDS) or task.get("id"))
    yield Entry(
        answer,
        [row for rows in by_judge.values() for row in rows],
        _grades(
            annotations,
            lambda each: (_person(each.get("completed_by")), _answers(objects(each["result"]))),
        ),
    )


def _grades(
    annotations: Iterable[dict[str, Any]],
    content: Callable[[dict[str, Any]], tuple[str, dict[str, Any]]],
) -> list[dict[str, Any]]:
    """Return the grade of each person. Later answers of the person replace earlier ones.

    ``content`` returns the person and the answers of an annotation.
    """
    grades: dict[str, tuple[dict[str, Any], Any]] = {}
    for annotation in sorted(
        annotations, key=lambda each: str(each.get("updated_at") or each.get("created_at") or "")
    ):
        person, answers = content(annotation)
        earlier, _ = grades.get(person, ({}, None))
        grades[person] = (
            earlier | answers,
            annotation.get("updated_at") or annotation.get("created_at"),
        )
    return [
        row for person, (answers, at) in grades.items() for row in grade_row(person, answers, at)
    ]


def _person(value: Any) -> str:
    """Return the author of an annotation: the address or the number of the person."""
    if isinstance(value, dict):
        value = value.get("email") or value.get("username") or value.get("id")
    return "Label Studio" if value is None else str(value)  # imported annotations may name nobody


def _answers(results: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the answers to the questions of a labelling interface, by the name of the question."""
    answers: dict[str, Any] = {}
    for result in results:
        name, value = str(result.get("from_name")), result.get("value")
        if not isinstance(value, dict):
            continue
        if "start" in value or "end" in value:
            name = "spans" if name == "span" else name
            answers[name] = [*answers.get(name, ()), value]
        else:
            kinds = (
                "choices",
                "rating",
                "number",
                "text",
                "taxonomy",
                "pairwise",
                "ranker",
                "datetime",
            )
            answers[name] = _single(next((value[kind] for kind in kinds if kind in value), value))
    return answers


def _single(value: Any) -> Any:
    return value[0] if isinstance(value, list) and len(value) == 1 else value


def read_flat(rows: Iterable[Row]) -> Entries:
    """Read annotations in a table. Several annotations may belong to one answer."""
    tasks: dict[str, tuple[Row, list[dict[str, Any]]]] = {}
    for row in rows:
        content = {
            name: value for name, value in row.values.items() if name in _answer_columns(row.values)
        }
        key = str(named(row.values, _IDS) or sorted(map(str, content.items())))
        tasks.setdefault(key, (row, []))[1].append(row.values)
    for row, annotations in tasks.values():
        columns = _answer_columns(row.values)
        answer = answer_row(
            {name: row.values[name] for name in columns}, external_id=named(row.values, _IDS)
        )
        yield row, Entry(answer, grades=_grades(annotations, partial(_flat_annotation, columns)))


def _flat_annotation(
    columns: Collection[str], annotation: Mapping[str, Any]
) -> tuple[str, dict[str, Any]]:
    """Return the person and the answers in a row, whose other ``columns`` are the annotated answer."""
    answers = {
        "spans" if name == "span" else name: _flat_value(value)
        for name, value in annotation.items()
        if name not in columns and name not in _OF_ANNOTATIONS and value not in (None, "", [])
    }
    return str(annotation.get("annotator")), answers


def _answer_columns(row: Mapping[str, Any]) -> list[str]:
    """Return the columns of the answer in order. The other columns, named like parts of a grade, are the annotation."""
    names_of_grades = {
        name
        for part in ("label", "groundedness", "quality", "note", "spans")
        for name in GradeImport.columns[part]
    }
    return [
        name
        for name in row
        if name not in _OF_ANNOTATIONS and name not in names_of_grades | {"span"}
    ]


def _flat_value(value: Any) -> Any:
    """Return an answer in a cell: a text, a number, or the JSON of the results."""
    value = parsed(value)
    values = [each.get("rating", each.get("number", each)) for each in objects(value)]
    if values and not all(isinstance(each, dict) for each in values):
        return _single(values)
    return value


_TASKS = Export(
    "a Label Studio export",
    "label-studio",
    (
        Keys(
            "data",
            ("annotations", "completions", "predictions"),
            holds=lambda row: (
                isinstance(row["data"], dict)
                and (
                    "predictions" in row
                    or isinstance(row.get("annotations", row.get("completions")), list)
                )
            ),
        ),
    ),
    read_tasks,
)
_ANNOTATIONS = Export(
    "a Label Studio export",
    "label-studio",
    (Keys("annotation_id", "annotator", "lead_time", ("updated_at", "created_at")),),
    read_flat,
)


# Sent to Label Studio: predictions of judges and annotations of people, by the controls of the
# labeling interface


def _access(address: str, environment: Mapping[str, str]) -> Access:
    token = environment.get("LABEL_STUDIO_API_KEY", "").strip()
    if not token:
        raise BadInput("no token of Label Studio: set LABEL_STUDIO_API_KEY")
    if "." in token:  # a JSON web token; legacy tokens are hex digits
        from judgeboard.tools.http import AccessTokens  # loads httpx

        return Access(address, auth=AccessTokens(f"{address}/api/token/refresh", token))
    return Access(address, {"authorization": f"Token {token}"})


def _send(http: Connection, items: Sequence[PushItem]) -> None:
    for item in items:
        task = _task_of(item)
        project = _read_once(http, f"/api/tasks/{task}/", "project")
        controls = _read_once(http, f"/api/projects/{project}/", "parsed_label_config") or {}
        result = _result(item, controls)
        if not result:
            names = ", ".join(score.name for score in item.scores)
            raise Refused(f"the labeling interface of project {project} has no control for {names}")
        # Label Studio gives each posted object a new id: earlier annotations are found by the ids
        # of regions, predictions by version. So a POST without a reply is not repeated: the object
        # may be stored, and the next push finds it.
        if item.by_person:
            kind, posted_to = "annotations", f"/api/tasks/{task}/annotations/"
            body: dict[str, Any] = {"result": result}
            region_ids = {region["id"] for region in result}
            earlier = [
                each["id"]
                for each in http.send("GET", posted_to) or []
                if region_ids & {region.get("id") for region in each.get("result") or ()}
            ]
        else:
            kind, posted_to = "predictions", "/api/predictions/"
            version = f"judgeboard/{item.author}"
            body = {"task": task, "result": result, "model_version": version}
            score = next((each.value for each in item.scores if each.name == "groundedness"), None)
            body |= {} if score is None else {"score": score}
            earlier = [
                each["id"]
                for each in http.send("GET", f"{posted_to}?task={task}") or []
                if each.get("model_version") == version and each.get("task") == task
            ]
        if earlier:
            http.send("PATCH", f"/api/{kind}/{earlier[0]}/", body)
        else:
            http.send("POST", posted_to, body, repeat=False)


def _read_once(http: Connection, path: str, name: str) -> Any:
    content = http.read_once(path)
    if not isinstance(content, dict) or name not in content:
        raise NotSent(
            f"{http.address} answered {path} without {name}: is it the address of the tool?"
        )
    return content[name]


def _task_of(item: PushItem) -> int:
    for value in (item.metadata.get("task_id"), item.external_id):
        if str(value).isdecimal():
            return int(str(value))
    raise Refused(
        "the answer has no task of Label Studio: neither its id nor metadata.task_id is a number"
    )


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
            region = {
                "from_name": name,
                "to_name": control["to_name"][0],
                "type": kind,
                "value": value,
            }
            result.append(region | {"id": stable_id(item, name).hex[:10]})
    return result


LABEL_STUDIO = Target(
    "label-studio", ("LABEL_STUDIO_URL",), _access, _send, default_address="http://localhost:8080"
)


TOOL = Tool(exports=(_TASKS, _ANNOTATIONS), target=LABEL_STUDIO)
