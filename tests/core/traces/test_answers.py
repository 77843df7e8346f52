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


def span(number, parent=None, *, name="step", at=None, a=None, **more):
    """A span with the attributes ``a``.

    ``at`` are its start and end in ms, by default so that it is inside its parent and ends before the next.
    """
    start, end = at or (number, 100 - number)
    return Span(
        TRACE,
        f"{number:016x}",
        parent and f"{parent:016x}",
        name,
        START + start * 1_000_000,
        START + end * 1_000_000,
        attributes=a or {},
        **more,
    )


def chain(number, parent=None, given=QUESTION, returned=ANSWER, **more):
    fields = {"openinference.span.kind": "CHAIN", "input.value": given, "output.value": returned}
    return span(
        number, parent, a={name: each for name, each in fields.items() if each is not None}, **more
    )


def model(number, parent=None, given=QUESTION, returned=ANSWER, *, a=None, **more):
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
    return span(number, parent, a=fields | (a or {}), **more)


def retrieval(number, parent, *documents, **more):
    fields = {
        "gen_ai.operation.name": "retrieval",
        "gen_ai.retrieval.query.text": QUESTION,
        "gen_ai.retrieval.documents": json.dumps(documents),
    }
    return span(number, parent, a=fields, **more)


FOUND = {"id": "a", "content": FIRST}
CHAT = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m-1"}
AGENT = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "bot"}
POST = span(1, name="POST /ask")


def answered(*spans, logs=()):
    taken = answer_of(spans, logs)
    assert taken.response is not None, taken.reason
    return taken.response


def pair(response):
    return response.query, response.answer


def assert_usual(*spans, **more):
    """Check that the answer of these spans is the usual one, and return it."""
    response = answered(*spans, **more)
    assert pair(response) == (QUESTION, ANSWER)
    return response


# The root


def test_the_root_gives_question_answer_time_and_ids():
    taken = answer_of([chain(1), model(2, 1, PROMPT, "a draft")], source="bot")
    response = taken.response
    root, call = f"{1:016x}", f"{2:016x}"
    assert pair(response) == (QUESTION, ANSWER)
    assert (response.source, response.external_id) == ("bot", TRACE)
    assert response.asked_at == datetime.fromtimestamp(START / 1e9 + 0.001, UTC)
    assert response.metadata["latency_ms"] == 98
    assert response.metadata["span_id"] == root
    assert {(root, "question"), (root, "answer"), (call, "model")} <= set(taken.used)


@pytest.mark.parametrize(
    "output", ["<generator object stream at 0x7f5e>", "", None, '{"documents": []}']
)
def test_a_root_without_an_answer_takes_that_of_the_last_model(output):
    first = model(2, 1, "Rewrite: battery", "battery life", at=(2, 10))
    last = model(3, 1, PROMPT, at=(20, 90))
    assert_usual(chain(1, returned=output), first, last)


def test_a_root_that_is_no_span_of_the_assistant_takes_the_step_inside():
    person = {"session.id": "s-1", "user.id": "u-1"}
    root = span(1, name="POST /ask", a={"http.request.method": "POST", **person})
    title = model(3, 1, f"A title for: {QUESTION}", "Battery life", at=(95, 98))
    response = assert_usual(root, chain(2, 1, at=(2, 90)), title, model(4, 2, PROMPT))
    assert (response.metadata["session"], response.metadata["user"]) == ("s-1", "u-1")


def test_without_its_root_a_trace_takes_the_model_and_the_question_of_the_retriever():
    response = assert_usual(retrieval(2, 1, FOUND), model(3, 1, PROMPT))
    assert response.passages == (FIRST,)


def test_without_root_and_model_a_step_that_joins_passages_is_no_answer():
    spans = [
        chain(2, 1, returned=f"{FIRST}\n{SECOND}", remote_parent=False),
        retrieval(3, 2, FOUND),
    ]
    assert answer_of(spans).response is None


def test_a_root_with_a_parent_in_another_process_is_a_root():
    assert_usual(chain(2, 1, remote_parent=True))
    assert_usual(chain(2, 1))  # older senders do not say so
    assert_usual(span(2, 1, name="POST /ask", a={"http.route": "/ask"}), chain(3, 2))


def test_of_several_roots_the_one_with_passages_is_the_answer():
    assert_usual(
        chain(1, at=(0, 50)),
        retrieval(2, 1, FOUND, at=(1, 9)),
        model(3, None, "A title, please", "Battery life", at=(60, 90)),
    )


