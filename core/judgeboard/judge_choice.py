"""Makes the judge, or the model, that a command, a page or a library call names."""

from typing import Any

from judgeboard.errors import BadInput
from judgeboard.judges.kinds import JUDGES, OFFLINE
from judgeboard.judges.options import JudgeOptions
from judgeboard.judges.protocol import Judge
from judgeboard.llm.endpoint import ModelEndpoint, choose_provider, model_endpoint
from judgeboard.settings import load_settings, provider_address, provider_key

_FOR_A_MODEL = {
    "model": "--model",
    "provider": "--provider",
    "base_url": "--base-url",
    "replies": "--replies",
    "prices": "--prices",
    "max_output": "--max-output",
    "timeout_s": "--timeout",
    "domain": "--domain",
    "claims": "--claims",
    "logprobs": "--logprobs",
}
# What only some kinds read.
_FOR_KINDS = {
    "rubric": ("--rubric", ("rubric",)),
    "judge_file": ("--judge-file", ("rag",)),
    "examples": ("--examples-from-reviews", ("rag", "rubric")),
    "logprobs": ("--logprobs", ("rag", "rubric")),
}


def make_judge(kind: str, **chosen: Any) -> Judge:
    """Return a judge of this kind; what is not chosen comes from the environment, then from `JudgeOptions`.

    Args:
        kind: A key of ``JUDGES``: rag, lexical, …
        chosen: Fields of `JudgeOptions`; None counts as not chosen.

    Raises:
        BadInput: The kind is unknown, or the options do not make such a judge (no model, no key, a model chosen for
            a judge that asks none).
    """
    if kind not in JUDGES:
        raise BadInput(f"there is no judge of kind {kind!r}; choose {', '.join(sorted(JUDGES))}")
    useless = [option for name, option in _FOR_A_MODEL.items() if chosen.get(name) not in (None, False)]
    if kind in OFFLINE and useless:
        raise BadInput(f"{', '.join(useless)}: the {kind} judge asks no model and takes none of these")
    for name, (option, kinds) in _FOR_KINDS.items():
        if chosen.get(name) and kind not in kinds:
            raise BadInput(f"{option}: only {' and '.join(kinds)} read it, not the {kind} judge")
    return JUDGES[kind](JudgeOptions(**_chosen(chosen)))


def make_endpoint(asker: str, **chosen: Any) -> ModelEndpoint:
    """Return the model to ask; what is not chosen comes from the environment.

    Args:
        asker: Who needs it, for messages: "the pairwise judge".
        chosen: Keywords of `model_endpoint`; None counts as not chosen, others are left out.

    Raises:
        BadInput: No model, no key for the provider's own endpoint, an address that is none, unreadable replies.
    """
    known = {"model", "provider", "base_url", "api_key", "concurrency", "timeout_s", "tries", "prices", "replies"}
    given = {name: value for name, value in _chosen(chosen).items() if name in known}
    return model_endpoint(asker, **{"model": None, **given})


def _chosen(chosen: dict[str, Any]) -> dict[str, Any]:
    settings = load_settings()
    options: dict[str, Any] = {"provider": settings.provider, "model": settings.model, "prices": settings.prices}
    options |= {name: value for name, value in chosen.items() if value is not None}
    gateway = options.get("base_url") or provider_address("openai")
    provider = choose_provider(options["provider"], model=options["model"], base_url=gateway).name
    options |= {"provider": provider, "base_url": options.get("base_url") or provider_address(provider)}
    options.setdefault("api_key", provider_key(provider))
    return {name: value for name, value in options.items() if value is not None}
