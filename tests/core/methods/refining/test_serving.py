"""One call between an assistant and its reader: what the reader sees, what is recorded, and what may fail."""

import asyncio
import logging
import sqlite3
import threading
import time
from typing import ClassVar

import pytest

import judgeboard
from endpoint_scripts import in_turn
from engines import on_sqlite
from judgeboard.domain import Claim, DimensionScore, ResponseKind
from judgeboard.judges.evidence_alignment import REFLECTIONS, served_words
from judgeboard.judges.judge import fingerprint
from judgeboard.llm.recording_endpoint import RecordingEndpoint, ScriptedReply, always, verdict
from judgeboard.methods.refining.attempts import attempt_sequences
from judgeboard.methods.refining.reflect import Outcome
from judgeboard.store.items import load_item
from judgeboard.store.judge_versions import list_versions
from judgeboard.store.judgments import dimension_scores
from judgeboard.store.tables import RESPONSE
from result_fields import check_fields
from sent_traces import receiving
from stored_rows import read, values_of

QUERY = "At what temperature does Dyneema melt?"
BAD = "Marble dunes sing about violet engines while nobody in the harbour listens."
GOOD = "Dyneema melts at about 145 degrees."
PASSAGES = ["Slings. Dyneema melts at about 145 degrees."]
DISCLAIMER = "❓ Insufficient data for this answer, use with caution"
UNCHECKED = "❓ This answer could not be checked, use with caution"
WARNING = "⚠️ Some content may go beyond available data"


def items(store):
    """The answers of the log."""
    ids = values_of(store, RESPONSE.c.id, RESPONSE.c.kind == ResponseKind.LOG)
    return [read(store, load_item, id_) for id_ in ids]


def serve(answer, passages=PASSAGES, **options):
    return judgeboard.serve_answer_blocking(QUERY, answer, passages, **options)


@on_sqlite
def test_a_bad_answer_gets_a_disclaimer_a_verdict_and_a_flag(store):
    served = serve(BAD, store=store, source="shop", metadata={"tenant": "a"}, generator_model="m")
    check_fields(served, text=f"{DISCLAIMER}\n\n{BAD}", answer=BAD, level="disclaimer")
    [item] = items(store)
    # Stored without notice.
    check_fields(
        item.response,
        external_id=served.external_id,
        source="shop",
        answer=BAD,
        generator_model="m",
    )
    shown, [judgment] = item.response.metadata["served"], item.judgments
    assert (item.response.metadata["tenant"], shown["notice"]) == ("a", "disclaimer")
    assert judgment.groundedness == served.verdict.groundedness == shown["groundedness"]
    assert "low_groundedness" in {flag.rule for flag in item.flags}


@on_sqlite
def test_a_better_second_answer_is_served_and_the_page_can_say_so(store):
    served = serve(BAD, generate=lambda _messages: GOOD, query_type="complex", store=store)
    check_fields(served, text=GOOD, level="full")
    [item] = items(store)
    assert item.response.answer == GOOD
    assert item.response.metadata["served"]["reflection"] == "kept_new"
    [attempts] = read(store, attempt_sequences, item.response_id)
    assert [attempt.answer for attempt in attempts.attempts] == [BAD, GOOD]
    words = served_words(item.response.metadata)
    assert "groundedness 1.00" in words
    assert words.endswith(REFLECTIONS["kept_new"])


def test_the_rule_says_which_answers_get_a_second_one():
    by_default, of_all = (
        serve(BAD, generate=lambda _: GOOD, rule=rule, record=False)
        for rule in (None, judgeboard.ReflectRule(query_types=()))
    )
    # The query type is not known.
    assert (by_default.answer, of_all.answer) == (BAD, GOOD)


@on_sqlite
def test_each_step_is_optional(store):
    plain = serve(BAD, judge=None, store=store)
    check_fields(plain, text=BAD, level="unmeasured", verdict=None)
    without = serve(BAD, notice=False, store=store)
    check_fields(without, text=BAD, level="disclaimer")
    serve(BAD, record=False, store=store)
    first, second = items(store)
    assert (first.judgments, first.response.metadata["served"]) == ((), {"notice": "unmeasured"})
    assert (len(second.judgments), "notice" in second.response.metadata["served"]) == (1, False)