def test_model_calls_inside_tools_and_retrievers_do_not_answer():
    tool = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "summary"}
    assert_usual(
        POST,
        model(2, 1, at=(2, 30)),
        span(3, 1, at=(31, 99), a=tool),
        model(4, 3, "Summarize", "A summary.", at=(32, 98)),
    )


def test_model_calls_inside_checks_do_not_answer():
    assert_usual(
        POST,
        span(2, 1, at=(1, 50)),
        model(3, 2, at=(2, 49)),
        span(4, 1, a={"openinference.span.kind": "EVALUATOR"}, at=(51, 60)),
        model(5, 4, "Is it right?", "yes", at=(52, 59)),
    )


def test_spans_in_a_circle_and_spans_twice_end():
    circle = [model(1, 2), chain(2, 1, returned=None)]
    assert answered(*circle, *circle).answer == ANSWER
    assert_usual(chain(1, returned=None, at=(0, 0)), chain(1))


def test_a_trace_may_be_nested_as_deep_as_it_has_spans():
    steps = [span(number, number - 1 or None, at=(0, 90)) for number in range(1, 3000)]
    assert_usual(*steps, model(3000, 2999, at=(1, 80)))


# Passages


def test_passages_are_in_order_without_repeats_and_keep_their_details():
    documents = [
        {"id": "b", "score": 0.9, "content": SECOND},
        FOUND | {"score": 0.4},
    ]
    response = answered(
        chain(1),
        retrieval(2, 1, *documents, at=(5, 20)),
        retrieval(3, 2, *documents, at=(6, 19)),  # a retriever inside the retriever
        retrieval(4, 1, FOUND, {"id": "c", "content": "More."}, at=(21, 22)),
    )
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
    found = retrieval(2, 1, FOUND, {"id": "b", "content": SECOND}, at=(2, 5))
    assert answered(chain(1), found, span(3, 1, at=(6, 9), a=ranked)).passages == (SECOND,)


def test_texts_of_passages_come_from_a_prompt_that_numbers_just_these():
    ids = [{"id": "a", "score": 0.9}, {"id": "b", "score": 0.4}]

    def read(prompt, *others, **more):
        return answered(POST, retrieval(2, 1, *ids, *others), model(3, 1, prompt, **more))

    response = read(PROMPT)
    assert response.passages == (FIRST, SECOND)
    assert response.query == QUESTION
    assert [each["id"] for each in response.metadata["context_details"]] == ["a", "b"]
    three = read(PROMPT, {"id": "c"})
    assert three.passages is None
    assert [each["id"] for each in three.metadata["context_details"]] == ["a", "b", "c"]
    unnumbered = f"Context:\n{FIRST}\n{SECOND}\n\nQuestion: {QUESTION}"
    assert read(unnumbered).passages == (FIRST, SECOND)
    assert read(f"Use this.\n{FIRST}").passages is None
    variables = {
        "gen_ai.prompt.variable.question": QUESTION,
        "gen_ai.prompt.variable.context": f"{FIRST}\n\n{SECOND}",
    }
    filled = read("see above", a=variables)
    assert (filled.query, filled.passages) == (QUESTION, (FIRST, SECOND))
    tagged = f'<doc id="b">{SECOND}</doc>\n<doc id="a">{FIRST}</doc>\n{QUESTION}'
    assert read(tagged).passages == (FIRST, SECOND)


def test_nothing_retrieved_differs_from_nothing_known():
    assert answered(chain(1), retrieval(2, 1)).passages == ()
    unknown = span(2, 1, a={"gen_ai.operation.name": "retrieval"})
    assert answered(chain(1), unknown).passages is None


# Model, tokens, messages and the rest


def test_tokens_and_cost_of_nested_calls_count_once():
    agent = {
        **AGENT,
        "gen_ai.usage.input_tokens": 10,
        "gen_ai.usage.output_tokens": 6,
        "gen_ai.usage.cost": 0.5,
    }
    cost = {"gen_ai.usage.cost": 0.25}
    embedding = {"gen_ai.operation.name": "embeddings", "gen_ai.usage.input_tokens": 99}
    response = answered(
        span(1, a=agent),
        model(2, 1, returned=None, at=(2, 20), a=cost),
        model(3, 2, returned=None, at=(3, 19)),
        model(4, 1, at=(30, 80), a=cost | {"gen_ai.response.model": "m-3"}),
        span(5, 1, at=(1, 2), a=embedding),
    )
    assert (response.metadata["prompt_tokens"], response.metadata["completion_tokens"]) == (10, 6)
    assert response.generator_cost == pytest.approx(0.5)
    assert response.generator_model == "m-3"
    alone = answered(model(9, a=agent))
    assert alone.metadata["prompt_tokens"] == 10


