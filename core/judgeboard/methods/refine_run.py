"""Self-refine over many prompts: logged questions or those of a file, every attempt stored."""

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Unpack

from sqlalchemy import Connection

from judgeboard.domain import Response, ResponseKind, Status
from judgeboard.judges.judge import prompt_hash
from judgeboard.judges.material import load_prompt
from judgeboard.judges.rating import Rated, Rating, RatingJudge
from judgeboard.llm.asking import Generated, Generator
from judgeboard.methods.generation import Messages, hosts_of, rebuilt_messages, settings_of, with_feedback
from judgeboard.methods.refine import AttemptId, Refinement, RefineRule, attempt_until_good
from judgeboard.runs.blocking import blocking
from judgeboard.runs.method import Begun, Method, RunAccount, RunOptions, RunOutcome, Selected, run_method
from judgeboard.runs.runner import Keep
from judgeboard.store.engine import Store
from judgeboard.store.filters import RowFilter
from judgeboard.store.judge_versions import StoredVersion
from judgeboard.store.judgments import NewJudgment
from judgeboard.store.refinements import (
    REFINE,
    NewGeneration,
    NewRefinement,
    RefineSelection,
    StoredAttempt,
    count_calls,
    count_unrefined,
    first_judgments,
    insert_refinements,
    runs_of_method,
    store_generations,
    stored_attempts,
    stored_ids,
    unrefined,
)
from judgeboard.store.responses import Origin, external_ids, key_of, last_logged_id, read_origins
from judgeboard.store.storing import store_judgments


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
        """The first messages for the generator: as logged, else rebuilt from question and passages."""
        item = self.origin.item
        return self.origin.messages or rebuilt_messages(item.query, item.passages)

    def new_id(self, number: int) -> str:
        """Return the external id of an attempt's answer: the same whenever this run makes it."""
        return str(AttemptId(self.origin.item.external_id, self.run_id, number))


@dataclass(frozen=True, slots=True)
class RefineStep:
    """An attempt whose answer, or whose rating, just came; ``asked_with`` is the feedback that it was asked with."""

    prompt: Prompt
    attempt: Refinement
    asked_with: str | None = None

    @property
    def status(self) -> Status:
        """Outcome of the call."""
        return self.attempt.status

    @property
    def cost_micro(self) -> int | None:
        """Cost of the call in millionths; None where unknown."""
        return self.attempt.latest.cost_micro

    @property
    def made(self) -> Response:
        """The attempt's answer as it is stored."""
        item, prompt = self.prompt.origin.item, self.prompt
        return Response(
            source=prompt.origin.source,
            external_id=prompt.new_id(self.attempt.number),
            query=item.query,
            answer=self.attempt.answer or "",
            passages=item.passages,
            query_type=item.query_type,
            generator_model=prompt.model,
            messages=with_feedback(prompt.messages, self.asked_with),
            reference=item.reference,
            kind=ResponseKind.REGENERATED,
            derived_from=prompt.origin.root_response_id,
        )


@dataclass(frozen=True, slots=True)
class AttemptOutcome:
    """The rating of one attempt; ``status`` and ``error`` say why there is none."""

    rating: int | None
    evaluation: str | None
    feedback: str | None
    status: Status
    error: str | None


@dataclass(frozen=True, slots=True)
class RefinedPrompt:
    """A prompt or logged answer, by its id, with the outcome of every attempt."""

    id: str
    passed: bool
    attempts: tuple[AttemptOutcome, ...]


@dataclass(frozen=True, slots=True)
class RefineSummary:
    """The result of a run of self-refine; ``calls`` counts requests to models, repairs and retries among them."""

    judge: str
    account: RunAccount = field(default_factory=RunAccount)
    prompts: int = 0
    passed: int = 0
    calls: int = 0
    items: tuple[RefinedPrompt, ...] = ()


