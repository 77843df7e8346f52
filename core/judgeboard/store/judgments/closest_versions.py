"""Which judge versions can be meant by a name that none of them has, in words."""

import difflib
from collections.abc import Sequence
from typing import Protocol

from judgeboard.judge_kinds import RECORDED

MOST_NAMED = 8


class Named(Protocol):
    """What of a judge version tells whether it can be meant."""

    @property
    def name(self) -> str:
        """Its judge's name."""

    @property
    def title(self) -> str:
        """Its name with its number."""

    @property
    def kind(self) -> str:
        """What kind of judge it is."""


def closest(which: str, versions: Sequence[Named]) -> str:
    """Return the first of these versions in words, those of the closest names before the others."""
    names = list(dict.fromkeys(version.name for version in versions))
    close = _closest_names(which, names)
    ordered = [*close, *(name for name in names if name not in close)]
    found = [version.title for name in ordered for version in versions if version.name == name]
    return _first(found if len(found) <= MOST_NAMED else ordered)


def closest_of_all(which: str, versions: Sequence[Named]) -> str:
    """Return what there is instead: the closest, else the first; a recorded set can bring hundreds, then by name."""
    if not versions:
        return "none has judged yet"
    # Judges that were asked from here before recorded ones, of which one file may bring all these hundreds.
    asked_first = sorted(versions, key=lambda version: version.kind == RECORDED)
    close = _closest_names(which, list(dict.fromkeys(version.name for version in asked_first)))
    return f"there is: {closest(which, [each for each in asked_first if not close or each.name in close])}"


def _closest_names(which: str, names: Sequence[str]) -> list[str]:
    """Return those that hold the text, else those that it may be a slip for, the closest first."""
    folded, wanted = {name: _plain(name) for name in names}, _plain(which)
    holding = [name for name in names if wanted and wanted in folded[name]]
    alike = difflib.get_close_matches(wanted, list(dict.fromkeys(folded.values())), n=MOST_NAMED)
    return holding or [name for each in alike for name in names if folded[name] == each]


def _plain(name: str) -> str:
    """Return letters and digits alone: people write gpt4 and GPT-4."""
    return "".join(letter for letter in name.casefold() if letter.isalnum())


def _first(names: Sequence[str]) -> str:
    more = len(names) - MOST_NAMED
    return ", ".join(names[:MOST_NAMED]) + (f" and {more:,} more" if more > 0 else "")
