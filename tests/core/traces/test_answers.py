"""Which spans give the question, the answer and the rest, for the usual and the odd shapes of traces."""

import json
from datetime import UTC, datetime

import pytest

from judgeboard.errors import BadInput
from judgeboard.traces.answers import answer_of
from judgeboard.traces.maps import rules_of
from judgeboard.traces.spans import LogRecord, Span, SpanEvent

TRACE = "0af7651916cd43dd8448eb211c80319c"
START = 1_795_232_414_000_000_000
QUESTION, ANSWER = "How long does the battery last?", "It lasts ten hours."
FIRST, SECOND = "The battery lasts ten hours.", "It charges in two hours."
PROMPT = f"Context:\n[1] {FIRST}\n[2] {SECOND}\n\nQuestion: {QUESTION}"


def span(number, parent=None, /, name="step", at=None, **more):
    """A span; ``at`` are its start and end in ms, by default so that it is inside its parent and ends before the next.

    Fields of `Span` are given by name; all others are attributes.
    """
    start, end = at or (number, 100 - number)
    fields = {
        key: more.pop(key) for key in ("error", "events", "remote_parent", "scope") if key in more
    }
    attributes = {key.replace("__", "."): value for key, value in more.pop("a", {}).items()} | more
    return Span(
        trace_id=TRACE,
        span_id=f"{number:016x}",
        parent_id=None if parent is None else f"{parent:016x}",
        name=name,
        started_ns=START + start * 1_000_000,
        ended_ns=START + end * 1_000_000,
        attributes=attributes,
        **fields,
    )


def chain(number, parent, given, returned, **more):
    fields = {"openinference.span.kind": "CHAIN", "input.value": given, "output.value": returned}
    return span(
        number, parent, a={name: each for name, each in fields.items() if each is not None}, **more
    )


def model(number, parent, given, returned, **more):
    """A model call of the newest OTel GenAI; ``given`` is a text or a list of (role, text)."""
    turns = [("user", given)] if isinstance(given, str) else given
    inputs = [{"role": role, "parts": [{"type": "text", "content": text}]} for role, text in turns]
    fields = {
        "gen_ai.operation.name": "chat",
        "gen_ai.response.model": "m-2",
        "gen_ai.usage.input_tokens": 5,
        "gen_ai.usage.output_tokens": 3,
        "gen_ai.input.messages": json.dumps(inputs),
    }
    if returned is not None:
        parts = [{"type": "reasoning", "content": "Hm."}, {"type": "text", "content": returned}]
        fields["gen_ai.output.messages"] = json.dumps([{"role": "assistant", "parts": parts}])
    return span(number, parent, a={**fields, **more.pop("a", {})}, **more)


def retrieval(number, parent, documents, **more):
    fields = {
        "gen_ai.operation.name": "retrieval",
        "gen_ai.retrieval.query.text": QUESTION,
        "gen_ai.retrieval.documents": json.dumps(documents),
    }
    return span(number, parent, a=fields, **more)


def answered(*spans, logs=()):
    taken = answer_of(spans, logs)
    assert taken.response is not None, taken.reason
    return taken.response


def pair(taken):
    return taken.query, taken.answer


# The root


def test_the_root_gives_question_answer_time_and_ids():
    taken = answer_of(
        [chain(1, None, QUESTION, ANSWER), model(2, 1, PROMPT, "a draft")], source="bot"
    )
    response = taken.response
    assert pair(response) == (QUESTION, ANSWER)
    assert (response.source, response.external_id) == ("bot", TRACE)
    assert response.asked_at == datetime.fromtimestamp(START / 1e9 + 0.001, UTC)
    assert response.metadata["latency_ms"] == 98
    assert response.metadata["span_id"] == f"{1:016x}"
    assert {
        ("1".zfill(16), "question"),
        ("1".zfill(16), "answer"),
        ("2".zfill(16), "model"),
    } <= set(taken.used)


