"""What `import judgeboard` offers to a program."""

import asyncio
import json
import os
import pkgutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest

import judgeboard
from endpoint_scripts import in_turn
from judgeboard.domain import Response
from judgeboard.imports.importing import import_file
from judgeboard.llm.recording_endpoint import RecordingEndpoint, always, failure, verdict
from judgeboard.runs.judging import judge_pending
from judgeboard.store.export import export_tables
from judgeboard.store.storing import store_responses
from result_fields import check_fields
from stored_rows import read, write_to

QUERY = "At what temperature does Dyneema melt?"
ANSWER = "Dyneema melts at about 145 degrees."
PASSAGES = ["Slings. Dyneema melts at about 145 degrees."]


def judged(*, passages=PASSAGES, **options):
    return judgeboard.judge_answer_blocking(QUERY, ANSWER, passages, **options)


def model(endpoint):
    """The options of a judge that asks the model behind an endpoint."""
    return {"model": "scripted", "base_url": endpoint.base_url}


@pytest.fixture
def log(tmp_path):
    """A file with one answer."""
    file = tmp_path / "log.jsonl"
    row = {"query": "Who?", "answer": "Zebras invented granite.", "context": ["Ann was there."]}
    file.write_text(json.dumps(row))
    return file


@pytest.fixture
def store(tmp_path):
    with closing(judgeboard.open_store(tmp_path / "judgeboard.db", create=True)) as opened:
        yield opened


def test_every_public_name_is_there_and_no_module_hides_one():
    assert sorted(judgeboard.__all__) == dir(judgeboard)
    modules = {module.name for module in pkgutil.iter_modules(judgeboard.__path__)}
    for name in judgeboard.__all__:
        assert getattr(judgeboard, name) is not None
        assert name not in modules


def test_a_name_that_is_not_there_is_said_so():
    with pytest.raises(AttributeError, match="nothing_like_it"):
        _ = judgeboard.nothing_like_it


def test_one_answer_is_judged_with_and_without_an_event_loop():
    blocking = judged()
    awaited = judgeboard.judge_answer(QUERY, ANSWER, PASSAGES, judge="lexical")
    assert blocking == asyncio.run(awaited)
    check_fields(blocking, status="ok", groundedness=1.0)


def test_unknown_passages_leave_groundedness_unmeasured_and_none_retrieved_make_it_0():
    assert judgeboard.judge_answer_blocking(QUERY, ANSWER).groundedness is None
    assert judged(passages=[]).groundedness == 0


def test_a_chat_model_judges_by_name_and_address():
    with RecordingEndpoint(always(verdict(groundedness=0.25, quality=2))) as endpoint:
        judgment = judged(judge="rag", **model(endpoint))
    check_fields(judgment, groundedness=0.25, quality=2)
    assert len(endpoint.requests) == 1


def test_a_judge_that_the_caller_made_serves_many_calls_over_its_connections():
    async def ask(endpoint):
        made = judgeboard.make_judge("rag", **model(endpoint))
        judgment = [
            await judgeboard.judge_answer(QUERY, ANSWER, PASSAGES, judge=made) for _ in range(2)
        ]
        await made.aclose()
        return judgment

    with RecordingEndpoint(in_turn([verdict(quality=1), verdict(quality=3)])) as endpoint:
        assert [judgment.quality for judgment in asyncio.run(ask(endpoint))] == [1, 3]


def test_a_failed_call_is_a_verdict_without_scores():
    with RecordingEndpoint(always(failure(400, "maximum context length is 10 tokens"))) as endpoint:
        judgment = judged(judge="rag", **model(endpoint))
    check_fields(judgment, status="error", groundedness=None)
    assert judgeboard.annotate(ANSWER, judgment.groundedness).level == "unmeasured"


def test_a_made_judge_works_from_any_thread_with_and_without_an_event_loop():
    verdicts = []

    def ask():
        served = judgeboard.serve_answer_blocking(QUERY, ANSWER, PASSAGES, judge=made, record=False)
        verdicts.extend((judged(judge=made), served.verdict))

    async def in_a_notebook():
        ask()
        verdicts.append(await judgeboard.judge_answer(QUERY, ANSWER, PASSAGES, judge=made))

    with RecordingEndpoint(always(verdict(quality=3))) as endpoint:
        made = judgeboard.make_judge("rag", tries=1, **model(endpoint))
        ask()
        with ThreadPoolExecutor(4) as threads:
            list(threads.map(lambda _: ask(), range(4)))
        for _ in range(2):
            asyncio.run(in_a_notebook())
            asyncio.run(made.aclose())
        ask()
    assert [each.quality for each in verdicts] == [3] * 18


