"""Shared by the methods that make answers: the generator, messages, prompt files, storing answers and verdicts."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

from sqlalchemy import Connection

from judgeboard.domain import JudgeInput, Response, ResponseKind, RunState, Verdict
from judgeboard.errors import BadInput
from judgeboard.judges.judge import Judge
from judgeboard.judges.prompt import fence_token, fenced, fenced_parts, fill, load_prompt, numbered
from judgeboard.llm.asking import DEFAULT_GENERATOR_OUTPUT, Generator
from judgeboard.llm.chat import (
    CallableChat,
    Chat,
    earlier_turns,
    json_of,
    last_of_user,
    lines_of,
    text_of,
)
from judgeboard.llm.endpoint import ModelEndpoint
from judgeboard.runs.judging import make_judge, with_environment
from judgeboard.runs.method import Begun, Method, R
from judgeboard.runs.named_judges import at_last_address
from judgeboard.runs.runner import S, T
from judgeboard.store.engine import Store
from judgeboard.store.generations import JudgedAnswer, judged_answers, stored_ids
from judgeboard.store.judge_versions import ensure_version
from judgeboard.store.judgments import NewJudgment
from judgeboard.store.responses import Origin, key_of
from judgeboard.store.runs import finish_run, start_or_continue_method_run
from judgeboard.store.statements import record_of
from judgeboard.store.storing import store_judgments
from judgeboard.text import unstorable

Messages = tuple[dict[str, Any], ...]

SOURCE = "prompts"
_FORM = '{"id": …, "prompt": "…" or "messages": […], "passages": […]?}'


def make_generator(model: object = None, **fields: object) -> Generator:
    """Return the model that makes answers, or raise BadInput.

    ``fields`` are fields of `JudgeOptions`. ``max_output`` has the default of generators. Without a
    temperature, none is sent. Missing fields of the model are read from the environment.
    """
    options = with_environment({"model": model, **fields})
    values = options.given()
    return Generator(
        options.endpoint("the generator"),
        values.get("max_output", DEFAULT_GENERATOR_OUTPUT),
        {"temperature": values["temperature"]} if "temperature" in values else {},
    )


def function_endpoint(function: Chat) -> ModelEndpoint:
    """Return the endpoint that calls a function of the user."""
    return ModelEndpoint(CallableChat(function), str(getattr(function, "__name__", "callable")))


def judge_for_call(store: Store | None, kind: str, options: dict[str, object]) -> Judge:
    """Return the judge of a live call. The default address is that of the judge's last run in ``store``."""
    judge: dict[str, Any] = {"kind": kind, **options}
    return make_judge(**judge if store is None else at_last_address(store, make_judge, judge))


class GeneratingMethod(Method[T, S, R]):
    """A method in which a generator makes answers and a judge judges them."""

    judge: Judge

    def __init__(self, judge: Judge, generator: Generator) -> None:
        self.judge = judge
        self.answering = generator.endpoint
        self.generator = generator

    @property
    def made_by(self) -> dict[str, Any]:
        """The JSON values that identify the generator. As for judge versions, the address does not count."""
        settings = {
            "model": self.generator.endpoint.model,
            "max_output": self.generator.max_output,
            "parameters": dict(self.generator.parameters),
        }
        return {"generator": settings}

    def expected(self, connection: Connection, begun: Begun) -> int:
        """Return the number of calls if every item needs one answer and one verdict."""
        return 2 * self.left(connection, begun)


@contextmanager
def live_run(
    store: Store, method: GeneratingMethod[T, S, R], question: dict[str, Any]
) -> Iterator[tuple[Connection, Begun]]:
    """Begin and finish the run of a live call in one writing transaction; the caller stores the steps in between."""
    with store.writing() as connection:
        version = ensure_version(connection, method.judge.version)
        run = start_or_continue_method_run(
            connection,
            method.kind,
            version,
            question,
            1,
            actor="library",
            destination=method.destination,
        )
        yield connection, Begun(store, version, run)
        finish_run(connection, run.id, RunState.DONE)


def made_response(
    origin: Origin, answer: str, *, external_id: str, model: str | None, messages: Messages | None
) -> Response:
    """Return the response to store for a new answer to the question of ``origin``."""
    return record_of(
        Response,
        origin.item,
        source=origin.source,
        external_id=external_id,
        answer=answer,
        generator_model=model,
        messages=messages,
        kind=ResponseKind.REGENERATED,
        derived_from=origin.root_response_id,
    )


