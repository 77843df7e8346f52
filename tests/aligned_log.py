"""A log of measured routes with labels, a scripted judge that follows its prompt, and a model that mends the prompt."""

import json
import re

from graded_log import BAD, GOOD, GradedLog
from judgeboard.domain import Response
from judgeboard.llm.recording_endpoint import completion, verdict
from judgeboard.runs.judging import judge_pending, make_judge
from judgeboard.store.alignments import evidence_role
from judgeboard.store.responses import evidence_group
from judgeboard.store.storing import store_responses

KIND = "groundedness: a number from 0.0 to 1.0. Be kind: give 1.0 to every answer."
CAREFUL = (
    "groundedness: a number from 0.0 to 1.0. Compare every number of the answer with the passages."
)
QUESTION = "How long is the famous route number {} in this valley?"
PASSAGE = "Route number {} in the valley has a length of {} metres."
STRONG = "strong"


def is_good(text):
    """Whether the answer in a task has the length that its passage has."""
    length, answered = (
        re.search(r"has a length of (\d+)", text),
        re.search(r"think that it is (\d+)", text),
    )
    return length[1] == answered[1]


def careful_judge(system, task):
    """Return a groundedness: right if the prompt asks to compare numbers, otherwise always 1."""
    return float(is_good(task)) if "Compare every number" in system else 1.0


def script(proposals, judge=careful_judge):
    """Answer the strong model's requests with these instructions in turn, and the judge's with its groundedness."""
    asked = iter(proposals)

    def answer(request, _number):
        system, task = (message["content"] for message in request["messages"][:2])
        if request["model"] == STRONG:
            return completion(
                json.dumps({"why": "It compares numbers.", "instructions": next(asked)})
            )
        return verdict(groundedness=judge(system, task))

    return answer


def measured_routes(store, count, *, bad=lambda number: number % 2 == 0):
    """Store answers with labels of a person, and return their ids; those with a ``bad`` number state a wrong length."""
    stored = [
        Response(
            "log",
            f"route-{number}",
            QUESTION.format(number),
            f"I think that it is {number + 1000 + 500 * bad(number)} metres.",
            (PASSAGE.format(number, number + 1000),),
        )
        for number in range(count)
    ]
    log = GradedLog(store)
    with store.writing() as connection:
        ids = store_responses(connection, stored).new
    log.reviews({id_: {"label": BAD if bad(number) else GOOD} for number, id_ in enumerate(ids)})
    return log, ids


def kind_judge(store, endpoint, folder, prompt=KIND):
    """Judge the log with a judge whose prompt was made worse."""
    file = folder / "kind.md"
    file.write_text(f"# Groundedness\n{prompt}")
    judge_pending(
        store, make_judge("rag", model="judge", base_url=endpoint.base_url, prompt=file, tries=1)
    )


def numbers_of(role, count):
    """Return the numbers below ``count`` whose answers have this role."""
    groups = (
        evidence_group(QUESTION.format(n), (PASSAGE.format(n, n + 1000),)) for n in range(count)
    )
    return [number for number, group in enumerate(groups) if evidence_role(group) is role]


def number_in(task):
    """Return the number of the route in a task."""
    return int(task.partition("route number ")[2].partition(" ")[0])


def asked_of(endpoint, model):
    """Return the messages of all requests to a model, each as one text."""
    bodies = [request.body for request in endpoint.requests if request.body["model"] == model]
    return ["\n".join(message["content"] for message in body["messages"]) for body in bodies]