@pytest.mark.parametrize(
    "output", ["<generator object stream at 0x7f5e>", "", None, '{"documents": []}']
)
def test_a_root_without_an_answer_takes_that_of_the_last_model(output):
    first = model(2, 1, "Rewrite: battery", "battery life", at=(2, 10))
    last = model(3, 1, PROMPT, ANSWER, at=(20, 90))
    assert pair(answered(chain(1, None, QUESTION, output), first, last)) == (QUESTION, ANSWER)


def test_a_root_that_is_no_span_of_the_assistant_takes_the_step_inside():
    root = span(
        1,
        None,
        name="POST /ask",
        a={"http.request.method": "POST", "session.id": "s-1", "user.id": "u-1"},
    )
    title = model(3, 1, f"A title for: {QUESTION}", "Battery life", at=(95, 98))
    response = answered(
        root, chain(2, 1, QUESTION, ANSWER, at=(2, 90)), title, model(4, 2, PROMPT, ANSWER)
    )
    assert pair(response) == (QUESTION, ANSWER)
    assert (response.metadata["session"], response.metadata["user"]) == ("s-1", "u-1")


def test_without_its_root_a_trace_takes_the_model_and_the_question_of_the_retriever():
    spans = [
        retrieval(2, 1, [{"id": "a", "score": 0.5, "content": FIRST}]),
        model(3, 1, PROMPT, ANSWER),
    ]
    response = answered(*spans)
    assert pair(response) == (QUESTION, ANSWER)
    assert response.passages == (FIRST,)


def test_without_root_and_model_a_step_that_joins_passages_is_no_answer():
    spans = [
        chain(2, 1, QUESTION, f"{FIRST}\n{SECOND}", remote_parent=False),
        retrieval(3, 2, [{"id": "a", "content": FIRST}]),
    ]
    assert answer_of(spans).response is None


def test_a_root_with_a_parent_in_another_process_is_a_root():
    assert pair(answered(chain(2, 1, QUESTION, ANSWER, remote_parent=True))) == (QUESTION, ANSWER)
    assert pair(answered(chain(2, 1, QUESTION, ANSWER))) == (
        QUESTION,
        ANSWER,
    )  # older senders do not say so
    request = span(2, 1, name="POST /ask", a={"http.route": "/ask"})
    assert pair(answered(request, chain(3, 2, QUESTION, ANSWER))) == (QUESTION, ANSWER)


def test_of_several_roots_the_one_with_passages_is_the_answer():
    spans = [
        chain(1, None, QUESTION, ANSWER, at=(0, 50)),
        retrieval(2, 1, [{"id": "a", "content": FIRST}], at=(1, 9)),
        model(3, None, "A title, please", "Battery life", at=(60, 90)),
    ]
    assert pair(answered(*spans)) == (QUESTION, ANSWER)