def test_query_type_comes_from_metadata_or_a_tag():
    for fields, query_type in (
        ({"metadata": '{"query_type": "power"}'}, "power"),
        ({"tag.tags": ["prod", "query_type:power"]}, "power"),
        ({}, "unspecified"),
    ):
        assert answered(span(1, a=chain(1).attributes | fields)).query_type == query_type


@pytest.mark.parametrize(
    "tags", [7, True, [7, None], "alpha", {"query_type": "power"}, ["query_type:power"]]
)
def test_a_rule_may_take_tags_of_any_value(tags):
    root = span(1, a=chain(1).attributes | {"labels": tags})
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
    response = assert_usual(span(1, a=fields))
    assert (response.generator_model, response.generator_cost) == ("m-1", 0.01)


def test_documents_of_openinference_may_be_json():
    document = {"document": {"content": FIRST, "id": "a", "score": 0.5}}
    for name, found in (
        ("retrieval.documents", json.dumps([document])),
        ("output.value", json.dumps({"documents": [{"page_content": FIRST, "id": "a"}]})),
    ):
        fields = {"openinference.span.kind": "RETRIEVER", "input.value": QUESTION, name: found}
        assert answered(chain(1), span(2, 1, a=fields)).passages == (FIRST,)


def test_a_span_in_two_conventions_takes_what_one_lacks_from_the_other():
    fields = {"openinference.span.kind": "LLM", "llm.token_count.prompt": 7}
    response = assert_usual(span(1, a=fields | model(1).attributes))
    assert response.generator_model == "m-2"
    assert (response.metadata["prompt_tokens"], response.metadata["completion_tokens"]) == (5, 3)


def log(event, body, at):
    return LogRecord(TRACE, f"{1:016x}", event, START + at, body)


def as_json(fields):
    """The fields as attributes: what is no text is JSON."""
    return {
        key: each if isinstance(each, str) else json.dumps(each) for key, each in fields.items()
    }


def event(name, **fields):
    return SpanEvent(name, START, as_json(fields))


def test_messages_up_to_version_1_36_come_as_logs_or_as_events():
    fields = {**CHAT, "gen_ai.system": "openai"}
    records = (
        log("gen_ai.choice", {"index": 0, "message": {"content": ANSWER}}, 9),
        log("gen_ai.user.message", {"content": QUESTION}, 3),
        log("gen_ai.system.message", {"content": "Be brief."}, 1),
    )
    response = assert_usual(span(1, a=fields), logs=records)
    assert [each["role"] for each in response.messages] == ["system", "user"]
    asked = {"role": "user", "content": QUESTION}
    replied = {"role": "assistant", "content": ANSWER}
    events = (
        event("gen_ai.user.message", **{"gen_ai.event.content": {"content": QUESTION}}),
        event("gen_ai.choice", message=replied),
    )
    assert_usual(span(1, a=fields, events=events))
    older = (
        event("gen_ai.content.prompt", **{"gen_ai.prompt": [asked]}),
        event("gen_ai.content.completion", **{"gen_ai.completion": [replied]}),
    )
    assert_usual(span(1, a=fields, events=older))


def test_parts_of_a_message_in_an_event_may_be_json():
    question = event("gen_ai.user.message", content=[{"text": QUESTION}])
    reply = event("gen_ai.choice", message=[{"text": ANSWER}], finish_reason="end_turn")
    assert_usual(span(1, a=AGENT), span(2, 1, a=CHAT, events=(question, reply)))
    structured = event("gen_ai.choice", message={"content": '{"city": "Bergen"}'})
    response = answered(span(1, a=CHAT, events=(question, structured)))
    assert response.answer == '{"city": "Bergen"}'


