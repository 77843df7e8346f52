"""The interface of judges, their options, and the fingerprint of a judge version."""

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Protocol, Self, TypedDict, TypeVar, get_args

from judgeboard.domain import (
    NO_QUESTION,
    RECORDED,
    VERDICT_SCALE,
    JudgeInput,
    JudgeVersion,
    Status,
    StepRecord,
    Verdict,
)
from judgeboard.errors import BadInput
from judgeboard.judges.prompt import (
    ADDED_SECTIONS,
    OWN_PROMPTS,
    Dialogue,
    Example,
    built_in_prompt,
    fill,
    load_prompt,
    read_prompt,
    read_prompt_file,
)
from judgeboard.judges.rubric_file import Rubric
from judgeboard.llm.asking import SENT, Reading, Replied, ask
from judgeboard.llm.chat import ChatRequest, Message
from judgeboard.llm.endpoint import Address, ModelEndpoint, model_endpoint
from judgeboard.llm.provider import CONCURRENCY, TIMEOUT_S
from judgeboard.text import MAX_NAME, unstorable

DEFAULT_MAX_OUTPUT = 512
DEFAULT_DOMAIN = "general knowledge"


class AskedJudge(Protocol):
    """The common part of all judges. A judge can be called concurrently from one event loop."""

    version: JudgeVersion
    """It never changes."""
    priced: bool
    """Whether the cost of a call is known."""

    @property
    def address(self) -> Address | None:
        """Where the texts are sent; None when nothing leaves the process."""

    async def aclose(self) -> None:
        """Release connections."""


class Judge(AskedJudge, Protocol):
    """Judges one answer at a time."""

    async def judge(self, item: JudgeInput) -> Verdict:
        """Return the verdict on ``item``. If this call fails, the verdict has a status other than ok.

        Raises EndpointRefused if no call can succeed before the key, the address or the model name
        is corrected.
        """


async def judge_with_requests(judge: Judge, item: JudgeInput) -> tuple[Verdict, list[ChatRequest]]:
    """Return the verdict of a judge on ``item``, and the requests as they were sent."""
    requests: list[ChatRequest] = []
    token = SENT.set(requests)
    try:
        return await judge.judge(item), requests
    finally:
        SENT.reset(token)


TEMPERATURE = 0
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Asking:
    """Options for requests to a chat model, as in `JudgeOptions`. If a model refuses a temperature, none is sent."""

    temperature: float = TEMPERATURE
    dialogue: Dialogue = "last"
    prompt: str | Path | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.temperature <= 2:
            raise BadInput(f"--temperature must lie from 0 to 2, not {self.temperature:g}")
        if self.temperature == int(self.temperature):
            object.__setattr__(
                self, "temperature", int(self.temperature)
            )  # 0 and 0.0 are one judge version
        if self.dialogue not in get_args(Dialogue):
            raise BadInput(f"--dialogue must be last or whole, not {self.dialogue!r}")


class ModelArguments(TypedDict, total=False):
    """The arguments of `ModelJudge` that subclasses hand on."""

    name: str | None
    max_output: int
    asking: Asking | None


