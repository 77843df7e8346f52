"""Lays an answer, with its question and passages, between fences for a prompt."""

from judgeboard.domain import JudgeInput
from judgeboard.judges.fences import fence_token, fenced

_NOT_KEPT = "(The passages that the assistant saw were not kept.)"
_NOTHING = "(The retrieval found nothing: there are no passages.)"


def answer_material(item: JudgeInput, **more: str) -> tuple[str, str]:
    """Return the fence's token and the fenced texts: question, passages, answer, then ``more`` under its titles.

    That passages were not kept, or that nothing was retrieved, is said in their place.
    """
    passages = item.passages or ()
    token = fence_token((item.query, item.answer, *passages, *more.values()))
    shown = [fenced(f"PASSAGE {number}", text, token) for number, text in enumerate(passages, start=1)]
    if not shown:
        shown = [_NOT_KEPT if item.passages is None else _NOTHING]
    parts = [fenced("QUESTION", item.query, token), *shown, fenced("ANSWER", item.answer, token)]
    parts += [fenced(title, text, token) for title, text in more.items()]
    return token, "\n\n".join(parts)