def test_model_calls_inside_tools_and_retrievers_do_not_answer():
    spans = [
        span(1, None, name="POST /ask"),
        model(2, 1, QUESTION, ANSWER, at=(2, 30)),
        span(
            3,
            1,
            at=(31, 99),
            a={"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "summary"},
        ),
        model(4, 3, "Summarize", "A summary.", at=(32, 98)),
    ]
    assert answered(*spans).answer == ANSWER


def test_model_calls_inside_checks_do_not_answer():
    spans = [
        span(1, None, name="POST /ask"),
        span(2, 1, name="step", at=(1, 50)),
        model(3, 2, QUESTION, ANSWER, at=(2, 49)),
        span(4, 1, a={"openinference.span.kind": "EVALUATOR"}, at=(51, 60)),
        model(5, 4, "Is it right?", "yes", at=(52, 59)),
    ]
    assert pair(answered(*spans)) == (QUESTION, ANSWER)


def test_spans_in_a_circle_and_spans_twice_end():
    circle = [model(1, 2, QUESTION, ANSWER), chain(2, 1, QUESTION, None)]
    assert answered(*circle, *circle).answer == ANSWER
    early = chain(1, None, QUESTION, None, at=(0, 0))
    assert pair(answered(early, chain(1, None, QUESTION, ANSWER))) == (QUESTION, ANSWER)


def test_a_trace_may_be_nested_as_deep_as_it_has_spans():
    steps = [span(number, number - 1 or None, at=(0, 90)) for number in range(1, 3000)]
    assert pair(answered(*steps, model(3000, 2999, QUESTION, ANSWER, at=(1, 80)))) == (
        QUESTION,
        ANSWER,
    )


# Passages


def test_passages_are_in_order_without_repeats_and_keep_their_details():
    documents = [
        {"id": "b", "score": 0.9, "content": SECOND},
        {"id": "a", "score": 0.4, "content": FIRST},
    ]
    spans = [
        chain(1, None, QUESTION, ANSWER),
        retrieval(2, 1, documents, at=(5, 20)),
        retrieval(3, 2, documents, at=(6, 19)),  # a retriever inside the retriever
        retrieval(
            4, 1, [{"id": "a", "content": FIRST}, {"id": "c", "content": "More."}], at=(21, 22)
        ),
    ]
    response = answered(*spans)
    assert response.passages == (SECOND, FIRST, "More.")
    assert response.metadata["context_details"] == [
        {"id": "b", "score": 0.9},
        {"id": "a", "score": 0.4},
        {"id": "c"},
    ]


def test_reranked_passages_replace_those_before():
    ranked = {
        "openinference.span.kind": "RERANKER",
        "reranker.output_documents.1.document.content": SECOND,
        "reranker.output_documents.1.document.score": 0.99,
    }
    found = [{"id": "a", "content": FIRST}, {"id": "b", "content": SECOND}]
    spans = [
        chain(1, None, QUESTION, ANSWER),
        retrieval(2, 1, found, at=(2, 5)),
        span(3, 1, at=(6, 9), a=ranked),
    ]
    assert answered(*spans).passages == (SECOND,)


def test_texts_of_passages_come_from_a_prompt_that_numbers_just_these():
    ids = [{"id": "a", "score": 0.9}, {"id": "b", "score": 0.4}]
    spans = [span(1, None, name="POST /ask"), retrieval(2, 1, ids), model(3, 1, PROMPT, ANSWER)]
    response = answered(*spans)
    assert response.passages == (FIRST, SECOND)
    assert response.query == QUESTION
    assert [each["id"] for each in response.metadata["context_details"]] == ["a", "b"]
    three = answered(spans[0], retrieval(2, 1, [*ids, {"id": "c"}]), spans[2])
    assert three.passages is None
    assert [each["id"] for each in three.metadata["context_details"]] == ["a", "b", "c"]
    unnumbered = f"Context:\n{FIRST}\n{SECOND}\n\nQuestion: {QUESTION}"
    assert answered(*spans[:2], model(3, 1, unnumbered, ANSWER)).passages == (FIRST, SECOND)
    assert answered(*spans[:2], model(3, 1, f"Use this.\n{FIRST}", ANSWER)).passages is None
    variables = {
        "gen_ai.prompt.variable.question": QUESTION,
        "gen_ai.prompt.variable.context": f"{FIRST}\n\n{SECOND}",
    }
    read = answered(*spans[:2], model(3, 1, [("user", "see above")], ANSWER, a=variables))
    assert (read.query, read.passages) == (QUESTION, (FIRST, SECOND))
    tagged = f'<doc id="b">{SECOND}</doc>\n<doc id="a">{FIRST}</doc>\n{QUESTION}'
    assert answered(*spans[:2], model(3, 1, tagged, ANSWER)).passages == (FIRST, SECOND)


def test_nothing_retrieved_differs_from_nothing_known():
    assert answered(chain(1, None, QUESTION, ANSWER), retrieval(2, 1, [])).passages == ()
    unknown = span(2, 1, a={"gen_ai.operation.name": "retrieval"})
    assert answered(chain(1, None, QUESTION, ANSWER), unknown).passages is None


# Model, tokens, messages and the rest


def test_tokens_and_cost_of_nested_calls_count_once():
    totals = {
        "gen_ai.usage.input_tokens": 10,
        "gen_ai.usage.output_tokens": 6,
        "gen_ai.usage.cost": 0.5,
    }
    agent = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "bot", **totals}
    wrapped = model(2, 1, QUESTION, None, at=(2, 20), a={"gen_ai.usage.cost": 0.25})
    last = model(
        4,
        1,
        QUESTION,
        ANSWER,
        at=(30, 80),
        a={"gen_ai.response.model": "m-3", "gen_ai.usage.cost": 0.25},
    )
    embedding = span(
        5, 1, at=(1, 2), a={"gen_ai.operation.name": "embeddings", "gen_ai.usage.input_tokens": 99}
    )
    response = answered(
        span(1, None, a=agent), wrapped, model(3, 2, QUESTION, None, at=(3, 19)), last, embedding
    )
    assert (response.metadata["prompt_tokens"], response.metadata["completion_tokens"]) == (10, 6)
    assert response.generator_cost == pytest.approx(0.5)
    assert response.generator_model == "m-3"
    alone = answered(
        span(1, None, a={**agent, **model(9, None, QUESTION, ANSWER).attributes, **agent})
    )
    assert alone.metadata["prompt_tokens"] == 10


