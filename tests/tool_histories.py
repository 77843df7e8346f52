"""Fakes of tools with a history: they page through traces and scores as the tools document it."""

import base64
from datetime import datetime, timedelta
from typing import ClassVar
from urllib.parse import parse_qs, urlsplit

from judgeboard.text import as_utc, iso_z
from recording_tool import RecordingTool, Reply

BEGAN = datetime.fromisoformat("2026-11-20T08:00:00+00:00")


def trace_of(number):
    return f"{number:032x}"


def time_of(number, seconds=0):
    return iso_z(BEGAN + timedelta(minutes=number, seconds=seconds))


class HistoryTool(RecordingTool):
    """A tool with ``traces`` (by number, from 1): a root with question and answer, and a retrieval with a passage.

    ``given`` are its scores: trace number, name, value, author (None: a judge), metadata.
    """

    page_size = 4

    def __init__(self, count):
        super().__init__()
        self.count = count
        self.given = []
        self.bad = set()  # traces without an answer

    def answer(self, request):
        address = urlsplit(request.path)
        query = {
            name: values[0] if len(values) == 1 else values
            for name, values in parse_qs(address.query).items()
        }
        return self.reply(address.path, query, request)

    def reply(self, path, query, request):
        raise NotImplementedError

    def between(self, since, until):
        """The numbers of the traces that began in a time, oldest first."""
        begin = as_utc(since) if since else BEGAN
        return [n for n in range(1, self.count + 1) if begin <= as_utc(time_of(n)) < as_utc(until)]

    def of(self, number):
        return [tuple(rest) for trace, *rest in self.given if trace == number]


def sliced(items, position, size):
    """A page of a list, and the position of the next one."""
    start = int(position or 0)
    return items[start : start + size], str(start + size) if start + size < len(items) else None


class PhoenixWithHistory(HistoryTool):
    def reply(self, path, query, request):
        kind = path.removeprefix("/v1/projects/default/")
        if kind == "traces":
            numbers, following = sliced(
                self.between(query.get("start_time"), query["end_time"]),
                query.get("cursor"),
                self.page_size,
            )
            return Reply(
                200,
                {"data": [{"trace_id": trace_of(n)} for n in numbers], "next_cursor": following},
            )
        if kind == "spans":
            ids = query["trace_id"] if isinstance(query["trace_id"], list) else [query["trace_id"]]
            spans = [span for id_ in ids for span in self.spans(int(id_, 16))]
            page, following = sliced(spans[::-1], query.get("cursor"), 3)
            return Reply(200, {"data": page, "next_cursor": following})
        if kind == "span_annotations":
            ids = query["span_ids"] if isinstance(query["span_ids"], list) else [query["span_ids"]]
            numbers = [int(id_, 16) >> 8 for id_ in ids if int(id_, 16) & 255 == 1]
            return Reply(
                200,
                {
                    "data": [each for n in numbers for each in self.annotations(n)],
                    "next_cursor": None,
                },
            )
        return Reply(404, {"detail": "Not Found"})

    def spans(self, number):
        root = {"input.value": f"question {number}", "output.value": f"answer {number}"}
        document = {"retrieval.documents.0.document.content": f"passage {number}"}
        if number in self.bad:
            root = {}
        common = {
            "status_code": "OK",
            "start_time": time_of(number),
            "end_time": time_of(number, 2),
        }
        parts = ((1, "CHAIN", None, root), (2, "RETRIEVER", f"{number << 8 | 1:016x}", document))
        return [
            common
            | {"name": kind, "span_kind": kind, "parent_id": parent, "attributes": attributes}
            | {"context": {"trace_id": trace_of(number), "span_id": f"{number << 8 | place:016x}"}}
            for place, kind, parent, attributes in parts
        ]

    def annotations(self, number):
        return [
            {
                "span_id": f"{number << 8 | 1:016x}",
                "name": name,
                "annotator_kind": "LLM" if author is None else "HUMAN",
                "user_id": author,
                "identifier": "" if author is None else author,
                "result": {"score": None, "label": value}
                if isinstance(value, str)
                else {"score": value},
                "metadata": metadata,
                "updated_at": time_of(number, 60),
            }
            for name, value, author, metadata in self.of(number)
        ]