def test_structured_messages_in_a_log_record_are_read_as_json_on_a_span_is():
    content = {
        name: json.loads(value)
        for name, value in model(1).attributes.items()
        if name.endswith(".messages")
    }
    name = "gen_ai.client.inference.operation.details"
    record = LogRecord(TRACE, f"{1:016x}", name, START, None, content)
    assert_usual(span(1, a=CHAT), logs=(record,))


@pytest.mark.parametrize(
    "fields",
    [
        {"input": QUESTION, "output": ANSWER},
        {"question": QUESTION, "answer": ANSWER},
        {"rag.query": QUESTION, "rag.response": ANSWER},
        {"app.input": {"question": QUESTION}, "app.output": {"answer": ANSWER}},
        {"prompt": QUESTION, "final_result": ANSWER},
        {"messages": [{"role": "user", "content": QUESTION}], "response": ANSWER},
        {
            "haystack.pipeline.input_data": {
                "retriever": {"query": QUESTION, "top_k": 2},
                "prompt": {"question": QUESTION},
            },
            "haystack.pipeline.output_data": {
                "retriever": {"documents": []},
                "llm": {"replies": [ANSWER], "meta": [{"model": "m"}]},
            },
        },
        {
            "gcp.vertex.agent.llm_request": {
                "model": "m",
                "contents": [{"role": "user", "parts": [{"text": QUESTION}]}],
            },
            "gcp.vertex.agent.llm_response": {
                "content": {"role": "model", "parts": [{"text": ANSWER}]}
            },
        },
        {
            "request_data": {"messages": [{"role": "user", "content": QUESTION}], "model": "m"},
            "response_data": {
                "message": {"role": "assistant", "content": ANSWER},
                "usage": {"total_tokens": 1},
            },
        },
    ],
    ids=lambda fields: next(iter(fields)),
)
def test_plain_spans_are_read_by_the_names_of_their_attributes(fields):
    others = {"contexts": [FIRST, SECOND], "db.query": "SELECT 1", "model": "m"}
    response = assert_usual(span(1, a=as_json(fields) | others))
    assert response.passages == (FIRST, SECOND)
    assert response.generator_model == "m"


def test_a_plain_retriever_is_known_by_its_name():
    found = span(
        2, 1, name="retrieve_documents", a=as_json({"output": [{"id": "a", "text": FIRST}]})
    )
    root = span(1, a={"input": QUESTION, "output": ANSWER})
    assert answered(root, found).passages == (FIRST,)
    query = {"db.query.text": "SELECT 1", "db.response": "ok"}
    assert_usual(root, span(3, 1, name="SELECT docs", a=query))


# No answer


def reason(*spans, logs=()):
    taken = answer_of(spans, logs)
    assert taken.response is None
    return taken.reason


def test_a_trace_without_content_names_the_variable_that_turns_it_on():
    variable = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
    root = span(1, a={"gen_ai.operation.name": "invoke_workflow"})
    assert variable in reason(root, span(2, 1, a=CHAT))
    without_texts = (
        log("gen_ai.user.message", None, 10),
        log(
            "gen_ai.choice",
            {"index": 0, "finish_reason": "stop", "message": {"role": "assistant"}},
            20,
        ),
    )
    assert variable in reason(span(1, a=CHAT), logs=without_texts)
    hidden = {
        "openinference.span.kind": "LLM",
        "input.value": "__REDACTED__",
        "output.value": "__REDACTED__",
    }
    assert "OPENINFERENCE_HIDE_INPUTS" in reason(span(1, a=hidden))
    assert "recordInputs" in reason(span(1, a={"ai.operationId": "ai.generateText"}))


def test_other_reasons_say_what_is_there_instead():
    failed = model(1, returned=None, error="rate limit\nTraceback")
    assert reason(failed).endswith(": rate limit")
    half = chain(1, returned=None, error="timeout"), model(2, 1, returned="A thought.")
    assert "timeout" in reason(*half)
    tool = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "weather"}
    assert "tool" in reason(span(1, a=tool))
    assert reason(span(1), span(2, 1, a=tool, error="it broke")).endswith(": it broke")
    assert "sources map" in reason(span(1, name="GET /health", a={"http.route": "/health"}))
    assert reason()


# Rules


def test_rules_name_the_places_of_fields():
    asked = {"app.payload": {"q": {"text": QUESTION}, "kind": "power"}, "x.y": ANSWER}
    root = span(1, name="ask", a=as_json(asked))
    docs = span(2, 1, name="find", a=as_json({"hits.all": [{"text": FIRST}]}))
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
