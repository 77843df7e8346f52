"""Prompts: files of the program and of users, the texts of an answer inside fences, and examples."""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from importlib import resources
from itertools import count
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

from pydantic import BeforeValidator, ConfigDict, Field, Strict

from judgeboard.domain import JudgeInput, PairItem
from judgeboard.errors import BadInput
from judgeboard.formats.yaml_file import YamlFile, not_in_a_file
from judgeboard.llm.chat import Message
from judgeboard.registry.judge_kinds import OWN_PROMPTS, kind_of
from judgeboard.settings.fields import CLOSED, Number, Text
from judgeboard.text import file_text, storable, unstorable

_HEADING = re.compile(r"(?m)^# (.+)\n")
_PLACEHOLDER = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True, slots=True, eq=False)
class Prompt:
    """A prompt file: the ``text``, which is part of a judge version, and the sections by heading."""

    text: str
    sections: dict[str, str]


@cache
def load_prompt(name: str, package: str = OWN_PROMPTS) -> Prompt:
    """Read ``prompts/NAME.md`` of a package."""
    return read_prompt(
        resources.files(package).joinpath("prompts", f"{name}.md").read_text(encoding="utf-8")
    )


@lru_cache(maxsize=32)
def read_prompt(text: str) -> Prompt:
    """Split the text of a prompt file into sections; each level-1 heading begins a section."""
    _, *parts = _HEADING.split(text)
    return Prompt(
        text,
        {title.strip(): body.strip() for title, body in zip(parts[::2], parts[1::2], strict=True)},
    )


def fill(section: str, **values: str) -> str:
    """Replace each ``{name}`` by the value. Placeholders inside a value are not replaced."""
    return _PLACEHOLDER.sub(lambda match: values.get(match[1], match[0]), section)


def chat(instructions: Iterable[str], task: str) -> list[Message]:
    """Return the system message, made of the instructions, and the user message."""
    return [
        {"role": "system", "content": "\n\n".join(instructions)},
        {"role": "user", "content": task},
    ]


def fence_token(texts: Iterable[str]) -> str:
    """Return 16 hexadecimal digits that none of ``texts`` contains, in upper or lower case.

    The digits are a hash of the texts. An item always gives the same prompt, and no author knows
    the token in advance.
    """
    folded = [in_prompt(text).casefold() for text in texts]
    digest = hashlib.sha256()
    for text in folded:
        raw = text.encode("utf-8", "surrogatepass")
        digest.update(len(raw).to_bytes(8, "big") + raw)
    for turn in count():
        token = hashlib.sha256(digest.digest() + turn.to_bytes(8, "big")).hexdigest()[:16]
        if not any(token in text for text in folded):
            return token
    raise AssertionError("unreachable: count() does not end")


# Letters that no person sees, but that models read.
_TAGS = re.compile("[\U000e0000-\U000e007f]")
# The control tokens of chat models. Many servers read control tokens in any text, so that a text
# could end a message and begin a message of the system.
_CONTROL_TOKEN = re.compile(
    r"<(?=\|\w+\|>|/?s>|(?:start|end)_of_turn>|</?SYS>>)|\[(?=/?INST\])", re.IGNORECASE
)


def in_prompt(text: str) -> str:
    """Return a text as prompts show it, without invisible tag characters, and with a space in each control token.

    Characters that cannot be stored are replaced. The stored text does not change.
    """
    return _CONTROL_TOKEN.sub(r"\g<0> ", _TAGS.sub("", storable(text)[0]))


def fenced(title: str, text: str, token: str) -> str:
    """Return ``text`` between the two lines of a fence."""
    return f"[BEGIN {title} {token}]\n{in_prompt(text)}\n[END {title} {token}]"


def fenced_parts(token: str, *parts: tuple[str, str]) -> str:
    """Return several texts with titles, each fenced."""
    return "\n\n".join(fenced(title, text, token) for title, text in parts)


def numbered(title: str, texts: Iterable[str] | None) -> list[tuple[str, str]]:
    """Return texts with numbered titles like "PASSAGE 1" and "PASSAGE 2"; an empty list for None."""
    return [(f"{title} {number}", text) for number, text in enumerate(texts or (), start=1)]