class MlflowWithHistory(HistoryTool):
    def reply(self, path, query, request):
        if path.endswith("experiments/get-by-name"):
            return Reply(200, {"experiment": {"experiment_id": "7"}})
        if path.endswith("traces/search"):
            bounds = dict(
                part.split(" ", 1)
                for part in request.body["filter"].replace("timestamp_ms ", "").split(" AND ")
            )
            since = (
                datetime.fromtimestamp(int(bounds[">="]) / 1000, BEGAN.tzinfo)
                if ">=" in bounds
                else None
            )
            until = datetime.fromtimestamp(int(bounds["<"]) / 1000, BEGAN.tzinfo)
            assert request.body["locations"][0]["mlflow_experiment"] == {"experiment_id": "7"}
            numbers, following = sliced(
                self.between(since, until), request.body.get("page_token"), self.page_size
            )
            reply = {"traces": [self.info(n) for n in numbers]}
            return Reply(200, reply | ({"next_page_token": following} if following else {}))
        ids = query["trace_ids"] if isinstance(query["trace_ids"], list) else [query["trace_ids"]]
        if path.endswith("traces/batchGet") and len(ids) <= 10:
            return Reply(
                200, {"traces": [self.whole(int(id_.removeprefix("tr-"), 16)) for id_ in ids]}
            )
        return Reply(404, {"message": "Not Found"})

    def info(self, number):
        return {
            "trace_id": f"tr-{trace_of(number)}",
            "request_time": time_of(number),
            "state": "OK",
            "assessments": [
                {
                    "assessment_name": name,
                    "source": {
                        "source_type": "HUMAN" if author else "LLM_JUDGE",
                        "source_id": author or "scorer",
                    },
                    "feedback": {"value": value},
                    "metadata": metadata,
                    "valid": True,
                    "last_update_time": time_of(number, 60),
                }
                for name, value, author, metadata in self.of(number)
            ],
        }

    def whole(self, number):
        root = {
            "mlflow.spanInputs": f'{{"question": "question {number}"}}',
            "mlflow.spanOutputs": f'"answer {number}"',
        }
        found = {
            "mlflow.spanType": '"RETRIEVER"',
            "mlflow.spanInputs": f'{{"query": "question {number}"}}',
            "mlflow.spanOutputs": f'[{{"page_content": "passage {number}"}}]',
        }
        if number in self.bad:
            root = {}
        start = round(as_utc(time_of(number)).timestamp() * 1e9)

        def id_of(place):
            return base64.b64encode((number << 8 | place).to_bytes(8)).decode()

        spans = [
            {
                "span_id": id_of(place),
                "parent_span_id": id_of(1) if place > 1 else "",
                "name": "step",
                "start_time_unix_nano": str(start + place),
                "end_time_unix_nano": str(start + 10**9 - place),
                "attributes": [
                    {"key": key, "value": {"string_value": value}}
                    for key, value in attributes.items()
                ],
            }
            for place, attributes in ((1, root), (2, found))
        ]
        return {"trace_info": self.info(number), "spans": spans}


class LangfuseWithHistory(HistoryTool):
    """Version 4; ``old`` has only the routes of version 3."""

    environment: ClassVar = {"LANGFUSE_PUBLIC_KEY": "public", "LANGFUSE_SECRET_KEY": "secret"}
    old = False

    def reply(self, path, query, request):
        route = path.removeprefix("/api/public/")
        if route == "projects":
            return Reply(200, {"data": [{"id": "p1", "name": "shop"}]})
        if route == "v2/observations" and not self.old:
            assert {"core", "io", "metadata"} <= {*query["fields"].split(",")}
            if "traceId" in query:
                numbers = [int(query["traceId"], 16)]
            else:
                numbers = self.between(query.get("fromStartTime"), query["toStartTime"])
            rows = sorted(
                (row for n in numbers for row in self.observations(n)),
                key=lambda row: row["startTime"],
                reverse=True,
            )
            page, following = sliced(rows, query.get("cursor"), 3)
            return Reply(200, {"data": page, "meta": {"cursor": following} if following else {}})
        if route == "v3/scores" and not self.old:
            numbers = [int(id_, 16) for id_ in query["traceId"].split(",")]
            scores = [
                score | {"subject": {"kind": "trace", "id": trace_of(n)}}
                for n in numbers
                for score in self.scores_of(n)
            ]
            page, following = sliced(scores, query.get("cursor"), 1)
            return Reply(200, {"data": page, "meta": {"cursor": following} if following else {}})
        if route == "traces" and self.old:
            numbers = self.between(query.get("fromTimestamp"), query["toTimestamp"])
            page, _ = sliced(
                numbers, str((int(query["page"]) - 1) * int(query["limit"])), int(query["limit"])
            )
            return Reply(200, {"data": [self.listed(n) for n in page], "meta": {}})
        if route.startswith("traces/") and self.old:
            number = int(route.removeprefix("traces/"), 16)
            of_trace = {
                "observations": self.observations(number)[1:],
                "scores": self.scores_of(number),
            }
            return Reply(200, self.listed(number) | of_trace)
        return Reply(404, {"message": "Not Found"})

    def listed(self, number):
        """A trace of a list, which names its observations and scores only by their ids."""
        root, *others = self.observations(number)
        return {
            "id": trace_of(number),
            "name": "rag",
            "timestamp": time_of(number),
            "userId": None,
            "sessionId": None,
            "input": root["input"],
            "output": root["output"],
            "observations": [each["id"] for each in others],
            "scores": [each["id"] for each in self.scores_of(number)],
        }

    def observations(self, number):
        root = {"input": f"question {number}", "output": f"answer {number}"}
        found = {"input": f"question {number}", "output": [{"page_content": f"passage {number}"}]}
        if number in self.bad:
            root = {"input": None, "output": None}
            found = {"input": None, "output": None}
        id_ = f"{number << 8 | 1:016x}"
        common = {"traceId": trace_of(number), "level": "DEFAULT", "endTime": time_of(number, 3)}
        return [
            common
            | root
            | {
                "id": id_,
                "type": "SPAN",
                "name": "rag",
                "startTime": time_of(number),
                "parentObservationId": None,
            },
            common
            | found
            | {"id": f"{number << 8 | 2:016x}", "type": "RETRIEVER", "name": "find"}
            | {"startTime": time_of(number, 1), "parentObservationId": id_},
        ]

    def scores_of(self, number):
        return [
            {
                "id": f"{number}-{name}",
                "name": name,
                "value": value,
                "dataType": "CATEGORICAL" if isinstance(value, str) else "NUMERIC",
                "source": "ANNOTATION" if author else "EVAL",
                "authorUserId": author,
                "metadata": metadata,
                "timestamp": time_of(number, 60),
            }
            for name, value, author, metadata in self.of(number)
        ]


