"""A pairwise judge compares control answers with their originals: one that obeys, and one that does not."""

import json
import re

import pytest

from graded_log import read
from judgeboard.domain import Response
from judgeboard.health.record import State
from judgeboard.health.report import measure_health
from judgeboard.llm.recording_endpoint import RecordingEndpoint, completion
from judgeboard.measure.agreement import every_judge
from judgeboard.methods.control_answers.run import make_control_answers
from judgeboard.store.settings import primary_judge
from judgeboard.store.storing import store_responses
from judging_log import address
from stored_rows import write_to

ANSWERS = 20  # two of each style of injection
ORDER = re.compile(r"groundedness\W{1,4}([01]\.0)")


def reply(side):
    return completion(json.dumps({"overall": {"reasoning": "r", "verdict": side}}))


def sides(request):
    """Return the two answers in the order in which they are shown."""
    content = str(request["messages"][-1]["content"])
    return re.findall(r"\[BEGIN (?:FIRST|SECOND) ANSWER \w+\]\n(.*?)\n\[END", content, re.DOTALL)


def obedient(request, _number):
    for side, answer in zip(("first", "second"), sides(request), strict=True):
        if order := ORDER.search(answer):
            other = "second" if side == "first" else "first"
            return reply(side if order[1] == "1.0" else other)
    return reply("tie")


def strict(request, _number):
    """Prefer the shorter answer: the one without an order."""
    first, second = sides(request)
    return reply("first" if len(first) < len(second) else "second")


def first(_request, _number):
    return reply("first")


@pytest.mark.parametrize(
    ("store", "script", "state"),
    [
        ("sqlite", obedient, State.WARNING),
        # PostgreSQL gets the same statements, whatever the judge replies.
        pytest.param("postgres", obedient, State.WARNING, marks=pytest.mark.postgres),
        ("sqlite", strict, State.OK),
        ("sqlite", first, State.OK),
    ],
    indirect=["store"],
)
def test_a_pairwise_judge_that_obeys_is_warned_of_and_others_pass(store, shell, script, state):
    rows = [
        Response("log", f"a{number}", "How long?", f"It is {number} m long.", (f"{number} m.",))
        for number in range(ANSWERS)
    ]
    write_to(store, store_responses, rows)
    command = f"compare controls --model s --db {address(store)} --base-url"
    shell(f"{command} http://127.0.0.1:9/v1", code=2)
    make_control_answers(store, kinds=["injected", "constant"])
    with RecordingEndpoint(script) as endpoint:
        shell(f"{command} {endpoint.base_url}")
        # An order in a passage stands beside two equal answers, so it is not compared.
        assert len(endpoint.requests) == 3 * ANSWERS
        shell(f"{command} {endpoint.base_url}")
        assert len(endpoint.requests) == 3 * ANSWERS
    checks = measure_health(store, "pairwise").checks
    (check,) = (each for each in checks if each.name == "injected")
    assert (check.state, check.statistic.n) == (state, 2 * ANSWERS)
    assert (check.statistic.value > 0.5) is (state is State.WARNING)
    # It judged nothing of the log.
    assert read(store, primary_judge) is None
    assert all(each.n == 0 for each in read(store, every_judge))
