"""Recorded ratings of a self-refine run: a file names the prompt, since nobody knows the run's number beforehand."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from judgeboard.judges.rating import RatingJudge
from judgeboard.llm.endpoint import ModelEndpoint
from judgeboard.llm.recorded import RecordedChat, read_replies

_ATTEMPT = re.compile(r"(?P<id>.*)~refine-\d+-(?P<number>\d+)", re.DOTALL)


class AttemptReplies(dict[str, Sequence[str]]):
    """Raw replies by the outside id of an attempt's answer, else by that of its prompt: one a line, attempt by attempt.

    Args:
        replies: As `read_replies` gives them.
    """

    def __init__(self, replies: Mapping[str, Sequence[str]]) -> None:
        super().__init__(replies)

    def get(self, key: str, default: Sequence[str] = ()) -> Sequence[str]:  # type: ignore[override]  # never None
        """Return the replies to an attempt; the default where none is recorded."""
        named = _ATTEMPT.fullmatch(key)
        if key in self or named is None:
            return super().get(key, default)
        number = int(named["number"])
        return super().get(named["id"], ())[number - 1 : number] or default


def with_recorded_ratings(judge: RatingJudge, replies: Path) -> RatingJudge:
    """Return the same judge version, answering from a file of recorded replies (JSONL of response_id and raw).

    Raises:
        BadInput: The file cannot be read.
    """
    version = judge.version
    endpoint = ModelEndpoint(RecordedChat(AttemptReplies(read_replies(replies))), version.model or "recorded")
    return RatingJudge(endpoint, name=version.name, max_output=version.params["max_output"])
