"""Worked examples that a judge is shown: answers with the verdicts that they deserve."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, ConfigDict, Field, Strict

from judgeboard.judges.fences import fence_token, fenced
from judgeboard.judges.prompt_file import fill, load_prompt
from judgeboard.yaml_file import CLOSED, Number, Text, YamlFile, not_in_a_file

_TEXTS = ("query", "answer", "reference", "reasoning")


Context = Annotated[tuple[Text, ...], BeforeValidator(lambda given: (given,) if isinstance(given, str) else given)]
"""Passages as a file has them: one text, or a list of texts."""


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

    __pydantic_config__: ClassVar[ConfigDict] = CLOSED

    query: Text
    answer: Text
    scores: Mapping[str, Annotated[int, Strict()] | Number] = field(default_factory=dict)
    reasoning: Text | None = None
    passages: Annotated[Context | None, Field(validation_alias="context")] = None
    reference: Text | None = None
    kind: Literal["good", "bad"] | None = None
    response_id: Annotated[int | None, BeforeValidator(not_in_a_file)] = None

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


def check_examples(file: YamlFile, examples: Sequence[Example], known: Mapping[str, tuple[float, float, bool]]) -> None:
    """Check the scores of the ``examples`` of a file.

    Args:
        file: The file, or the part of it, that has them.
        examples: What was read of its field ``examples``.
        known: Name of each score to its lowest value, its highest, and whether it is an integer.

    Raises:
        BadInput: One of them cannot be used; the message names file, line and field.
    """
    for place, example in enumerate(examples):
        if not example.scores:
            raise file.fail("an example needs a score", "examples", place, "scores")
        for name, value in example.scores.items():
            where = ("examples", place, "scores", name)
            if name not in known:
                raise file.fail(f"unknown score; known are {', '.join(known)}", *where)
            low, high, whole = known[name]
            if whole and not isinstance(value, int):
                raise file.fail(f"the score must be an integer, not {value!r}", *where)
            if not low <= value <= high:
                raise file.fail(f"the score must be from {low:g} to {high:g}, not {value:g}", *where)


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