class ModelJudge:
    """A judge that asks one chat model. After an unusable reply it sends one repair request."""

    prompt_name: ClassVar[str]
    """The name of its prompt file, and the default name of the judge."""
    prompt_package: ClassVar[str] = OWN_PROMPTS
    """The package whose folder ``prompts`` has the prompt file."""
    kind: ClassVar[str]
    scale: ClassVar[str] = VERDICT_SCALE

    def __init__(
        self,
        endpoint: ModelEndpoint,
        *,
        name: str | None = None,
        max_output: int = DEFAULT_MAX_OUTPUT,
        asking: Asking | None = None,
        params: Mapping[str, Any] | None = None,
    ) -> None:
        """Make a judge that asks a chat model; ``params`` (such as examples) are part of the judge version."""
        params = params or {}
        self.address = endpoint.address
        self.priced = endpoint.priced
        self._endpoint = endpoint
        self._max_output = max_output
        self.asking = asking or Asking()
        current, stored = (
            built_in_prompt(self.prompt_name, params, self.prompt_package),
            self.asking.prompt,
        )
        if isinstance(stored, Path):
            self._prompt = read_prompt_file(stored, current)
        else:
            self._prompt = current if stored is None else read_prompt(stored)
        if missing := current.sections.keys() - ADDED_SECTIONS - self._prompt.sections.keys():
            raise BadInput(
                f"this release cannot use the stored prompt: it has no section {', '.join(sorted(missing))}"
            )
        prompt = self._prompt.text + (
            load_prompt("examples").text if params.get("examples") else ""
        )
        usual: dict[str, Any] = {"temperature": self.asking.temperature, "max_output": max_output}
        if self.asking.dialogue != "last":
            usual["dialogue"] = self.asking.dialogue
        self.version = JudgeVersion(
            name or self.prompt_name,
            self.kind,
            endpoint.model,
            {**usual, **params},
            prompt,
            self.scale,
        )

    @classmethod
    def of(cls, options: "JudgeOptions") -> Self:
        """Make a judge that has no options of its own."""
        return cls(**options.of_every_model(cls.kind))

    async def aclose(self) -> None:
        """Close the chat model."""
        await self._endpoint.aclose()

    def _request(
        self,
        messages: list[Message],
        subject: str,
        schema: Mapping[str, Any] | None = None,
        schema_name: str = "",
        *,
        logprobs: bool = False,
    ) -> ChatRequest:
        return ChatRequest(
            messages=messages,
            schema=schema,
            schema_name=schema_name,
            max_output=self._max_output,
            parameters={"temperature": self.asking.temperature},
            subject=subject,
            logprobs=logprobs,
        )

    async def _ask(
        self,
        request: ChatRequest,
        parse: Callable[[str], Reading[T]],
        item: JudgeInput | None = None,
    ) -> Replied[T]:
        """Ask the model. About an ``item`` without a question, make no call: the result is an error."""
        if item is not None and not item.query:
            return Replied(None, StepRecord(Status.ERROR, error=NO_QUESTION))
        repair = self._prompt.sections["Repair"]
        return await ask(
            self._endpoint, request, parse, repair=lambda error: fill(repair, error=error)
        )


def prompt_hash(prompt: str) -> str:
    """Return the SHA-256 of a prompt's UTF-8 text as 64 hexadecimal digits."""
    return hashlib.sha256(prompt.encode()).hexdigest()


def fingerprint(version: JudgeVersion) -> str:
    """Return the SHA-256 of name, kind, model, parameters, prompt and scale, as 64 hexadecimal digits.

    The order of the parameters does not matter. The hashed bytes are canonical JSON, so the
    fingerprint is the same on every machine and in every release. Raises ValueError or TypeError if
    a parameter is not a finite JSON value.
    """
    content = asdict(version) | {
        "prompt": None if version.prompt is None else prompt_hash(version.prompt)
    }
    text = json.dumps(
        content, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False
    )
    return hashlib.sha256(text.encode()).hexdigest()


def replay_version(
    judge: str, *, model: str | None = None, recorded: str | None = None
) -> JudgeVersion:
    """Return the version for imported verdicts of ``judge``; ``recorded`` is the judge's fingerprint in the export."""
    params = {} if recorded is None else {"recorded": recorded}
    return JudgeVersion(name=judge, kind=RECORDED, model=model, params=params, scale="as recorded")


def checked_judge_name(name: str) -> str:
    """Return the name of a judge: 1 to 128 characters that can be stored."""
    if not name.strip() or len(name) > MAX_NAME:
        raise BadInput(f"the name of a judge must have 1 to {MAX_NAME} characters")
    if reason := unstorable(name):
        raise BadInput(f"the name of a judge cannot be stored: {reason}")
    return name


class EndpointKeywords(TypedDict, total=False):
    """The keywords of functions that ask a given model: the options of `JudgeOptions` for its endpoint."""

    provider: str | None
    base_url: str | None
    api_key: str | None
    concurrency: int | None
    timeout_s: float | None
    tries: int | None
    prices: Path | None
    replies: Path | None


class ModelKeywords(EndpointKeywords, total=False):
    """The keywords of functions that ask a model."""

    model: str | None