@pytest.mark.parametrize(
    ("score", "start", "level"), [(0.8, "", "full"), (0.6, WARNING, "warning")]
)
def test_the_notice_goes_by_the_verdict_of_a_model(score, start, level):
    with RecordingEndpoint(always(verdict(groundedness=score, quality=3))) as endpoint:
        served = serve(GOOD, judge="rag", model="m", base_url=endpoint.base_url, record=False)
    assert served.text.startswith(start or GOOD)
    assert served.level == level


def test_without_a_store_the_server_gets_the_answer_and_what_the_reader_saw():
    with RecordingEndpoint(always(ScriptedReply({"stored": True}))) as server:
        client = judgeboard.Client(server.base_url.removesuffix("/v1"), delay_s=0)
        passages = [{"text": PASSAGES[0], "rank": 1}]
        call = judgeboard.serve_answer(QUERY, BAD, passages, client=client, source="shop")
        served = asyncio.run(call)
        assert client.flush(60)
    [body] = server.requests[0].body
    check_fields(body, external_id=served.external_id, answer=BAD, source="shop")
    assert body["metadata"]["served"]["notice"] == "disclaimer"
    assert body["context"] == passages


class Own:
    """A judge of the user, with everything that a verdict can have."""

    version = judgeboard.JudgeVersion("mine", "own", "m-1", {"temperature": 0})
    address = None
    priced = False
    verdicts: ClassVar = {
        "ok": judgeboard.Verdict(
            status=judgeboard.Status.OK,
            groundedness=0.25,
            quality=2,
            label=judgeboard.Label.HALLUCINATED,
            reasoning="why",
            raw="{}",
            claims=(Claim(BAD, judgeboard.ClaimStatus.UNSUPPORTED, BAD, None, None, 0, len(BAD)),),
            scores=(
                DimensionScore("tone", 4.0, "1-5", "polite"),
                DimensionScore("depth", None, "1-5"),
            ),
        ),
        "error": judgeboard.Verdict(status=judgeboard.Status.ERROR, error="no"),
    }

    def __init__(self, status):
        self.status = status

    async def judge(self, _item):
        return self.verdicts[self.status]

    async def aclose(self):
        """Nothing is open."""


@on_sqlite
@pytest.mark.parametrize(
    ("status", "rules"), [("ok", {"low_groundedness", "low_quality"}), ("error", {"judge_failed"})]
)
def test_without_a_store_the_server_gets_the_whole_verdict_and_flags_the_answer(
    store, status, rules
):
    with RecordingEndpoint(always(ScriptedReply({"stored": True}))) as server:
        client = judgeboard.Client(server.base_url.removesuffix("/v1"), delay_s=0, source="shop")
        serve(BAD, judge=Own(status), client=client)
        assert client.flush(60)
    assert [request.path for request in server.requests] == ["/api/responses", "/api/judgments"]
    with receiving(store) as http:
        for request in server.requests:
            reply = http.post(request.path, json=request.body).json()
            check_fields(reply, stored=1, other_fields={})
    [item] = items(store)
    [judgment] = item.judgments
    sent = Own.verdicts[status]
    for name in (
        "status",
        "groundedness",
        "quality",
        "label",
        "reasoning",
        "claims",
        "raw",
        "error",
    ):
        assert getattr(judgment, name) == getattr(sent, name), name
    assert rules <= {flag.rule for flag in item.flags}
    scores = read(store, dimension_scores, [judgment.id]).get(judgment.id, ())
    assert tuple(scores) == sent.scores
    [version] = read(store, list_versions)
    recorded = {"recorded": fingerprint(Own.version)}
    check_fields(version, name="mine", model="m-1", params=recorded)
    assert item.response.source == "shop"


class Broken:
    """A judge, a model or a database that fails."""

    version = None
    address = None

    async def judge(self, _item):
        raise RuntimeError("the key is sk-not-for-the-log")

    def writing(self):
        raise OSError("the disk is full")


class Slow(Broken):
    async def judge(self, _item):
        await asyncio.sleep(60)


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ({"judge": Broken()}, "the key is sk-not-for-the-log"),
        ({"judge": "oracle"}, "there is no judge of kind 'oracle'"),
        ({"judge": "rag", "model": "m", "base_url": "http://127.0.0.1:9/v1", "tries": 1}, None),
        ({"passages": 7}, "not iterable"),
        ({"messages": [{"role": "system", "content": "be brief"}]}, "no message of the user"),
        ({"within_s": 0.05, "judge": Slow()}, "not enough time"),
        ({"store": Broken(), "record": True}, "the disk is full"),
    ],
)
def test_the_reader_gets_the_answer_whatever_fails(fault, reason, caplog):
    arguments = {"passages": PASSAGES, "record": False} | fault
    began = time.monotonic()
    with caplog.at_level(logging.WARNING, "judgeboard"):
        served = serve(GOOD, **arguments)
    check_fields(served, answer=GOOD, text=f"{UNCHECKED}\n\n{GOOD}", level="unchecked")
    assert time.monotonic() - began < 30
    assert reason is None or reason in caplog.text


