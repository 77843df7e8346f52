"""Prompt files of users. A file replaces sections of a judge's prompt; the program keeps the rule about fences."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from judgeboard.errors import BadInput
from judgeboard.judges.material import Prompt, load_prompt, read_prompt
from judgeboard.text import file_text, unstorable

PROMPTS: Mapping[str, str] = MappingProxyType(
    {
        "rag": "rag",
        "rubric": "rubric",
        "grade": "grade",
        "rating": "refine",
        "pairwise": "pairwise",
        "audit": "supreme",
        "ssr": "pairwise",
    }
)
"""Maps each kind of model judge to the name of its prompt; of ssr, to the prompt of its comparisons."""

_HEADING = re.compile(r"(?m)^# (.*)$")
_PLACEHOLDER = re.compile(r"\{(\w+)\}")
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
    """Return ``current`` with the sections of ``text``; sections that ``text`` leaves out stay as they are.

    A section must contain the same placeholders as in ``current``, except {domain}. The paragraph which tells the judge
    that fenced texts are material is added if it is missing. Raises BadInput, which names ``where`` and the line.
    """
    if reason := unstorable(text):
        raise BadInput(f"{where} cannot be stored: {reason}")
    sections = dict(current.sections)
    replaced: set[str] = set()
    for section in _sections(text):
        _check(section, current, replaced, where)
        replaced.add(section.title)
        paragraphs = current.sections[section.title].split("\n\n")
        rule = next((each for each in paragraphs if each.startswith(_FENCE_RULE)), None)
        kept = rule is None or rule in section.body
        sections[section.title] = section.body if kept else f"{section.body}\n\n{rule}"
    if not replaced:
        raise BadInput(f"{where}: no section found. Begin each section with its heading: {_titles(current)}")
    return current if sections == current.sections else read_prompt(written(sections))


def written(sections: Mapping[str, str]) -> str:
    """Return sections as the text of a prompt file."""
    return "\n".join(f"# {title}\n{body}\n" for title, body in sections.items())


def prompt_file(kind: str, stored: str | None = None) -> str:
    """Return the prompt of a kind of judge, or the ``stored`` prompt of one of its versions, as a file to change."""
    current = load_prompt(PROMPTS[kind])
    if stored is None:
        return written(current.sections)
    # The prompt of a version with examples also has the section for the examples.
    return written({title: body for title, body in read_prompt(stored).sections.items() if title in current.sections})


def _sections(text: str) -> Iterator[_Section]:
    headings = list(_HEADING.finditer(text))
    for number, heading in enumerate(headings, start=1):
        body = text[heading.end() : headings[number].start() if number < len(headings) else len(text)]
        start = heading.end() + len(body) - len(body.lstrip())
        yield _Section(heading[1].strip(), body.strip(), _line(text, heading.start()), _line(text, start))


def _line(text: str, place: int) -> int:
    return text.count("\n", 0, place) + 1


def _check(section: _Section, current: Prompt, replaced: set[str], where: str) -> None:
    title, body, line = section.title, section.body, f"{where}, line {section.line}"
    if title not in current.sections:
        raise BadInput(f"{line}: there is no section {title!r}. Sections: {_titles(current)}")
    if title in replaced:
        raise BadInput(f"{line}: the section {title} is there twice")
    if not body:
        raise BadInput(f"{line}: the section {title} is empty")
    known = _PLACEHOLDER.findall(current.sections[title])
    for found in _PLACEHOLDER.finditer(body):
        if found[1] not in known:
            names = ", ".join(dict.fromkeys(f"{{{name}}}" for name in known)) or "none"
            place = section.body_line + _line(body, found.start()) - 1
            raise BadInput(
                f"{where}, line {place}: unknown placeholder {found[0]} in the section {title}. Known: {names}"
            )
    missing = sorted(set(known) - _OPTIONAL - set(_PLACEHOLDER.findall(body)))
    if missing:
        raise BadInput(f"{line}: the section {title} needs the placeholder {{{missing[0]}}}")


def _titles(prompt: Prompt) -> str:
    return ", ".join(f"# {title}" for title in prompt.sections)