class RefineMethod(Method[Prompt, RefineStep, RefineSummary]):
    """Self-refine; a subclass selects the prompts."""

    kind = REFINE
    judge: RatingJudge

    def __init__(self, judge: RatingJudge, generator: Generator, rule: RefineRule) -> None:
        self.judge = judge
        self.answering = generator.endpoint
        self._generator = generator
        self._model = generator.endpoint.model
        self._rule = rule
        self._made_by = {"generator": settings_of(generator)}

    @property
    def endpoint_host(self) -> str | None:
        """Where the texts are sent, by the judge and by the generator."""
        return hosts_of(self.judge, self._generator)

    def _question(self, **prompts: Any) -> dict[str, Any]:
        rule = {
            "success_rating": self._rule.success_rating,
            "max_repeats": self._rule.max_repeats,
            "keep": self._rule.keep,
            "prompt": prompt_hash(load_prompt("generate").text),
        }
        return {"method": self._made_by, "rule": rule, **prompts}

    async def ask(self, task: Prompt, keep: Keep[RefineStep]) -> None:
        """Refine the answer to one prompt; what is stored of it is not asked again."""
        item = task.origin.item
        feedback_for: dict[int, str | None] = {one.number + 1: one.feedback for one in task.done}

        async def answer(messages: Messages, _number: int) -> Generated:
            return await self._generator.generate(messages, subject=item.external_id)

        async def rate(text: str, number: int) -> Rated:
            return await self.judge.rate(replace(item, answer=text, external_id=task.new_id(number)))

        async def keep_attempt(attempt: Refinement) -> bool:
            feedback_for[attempt.number + 1] = attempt.feedback
            return await keep(RefineStep(task, attempt, feedback_for.get(attempt.number)))

        await attempt_until_good(answer, rate, task.messages, self._rule, done=task.done, keep=keep_attempt)

    def save(self, connection: Connection, begun: Begun, steps: list[RefineStep]) -> None:
        """Store a batch; an attempt's answer never comes after its rating."""
        now, run_id = datetime.now(UTC), begun.run.id
        answers = [step for step in steps if step.attempt.judging is None]
        ratings = [step for step in steps if step.attempt.judging is not None]
        generations = [
            NewGeneration(
                step.prompt.subject,
                step.attempt.number,
                step.prompt.model,
                step.attempt.answering,
                None if step.attempt.answer is None else step.made,
            )
            for step in answers
        ]
        store_generations(connection, run_id, generations, now)
        rows = [_refinement(step, "no_answer") for step in answers if step.attempt.answer is None]
        made = [step.made for step in ratings]
        ids = stored_ids(connection, made)
        rated = [(step, ids[key_of(one)]) for step, one in zip(ratings, made, strict=True) if key_of(one) in ids]
        verdicts = [
            NewJudgment(response_id, 0, 0, Rated(step.attempt.rating, step.attempt.latest).verdict)
            for step, response_id in rated
        ]
        store_judgments(connection, begun.version, run_id, verdicts, now)
        judgments = first_judgments(connection, begun.version.id, [response_id for _, response_id in rated])
        for step, response_id in rated:
            rating = step.attempt.rating
            outcome = "unrated" if rating is None else "passed" if self._rule.succeeds(rating.rating) else "failed"
            rows.append(_refinement(step, outcome, response_id, judgments[response_id].judgment_id))
        insert_refinements(connection, run_id, rows, now)

    def expected(self, connection: Connection, begun: Begun) -> int:
        """Return how many calls are to be made where every prompt takes one attempt."""
        return 2 * self.left(connection, begun)

    def summarise(self, outcome: RunOutcome) -> RefineSummary:
        """Return what came of every prompt."""
        run = outcome.run
        if run is None:
            return RefineSummary(outcome.version.title)
        with outcome.store.reading() as connection:
            attempts = stored_attempts(connection, run.id)
            names = external_ids(connection, [int(subject) for subject in attempts]) if "where" in run.question else {}
            calls = count_calls(connection, run.id)
        items = []
        for subject, stored in attempts.items():
            made = refinements_of(stored)
            named = names.get(int(subject), subject) if names else subject
            items.append(RefinedPrompt(named, self._rule.passed(made), tuple(_outcome(one) for one in made)))
        return RefineSummary(
            judge=outcome.version.title,
            account=outcome.account,
            prompts=run.selected or 0,
            passed=sum(item.passed for item in items),
            calls=calls,
            items=tuple(items),
        )


class RefineLogged(RefineMethod):
    """Self-refine of the questions of logged answers."""

    def __init__(self, judge: RatingJudge, generator: Generator, rule: RefineRule, where: RowFilter) -> None:
        super().__init__(judge, generator, rule)
        self._selection = RefineSelection(where, 0, rule.success_rating, rule.max_repeats + 1)

    def select(self, connection: Connection, version: StoredVersion) -> Selected | None:
        """Return the questions that no run of this method has finished."""
        runs, up_to = runs_of_method(connection, REFINE, version.id, self._made_by), last_logged_id(connection)
        self._selection = replace(self._selection, up_to=up_to, runs=runs)
        count = count_unrefined(connection, self._selection)
        asked = self._question(where=self._selection.where.as_dict(), up_to=up_to)
        return Selected(asked, count) if count else None

    def tasks(self, begun: Begun) -> Callable[[int], list[Prompt]]:
        """Return the reader of prompts; from the other end where another process may be at the same run."""
        selection, run, after = self._of(begun), begun.run, None

        def read(limit: int) -> list[Prompt]:
            nonlocal after
            with begun.store.reading() as connection:
                ids = unrefined(connection, selection, after_id=after, downwards=run.shared, limit=limit)
                origins = read_origins(connection, ids)
                done = stored_attempts(connection, run.id, [str(id_) for id_ in ids])
            after = ids[-1] if ids else after
            return [
                Prompt(str(id_), origins[id_], run.id, self._model, refinements_of(done.get(str(id_), ())))
                for id_ in ids
                if id_ in origins
            ]

        return read

    def left(self, connection: Connection, begun: Begun) -> int:
        """Return how many prompts are not finished."""
        return count_unrefined(connection, self._of(begun))

    def _of(self, begun: Begun) -> RefineSelection:
        runs = (*self._selection.runs, begun.run.id)
        return replace(self._selection, runs=runs, up_to=begun.run.question["up_to"])


