"""Columns of real logs, data sets and tools are read as what they are. An unknown name is a proposal, never a guess."""

import json

import pytest

from judgeboard.domain import Response
from judgeboard.imports.proposals import propose
from judgeboard.imports.reading import read_records
from judgeboard.imports.responses import ResponseImport

TEXT = {"query": "q", "answer": "a"}
# The columns of one row of a log or data set, each with the field that it must be read as.
HEADERS = {
    # Chat logs of applications, as their tables and CSV writers name the columns
    "support log": "id=external_id, ts=asked_at, user_message=query, bot_reply=answer, thumbs=thumbs",
    "bot table": "user_input=query, bot_response=answer, timestamp=asked_at",
    "short names": "user_msg=query, bot_response=answer, timestamp=asked_at",
    "WhatsApp bot": "user_message=query, bot_response=answer, createdAt=asked_at",
    "GPT log": "user_query=query, gpt_response=answer, model=generator_model, created_at=asked_at",
    "model log": "user_query=query, model_response=answer, model=generator_model, created_at=asked_at",
    "AI log": "user_question=query, ai_response=answer, created_at=asked_at",
    "spaced names": "User Query=query, LLM Response=answer",
    "spreadsheet": "Question=query, Answer=answer, Date and Time=asked_at, Message ID=external_id",
    "French bot": "timestamp=asked_at, user_question=query, bot_response=answer",
    "rated log": "id=external_id, question=query, answer=answer, created_at=asked_at, stars=stars",
    "ragas log": "timestamp=asked_at, query=query, final_answer=answer, rag_context=context",
    "JSON lines of a RAG": "query_text=query, retrieved_chunks=context, model_output=answer",
    "logger of RAG steps": "query=query, llm_output=answer, timestamp=asked_at",
    "evaluation log": "query=query, response=answer, context_documents=context",
    "assistant": "user_prompt=query, assistant_response=answer, model_used=generator_model",
    "assistant reply": "customer_message=query, assistant_reply=answer, sent_at=asked_at",
    "assistant message": "user_message=query, assistant_message=answer, message_timestamp=asked_at",
    "chatbot": "customer_question=query, chatbot_response=answer, detected_intent=query_type",
    "voice": "user_utterance=query, bot_message=answer, intent_name=query_type",
    "AI answer": "customer_query=query, ai_answer=answer, created_on=asked_at",
    "AI reply": "user_text=query, ai_reply=answer, received_at=asked_at",
    "AI message": "user_message=query, ai_message=answer, interaction_id=external_id",
    # Question-answering data sets, with the answers of a model
    "SQuAD with answers": "id=external_id, question=query, context=context, answer=answer",
    "RAGBench": "id=external_id, question=query, documents=context, response=answer",
    "RAGTruth": "id=external_id, query=query, context=context, output=answer, task_type=query_type",
    "HaluBench": "id=external_id, passage=context, question=query, answer=answer",
    "HaluEval with answers": "knowledge=context, question=query, right_answer=reference, answer=answer",
    "TruthfulQA with answers": "question=query, best_answer=reference, category=query_type, answer=answer",
    "DPR": "question=query, ctxs=context, answer=answer",
    "HotpotQA predictions": "question=query, prediction=answer, type=query_type",
    "MS MARCO predictions": "query=query, passages=context, predicted_answer=answer",
    "Alpaca": "instruction=query, output=answer",
    "AutoRAG": "qid=metadata, query=query, retrieved_contents=context, generated_texts=answer, generation_gt=reference",
    "ELI5 style": "question_text=query, answer_text=answer",
    # Test sets and results of evaluation tools
    "ragas 0.1": "question=query, answer=answer, contexts=context, ground_truth=reference",
    "ragas 0.2": "user_input=query, response=answer, retrieved_contexts=context, reference=reference",
    "DeepEval": "input=query, actual_output=answer, retrieval_context=context, expected_output=reference",
    "DeepEval camel": "input=query, actualOutput=answer, retrievalContext=context, expectedOutput=reference",
    "Giskard": "question=query, reference_answer=reference, reference_context=metadata, agent_answer=answer",
    "TruLens": "record_id=external_id, input=query, output=answer, ts=asked_at, total_cost=generator_cost",
    "Azure AI evaluation": "query=query, response=answer, context=context, ground_truth=reference",
    "Vertex AI evaluation": "prompt=query, response=answer, reference=reference, baseline_model_response=metadata",
    "Bedrock": "prompt=query, response=answer, referenceResponse=reference, modelIdentifier=generator_model",
    "MLflow evaluate": "inputs=query, ground_truth=reference, outputs=answer",
    "LangChain chain": "query=query, answer=answer, source_documents=context",
    "Haystack": "query=query, answer=answer, documents=context",
    "LlamaIndex": "query=query, response=answer, contexts=context, reference_answer=reference",
    "OpenAI evals": "input=query, ideal=reference, completion=answer",
    "promptfoo CSV": "prompt=query, output=answer",
    # Exports of observability tools, flattened to columns
    "OpenInference": "attributes.input.value=query, attributes.output.value=answer, "
    "attributes.llm.model_name=generator_model, context.span_id=external_id, start_time=asked_at",
    "Langfuse CSV": "id=external_id, timestamp=asked_at, input=query, output=answer",
    "LangSmith CSV": "run_id=external_id, start_time=asked_at, input=query, output=answer",
    "Opik": "trace_id=external_id, input=query, output=answer, created_at=asked_at",
    "Helicone": "request_id=external_id, prompt=query, response=answer, model=generator_model",
    "Arize": "trace_id=external_id, prompt_text=query, response_text=answer, event_time=asked_at",
    "W&B table": "example_id=external_id, question=query, generated_response=answer, ideal_answer=reference",
    "MLflow predictions": "inputs=query, ground_truth=reference, predictions=answer",
}
VALUES = {
    **TEXT,
    "external_id": "x1",
    "context": ["p"],
    "asked_at": "2026-03-01T09:30:00Z",
    "reference": "r",
    "generator_model": "m",
    "generator_cost": 0.5,
    "query_type": "t",
    "thumbs": "up",
    "stars": 4,
    "metadata": "kept",
}


