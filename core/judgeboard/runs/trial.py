"""A trial of a judge: a few answers with their raw calls, before all are judged."""

import asyncio
from dataclasses import dataclass
from typing import Any

from judgeboard.domain import JudgeInput, Verdict
from judgeboard.judges.judge import Judge, judge_with_requests
from judgeboard.llm.chat import ChatRequest
from judgeboard.people.permissions import Action, Actor, check_allowed
from judgeboard.runs.blocking import run_blocking
from judgeboard.runs.jobs import judge_with_key
from judgeboard.runs.judging import make_judge
from judgeboard.store.filters import RowFilter
from judgeboard.store.hidden_rows import Seen
from judgeboard.store.responses import judge_inputs
from judgeboard.store.runs import matching

ANSWERS = 3
_TRIES = 1  # a person waits for the result, so a fault is shown at once


@dataclass(frozen=True, slots=True)
class Trial:
    """One answer of a trial: the input of the judge, the requests as sent, and the verdict."""

    item: JudgeInput
    requests: tuple[ChatRequest, ...]
    verdict: Verdict


def try_judge(
    seen: Seen, *, judge: dict[str, Any], where: RowFilter | None = None, api_key: str | None = None, actor: Actor
) -> list[Trial]:
    """Judge the first three answers of a filter that the viewer may see, and store nothing.

    ``judge`` has the fields of a job; the key is used for these calls alone.

    Raises:
        NotAllowed: The actor may not choose a judge.
        BadInput: The judge cannot be made.
        EndpointRefused: The endpoint refuses the key, the model or the address.
    """
    check_allowed(seen.store, actor, Action.CHOOSE_JUDGE)
    with seen.reading() as connection:
        inputs = judge_inputs(connection, matching(connection, where or RowFilter(), limit=ANSWERS))
    made = make_judge(**judge_with_key(judge, api_key), tries=_TRIES)
    return run_blocking(_try, made, list(inputs.values()))


async def _try(judge: Judge, items: list[JudgeInput]) -> list[Trial]:
    async def tried(item: JudgeInput) -> Trial:
        verdict, requests = await judge_with_requests(judge, item)
        return Trial(item, tuple(requests), verdict)

    try:
        return list(await asyncio.gather(*(asyncio.create_task(tried(item)) for item in items)))
    finally:
        await judge.aclose()
