"""Estimates of calls to models before the first call: the number and the cost."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import NamedTuple

from judgeboard.llm.asking import UnsentRequest
from judgeboard.llm.chat import ChatRequest
from judgeboard.llm.provider import is_own_host
from judgeboard.settings.sections import Price
from judgeboard.text import cost_words, counted

CHARACTERS_A_TOKEN = 4
LOOKED_AT = 50  # tasks whose requests are made to estimate all requests


def flag_words(flags: int) -> str | None:
    """Return what becomes of open flags of audits and of other judges in a run; None if there are none."""
    if not flags:
        return None
    return (
        f"{counted(flags, 'open flag')} of audits and of other judges: a verdict "
        f"that changes may supersede its flag."
    )


@dataclass(frozen=True, slots=True)
class CallEstimate:
    """The estimate for a run or a job; ``seconds`` and ``tokens`` (per call) are None without an earlier run.

    ``cost_micro`` is None if the price or the tokens are unknown, and 0 for an offline judge or a
    price of 0. With ``at_most``, the cost comes from the texts of the requests and the longest
    replies, not from earlier calls. ``own_endpoint`` tells whether the calls go to a machine of the
    user. If the job would continue an unfinished run, ``continues`` is the id of the run and
    ``calls`` counts only the remaining calls. ``version_title`` is for example "rag v3"; None for a
    new judge version. ``flags`` counts the open flags of audits and of other judges on these
    answers: a verdict that changes may supersede flags.
    """

    calls: int
    cost_micro: int | None
    seconds: float | None
    tokens: float | None
    model: str | None
    priced: bool
    continues: int | None = None
    version_title: str | None = None
    own_endpoint: bool = False
    at_most: bool = False
    flags: int = 0

    @property
    def flag_words(self) -> str | None:
        """What becomes of the ``flags``; None if there are none."""
        return flag_words(self.flags)

    @property
    def cost_words(self) -> str:
        """The estimated cost in words."""
        if self.cost_micro is None:
            return (
                "cost known after the first call"
                if self.priced
                else "cost unknown: there is no price"
            )
        if self.model is None:
            return "offline: no cost"
        about = "at most about " if self.at_most else "about "
        return (about if self.cost_micro else "") + cost_words(
            self.cost_micro, own=self.own_endpoint
        )

    @property
    def sentence(self) -> str:
        """The number of calls and the cost: "61 calls of gpt-4o-mini, about $ 0.09"."""
        calls = (
            f"up to {counted(self.calls, 'call')}" if self.at_most else counted(self.calls, "call")
        )
        return f"{calls} of {self.model}, {self.cost_words}"


def most_cost(request: ChatRequest, price: Price) -> int:
    """Return the cost of a request with the longest reply, in millionths."""
    characters = sum(len(str(message["content"])) for message in request.messages)
    return price.cost_micro(characters // CHARACTERS_A_TOKEN, request.max_output)


class PlannedCalls(NamedTuple):
    """Calls of one kind: the maximum number, and some of the requests."""

    most: int
    requests: Sequence[UnsentRequest]


def estimate_planned(planned: Iterable[PlannedCalls]) -> CallEstimate | None:
    """Estimate calls from some of the requests; None if no request would leave the process."""
    planned = [each for each in planned if each.most and each.requests]
    endpoints = {
        id(endpoint): endpoint for each in planned for endpoint, _ in each.requests
    }.values()
    asked_endpoints = [endpoint for endpoint in endpoints if endpoint.host is not None]
    if not asked_endpoints:
        return None
    unpriced = [endpoint.model for endpoint in asked_endpoints if endpoint.price is None]
    # A request to no host costs nothing.
    costs = [
        each.most
        * fmean(
            0 if endpoint.price is None else most_cost(request, endpoint.price)
            for endpoint, request in each.requests
        )
        for each in planned
    ]
    models = " and ".join(
        dict.fromkeys(unpriced or [endpoint.model for endpoint in asked_endpoints])
    )
    return CallEstimate(
        sum(each.most for each in planned),
        None if unpriced else round(sum(costs)),
        None,
        None,
        models,
        priced=not unpriced,
        own_endpoint=all(is_own_host(endpoint.host) for endpoint in asked_endpoints),
        at_most=True,
    )


def cost_by_history(
    calls: int, price: Price | None, prompt: float | None, completion: float | None
) -> int | None:
    """Return the cost of calls with these mean numbers of tokens, in millionths; None if the cost is not known."""
    if price is None or prompt is None or completion is None:
        return None
    return calls * price.cost_micro(round(prompt), round(completion))
