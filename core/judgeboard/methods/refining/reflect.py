"""Self-reflection: for a bad answer, a second answer is generated, and the better grounded answer is kept."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from functools import partial
from typing import Any, NamedTuple, Unpack

from sqlalchemy import Connection

from judgeboard.domain import JudgeInput, Response, Verdict, checked_quality
from judgeboard.errors import BadInput
from judgeboard.judges.judge import Judge, prompt_hash
from judgeboard.judges.prompt import load_prompt
from judgeboard.llm.asking import Generator, Replied
from judgeboard.methods.refining import queries
from judgeboard.methods.refining.tables import Refinement
from judgeboard.runs import generation
from judgeboard.runs.method import (
    Begun,
    RunAccount,
    RunOptions,
    RunOutcome,
    Selected,
    id_keys,
    run_method,
)
from judgeboard.runs.runner import Answered, Keep, blocking
from judgeboard.store.clock import utc_now
from judgeboard.store.engine import Store
from judgeboard.store.filters import RowFilter
from judgeboard.store.generations import NewGeneration, judged_answers, store_generations
from judgeboard.store.jobs import TaskKey
from judgeboard.store.judgments import NewJudgment
from judgeboard.store.responses import Origin, last_logged_id
from judgeboard.store.storing import store_judgments
from judgeboard.store.tables import StoredVersion


class Outcome(StrEnum):
    """The outcome of generating a second answer; only ``kept_new`` replaces the original."""

    KEPT_NEW = "kept_new"
    KEPT_ORIGINAL = "kept_original"
    SECOND_FAILED = "second_failed"
    IDENTICAL = "identical"
    NO_ANSWER = "no_answer"


@dataclass(frozen=True, slots=True)
class ReflectRule:
    """Which answers get a second answer; raises BadInput if a value is out of range.

    Source: "Self-Reflection + LLM-as-Judge: Having AI Evaluate Its Own Answers" (2026). Very short
    answers are left out, because the context was empty. Only complex questions count, as in the
    source: for simple and SQL questions, low quality usually means missing data. With empty
    ``query_types``, all types count.
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
            raise BadInput(f"min_chars must be 0 or more, not {self.min_chars}")
        object.__setattr__(self, "query_types", tuple(sorted(set(self.query_types))))

    def wants_another(self, item: JudgeInput, before: Verdict) -> bool:
        """Whether an answer with this verdict gets a second answer; never if a score is missing."""
        if len(item.answer) < self.min_chars or (
            self.query_types and item.query_type not in self.query_types
        ):
            return False
        return (
            before.groundedness is not None
            and before.quality is not None
            and before.quality <= self.max_quality
        )


def outcome_of(before: float | None, after: float | None) -> Outcome:
    """Return the outcome, given the groundedness of both answers (None if missing). Only a better answer is kept."""
    if after is None or before is None:
        return Outcome.SECOND_FAILED
    return Outcome.KEPT_NEW if after > before else Outcome.KEPT_ORIGINAL


