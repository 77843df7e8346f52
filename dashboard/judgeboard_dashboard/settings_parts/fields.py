"""The settings that a page can change: their words, ranges and where their values come from."""

from dataclasses import dataclass
from typing import Any

from judgeboard.settings import variable_of
from judgeboard.store.settings_table import SettingLine
from judgeboard_dashboard.words import when


@dataclass(frozen=True, slots=True)
class NumberField:
    """A threshold: what it is called, what it does, from where to where it goes."""

    label: str
    tip: str
    low: float
    high: float
    step: float

    def refused(self, value: float | None) -> str | None:
        """Return why a number cannot be the threshold, None where it can; nan is in no range."""
        if value is not None and self.low <= value <= self.high:
            return None
        given = "" if value is None else f", not {value:g}"
        return f"{self.label}: a number from {self.low:g} to {self.high:g}{given}."


NUMBERS: dict[str, NumberField] = {
    "low_groundedness": NumberField(
        "Groundedness is low below", "Rule “low groundedness”: the primary judge's groundedness, 0 to 1.", 0, 1, 0.05
    ),
    "low_quality": NumberField(
        "Quality is low up to", "Rule “low quality”: the primary judge's quality, 1 to 4.", 0, 4, 1
    ),
    "feedback_gap": NumberField(
        "User and judge differ from",
        "Rule “feedback gap”: their distance on the scale of 1 to 4.",
        0.25,
        3,
        0.25,
    ),
    "disagree_groundedness": NumberField(
        "Judges differ from, groundedness", "Rule “judges disagree”: the distance of two judges, 0 to 1.", 0.01, 1, 0.05
    ),
    "disagree_quality": NumberField(
        "Judges differ from, quality", "Rule “judges disagree”: the distance of two judges, 1 to 3.", 1, 3, 1
    ),
    "random_share": NumberField(
        "Drawn at random, share", "Rule “random sample”: 0.02 draws 2 % of all answers.", 0, 1, 0.01
    ),
}


def origin_words(line: SettingLine) -> str:
    """Return where the value in force comes from: the environment, somebody, or nobody."""
    if line.origin == "env":
        return f"set by {variable_of(line.key)}, which wins over what is stored here"
    if line.origin == "stored" and line.at is not None:
        return f"by {line.by}, {when(line.at)}"
    return "the default"


def changed(lines: list[SettingLine], given: dict[str, Any]) -> dict[str, Any]:
    """Return what was given other than it is in force; what the environment sets cannot be changed here."""
    return {
        line.key: given[line.key]
        for line in lines
        if line.origin != "env" and line.key in given and not _same(given[line.key], line.value)
    }


def _same(given: Any, in_force: Any) -> bool:
    if isinstance(given, float) and isinstance(in_force, int | float):
        return abs(given - in_force) < 1e-9
    if isinstance(given, tuple | list):
        return sorted(given) == sorted(in_force or ())
    return bool(given == in_force)
