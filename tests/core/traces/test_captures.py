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

from judgeboard.traces import dialects
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
US, NOBODY = ("sess-42", "u-7"), (None, None)

RAG_OF_US, NEXT_OF_US = (RAG, MODEL, ONE, US), (NEXT, MODEL, ONE, US)
PROMPT_OF_US, CALL_OF_US = (PROMPT, MODEL, ONE, US), (CALL, ALIAS, ONE, US)
NEXT_OF_CONVERSATION = (NEXT, MODEL, ONE, ("conv-1", None))
PROMPT_OF_NOBODY, WEATHER_OF_NOBODY = (PROMPT, MODEL, ONE, NOBODY), (WEATHER, MODEL, TWO, NOBODY)
RAG_BY_ALIAS = (RAG, ALIAS, ONE, US)
OPENAI = [RAG_OF_US, NEXT_OF_US, (WEATHER, MODEL, TWO, US), PROMPT_OF_US, FAILED]
LANGCHAIN = [
    RAG_OF_US,
    NEXT_OF_US,
    ASKED,
    TOOL,
    (WEATHER, MODEL, ONE, US),
    RAG_BY_ALIAS,
    FAILED,
]

# The answers of each folder by the start of the trace: question, answer, whether it has the two
# passages; the model; the tokens; session and user. A text is a part of the reason why there is no
# answer.
EXPECTED = {
    "genai_langchain_1.3b0_nocontent_default": [OFF, OFF, OFF, TOOL, OFF, OFF, FAILED],
    "genai_openai_1.3b0": [
        RAG_OF_US,
        NEXT_OF_CONVERSATION,
        WEATHER_OF_NOBODY,
        FAILED,
        PROMPT_OF_NOBODY,
        (CALL, ALIAS, ONE, NOBODY),
    ],
    "langfuse_v5": [
        *OPENAI[:3],
        ((RAG[0], "Dyneema melts at about 145 °C.", False), ALIAS, ONE, US),
        *OPENAI[3:],
        *LANGCHAIN,
    ],
    "langsmith_otel": [
        RAG_OF_US,
        (NEXT, MODEL, ONE, ("sess-42", None)),
        WEATHER_OF_NOBODY,
        PROMPT_OF_NOBODY,
        FAILED,
        RAG_BY_ALIAS,
        (NEXT, ALIAS, ONE, US),
        ASKED,
        TOOL,
        (WEATHER, ALIAS, ONE, US),
        RAG_BY_ALIAS,
        FAILED,
    ],
    "mlflow_otlp": [(RAG, MODEL, ONE, NOBODY), WEATHER_OF_NOBODY, PROMPT_OF_NOBODY, FAILED],
    "oinf_langchain": LANGCHAIN,
    "oinf_openai": [*OPENAI, CALL_OF_US, "other"],
    "traceloop": [*OPENAI, CALL_OF_US, *LANGCHAIN],
    "v2_legacy": [
        PROMPT_OF_US,
        NEXT_OF_CONVERSATION,
        WEATHER_OF_NOBODY,
        FAILED,
        PROMPT_OF_NOBODY,
    ],
    "vercel_ai_js": [PROMPT_OF_US, *OPENAI[1:]],
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
        place = folder, number
        taken = answer_of(spans, logs)
        response = taken.response
        if isinstance(expected, str):
            assert response is None, place
            assert expected in taken.reason, place
            continue
        assert response is not None, (place, taken.reason)
        (question, answer, passages), *others = expected
        assert response.query == question, place
        assert response.answer.strip().endswith(answer), place
        texts = [text.partition(".")[0] for text in response.passages or ()]
        assert texts == (["Slings", "Ropes"] if passages else []), place
        assert (response.passages is None) != passages, place
        found = response.metadata
        assert [
            response.generator_model,
            (found["prompt_tokens"], found["completion_tokens"]),
            (found.get("session"), found.get("user")),
        ] == others, place
        began = min(span.started_ns for span in spans) / 1e9
        assert response.asked_at == datetime.fromtimestamp(began, UTC), place
        assert found["latency_ms"] > 0
        if question == NEXT[0]:
            roles = [turn["role"] for turn in response.messages]
            assert roles[-3:] == ["user", "assistant", "user"]


def test_the_table_has_every_capture_of_traces(shared):
    captures = shared / "captures"
    folders = {path.parent for path in captures.glob("*/*.meta.json")}
    assert {folder.name for folder in folders if traces_of(folder)} == set(EXPECTED)


def test_names_of_attributes_are_read_only_where_they_can_fill_a_gap_and_nothing_is_lost(
    shared, monkeypatch
):
    spans = [
        span
        for folder in EXPECTED
        for trace, _ in traces_of(shared / "captures" / folder)
        for span in trace
    ]
    parts = [dialects.read(span, ()) for span in spans]
    monkeypatch.setattr(dialects, "_may_add", lambda _span, _part: True)
    assert parts == [dialects.read(span, ()) for span in spans]


def traces_of_any(shared, random):
    """The traces of any folder, each with its answer."""
    folder = random.choice(sorted(EXPECTED))
    return [
        (spans, logs, answer_of(spans, logs))
        for spans, logs in traces_of(shared / "captures" / folder)
    ]


any_changes = given(random=st.randoms(use_true_random=False))
few_examples = settings(max_examples=25, deadline=None)


def in_requests(spans, random):
    """The spans as they may arrive: in any order, some of them twice."""
    sent = list(spans)
    sent += random.sample(sent, random.randint(0, len(sent)))
    random.shuffle(sent)
    return sent


@few_examples
@any_changes
def test_the_order_of_spans_and_repeats_change_nothing(shared, random):
    for spans, logs, whole in traces_of_any(shared, random):
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


@few_examples
@any_changes
def test_values_may_be_json_and_numbers_texts(shared, random):
    for spans, logs, whole in traces_of_any(shared, random):
        other = answer_of(
            [rewritten(span, random) for span in spans], [rewritten(log, random) for log in logs]
        )
        assert other.response == whole.response


@few_examples
@any_changes
def test_a_part_of_a_trace_gives_no_wrong_answer(shared, random):
    """Whatever span is missing, the answer is the right one or there is none."""
    for spans, logs, whole in traces_of_any(shared, random):
        part = answer_of([span for span in spans if random.random() < 0.7], logs)
        if part.response is not None:
            assert part.response.answer.strip() == whole.response.answer.strip()
