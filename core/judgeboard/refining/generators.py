"""Makes the generator that a command or a library call names."""

from typing import Any

from judgeboard.judge_choice import make_endpoint
from judgeboard.judges.protocol import Judge
from judgeboard.llm.generator import DEFAULT_GENERATOR_OUTPUT, Generator


def make_generator(
    model: str | None = None,
    *,
    max_output: int = DEFAULT_GENERATOR_OUTPUT,
    temperature: float | None = None,
    **chosen: Any,
) -> Generator:
    """Return the model that answers, by its own settings; what is not chosen comes from the environment.

    Args:
        model: Name of the chat model, as the endpoint knows it.
        max_output: Tokens an answer may have.
        temperature: None sends none: at 0 the same text would come back.
        chosen: base_url, api_key, concurrency, timeout_s, tries, prices, replies.

    Raises:
        BadInput: No model, no key for OpenAI's own endpoint, an address that is none, unreadable replies.
    """
    endpoint = make_endpoint("the generator", model=model, **chosen)
    return Generator(endpoint, max_output, {} if temperature is None else {"temperature": temperature})


def settings_of(generator: Generator) -> dict[str, Any]:
    """Return what tells two generators apart, as JSON values; the address does not, as with judge versions."""
    return {
        "model": generator.endpoint.model,
        "max_output": generator.max_output,
        "parameters": dict(generator.parameters),
    }


def hosts_of(judge: Judge, generator: Generator) -> str | None:
    """Return where the texts of a run go; None when nothing leaves the process."""
    hosts = dict.fromkeys(host for host in (judge.endpoint_host, generator.endpoint.host) if host)
    return ", ".join(hosts) or None
