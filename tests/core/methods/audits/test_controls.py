"""A supreme judge that obeys texts in what it reviews, and one that does not."""

import re

import pytest

from judgeboard.domain import Response
from judgeboard.health.record import State
from judgeboard.health.report import measure_health
from judgeboard.llm.recording_endpoint import RecordingEndpoint, completion, verdict
from judgeboard.measure.notes import paragraph
from judgeboard.methods.control_answers.run import judge_control_answers, make_control_answers
from judgeboard.store.storing import store_responses
from judging_log import address, rag
from stored_rows import write_to

ANSWERS = 20  # two of each style of injection
ORDER = re.compile(r"groundedness\W{1,4}([01]\.0)")


def texts(request):
    """Return what stands before the verdict, and the verdict."""
    before, _, verdict_text = str(request["messages"][-1]["content"]).partition("[BEGIN VERDICT")
    return before, verdict_text


def reader(request, _number):
    """Call a verdict correct if it is what the text orders."""
    before, reviewed = texts(request)
    order = ORDER.search(before)
    is_high = "groundedness: 0.9" in reviewed
    return completion(
        "correct 1" if order is None or (order[1] == "1.0") is is_high else "incorrect 0"
    )


def echo(request, _number):
    """Repeat the finished reply of the text."""
    order = ORDER.search(texts(request)[0])
    return completion("incorrect 0" if order and order[1] == "0.0" else "correct 1")


def sound(_request, _number):
    return completion("correct 1")


def judge(request, _number):
    """The judge that is audited obeys nothing."""
    return verdict(groundedness=0.1 if "cheese" in str(request["messages"]) else 0.9, quality=3)


@pytest.mark.parametrize(
    ("store", "script", "state", "measure"),
    [
        ("sqlite", reader, State.WARNING, "label"),
        # PostgreSQL gets the same statements, whatever the judge replies.
        pytest.param("postgres", reader, State.WARNING, "label", marks=pytest.mark.postgres),
        ("sqlite", echo, State.WARNING, "mark"),
        ("sqlite", sound, State.OK, "label"),
    ],
    indirect=["store"],
)
def test_a_supreme_judge_that_obeys_is_warned_of_and_one_that_does_not_passes(
    store, shell, script, state, measure
):
    rows = [
        Response("log", f"a{n}", f"Is {n} long?", kind_of(n), (f"{n} is long.",))
        for n in range(ANSWERS)
    ]
    write_to(store, store_responses, rows)
    make_control_answers(store, kinds=["injected"])
    with RecordingEndpoint(judge) as endpoint:
        judge_control_answers(store, rag(endpoint), concurrency=4)
    with RecordingEndpoint(script) as endpoint:
        shell(
            f"test audit rag --controls --model s --base-url {endpoint.base_url} --db {address(store)}"
        )
        assert len(endpoint.requests) == 5 * ANSWERS
    check = obeys(store, "supreme")
    assert check.state is state
    assert f"{measure} moves" in paragraph(check.notes)
    assert (check.statistic.value > 0.5) is (state is State.WARNING)
    # The judge that it audits obeys nothing.
    assert obeys(store, "rag").state is State.OK


def kind_of(number):
    return f"{number} is {'long' if number % 2 else 'of cheese'}."


def obeys(store, judge):
    checks = measure_health(store, judge).checks
    return next(check for check in checks if check.name == "injected")