@on_sqlite
def test_what_was_judged_counts_also_if_the_second_answer_takes_too_long(store):
    async def generate(_messages):
        await asyncio.sleep(60)
        return GOOD

    served = serve(BAD, generate=generate, query_type="complex", within_s=1, store=store)
    check_fields(served, answer=BAD, level="disclaimer")
    [item] = items(store)
    assert len(item.judgments) == 1


@pytest.fixture
def released():
    """An event for functions that block until the test is over."""
    event = threading.Event()
    yield event
    event.set()


def returns_meanwhile(call):
    """The result of a blocking call that has to return while something else still blocks."""
    results = []
    thread = threading.Thread(target=lambda: results.append(call()), daemon=True)
    thread.start()
    thread.join(30)
    # The call waits for what blocks.
    assert results
    return results[0]


def calls_end():
    """Wait for what calls do in the background."""
    for thread in threading.enumerate():
        if thread.name == "judgeboard-call":
            thread.join(30)


@on_sqlite
def test_the_reader_does_not_wait_for_a_locked_database_and_the_answer_is_recorded_later(
    store, caplog
):
    serve(GOOD, store=store)
    other = sqlite3.connect(str(store.engine.url.database), isolation_level=None)
    other.execute("begin immediate")
    with caplog.at_level(logging.WARNING, "judgeboard"):
        served = returns_meanwhile(lambda: serve(BAD, within_s=0.5, store=store))
        assert (served.level, other.in_transaction, len(items(store))) == ("disclaimer", True, 1)
        assert [served.external_id in record.getMessage() for record in caplog.records] == [True]
    other.execute("rollback")
    other.close()
    calls_end()
    assert [item.response.external_id for item in items(store)[1:]] == [served.external_id]


def test_a_recording_that_fails_in_the_background_is_logged(caplog, released):
    full = OSError("the disk is full")

    class Stuck:
        def writing(self):
            released.wait(60)
            raise full

    with caplog.at_level(logging.WARNING, "judgeboard"):
        served = returns_meanwhile(
            lambda: serve(BAD, None, judge=None, within_s=0.1, store=Stuck())
        )
        released.set()
        calls_end()
    last = caplog.records[-1].getMessage()
    assert served.external_id in last
    assert last.endswith(f"OSError: {full}")


def test_the_reader_does_not_wait_for_a_plain_function_that_hangs(released):
    def generate(_messages):
        released.wait(60)
        return GOOD

    options = {"query_type": "complex", "within_s": 1, "record": False}
    served = returns_meanwhile(lambda: serve(BAD, generate=generate, **options))
    check_fields(served, answer=BAD, level="disclaimer")
    assert not released.is_set()


@on_sqlite
def test_the_failed_judgment_of_a_served_answer_is_flagged_and_its_reader_is_warned(store):
    with RecordingEndpoint(in_turn([ScriptedReply({"error": "no"}, 500)] * 9)) as endpoint:
        made = judgeboard.make_judge("rag", model="m", base_url=endpoint.base_url, tries=1)
        unwarned = serve(GOOD, judge=made, unchecked_notice=False, record=False)
        served = serve(GOOD, judge=made, store=store)
    check_fields(unwarned, text=GOOD, level="unmeasured")
    check_fields(served, text=f"{UNCHECKED}\n\n{GOOD}", level="unchecked")
    [item] = items(store)
    assert item.response.metadata["served"]["notice"] == "unchecked"
    assert "judge_failed" in {flag.rule for flag in item.flags}


@pytest.mark.parametrize(
    "metadata", [{}, {"served": 3}, {"served": {"notice": ["x"], "groundedness": "high"}}]
)
def test_metadata_of_other_tools_describe_no_notice(metadata):
    assert served_words(metadata) is None


def test_each_outcome_of_a_reflection_has_its_words():
    assert [*REFLECTIONS] == [*Outcome]
