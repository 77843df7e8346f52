"""Answers to make anew, an endpoint that is generator and judge at once, and what came to be stored of them."""

import json
import re

from judgeboard.domain import Response
from judgeboard.llm.recording_endpoint import (
    completion,
    verdict,
)
from judgeboard.methods.refining.tables import REFINEMENT, SELECTED_ATTEMPT
from judgeboard.runs.generation import make_generator
from judgeboard.runs.judging import make_judge
from judgeboard.store.storing import store_responses
from judgeboard.store.tables import GENERATION, RESPONSE
from stored_rows import rows_of

LONG = "This answer is long enough to be worth a second try, and it rests on nothing at all. It is"
ANSWER = re.compile(r"\[BEGIN ANSWER \w+\]\n(.*?)\n\[END ANSWER", re.DOTALL)


def store_bad(store, count=1, **fields):
    """Store long complex answers with the ids 0, 1, 2, … and the messages that were sent."""
    kept = {"query_type": "complex", "passages": ("It is a rock.",)} | fields
    with store.writing() as connection:
        store_responses(
            connection,
            [
                Response(
                    "log",
                    str(number),
                    f"What is rock {number}?",
                    **{"answer": f"{LONG} number-{number}.", "messages": asked(number)} | kept,
                )
                for number in range(count)
            ],
        )


def asked(number):
    """The messages that the log kept."""
    return (
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": f"What is rock {number}?"},
    )


def is_judging(request):
    """Whether a request asks for a verdict or a rating."""
    return (
        ANSWER.search(request["messages"][-1]["content"]) is not None
        or len(request["messages"]) > 3
    )


def judged(request):
    """The answer that a request asks to judge."""
    match = ANSWER.search(request["messages"][1]["content"])
    return match[1]


def both(write, read):
    """Answer as the generator by ``write`` and as the judge by ``read``, which is told the answer."""

    def script(request, _number):
        if is_judging(request):
            return read(judged(request))
        written = write(request)
        return completion(written) if isinstance(written, str) else written

    return script


def scored(scores, other=(0.2, 2)):
    """Judge by what stands in the answer: the first text of ``scores`` that does gives (groundedness, quality)."""

    def read(answer):
        groundedness, quality = next(
            (said for text, said in scores.items() if text in answer), other
        )
        return verdict(groundedness=groundedness, quality=quality)

    return read


def rated(rating, feedback="Be clearer.", evaluation="So it is."):
    """A rating as a model sends it."""
    return completion(
        json.dumps({"evaluation": evaluation, "rating": rating, "feedback": feedback})
    )


def ratings(*given):
    """Write "try 1", "try 2", …, and rate them in turn; a text instead of a rating is sent as it is."""
    tries = iter(range(1, 100))

    def read(answer):
        said = given[int(answer.rsplit(maxsplit=1)[-1]) - 1]
        return completion(said) if isinstance(said, str) else rated(said, f"feedback on {answer}")

    return both(lambda _request: f"try {next(tries)}", read)


def generator(endpoint, **chosen):
    """A generator over a fake endpoint."""
    options = {"base_url": endpoint.base_url, "tries": 1}
    return make_generator("writer", **options | chosen)


def judge(kind, endpoint, **chosen):
    """A judge over a fake endpoint."""
    return make_judge(
        kind, **{"model": "reader", "base_url": endpoint.base_url, "tries": 1} | chosen
    )


def written(endpoint):
    """The requests that asked for an answer."""
    return [request.body for request in endpoint.requests if not is_judging(request.body)]


def made(store):
    """The answers that were made."""
    return [row for row in rows_of(store, RESPONSE) if row["kind"] == "regenerated"]


def refinements(store):
    """Every refinement."""
    return rows_of(store, REFINEMENT)


def generations(store):
    """Every call to a generator."""
    return rows_of(store, GENERATION)


def standing(store):
    """Every row about which attempt should stand."""
    return rows_of(store, SELECTED_ATTEMPT)