_NOT_KEPT = "(The passages that the assistant saw were not kept.)"
_NOTHING = "(The retrieval found nothing: there are no passages.)"


Dialogue = Literal["last", "whole"]
"""The part of a dialogue that is judged: the last answer, or the assistant's answers in all turns."""


ADDED_SECTIONS = frozenset({"Dialogue", "Whole dialogue", "Reference"})
"""The sections of a prompt file that only some items need; prompts of earlier releases lack them."""


def earlier_parts(prompt: Prompt, item: JudgeInput | PairItem) -> list[tuple[str, str]]:
    """Return the earlier turns with titles, if the prompt file has instructions for earlier turns."""
    turns = item.turns if "Dialogue" in prompt.sections else ()
    return [
        (f"EARLIER TURN {number} {turn.role.upper()}", turn.text)
        for number, turn in enumerate(turns, start=1)
    ]


def reference_parts(prompt: Prompt, item: JudgeInput) -> list[tuple[str, str]]:
    """Return the reference answer with a title, if there is one and the prompt file has instructions for references."""
    is_shown = item.reference is not None and "Reference" in prompt.sections
    return [("REFERENCE ANSWER", item.reference or "")] if is_shown else []


def added_sections(
    prompt: Prompt, item: JudgeInput, dialogue: Dialogue = "last"
) -> tuple[str, ...]:
    """Return the instructions for the earlier turns and the reference answer that the item has."""
    names = (
        ["Whole dialogue" if dialogue == "whole" else "Dialogue"]
        if earlier_parts(prompt, item)
        else []
    )
    names += ["Reference"] if reference_parts(prompt, item) else []
    return tuple(prompt.sections[name] for name in names)


def item_task(prompt: Prompt, item: JudgeInput, question: str = "QUESTION") -> str:
    """Fill the task of a prompt file with the item's texts, each in a fence."""
    turns, references, passages = (
        earlier_parts(prompt, item),
        reference_parts(prompt, item),
        item.passages or (),
    )
    token = fence_token((item.query, item.answer, *_texts(references), *passages, *_texts(turns)))
    parts = (
        *turns,
        (question, item.query),
        *numbered("PASSAGE", passages),
        *references,
        ("ANSWER", item.answer),
    )
    return fill(prompt.sections["Task"], fence=token, material=fenced_parts(token, *parts))


def _texts(parts: Iterable[tuple[str, str]]) -> list[str]:
    return [text for _, text in parts]


def marking_messages(
    prompt: Prompt, item: JudgeInput, dialogue: Dialogue = "last", **more: str
) -> list[Message]:
    """Return the messages that ask for a mark; ``more`` are further texts by title. All texts are in fences.

    If there are no passages, a sentence says whether none were logged or none were found.
    """
    passages = item.passages or ()
    turns, references = earlier_parts(prompt, item), reference_parts(prompt, item)
    token = fence_token(
        (item.query, item.answer, *passages, *more.values(), *_texts((*turns, *references)))
    )
    passage_parts = fenced_parts(token, *numbered("PASSAGE", passages))
    if not passage_parts:
        passage_parts = _NOT_KEPT if item.passages is None else _NOTHING
    question = fenced_parts(token, *turns, ("QUESTION", item.query))
    answer = fenced_parts(token, *references, ("ANSWER", item.answer), *more.items())
    sections, material = prompt.sections, f"{question}\n\n{passage_parts}\n\n{answer}"
    instructions = [sections["System"], *added_sections(prompt, item, dialogue)]
    return chat(instructions, fill(sections["Task"], fence=token, material=material))


_TEXTS = ("query", "answer", "reference", "reasoning")


Context = Annotated[
    tuple[Text, ...], BeforeValidator(lambda texts: (texts,) if isinstance(texts, str) else texts)
]
"""Passages in a file: one text, or a list of texts."""


