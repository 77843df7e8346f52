"""Every captured OTLP request of the common tools gives the right answers, however its spans arrive."""

import gzip
import json
import re
from collections import defaultdict
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgeboard.traces import dialects, plain_spans
from judgeboard.traces.answers import answer_of
from judgeboard.traces.otlp import logs_in, traces_in

MODEL = "gpt-4o-mini-2024-07-18"
ALIAS = "gpt-4o-mini"
RAG = (
    "At what temperature does Dyneema melt, and nylon?",
    "nylon melts at about 250 °C [2].",
    True,
)
CALL = (*RAG[:2], False)  # the same question without a retriever
PROMPT = CALL  # the question is a part of the prompt of a model call
NEXT = ("And nylon?", RAG[1], False)
WEATHER = ("What is the weather in Bergen?", "It is 14 °C and raining in Bergen.", False)
FAILED, TOOL, ASKED, OFF = (
    "The call failed",
    "only spans: tool",
    "only asked for a tool",
    "Content is off",
)
ONE, TWO = (57, 21), (114, 42)
US = ("sess-42", "u-7")

OPENAI = [
    (RAG, MODEL, ONE, US),
    (NEXT, MODEL, ONE, US),
    (WEATHER, MODEL, TWO, US),
    (PROMPT, MODEL, ONE, US),
    FAILED,
]
LANGCHAIN = [
    (RAG, MODEL, ONE, US),
    (NEXT, MODEL, ONE, US),
    ASKED,
    TOOL,
    (WEATHER, MODEL, ONE, US),
    (RAG, ALIAS, ONE, US),
    FAILED,
]

# The answers of each folder by the start of the trace: question, answer, whether it has the two
# passages; the model; the tokens; session and user. A text is a part of the reason why there is no
# answer.
EXPECTED = {
    "genai_langchain_1.3b0_nocontent_default": [OFF, OFF, OFF, TOOL, OFF, OFF, FAILED],
    "genai_openai_1.3b0": [
        (RAG, MODEL, ONE, US),
        (NEXT, MODEL, ONE, ("conv-1", None)),
        (WEATHER, MODEL, TWO, (None, None)),
        FAILED,
        (PROMPT, MODEL, ONE, (None, None)),
        (CALL, ALIAS, ONE, (None, None)),
    ],
    "langfuse_v5": [
        *OPENAI[:3],
        ((RAG[0], "Dyneema melts at about 145 °C.", False), ALIAS, ONE, US),
        *OPENAI[3:],
        *LANGCHAIN,
    ],
    "langsmith_otel": [
        (RAG, MODEL, ONE, US),
        (NEXT, MODEL, ONE, ("sess-42", None)),
        (WEATHER, MODEL, TWO, (None, None)),
        (PROMPT, MODEL, ONE, (None, None)),
        FAILED,
        (RAG, ALIAS, ONE, US),
        (NEXT, ALIAS, ONE, US),
        ASKED,
        TOOL,
        (WEATHER, ALIAS, ONE, US),
        (RAG, ALIAS, ONE, US),
        FAILED,
    ],
    "mlflow_otlp": [
        (RAG, MODEL, ONE, (None, None)),
        (WEATHER, MODEL, TWO, (None, None)),
        (PROMPT, MODEL, ONE, (None, None)),
        FAILED,
    ],
    "oinf_langchain": LANGCHAIN,
    "oinf_openai": [*OPENAI, (CALL, ALIAS, ONE, US), "other"],
    "traceloop": [*OPENAI, (CALL, ALIAS, ONE, US), *LANGCHAIN],
    "v2_legacy": [
        (PROMPT, MODEL, ONE, US),
        (NEXT, MODEL, ONE, ("conv-1", None)),
        (WEATHER, MODEL, TWO, (None, None)),
        FAILED,
        (PROMPT, MODEL, ONE, (None, None)),
    ],
    "vercel_ai_js": [(PROMPT, MODEL, ONE, US), *OPENAI[1:]],
}


@cache
def traces_of(folder):
    """The traces of a folder by their start."""
    spans = defaultdict(list)
    logs = defaultdict(list)
    for path in sorted(folder.glob("*.meta.json")):
        meta = json.loads(path.read_text(encoding="utf-8"))
        headers = {name.lower(): value for name, value in meta["headers"].items()}
        body = path.with_name(path.name.replace(".meta.json", ".bin")).read_bytes()
        body = gzip.decompress(body) if headers.get("content-encoding") == "gzip" else body
        if meta["path"].endswith("/traces"):
            for span in traces_in(body, headers["content-type"]):
                spans[span.trace_id].append(span)
        elif meta["path"].endswith("/logs"):
            for record in logs_in(body, headers["content-type"]):
                logs[record.trace_id].append(record)
    starts = sorted(spans, key=lambda key: min(span.started_ns for span in spans[key]))
    return [(spans[key], logs[key]) for key in starts]


