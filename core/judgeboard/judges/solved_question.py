"""What a model is told of a stored question."""

from typing import Protocol


class SolvedQuestion(Protocol):
    """All that a solver reads of a stored pair: it never sees the two answers."""

    @property
    def external_id(self) -> str:
        """What a recording is looked up by."""
        ...

    @property
    def question(self) -> str | None:
        """None only after forgetting."""
        ...

    @property
    def options(self) -> tuple[str, ...] | None:
        """The options that the question asks about."""
        ...

    @property
    def passages(self) -> tuple[str, ...] | None:
        """The passages that both answers were given."""
        ...
