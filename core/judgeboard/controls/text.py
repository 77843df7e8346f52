"""What a control changes of a logged answer."""

from typing import NamedTuple


class AnswerText(NamedTuple):
    """A question, its answer and its passages; ``passages`` None means that the log did not carry them."""

    query: str
    answer: str
    passages: tuple[str, ...] | None
