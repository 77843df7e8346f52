"""Self-reflection: a bad answer is made anew once, and the better grounded of the two is kept."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Literal, Unpack

from sqlalchemy import Connection

from judgeboard.domain import JudgeInput, Response, ResponseKind, Status, StepRecord, Verdict, checked_quality
from judgeboard.errors import BadInput
from judgeboard.judges.judge import Judge, prompt_hash
from judgeboard.judges.material import load_prompt
from judgeboard.llm.asking import Generator
from judgeboard.llm.chat import CallableChat, Chat
from judgeboard.llm.endpoint import ModelEndpoint
from judgeboard.methods.generation import Messages, checked_messages, hosts_of, rebuilt_messages, settings_of
from judgeboard.runs.blocking import blocking
from judgeboard.runs.judging import make_judge
from judgeboard.runs.method import Begun, Method, RunAccount, RunOptions, RunOutcome, Selected, run_method
from judgeboard.runs.runner import Keep
from judgeboard.store.engine import Store
from judgeboard.store.filters import RowFilter
from judgeboard.store.judge_versions import StoredVersion
from judgeboard.store.judgments import NewJudgment
from judgeboard.store.refinements import (
    REFLECT,
    JudgedAnswer,
    NewGeneration,
    NewRefinement,
    ReflectSelection,
    count_calls,
    count_no_messages,
    count_waiting,
    current_judgments,
    first_judgments,
    insert_refinements,
    outcome_counts,
    reflect_candidates,
    runs_of_method,
    store_generations,
    stored_ids,
)
from judgeboard.store.responses import Origin, key_of, last_logged_id
from judgeboard.store.storing import store_judgments


class Outcome(StrEnum):
    """What came of making an answer anew; only ``kept_new`` puts another in the place of the original."""

    KEPT_NEW = "kept_new"
    KEPT_ORIGINAL = "kept_original"
    SECOND_FAILED = "second_failed"
    IDENTICAL = "identical"
    NO_ANSWER = "no_answer"


@dataclass(frozen=True, slots=True)
class ReflectRule:
    """Which answers are worth a second try.

    Source: "Self-Reflection + LLM-as-Judge: Having AI Evaluate Its Own Answers" (2026).

    Attributes:
        max_quality: Quality of at most this, 1 to 4.
        min_chars: Characters of at least this: a very short answer means that the context was empty.
        query_types: Of these types alone: for simple and SQL questions low quality is usually missing data.

    Raises:
        BadInput: One of them is out of its range.
    """

    max_quality: int = 2
    min_chars: int = 50
    query_types: tuple[str, ...] = ("complex",)

    def __post_init__(self) -> None:
        try:
            checked_quality(self.max_quality)
        except ValueError as error:
            raise BadInput(str(error)) from error
        if self.min_chars < 0:
            raise BadInput(f"an answer has 0 characters or more, not {self.min_chars}")
        object.__setattr__(self, "query_types", tuple(sorted(set(self.query_types))))

    def concerns(self, answer: str, query_type: str) -> bool:
        """Whether an answer is of a kind that is made anew, whatever its quality."""
        return len(answer) >= self.min_chars and query_type in self.query_types

    def wants_another(self, before: Verdict) -> bool:
        """Whether a verdict calls for another answer; one that leaves a score unmeasured does not."""
        measured = before.quality is not None and before.groundedness is not None
        return measured and before.quality is not None and before.quality <= self.max_quality


def is_same(original: str, new: str) -> bool:
    """Whether a new answer is the old one; white space around it does not count."""
    return original.strip() == new.strip()


def outcome_of(before: float | None, after: float | None) -> Outcome:
    """Return which of two answers is kept, by their groundedness: the new one only where it is strictly higher.

    Args:
        before: Of the original, by the same judge version.
        after: Of the new answer; None where its judgment failed, or left it unmeasured.
    """
    if after is None or before is None:
        return Outcome.SECOND_FAILED
    return Outcome.KEPT_NEW if after > before else Outcome.KEPT_ORIGINAL


@dataclass(frozen=True, slots=True)
class Reflected:
    """The answer to give out, which of the two it is, and what the judge said of both.

    ``after`` is None where no second answer was judged; ``outcome`` is None where none was asked for. ``other`` is the
    answer that was not kept, None where there is none.
    """

    answer: str
    kept: Literal["original", "new"]
    before: Verdict
    after: Verdict | None = None
    outcome: Outcome | None = None
    other: str | None = None
    error: str | None = None


async def reflect(
    query: str,
    answer: str,
    passages: Sequence[str] | None,
    messages: Sequence[Mapping[str, Any]] | None = None,
    *,
    generate: Chat | Generator,
    judge: str | Judge = "lexical",
    query_type: str = "complex",
    rule: ReflectRule | None = None,
    **options: Any,
) -> Reflected:
    """Judge an answer; where it is bad, have it made anew once, and keep the better grounded of the two.

    Whatever goes wrong with the second answer or its judgment, the original is kept.

    Args:
        query: What the user asked.
        answer: What the assistant said.
        passages: What was retrieved; None where that is not known, and then nothing is made anew.
        messages: What the assistant was given; rebuilt from query and passages where None.
        generate: Makes an answer: a function ``messages → text``, sync or async, or a `Generator`.
        judge: A kind of judge, made for this call, or one that `make_judge` made and its maker closes.
        query_type: The type of the question.
        rule: Which answers are made anew; the defaults of `ReflectRule`.
        options: Fields of `JudgeOptions` for a kind of judge: model, base_url, …

    Raises:
        BadInput: There is no such judge, its options do not make one, or no message is the user's.
        EndpointRefused: The judge's endpoint refuses the key, the model or the address.
    """
    if options and not isinstance(judge, str):
        raise BadInput(f"{', '.join(sorted(options))}: a judge that is made already takes no options")
    given = rebuilt_messages(query, passages) if messages is None else checked_messages(messages)
    item = JudgeInput(0, query, answer, None if passages is None else tuple(passages), query_type)
    made = make_judge(judge, **options) if isinstance(judge, str) else judge
    try:
        return await _reflect(item, given, _generator(generate), made, rule or ReflectRule())
    finally:
        if isinstance(judge, str):
            await made.aclose()


reflect_blocking = blocking(reflect)


async def _reflect(
    item: JudgeInput, messages: Messages, generator: Generator, judge: Judge, rule: ReflectRule
) -> Reflected:
    before = await judge.judge(item)
    if not rule.concerns(item.answer, item.query_type) or not rule.wants_another(before):
        return Reflected(item.answer, "original", before)
    new = await generator.generate(messages)
    if new.text is None:
        return Reflected(item.answer, "original", before, outcome=Outcome.NO_ANSWER, error=new.record.error)
    if is_same(item.answer, new.text):
        return Reflected(item.answer, "original", before, outcome=Outcome.IDENTICAL)
    after = await judge.judge(replace(item, answer=new.text))
    outcome = outcome_of(before.groundedness, after.groundedness)
    if outcome is Outcome.KEPT_NEW:
        return Reflected(new.text, "new", before, after, outcome, other=item.answer)
    return Reflected(item.answer, "original", before, after, outcome, other=new.text, error=after.error)


def _generator(generate: Chat | Generator) -> Generator:
    if isinstance(generate, Generator):
        return generate
    return Generator(ModelEndpoint(CallableChat(generate), getattr(generate, "__name__", "callable")))


@dataclass(frozen=True, slots=True)
class Reflecting:
    """One logged answer: ``judged`` where it is known to be bad, ``new_answer`` where it is made already."""

    origin: Origin
    judged: bool
    run_id: int
    model: str
    rebuild_messages: bool
    new_answer: str | None = None

    @property
    def messages(self) -> Messages | None:
        """The messages for the generator; None where the log kept none and none are to be rebuilt."""
        if self.origin.messages is not None:
            return self.origin.messages
        item = self.origin.item
        return rebuilt_messages(item.query, item.passages) if self.rebuild_messages else None

    @property
    def response_id(self) -> int:
        """The logged answer."""
        return self.origin.item.response_id

    @property
    def new_id(self) -> str:
        """The external id of the new answer: the same whenever this run makes it."""
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
    """A step of a self-reflection: the call to the generator, or a verdict on the original or the new answer."""

    task: Reflecting
    record: StepRecord | Verdict

    @property
    def status(self) -> Status:
        """Outcome of the call."""
        return self.record.status

    @property
    def cost_micro(self) -> int | None:
        """Cost of the call in millionths; None where unknown."""
        return self.record.cost_micro


@dataclass(frozen=True, slots=True)
class FirstVerdict(ReflectStep):
    """The verdict on the original."""

    record: Verdict


@dataclass(frozen=True, slots=True)
class Regenerated(ReflectStep):
    """A call to the generator; ``text`` is None where it gave no answer, ``identical`` where it gave the old one."""

    record: StepRecord
    text: str | None = None
    identical: bool = False

    @property
    def new_answer(self) -> str | None:
        """The answer that is judged next, None where there is none."""
        return None if self.identical else self.text


@dataclass(frozen=True, slots=True)
class SecondVerdict(ReflectStep):
    """The verdict on the new answer, ``text``."""

    record: Verdict
    text: str = ""


@dataclass(frozen=True, slots=True)
class ReflectSummary:
    """The result of a run of self-reflection.

    eligible = no_messages + identical + no_answer + regenerated + those not reached; regenerated = kept_new +
    kept_original; second_failed are those of kept_original whose second judgment was not usable. ``calls`` counts
    requests to models, repairs and retries among them.
    """

    judge: str
    account: RunAccount = field(default_factory=RunAccount)
    eligible: int = 0
    no_messages: int = 0
    identical: int = 0
    no_answer: int = 0
    regenerated: int = 0
    kept_new: int = 0
    kept_original: int = 0
    second_failed: int = 0
    calls: int = 0


class ReflectMethod(Method[Reflecting, ReflectStep, ReflectSummary]):
    """Self-reflection: judge, answer anew, judge again."""

    kind = REFLECT
    judge: Judge

    def __init__(
        self, judge: Judge, generator: Generator, where: RowFilter, rule: ReflectRule, *, rebuild_messages: bool
    ) -> None:
        self.judge = judge
        self.answering = generator.endpoint
        self._generator = generator
        self._rule = rule
        self._selection = ReflectSelection(
            version_id=0,
            where=where,
            max_quality=rule.max_quality,
            min_chars=rule.min_chars,
            query_types=rule.query_types,
            rebuild_messages=rebuild_messages,
            up_to=0,
            runs=(),
        )

    @property
    def endpoint_host(self) -> str | None:
        """Where the texts are sent, by the judge and by the generator."""
        return hosts_of(self.judge, self._generator)

    def select(self, connection: Connection, version: StoredVersion) -> Selected | None:
        """Return the answers that wait for a call."""
        method = {"generator": settings_of(self._generator)}
        selection = self._selection = replace(
            self._selection,
            version_id=version.id,
            up_to=last_logged_id(connection),
            runs=runs_of_method(connection, REFLECT, version.id, method),
        )
        count = count_waiting(connection, selection)
        rule = {
            "max_quality": selection.max_quality,
            "min_chars": selection.min_chars,
            "query_types": list(selection.query_types),
            "rebuild_messages": selection.rebuild_messages,
            "prompt": prompt_hash(load_prompt("generate").text) if selection.rebuild_messages else None,
        }
        question = {"method": method, "rule": rule, "where": selection.where.as_dict(), "up_to": selection.up_to}
        return Selected(question, count) if count else None

    def tasks(self, begun: Begun) -> Callable[[int], list[Reflecting]]:
        """Return the reader of answers; from the other end where another process may be at the same run."""
        selection, run, model, after = self._of(begun), begun.run, self._generator.endpoint.model, None

        def read(limit: int) -> list[Reflecting]:
            nonlocal after
            with begun.store.reading() as connection:
                candidates = reflect_candidates(
                    connection, selection, after_id=after, downwards=run.shared, limit=limit
                )
            tasks = [
                Reflecting(one.origin, one.judged, run.id, model, selection.rebuild_messages, one.new_answer)
                for one in candidates
            ]
            after = tasks[-1].response_id if tasks else after
            return tasks

        return read

    async def ask(self, task: Reflecting, keep: Keep[ReflectStep]) -> None:
        """Reflect on one answer; what is stored of it is not asked again."""
        item = task.origin.item
        if not task.judged:
            verdict = await self.judge.judge(item)
            if not await keep(FirstVerdict(task, verdict)) or not self._rule.wants_another(verdict):
                return
        messages = task.messages
        if messages is None:
            return
        text = task.new_answer
        if text is None:
            new = await self._generator.generate(messages, subject=item.external_id)
            made = Regenerated(task, new.record, new.text, new.text is not None and is_same(item.answer, new.text))
            text = made.new_answer
            if not await keep(made) or text is None:
                return
        verdict = await self.judge.judge(replace(item, answer=text, external_id=task.new_id))
        await keep(SecondVerdict(task, verdict, text))

    def save(self, connection: Connection, begun: Begun, steps: list[ReflectStep]) -> None:
        """Store a batch; a step of one answer never comes before the one it rests on."""
        now, run_id = datetime.now(UTC), begun.run.id
        made = [step for step in steps if isinstance(step, Regenerated)]
        seconds = [step for step in steps if isinstance(step, SecondVerdict)]
        firsts = [
            NewJudgment(step.task.response_id, 0, 0, step.record) for step in steps if isinstance(step, FirstVerdict)
        ]
        store_judgments(connection, begun.version, run_id, firsts, now)
        store_generations(connection, run_id, [_generation(step) for step in made], now)
        before = current_judgments(connection, begun.version.id, {step.task.response_id for step in (*made, *seconds)})
        rows = [
            _refinement(step.task, Outcome.IDENTICAL if step.identical else Outcome.NO_ANSWER, before)
            for step in made
            if step.new_answer is None
        ]
        answers = [step.task.made(step.text) for step in seconds]
        ids = stored_ids(connection, answers)
        judged = [(step, ids[key_of(one)]) for step, one in zip(seconds, answers, strict=True) if key_of(one) in ids]
        verdicts = [NewJudgment(response_id, 0, 0, step.record) for step, response_id in judged]
        store_judgments(connection, begun.version, run_id, verdicts, now)
        after = first_judgments(connection, begun.version.id, [response_id for _, response_id in judged])
        for step, response_id in judged:
            first, second = before.get(step.task.response_id), after[response_id]
            outcome = outcome_of(None if first is None else first.groundedness, second.groundedness)
            rows.append(_refinement(step.task, outcome, before, second.judgment_id, response_id))
        insert_refinements(connection, run_id, rows, now)

    def left(self, connection: Connection, begun: Begun) -> int:
        """Return how many answers wait for a call."""
        return count_waiting(connection, self._of(begun))

    def expected(self, connection: Connection, begun: Begun) -> int:
        """Return how many calls are to be made where every answer is made anew and judged."""
        return 2 * self.left(connection, begun)

    def summarise(self, outcome: RunOutcome) -> ReflectSummary:
        """Return what came of the answers, earlier parts of the run included."""
        run = outcome.run
        selection = self._selection if run is None else self._of(Begun(outcome.store, outcome.version, run))
        with outcome.store.reading() as connection:
            without = count_no_messages(connection, selection)
            if run is None:
                return ReflectSummary(outcome.version.title, eligible=without, no_messages=without)
            outcomes = outcome_counts(connection, run.id)
            known = count_waiting(connection, selection, judged=True)
            calls = count_calls(connection, run.id)
        kept_original = outcomes[Outcome.KEPT_ORIGINAL] + outcomes[Outcome.SECOND_FAILED]
        return ReflectSummary(
            judge=outcome.version.title,
            account=outcome.account,
            eligible=without + outcomes.total() + known,
            no_messages=without,
            identical=outcomes[Outcome.IDENTICAL],
            no_answer=outcomes[Outcome.NO_ANSWER],
            regenerated=outcomes[Outcome.KEPT_NEW] + kept_original,
            kept_new=outcomes[Outcome.KEPT_NEW],
            kept_original=kept_original,
            second_failed=outcomes[Outcome.SECOND_FAILED],
            calls=calls,
        )

    def _of(self, begun: Begun) -> ReflectSelection:
        return replace(self._selection, run_id=begun.run.id, up_to=begun.run.question["up_to"])


async def reflect_pending_async(
    store: Store,
    judge: Judge,
    generator: Generator,
    *,
    where: RowFilter | None = None,
    rule: ReflectRule | None = None,
    rebuild_messages: bool = False,
    **options: Unpack[RunOptions],
) -> ReflectSummary:
    """Have bad answers of the log made anew once, judge the new ones, and record which of the two is better grounded.

    An unfinished run of the same command is continued up to where the log ended at its start. An answer without a
    judgment of this version is judged first. What a run with the same judge version and generator has settled is not
    done again, whatever its rule and filter; what failed there is. Both models are closed at the end.

    Args:
        store: The open database.
        judge: Judges both answers.
        generator: Makes the new answers.
        where: Which answers; all of the log by default.
        rule: Which of them are made anew; the defaults of `ReflectRule`.
        rebuild_messages: Ask from query and passages where the log kept no messages.
        options: Fields of `RunOptions`: concurrency, max_cost, actor, …

    Raises:
        UnknownPrice: A cost limit is given and one of the two models has no price.
    """
    method = ReflectMethod(
        judge, generator, where or RowFilter(), rule or ReflectRule(), rebuild_messages=rebuild_messages
    )
    return await run_method(store, method, **options)


reflect_pending = blocking(reflect_pending_async)


def _generation(step: Regenerated) -> NewGeneration:
    text = step.new_answer
    made = None if text is None else step.task.made(text)
    return NewGeneration(str(step.task.response_id), 1, step.task.model, step.record, made)


def _refinement(
    task: Reflecting,
    outcome: Outcome,
    before: dict[int, JudgedAnswer],
    judgment_id: int | None = None,
    response_id: int | None = None,
) -> NewRefinement:
    first = before.get(task.response_id)
    return NewRefinement(
        method=REFLECT,
        subject=str(task.response_id),
        number=1,
        root_response_id=task.response_id,
        outcome=outcome.value,
        response_id=response_id,
        judgment_id=judgment_id,
        judgment_before_id=None if first is None else first.judgment_id,
    )
