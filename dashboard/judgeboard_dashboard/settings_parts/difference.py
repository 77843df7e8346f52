"""What differs between two judge versions: the lines of their prompts, their parameters."""

import difflib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from judgeboard.store.judgments.judge_versions import StoredVersion

AROUND = 2  # equal lines shown around a change


@dataclass(frozen=True, slots=True)
class DiffLine:
    """A line of two prompts; a gap stands for equal lines that are left out."""

    kind: Literal["same", "added", "removed", "gap"]
    text: str


@dataclass(frozen=True, slots=True)
class ParamLine:
    """A parameter in both versions, as JSON; None where a version has no such parameter."""

    name: str
    old: str | None
    new: str | None

    @property
    def differs(self) -> bool:
        """Whether the two versions differ in it."""
        return self.old != self.new


def prompt_difference(old: str | None, new: str | None) -> list[DiffLine]:
    """Return the lines that differ, each with two equal ones around it; empty where the prompts are equal."""
    before, after = (old or "").splitlines(), (new or "").splitlines()
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    lines: list[DiffLine] = []
    for group in matcher.get_grouped_opcodes(AROUND):
        first = group[0]
        if lines or first[1] > 0:
            lines.append(DiffLine("gap", f"line {first[3] + 1}"))
        for kind, start, end, new_start, new_end in group:
            if kind == "equal":
                lines += [DiffLine("same", text) for text in before[start:end]]
                continue
            lines += [DiffLine("removed", text) for text in before[start:end]]
            lines += [DiffLine("added", text) for text in after[new_start:new_end]]
    return lines


def param_lines(old: StoredVersion, new: StoredVersion) -> list[ParamLine]:
    """Return every parameter, with kind, model and scale among them; those that differ come first."""
    before, after = dict(_params(old)), dict(_params(new))
    names = dict.fromkeys((*before, *after))
    return sorted(
        (ParamLine(name, before.get(name), after.get(name)) for name in names), key=lambda line: not line.differs
    )


def _params(version: StoredVersion) -> Iterator[tuple[str, str]]:
    fixed: dict[str, Any] = {"kind": version.kind, "model": version.model, "scale": version.scale}
    for name, value in (fixed | version.params).items():
        if value is not None:
            yield name, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