@pytest.mark.parametrize("name", HEADERS)
def test_the_columns_of_real_logs_are_recognised(name, tmp_path):
    columns = dict(each.split("=") for each in HEADERS[name].split(", "))
    log = tmp_path / "log.json"
    log.write_text(json.dumps([{theirs: VALUES[ours] for theirs, ours in columns.items()}]))
    with read_records(log, format="json") as reading:
        (response,) = reading
        used = {use.theirs: use.ours for use in reading.columns() if use.theirs is not None}
    assert isinstance(response, Response)
    assert used == {
        theirs: None if ours == "metadata" else ours for theirs, ours in columns.items()
    }


@pytest.mark.parametrize(
    ("better", "other"),
    [
        (("query", "q"), ("user_message", "another text")),
        (("answer", "a"), ("bot_message", "typing …")),
        (("retrieved_contexts", ["p"]), ("knowledge", "graph")),
        (("retrieval_context", ["p"]), ("context", ["ideal"])),
        (("id", "x1"), ("message_id", "m1")),
        (("timestamp", "2026-03-01"), ("received_at", "2026-03-02")),
    ],
)
def test_a_name_that_can_mean_two_things_leaves_the_field_to_a_better_one(one, better, other):
    response = one({**TEXT, **dict([other, better])})
    assert response.metadata == dict([other])


def proposed(columns, needed=("query", "answer")):
    """Return the proposal for a file of answers of which no column is recognised."""
    return propose(ResponseImport.columns, needed, list(ResponseImport.columns), columns)


def test_the_columns_of_another_language_are_proposed():
    columns = {
        "ticket": ["T-1", "T-2"],
        "geöffnet": ["03/04/2026 10:00", "04/04/2026 10:00"],
        "kunde": ["Wo ist meine Rechnung?", "Was kostet das?"],
        "bot": ["Im Konto.", "Zehn Euro im Monat."],
        "wissen": ["Rechnungen sind im Konto.|Mehr.", "Preise je Monat.|Preise im Jahr."],
        "kanal": ["web", "app"],
        "notiz": ["gut", ""],
    }
    assert proposed(columns) == {
        "ticket": "external_id",
        "geöffnet": "asked_at",
        "kunde": "query",
        "bot": "answer",
        "wissen": "context",
    }
    columns = {"Kundenfrage": ["Was?"], "Botantwort": ["Das."]}
    assert proposed(columns) == {"Kundenfrage": "query", "Botantwort": "answer"}


def test_values_alone_are_enough_for_question_and_answer():
    columns = {
        "a": ["web", "web", "app"],
        "b": ["How do I reset it?", "Where is my invoice?", "Can I pay later?"],
        "c": [
            "Open the page and press the button.",
            "Your invoice is in the account.",
            "Yes, choose that at the end.",
        ],
        "d": ["KB-1;KB-2", "KB-3;KB-4", "KB-5"],
        "response_time": [3.2, 2.1, 0.4],
    }
    assert proposed(columns) == {"b": "query", "c": "answer"}


@pytest.mark.parametrize(
    ("column", "values", "field"),
    [
        ("vote", ["👍", "👎", "👍🏽"], "thumbs"),
        ("verdict_of_user", ["good", "bad", None], "thumbs"),
        ("mark", [1, -1, 1], "thumbs"),
        ("helpful", ["yes", "no", ""], "thumbs"),
        ("csat", ["5", "4", "1"], "stars"),
        ("resolved", ["yes", "no", "yes"], None),
        ("retries", [0, 1, 1], None),
        ("opened at", ["2026-03-01", "2026-03-02T10:00", "2026-03-03"], "asked_at"),
        ("sources", [["Page one is here."], ["Page two.", "Page three."], []], "context"),
        ("sources", ["KB-1", "KB-2", "KB-1"], None),
        ("sources", [["KB-1", "KB-2"], ["KB-1"]], None),
        ("sources", ["web", "app", "web"], None),
        ("kb_articles", ["Press the button to reset.", "Bills are in the account."], "context"),
        ("kb_articles", ["KB-1", "KB-2|KB-3"], None),
        ("articles", ["Press the button.|Hold it.", "See the account."], "context"),
        ("knowledge_used", ["Press the button to reset.", "Bills are in the account."], "context"),
        ("user id", ["u1", "u2", "u3"], None),
        ("ticket no", [4711, 4712, 4713], "external_id"),
        ("ticket no", [4711, 4711, 4713], None),
        ("topic", ["billing", "billing", "login"], "query_type"),
    ],
)
def test_names_and_values_make_a_proposal_together(column, values, field):
    mapping = {} if field is None else {column: field}
    assert proposed({column: values}, needed=()) == mapping