def test_query_type_comes_from_metadata_or_a_tag():
    typed = chain(1, None, QUESTION, ANSWER)
    for fields in (
        {"metadata": '{"query_type": "power"}'},
        {"tag.tags": ["prod", "query_type:power"]},
    ):
        root = span(1, None, a={**typed.attributes, **fields})
        assert answered(root).query_type == "power"
    assert answered(typed).query_type == "unspecified"


@pytest.mark.parametrize(
    "tags", [7, True, [7, None], "alpha", {"query_type": "power"}, ["query_type:power"]]
)
def test_a_rule_may_take_tags_of_any_value(tags):
    root = span(1, None, a={**chain(1, None, QUESTION, ANSWER).attributes, "labels": tags})
    taken = answer_of([root], maps=rules_of(["metadata.tags=attributes.labels"]))
    assert taken.response.query_type == ("power" if tags == ["query_type:power"] else "unspecified")


# Conventions


def test_messages_of_openinference_may_begin_at_one_and_have_parts():
    fields = {
        "llm.input_messages.1.message.role": "user",
        "llm.input_messages.1.message.content": "Hello",
        "llm.input_messages.10.message.role": "user",
        "llm.input_messages.10.message.contents.1.message_content.type": "text",
        "llm.input_messages.10.message.contents.1.message_content.text": QUESTION,
        "llm.output_messages.1.message.role": "assistant",
        "llm.output_messages.1.message.contents.0.message_content.text": ANSWER,
        "llm.model_name": "m-1",
        "llm.cost.total": 0.01,
    }
    response = answered(span(1, None, a=fields))
    assert pair(response) == (QUESTION, ANSWER)
    assert (response.generator_model, response.generator_cost) == ("m-1", 0.01)


def test_documents_of_openinference_may_be_json():
    document = {"document": {"content": FIRST, "id": "a", "score": 0.5}}
    for name, found in (
        ("retrieval.documents", json.dumps([document])),
        ("output.value", json.dumps({"documents": [{"page_content": FIRST, "id": "a"}]})),
    ):
        read = span(
            2, 1, a={"openinference.span.kind": "RETRIEVER", "input.value": QUESTION, name: found}
        )
        assert answered(chain(1, None, QUESTION, ANSWER), read).passages == (FIRST,)


def test_a_span_in_two_conventions_takes_what_one_lacks_from_the_other():
    fields = {
        "openinference.span.kind": "LLM",
        "llm.token_count.prompt": 7,
        **model(1, None, QUESTION, ANSWER).attributes,
    }
    response = answered(span(1, None, a=fields))
    assert pair(response) == (QUESTION, ANSWER)
    assert response.generator_model == "m-2"
    assert (response.metadata["prompt_tokens"], response.metadata["completion_tokens"]) == (5, 3)


def log(event, body, at):
    return LogRecord(TRACE, f"{1:016x}", event, START + at, body)


