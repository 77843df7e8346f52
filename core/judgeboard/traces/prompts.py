"""What can be taken from the prompt of a model with certainty: the bare question, and numbered passages."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

# The start of a numbered passage: "[1] …", "1. …", "Document 1: …", "<document index="1">" and the like.
_NUMBERED = (
    re.compile(r"^[ \t]*\[(\d{1,3})\][:.]?[ \t]*", re.MULTILINE),
    re.compile(r"^[ \t]*(\d{1,3})[.)][ \t]+", re.MULTILINE),
    re.compile(
        r"^[ \t]*\W{0,4}(?:document|doc|passage|source|context|chunk|snippet|result)"
        r"[ \t]*[#\[(]?(\d{1,3})[\])]?\W{0,4}[:.\n][ \t]*",
        re.MULTILINE | re.IGNORECASE,
    ),
)
_END = re.compile(r"\n[ \t]*\n")
_LINE = re.compile(r"\n")
_LABELLED = re.compile(
    r"(?:^|\n)(?:context|passages|documents|sources)[^\n:]{0,30}:[ \t]*\n(.+?)(?:\n[ \t]*\n|$)",
    re.DOTALL | re.IGNORECASE,
)


def bare_question(prompt: str, candidates: Sequence[str]) -> str:
    """Return the question of the user in a prompt that also has instructions and passages.

    It is a question that another span of the trace has, and that stands in the prompt as a line of its own (after a
    label such as "Question:", or between tags). Without one, the prompt itself is returned.
    """
    for candidate in sorted(set(candidates), key=lambda text: (-len(text), text)):
        text = candidate.strip()
        if len(text) < len(prompt.strip()):
            line = rf"(?:^|\n|>)[ \t]*(?:[^\n:<>]{{1,40}}:[ \t]*)?[\"']?{re.escape(text)}[\"']?[ \t]*(?:\n|<|$)"
            if re.search(line, prompt):
                return text
    return prompt


def passages_in_prompt(
    messages: Sequence[Mapping[str, Any]], context: str | None, ids: Sequence[str | None]
) -> list[str] | None:
    """Return the texts of the retrieved passages if the prompt has exactly as many.

    They are numbered from 1, or have their ids in a tag, or are the lines or paragraphs of a part that is called
    context: the text ``context`` of a variable, or the part after a line such as "Context:".
    """
    for prompt in (each["content"] for each in reversed(messages) if each["role"] in {"user", "system"}):
        for pattern in _NUMBERED:
            starts = list(pattern.finditer(prompt))
            if [int(each[1]) for each in starts] == list(range(1, len(ids) + 1)):
                return _between(prompt, starts)
        named = [_tagged(prompt, key) for key in ids]
        if named and all(named):
            return [text for text in named if text]
        labelled = _LABELLED.search(prompt)
        texts = _parts(context or (labelled[1] if labelled else ""), len(ids))
        if texts:
            return texts
    return _parts(context or "", len(ids))


def _parts(context: str, count: int) -> list[str] | None:
    for separator in (_END, _LINE):
        texts = [text.strip() for text in separator.split(context) if text.strip()]
        if len(texts) == count:
            return texts
    return None


def _between(prompt: str, starts: Sequence[re.Match[str]]) -> list[str] | None:
    """Return the texts after each start; the last ends at the first blank line."""
    ends = [each.start() for each in starts[1:]]
    texts = [prompt[start.end() : end].strip() for start, end in zip(starts[:-1], ends, strict=True)]
    texts.append(_END.split(prompt[starts[-1].end() :], maxsplit=1)[0].strip())
    return texts if all(texts) else None


def _tagged(prompt: str, key: str | None) -> str | None:
    if not key:
        return None
    found = re.findall(rf"<(\w+)[^<>]*[\"'=]{re.escape(key)}[\"']?[^<>]*>(.*?)</\1>", prompt, re.DOTALL)
    return found[0][1].strip() if len(found) == 1 else None
