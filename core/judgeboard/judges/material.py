"""Texts in prompts: prompt files, fences, the material of an answer, worked examples."""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from itertools import count
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, ConfigDict, Field, Strict

from judgeboard.domain import JudgeInput
from judgeboard.formats.yaml_file import CLOSED, Number, Text, YamlFile, not_in_a_file
from judgeboard.text import storable

_HEADING = re.compile(r"(?m)^# (.+)\n")


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt file: its whole ``text`` (what a judge version keeps) and its sections by their heading."""

    text: str
    sections: dict[str, str]


@cache
def load_prompt(name: str) -> Prompt:
    """Read ``prompts/<name>.md``, whose level-1 headings cut it into sections."""
    text = resources.files(__package__).joinpath("prompts", f"{name}.md").read_text(encoding="utf-8")
    _, *parts = _HEADING.split(text)
    return Prompt(text, {title.strip(): body.strip() for title, body in zip(parts[::2], parts[1::2], strict=True)})


def fill(section: str, **values: str) -> str:
    """Put ``values`` in place of ``{name}``, each in one pass: braces inside of a value stay as they are."""
    return re.sub(r"\{(\w+)\}", lambda found: values.get(found[1], found[0]), section)


def fence_token(texts: Iterable[str]) -> str:
    """Return a token of 16 hexadecimal digits that stands in none of ``texts``, whatever their case.

    It is derived from the texts, so that the same item gives the same prompt and a recording can be replayed; and
    since it hangs on every character of them, nobody can write it into one of them beforehand.
    """
    folded = [text.casefold() for text in texts]
    digest = hashlib.sha256()
    for text in folded:
        raw = text.encode("utf-8", "surrogatepass")
        digest.update(len(raw).to_bytes(8, "big") + raw)
    for turn in count():
        token = hashlib.sha256(digest.digest() + turn.to_bytes(8, "big")).hexdigest()[:16]
        if not any(token in text for text in folded):
            return token
    raise AssertionError("unreachable: count() does not end")


def fenced(title: str, text: str, token: str) -> str:
    """Return ``text`` between a line that opens and a line that closes the fence ``token``.

    The text itself is unchanged but for characters that JSON over HTTP cannot carry.
    """
    return f"[BEGIN {title} {token}]\n{storable(text)[0]}\n[END {title} {token}]"


_NOT_KEPT = "(The passages that the assistant saw were not kept.)"
_NOTHING = "(The retrieval found nothing: there are no passages.)"


def answer_material(item: JudgeInput, **more: str) -> tuple[str, str]:
    """Return the fence's token and the fenced texts: question, passages, answer, then ``more`` under its titles.

    That passages were not kept, or that nothing was retrieved, is said in their place.
    """
    passages = item.passages or ()
    token = fence_token((item.query, item.answer, *passages, *more.values()))
    shown = [fenced(f"PASSAGE {number}", text, token) for number, text in enumerate(passages, start=1)]
    if not shown:
        shown = [_NOT_KEPT if item.passages is None else _NOTHING]
    parts = [fenced("QUESTION", item.query, token), *shown, fenced("ANSWER", item.answer, token)]
    parts += [fenced(title, text, token) for title, text in more.items()]
    return token, "\n\n".join(parts)


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