@dataclass(frozen=True, slots=True)
class Example:
    """An answer with its correct scores; ``response_id`` is the stored response of the example, if any."""

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
        """Return this example as a parameter of a judge version.

        An example from the log becomes id and hash, because a version never changes but texts can
        be forgotten.
        """
        values = {name: getattr(self, name) for name in (*_TEXTS, "kind")} | {
            "scores": dict(self.scores)
        }
        values["passages"] = None if self.passages is None else list(self.passages)
        if self.response_id is None:
            return {name: value for name, value in values.items() if value is not None}
        content = json.dumps(values, sort_keys=True, ensure_ascii=True)
        return {
            "response": self.response_id,
            "sha256": hashlib.sha256(content.encode()).hexdigest(),
        }


def example_params(examples: Sequence[Example]) -> dict[str, Any]:
    """Return the parameters that these examples add to a judge version."""
    return {"examples": [example.as_param() for example in examples]} if examples else {}


def example_responses(params: Mapping[str, Any]) -> frozenset[int]:
    """Return the ids of stored responses that a judge version saw as examples; agreement leaves them out."""
    listed = params.get("examples")
    examples = (
        listed if isinstance(listed, list) else []
    )  # imported versions may use the name for something else
    return frozenset(
        each["response"] for each in examples if isinstance(each, dict) and "response" in each
    )


def examples_part(examples: Sequence[Example], *, score_names: Sequence[str] | None = None) -> str:
    """Return the part of the instructions with the examples; ``score_names`` are included (default: all)."""
    texts = [
        text
        for each in examples
        for text in (*(getattr(each, name) for name in _TEXTS), *(each.passages or ()))
    ]
    token = fence_token([text for text in texts if text])
    written_examples = []
    for number, example in enumerate(examples, start=1):
        parts = [
            ("QUESTION", example.query),
            *numbered("PASSAGE", example.passages),
            *([] if example.reference is None else [("REFERENCE ANSWER", example.reference)]),
            ("ANSWER", example.answer),
        ]
        scores = {
            name: value
            for name, value in example.scores.items()
            if score_names is None or name in score_names
        }
        lines = [f"Example {number}" + (f", a {example.kind} answer:" if example.kind else ":")]
        lines += [fenced(f"EXAMPLE {number} {name}", text, token) for name, text in parts]
        lines.append(f"What it deserves: {json.dumps(scores, ensure_ascii=False)}")
        if example.reasoning:
            lines.append(fenced(f"EXAMPLE {number} REASON", example.reasoning, token))
        written_examples.append("\n".join(lines))
    section = load_prompt("examples").sections["Examples"]
    return fill(section, fence=token, examples="\n\n".join(written_examples))


def check_examples(
    file: YamlFile, examples: Sequence[Example], ranges: Mapping[str, tuple[float, float, bool]]
) -> None:
    """Check the scores of a file's examples; ``ranges`` has (lowest, highest, must be an integer) by score name."""
    for place, example in enumerate(examples):
        if not example.scores:
            raise file.fail("an example needs a score", "examples", place, "scores")
        for name, value in example.scores.items():
            where = ("examples", place, "scores", name)
            if name not in ranges:
                raise file.fail(f"unknown score; known are {', '.join(ranges)}", *where)
            low, high, is_integer = ranges[name]
            if is_integer and not isinstance(value, int):
                raise file.fail(f"the score must be an integer, not {value!r}", *where)
            if not low <= value <= high:
                raise file.fail(
                    f"the score must be from {low:g} to {high:g}, not {value!r}", *where
                )


def prompt_of(kind: str) -> Prompt | None:
    """Return the built-in prompt of a kind of judge; None if the kind is unknown or asks no chat model."""
    entry = kind_of(kind)
    return None if entry.prompt is None else load_prompt(entry.prompt, entry.prompt_package)


def built_in_prompt(name: str, params: Mapping[str, Any], package: str = OWN_PROMPTS) -> Prompt:
    """Return the built-in prompt ``name`` of a package for a judge version with ``params``.

    With a ``rating_word``, the prompt asks for free text that ends in the rating, and not for JSON.
    """
    current = load_prompt(name, package)
    if params.get("rating_word") is None:
        return current
    return read_prompt(written({**current.sections, **load_prompt("rating_text").sections}))


