"""What a judge is, what is chosen when one is made, and the address of its version."""

import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from judgeboard.domain import RECORDED, JudgeInput, JudgeVersion, Verdict
from judgeboard.judges.material import Example
from judgeboard.judges.rubric_file import Rubric
from judgeboard.llm.endpoint import ModelEndpoint, model_endpoint


class Judge(Protocol):
    """Asks for a verdict on one answer at a time; safe to call concurrently from one event loop."""

    @property
    def version(self) -> JudgeVersion:
        """What judges, exactly; the same for every call of this object."""
        ...

    @property
    def endpoint_host(self) -> str | None:
        """Host and port that the texts are sent to; None when nothing leaves the process."""
        ...

    @property
    def priced(self) -> bool:
        """Whether the cost of a call is known; False when the price file does not say it."""
        ...

    async def judge(self, item: JudgeInput) -> Verdict:
        """Return the verdict on ``item``; a failure of this one row is a verdict of another status, never raised.

        Raises:
            EndpointRefused: No row can succeed until the key, the address or the model's name is mended.
        """
        ...

    async def aclose(self) -> None:
        """Release connections; the judge is not called again."""
        ...


class ModelJudge:
    """A judge over one model, which is closed with it."""

    def __init__(self, endpoint: ModelEndpoint) -> None:
        self._endpoint = endpoint

    @property
    def endpoint_host(self) -> str | None:
        """Host and port that the texts are sent to; None for recorded replies and callables."""
        return self._endpoint.host

    @property
    def priced(self) -> bool:
        """Whether a call's cost is known; what recorded replies once cost is not."""
        return self._endpoint.priced

    async def aclose(self) -> None:
        """Close the chat model."""
        await self._endpoint.aclose()


def prompt_hash(prompt: str) -> str:
    """Return the SHA-256 of a prompt's UTF-8 text as 64 hexadecimal digits."""
    return hashlib.sha256(prompt.encode()).hexdigest()


def fingerprint(version: JudgeVersion) -> str:
    """Return the SHA-256 over everything that makes a judge version, as 64 hexadecimal digits.

    Two versions have one fingerprint exactly when name, kind, model, parameters, prompt and scale are equal;
    the order of the parameters does not count. The bytes hashed are canonical JSON, so the address is the same
    in every process, on every machine and in every later release.

    Raises:
        ValueError: A parameter is NaN or infinite.
        TypeError: A parameter is not a JSON value.
    """
    content = {
        "name": version.name,
        "kind": version.kind,
        "model": version.model,
        "params": version.params,
        "prompt": None if version.prompt is None else prompt_hash(version.prompt),
        "scale": version.scale,
    }
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def replay_version(judge: str, *, model: str | None = None, recorded: str | None = None) -> JudgeVersion:
    """Return the version under which the verdicts of ``judge``, as their file names it, are kept.

    Nobody asks it again: what it was told and how is not known here, so its name (and model, where given) is all
    that tells it from others. ``recorded`` is the fingerprint that it had in the database it was exported from.
    """
    params = {} if recorded is None else {"recorded": recorded}
    return JudgeVersion(name=judge, kind=RECORDED, model=model, params=params, scale="as recorded")


DEFAULT_MAX_OUTPUT = 512
DEFAULT_DOMAIN = "general knowledge"


@dataclass(frozen=True, slots=True)
class JudgeOptions:
    """The choices of one run; a judge takes those that concern it.

    Attributes:
        name: What people call the judge; the kind's own name by default. *Current* and *primary* go by it.
        model: Name of the chat model, as the endpoint knows it.
        provider: How the endpoint is spoken to: openai or anthropic; None is as the model's name says.
        base_url: Address of the endpoint, with its ``/v1``; None is the provider's own.
        api_key: May be None where ``base_url`` is given: local servers want none.
        concurrency: Calls in flight at most; the connection pool is sized by it.
        max_output: Tokens a reply may have; part of the judge version.
        domain: What the prompt says the judge is an expert of; part of the judge version.
        claims: Also ask for the claims of the answer; part of the judge version.
        rubric: What the rubric judge scores, as a rubric or its file; part of the judge version.
        judge_file: File of the rag judge's domain and examples; part of the judge version.
        examples: Further examples for the rag and the rubric judge; part of the judge version.
        logprobs: Also keep the expected score, by the probabilities of its digit; part of the judge version.
        replies: File of recorded raw replies (JSONL of ``response_id``, ``raw``) to judge from instead of an endpoint.
        prices: Price file of the user; its models win over the ones that are shipped.
        timeout_s: Seconds that one call may take.
        tries: Calls made at most for one question while they fail in ways that may pass.
    """

    name: str | None = None
    model: str | None = None
    provider: str | None = None
    base_url: str | None = None
    api_key: str | None = field(default=None, repr=False)
    concurrency: int = 16
    max_output: int = DEFAULT_MAX_OUTPUT
    domain: str = DEFAULT_DOMAIN
    claims: bool = False
    rubric: Rubric | Path | None = None
    judge_file: Path | None = None
    examples: tuple[Example, ...] = ()
    logprobs: bool = False
    replies: Path | None = None
    prices: Path | None = None
    timeout_s: float = 60.0
    tries: int | None = None

    def endpoint(self, asker: str) -> ModelEndpoint:
        """Return the model of these options; ``asker`` is who needs it, for messages.

        Raises:
            BadInput: No model, no key for the provider's own endpoint, an address that is none, unreadable replies.
        """
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