def test_a_made_judge_judges_the_log_twice_and_inside_an_event_loop(store):
    counts = []

    def judge_one_more():
        response = Response("s", f"{len(counts)}", QUERY, ANSWER, tuple(PASSAGES))
        write_to(store, store_responses, [response])
        counts.append(judge_pending(store, made).ok)

    async def in_a_notebook():
        judge_one_more()

    with RecordingEndpoint(always(verdict(quality=3))) as endpoint:
        made = judgeboard.make_judge("rag", tries=1, **model(endpoint))
        judge_one_more()
        judge_one_more()
        asyncio.run(in_a_notebook())
    assert counts == [1, 1, 1]


def test_a_blocking_call_inside_another_one_is_refused_instead_of_waiting_for_itself():
    async def generate(_messages):
        return judgeboard.judge_answer_blocking(QUERY, ANSWER).status

    bad = "It only changes its colour in the sun, as many ropes do."
    result = judgeboard.reflect_blocking(QUERY, bad, PASSAGES, generate=generate)
    assert result.outcome == "no_answer"
    assert "BadInput" in str(result.error)


_LEFT_OPEN = """
import os, sys, judgeboard
made = judgeboard.make_judge("rag", model="scripted", base_url=sys.argv[1], tries=1)
def judge():
    status = judgeboard.judge_answer_blocking("q", "an answer", ["p"], judge=made).status
    os.write(1, f"{status}\\n".encode())  # one write: parent and child share the pipe
judge()
child = os.fork()
judge()
if child:
    sys.exit(os.waitpid(child, 0)[1])
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_judge_that_nobody_closes_leaves_no_message_at_the_end_of_a_process_or_its_fork():
    with RecordingEndpoint(always(verdict(quality=3))) as endpoint:
        command = [sys.executable, "-c", _LEFT_OPEN, endpoint.base_url]
        ended = subprocess.run(command, check=False, capture_output=True, text=True, timeout=300)
    assert (ended.stdout.split(), ended.stderr, ended.returncode) == (["ok"] * 3, "", 0)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"judge": "oracle"}, "oracle"),
        ({"passages": "one text"}, "list of texts"),
        ({"passages": [7]}, "int"),
        ({"answer": None}, "answer must be a text"),
        ({"judge": "rag"}, "--model"),
    ],
)
def test_what_cannot_be_judged_is_one_line(changes, message):
    fields = {"query": QUERY, "answer": ANSWER, "passages": PASSAGES} | changes
    with pytest.raises(judgeboard.JudgeboardError, match=message) as raised:
        judgeboard.judge_answer_blocking(**fields)
    assert "\n" not in str(raised.value)


def test_a_log_is_imported_judged_measured_and_exported(store, log, tmp_path):
    import_file(store, log)
    asked = judge_pending(store, judgeboard.make_judge("lexical"))
    check_fields(asked, ok=1, not_reached=0)
    assert judgeboard.raise_flags(store).raised == 0
    assert judgeboard.measure_log(store).judgments["ok"] == 1
    out = tmp_path / "judgments.jsonl"
    assert export_tables(store, {"judgments": out}) == {"judgments": 1}
    assert '"lexical"' in out.read_text()
    with pytest.raises(judgeboard.JudgeboardError, match="secrets"):
        export_tables(store, {"secrets": out})


def test_an_import_refuses_a_keyword_that_it_does_not_know(store, log):
    with pytest.raises(TypeError, match="'sorce': kind, format"):
        import_file(store, log, sorce="shop")
    assert import_file(store, log, source="shop", dry_run=True).new == 1


def test_a_queue_is_made_taken_from_and_decided(store, log):
    import_file(store, log)
    judge_pending(store, judgeboard.make_judge("lexical"))
    ann = judgeboard.ensure_reviewer(store, "page", "Ann")
    rules = judgeboard.new_queue("q", blind_judge=True, order=judgeboard.QueueOrder.OLDEST)
    assert judgeboard.create_queue(store, rules, by="library", assigned=[ann]).joined == 1
    leased = judgeboard.next_item(store, "q", ann)
    (text,) = read(store, judgeboard.item_texts, [leased], ann.id)
    assert "granite" in text.answer
    grade = judgeboard.Grade(label=judgeboard.Label.HALLUCINATED, groundedness=0.0)
    given = {"token": leased.token, "reviewer": ann, "request_key": "one press"}
    decision = judgeboard.Submission(decision=judgeboard.Decision.CONFIRM, grade=grade, **given)
    assert judgeboard.submit(store, decision).state is judgeboard.ItemState.AGREED
    assert read(store, judgeboard.queue_progress, "q").agreed == 1
    assert read(store, judgeboard.open_conflicts).lines == ()
