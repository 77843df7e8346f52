"""The work of a plain judging run: one ask of a judge, one verdict."""

from dataclasses import dataclass

from judgeboard.domain import JudgeInput, Status, Verdict
from judgeboard.judges.protocol import Judge
from judgeboard.runner import Keep, Work


@dataclass(frozen=True, slots=True)
class Ask:
    """One request to a judge: the response as the judge sees it, which asking of it this is, and which repeat."""

    item: JudgeInput
    number: int
    repeat: int = 0


@dataclass(frozen=True, slots=True)
class Answered:
    """An ask with its verdict, waiting to be stored."""

    ask: Ask
    verdict: Verdict

    @property
    def status(self) -> Status:
        """What became of it."""
        return self.verdict.status

    @property
    def cost_micro(self) -> int | None:
        """What it cost, in millionths; None is unknown."""
        return self.verdict.cost_micro


def asking(judge: Judge) -> Work[Ask, Answered]:
    """Return the work of asking ``judge``."""

    async def ask_one(ask: Ask, keep: Keep[Answered]) -> None:
        await keep(Answered(ask, await judge.judge(ask.item)))

    return ask_one
