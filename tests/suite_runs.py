"""Suites to run in tests, and an endpoint that plays candidate and judge."""

import json

from judgeboard.judges.rubric_file import Dimension, Rubric
from judgeboard.llm.recording_endpoint import (
    completion,
)
from judgeboard.methods.suites.file import Case, Suite
from judging_log import number_in

WORDS = ("bad", "poor", "fair", "good", "best")
RUBRIC = Rubric((Dimension("accuracy", WORDS), Dimension("tone", WORDS)))


def suite(count, **fields):
    """Return a suite of cases that are told apart by their numbers."""
    cases = tuple(Case(f"What is number-{number}?", str(number)) for number in range(count))
    return Suite(**{"name": "house", "cases": cases, "rubric": RUBRIC, **fields})


def scored(accuracy=4, tone=4, **more):
    """Return a judge's reply; a dimension of None is left out."""
    given = {"accuracy": accuracy, "tone": tone, **more}
    said = {
        name: {"reasoning": "So.", "score": score}
        for name, score in given.items()
        if score is not None
    }
    return completion(json.dumps(said))


def is_judging(request):
    """Whether a request asks the judge; the rest asks the candidate."""
    return bool(request["model"] == "judge")


def playing(answers=None, scores=None):
    """Answer as candidate and judge, by case; what is not named is answered and scored 4."""

    def script(request, _number):
        case = number_in(request)
        if is_judging(request):
            return (scores or {}).get(case, scored())
        return (answers or {}).get(case, completion(f"It is number-{case}."))

    return script


def asked(endpoint):
    """Return which cases the candidate was asked about, and which the judge, each in order of the cases."""
    bodies = [request.body for request in endpoint.requests]
    return (
        sorted(number_in(body) for body in bodies if not is_judging(body)),
        sorted(number_in(body) for body in bodies if is_judging(body)),
    )
