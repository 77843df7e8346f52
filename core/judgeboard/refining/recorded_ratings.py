"""Recorded ratings of a self-refine run: a file names the prompt, since nobody knows the run's number beforehand."""

from collections.abc import Sequence
from pathlib import Path

from judgeboard.judges.rating import RatingJudge
from judgeboard.llm.endpoint import ModelEndpoint
from judgeboard.llm.recorded import RecordedChat, Replies, read_replies
from judgeboard.refining.attempt_ids import AttemptId


def attempt_replies(replies: Replies, subject: str) -> Sequence[str]:
    """Return what is recorded for the outside id of an attempt's answer, else for its prompt: one a line and attempt.

    Args:
        replies: As `read_replies` gives them.
        subject: The outside id of the answer.
    """
    attempt = AttemptId.read(subject)
    if subject in replies or attempt is None:
        return replies.get(subject, ())
    return replies.get(attempt.prompt_id, ())[attempt.number - 1 : attempt.number]


def with_recorded_ratings(judge: RatingJudge, replies: Path) -> RatingJudge:
    """Return the same judge version, answering from a file of recorded replies (JSONL of response_id and raw).

    Raises:
        BadInput: The file cannot be read.
    """
    version = judge.version
    chat = RecordedChat(read_replies(replies), attempt_replies)
    return RatingJudge(
        ModelEndpoint(chat, version.model or "recorded"), name=version.name, max_output=version.params["max_output"]
    )
