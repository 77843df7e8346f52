"""How many calls a run will make, and what they will cost at most, before the first of them."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from judgeboard.domain import Shown
from judgeboard.errors import NotFound
from judgeboard.judges.self_reference import SelfReferenceJudge
from judgeboard.judges.version import fingerprint
from judgeboard.llm.chat import ChatRequest
from judgeboard.llm.prices import Price
from judgeboard.next_ask import Again
from judgeboard.self_reference.gate import TAU, samples_needed
from judgeboard.self_reference.plan import Plan
from judgeboard.self_reference.report import CONDITIONS, checked_conditions
from judgeboard.self_reference.tasks import askable, calls_left
from judgeboard.store.engine import Store
from judgeboard.store.judgments.judge_versions import get_version
from judgeboard.store.pairs.pairs import load_pairs

CHARACTERS_A_TOKEN = 4
LOOKED_AT = 50


@dataclass(frozen=True, slots=True)
class RunEstimate:
    """What a run takes: ``calls_left`` of ``calls_planned`` are not stored yet.

    ``most_cost_micro`` counts four characters for a token and replies of full length; None where no price is known.
    """

    items: int
    calls_planned: int
    calls_left: int
    most_cost_micro: int | None
    model: str | None = None

    @property
    def sentence(self) -> str:
        """The same in words."""
        stored = self.calls_planned - self.calls_left
        left = f"{self.calls_planned:,} calls" + (f", {stored:,} of them stored" if stored else "")
        cost = (
            f"cost unknown: no price for {self.model}"
            if self.most_cost_micro is None
            else f"at most about $ {self.most_cost_micro / 1_000_000:.2f}"
        )
        return f"{self.items:,} items, {left}; {cost}"


def estimate_run(
    store: Store,
    judge: SelfReferenceJudge,
    pair_ids: Sequence[int],
    *,
    tau: float = TAU,
    conditions: Collection[str] = CONDITIONS,
    again: bool = False,
) -> RunEstimate:
    """Estimate `self_refer` on these pairs from their own texts.

    Raises:
        BadInput: ``tau`` or a condition is none.
    """
    plan = Plan(judge.k, samples_needed(tau, judge.k), checked_conditions(conditions))
    with store.reading() as connection:
        try:
            version_id = get_version(connection, fingerprint(judge.version)).id
        except NotFound:
            version_id = 0  # has been asked nothing yet
        wanted = askable(connection, pair_ids)
        left = calls_left(connection, version_id, wanted, plan, Again() if again else None)
        pairs = load_pairs(connection, wanted[:LOOKED_AT])
    planned = plan.calls_an_item * len(wanted)
    price, model = judge.price, judge.version.model
    if price is None or not pairs:
        return RunEstimate(len(wanted), planned, left, None, model)
    verdicts = plan.calls_an_item - plan.k
    an_item = sum(
        plan.k * _cost(judge.solver.request(pair, 0), price)
        + verdicts * _cost(judge.pairwise.request(pair, Shown.AB, pair.reference), price)
        for pair in pairs
    ) / len(pairs)
    return RunEstimate(len(wanted), planned, left, round(an_item / plan.calls_an_item * left), model)


def _cost(request: ChatRequest, price: Price) -> int:
    characters = sum(len(message["content"]) for message in request.messages)
    return price.cost_micro(characters // CHARACTERS_A_TOKEN, request.max_output)
