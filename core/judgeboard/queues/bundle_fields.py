"""Reads what somebody filled in on a line of an offline bundle: each value checked, each refusal with its field."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from judgeboard.domain import DimensionScore, Grade, Label, checked_groundedness, checked_quality
from judgeboard.errors import BadInput
from judgeboard.formats.jsonl import json_kind
from judgeboard.judges.rubric_file import LEVELS, SCALE
from judgeboard.review.checks import LONGEST_KEY, LONGEST_LOOK, checked_seconds
from judgeboard.storable_text import unstorable


class UnusableLine(Exception):
    """What cannot be used of a line, with the field."""

    def __init__(self, line: int, field: str | None, reason: str) -> None:
        super().__init__(f"line {line}{'' if field is None else f', {field}'}: {reason}")


class FilledIn:
    """Reads what was filled in on a line."""

    def __init__(self, line: int, values: Mapping[str, Any]) -> None:
        self._line, self._values = line, values

    def choice(self, name: str, known: Iterable[str]) -> str | None:
        """Return one of a few words, None where nothing is chosen."""
        value = self._values.get(name)
        if value is None or value == "":
            return None
        choices = [str(each) for each in known]
        if value not in choices:
            raise UnusableLine(self._line, name, f"is one of {', '.join(choices)}, not {_shown(value)}")
        return str(value)

    def text(self, name: str) -> str | None:
        """Return a text, None for a blank one."""
        value = self._values.get(name)
        if value is None:
            return None
        if not isinstance(value, str):
            raise UnusableLine(self._line, name, f"is a text, not {json_kind(value)}")
        if reason := unstorable(value):
            raise UnusableLine(self._line, name, f"cannot be stored: {reason}")
        return value if value.strip() else None

    def seconds(self) -> float | None:
        """Return how long somebody says to have looked."""
        value = self._values.get("seconds")
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise UnusableLine(self._line, "seconds", f"is a number, not {json_kind(value)}")
        try:
            return checked_seconds(float(value))
        except (BadInput, OverflowError):
            raise UnusableLine(self._line, "seconds", f"is a number of seconds from 0 to {LONGEST_LOOK:,}") from None

    def grade(self) -> Grade:
        """Return the grade that label, scores, note and corrected answer make."""
        label, note = self.choice("label", Label), self.text("note")
        for name, check in (("groundedness", checked_groundedness), ("quality", checked_quality)):
            try:
                check(self._values.get(name))
            except (ValueError, OverflowError) as error:
                raise UnusableLine(self._line, name, str(error)) from None
        return Grade(
            label=None if label is None else Label(label),
            groundedness=checked_groundedness(self._values.get("groundedness")),
            quality=self._values.get("quality"),
            note=None if note is None else note.strip(),
            corrected_answer=self.text("corrected_answer"),
            scores=self._scores(),
        )

    def _scores(self) -> tuple[DimensionScore, ...]:
        given = self._values.get("scores")
        if given is None:
            return ()
        if not isinstance(given, dict):
            raise UnusableLine(self._line, "scores", f"is an object of dimensions, not {json_kind(given)}")
        for name, value in given.items():
            if not name.strip() or len(name) > LONGEST_KEY or unstorable(name):
                raise UnusableLine(self._line, "scores", f"a dimension has a name of 1 to {LONGEST_KEY} characters")
            whole = isinstance(value, int) and not isinstance(value, bool)
            if value is not None and not (whole and value in LEVELS):
                raise UnusableLine(self._line, f"scores.{name}", f"is a whole number from 1 to 5, not {_shown(value)}")
        return tuple(DimensionScore(name, value, SCALE) for name, value in given.items() if value is not None)


def _shown(value: Any) -> str:
    text = repr(value) if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= 40 else f"{text[:39]}…"
