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
from stored_rows import read, values_of, write_to

QUERY = "At what temperature does Dyneema melt?"
BAD = "Marble dunes sing about violet engines while nobody in the harbour listens."
WORSE = "Marble engines sing about violet dunes and nobody listens at all."
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


def reflect(answer=BAD, **options):
    given = {"passages": PASSAGES, "messages": MESSAGES, "generate": Generate()} | options
    return judgeboard.reflect_blocking(QUERY, answer, **given)


def test_a_bad_answer_is_replaced_by_a_better_grounded_one():
    generate = Generate()
    result = reflect(generate=generate)
    check_fields(result, answer=GOOD, kept="new", other=BAD)
    assert result.before.groundedness < result.after.groundedness
    assert generate.asked == [MESSAGES]


def logged(store):
    """The external ids of the answers of the log, which rules, the queue and figures read."""
    return sorted(answer.external_id for answer in read(store, log_answers, "shop"))


def open_flags(store):
    query = select(RESPONSE.c.external_id, FLAG.c.rule).join_from(FLAG, RESPONSE)
    with store.reading() as connection:
        return {tuple(row) for row in connection.execute(query.where(FLAG.c.state == "open"))}


@on_sqlite
def test_the_kept_new_answer_is_the_logged_one_and_the_original_is_an_attempt(store):
    result = reflect(store=store, source="shop", external_id="q1")
    check_fields(result, kept="new", external_id="q1")
    # The original never reached the reader.
    assert logged(store) == ["q1"]
    (run,) = read(store, list_runs)
    ((attempt,),) = read(store, stored_attempts, run.id).values()
    (sequence,) = read(store, attempt_sequences, attempt.response_id)
    assert read(store, attempt_sequences, attempt.root_response_id) == (sequence,)
    served = read(store, load_item, attempt.response_id)
    check_fields(run, kind="reflect", state=RunState.DONE)
    assert [(each.answer, each.kept) for each in sequence.attempts] == [(BAD, False), (GOOD, True)]
    scores = [result.before.groundedness, result.after.groundedness]
    assert [each.groundedness for each in sequence.attempts] == scores
    assert served.response.answer == GOOD
    assert [each.groundedness for each in served.judgments] == scores[1:]
    # Rules read the answer that was served.
    assert open_flags(store) == set()
    write_to(store, forget_response, "q1", actor="ann")
    # The original is forgotten with the answer that replaced it.
    assert values_of(store, RESPONSE.c.answer) == [None, None]


@on_sqlite
def test_a_bad_answer_that_is_served_is_flagged(store):
    """Of all answers, those that reach a reader need people most."""
    kept = {"store": store, "source": "shop"}
    for id_, text in (("q1", WORSE), ("q2", "  ")):
        result = reflect(generate=Generate(text), external_id=id_, **kept)
        check_fields(result, answer=BAD, kept="original")
    reflect(GOOD * 2, external_id="q3", **kept)
    # An answer without an attempt is served too.
    assert logged(store) == ["q1", "q2", "q3"]
    assert {id_ for id_, rule in open_flags(store) if rule == "low_groundedness"} == {"q1", "q2"}
    # One run a day has them all.
    (run,) = read(store, list_runs)
    assert len(read(store, stored_attempts, run.id)) == 2


@on_sqlite
def test_an_answer_with_a_used_id_is_refused_and_changes_nothing(store):
    reflect(GOOD * 2, store=store, external_id="q1")
    with pytest.raises(judgeboard.JudgeboardError, match="'q1'"):
        reflect(store=store, external_id="q1")
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
        (WORSE, Outcome.KEPT_ORIGINAL),
    ],
)
def test_the_original_is_kept_where_nothing_better_comes(new, outcome):
    result = reflect(generate=Generate(new))
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
    options = {"generate": generate, "query_type": query_type, "rule": rule}
    result = reflect(answer, passages=passages, **options)
    check_fields(result, answer=answer, kept="original", outcome=None)
    assert generate.asked == []
    assert result.before.quality is not None


def test_missing_messages_are_rebuilt():
    generate = Generate()
    reflect(messages=None, generate=generate)
    [[message]] = generate.asked
    assert QUERY in message["content"]
    assert PASSAGES[0] in message["content"]


def test_an_answer_is_reflected_on_inside_an_event_loop_too():
    async def inside():
        return reflect().kept

    assert asyncio.run(inside()) == "new"
