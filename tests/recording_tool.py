"""Fake tools for tests: HTTP servers that record requests, and answer and store as the documented tools do."""

import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar, NamedTuple


class Reply(NamedTuple):
    """A status and the JSON of the body, or its bytes."""

    status: int
    body: Any = None


@dataclass(frozen=True, slots=True)
class ToolRequest:
    """A received request, with header names in lower case."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: Any


class RecordingTool:
    """A fake of a tool on the loopback interface. A context manager.

    ``scores`` are what the tool has, by the key on which it overwrites: subject, name and author or
    id. ``known`` are the spans, traces or tasks that it has. The next requests are answered with
    the statuses in ``failing``.
    """

    environment: ClassVar[Mapping[str, str]] = {}
    """The keys that it accepts, as environment variables."""

    def __init__(self, *known):
        self.known = set(known)
        self.requests = []
        self.scores = {}
        self.failing = []
        self.retry_after = 0
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.01,), daemon=True
        )

    @property
    def address(self):
        """The address for clients."""
        return f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_error):
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def take(self, request):
        """Record a request and return the reply to it."""
        with self._lock:
            self.requests.append(request)
            if self.failing:
                return Reply(self.failing.pop(0), {"message": "later"})
            return self.answer(request)

    def answer(self, request):
        """Return the reply of this tool."""
        raise NotImplementedError


def _handler(tool):
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_values):
            """Print nothing."""

        def _answer(self):
            raw = self.rfile.read(int(self.headers.get("content-length") or 0))
            headers = {name.lower(): value for name, value in self.headers.items()}
            reply = tool.take(
                ToolRequest(self.command, self.path, headers, json.loads(raw) if raw else None)
            )
            content = (
                reply.body if isinstance(reply.body, bytes) else json.dumps(reply.body).encode()
            )
            self.send_response(reply.status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(content)))
            if reply.status in {429, 503}:
                self.send_header("retry-after", str(tool.retry_after))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = do_PATCH = _answer  # noqa: N815 - the names of http.server

    return Handler


class FakePhoenix(RecordingTool):
    """Phoenix: one unknown span makes it refuse a whole request; identifiers keep annotators apart."""

    environment: ClassVar = {"PHOENIX_API_KEY": "key"}

    def answer(self, request):
        """Return the ids of the annotations."""
        if request.headers.get("authorization") != "Bearer key":
            return Reply(401, {"detail": "Invalid token"})
        subject = {
            "/v1/span_annotations?sync=true": "span_id",
            "/v1/trace_annotations?sync=true": "trace_id",
        }.get(request.path)
        if subject is None:
            return Reply(404, {"detail": "Not Found"})
        annotations = request.body["data"]
        if any(each["annotator_kind"] not in {"LLM", "CODE", "HUMAN"} for each in annotations):
            return Reply(422, {"detail": [{"msg": "Input should be 'LLM', 'CODE' or 'HUMAN'"}]})
        missing = sorted({each[subject] for each in annotations} - self.known)
        if missing:
            return Reply(404, {"detail": f"{subject} {', '.join(missing)} do not exist."})
        for each in annotations:
            self.scores[each[subject], each["name"], each.get("identifier", "")] = each
        return Reply(200, {"data": [{"id": "U3Bhbg=="} for _ in annotations]})


class FakeMlflow(RecordingTool):
    """MLflow: it answers a known assessment_id with 500, and takes any source_type."""

    def answer(self, request):
        """Return the assessment."""
        parts = request.path.split("/")
        if parts[:5] != ["", "api", "3.0", "mlflow", "traces"] or parts[6] != "assessments":
            return Reply(404, {"message": "Not Found"})
        if parts[5] not in self.known:
            return Reply(404, {"message": f"Trace with ID '{parts[5]}' not found."})
        assessment = request.body["assessment"]
        if request.method == "PATCH":
            mask = str(request.body["update_mask"]).split(",")
            names = ("assessment_name" if name == "assessmentName" else name for name in mask)
            self.scores[parts[7]] |= {name: assessment.get(name) for name in names}
            return Reply(200, {"assessment": self.scores[parts[7]]})
        id_ = assessment.get("assessment_id") or f"a-{len(self.scores)}"
        if id_ in self.scores:
            words = (
                f"Failed to create assessment for trace '{parts[5]}' due to a constraint violation."
            )
            return Reply(500, {"error_code": "INTERNAL_ERROR", "message": words})
        self.scores[id_] = assessment | {"trace_id": parts[5]}
        return Reply(200, {"assessment": self.scores[id_]})


class FakeLangfuse(RecordingTool):
    """Langfuse: a known id is overwritten; it takes scores of traces that it does not know."""

    environment: ClassVar = {"LANGFUSE_PUBLIC_KEY": "public", "LANGFUSE_SECRET_KEY": "secret"}

    def answer(self, request):
        """Return the id of the score."""
        if request.headers.get("authorization") != "Basic cHVibGljOnNlY3JldA==":
            return Reply(401, {"message": "Invalid credentials"})
        if request.path != "/api/public/scores":
            return Reply(404, {"message": "Not Found"})
        score = request.body
        if not isinstance(
            score["value"], str if score["dataType"] == "CATEGORICAL" else float | int
        ):
            return Reply(400, {"message": "Invalid request data"})
        self.scores[score["id"]] = score
        return Reply(200, {"id": score["id"]})


class FakeLangsmith(RecordingTool):
    """LangSmith: the client chooses the id, a known one is answered with 409."""

    environment: ClassVar = {"LANGSMITH_API_KEY": "key"}

    def answer(self, request):
        """Return the feedback."""
        if request.headers.get("x-api-key") != "key":
            return Reply(403, {"detail": "Forbidden"})
        feedback = request.body
        if request.method == "PATCH":
            self.scores[request.path.removeprefix("/feedback/")] |= feedback
            return Reply(200, {})
        if feedback["run_id"] not in self.known:
            return Reply(404, {"detail": "Run not found"})
        if feedback["id"] in self.scores:
            return Reply(409, {"detail": "Feedback exists"})
        self.scores[feedback["id"]] = feedback
        return Reply(200, feedback)


class FakeLabelStudio(RecordingTool):
    """Label Studio: personal tokens are exchanged, and each annotation gets a new id."""

    environment: ClassVar = {"LABEL_STUDIO_API_KEY": "personal.token.x"}
    controls: ClassVar[Mapping[str, Any]] = {
        "label": {"type": "Choices", "to_name": ["answer"]},
        "quality": {"type": "Rating", "to_name": ["answer"]},
        "groundedness": {"type": "Number", "to_name": ["answer"]},
        "note": {"type": "TextArea", "to_name": ["answer"]},
        "corrected_answer": {"type": "TextArea", "to_name": ["answer"]},
    }

    def answer(self, request):  # noqa: PLR0911 - one line for each path
        """Return tasks, projects, annotations and predictions."""
        path, _, query = request.path.partition("?")
        parts = path.strip("/").split("/")
        if path == "/api/token/refresh":
            return Reply(200, {"access": "short"})
        if request.headers.get("authorization") != "Bearer short":
            return Reply(401, {"detail": "Authentication credentials were not provided."})
        if parts[1] == "projects":
            return Reply(200, {"id": 1, "parsed_label_config": self.controls})
        if parts[1] == "tasks" and parts[2] not in self.known:
            return Reply(404, {"detail": "No Task matches the given query."})
        if parts[1] == "tasks" and len(parts) == 3:
            return Reply(200, {"id": int(parts[2]), "project": 1})
        task = (
            int(parts[2])
            if parts[1] == "tasks"
            else int((request.body or {}).get("task") or query[5:] or 0)
        )
        kind = parts[-1] if parts[-1] in {"annotations", "predictions"} else parts[1]
        if request.method == "GET":
            return Reply(
                200,
                [
                    each
                    for key, each in self.scores.items()
                    if key[0] == kind and each["task"] == task
                ],
            )
        if request.method == "PATCH":
            self.scores[kind, int(parts[2])] |= request.body
            return Reply(200, self.scores[kind, int(parts[2])])
        id_ = len(self.scores) + 1
        self.scores[kind, id_] = {"id": id_, "task": task, **request.body}
        return Reply(201, self.scores[kind, id_])


class FakeCollector(RecordingTool):
    """A Collector: it takes log records as JSON, and rejects some of a request without refusing the others."""

    environment: ClassVar = {"OTEL_EXPORTER_OTLP_HEADERS": "x-team=rag%20team"}

    def answer(self, request):
        """Return an empty response, or how many records were rejected."""
        if request.path != "/v1/logs" or request.headers.get("x-team") != "rag team":
            return Reply(404, {"message": "Not Found"})
        records = [
            record
            for resource in request.body["resourceLogs"]
            for scope in resource["scopeLogs"]
            for record in scope["logRecords"]
        ]
        rejected = [record for record in records if record["traceId"] not in self.known]
        if rejected:
            partial = {"rejectedLogRecords": str(len(rejected)), "errorMessage": "unknown trace"}
            return Reply(200, {"partialSuccess": partial})
        for record in records:
            attributes = {each["key"]: each["value"] for each in record["attributes"]}
            self.scores[attributes["judgeboard.id"]["stringValue"]] = record
        return Reply(200, {})
