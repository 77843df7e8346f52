"""Reads the bare question and numbered passages from the prompt of a model, where both are certain."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

# The items of a list are passages only below a line that announces passages, because instructions
# are numbered too.
_LISTED = re.compile(r"^[ \t]*(\d{1,3})[.)][ \t]+", re.MULTILINE)
# The start of a numbered passage: "[1] …", "Document 1: …", "<document index="1">" and the like, at
# last "1. …".
_NUMBERED = (
    re.compile(r"^[ \t]*\[(\d{1,3})\][:.]?[ \t]*", re.MULTILINE),
    re.compile(
        r"^[ \t]*\W{0,4}(?:document|doc|passage|source|context|chunk|snippet|result)"
        r"[ \t]*[#\[(]?(\d{1,3})[\])]?\W{0,4}[:.\n][ \t]*",
        re.MULTILINE | re.IGNORECASE,
    ),
    _LISTED,
)
_END = re.compile(r"\n[ \t]*\n")
_LINE = re.compile(r"\n")
_LABELLED = re.compile(
    r"(?:^|\n)(?:context|passages|documents|sources)[^\n:]{0,30}:[ \t]*\n(.+?)(?:\n[ \t]*\n|$)",
    re.DOTALL | re.IGNORECASE,
)


def bare_question(prompt: str, candidates: Sequence[str]) -> str:
    """Return the question of the user in a prompt that also has instructions and passages.

    The question is the question of another span of the trace if the prompt has the same text as a
    separate line: after a label such as "Question:", between tags, or beside passages. A line of
    the user's text may also equal the question. Otherwise, the question is the part of the prompt
    that is called the question, beside a part with passages. If no question is certain, the prompt
    itself is returned.
    """
    has_parts = any(
        mark.search(prompt)
        for mark in (_QUESTION, _QUESTION_TAG, _CONTEXT, _MATERIAL_TAG, _NUMBERED[0])
    )
    for candidate in sorted(set(candidates), key=lambda text: (-len(text), text)):
        text = candidate.strip()
        if len(text) < len(prompt.strip()) and text in prompt:
            line = rf"(?:^|\n|>)[ \t]*([^\n:<>]{{1,40}}:[ \t]*)?[\"']?{re.escape(text)}[\"']?[ \t]*(?:\n|<|$)"
            lines = re.finditer(line, prompt)
            if any(has_parts or match[1] for match in lines):
                return text
    return _tagged_question(prompt) or _labelled_question(prompt) or prompt


_ASKED = r"(?:the[ \t]+)?(?:user(?:['’]s)?[ \t_]+)?(?:question|query)"
_MATERIAL = r"(?:context|passages?|documents?|sources?|excerpts?|search[ \t_]results?)"
_QUESTION_TAG = re.compile(rf"<({_ASKED})>", re.IGNORECASE)
_MATERIAL_TAG = re.compile(rf"<(/?)({_MATERIAL}|docs?)\b", re.IGNORECASE)
# The end of a line such as "Passages:" or "Context information is below.", but not of "Rules for
# the context:".
_ANNOUNCED = re.compile(
    rf"^(?!.*\b(?:rules?|instructions?|guidelines?|steps?)\b).*\b{_MATERIAL}\b.{{0,30}}$",
    re.IGNORECASE,
)


def _label(names: str) -> re.Pattern[str]:
    """Return a label at the start of a line: "Question:", "**Question:**", or a heading."""
    plain = rf"^[ \t]*\**{names}\**[ \t]*:\**[ \t]*"
    heading = rf"^#{{1,6}}[ \t]*{names}[ \t]*:?[ \t]*$"
    return re.compile(rf"(?:{plain}|{heading})", re.MULTILINE | re.IGNORECASE)


_QUESTION = _label(_ASKED)
_CONTEXT = _label(rf"[^\n:#*]{{0,30}}\b{_MATERIAL}\b[^\n:]{{0,30}}")
_ANSWER = _label(r"(?:your[ \t]+|helpful[ \t]+|final[ \t]+)?(?:answer|response)")


def _tagged_question(prompt: str) -> str | None:
    tags = list(_QUESTION_TAG.finditer(prompt))
    if len(tags) != 1 or not _MATERIAL_TAG.search(prompt):
        return None
    before = prompt[: tags[0].start()]
    closes = {
        tag[2].lower(): tag[1] for tag in _MATERIAL_TAG.finditer(before)
    }  # whether the last tag of a name closes
    if not all(closes.values()):
        return None  # the question is inside a passage
    text, end, _ = prompt[tags[0].end() :].partition(f"</{tags[0][1]}>")
    return (text.strip() or None) if end else None


def _labelled_question(prompt: str) -> str | None:
    """Return the line after the only label of a question.

    The question must be at the end of the prompt (only an empty "Answer:" may follow) or directly
    before the passages. Because a passage may have such a line too, a prompt with anything else
    after the question is not read.
    """
    labels = list(_QUESTION.finditer(prompt))
    if len(labels) != 1:
        return None
    before = prompt[: labels[0].start()]
    text, _, after = prompt[labels[0].end() :].lstrip().partition("\n")
    text, after = text.strip(), after.strip()
    context = _CONTEXT.search(before)
    if context is None and _CONTEXT.match(after):
        return text or None
    answer = _ANSWER.match(after)
    ends = not after or (answer is not None and answer.end() == len(after))
    set_apart = answer is not None or _END.search(before[-3:].rstrip(" \t")) is not None
    # The question itself may stand before the passages, without a label.
    start = before[: context.start()] if context else _END.split(before.strip(), maxsplit=1)[0]
    asks = any(line.rstrip().endswith("?") for line in start.splitlines())
    has_passages = context is not None or re.search(rf"\b{_MATERIAL}\b", before, re.IGNORECASE)
    return (text or None) if ends and set_apart and has_passages and not asks else None


def passages_in_prompt(
    messages: Sequence[Mapping[str, Any]], context: str | None, ids: Sequence[str | None]
) -> list[str] | None:
    """Return the texts of the retrieved passages if the prompt has exactly as many.

    The passages are numbered from 1, or have ids in a tag, or are the lines or paragraphs of a part
    that is called context: the text ``context`` of a variable, or the part after a line such as
    "Context:".
    """
    for prompt in (
        each["content"] for each in reversed(messages) if each["role"] in {"user", "system"}
    ):
        for pattern in _NUMBERED:
            starts = list(pattern.finditer(prompt))
            if not starts or [int(each[1]) for each in starts] != list(range(1, len(ids) + 1)):
                continue
            before = prompt[: starts[0].start()].splitlines()
            lines = [line for line in before if re.search(r"\w", line)]
            if pattern is _LISTED and not (lines and _ANNOUNCED.match(lines[-1])):
                continue
            # The texts after each start; the last ends at the first blank line. If another text has
            # several paragraphs, the last text may have several too, and the end is unknown.
            ends = [each.start() for each in starts[1:]]
            numbered_texts = [
                prompt[start.end() : end].strip()
                for start, end in zip(starts[:-1], ends, strict=True)
            ]
            if any(_END.search(text) for text in numbered_texts):
                return None
            last_text = _END.split(prompt[starts[-1].end() :], maxsplit=1)[0].strip()
            numbered_texts.append(last_text)
            return numbered_texts if all(numbered_texts) else None
        tagged_texts = [_tagged(prompt, key) for key in ids]
        if tagged_texts and all(tagged_texts):
            return [text for text in tagged_texts if text]
        texts = _parts(context or _labelled_context(prompt) or "", len(ids))
        if texts:
            return texts
    return _parts(context or "", len(ids))


def _labelled_context(prompt: str) -> str | None:
    """Return the paragraph after a label such as "Context:", if no other passage can follow."""
    match = _LABELLED.search(prompt)
    if match is None:
        return None
    after = prompt[match.end() :].strip(" \t\n-=")
    asks = after.endswith("?") and "\n" not in after
    ends = (
        not after
        or asks
        or any(label.match(after) for label in (_QUESTION, _QUESTION_TAG, _ANSWER))
    )
    return match[1] if ends else None


def _parts(context: str, count: int) -> list[str] | None:
    for separator in (_END, _LINE):
        texts = [text.strip() for text in separator.split(context) if text.strip()]
        if len(texts) == count:
            return texts
    return None


def _tagged(prompt: str, key: str | None) -> str | None:
    if not key:
        return None
    elements = re.findall(
        rf"<(\w+)[^<>]*[\"'=]{re.escape(key)}[\"']?[^<>]*>(.*?)</\1>", prompt, re.DOTALL
    )
    return elements[0][1].strip() if len(elements) == 1 else None
