"""Asking a judge, for methods that do not go through `judgeboard.method` yet."""

from judgeboard.domain import Verdict
from judgeboard.judges import Judge
from judgeboard.judging import Ask
from judgeboard.runner import Answered as Step
from judgeboard.runner import Keep, Work

__all__ = ["Answered", "Ask", "asking"]

Answered = Step[Ask, Verdict]


def asking(judge: Judge) -> Work[Ask, Answered]:
    """Return the work of asking ``judge``."""

    async def ask_one(ask: Ask, keep: Keep[Answered]) -> None:
        verdict = await judge.judge(ask.item)
        await keep(Step(ask, verdict, verdict))

    return ask_one
