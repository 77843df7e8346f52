"""The work of a self-refine run: attempts at one prompt, each step kept as it comes."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from judgeboard.domain import Response, ResponseKind, Status, StepRecord
from judgeboard.judges.rating import Rated, RatingJudge
from judgeboard.judges.rating_reply import Rating
from judgeboard.llm.generator import Generated, Generator
from judgeboard.refining.attempt_ids import AttemptId
from judgeboard.refining.attempts import Refinement, RefineRule
from judgeboard.refining.loop import attempt_until_good
from judgeboard.refining.messages import Messages, rebuilt_messages, with_feedback
from judgeboard.runner import Keep, Work
from judgeboard.store.refinements import StoredAttempt, StoredStep
from judgeboard.store.responses.logged_origins import Origin


@dataclass(frozen=True, slots=True)
class Prompt:
    """What is to be answered, and the attempts at it that are stored; ``subject`` names it within the run."""

    subject: str
    origin: Origin
    run_id: int
    model: str
    done: tuple[Refinement, ...] = ()

    @property
    def messages(self) -> Messages:
        """What the generator is asked at first: as logged, else rebuilt from question and passages."""
        item = self.origin.item
        return self.origin.messages or rebuilt_messages(item.query, item.passages)

    def new_id(self, number: int) -> str:
        """Return the outside id of an attempt's answer: the same whenever this run makes it."""
        return str(AttemptId(self.origin.item.external_id, self.run_id, number))

    def made(self, number: int, text: str, feedback: str | None) -> Response:
        """Return an attempt's answer as it is stored; ``feedback`` is what it was asked with."""
        item = self.origin.item
        return Response(
            source=self.origin.source,
            external_id=self.new_id(number),
            query=item.query,
            answer=text,
            passages=item.passages,
            query_type=item.query_type,
            generator_model=self.model,
            messages=with_feedback(self.messages, feedback),
            reference=item.reference,
            kind=ResponseKind.REGENERATED,
            derived_from=self.origin.root_response_id,
        )


@dataclass(frozen=True, slots=True)
class RefineStep:
    """A step of a self-refine run, waiting to be stored: an attempt whose answer, or whose rating, just came."""

    prompt: Prompt
    attempt: Refinement
    asked_with: str | None = None

    @property
    def status(self) -> Status:
        """What became of the step."""
        return self.attempt.status

    @property
    def cost_micro(self) -> int | None:
        """What the step cost, in millionths; None is unknown."""
        return self.attempt.latest.cost_micro


def refining(judge: RatingJudge, generator: Generator, rule: RefineRule) -> Work[Prompt, RefineStep]:
    """Return the work of refining the answer to one prompt; what is stored of it is not asked again."""

    async def refine_one(prompt: Prompt, keep: Keep[RefineStep]) -> None:
        item = prompt.origin.item
        told: dict[int, str | None] = {one.number + 1: one.feedback for one in prompt.done}

        async def answer(messages: Messages, _number: int) -> Generated:
            return await generator.generate(messages, subject=item.external_id)

        async def rate(text: str, number: int) -> Rated:
            return await judge.rate(replace(item, answer=text, external_id=prompt.new_id(number)))

        async def kept(attempt: Refinement) -> bool:
            told[attempt.number + 1] = attempt.feedback
            return await keep(RefineStep(prompt, attempt, told.get(attempt.number)))

        await attempt_until_good(answer, rate, prompt.messages, rule, done=prompt.done, keep=kept)

    return refine_one


def refinements_of(stored: Sequence[StoredAttempt]) -> tuple[Refinement, ...]:
    """Return stored attempts as they were made."""
    return tuple(_refinement(one) for one in stored)


def _refinement(stored: StoredAttempt) -> Refinement:
    rating = None
    if stored.rating is not None:
        rating = Rating(stored.rating, stored.evaluation or "", stored.feedback or "")
    judging = None if stored.judging is None else _record(stored.judging)
    return Refinement(stored.number, stored.answer, _record(stored.answering), rating, judging)


def _record(step: StoredStep) -> StepRecord:
    return StepRecord(Status(step.status), cost_micro=step.cost_micro, error=step.error)
