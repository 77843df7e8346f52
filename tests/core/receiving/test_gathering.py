"""Scores that other tools send beside traces become feedback and verdicts of the answers."""

import json
from datetime import UTC, datetime
from uuid import uuid4

import pytest
from sqlalchemy import select

from judgeboard.errors import BadInput
from judgeboard.store.tables import (
    FEEDBACK,
    JUDGMENT,
    JUDGMENT_SCORE,
    RESPONSE,
    RUN,
    TRACE,
    VERSION,
)
from judgeboard.store.traces import set_rules
from sent_traces import JSON, PROTOBUF, gathered, send_spans, trace
from stored_rows import row_count, values_of, write_to

THUMBED, SCORED = "e74df10a53007798de84775a2aa0941b", "24d778835a5dd2f3ea51ec1107d4e6b6"
EVALUATED = (
    "d968f19b5ac19451b94fd88591b59b31"  # the trace of the captured evaluation, which was not sent
)
WORDS = "The price is wrong."
TRACE_ID, STARTED = "ab" * 16, "1780000000000000000"
TIMES = {"startTimeUnixNano": STARTED, "endTimeUnixNano": STARTED}


def feedback(store):
    query = select(RESPONSE.c.external_id, FEEDBACK.c.kind, FEEDBACK.c.value).join(FEEDBACK)
    with store.reading() as connection:
        return [tuple(row) for row in connection.execute(query)]


def verdicts(store):
    columns = (RESPONSE.c.external_id, VERSION.c.name, JUDGMENT.c.groundedness, JUDGMENT.c.label)
    query = (
        select(*columns).select_from(JUDGMENT).join(RESPONSE).join(VERSION).order_by(JUDGMENT.c.id)
    )
    with store.reading() as connection:
        return [tuple(row) for row in connection.execute(query)]


def test_captured_scores_belong_to_the_answers_of_their_traces_whenever_they_come(
    store, http, shared
):
    folder = shared / "captures" / "langfuse_v5"
    evaluation = (
        shared / "captures" / "genai_evaluation_event" / "001-post-v1_logs.bin"
    ).read_bytes()
    for _ in range(2):  # the first scores come before their traces; the second time, all is known
        for path in sorted(folder.glob("*.meta.json")):
            meta = json.loads(path.read_text(encoding="utf-8"))
            headers = {
                name: value
                for name, value in meta["headers"].items()
                if name.lower() in {"content-type", "content-encoding"}
            }
            body = path.with_name(path.name.replace(".meta.json", ".bin")).read_bytes()
            assert http.post(meta["path"], content=body, headers=headers).status_code == 200
        sent = evaluation.replace(bytes.fromhex(EVALUATED), bytes.fromhex(SCORED))
        for each in (evaluation, sent):
            assert http.post("/v1/logs", content=each, headers=PROTOBUF).status_code == 200
        gathered(store, after=100)
        assert feedback(store) == [(THUMBED, "thumbs", 1.0)]
        assert sorted(verdicts(store)) == [
            (SCORED, "Langfuse", 0.9, None),
            (SCORED, "judgeboard", 0.9, "grounded"),
        ]

    changed = {
        "id": "s",
        "traceId": SCORED,
        "name": "groundedness",
        "value": 0.4,
        "timestamp": "2026-11-22T00:00:00Z",
    }
    events = [
        {"id": "1", "type": "score-create", "body": changed},
        {"id": "2", "type": "trace-create", "body": {}},
    ]
    reply = http.post("/api/public/ingestion", json={"batch": events})
    assert reply.status_code == 207
    assert [each["id"] for each in reply.json()["errors"]] == ["2"]
    pushed = changed | {"name": "quality", "value": 1, "metadata": {"sent_by": "judgeboard"}}
    assert http.post("/api/public/scores", json=pushed).json() == {"id": "s"}
    for wrong in (
        changed | {"traceId": None},
        changed | {"source": "ANNOTATION"},
        changed | {"name": 7},
        [1],
        "text",
    ):
        assert http.post("/api/public/scores", json=wrong).status_code == 400
    gathered(store)
    assert verdicts(store)[2:] == [(SCORED, "Langfuse", 0.4, None)]
    assert row_count(store, RUN) == 2  # one a day of each


