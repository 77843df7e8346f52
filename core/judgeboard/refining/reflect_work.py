"""The work of a self-reflection run: judge, answer anew, judge again, each step kept as it comes."""

from dataclasses import dataclass, replace

from judgeboard.domain import Response, ResponseKind, Status, StepRecord, Verdict
from judgeboard.judges.protocol import Judge
from judgeboard.llm.generator import Generated, Generator
from judgeboard.refining.messages import Messages, rebuilt_messages
from judgeboard.refining.reflection import ReflectRule, is_same
from judgeboard.runner import Keep, Work
from judgeboard.store.responses.logged_origins import Origin


@dataclass(frozen=True, slots=True)
class Reflecting:
    """One logged answer: ``judged`` where it is known to be bad, ``made`` the new answer where it is stored."""

    origin: Origin
    judged: bool
    run_id: int
    model: str
    rebuild_messages: bool
    new_answer: str | None = None

    @property
    def messages(self) -> Messages | None:
        """What the generator is asked; None where the log kept no messages and none are to be rebuilt."""
        if self.origin.messages is not None:
            return self.origin.messages
        item = self.origin.item
        return rebuilt_messages(item.query, item.passages) if self.rebuild_messages else None

    @property
    def new_id(self) -> str:
        """The outside id of the new answer: the same whenever this run makes it."""
        return f"{self.origin.item.external_id}~reflect-{self.run_id}"

    def made(self, text: str) -> Response:
        """Return the new answer as it is stored."""
        item = self.origin.item
        return Response(
            source=self.origin.source,
            external_id=self.new_id,
            query=item.query,
            answer=text,
            passages=item.passages,
            query_type=item.query_type,
            generator_model=self.model,
            messages=self.messages,
            reference=item.reference,
            kind=ResponseKind.REGENERATED,
            derived_from=item.response_id,
        )


@dataclass(frozen=True, slots=True)
class ReflectStep:
    """A step of a self-reflection, waiting to be stored: a verdict on the original or the new answer, or its making."""

    task: Reflecting
    record: StepRecord | Verdict

    @property
    def status(self) -> Status:
        """What became of it."""
        return self.record.status

    @property
    def cost_micro(self) -> int | None:
        """What it cost, in millionths; None is unknown."""
        return self.record.cost_micro


@dataclass(frozen=True, slots=True)
class FirstVerdict(ReflectStep):
    """What the judge said of the original."""

    record: Verdict


@dataclass(frozen=True, slots=True)
class Regenerated(ReflectStep):
    """A call to the generator; ``text`` None gave no answer, ``identical`` the old one."""

    record: StepRecord
    text: str | None = None
    identical: bool = False


@dataclass(frozen=True, slots=True)
class SecondVerdict(ReflectStep):
    """What the judge said of the new answer, ``text``."""

    record: Verdict
    text: str = ""


def reflecting(judge: Judge, generator: Generator, rule: ReflectRule) -> Work[Reflecting, ReflectStep]:
    """Return the work of reflecting on one answer; what is stored of it is not asked again."""

    async def reflect_one(task: Reflecting, keep: Keep[ReflectStep]) -> None:
        item = task.origin.item
        if not task.judged:
            verdict = await judge.judge(item)
            if not await keep(FirstVerdict(task, verdict)) or not rule.wants_another(verdict):
                return
        messages = task.messages
        if messages is None:
            return
        text = task.new_answer
        if text is None:
            made = _regenerated(task, await generator.generate(messages, subject=item.external_id))
            if not await keep(made) or made.text is None or made.identical:
                return
            text = made.text
        verdict = await judge.judge(replace(item, answer=text, external_id=task.new_id))
        await keep(SecondVerdict(task, verdict, text))

    return reflect_one


def _regenerated(task: Reflecting, new: Generated) -> Regenerated:
    identical = new.text is not None and is_same(task.origin.item.answer, new.text)
    return Regenerated(task, new.record, new.text, identical)
