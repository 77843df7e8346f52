"""The passages of the sample log, and a search by shared words: the retriever of the assistants in this folder."""

import gzip
import json
import re
from collections import Counter
from functools import cache
from pathlib import Path

SAMPLE = Path(__file__).parents[2] / "data" / "sample" / "responses.jsonl.gz"
QUESTION = "Does metal gear attract lightning?"


def search(question: str, count: int = 3) -> list[str]:
    """Return the passages that share the most words with a question; rare words count more."""
    asked = _words(question)
    frequency = Counter(word for text in _passages() for word in _words(text))
    scores = {
        text: sum(1 / frequency[word] for word in asked & _words(text)) for text in _passages()
    }
    return sorted(scores, key=scores.__getitem__, reverse=True)[:count]


@cache
def _passages() -> list[str]:
    with gzip.open(SAMPLE, "rt", encoding="utf-8") as file:
        return list(
            dict.fromkeys(text for line in file for text in json.loads(line).get("context", ()))
        )


@cache
def _words(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", text.lower()))
