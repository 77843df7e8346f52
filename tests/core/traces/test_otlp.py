"""Requests of OTLP in protobuf and JSON give the same spans, and nothing but spans or BadInput."""

import base64
from datetime import UTC, datetime

import orjson
import pytest
from google.protobuf.json_format import ParseDict
from google.rpc.status_pb2 import Status
from hypothesis import given, settings
from hypothesis import strategies as st
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from judgeboard.errors import BadInput
from judgeboard.traces.answers import answer_of
from judgeboard.traces.attributes import parsed
from judgeboard.traces.otlp import JSON, PROTOBUF, failure, logs_in, success, traces_in
from judgeboard.traces.spans import Span

TRACE, ROOT, CHILD = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331", "00f067aa0ba902b7"


def value(content):
    match content:
        case bool():
            return {"boolValue": content}
        case int():
            return {"intValue": str(content)}
        case float():
            return {"doubleValue": content}
        case list():
            return {"arrayValue": {"values": [value(each) for each in content]}}
        case dict():
            return {"kvlistValue": {"values": attributes(content)}}
        case _:
            return {"stringValue": content}


def attributes(fields):
    return [{"key": name, "value": value(content)} for name, content in fields.items()]


FIELDS = {
    "text": "Grüße",
    "count": 2**40,
    "share": 0.5,
    "on": True,
    "names": ["a", 1],
    "deep": {"a": {"b": [False]}},
}
REQUEST = {
    "resourceSpans": [
        {
            "resource": {"attributes": attributes({"service.name": "bot"})},
            "scopeSpans": [
                {
                    "scope": {"name": "lib"},
                    "spans": [
                        {
                            "traceId": TRACE.upper(),
                            "spanId": ROOT,
                            "parentSpanId": "",
                            "name": "ask",
                            "kind": 2,
                            "startTimeUnixNano": 1_795_232_414_007_344_596,
                            "endTimeUnixNano": "1795232414015899372",
                            "attributes": attributes(FIELDS),
                            "events": [
                                {
                                    "name": "exception",
                                    "timeUnixNano": "5",
                                    "attributes": attributes({"a": 1}),
                                }
                            ],
                            "status": {"code": 2, "message": "it broke"},
                            "unknown": {"to": "us"},
                        },
                        {
                            "traceId": TRACE,
                            "spanId": CHILD,
                            "parentSpanId": ROOT,
                            "flags": 768,
                            "attributes": None,
                        },
                    ],
                }
            ],
        }
    ]
}
LOGS = {
    "resourceLogs": [
        {
            "scopeLogs": [
                {
                    "logRecords": [
                        {
                            "traceId": TRACE,
                            "spanId": ROOT,
                            "eventName": "gen_ai.choice",
                            "observedTimeUnixNano": "7",
                            "body": value({"message": {"content": "Yes."}}),
                            "attributes": attributes({"gen_ai.system": "openai"}),
                        },
                        {
                            "traceId": TRACE,
                            "spanId": CHILD,
                            "attributes": attributes({"event.name": "of.old"}),
                        },
                        {"body": {"stringValue": "of no trace"}},
                    ]
                }
            ]
        }
    ]
}


def in_base64(request):
    """The request with ids as the JSON of Protobuf itself has them."""
    if isinstance(request, list):
        return [in_base64(each) for each in request]
    if not isinstance(request, dict):
        return request
    return {
        name: base64.b64encode(bytes.fromhex(each)).decode()
        if name.lower().endswith(("traceid", "spanid"))
        else in_base64(each)
        for name, each in request.items()
    }


def protobuf(request, message=ExportTraceServiceRequest):
    """The same request in protobuf, made without the code under test."""
    return ParseDict(in_base64(request), message(), ignore_unknown_fields=True).SerializeToString()


