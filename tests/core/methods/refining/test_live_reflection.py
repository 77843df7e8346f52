"""Self-reflection in a live pipeline: one answer, one second try, the better grounded of the two."""

import asyncio

import pytest
from sqlalchemy import select

import judgeboard
from engines import on_sqlite
from judgeboard.domain import RunState
from judgeboard.methods.refining.attempts import attempt_sequences
from judgeboard.methods.refining.queries import stored_attempts
from judgeboard.methods.refining.reflect import Outcome
from judgeboard.store.forgetting import forget_response
from judgeboard.store.items import load_item
from judgeboard.store.overview import count_log
from judgeboard.store.responses import log_answers
from judgeboard.store.runs import list_runs
from judgeboard.store.tables import FLAG, RESPONSE
from result_fields import check_fields
from stored_rows import read

QUERY = "At what temperature does Dyneema melt?"
BAD = "Marble dunes sing about violet engines while nobody in the harbour listens."
GOOD = "Dyneema melts at about 145 degrees."
PASSAGES = ["Slings. Dyneema melts at about 145 degrees."]
MESSAGES = [{"role": "user", "content": QUERY}]


class Generate:
    """Writes an answer and keeps what it was asked."""

    def __init__(self, answer=GOOD):
        self.answer = answer
        self.asked = []

    def __call__(self, messages):
        self.asked.append(messages)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def test_a_bad_answer_is_replaced_by_a_better_grounded_one():
    generate = Generate()
    result = judgeboard.reflect_blocking(QUERY, BAD, PASSAGES, MESSAGES, generate=generate)
    check_fields(result, answer=GOOD, kept="new", other=BAD)
    assert (result.before.groundedness or 0) < (result.after.groundedness or 0)
    assert generate.asked == [MESSAGES]


def logged(store):
    """The external ids of the answers of the log, which rules, the queue and figures read."""
    return sorted(answer.external_id for answer in read(store, log_answers, "shop"))


def open_flags(store):
    with store.reading() as connection:
        query = (
            select(RESPONSE.c.external_id, FLAG.c.rule)
            .join_from(FLAG, RESPONSE)
            .where(FLAG.c.state == "open")
        )
        return sorted((external_id, rule) for external_id, rule in connection.execute(query))


@on_sqlite
def test_the_kept_new_answer_is_the_logged_one_and_the_original_is_an_attempt(store):
    result = judgeboard.reflect_blocking(
        QUERY,
        BAD,
        PASSAGES,
        MESSAGES,
        generate=Generate(),
        store=store,
        source="shop",
        external_id="q1",
    )
    check_fields(result, kept="new", external_id="q1")
    # The original never reached the reader.
    assert logged(store) == ["q1"]
    with store.reading() as connection:
        (run,) = list_runs(connection)
        ((attempt,),) = stored_attempts(connection, run.id).values()
        assert attempt.response_id is not None
        (sequence,) = attempt_sequences(connection, attempt.response_id)
        assert attempt_sequences(connection, attempt.root_response_id or 0) == (sequence,)
        served = load_item(connection, attempt.response_id)
    check_fields(run, kind="reflect", state=RunState.DONE)
    assert [(each.answer, each.kept) for each in sequence.attempts] == [(BAD, False), (GOOD, True)]
    scores = [result.before.groundedness, result.after and result.after.groundedness]
    assert [each.groundedness for each in sequence.attempts] == scores
    assert (served.response.answer, [each.groundedness for each in served.judgments]) == (
        GOOD,
        scores[1:],
    )
    # Rules read the answer that was served.
    assert open_flags(store) == []
    with store.writing() as connection:
        forget_response(connection, "q1", actor="ann")
        texts = connection.execute(select(RESPONSE.c.answer)).scalars().all()
    # The original is forgotten with the answer that replaced it.
    assert texts == [None, None]


@on_sqlite
def test_a_bad_answer_that_is_served_is_flagged(store):
    """Of all answers, those that reach a reader need people most."""
    worse = Generate("Marble engines sing about violet dunes and nobody listens at all.")
    for id_, generate in (("q1", worse), ("q2", Generate("  "))):
        result = judgeboard.reflect_blocking(
            QUERY,
            BAD,
            PASSAGES,
            MESSAGES,
            generate=generate,
            store=store,
            source="shop",
            external_id=id_,
        )
        check_fields(result, answer=BAD, kept="original")
    judgeboard.reflect_blocking(
        QUERY,
        GOOD * 2,
        PASSAGES,
        MESSAGES,
        generate=Generate(),
        store=store,
        source="shop",
        external_id="q3",
    )
    # An answer without an attempt is served too.
    assert logged(store) == ["q1", "q2", "q3"]
    assert {id_ for id_, rule in open_flags(store) if rule == "low_groundedness"} == {"q1", "q2"}
    with store.reading() as connection:
        (run,) = list_runs(connection)
        # One run a day has them all.
        assert len(stored_attempts(connection, run.id)) == 2


@on_sqlite
def test_an_answer_with_a_used_id_is_refused_and_changes_nothing(store):
    judgeboard.reflect_blocking(
        QUERY, GOOD * 2, PASSAGES, generate=Generate(), store=store, external_id="q1"
    )
    with pytest.raises(judgeboard.JudgeboardError, match="'q1'"):
        judgeboard.reflect_blocking(
            QUERY, BAD, PASSAGES, generate=Generate(), store=store, external_id="q1"
        )
    assert read(store, count_log) == 1


def test_an_async_generator_and_the_awaited_form_give_the_same():
    async def generate(_messages):
        return GOOD

    awaited = asyncio.run(judgeboard.reflect(QUERY, BAD, PASSAGES, MESSAGES, generate=generate))
    check_fields(awaited, answer=GOOD, kept="new")


@pytest.mark.parametrize(
    ("new", "outcome"),
    [
        (f" {BAD}\n", Outcome.IDENTICAL),
        ("  ", Outcome.NO_ANSWER),
        (RuntimeError("the model is out"), Outcome.NO_ANSWER),
        (
            "Marble engines sing about violet dunes and nobody listens at all.",
            Outcome.KEPT_ORIGINAL,
        ),
    ],
)
def test_the_original_is_kept_where_nothing_better_comes(new, outcome):
    result = judgeboard.reflect_blocking(QUERY, BAD, PASSAGES, MESSAGES, generate=Generate(new))
    check_fields(result, answer=BAD, kept="original", outcome=outcome)
    assert (result.after is None) == (outcome is not Outcome.KEPT_ORIGINAL)
    if isinstance(new, Exception):
        assert result.error == f"RuntimeError: {new}"


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
def test_an_answer_that_is_not_eligible_is_judged_and_left(answer, passages, query_type):
    generate, rule = Generate(), judgeboard.ReflectRule(query_types=("complex",))
    result = judgeboard.reflect_blocking(
        QUERY, answer, passages, MESSAGES, generate=generate, query_type=query_type, rule=rule
    )
    assert (result.answer, result.kept, result.outcome, generate.asked) == (
        answer,
        "original",
        None,
        [],
    )
    assert result.before.quality is not None


def test_missing_messages_are_rebuilt():
    generate = Generate()
    judgeboard.reflect_blocking(QUERY, BAD, PASSAGES, generate=generate)
    [[message]] = generate.asked
    assert QUERY in message["content"]
    assert PASSAGES[0] in message["content"]


def test_an_answer_is_reflected_on_inside_an_event_loop_too():
    async def inside():
        return judgeboard.reflect_blocking(QUERY, BAD, PASSAGES, generate=Generate()).kept

    assert asyncio.run(inside()) == "new"