ENDPOINT_OPTIONS = tuple(ModelKeywords.__annotations__)
"""The options that choose a model and its endpoint."""


class JudgeKeywords(ModelKeywords, total=False):
    """The keywords of functions that make a judge: `JudgeOptions`; None is the environment's value or the default."""

    name: str | None
    max_output: int | None
    domain: str | None
    claims: bool | None
    rubric: Rubric | Path | None
    judge_file: Path | None
    examples: tuple[Example, ...] | None
    logprobs: bool | None
    temperature: float | None
    dialogue: Dialogue | None
    prompt: str | Path | None
    rating_word: str | None


class OfEveryModel(ModelArguments):
    """The arguments that every judge that asks a chat model has."""

    endpoint: ModelEndpoint


@dataclass(frozen=True, slots=True)
class JudgeOptions:
    """The options of all judges. A judge ignores options that it does not need.

    Attributes:
        name: Name of the judge (default: its kind). model: Name of the chat model at its endpoint.
        provider: Name in `llm.endpoint.PROVIDERS` (default: from the name of the model). base_url:
        Address of the endpoint, with its ``/v1`` (default: the provider's own). api_key: Key of the
        provider; not needed with ``base_url``, because local servers accept calls without a key.
        concurrency: Maximum number of calls in flight. max_output: Maximum number of tokens in a
        reply; part of the judge version. domain: The judge's field of expertise, for the prompt;
        part of the judge version. claims: Also ask for the claims of the answer; part of the judge
        version. rubric: Rubric, or rubric file, of the rubric judge; part of the judge version.
        judge_file: File with domain and examples of the rag judge; part of the judge version.
        examples: More examples for the rag and the rubric judge; part of the judge version.
        logprobs: Also store the expected score, computed from token log-probabilities; part of the
        judge version. temperature: Sampling temperature, from 0 to 2; part of the judge version.
        dialogue: Judge the ``last`` answer or the answers of the ``whole`` dialogue; part of the
        judge version. prompt: Prompt file of the user, or the text of a stored prompt; part of the
        judge version. rating_word: Words before the rating in free text, for the rating judge; part
        of the judge version. replies: File of recorded raw replies (JSONL of ``response_id``,
        ``raw``) to use instead of an endpoint. prices: Price file; it takes precedence over the
        shipped prices. timeout_s: Maximum number of seconds for one call. tries: Maximum number of
        calls for one request if the failures may be temporary.
    """

    name: str | None = None
    model: str | None = None
    provider: str | None = None
    base_url: str | None = None
    api_key: str | None = field(default=None, repr=False)
    concurrency: int = CONCURRENCY
    max_output: int = DEFAULT_MAX_OUTPUT
    domain: str = DEFAULT_DOMAIN
    claims: bool = False
    rubric: Rubric | Path | None = None
    judge_file: Path | None = None
    examples: tuple[Example, ...] = ()
    logprobs: bool = False
    temperature: float = TEMPERATURE
    dialogue: Dialogue = "last"
    prompt: str | Path | None = None
    rating_word: str | None = None
    replies: Path | None = None
    prices: Path | None = None
    timeout_s: float = TIMEOUT_S
    tries: int | None = None

    def __post_init__(self) -> None:
        if self.name is not None:
            checked_judge_name(self.name)

    @property
    def asking(self) -> Asking:
        """The options for requests to the model."""
        return Asking(self.temperature, self.dialogue, self.prompt)

    def of_every_model(self, kind: str) -> OfEveryModel:
        """Return the arguments that judges of every kind that asks a chat model have; messages name the ``kind``."""
        return {
            "endpoint": self.endpoint(f"the {kind} judge"),
            "name": self.name,
            "max_output": self.max_output,
            "asking": self.asking,
        }

    def endpoint(self, asker: str) -> ModelEndpoint:
        """Return the model of these options (`model_endpoint`); ``asker`` names the judge in messages."""
        return model_endpoint(
            asker,
            model=self.model,
            provider=self.provider,
            base_url=self.base_url,
            api_key=self.api_key,
            concurrency=self.concurrency,
            timeout_s=self.timeout_s,
            tries=self.tries,
            prices=self.prices,
            replies=self.replies,
        )
