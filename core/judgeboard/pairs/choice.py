"""Makes the pairwise judge that a command or a library call names."""

from typing import Any

from judgeboard.judge_choice import make_endpoint
from judgeboard.judges.pairwise import PairwiseJudge


def make_pairwise_judge(**chosen: Any) -> PairwiseJudge:
    """Return a pairwise judge; what is not chosen comes from the environment, then from `PairwiseJudge`.

    Args:
        chosen: Keywords of `PairwiseJudge` (name, aspects, domain, max_output) and of `model_endpoint` (model,
            base_url, …); None, and no aspects, count as not chosen.

    Raises:
        BadInput: No model, no key for OpenAI's own endpoint, an address that is none, an aspect that cannot be used.
    """
    own = {name: chosen[name] for name in ("name", "aspects", "domain", "max_output") if chosen.get(name)}
    return PairwiseJudge(make_endpoint("the pairwise judge", **chosen), **own)
