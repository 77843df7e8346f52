"""The two scales as people read them: words, anchors, keys."""

from typing import NamedTuple


class Quality(NamedTuple):
    """One step of the quality scale."""

    value: int
    name: str
    key: str
    meaning: str


class Anchor(NamedTuple):
    """One anchor of the groundedness scale, 0 to 1."""

    value: float
    name: str
    key: str
    meaning: str


QUALITIES = (
    Quality(1, "Fails", "1", "does not answer the question"),
    Quality(2, "Weak", "2", "irrelevant or insufficient"),
    Quality(3, "Gaps", "3", "answers, with notable gaps"),
    Quality(4, "Full", "4", "answers directly and completely"),
)
# On the home row of the left hand; the right hand decides.
ANCHORS = (
    Anchor(0.0, "0", "A", "nothing of it is in the passages"),
    Anchor(0.2, "0.2", "S", "mostly its own, the passages are decoration"),
    Anchor(0.5, "0.5", "D", "half from the passages, half its own"),
    Anchor(0.8, "0.8", "F", "mostly from the passages, small reasonable inferences"),
    Anchor(1.0, "1", "G", "all of it is in the passages, no speculation"),
)
KEYS = (
    ("Y", "confirm: the answer has a problem"),
    ("N", "dismiss: the answer is fine"),
    ("U", "unsure: leave it for somebody else"),
    ("1–4", "quality"),
    ("A S D F G", "groundedness 0, 0.2, 0.5, 0.8, 1"),
    ("M", "write a note, Esc leaves it"),
    ("Ctrl Enter", "save a grade where nothing waits for a decision"),
    ("Z", "undo the last decision"),
    ("V", "next claim or sentence of the answer"),
    ("B X P", "it is supported, contradicted, unsupported"),
    ("I", "answer sentence by sentence, or whole"),
    ("O", "why you and the judge differ"),
    ("T", "write a remark for the others, Enter sends it"),
    ("9 0", "next attempt at a better answer; let it stand"),
    ("J K", "next, previous"),
    ("L", "back to the list"),
    ("H", "close this list"),
)
