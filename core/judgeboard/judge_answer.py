"""Judges one answer that a caller holds in its hands; nothing is stored."""

from collections.abc import Sequence
from typing import Any

from judgeboard.blocking import blocking
from judgeboard.domain import JudgeInput, Verdict
from judgeboard.errors import BadInput
from judgeboard.judge_choice import make_judge
from judgeboard.judges.protocol import Judge


async def judge(
    query: str,
    answer: str,
    passages: Sequence[str] | None = None,
    *,
    judge: str | Judge = "lexical",
    query_type: str = "unspecified",
    reference: str | None = None,
    **options: Any,
) -> Verdict:
    """Return a judge's verdict on one answer.

    A call that failed, a refusal and an unusable reply are verdicts too: look at ``status``. Without a usable verdict
    the scores are None.

    Args:
        query: What the user asked.
        answer: What the assistant said.
        passages: What was retrieved; None where that is not known (groundedness then stays None), empty for nothing.
        judge: A kind of judge (``lexical``, ``rag``), made for this call, or one that `make_judge` made: that one
            keeps its connections over many calls, and whoever made it closes it.
        query_type: The type of the question.
        reference: A right answer, for judges that read one.
        options: Fields of `JudgeOptions` for a kind of judge: model, base_url, api_key, domain, claims, …

    Raises:
        BadInput: There is no such judge, the options do not make one, or a text is no text.
        EndpointRefused: The endpoint refuses the key, the model or the address.
    """
    item = JudgeInput(
        response_id=0,
        query=_text("query", query),
        answer=_text("answer", answer),
        passages=_passages(passages),
        query_type=query_type,
        reference=reference,
    )
    if not isinstance(judge, str):
        if options:
            raise BadInput(f"{', '.join(sorted(options))}: a judge that is made already takes no options")
        return await judge.judge(item)
    made = make_judge(judge, **options)
    try:
        return await made.judge(item)
    finally:
        await made.aclose()


judge_blocking = blocking(judge)


def _text(what: str, given: str) -> str:
    if not isinstance(given, str):
        raise BadInput(f"{what} must be a text, not {type(given).__name__}")
    return given


def _passages(given: Sequence[str] | None) -> tuple[str, ...] | None:
    if given is None:
        return None
    if isinstance(given, str):
        raise BadInput("passages must be a list of texts, not one text")
    return tuple(_text("a passage", passage) for passage in given)
