"""The work of a suite run: one case, its answer, the judge's verdict on it."""

from dataclasses import dataclass

from judgeboard.domain import JudgeInput, Status, Verdict
from judgeboard.judges.protocol import Judge
from judgeboard.llm.generator import Generated
from judgeboard.runner import Keep, Work
from judgeboard.suites.candidates import Candidate, messages_for
from judgeboard.suites.suite_file import Case


@dataclass(frozen=True, slots=True)
class CaseTask:
    """A case that is not finished: at which place of its suite, with the answer where it is stored already."""

    position: int
    case: Case
    answer: str | None = None
    passages: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Answered:
    """A case with what the candidate gave, waiting to be stored."""

    task: CaseTask
    generated: Generated
    own_code: bool = False

    @property
    def status(self) -> Status:
        """What became of it."""
        return self.generated.record.status

    @property
    def cost_micro(self) -> int | None:
        """What it cost, in millionths; a user's own function does not count against a limit."""
        return 0 if self.own_code else self.generated.record.cost_micro


@dataclass(frozen=True, slots=True)
class Scored:
    """An answer with the judge's verdict on it, waiting to be stored."""

    task: CaseTask
    answer: str
    verdict: Verdict

    @property
    def status(self) -> Status:
        """What became of it."""
        return self.verdict.status

    @property
    def cost_micro(self) -> int | None:
        """What it cost, in millionths; None is unknown."""
        return self.verdict.cost_micro


SuiteStep = Answered | Scored


def answering_and_scoring(candidate: Candidate, judge: Judge) -> Work[CaseTask, SuiteStep]:
    """Return the work of having ``candidate`` answer a case and ``judge`` score the answer."""

    async def do(task: CaseTask, keep: Keep[SuiteStep]) -> None:
        answer = task.answer
        if answer is None:
            if candidate.generator is None:
                return
            generated = await candidate.generator.generate(messages_for(candidate, task.case), subject=task.case.id)
            go_on = await keep(Answered(task, generated, candidate.own_code))
            answer = generated.text
            if answer is None or not go_on:
                return
        await keep(Scored(task, answer, await judge.judge(_shown(task, answer))))

    return do


def _shown(task: CaseTask, answer: str) -> JudgeInput:
    case = task.case
    return JudgeInput(
        response_id=0,  # its number is known when it is stored, and no judge reads it
        query=case.query,
        answer=answer,
        passages=task.passages,
        reference=case.reference,
        external_id=case.id,
    )
