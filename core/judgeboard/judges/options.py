"""What a caller may choose when a judge is made."""

from dataclasses import dataclass, field
from pathlib import Path

from judgeboard.judges.examples import Example
from judgeboard.judges.rubric_file import Rubric
from judgeboard.llm.endpoint import ModelEndpoint, model_endpoint

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
