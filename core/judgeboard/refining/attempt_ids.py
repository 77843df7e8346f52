"""The outside id of an attempt's answer: made of its prompt, its run and its number, and read again."""

import re
from typing import NamedTuple

_ATTEMPT = re.compile(r"(?P<prompt_id>.*)~refine-(?P<run_id>\d+)-(?P<number>\d+)", re.DOTALL)


class AttemptId(NamedTuple):
    """Which attempt it is; ``number`` counts from 1."""

    prompt_id: str
    run_id: int
    number: int

    def __str__(self) -> str:
        return f"{self.prompt_id}~refine-{self.run_id}-{self.number}"

    @classmethod
    def read(cls, text: str) -> "AttemptId | None":
        """Return the attempt that an outside id names, None where it is not the id of an attempt."""
        named = _ATTEMPT.fullmatch(text)
        return None if named is None else cls(named["prompt_id"], int(named["run_id"]), int(named["number"]))
