"""LangSmith: its exported runs and spans."""

from functools import partial

from judgeboard.tools import langsmith
from judgeboard.traces.spans import Operation, Passage
from made_spans import part_of
from tool_files import records, written

read_part = partial(part_of, langsmith.read_span)


def test_the_parts_of_model_and_retriever_runs():
    message = {
        "content": "Hello.",
        "type": "ai",
        "usage_metadata": {"input_tokens": 5, "output_tokens": 2},
        "response_metadata": {"model_name": "m-1"},
    }
    reply = {"lc": 1, "id": ["AIMessage"], "kwargs": message}
    model = {
        "run_type": "llm",
        "inputs": {"messages": [[{"type": "human", "content": "Hi?"}]]},
        "outputs": {"generations": [[{"text": "Hello.", "message": reply}]]},
        "extra": {"metadata": {"ls_model_name": "m"}},
    }
    part = read_part(langsmith.run_attributes(model))
    assert part.operation == Operation.MODEL
    assert part.model == "m-1"
    assert part.question == "Hi?"
    assert part.answer == "Hello."
    assert part.prompt_tokens == 5
    assert part.completion_tokens == 2
    documents = {"documents": [{"page_content": "One.", "metadata": {"id": "a", "score": 0.9}}]}
    retriever = {"run_type": "retriever", "inputs": {"query": "Hi?"}, "outputs": documents}
    retrieval = read_part(langsmith.run_attributes(retriever))
    assert retrieval.passages == (Passage("One.", "a", 0.9),)


def test_a_failed_run_has_its_error(tmp_path):
    failed = {"id": "r", "run_type": "chain", "inputs": {"question": "q?"}, "error": "RateLimit()"}
    failed |= {"outputs": None, "start_time": "2026-11-21T04:00:00", "end_time": None}
    failed |= {"trace_id": "t", "parent_run_id": None}
    _, (rejected,) = records(written(tmp_path, failed))
    assert "RateLimit()" in rejected.reason


def test_runs_of_langsmith_become_the_answer_of_their_trace(tmp_path):
    def run(id_, parent, kind, inputs, outputs, **more):
        return more | {
            "id": id_,
            "parent_run_id": parent,
            "run_type": kind,
            "inputs": inputs,
            "outputs": outputs,
            "trace_id": "t",
            "start_time": "2026-11-21T04:00:00",
            "end_time": "2026-11-21T04:00:01",
            "session_id": "the project",
        }

    documents = [{"page_content": "p1", "metadata": {}}, {"page_content": "p2"}]
    stats = {"correctness": {"n": 1, "avg": 0.5}, "user_thumbs": {"n": 1, "avg": 1.0}}
    runs = [
        run(
            "m",
            "r",
            "llm",
            {"messages": [["user", "q?"]]},
            {"generations": [[{"text": "a."}]]},
            extra={"metadata": {"ls_model_name": "gpt"}},
        ),
        run("d", "r", "retriever", {"query": "q?"}, {"documents": documents}),
        run(
            "r",
            None,
            "chain",
            {"question": "q?"},
            {"output": "a."},
            extra={"metadata": {"session_id": "s", "user_id": "u"}},
            feedback_stats=stats,
        ),
    ]
    file = written(tmp_path, *runs)
    title, (answer,) = records(file)
    assert title == "LangSmith runs"
    assert answer.query == "q?"
    assert answer.answer == "a."
    assert answer.passages == ("p1", "p2")
    assert answer.generator_model == "gpt"
    assert answer.metadata["session"] == "s"
    assert answer.metadata["user"] == "u"
    assert [(each.kind, each.value) for each in answer.feedback] == [("thumbs", 1)]
    _, (verdict,) = records(file, "verdicts")
    assert [(score.dimension, score.value) for score in verdict.verdict.scores] == [
        ("correctness", 0.5)
    ]


def test_the_session_of_langsmith_is_not_its_project():
    attributes = {
        "langsmith.span.kind": "chain",
        "langsmith.trace.session_id": "project",
        "gen_ai.prompt": '{"input": "Hi?"}',
    }
    assert read_part(attributes).session is None
    named = read_part(
        attributes
        | {"langsmith.metadata.thread_id": "t-1", "langsmith.span.tags": ["a", "seq:step:1"]},
    )
    assert (named.session, named.tags, named.question) == ("t-1", ("a",), "Hi?")


def test_spans_written_by_hand_for_langsmith():
    part = read_part(
        {
            "langsmith.span.kind": "LLM",
            "gen_ai.prompt.0.content": "Hi?",
            "gen_ai.prompt.0.role": "user",
            "gen_ai.completion.0.content": "Hello.",
            "gen_ai.usage.prompt_tokens": 5,
            "gen_ai.usage.completion_tokens": 2,
            "gen_ai.request.model": "m",
        },
    )
    assert part.operation == Operation.MODEL
    assert part.model == "m"
    assert part.question == "Hi?"
    assert part.answer == "Hello."
    assert part.prompt_tokens == 5
    assert part.completion_tokens == 2


def test_langsmith_without_content_says_which_variables_hide_it():
    hidden = {"langsmith.span.kind": "chain", "gen_ai.prompt": "{}", "gen_ai.completion": "{}"}
    assert "LANGSMITH_HIDE_INPUTS=false" in str(read_part(hidden).missing)
