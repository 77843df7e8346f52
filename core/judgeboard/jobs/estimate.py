"""How many calls a job will make, and what they will cost and take, before it is asked for."""

from dataclasses import asdict, dataclass
from typing import Any

from judgeboard.errors import NotFound
from judgeboard.filters import RowFilter
from judgeboard.judge_choice import make_judge
from judgeboard.judges.version import fingerprint
from judgeboard.llm.prices import price_of
from judgeboard.settings import load_settings
from judgeboard.store.engine import Readable
from judgeboard.store.judgments.judge_versions import get_version
from judgeboard.store.judgments.retired_versions import refuse_retired
from judgeboard.store.responses.response_frontier import last_response_id
from judgeboard.store.runs.asks import Selection, ask_mode, count_unasked
from judgeboard.store.runs.call_history import call_history
from judgeboard.store.runs.runs import run_kind, unfinished_run


@dataclass(frozen=True, slots=True)
class CallEstimate:
    """What a job would take: ``seconds`` and ``tokens`` an answer are None without an earlier run to go by.

    ``cost_micro`` is None where the price of the model, or the tokens of a call, are not known; 0 for an offline
    judge. ``continues`` is the unfinished run it would go on with: ``calls`` are then what that one has left.
    ``version_title`` names the judge version ("rag v3"), None for one that has judged nothing yet.
    """

    calls: int
    cost_micro: int | None
    seconds: float | None
    tokens: float | None
    model: str | None
    priced: bool
    continues: int | None = None
    version_title: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return the estimate as JSON values, to be stored with the job."""
        return asdict(self)


def estimate_calls(
    store: Readable, *, judge: dict[str, Any], where: RowFilter | None = None, mode: str = "all", concurrency: int = 16
) -> CallEstimate:
    """Estimate a job from what it selects now and from the latest judgments of the same kind of judge and model.

    No key is needed here: the worker that makes the calls may have one.

    Raises:
        BadInput: The judge or the filter cannot be used, or the judge version is retired.
    """
    version = make_judge(**{"api_key": "none", **judge}).version
    with store.reading() as connection:
        try:
            stored = get_version(connection, fingerprint(version))
            refuse_retired(connection, stored)
            version_id, title = stored.id, stored.title
        except NotFound:
            version_id, title = 0, None  # has judged nothing yet
        selection = Selection(where or RowFilter(), ask_mode(mode), None, last_response_id(connection))
        unfinished = unfinished_run(connection, version_id, run_kind(mode), selection)
        if unfinished is not None and unfinished.selection is not None:
            calls = count_unasked(connection, version_id, unfinished.selection, unfinished.id)
        else:
            calls = count_unasked(connection, version_id, selection)
        history = call_history(connection, version.kind, version.model)
    continues = None if unfinished is None else unfinished.id
    seconds = None if history.latency_ms is None else calls * history.latency_ms / 1000 / concurrency
    if version.model is None:  # offline: nothing is paid, and a call takes less than a millisecond
        return CallEstimate(calls, 0, seconds, None, None, priced=True, continues=continues, version_title=title)
    price = price_of(version.model, load_settings().prices)
    tokens = cost = None
    if history.prompt_tokens is not None and history.completion_tokens is not None:
        tokens = history.prompt_tokens + history.completion_tokens
        if price is not None:
            cost = calls * price.cost_micro(round(history.prompt_tokens), round(history.completion_tokens))
    return CallEstimate(calls, cost, seconds, tokens, version.model, price is not None, continues, title)