def test_messages_up_to_version_1_36_come_as_logs_or_as_events():
    fields = {
        "gen_ai.operation.name": "chat",
        "gen_ai.system": "openai",
        "gen_ai.request.model": "m-1",
    }
    records = (
        log("gen_ai.choice", {"index": 0, "message": {"content": ANSWER}}, 9),
        log("gen_ai.user.message", {"content": QUESTION}, 3),
        log("gen_ai.system.message", {"content": "Be brief."}, 1),
    )
    response = answered(span(1, None, a=fields), logs=records)
    assert pair(response) == (QUESTION, ANSWER)
    assert [each["role"] for each in response.messages or ()] == ["system", "user"]
    events = (
        SpanEvent(
            "gen_ai.user.message",
            START,
            {"gen_ai.event.content": json.dumps({"content": QUESTION})},
        ),
        SpanEvent(
            "gen_ai.choice",
            START,
            {"message": json.dumps({"role": "assistant", "content": ANSWER})},
        ),
    )
    assert pair(answered(span(1, None, a=fields, events=events))) == (QUESTION, ANSWER)
    contents = {
        "prompt": [{"role": "user", "content": QUESTION}],
        "completion": [{"role": "assistant", "content": ANSWER}],
    }
    older = tuple(
        SpanEvent(f"gen_ai.content.{name}", START, {f"gen_ai.{name}": json.dumps(content)})
        for name, content in contents.items()
    )
    assert pair(answered(span(1, None, a=fields, events=older))) == (QUESTION, ANSWER)