def request_of(**fields):
    """A request of one span."""
    span = {"traceId": TRACE, "spanId": ROOT, "name": "ask", **fields}
    return {"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}


def in_json(**fields):
    return orjson.dumps(request_of(**fields))


def test_both_encodings_give_the_same_spans():
    first, second = spans = traces_in(orjson.dumps(REQUEST), "application/json; charset=utf-8")
    assert spans == traces_in(protobuf(REQUEST), PROTOBUF)
    assert (first.trace_id, first.span_id, first.parent_id) == (TRACE, ROOT, None)
    assert (first.name, first.scope, first.resource) == ("ask", "lib", {"service.name": "bot"})
    assert first.attributes == FIELDS
    assert first.error == "it broke"
    assert first.ended_ns - first.started_ns == 8_554_776
    assert (second.parent_id, second.remote_parent, second.error) == (ROOT, True, None)


def test_results_of_an_evaluator_belong_to_the_trace_that_its_span_is_linked_to():
    own = {"openinference.span.kind": "EVALUATOR", "input.value": "q"}
    linked = {"evaluations.0.evaluation.name": "groundedness"}
    ids = {"traceId": "ab" * 16, "spanId": CHILD}
    links = [{"traceId": TRACE, "spanId": ROOT}]

    def request(fields):
        return request_of(**ids, links=links, attributes=attributes(fields))

    records = traces_in(orjson.dumps(request(own | linked)), JSON)
    assert records == traces_in(protobuf(request(own | linked)), PROTOBUF)
    assert [(each.trace_id, each.span_id, each.attributes) for each in records] == [
        ("ab" * 16, CHILD, own),
        (TRACE, ROOT, linked),
    ]
    of_chain = own | linked | {"openinference.span.kind": "CHAIN"}  # its results are about itself
    (record,) = traces_in(orjson.dumps(request(of_chain)), JSON)
    assert record.attributes == of_chain


def test_both_encodings_give_the_same_log_records_of_traces():
    records = logs_in(orjson.dumps(LOGS), JSON)
    assert records == logs_in(protobuf(LOGS, ExportLogsServiceRequest), PROTOBUF)
    assert [(each.span_id, each.event, each.at_ns) for each in records] == [
        (ROOT, "gen_ai.choice", 7),
        (CHILD, "of.old", 0),
    ]
    assert records[0].body == {"message": {"content": "Yes."}}


@pytest.mark.parametrize("body", [b"", b"{}"])
def test_an_empty_request_has_no_spans(body):
    assert traces_in(body, JSON if body else PROTOBUF) == []


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"\xff\xfe{}",
        b'{"resourceSpans": "text"}',
        in_json(traceId="0af7"),
        in_json(spanId="0" * 16),
        in_json(name=["ask"]),
        in_json(startTimeUnixNano="soon"),
        in_json(endTimeUnixNano="9" * 5000),
        in_json(attributes={"a": "b"}),
        in_json(attributes=[{"key": "a", "value": "text"}]),
        in_json(status=2),
        in_json(attributes=[{"key": "a", "value": {"doubleValue": 0.125}}]).replace(
            b"0.125", b"9" * 400
        ),
    ],
)
def test_what_cannot_be_decoded_is_bad_input(body):
    with pytest.raises(BadInput):
        traces_in(body, JSON)


def test_ids_may_be_in_base_64():
    """Programs that write requests by Protobuf's own JSON send them so."""
    ids = {"traceId": TRACE, "spanId": ROOT, "parentSpanId": CHILD}
    encoded = {name: base64.b64encode(bytes.fromhex(id_)).decode() for name, id_ in ids.items()}
    assert traces_in(in_json(**encoded), JSON) == traces_in(in_json(**ids), JSON)
    with pytest.raises(BadInput, match=r"\b16\b.*\b8\b"):
        traces_in(in_json(spanId=encoded["traceId"]), JSON)


def test_half_an_emoji_does_not_lose_the_request():
    texts = {
        r"cut \ud83d": "cut \ufffd",
        r"\ude00 \ud83d\ude00": "\ufffd \U0001f600",
        r"C:\\ud83d \ud83d": r"C:\ud83d " + "\ufffd",
    }
    for written, text in texts.items():
        body = in_json(name="NAME").replace(b"NAME", written.encode())
        assert [each.name for each in traces_in(body, JSON)] == [text]
        assert parsed(f'{{"answer": "{written}"}}') == {"answer": text}


def test_other_content_types_are_bad_input():
    for content_type in ("", "text/plain", "application/grpc"):
        with pytest.raises(BadInput, match="content type"):
            traces_in(b"{}", content_type)


def test_protobuf_with_ids_of_another_length_is_bad_input_and_a_text_that_is_no_utf8_is_repaired():
    short = protobuf(REQUEST).replace(bytes.fromhex(ROOT), bytes.fromhex(ROOT)[:7] + b"\x00", 1)
    assert traces_in(short, PROTOBUF)
    request = ExportTraceServiceRequest()
    request.resource_spans.add().scope_spans.add().spans.add().trace_id = b"short"
    for body in (request.SerializeToString(), b"\x0a\xff"):
        with pytest.raises(BadInput):
            traces_in(body, PROTOBUF)
    body = protobuf(REQUEST)
    repaired = repr(traces_in(body, PROTOBUF)).replace("Grüße", "Gr\ufffd\ufffdße")
    assert repr(traces_in(body.replace("ü".encode(), b"\xff\xff"), PROTOBUF)) == repaired