def _langfuse(trace_id, name, value):
    body = {"id": f"s-{name}", "traceId": trace_id, "name": name, "value": value, "comment": WORDS}
    return "/api/public/scores", body


def _langfuse_batch(trace_id, name, value):
    _, score = _langfuse(trace_id, name, value)
    return "/api/public/ingestion", {"batch": [{"id": "e", "type": "score-create", "body": score}]}


def attributes(values):
    """Attributes as OTLP writes them in JSON."""
    kinds = {str: "stringValue", int: "intValue", float: "doubleValue"}
    return [{"key": name, "value": {kinds[type(value)]: value}} for name, value in values.items()]


def send_span(http, span):
    """Send a span of trace TRACE_ID unless it names another one."""
    span = {"traceId": TRACE_ID, "spanId": "cd" * 8} | TIMES | span
    body = {"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}
    assert http.post("/v1/traces", json=body, headers=JSON).status_code == 200


def _open_telemetry(trace_id, name, value):
    result = {"name": name, "score.value": float(value), "explanation": WORDS + "\0"}
    record = {
        "traceId": trace_id,
        "eventName": "gen_ai.evaluation.result",
        "attributes": attributes(
            {f"gen_ai.evaluation.{part}": each for part, each in result.items()}
        ),
    }
    return "/v1/logs", {"resourceLogs": [{"scopeLogs": [{"logRecords": [record]}]}]}


@pytest.mark.parametrize("send", [_langfuse, _langfuse_batch, _open_telemetry])
def test_of_scores_without_a_time_what_arrives_later_is_newer(store, http, send):
    trace_id, seconds = trace(1)[0].trace_id, 0
    send_spans(http, trace(1))
    for thumb, groundedness in ((1, 0.9), (0, 0.2), (1, 0.9), (0, 0.2)):
        for name, value in (("user_thumbs", thumb), ("groundedness", groundedness)):
            path, body = send(trace_id, name, value)
            for _ in range(2):  # a request may be repeated
                assert http.post(path, json=body).status_code in {200, 207}
        seconds += 100
        gathered(store, after=seconds)
        assert feedback(store)[-1][2] == thumb
        assert verdicts(store)[-1][2] == groundedness
    count = len(feedback(store)), len(verdicts(store))
    assert count == (4, 4)
    # A trace that is read again says nothing new, and what users said elsewhere since then is
    # newer.
    http.post("/api/feedback", json={"trace_id": trace_id, "thumbs": "up"})
    send_spans(http, trace(1, passages=2))  # a late span
    gathered(store, after=seconds + 100)
    assert [value for _, _, value in feedback(store)] == [1, 0, 1, 0, 1]
    comments = values_of(store, FEEDBACK.c.comment)
    assert [each and each.removesuffix("\ufffd") for each in comments] == [*[WORDS] * 4, None]


def test_a_bad_byte_in_one_score_keeps_what_is_sent_beside_it(http):
    scores = [_langfuse(uuid4().hex, "groundedness", value)[1] for value in (0.1, 0.9)]
    batch = [
        {"id": str(place), "type": "score-create", "body": score}
        for place, score in enumerate(scores)
    ]
    body = json.dumps({"batch": batch}).encode().replace(b"price", b"pri\xffe", 1)
    reply = http.post("/api/public/ingestion", content=body, headers=JSON).json()
    assert [[each["id"] for each in reply[name]] for name in ("successes", "errors")] == [
        ["1"],
        ["0"],
    ]


def test_earlier_and_own_results_of_evaluations(sqlite_store, http):
    results = {
        "relevance": {"gen_ai.evaluation.score": 0.5},
        "result": {"gen_ai.evaluation.name": "own", "judgeboard.id": "1"},
    }
    events = [
        {
            "name": f"gen_ai.evaluation.{name}",
            "timeUnixNano": STARTED,
            "attributes": attributes(values),
        }
        for name, values in results.items()
    ]
    texts = attributes({"input.value": "q?", "output.value": "a."})
    send_span(http, {"attributes": texts, "events": events})
    gathered(sqlite_store)
    assert [row[:2] for row in verdicts(sqlite_store)] == [(TRACE_ID, "OpenTelemetry")]


def test_annotations_and_evaluations_of_openinference_become_verdicts_and_feedback(
    sqlite_store, http
):
    """They are attributes of a span of the trace, or of an evaluator's span that is linked to its target."""

    def result(form, number, name, **fields):
        one = form.rpartition(".")[2].removesuffix("s")
        return {
            f"{form}.{number}.{one}.{key}": value for key, value in {"name": name, **fields}.items()
        }

    root = {"openinference.span.kind": "CHAIN", "input.value": "q?", "output.value": "a."}
    root |= result(
        "evaluations", 0, "groundedness", score=0.25, label="hallucinated", identifier="judge-v2"
    )
    root |= result("evaluations", 1, "helpfulness", score=4, identifier="judge-v2")
    root |= result("annotations", 0, "user_thumbs", score=0, annotator_kind="HUMAN")
    root |= result("annotations", 1, "tone", label="rude", annotator_kind="HUMAN")
    root |= result("session.annotations", 0, "coherence", score=1)
    later = {"openinference.span.kind": "EVALUATOR"}
    later |= result("trace.evaluations", 0, "groundedness", score=0.75, identifier="late-judge")
    evaluator = {
        "traceId": "ef" * 16,
        "spanId": "ef" * 8,
        "links": [{"traceId": TRACE_ID, "spanId": "cd" * 8}],
        "attributes": attributes(later),
    }
    for sent in (evaluator, {"attributes": attributes(root)}):  # the evaluation comes first
        send_span(http, sent)
    gathered(sqlite_store)
    assert sorted(verdicts(sqlite_store)) == [
        (TRACE_ID, "judge-v2", 0.25, "hallucinated"),
        (TRACE_ID, "late-judge", 0.75, None),
    ]
    assert feedback(sqlite_store) == [(TRACE_ID, "thumbs", 0.0)]
    [reason] = values_of(sqlite_store, TRACE.c.reason, TRACE.c.external_id == TRACE_ID)
    for words in (
        "not used: helpfulness",
        "Scores of sessions are not used: coherence.",
        "people are not used: tone.",
    ):
        assert words in reason


def test_scores_on_other_scales_are_named_and_used_once_a_rule_tells_their_scale(
    sqlite_store, http
):
    sent = {"traceId": trace(1)[0].trace_id, "timestamp": "2026-11-22T00:00:00Z"}
    send_spans(http, trace(1))
    scores = [("helpfulness", 4), ("quality", 3), ("relevance", 0.5), ("tone", 9), ("mood", "calm")]
    http.post(
        "/api/public/scores", json=[sent | {"name": name, "value": value} for name, value in scores]
    )
    gathered(sqlite_store)

    def stored():
        """The latest verdict's quality and scores, and what is said of the trace."""
        with sqlite_store.reading() as connection:
            judgment = connection.execute(select(JUDGMENT).order_by(JUDGMENT.c.id.desc())).first()
            of = JUDGMENT_SCORE.c
            query = select(of.dimension, of.value, of.scale).where(of.judgment_id == judgment.id)
            scores = {(name, value, scale) for name, value, scale in connection.execute(query)}
            return judgment.quality, scores, connection.execute(select(TRACE.c.reason)).scalar_one()

    quality, used, reason = stored()
    assert quality is None
    assert used == {("relevance", 0.5, "0-1")}
    assert "helpfulness, quality, tone" in reason
    assert "shop score.helpfulness=1-5`" in reason
    rules = ["score.helpfulness=1-5", "score.quality=1-4", "score.tone=1-5"]
    write_to(sqlite_store, set_rules, "shop", rules, "test", datetime.now(UTC))
    for _ in range(2):
        gathered(sqlite_store)
    quality, used, reason = stored()
    assert quality == 3
    assert used == {("relevance", 0.5, "0-1"), ("helpfulness", 4.0, "1-5")}
    assert "not used: tone." in reason
    assert len(verdicts(sqlite_store)) == 2
    for rule, why in (("score.tone=5-1", "not a scale"), ("score.=1-5", r"score\.NAME=1-5")):
        with pytest.raises(BadInput, match=why):
            write_to(sqlite_store, set_rules, "shop", [rule], "test", datetime.now(UTC))
