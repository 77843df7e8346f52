"""OpenTelemetry: files of a Collector."""

import json

from google.protobuf.json_format import MessageToJson
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from judgeboard.domain import Response
from sent_traces import request, trace
from tool_files import records

OF_WEATHER = "What is the weather in Bergen?"
QUESTION = "At what temperature does Dyneema melt, and nylon?"


def test_the_log_records_of_a_file_belong_to_its_spans(shared, tmp_path):
    requests = [
        path.read_text() for path in sorted((shared / "captures" / "v2_legacy").glob("*[a-z].json"))
    ]
    requests = [json.dumps(json.loads(text)) for text in requests if "resource" in text]
    file = tmp_path / "collector.jsonl"
    file.write_text("\n".join(requests))
    _, items = records(file)
    questions = [item.query for item in items if isinstance(item, Response)]
    assert sorted(questions) == ["And nylon?", QUESTION, QUESTION, OF_WEATHER]


def test_a_bad_character_in_one_trace_of_a_request_keeps_the_others(tmp_path):
    body = MessageToJson(
        ExportTraceServiceRequest.FromString(request([*trace(1), *trace(2)])), indent=None
    )
    file = tmp_path / "collector.jsonl"
    file.write_text(body.replace("answer 1", r"answer \ud83d"))
    _, items = records(file)
    assert [item.answer for item in items if isinstance(item, Response)] == [
        "answer \ufffd",
        "answer 2",
    ]
