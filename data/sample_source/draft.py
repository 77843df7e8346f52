"""An answer while it is written: sentences that know whether the passages support them."""

from dataclasses import dataclass, field
from typing import Any

# What an answer is like, and the quality from 1 to 4 that it deserves where the writer does not say
# otherwise.
MOODS = {
    "grounded": 4,  # all that was asked, all from the passages
    "gap": 3,  # from the passages, but part of the question stays open
    "terse": 3,  # the bare value
    "padded": 4,  # right, followed by an invented addition
    "slip": 4,  # one of several statements is not in the passages
    "wrong": 3,  # contradicts the passage
    "mixed": 3,  # half from the passages
    "made_up": 3,  # mostly the assistant's own
    "beside": 2,  # from the passages, but not what was asked
    "refusal": 1,  # says that it cannot answer
}


def quality_of_a_bare_value(query: str) -> int:
    """Return 2 where the query asks for more than one thing, so that a value alone is not enough, and else 3."""
    return 2 if " and " in query or "," in query else MOODS["terse"]


@dataclass(frozen=True)
class Sentence:
    """One statement of an answer; ``about`` names it in a reviewer's note."""

    text: str
    supported: bool
    about: str


@dataclass
class Draft:
    """A query with passages and the sentences of its answer; ``glue`` stands between them."""

    query: str
    query_type: str
    mood: str
    passages: list[str] | None
    sentences: list[Sentence]
    quality: int
    glue: str = " "
    metadata: dict[str, Any] = field(default_factory=dict)

    @property
    def answer(self) -> str:
        """The text that the user saw."""
        return self.glue.join(sentence.text for sentence in self.sentences)

    @property
    def unsupported(self) -> list[tuple[int, int, Sentence]]:
        """Start, end (offsets into ``answer``) and sentence of everything that the passages do not support."""
        spans = []
        start = 0
        for sentence in self.sentences:
            if not sentence.supported:
                spans.append((start, start + len(sentence.text), sentence))
            start += len(sentence.text) + len(self.glue)
        return spans

    @property
    def groundedness(self) -> float:
        """Share (0..1) of the answer's characters outside of unsupported sentences."""
        return 1 - sum(end - start for start, end, _ in self.unsupported) / len(self.answer)