class OldLangfuseWithHistory(LangfuseWithHistory):
    old = True


class LangsmithWithHistory(HistoryTool):
    environment: ClassVar = {"LANGSMITH_API_KEY": "key"}

    def reply(self, path, query, request):
        if path == "/sessions":
            return Reply(200, [{"id": "5e55", "name": query["name"]}])
        if path == "/runs/query":
            body = request.body
            assert body["session"] == ["5e55"]
            assert body["limit"] <= 100
            if "trace" in body:
                numbers = [int(body["trace"].replace("-", ""), 16)]
            else:
                words = (
                    body["filter"]
                    .replace("and(", "")
                    .replace(")", "")
                    .replace("(", " ")
                    .replace(",", " ")
                    .split()
                )
                bounds = {
                    words[place]: words[place + 2].strip('"') for place in range(0, len(words), 3)
                }
                numbers = self.between(bounds.get("gte"), bounds["lt"])
            runs = sorted(
                (run for n in numbers for run in self.runs(n)),
                key=lambda run: run["start_time"],
                reverse=True,
            )
            page, following = sliced(runs, body.get("cursor"), 3)
            return Reply(200, {"runs": page, "cursors": {"next": following}})
        if path == "/feedback":
            ids = query["run"] if isinstance(query["run"], list) else [query["run"]]
            numbers = [int(id_[-12:], 16) >> 8 for id_ in ids if int(id_[-12:], 16) & 255 == 1]
            entries = [each for n in numbers for each in self.feedback(n)]
            return Reply(200, entries[int(query["offset"]) : int(query["offset"]) + 100])
        return Reply(404, {"detail": "Not Found"})

    @staticmethod
    def id_of(number):
        text = f"{number:032x}"
        return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))

    def runs(self, number):
        root_id, trace = self.id_of(number << 8 | 1), self.id_of(number)
        root = {
            "inputs": {"question": f"question {number}"},
            "outputs": {"answer": f"answer {number}"},
        }
        found = {
            "inputs": {"query": f"question {number}"},
            "outputs": {"documents": [{"page_content": f"passage {number}"}]},
        }
        if number in self.bad:
            root = {"inputs": {}, "outputs": None}
        common = {"trace_id": trace, "end_time": time_of(number, 3), "session_id": "5e55"}
        return [
            common
            | root
            | {"id": root_id, "run_type": "chain", "name": "rag", "start_time": time_of(number)},
            common
            | found
            | {"id": self.id_of(number << 8 | 2), "run_type": "retriever", "name": "find"}
            | {"start_time": time_of(number, 1), "parent_run_id": root_id},
        ]

    def feedback(self, number):
        return [
            {
                "id": self.id_of(place),
                "run_id": self.id_of(number << 8 | 1),
                "key": name,
                "score": None if isinstance(value, str) else value,
                "value": value if isinstance(value, str) else None,
                "feedback_source": {
                    "type": "app" if author else "api",
                    "user_name": author,
                    "metadata": metadata,
                },
                "modified_at": time_of(number, 60),
            }
            for place, (name, value, author, metadata) in enumerate(self.of(number))
        ]


TOOLS = {
    "phoenix": PhoenixWithHistory,
    "mlflow": MlflowWithHistory,
    "langfuse": LangfuseWithHistory,
    "langfuse 3": OldLangfuseWithHistory,
    "langsmith": LangsmithWithHistory,
}