class RefinePrompts(RefineMethod):
    """Self-refine of the prompts of a file, in its order."""

    def __init__(self, judge: RatingJudge, generator: Generator, rule: RefineRule, prompts: Sequence[Origin]) -> None:
        super().__init__(judge, generator, rule)
        self._prompts = prompts

    def select(self, connection: Connection, version: StoredVersion) -> Selected:  # noqa: ARG002 - the base's
        """Return the prompts, by the hash of their content."""
        content = [
            [one.item.external_id, one.item.query, one.item.passages, one.messages, one.source] for one in self._prompts
        ]
        address = hashlib.sha256(json.dumps(content).encode()).hexdigest()
        return Selected(self._question(prompts=address), len(self._prompts))

    def tasks(self, begun: Begun) -> Callable[[int], list[Prompt]]:
        """Return the reader of the prompts that are not finished."""
        at = 0

        def read(limit: int) -> list[Prompt]:
            nonlocal at
            prompts: list[Prompt] = []
            while len(prompts) < limit and at < len(self._prompts):
                part = self._prompts[at : at + limit - len(prompts)]
                at += len(part)
                with begun.store.reading() as connection:
                    prompts += self._unfinished(connection, begun, part)
            return prompts

        return read

    def left(self, connection: Connection, begun: Begun) -> int:
        """Return how many prompts are not finished."""
        return len(self._unfinished(connection, begun, self._prompts))

    def _unfinished(self, connection: Connection, begun: Begun, prompts: Sequence[Origin]) -> list[Prompt]:
        subjects = None if prompts is self._prompts else [one.item.external_id for one in prompts]
        done = stored_attempts(connection, begun.run.id, subjects)
        found = [
            Prompt(named, one, begun.run.id, self._model, refinements_of(done.get(named, ())))
            for one in prompts
            for named in [one.item.external_id]
        ]
        return [prompt for prompt in found if not self._rule.over(prompt.done)]


async def refine_pending_async(
    store: Store,
    judge: RatingJudge,
    generator: Generator,
    *,
    where: RowFilter | None = None,
    prompts: Sequence[Origin] | None = None,
    rule: RefineRule | None = None,
    **options: Unpack[RunOptions],
) -> RefineSummary:
    """Answer questions until each answer is good enough, or the limit is reached.

    An unfinished run of the same command is continued up to where the log ended at its start. A logged question that a
    run with the same judge version and generator has finished by this rule is not asked again; the prompts of a file
    are answered anew by every call that finds no unfinished run. Both models are closed at the end.

    Args:
        store: The open database.
        judge: Rates each attempt.
        generator: Makes the answers, from the messages that the log kept, else from question and passages.
        where: Which answers' questions; all of the log by default.
        prompts: Answer these instead, as `read_prompts` gives them.
        rule: When attempts end; the defaults of `RefineRule`.
        options: Fields of `RunOptions`: concurrency, max_cost, actor, …

    Raises:
        UnknownPrice: A cost limit is given and one of the two models has no price.
    """
    ends = rule or RefineRule()
    method: RefineMethod
    if prompts is None:
        method = RefineLogged(judge, generator, ends, where or RowFilter())
    else:
        method = RefinePrompts(judge, generator, ends, prompts)
    return await run_method(store, method, **options)


refine_pending = blocking(refine_pending_async)


def refinements_of(stored: Sequence[StoredAttempt]) -> tuple[Refinement, ...]:
    """Return stored attempts as they were made."""
    return tuple(
        Refinement(
            one.number,
            one.answer,
            one.answering,
            None if one.rating is None else Rating(one.rating, one.evaluation or "", one.feedback or ""),
            one.judging,
        )
        for one in stored
    )


def _outcome(attempt: Refinement) -> AttemptOutcome:
    rating = attempt.rating
    if rating is None:
        return AttemptOutcome(None, None, None, attempt.status, attempt.error)
    return AttemptOutcome(rating.rating, rating.evaluation, rating.feedback, attempt.status, attempt.error)


def _refinement(
    step: RefineStep, outcome: str, response_id: int | None = None, judgment_id: int | None = None
) -> NewRefinement:
    rating = step.attempt.rating
    return NewRefinement(
        method=REFINE,
        subject=step.prompt.subject,
        number=step.attempt.number,
        root_response_id=step.prompt.origin.root_response_id,
        outcome=outcome,
        response_id=response_id,
        judgment_id=judgment_id,
        rating=None if rating is None else rating.rating,
        feedback=step.attempt.feedback,
    )