def test_replies_are_in_the_type_of_the_request():
    assert success(PROTOBUF) == b""
    assert success(JSON) == b"{}"
    assert Status.FromString(failure(PROTOBUF, 400, "no")) == Status(code=3, message="no")
    assert orjson.loads(failure(JSON, 429, "wait")) == {"code": 8, "message": "wait"}


JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False)
    | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=5,
)


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_no_change_of_a_request_raises_anything_else(data):
    """Any byte of protobuf and any value of JSON may be changed by accident or on purpose."""
    body = bytearray(protobuf(REQUEST))
    for place in data.draw(st.lists(st.integers(0, len(body) - 1), min_size=1, max_size=4)):
        body[place] = data.draw(st.integers(0, 255))
    request = orjson.loads(orjson.dumps(REQUEST))
    target = request
    while isinstance(target, dict | list) and target and data.draw(st.integers(0, 9)) > 0:
        holder = target
        key = data.draw(
            st.sampled_from(sorted(target) if isinstance(target, dict) else range(len(target)))
        )
        target = target[key]
        if data.draw(st.integers(0, 3)) == 0:
            holder[key] = data.draw(JSON_VALUES)
            break
    for changed, content_type in ((bytes(body), PROTOBUF), (orjson.dumps(request), JSON)):
        try:
            spans = traces_in(changed, content_type)
        except BadInput:
            continue
        answer_of(spans)


NAMES = (
    "input.value",
    "output.value",
    "openinference.span.kind",
    "llm.input_messages.1.message.content",
    "metadata",
    "llm.output_messages.0.message.contents.0.message_content.text",
    "retrieval.documents.0.document.metadata",
    "gen_ai.operation.name",
    "gen_ai.input.messages",
    "gen_ai.output.messages",
    "gen_ai.retrieval.documents",
    "gen_ai.usage.input_tokens",
    "gen_ai.system_instructions",
    "ai.operationId",
    "ai.prompt",
    "ai.response.text",
    "ai.response.toolCalls",
    "tag.tags",
    "session.id",
    "llm.token_count.prompt",
    "documents",
    "answer",
    "question",
    "error.type",
    "events",
    "gen_ai.tool.name",
    "llm.invocation_parameters",
    "gen_ai.response.model",
    "tool.name",
)
KINDS = st.sampled_from(
    ("LLM", "CHAIN", "RETRIEVER", "chat", "retrieval", "execute_tool", "ai.generateText", "tool")
)


@settings(max_examples=40, deadline=None)
@given(
    found=st.lists(
        st.dictionaries(
            st.sampled_from(NAMES),
            KINDS | JSON_VALUES | JSON_VALUES.map(lambda each: orjson.dumps(each).decode()),
            max_size=8,
        ),
        max_size=3,
    )
)
def test_no_value_of_an_attribute_stops_the_reading(found):
    taken = answer_of(
        Span(
            TRACE,
            f"{number:016x}",
            f"{number - 1:016x}" if number else None,
            "step",
            number,
            number + 9,
            attributes=fields,
        )
        for number, fields in enumerate(found)
    )
    assert (taken.response is None) == (taken.reason is not None)
    if taken.response is not None:
        orjson.dumps(taken.response.metadata, option=orjson.OPT_NON_STR_KEYS)


TURN = attributes({"input.value": "q?", "output.value": "a."})


@pytest.mark.parametrize("unit", [1, 10**3, 10**6, 10**9])
def test_a_clock_in_another_unit_gives_the_time_and_the_duration(unit):
    began = 1_795_232_414 * 10**9 // unit
    ended = began + 2 * 10**9 // unit
    body = in_json(startTimeUnixNano=str(began), endTimeUnixNano=ended, attributes=TURN)
    (read,) = traces_in(body, JSON)
    assert (read.started_ns, read.ended_ns) == (1_795_232_414 * 10**9, 1_795_232_416 * 10**9)
    answer = answer_of([read]).response
    assert (answer.asked_at, answer.metadata["latency_ms"]) == (
        datetime.fromtimestamp(1_795_232_414, UTC),
        2000,
    )


def test_a_clock_far_ahead_loses_only_the_time():
    spans = traces_in(in_json(startTimeUnixNano=str(2**64 - 1), attributes=TURN), JSON)
    answer = answer_of(spans).response
    assert (answer.query, answer.asked_at) == ("q?", None)
