"""Makes the judge with self-reference that a command or a library call names."""

from typing import Any

from judgeboard.judge_choice import make_endpoint
from judgeboard.judges.self_reference import SelfReferenceJudge

_OF_JUDGE = ("k", "name", "temperature", "domain")


def make_self_reference_judge(**chosen: Any) -> SelfReferenceJudge:
    """Return a judge with self-reference; what is not chosen comes from the environment.

    Args:
        chosen: ``k``, ``name``, ``temperature``, ``domain``, ``max_output`` (of samples and verdicts) and the fields of
            the model (model, base_url, prices, …); None counts as not chosen, others are left out.

    Raises:
        BadInput: No model, no key for OpenAI's own endpoint, an address that is none, unreadable replies, or a value
            outside its range.
    """
    endpoint = make_endpoint("the judge with self-reference", **chosen)
    own = {name: chosen[name] for name in _OF_JUDGE if chosen.get(name) is not None}
    most = chosen.get("max_output")
    outputs = {} if most is None else {"max_output": most, "solve_output": most}
    return SelfReferenceJudge(endpoint, **own, **outputs)