_TITLE_LINE = re.compile(r"(?m)^# (.*)$")
_OPTIONAL = frozenset({"domain"})
_FENCE_RULE = "Each task names a token."  # the paragraph about fences begins with these words


class _Section(NamedTuple):
    title: str
    body: str
    line: int
    body_line: int


def read_prompt_file(path: Path, current: Prompt) -> Prompt:
    """Return ``current`` with the sections of a file. Raises BadInput with file and line if the file is invalid."""
    return with_sections(current, file_text(path, f"the prompt in {path}"), str(path))


def with_sections(current: Prompt, text: str, where: str) -> Prompt:
    """Return ``current`` with the sections of ``text``; sections that ``text`` leaves out stay unchanged.

    A section must contain the same placeholders as in ``current``, except {domain}. The paragraph
    which tells the judge that fenced texts are material is added if it is missing. Raises BadInput,
    which names ``where`` and the line.
    """
    if reason := unstorable(text):
        raise BadInput(f"{where} cannot be stored: {reason}")
    sections = dict(current.sections)
    replaced_titles: set[str] = set()
    for section in _sections(text):
        title, body, line = section.title, section.body, f"{where}, line {section.line}"
        if title not in current.sections:
            raise BadInput(f"{line}: there is no section {title!r}. Sections: {_titles(current)}")
        if title in replaced_titles:
            raise BadInput(f"{line}: the section {title} is there twice")
        if not body:
            raise BadInput(f"{line}: the section {title} is empty")
        placeholders = _PLACEHOLDER.findall(current.sections[title])
        for placeholder in _PLACEHOLDER.finditer(body):
            if placeholder[1] not in placeholders:
                names = ", ".join(dict.fromkeys(f"{{{name}}}" for name in placeholders)) or "none"
                place = section.body_line + _line(body, placeholder.start()) - 1
                raise BadInput(
                    f"{where}, line {place}: unknown placeholder {placeholder[0]} in the section {title}. "
                    f"Known: {names}"
                )
        missing_names = sorted(set(placeholders) - _OPTIONAL - set(_PLACEHOLDER.findall(body)))
        if missing_names:
            raise BadInput(
                f"{line}: the section {title} needs the placeholder {{{missing_names[0]}}}"
            )
        replaced_titles.add(title)
        paragraphs = current.sections[title].split("\n\n")
        rule = next((each for each in paragraphs if each.startswith(_FENCE_RULE)), None)
        sections[title] = body if rule is None or rule in body else f"{body}\n\n{rule}"
    if not replaced_titles:
        raise BadInput(
            f"{where}: no section found. Begin each section with its heading: {_titles(current)}"
        )
    return current if sections == current.sections else read_prompt(written(sections))


def written(sections: Mapping[str, str]) -> str:
    """Return sections as the text of a prompt file."""
    return "\n".join(f"# {title}\n{body}\n" for title, body in sections.items())


def prompt_file(current: Prompt, stored_text: str | None = None) -> str:
    """Return the prompt of a kind of judge, or the ``stored_text`` of a version's prompt, as a file to change."""
    if stored_text is None:
        return written(current.sections)
    # The prompt of a version with examples also has the section for the examples.
    return written(
        {
            title: body
            for title, body in read_prompt(stored_text).sections.items()
            if title in current.sections
        }
    )


def _sections(text: str) -> Iterator[_Section]:
    headings = list(_TITLE_LINE.finditer(text))
    for number, heading in enumerate(headings, start=1):
        body = text[
            heading.end() : headings[number].start() if number < len(headings) else len(text)
        ]
        start = heading.end() + len(body) - len(body.lstrip())
        yield _Section(
            heading[1].strip(), body.strip(), _line(text, heading.start()), _line(text, start)
        )


def _line(text: str, place: int) -> int:
    return text.count("\n", 0, place) + 1


def _titles(prompt: Prompt) -> str:
    return ", ".join(f"# {title}" for title in prompt.sections)