@pytest.mark.parametrize("folder", EXPECTED)
def test_captured_traces_give_the_right_answers_and_reasons(shared, folder):
    traces = traces_of(shared / "captures" / folder)
    for number, ((spans, logs), expected) in enumerate(zip(traces, EXPECTED[folder], strict=True)):
        each = answer_of(spans, logs)
        if isinstance(expected, str):
            assert each.response is None, (folder, number)
            assert expected in (each.reason or ""), (folder, number)
            continue
        response = each.response
        assert response is not None, (folder, number, each.reason)
        (question, answer, passages), model, tokens, person = expected
        assert response.query.startswith(question), (folder, number)
        assert response.query == question or question.endswith("\n"), (folder, number)
        assert response.answer.strip().endswith(answer), (folder, number)
        texts = [text.partition(".")[0] for text in response.passages or ()]
        assert texts == (["Slings", "Ropes"] if passages else []), (folder, number)
        assert (response.passages is None) != passages, (folder, number)
        found = response.metadata
        assert response.generator_model == model, (folder, number)
        assert (found["prompt_tokens"], found["completion_tokens"]) == tokens, (folder, number)
        assert (found.get("session"), found.get("user")) == person, (folder, number)
        began = min(span.started_ns for span in spans) / 1e9
        assert response.asked_at == datetime.fromtimestamp(began, UTC), (folder, number)
        assert found["latency_ms"] > 0
        if question == NEXT[0]:
            assert [turn["role"] for turn in response.messages or ()][-3:] == [
                "user",
                "assistant",
                "user",
            ]


def test_the_table_has_every_capture_of_traces(shared):
    folders = {path.parent.name for path in (shared / "captures").glob("*/*.meta.json")}
    assert {folder for folder in folders if traces_of(shared / "captures" / folder)} == set(
        EXPECTED
    )


def test_names_of_attributes_are_read_only_where_they_can_fill_a_gap_and_nothing_is_lost(
    shared, monkeypatch
):
    spans = [
        span
        for folder in EXPECTED
        for trace in traces_of(shared / "captures" / folder)
        for span in trace[0]
    ]
    parts = [dialects.read(span, ()) for span in spans]
    monkeypatch.setattr(plain_spans, "may_add", lambda _span, _part: True)
    assert parts == [dialects.read(span, ()) for span in spans]


def in_requests(spans, random):
    """The spans as they may arrive: in any order, some of them twice."""
    sent = list(spans)
    sent += random.sample(sent, random.randint(0, len(sent)))
    random.shuffle(sent)
    return sent


@settings(max_examples=25, deadline=None)
@given(random=st.randoms(use_true_random=False))
def test_the_order_of_spans_and_repeats_change_nothing(shared, random):
    folder = random.choice(sorted(EXPECTED))
    for spans, logs in traces_of(shared / "captures" / folder):
        whole = answer_of(spans, logs)
        sent = logs + random.sample(logs, len(logs) // 2)
        random.shuffle(sent)
        assert answer_of(in_requests(spans, random), sent) == whole


def rewritten(record, random):
    """A span or record as another exporter may write it: JSON as values, values as JSON, and numbers as texts."""
    attributes = {}
    for name, value in record.attributes.items():
        changed = value
        if (
            isinstance(value, str)
            and value.startswith(("{", "["))
            and not re.search(r"[.][0-9]+[.]", name)
        ):
            with suppress(ValueError):
                changed = json.loads(value)
        elif isinstance(value, dict | list):
            changed = json.dumps(value)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            changed = str(value)
        attributes[name] = random.choice((value, changed))
    return replace(record, attributes=attributes)


@settings(max_examples=25, deadline=None)
@given(random=st.randoms(use_true_random=False))
def test_values_may_be_json_and_numbers_texts(shared, random):
    folder = random.choice(sorted(EXPECTED))
    for spans, logs in traces_of(shared / "captures" / folder):
        other = answer_of(
            [rewritten(span, random) for span in spans], [rewritten(log, random) for log in logs]
        )
        assert other.response == answer_of(spans, logs).response


@settings(max_examples=25, deadline=None)
@given(random=st.randoms(use_true_random=False))
def test_a_part_of_a_trace_gives_no_wrong_answer(shared, random):
    """Whatever span is missing, the answer is the right one or there is none."""
    folder = random.choice(sorted(EXPECTED))
    for spans, logs in traces_of(shared / "captures" / folder):
        whole = answer_of(spans, logs)
        part = answer_of([span for span in spans if random.random() < 0.7], logs)
        if part.response is not None:
            assert part.response.answer.strip() == whole.response.answer.strip()
