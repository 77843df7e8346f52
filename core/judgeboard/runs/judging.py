"""Judges stored responses: selects responses, asks a judge, and stores every judgment."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Unpack

from sqlalchemy import Connection

from judgeboard.domain import JudgeInput, Verdict
from judgeboard.errors import BadInput, EndpointRefused
from judgeboard.judges.judge import (
    DEFAULT_DOMAIN,
    PARAMS,
    Judge,
    JudgeOptions,
    fingerprint,
    for_judges,
)
from judgeboard.judges.prompt import (
    Example,
    built_in_prompt,
    example_responses,
    load_prompt,
)
from judgeboard.judges.rubric_file import Rubric, stored_dimensions
from judgeboard.llm.chat import earlier_turns
from judgeboard.llm.endpoint import ModelEndpoint
from judgeboard.llm.own_thread import from_any_thread
from judgeboard.registry.judge_kinds import JUDGES
from judgeboard.runs.addresses import provider_and_address
from judgeboard.runs.method import (
    Begun,
    Method,
    R,
    RunAccount,
    RunOptions,
    RunOutcome,
    ask_each,
    check_limit,
    check_limits,
    id_keys,
    require_price,
    run_method,
)
from judgeboard.runs.runner import Answered, Keep, blocking
from judgeboard.settings.model import load_settings, provider_key
from judgeboard.settings.option_words import checked, name_of
from judgeboard.store.clock import utc_now
from judgeboard.store.engine import Store
from judgeboard.store.filters import RowFilter
from judgeboard.store.grades import possible_examples
from judgeboard.store.jobs import TaskKey
from judgeboard.store.judgments import NewJudgment, insert_anchor_judgments
from judgeboard.store.runs import (
    PLAIN,
    AskMode,
    select_asks,
    start_or_continue_run,
)
from judgeboard.store.statements import record_of
from judgeboard.store.storing import store_judgments
from judgeboard.store.tables import Run, StoredVersion
from judgeboard.store.traces import inputs_to_judge


@dataclass(frozen=True, slots=True)
class Ask:
    """One request to a judge: the response as the judge sees it, the ask number and the repeat number."""

    item: JudgeInput
    number: int
    repeat: int = 0


class VerdictMethod(Method[Ask, Answered[Ask, Verdict], R]):
    """A method whose steps are verdicts of a judge on responses; a subclass selects the responses."""

    judge: Judge

    async def ask(self, task: Ask, keep: Keep[Answered[Ask, Verdict]]) -> None:
        """Ask for one verdict."""
        verdict = await self.judge.judge(task.item)
        await keep(Answered(task, verdict, verdict))

    def save(
        self, connection: Connection, begun: Begun, steps: list[Answered[Ask, Verdict]]
    ) -> None:
        """Store judgments, with the flags that the judgments raise."""
        items = [
            NewJudgment(step.task.item.response_id, step.task.number, step.task.repeat, step.result)
            for step in steps
        ]
        store_judgments(connection, begun.version, begun.run.id, items, utc_now())


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgingSummary(RunAccount):
    """The account of a run that asks a judge once about each answer, or once for each repeat of an answer.

    ``not_reached`` is ``selected`` minus the number of times that the judge was asked. ``judge`` is
    the title of the judge version.
    """

    judge: str
    selected: int = 0

    @classmethod
    def of_run(cls, outcome: RunOutcome) -> "JudgingSummary":
        """Return the summary of a run."""
        selected = 0 if outcome.run is None else outcome.run.selected or 0
        return record_of(cls, outcome.account, judge=outcome.version.title, selected=selected)


@dataclass(eq=False, kw_only=True)
class Judging(VerdictMethod[JudgingSummary]):
    """Plain judging: every selected response is asked about once."""

    subject = "answer"
    judge: Judge
    where: RowFilter | None = None
    mode: str = PLAIN
    limit: int | None = None

    def begin(self, connection: Connection, version: StoredVersion, actor: str) -> Run:
        """Start or continue the run of this selection."""
        check_limit(self.limit)
        return start_or_continue_run(
            connection,
            version,
            mode=self.mode,
            where=self.where,
            limit=self.limit,
            actor=actor,
            destination=self.destination,
        )

    def keys(self, begun: Begun) -> Iterator[TaskKey]:
        """Return the keys of the asks, in the order of their response ids."""

        def read(connection: Connection, after_id: int | None, limit: int) -> list[int]:
            return [
                id_ for id_, _ in select_asks(connection, begun.run, after_id=after_id, limit=limit)
            ]

        return id_keys(begun.store, read)

    def load(self, begun: Begun, keys: Sequence[TaskKey]) -> dict[TaskKey, Ask]:
        """Return the asks that are still to be made."""
        ids = [key.item_id for key in keys]
        with begun.store.reading() as connection:
            asks = select_asks(connection, begun.run, among=ids, limit=len(ids))
        inputs = inputs_to_judge(begun.store, [id_ for id_, _ in asks])
        return {TaskKey(id_): Ask(inputs[id_], number) for id_, number in asks if id_ in inputs}

    def save(
        self, connection: Connection, begun: Begun, steps: list[Answered[Ask, Verdict]]
    ) -> None:
        """Store judgments, or the verdicts on anchors, which change no current judgment."""
        if self.mode == AskMode.ANCHORS:
            verdicts = {step.task.item.response_id: step.result for step in steps}
            insert_anchor_judgments(connection, begun.version.id, begun.run.id, verdicts, utc_now())
        else:
            super().save(connection, begun, steps)

    def summarise(self, outcome: RunOutcome) -> JudgingSummary:
        """Return the counts of the run."""
        return JudgingSummary.of_run(outcome)


async def judge_pending_async(
    store: Store,
    judge: Judge,
    *,
    where: RowFilter | None = None,
    mode: str = PLAIN,
    limit: int | None = None,
    **options: Unpack[RunOptions],
) -> JudgingSummary:
    """Judge responses and store every verdict within 50 ms of its arrival.

    An unfinished run of the same judge version, filter and mode is continued. ``mode`` is ``plain``
    (responses without a judgment of this version), ``failed`` (the latest judgment is not ok),
    ``all``, ``keep-flags`` (all, but open flags of audits and of other judges stay open) or
    ``anchors`` (all, but the verdicts are stored apart and change no figure). The judge is closed
    at the end.
    """
    return await run_method(
        store, Judging(judge=judge, where=where, mode=mode, limit=limit), **options
    )


judge_pending = blocking(judge_pending_async)


def make_judge(kind: str, **fields: object) -> Judge:
    """Return a judge of this kind, a key of ``JUDGES``.

    ``fields`` are fields of `JudgeOptions`. Fields that are missing or None are read from the
    environment; otherwise the defaults of `JudgeOptions` are used. Raises BadInput if the kind is
    unknown or the options do not fit the kind (no model, no key, or a model for a judge that uses
    none).
    """
    if kind not in JUDGES:
        raise BadInput(f"there is no judge of kind {kind!r}; choose {', '.join(sorted(JUDGES))}")
    options = checked(JudgeOptions, fields)
    readers = {
        f"--{name_of(field)}": readers_of_field.kinds
        for field in sorted(options.model_fields_set)
        if (readers_of_field := for_judges(field)) is not None
        and getattr(options, field) not in (None, False, ())
    }
    if readers and not JUDGES[kind].asks_model:
        raise BadInput(
            f"{', '.join(readers)}: the {kind} judge uses no model, so these options do not apply"
        )
    for option, kinds in readers.items():
        if kinds and kind not in kinds:
            raise BadInput(
                f"{option} applies only to the judges {' and '.join(kinds)}, not to {kind}"
            )
    judge: Judge = JUDGES[kind].make(with_environment(options))
    return judge


def options_of_version(connection: Connection, version: StoredVersion) -> dict[str, Any]:
    """Return the arguments of `make_judge` that make this stored version again, with rubric and examples.

    Raises BadInput, with the cause, if the version cannot be made again.
    """
    if JUDGES.lacks(version.kind):
        raise BadInput(f"no installed package has its kind of judge, {version.kind!r}")
    if version.kind not in JUDGES:
        raise BadInput("its verdicts were imported")
    params = version.params
    options: dict[str, Any] = {"kind": version.kind, "name": version.name}
    stored_options = {"model": version.model, **params}.items()
    options |= {
        name: value for name, value in stored_options if name in JudgeOptions.model_fields and value
    }
    if "dimensions" in params:
        options["rubric"] = Rubric(stored_dimensions(params), version.name)
    # The version contains examples of a file, but only the hash of examples from the log.
    dimensions = options["rubric"].weights if "rubric" in options else None
    candidates = possible_examples(connection, example_responses(params), dimensions)
    by_param = {(each.response_id, each.as_param()["sha256"]): each for each in candidates}
    options["examples"] = tuple(
        by_param.get((param["response"], param["sha256"]))
        if "response" in param
        else Example(**param)
        for param in params.get("examples", ())
    )
    if None in options["examples"]:
        raise BadInput("the texts or the grades of its examples were changed or forgotten")
    # The prompt of an earlier release is part of the version, with the words before the examples.
    own_prompt = (
        None
        if version.prompt is None
        else version.prompt.removesuffix(load_prompt("examples").text)
    )
    for prompt in (None, own_prompt):
        try:
            if (
                fingerprint(make_judge(**options, prompt=prompt, api_key="none").version)
                == version.fingerprint
            ):
                return options if prompt is None else options | {"prompt": prompt}
        except BadInput:  # a prompt or a value that this release cannot use
            continue
    raise BadInput("another release made it")


def make_endpoint(asker: str, **fields: object) -> ModelEndpoint:
    """Return the model to ask. Options that are missing or None are read from the environment.

    ``asker`` names the caller in messages, for example "the pairwise judge".
    """
    return with_environment(fields).endpoint(asker)


def with_environment(fields: Mapping[str, object] | JudgeOptions) -> JudgeOptions:
    """Return the options of a judge. Options that are missing or None are read from the environment.

    Raises BadInput for an option that is unknown or wrong.
    """
    judge_options = fields if isinstance(fields, JudgeOptions) else checked(JudgeOptions, fields)
    settings = load_settings()
    options: dict[str, object] = {
        "provider": settings.provider,
        "model": settings.model,
        "prices": settings.prices,
        **judge_options.given(),
    }
    provider, base_url = provider_and_address(options)
    options |= {"provider": provider, "base_url": base_url}
    options.setdefault("api_key", provider_key(provider))
    return JudgeOptions.model_validate(options)


async def judge_answer(
    query: str,
    answer: str,
    passages: Sequence[str] | None = None,
    *,
    judge: str | Judge = "lexical",
    query_type: str = "unspecified",
    reference: str | None = None,
    messages: Sequence[Mapping[str, Any]] | None = None,
    **options: object,
) -> Verdict:
    """Return a judge's verdict on one answer.

    A failed call, a refusal and an unusable reply also return a verdict; ``status`` tells which,
    and the scores are None. Groundedness is None without ``passages``; an empty list means that
    none were retrieved. ``messages`` are the messages that the generator received; a judge with a
    model sees the turns before the question. ``judge`` is a kind of judge (``lexical``, ``rag``),
    made for this call with ``options`` (fields of `JudgeOptions`), or a judge from `make_judge`,
    for many calls from any thread: such a judge keeps connections until the caller closes the judge
    or the event loop ends. Raises BadInput if the options are invalid or a text is not a string,
    EndpointRefused if the endpoint refuses key, model or address.
    """
    if isinstance(passages, str):
        raise BadInput("passages must be a list of texts, not one text")
    item = JudgeInput(
        response_id=0,
        query=_text("query", query),
        answer=_text("answer", answer),
        passages=None
        if passages is None
        else tuple(_text("a passage", passage) for passage in passages),
        query_type=query_type,
        reference=reference,
        turns=earlier_turns(messages),
    )
    if not isinstance(judge, str):
        if options:
            raise BadInput(
                f"{', '.join(sorted(options))}: options apply only to a judge given by name"
            )
        return await judge.judge(item)
    new_judge = make_judge(judge, **options)
    try:
        return await new_judge.judge(item)
    finally:
        await new_judge.aclose()


judge_answer_blocking = from_any_thread(judge_answer)


async def judge_inputs_async(
    items: Sequence[JudgeInput], judge: Judge, **options: Unpack[RunOptions]
) -> dict[int, Verdict]:
    """Return a judge's verdicts by ``response_id``, without a database. Items that are not reached have none.

    The judge is closed at the end. Raises EndpointRefused if the endpoint refuses before the first
    verdict.
    """
    verdicts: dict[int, Verdict] = {}

    async def ask(item: JudgeInput) -> Answered[JudgeInput, Verdict]:
        verdict = await judge.judge(item)
        return Answered(item, verdict, verdict)

    def keep(step: Answered[JudgeInput, Verdict]) -> None:
        verdicts[step.task.response_id] = step.result

    try:
        check_limits(options.get("max_cost"), options.get("concurrency", 1))
        require_price(options.get("max_cost"), priced=judge.priced, model=judge.version.model)
        why = (await ask_each(items, ask, keep, **options)).stopped_because
    finally:
        await judge.aclose()
    if why is not None and not verdicts:
        raise EndpointRefused(why)
    return verdicts


judge_inputs = blocking(judge_inputs_async)


def _text(what: str, text: str) -> str:
    if not isinstance(text, str):
        raise BadInput(f"{what} must be a text, not {type(text).__name__}")
    return text


def judge_options(version: StoredVersion) -> str | None:
    """Return the words after `judge` that name this judge; None for recorded judges, juries and repeats."""
    if version.kind not in JUDGES:
        return None
    words = [*([] if version.name == version.kind else [version.name]), "--judge", version.kind]
    if version.model is not None:
        words += ["--model", version.model]
    if version.kind == "rubric":
        words += ["--rubric", "FILE"]
    name, package = JUDGES[version.kind].prompt, JUDGES[version.kind].prompt_package
    built_in = "" if name is None else built_in_prompt(name, version.params, package).text
    if version.prompt and not version.prompt.startswith(built_in):
        words += ["--prompt", "FILE"]
    for name, usual in PARAMS.items():
        value = version.params.get(name)
        if value not in (None, usual, DEFAULT_DOMAIN):
            words += [f"--{name.replace('_', '-')}", *([] if value is True else [str(value)])]
    return shlex.join(words)