@dataclass(frozen=True, slots=True)
class ReflectSummary:
    """The result of a run of self-reflection.

    eligible = no_messages + identical + no_answer + regenerated + the answers not reached;
    regenerated = kept_new + kept_original. ``kept_original`` includes ``second_failed``: answers
    without a usable second judgment. ``calls`` counts requests to models, including repairs and
    retries.
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
    """Generate and judge a second answer for each bad answer of the log, and store which one is better grounded.

    An answer without a judgment of this version is judged first. An answer without logged messages
    is skipped; with ``rebuild_messages`` the generator gets query and passages instead. An
    unfinished run of the same command continues with the answers that were logged at the start.
    Answers that have an outcome from the same judge version and generator are skipped, even under
    another rule. Failed calls are repeated. Both models are closed at the end. ``options`` are
    fields of `RunOptions`.
    """
    method = ReflectMethod(
        judge,
        generator,
        where or RowFilter(),
        rule or ReflectRule(),
        rebuild_messages=rebuild_messages,
    )
    return await run_method(store, method, **options)


reflect_pending = blocking(reflect_pending_async)


@dataclass(frozen=True, slots=True)
class ReflectTask:
    """One answer. ``judged`` means known to be bad; ``new_answer`` is the second answer, if made before.

    ``served`` is the logged answer if a reader received the new answer instead of the original.
    """

    origin: Origin
    judged: bool
    run_id: int
    model: str
    rebuild_messages: bool = False
    new_answer: str | None = None
    served: Response | None = None

    @property
    def messages(self) -> generation.Messages | None:
        """The messages for the generator; None if no messages were logged and none may be rebuilt."""
        if self.origin.messages is not None:
            return self.origin.messages
        item = self.origin.item
        return (
            generation.rebuilt_messages(item.query, item.passages)
            if self.rebuild_messages
            else None
        )

    @property
    def response_id(self) -> int:
        """The original answer."""
        return self.origin.item.response_id

    @property
    def new_id(self) -> str:
        """The external id of the new answer."""
        return f"{self.origin.item.external_id}~reflect-{self.run_id}"

    def response(self, answer: str) -> Response:
        """Return the response to store for the new answer."""
        if self.served is not None:
            return self.served
        return generation.made_response(
            self.origin, answer, external_id=self.new_id, model=self.model, messages=self.messages
        )

    def changed(self, reply: Replied[str]) -> str | None:
        """Return the new answer; None if there is none, or if the answer repeats the original."""
        text = reply.value
        return None if text is None or text.strip() == self.origin.item.answer.strip() else text


class SecondAnswer(NamedTuple):
    """The new answer with the verdict."""

    text: str
    verdict: Verdict


def outcome_without_second(reply: Replied[str]) -> Outcome:
    """Return the outcome of a reply of the generator that gives no second answer."""
    return Outcome.NO_ANSWER if reply.value is None else Outcome.IDENTICAL


# The result of a step is the verdict on the original, the generator's reply, or the new answer with
# the verdict.
ReflectStep = Answered[ReflectTask, Verdict | Replied[str] | SecondAnswer]


class ReflectMethod(generation.GeneratingMethod[ReflectTask, ReflectStep, ReflectSummary]):
    """Self-reflection: a verdict on an original without one, a second answer, and a verdict on that answer."""

    kind = queries.REFLECT

    def __init__(
        self,
        judge: Judge,
        generator: Generator,
        where: RowFilter,
        rule: ReflectRule,
        *,
        rebuild_messages: bool,
    ) -> None:
        super().__init__(judge, generator)
        self._rule = rule
        self._selection = queries.ReflectSelection(
            version_id=0,
            where=where,
            rebuild_messages=rebuild_messages,
            up_to=0,
            runs=(),
            **asdict(rule),
        )

    def select(self, connection: Connection, version: StoredVersion) -> Selected | None:
        """Return the question and the number of answers that wait."""
        selection = self._selection = replace(
            self._selection,
            version_id=version.id,
            up_to=last_logged_id(connection),
            runs=queries.runs_of_method(connection, queries.REFLECT, version.id, self.made_by),
        )
        count = queries.count_waiting(connection, selection)
        question = self.question({"where": selection.where.as_dict(), "up_to": selection.up_to})
        return (question, count) if count else None

    def question(self, answers: Mapping[str, Any]) -> dict[str, Any]:
        """Return the question of a run: generator, rule, and which answers."""
        rebuild_messages = self._selection.rebuild_messages
        rule = asdict(self._rule) | {
            "query_types": list(self._rule.query_types),
            "rebuild_messages": rebuild_messages,
            "prompt": prompt_hash(load_prompt("generate").text) if rebuild_messages else None,
        }
        return {"method": self.made_by, "rule": rule, **answers}

    def keys(self, begun: Begun) -> Iterator[TaskKey]:
        """Return the keys of the answers that wait."""
        return id_keys(
            begun.store, partial(queries.unreflected, selection=self._selection_of(begun))
        )

    def load(self, begun: Begun, keys: Sequence[TaskKey]) -> dict[TaskKey, ReflectTask]:
        """Return the tasks of the keys."""
        selection, model = self._selection_of(begun), self.generator.endpoint.model
        with begun.store.reading() as connection:
            candidates = queries.reflect_candidates(
                connection, selection, [key.item_id for key in keys]
            )
        return {
            TaskKey(origin.item.response_id): ReflectTask(
                origin, is_bad, begun.run.id, model, selection.rebuild_messages, new_answer
            )
            for origin, is_bad, new_answer in candidates
        }

    def most_calls(self, connection: Connection, begun: Begun) -> int:
        """Return the number of calls if every answer gets a second one. An answer without a verdict is judged first."""
        bad_count = queries.count_waiting(connection, self._selection_of(begun), judged=True)
        return 3 * self.left(connection, begun) - bad_count

    async def sample_requests(self, task: ReflectTask) -> None:
        """Make a request to the generator, and one to the judge about the original answer."""
        if task.messages is not None:
            await self.generator.generate(task.messages)
        await self.judge.judge(task.origin.item)

    async def ask(self, task: ReflectTask, keep: Keep[ReflectStep]) -> None:
        """Judge the original. If the rule wants a second answer, generate and judge that answer."""
        item = task.origin.item
        if not task.judged:
            verdict = await self.judge.judge(item)
            if not await keep(Answered(task, verdict, verdict)) or not self._rule.wants_another(
                item, verdict
            ):
                return
        messages = task.messages
        if messages is None:
            return
        text = task.new_answer
        if text is None:
            reply = await self.generator.generate(messages, subject=item.external_id)
            text = task.changed(reply)
            if not await keep(Answered(task, reply, reply.record)) or text is None:
                return
        verdict = await self.judge.judge(replace(item, answer=text, external_id=task.new_id))
        await keep(Answered(task, SecondAnswer(text, verdict), verdict))

    def save(self, connection: Connection, begun: Begun, steps: list[ReflectStep]) -> None:
        """Store verdicts, generated answers and outcomes."""
        now, run_id = utc_now(), begun.run.id
        firsts, generations, seconds = [], [], []
        for step in steps:
            if isinstance(step.result, Verdict):
                firsts.append(NewJudgment(step.task.response_id, 0, 0, step.result))
            elif isinstance(step.result, Replied):
                generations.append((step.task, step.result))
            else:
                seconds.append((step.task, step.result))
        store_judgments(connection, begun.version, run_id, firsts, now)
        new = [
            NewGeneration(
                str(task.response_id),
                1,
                task.model,
                reply.record,
                None if (text := task.changed(reply)) is None else task.response(text),
            )
            for task, reply in generations
        ]
        store_generations(connection, run_id, new, now)
        before = judged_answers(
            connection, begun.version.id, {task.response_id for task, _ in (*generations, *seconds)}
        )
        results: list[tuple[ReflectTask, Outcome, int | None, int | None]] = [
            (task, outcome_without_second(reply), None, None)
            for task, reply in generations
            if task.changed(reply) is None
        ]
        verdicts = [(task.response(second.text), second.verdict) for task, second in seconds]
        for (task, _), stored_verdict in zip(
            seconds, generation.store_verdicts(connection, begun, verdicts, now), strict=True
        ):
            if stored_verdict is not None:
                response_id, judgment = stored_verdict
                first = before.get(task.response_id)
                outcome = outcome_of(
                    None if first is None else first.groundedness, judgment.groundedness
                )
                results.append((task, outcome, response_id, judgment.judgment_id))
        rows = [
            Refinement(
                run_id=run_id,
                method=queries.REFLECT,
                subject=str(task.response_id),
                number=1,
                root_response_id=task.response_id,
                outcome=outcome.value,
                response_id=response_id,
                judgment_id=judgment_id,
                judgment_before_id=before[task.response_id].judgment_id
                if task.response_id in before
                else None,
            )
            for task, outcome, response_id, judgment_id in results
        ]
        queries.insert_refinements(connection, rows)

    def left(self, connection: Connection, begun: Begun) -> int:
        """Return the number of answers that wait."""
        return queries.count_waiting(connection, self._selection_of(begun))

    def summarise(self, outcome: RunOutcome) -> ReflectSummary:
        """Return the counts of the run."""
        run = outcome.run
        selection = (
            self._selection
            if run is None
            else self._selection_of(Begun(outcome.store, outcome.version, run))
        )
        with outcome.store.reading() as connection:
            no_messages = queries.count_no_messages(connection, selection)
            if run is None:
                return ReflectSummary(
                    outcome.version.title, eligible=no_messages, no_messages=no_messages
                )
            outcomes = queries.outcome_counts(connection, run.id)
            waiting_count = queries.count_waiting(connection, selection, judged=True)
            calls = queries.count_calls(connection, run.id)
        kept_original = outcomes[Outcome.KEPT_ORIGINAL] + outcomes[Outcome.SECOND_FAILED]
        return ReflectSummary(
            judge=outcome.version.title,
            account=outcome.account,
            eligible=no_messages + outcomes.total() + waiting_count,
            no_messages=no_messages,
            identical=outcomes[Outcome.IDENTICAL],
            no_answer=outcomes[Outcome.NO_ANSWER],
            regenerated=outcomes[Outcome.KEPT_NEW] + kept_original,
            kept_new=outcomes[Outcome.KEPT_NEW],
            kept_original=kept_original,
            second_failed=outcomes[Outcome.SECOND_FAILED],
            calls=calls,
        )

    def _selection_of(self, begun: Begun) -> queries.ReflectSelection:
        return replace(self._selection, run_id=begun.run.id, up_to=begun.run.filter["up_to"])
