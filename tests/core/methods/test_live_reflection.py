"""Self-reflection in a live pipeline: one answer, one second try, the better grounded of the two."""

import asyncio
from typing import Any

import pytest

import judgeboard
from endpoint_scripts import in_turn
from engines import on_sqlite
from judgeboard.domain import RunState
from judgeboard.llm.recording_endpoint import RecordingEndpoint, completion, verdict
from judgeboard.methods.attempts import attempt_sequences
from judgeboard.methods.reflect import Outcome
from judgeboard.store.engine import Store
from judgeboard.store.overview import count_responses
from judgeboard.store.refinements import stored_attempts
from judgeboard.store.runs import list_runs

QUERY = "At what temperature does Dyneema melt?"
BAD = "Marble dunes sing about violet engines while nobody in the harbour listens."
GOOD = "Dyneema melts at about 145 degrees."
PASSAGES = ["Slings. Dyneema melts at about 145 degrees."]
MESSAGES = [{"role": "user", "content": QUERY}]


class Generate:
    """Writes an answer and keeps what it was asked."""

    def __init__(self, answer: Any = GOOD) -> None:
        self.answer = answer
        self.asked: list[Any] = []

    def __call__(self, messages: Any) -> Any:
        self.asked.append(messages)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def test_a_bad_answer_is_replaced_by_a_better_grounded_one() -> None:
    generate = Generate()
    result = judgeboard.reflect_blocking(QUERY, BAD, PASSAGES, MESSAGES, generate=generate)
    assert (result.answer, result.kept, result.other) == (GOOD, "new", BAD)
    assert result.after is not None
    assert (result.before.groundedness or 0) < (result.after.groundedness or 0)
    assert generate.asked == [MESSAGES]


@on_sqlite
def test_a_new_answer_is_stored_with_the_original_and_both_verdicts(store: Store) -> None:
    result = judgeboard.reflect_blocking(QUERY, BAD, PASSAGES, MESSAGES, generate=Generate(), store=store)
    again = judgeboard.reflect_blocking(QUERY, GOOD * 2, PASSAGES, MESSAGES, generate=Generate(), store=store)
    assert again.outcome is None, "no attempt, nothing stored"
    with store.reading() as connection:
        (run,) = list_runs(connection)
        ((attempt,),) = stored_attempts(connection, run.id).values()
        assert attempt.response_id is not None
        (sequence,) = attempt_sequences(connection, attempt.response_id)
        assert attempt_sequences(connection, attempt.root_response_id or 0) == (sequence,)
    assert (run.kind, run.state) == ("reflect", RunState.DONE)
    assert [(each.answer, each.kept) for each in sequence.attempts] == [(BAD, False), (GOOD, True)]
    scores = [result.before.groundedness, result.after and result.after.groundedness]
    assert [each.groundedness for each in sequence.attempts] == scores
    with store.reading() as connection:
        assert count_responses(connection) == 0, "a live answer is not part of the log"


def test_an_async_generator_and_the_awaited_form_give_the_same() -> None:
    async def generate(_messages: Any) -> str:
        return GOOD

    awaited = asyncio.run(judgeboard.reflect(QUERY, BAD, PASSAGES, MESSAGES, generate=generate))
    assert (awaited.answer, awaited.kept) == (GOOD, "new")


@pytest.mark.parametrize(
    ("new", "outcome"),
    [
        (f" {BAD}\n", Outcome.IDENTICAL),
        ("  ", Outcome.NO_ANSWER),
        (RuntimeError("the model is out"), Outcome.NO_ANSWER),
        ("Marble engines sing about violet dunes and nobody listens at all.", Outcome.KEPT_ORIGINAL),
    ],
)
def test_the_original_is_kept_where_nothing_better_comes(new: Any, outcome: Outcome) -> None:
    result = judgeboard.reflect_blocking(QUERY, BAD, PASSAGES, MESSAGES, generate=Generate(new))
    assert (result.answer, result.kept, result.outcome) == (BAD, "original", outcome)
    assert (result.after is None) == (outcome is not Outcome.KEPT_ORIGINAL)
    if isinstance(new, Exception):
        assert result.error == "RuntimeError: the model is out"


def test_a_failed_second_judgment_keeps_the_original() -> None:
    replies = [verdict(groundedness=0.1, quality=1), completion("no"), completion("no")]
    with RecordingEndpoint(in_turn(replies)) as endpoint:
        result = judgeboard.reflect_blocking(
            QUERY, BAD, PASSAGES, MESSAGES, generate=Generate(), judge="rag", model="m", base_url=endpoint.base_url
        )
    assert (result.answer, result.outcome, result.other) == (BAD, Outcome.SECOND_FAILED, GOOD)


@pytest.mark.parametrize(
    ("answer", "passages", "query_type"),
    [
        (BAD, PASSAGES, "simple"),
        ("too short", PASSAGES, "complex"),
        (BAD, None, "complex"),
        (GOOD * 2, PASSAGES, "complex"),
    ],
    ids=["simple", "short", "groundedness unmeasured", "good"],
)
def test_an_answer_that_is_not_eligible_is_judged_and_left(answer: str, passages: Any, query_type: str) -> None:
    generate = Generate()
    result = judgeboard.reflect_blocking(QUERY, answer, passages, MESSAGES, generate=generate, query_type=query_type)
    assert (result.answer, result.kept, result.outcome, generate.asked) == (answer, "original", None, [])
    assert result.before.quality is not None


def test_missing_messages_are_rebuilt() -> None:
    generate = Generate()
    judgeboard.reflect_blocking(QUERY, BAD, PASSAGES, generate=generate)
    [[message]] = generate.asked
    assert QUERY in message["content"]
    assert PASSAGES[0] in message["content"]


def test_blocking_inside_an_event_loop_names_the_coroutine() -> None:
    async def inside() -> None:
        judgeboard.reflect_blocking(QUERY, BAD, PASSAGES, generate=Generate())

    with pytest.raises(judgeboard.JudgeboardError, match=r"await judgeboard\.reflect"):
        asyncio.run(inside())