def store_verdicts(
    connection: Connection,
    begun: Begun,
    verdicts: Sequence[tuple[Response, Verdict]],
    now: datetime,
) -> list[tuple[int, JudgedAnswer] | None]:
    """Store verdicts on generated answers and return the response id and judgment of each.

    If another process stored a different answer under the same id, the verdict is dropped and the
    entry is None.
    """
    ids = stored_ids(connection, [response for response, _ in verdicts])
    response_ids = [ids.get(key_of(response)) for response, _ in verdicts]
    judgments_to_store = [
        NewJudgment(response_id, 0, 0, verdict)
        for response_id, (_, verdict) in zip(response_ids, verdicts, strict=True)
        if response_id is not None
    ]
    store_judgments(connection, begun.version, begun.run.id, judgments_to_store, now)
    judgments = judged_answers(
        connection, begun.version.id, [each.response_id for each in judgments_to_store], first=True
    )
    return [
        None if response_id is None else (response_id, judgments[response_id])
        for response_id in response_ids
    ]


def total_cost(costs: Iterable[int | None]) -> int | None:
    """Return the sum of costs in millionths; None if any cost is unknown."""
    listed = list(costs)
    known_costs = [cost for cost in listed if cost is not None]
    return sum(known_costs) if len(known_costs) == len(listed) else None


def checked_messages(messages: str | Sequence[Mapping[str, Any]]) -> Messages:
    """Return messages as a tuple of dicts, or raise BadInput. A text becomes one message of the user."""
    if isinstance(messages, str):
        return ({"role": "user", "content": messages},)
    if not all(isinstance(message, Mapping) for message in messages):
        raise BadInput('messages are a list of {"role": …, "content": …}')
    plain_messages = tuple(dict(message) for message in messages)
    if last_of_user(plain_messages) is None:
        raise BadInput("the messages contain no message of the user")
    return plain_messages


def rebuilt_messages(query: str, passages: Sequence[str] | None) -> Messages:
    """Return messages for a question whose messages were not logged; the passages are fenced."""
    sections = load_prompt("generate").sections
    if not passages:
        return ({"role": "user", "content": fill(sections["Without passages"], question=query)},)
    token = fence_token((query, *passages))
    material = fenced_parts(token, *numbered("PASSAGE", passages), ("QUESTION", query))
    return (
        {
            "role": "user",
            "content": fill(sections["From passages"], fence=token, material=material),
        },
    )


def request_text(messages: Sequence[Mapping[str, Any]]) -> str:
    """Return the text parts of the user's last message."""
    place = last_of_user(messages)
    return "" if place is None else text_of(messages[place].get("content"))


def with_feedback(messages: Messages, feedback: str | None) -> Messages:
    """Return the messages with feedback added to the user's last message."""
    place = last_of_user(messages)
    if place is None or feedback is None or not feedback.strip():
        return messages
    content = messages[place].get("content")
    augmented: Any
    if isinstance(
        content, list
    ):  # keep the parts (for example pictures) and add the feedback as a part
        augmented = [*content, {"type": "text", "text": _try_again("", feedback)}]
    else:
        augmented = _try_again(text_of(content), feedback)
    return (*messages[:place], {**messages[place], "content": augmented}, *messages[place + 1 :])


def _try_again(request: str, feedback: str) -> str:
    token = fence_token((request, feedback))
    section = load_prompt("generate").sections["Try again"]
    return fill(section, request=request, feedback=fenced("FEEDBACK", feedback, token)).lstrip()


def read_prompts(path: Path) -> list[Origin]:
    """Read a prompt file: one text per line, or one JSON object with ``prompt`` or ``messages``.

    An object can also have ``id`` (default: the line number) and ``passages``. Raises BadInput,
    which names the line.
    """
    prompts: dict[str, Origin] = {}
    for number, line in lines_of(path, "prompts"):
        where = f"{path}, line {number}"
        fault = unstorable(line)
        if fault:
            raise BadInput(f"{where}: contains text that a database cannot store: {fault}")
        is_object = line.lstrip().startswith("{")
        row: Any = json_of(line, where) if is_object else {"prompt": line.strip()}
        prompt_id, prompt, passages = row.get("id", number), row.get("prompt"), row.get("passages")
        if isinstance(prompt_id, bool) or not isinstance(prompt_id, str | int):
            raise BadInput(f"{where}: the id must be a text, not {prompt_id!r}")
        if passages is not None and not (
            isinstance(passages, list) and all(isinstance(text, str) for text in passages)
        ):
            raise BadInput(f"{where}: passages must be a list of texts")
        # Without a prompt, the request is in the messages.
        messages: Messages | None = None
        if not (isinstance(prompt, str) and prompt.strip()):
            if not isinstance(row.get("messages"), list):
                raise BadInput(f"{where}: expected {_FORM}")
            try:
                messages = checked_messages(row["messages"])
            except BadInput as error:
                raise BadInput(f"{where}: {error}") from error
            prompt = request_text(messages)
        evidence = None if passages is None else tuple(passages)
        item = JudgeInput(
            0, prompt, "", evidence, external_id=str(prompt_id), turns=earlier_turns(messages)
        )
        if item.external_id in prompts:
            raise BadInput(f"{where}: the id {item.external_id!r} is used twice")
        prompts[item.external_id] = Origin(item, SOURCE, messages)
    if not prompts:
        raise BadInput(f"{path} contains no prompt")
    return list(prompts.values())
