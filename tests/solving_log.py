"""Questions to solve with two answers each, and an endpoint that samples answers and compares, by which one it is."""

import json
import re
from collections import Counter

from judgeboard.domain import Pair, Preference
from judgeboard.judges.judge import JudgeOptions
from judgeboard.judges.pairwise import DEFAULT_SAMPLES, SelfReferenceJudge
from judgeboard.llm.recording_endpoint import completion
from judgeboard.store.pairs import store_pairs

OPTIONS = ("Paris", "Rome", "Oslo", "Bern")
TORN = "ABCAB"


def store_questions(store, count):
    """Store questions whose right answer is B and whose better answer is the first; each names its number."""
    pairs = [
        Pair(
            "quiz",
            f"q{number}",
            f"Question-{number}?",
            f"left-{number}",
            f"right-{number}",
            query_type="geo",
            options=OPTIONS,
            reference="B",
            gold=Preference.A,
        )
        for number in range(count)
    ]
    with store.writing() as connection:
        return store_pairs(connection, pairs).new


class Solver:
    """Answers as scripted: the samples of a question one after the other, then A better unless told otherwise.

    ``samples`` are a string or list by number of the question, "-" is no JSON; others all say B.
    """

    def __init__(self, samples=None):
        self.samples = samples or {}
        self.sampled = Counter()
        self.compared = Counter()
        self.references = set()

    def __call__(self, request, _number):
        prompt = request["messages"][1]["content"]
        match = re.search(r"Question-(\d+)", prompt)
        number = int(match[1])
        if request["response_format"]["json_schema"]["name"] == "solution":
            return self._solved(number, request)
        shown = re.search(r"BEGIN CORRECT ANSWER \w+\]\n(.*)\n", prompt)
        if shown:
            self.references.add(shown[1])
        left_first = prompt.index("left-") < prompt.index("right-")
        self.compared[number, "ab" if left_first else "ba", shown is not None] += 1
        entry = {"reasoning": "So it is.", "verdict": "first" if left_first else "second"}
        return completion(json.dumps({"overall": entry}))

    def _solved(self, number, request):
        assert "left-" not in str(request["messages"])
        answers = self.samples.get(number, "B" * 99)
        answer = answers[self.sampled[number] % len(answers)]
        self.sampled[number] += 1
        return completion(
            "hm" if answer == "-" else json.dumps({"reasoning": "So.", "answer": answer})
        )


def self_reference(endpoint, *, k=DEFAULT_SAMPLES, **options):
    """Return the judge with self-reference over a fake endpoint."""
    return SelfReferenceJudge(
        JudgeOptions(model="scripted", base_url=endpoint.base_url, tries=1).endpoint("the test"),
        JudgeOptions(**options),
        k=k,
    )
