"""A rubric in the bar of a queue: one dimension after the other, its five levels by keys."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import streamlit as st

from judgeboard.judges.rubric_file import LEVELS
from judgeboard_dashboard.controls import Turn, key_button
from judgeboard_dashboard.evidence import as_label, show, tag
from judgeboard_dashboard.item.desk import Desk, Draft

NEXT = "K"
KEYS = "12345"
KEYS_BESIDE_QUALITY = "67890"  # 1 to 4 give the quality then


@dataclass(frozen=True, slots=True)
class RubricPresses:
    """What can be pressed about the rubric's dimensions on the draft of an answer; there is one at least.

    Which dimension is meant is read when a press is worked off: two levels in quick succession are given to two
    dimensions although the second was not drawn yet.
    """

    here: Desk
    response_id: int

    @property
    def draft(self) -> Draft:
        """The draft that the levels are in."""
        return self.here.draft(self.response_id)

    @property
    def at(self) -> int:
        """The place of the dimension that the keys give a level to."""
        return self.draft.dimension_at % len(self.draft.dimensions)

    def next(self) -> None:
        """Go to the next dimension, after the last one to the first."""
        self.draft.dimension_at = (self.at + 1) % len(self.draft.dimensions)

    def give(self, level: int) -> None:
        """Give a level, 1 to 5, and go to the next dimension unless it was the last; the same again takes it back."""
        draft, at = self.draft, self.at
        name = draft.dimensions[at]
        if draft.scores.get(name) == level:
            del draft.scores[name]
            return
        draft.scores[name] = level
        draft.dimension_at = min(at + 1, len(draft.dimensions) - 1)


def rubric_group(presses: RubricPresses, row: str, *, beside_quality: bool, words: Mapping[str, Sequence[str]]) -> None:
    """Show the dimension that the keys give a level to.

    Args:
        presses: What the keys do.
        row: What the buttons belong to.
        beside_quality: Whether the quality is asked for too, which takes the keys 1 to 4.
        words: What the levels 1 to 5 mean, by dimension, where a judge that may be seen brought it.
    """
    draft = presses.draft
    name = draft.dimensions[presses.at]
    meanings = words.get(name, ())
    with st.container(key="rubric_group", width="content", gap="xxsmall"):
        counted = f" {presses.at + 1} of {len(draft.dimensions)}, {len(draft.scores)} given"
        show(tag("div", tag("span", name, cls="jb-dimension"), tag("span", counted), cls="jb-label"))
        with st.container(horizontal=True, gap="xxsmall", wrap=False):
            for level, shortcut in zip(LEVELS, KEYS_BESIDE_QUALITY if beside_quality else KEYS, strict=True):
                meaning = meanings[level - 1] if level <= len(meanings) else ""
                key_button(
                    str(level),
                    partial(presses.give, level),
                    key=f"rubric{level}_{row}",
                    turn=Turn.GIVE,
                    shortcut=shortcut,
                    chosen=draft.scores.get(name) == level,
                    tip=as_label(meaning) or None,
                    each=True,
                )
            if len(draft.dimensions) > 1:
                key_button(
                    "Next",
                    presses.next,
                    key=f"rubric_next_{row}",
                    turn=Turn.GIVE,
                    shortcut=NEXT,
                    tip="The next dimension of the rubric",
                    each=True,
                )
