"""Worked examples that a judge is shown: answers with the verdicts that they deserve."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from judgeboard.judges.fences import fence_token, fenced
from judgeboard.judges.prompt_file import fill, load_prompt
from judgeboard.yaml_file import YamlValue

_TEXTS = ("query", "answer", "reference", "reasoning")
EXAMPLE_FIELDS = ("kind", "query", "context", "reference", "answer", "scores", "reasoning")


@dataclass(frozen=True, slots=True)
class Example:
    """An answer and what it deserves.

    Attributes:
        query: What was asked.
        answer: The answer.
        scores: What it deserves, by the name of the score: groundedness and quality, or dimensions of a rubric.
        reasoning: Why.
        passages: What was retrieved; None where the example shows none.
        reference: A right answer.
        kind: ``good`` or ``bad``, in words for the judge.
        response_id: The stored response that it was taken from, whose texts may be forgotten.
    """

    query: str
    answer: str
    scores: Mapping[str, float] = field(default_factory=dict)
    reasoning: str | None = None
    passages: tuple[str, ...] | None = None
    reference: str | None = None
    kind: str | None = None
    response_id: int | None = None

    def as_param(self) -> dict[str, Any]:
        """Return what a judge version keeps of it: all of one from a file, only the address of one from the log.

        A judge version is never changed, so it may not hold a text that somebody may want forgotten.
        """
        said = {name: getattr(self, name) for name in (*_TEXTS, "kind")} | {"scores": dict(self.scores)}
        said["passages"] = None if self.passages is None else list(self.passages)
        if self.response_id is None:
            return {name: value for name, value in said.items() if value is not None}
        content = json.dumps(said, sort_keys=True, ensure_ascii=True)
        return {"response": self.response_id, "sha256": hashlib.sha256(content.encode()).hexdigest()}


def example_params(examples: Sequence[Example]) -> dict[str, Any]:
    """Return the parameters of a judge version that these examples are part of; none for none."""
    return {"examples": [example.as_param() for example in examples]} if examples else {}


def example_responses(params: Mapping[str, Any]) -> frozenset[int]:
    """Return the stored responses that a judge version was shown as examples: it may not be measured by them."""
    listed = params.get("examples")
    examples = listed if isinstance(listed, list) else []  # a version recorded elsewhere may use the name otherwise
    return frozenset(one["response"] for one in examples if isinstance(one, dict) and "response" in one)


def examples_prompt(examples: Sequence[Example]) -> str:
    """Return the text of the prompt that goes with examples, for the judge version; empty for none."""
    return load_prompt("examples").text if examples else ""


def examples_part(examples: Sequence[Example], *, shown: Sequence[str] | None = None) -> str:
    """Return the part of the instructions that shows the examples, every text of theirs fenced.

    Args:
        examples: At least one.
        shown: The scores to show; all by default.
    """
    texts = [text for one in examples for text in (*(getattr(one, name) for name in _TEXTS), *(one.passages or ()))]
    token = fence_token([text for text in texts if text])
    listed = "\n\n".join(_listed(number, one, token, shown) for number, one in enumerate(examples, start=1))
    return fill(load_prompt("examples").sections["Examples"], fence=token, examples=listed)


def read_examples(given: YamlValue, scores: Mapping[str, tuple[float, float, bool]]) -> tuple[Example, ...]:
    """Return the examples of a file.

    Args:
        given: Its ``examples`` list.
        scores: Name of each score to its lowest value, its highest, and whether it is an integer.

    Raises:
        BadInput: One of them cannot be used; the message names file and line.
    """
    return tuple(_read(one, scores) for one in given.items("examples"))


def _listed(number: int, one: Example, token: str, shown: Sequence[str] | None) -> str:
    title = f"EXAMPLE {number}"
    reference = [] if one.reference is None else [fenced(f"{title} REFERENCE ANSWER", one.reference, token)]
    passages = [
        fenced(f"{title} PASSAGE {place}", passage, token) for place, passage in enumerate(one.passages or (), start=1)
    ]
    why = [] if not one.reasoning else [fenced(f"{title} REASON", one.reasoning, token)]
    deserved = {name: value for name, value in one.scores.items() if shown is None or name in shown}
    return "\n".join(
        [
            f"Example {number}" + (f", a {one.kind} answer:" if one.kind else ":"),
            fenced(f"{title} QUESTION", one.query, token),
            *passages,
            *reference,
            fenced(f"{title} ANSWER", one.answer, token),
            f"What it deserves: {json.dumps(deserved, ensure_ascii=False)}",
            *why,
        ]
    )


def _read(given: YamlValue, known: Mapping[str, tuple[float, float, bool]]) -> Example:
    fields = given.fields("an example", EXAMPLE_FIELDS)
    for name in ("query", "answer", "scores"):
        if name not in fields:
            raise given.fail(f"an example needs {name}")
    kind = fields["kind"].text("kind") if "kind" in fields else None
    if kind not in {None, "good", "bad"}:
        raise fields["kind"].fail(f"kind must be good or bad, not {kind!r}")
    deserved = fields["scores"].fields("scores", tuple(known))
    if not deserved:
        raise fields["scores"].fail("an example needs a score")
    return Example(
        query=fields["query"].text("query"),
        answer=fields["answer"].text("answer"),
        scores={name: _score(value, name, *known[name]) for name, value in deserved.items()},
        reasoning=fields["reasoning"].text("reasoning") if "reasoning" in fields else None,
        passages=read_context(fields.get("context")),
        reference=fields["reference"].text("reference") if "reference" in fields else None,
        kind=kind,
    )


def read_context(given: YamlValue | None) -> tuple[str, ...] | None:
    """Return a context: a text or a list of passages; None where there is none."""
    if given is None:
        return None
    if isinstance(given.content, str):
        return (given.text("context"),)
    return tuple(passage.text("a passage") for passage in given.items("context"))


def _score(given: YamlValue, name: str, low: float, high: float, whole: bool) -> float:
    value = given.number(name, low, high)
    if not whole:
        return value
    if not isinstance(given.content, int):
        raise given.fail(f"{name} must be an integer, not {given.content!r}")
    return given.content