def test_parts_of_a_message_in_an_event_may_be_json():
    root = span(1, None, a={"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "bot"})
    events = (
        SpanEvent("gen_ai.user.message", START, {"content": json.dumps([{"text": QUESTION}])}),
        SpanEvent(
            "gen_ai.choice",
            START,
            {"message": json.dumps([{"text": ANSWER}]), "finish_reason": "end_turn"},
        ),
    )
    call = span(
        2, 1, a={"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}, events=events
    )
    assert pair(answered(root, call)) == (QUESTION, ANSWER)
    structured = SpanEvent(
        "gen_ai.choice", START, {"message": json.dumps({"content": '{"city": "Bergen"}'})}
    )
    assert (
        answered(span(1, None, a=call.attributes, events=(events[0], structured))).answer
        == '{"city": "Bergen"}'
    )


def test_structured_messages_in_a_log_record_are_read_as_json_on_a_span_is():
    content = {
        "gen_ai.input.messages": [
            {"role": "user", "parts": [{"type": "text", "content": QUESTION}]}
        ],
        "gen_ai.output.messages": [
            {"role": "assistant", "parts": [{"type": "text", "content": ANSWER}]}
        ],
    }
    fields = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m-1"}
    name = "gen_ai.client.inference.operation.details"
    record = LogRecord(TRACE, f"{1:016x}", name, START, None, content)
    assert pair(answered(span(1, None, a=fields), logs=(record,))) == (QUESTION, ANSWER)


@pytest.mark.parametrize(
    ("names", "values"),
    [
        (("input", "output"), (QUESTION, ANSWER)),
        (("question", "answer"), (QUESTION, ANSWER)),
        (("rag.query", "rag.response"), (QUESTION, ANSWER)),
        (
            ("app.input", "app.output"),
            (json.dumps({"question": QUESTION}), json.dumps({"answer": ANSWER})),
        ),
        (("prompt", "final_result"), (QUESTION, ANSWER)),
        (("messages", "response"), (json.dumps([{"role": "user", "content": QUESTION}]), ANSWER)),
        (
            ("haystack.pipeline.input_data", "haystack.pipeline.output_data"),
            (
                json.dumps(
                    {"retriever": {"query": QUESTION, "top_k": 2}, "prompt": {"question": QUESTION}}
                ),
                json.dumps(
                    {
                        "retriever": {"documents": []},
                        "llm": {"replies": [ANSWER], "meta": [{"model": "m"}]},
                    }
                ),
            ),
        ),
        (
            ("gcp.vertex.agent.llm_request", "gcp.vertex.agent.llm_response"),
            (
                json.dumps(
                    {"model": "m", "contents": [{"role": "user", "parts": [{"text": QUESTION}]}]}
                ),
                json.dumps({"content": {"role": "model", "parts": [{"text": ANSWER}]}}),
            ),
        ),
        (
            ("request_data", "response_data"),
            (
                json.dumps({"messages": [{"role": "user", "content": QUESTION}], "model": "m"}),
                json.dumps(
                    {
                        "message": {"role": "assistant", "content": ANSWER},
                        "usage": {"total_tokens": 1},
                    }
                ),
            ),
        ),
    ],
)
def test_plain_spans_are_read_by_the_names_of_their_attributes(names, values):
    fields = dict(zip(names, values, strict=True)) | {
        "contexts": [FIRST, SECOND],
        "db.query": "SELECT 1",
        "model": "m",
    }
    response = answered(span(1, None, a=fields))
    assert pair(response) == (QUESTION, ANSWER)
    assert response.passages == (FIRST, SECOND)
    assert response.generator_model == "m"


def test_a_plain_retriever_is_known_by_its_name():
    found = span(
        2, 1, name="retrieve_documents", a={"output": json.dumps([{"id": "a", "text": FIRST}])}
    )
    root = span(1, None, a={"input": QUESTION, "output": ANSWER})
    assert answered(root, found).passages == (FIRST,)
    query = span(3, 1, name="SELECT docs", a={"db.query.text": "SELECT 1", "db.response": "ok"})
    assert pair(answered(root, query)) == (QUESTION, ANSWER)


# No answer


def reason(*spans):
    taken = answer_of(spans)
    assert taken.response is None
    return taken.reason or ""


def test_a_trace_without_content_names_the_variable_that_turns_it_on():
    off = span(2, 1, a={"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"})
    root = span(1, None, a={"gen_ai.operation.name": "invoke_workflow"})
    assert "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT" in reason(root, off)
    model = span(1, None, a={"gen_ai__operation__name": "chat", "gen_ai__request__model": "m"})
    without_texts = (
        log("gen_ai.user.message", None, 10),
        log(
            "gen_ai.choice",
            {"index": 0, "finish_reason": "stop", "message": {"role": "assistant"}},
            20,
        ),
    )
    assert "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT" in str(
        answer_of([model], without_texts).reason
    )
    hidden = {
        "openinference.span.kind": "LLM",
        "input.value": "__REDACTED__",
        "output.value": "__REDACTED__",
    }
    assert "OPENINFERENCE_HIDE_INPUTS" in reason(span(1, None, a=hidden))
    assert "recordInputs" in reason(span(1, None, a={"ai.operationId": "ai.generateText"}))


def test_other_reasons_say_what_is_there_instead():
    failed = model(1, None, QUESTION, None, error="rate limit\nTraceback")
    assert reason(failed).endswith(": rate limit")
    half = [chain(1, None, QUESTION, None, error="timeout"), model(2, 1, QUESTION, "A thought.")]
    assert "timeout" in reason(*half)
    tool = span(1, None, a={"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "weather"})
    assert "tool" in reason(tool)
    assert "sources map" in reason(span(1, None, name="GET /health", a={"http.route": "/health"}))
    assert reason()


# Rules


def test_rules_name_the_places_of_fields():
    payload = json.dumps({"q": {"text": QUESTION}, "kind": "power"})
    root = span(1, None, name="ask", a={"app.payload": payload, "x.y": ANSWER})
    docs = span(2, 1, name="find", a={"hits.all": json.dumps([{"text": FIRST}])})
    rules = rules_of(
        [
            "ask:question=attributes.app.payload.q.text",
            "answer=attributes.x.y",
            "find:passages=attributes.hits.all",
            "query_type=attributes.app.payload.kind",
        ]
    )
    response = answer_of([root, docs], maps=rules).response
    assert pair(response) == (QUESTION, ANSWER)
    assert (response.passages, response.query_type) == ((FIRST,), "power")


@pytest.mark.parametrize(
    "text", ["question", "size=attributes.x", "question=body.x", "answer=", "metadata.=name"]
)
def test_a_rule_of_another_form_is_refused(text):
    with pytest.raises(BadInput):
        rules_of([text])
