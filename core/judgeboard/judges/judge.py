"""The interface of judges, the options, and the fingerprint of a judge version."""

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, ClassVar, Protocol, Self, TypeVar
from urllib.parse import urlsplit

from pydantic import Field

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
from judgeboard.errors import BadInput, MissingOption
from judgeboard.judges.prompt import (
    ADDED_SECTIONS,
    Example,
    built_in_prompt,
    fill,
    load_prompt,
    read_prompt,
    read_prompt_file,
)
from judgeboard.judges.rubric_file import Rubric
from judgeboard.llm.asking import Reading, Replied, ask
from judgeboard.llm.chat import ChatModel, ChatRequest, Message, RecordedChat, read_replies
from judgeboard.llm.endpoint import (
    Address,
    ChatOnFirstUse,
    ModelEndpoint,
    bare_address,
    choose_provider,
    price_of,
)
from judgeboard.llm.provider import is_address
from judgeboard.llm.rate_limits import rate_limit
from judgeboard.registry.judge_kinds import OWN_PROMPTS
from judgeboard.settings.masking import masked
from judgeboard.settings.model import load_settings
from judgeboard.settings.option_words import checked
from judgeboard.settings.sections import ForJudges, JudgeFields
from judgeboard.text import MAX_NAME, unstorable

DEFAULT_DOMAIN = "general knowledge"


class AskedJudge(Protocol):
    """The common part of all judges. A judge can be called concurrently from one event loop."""

    version: JudgeVersion
    """Never changes."""
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


T = TypeVar("T")


class ModelJudge:
    """A judge that asks one chat model. After an unusable reply it sends one repair request."""

    prompt_name: ClassVar[str]
    """The name of the prompt file, and the default name of the judge."""
    prompt_package: ClassVar[str] = OWN_PROMPTS
    """The package whose folder ``prompts`` has the prompt file."""
    kind: ClassVar[str]
    scale: ClassVar[str] = VERDICT_SCALE

    def __init__(
        self,
        endpoint: ModelEndpoint,
        options: "JudgeOptions | None" = None,
        *,
        params: Mapping[str, Any] | None = None,
    ) -> None:
        """Make a judge that asks a chat model; ``params`` (such as examples) are part of the judge version.

        If a model refuses a temperature, none is sent.
        """
        params = params or {}
        self.options = options or JudgeOptions()
        self._temperature = self.options.temperature
        if self._temperature == int(self._temperature):
            self._temperature = int(self._temperature)  # 0 and 0.0 are one judge version
        self.address = endpoint.address
        self.priced = endpoint.priced
        self._endpoint = endpoint
        current = built_in_prompt(self.prompt_name, params, self.prompt_package)
        user_prompt = self.options.prompt
        if isinstance(user_prompt, Path):
            self._prompt = read_prompt_file(user_prompt, current)
        else:
            self._prompt = current if user_prompt is None else read_prompt(user_prompt)
        if gaps := current.sections.keys() - ADDED_SECTIONS - self._prompt.sections.keys():
            raise BadInput(
                f"this release cannot use the stored prompt: it has no section {', '.join(sorted(gaps))}"
            )
        prompt = self._prompt.text + (
            load_prompt("examples").text if params.get("examples") else ""
        )
        usual: dict[str, Any] = {
            "temperature": self._temperature,
            "max_output": self.options.max_output,
        }
        if self.options.dialogue != "last":
            usual["dialogue"] = self.options.dialogue
        self.version = JudgeVersion(
            self.options.name or self.prompt_name,
            self.kind,
            endpoint.model,
            {**usual, **params},
            prompt,
            self.scale,
        )

    @classmethod
    def of(cls, options: "JudgeOptions") -> Self:
        """Make a judge of options."""
        return cls(options.endpoint(f"the {cls.kind} judge"), options)

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
            max_output=self.options.max_output,
            parameters={"temperature": self._temperature},
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


class JudgeOptions(JudgeFields):
    """The options of all judges. A judge ignores options that the judge does not need.

    Attributes:
        name: Name of the judge (default: the kind).
        api_key: Key of the provider; not needed with ``base_url``, because local servers accept
            calls without a key.
        prompt: Prompt file of the user, or the text of a stored prompt; part of the judge version.
        rubric: Rubric, or rubric file, of the rubric judge; part of the judge version.
        examples: More examples for the rag and the rubric judge; part of the judge version.
        replies: File of recorded raw replies (JSONL of ``response_id``, ``raw``) to use instead of
            an endpoint.
        prices: Price file; takes precedence over the shipped prices.
        tries: Maximum number of calls for one request if the failures may be temporary.
    """

    name: str | None = None
    api_key: Annotated[str | None, Field(repr=False)] = None
    prompt: Annotated[str | Path | None, ForJudges()] = None
    rubric: Annotated[Rubric | Path | None, ForJudges("rubric")] = None
    examples: Annotated[tuple[Example, ...], ForJudges("rag", "rubric")] = ()
    replies: Annotated[Path | None, ForJudges()] = None
    prices: Annotated[Path | None, ForJudges()] = None
    tries: int | None = None

    def model_post_init(self, _context: object) -> None:
        """Check the name."""
        if self.name is not None:
            checked_judge_name(self.name)

    def endpoint(self, asker: str) -> ModelEndpoint:
        """Return the model of these options; no request is sent. ``asker`` is a name like "the rag judge"."""
        if self.replies is not None:
            return ModelEndpoint(RecordedChat(read_replies(self.replies)), self.model or "recorded")
        model, base_url = self.model, self.base_url
        if not model:
            message = (
                f"{asker} needs a model: give --model NAME (or recorded replies: --replies FILE)"
            )
            raise MissingOption(message, "--model", "gpt-4o-mini")
        provider = choose_provider(self.provider, model=model, base_url=base_url)
        if not base_url and not self.api_key:
            message = f"no key: set {provider.key_variable}, or give the address of your own server"
            raise MissingOption(message, "--base-url", "http://localhost:8000/v1")
        if base_url and not is_address(base_url):
            raise BadInput(
                f"--base-url must be an http:// or https:// address, not {masked(base_url)!r}"
            )
        address = bare_address(provider.name, base_url or provider.base_url)
        if base_url and "@" in urlsplit(base_url).netloc:
            raise BadInput(
                f"the address of {address.host} contains a user or password: give a key instead"
            )
        settings = load_settings()
        limit = rate_limit(model, settings)

        def make() -> ChatModel:
            from judgeboard.llm.endpoint_chat import EndpointChat  # its client loads slowly

            return EndpointChat(
                model,
                provider=provider,
                base_url=base_url or "",
                api_key=self.api_key,
                concurrency=self.concurrency,
                timeout_s=self.timeout_s,
                tries=self.tries,
                reply_mb=settings.reply_mb,
                limit=limit,
            )

        price = price_of(model, self.prices, address.host)
        return ModelEndpoint(ChatOnFirstUse(address.host, make), model, price, address)


def for_judges(name: str) -> ForJudges | None:
    """Return which judges read an option; None for an option that all judges read."""
    about = JudgeOptions.model_fields[name]
    return next((each for each in about.metadata if isinstance(each, ForJudges)), None)


def concurrency_of(options: Mapping[str, object]) -> int:
    """Return the maximum number of calls at the same time."""
    return checked(JudgeOptions, {"concurrency": options.get("concurrency")}).concurrency


PARAMS: Mapping[str, object] = {
    name: about.default
    for name, about in JudgeOptions.model_fields.items()
    if (read := for_judges(name)) is not None and read.is_param
}
"""The options that a judge version keeps as parameters, with the default values."""
