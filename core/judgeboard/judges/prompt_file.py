"""Reads the prompts that judges carry."""

import re
from dataclasses import dataclass
from functools import cache
from importlib import resources

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
