"""Raw calls of judgments: the prompt as sent, each reply, tokens, cost and time."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection

from judgeboard.domain import JudgeInput
from judgeboard.errors import JudgeboardError
from judgeboard.judges.judge import Judge, JudgeOptions
from judgeboard.llm.asking import UnsentRequest, unsent_requests
from judgeboard.llm.chat import Message
from judgeboard.registry.judge_kinds import JUDGES, asks_model, kind_of
from judgeboard.runs.judging import options_of_version
from judgeboard.runs.runner import run_blocking
from judgeboard.store.items import ItemJudgment, load_calls
from judgeboard.store.judge_versions import get_version
from judgeboard.store.responses import judge_inputs
from judgeboard.store.tables import StoredVersion

NO_CALL = "This verdict needed no model call."
NOT_REBUILT = (
    "The prompt cannot be rebuilt: the texts of the answer or of an example were removed, or another release made "
    "this judge version."
)


@dataclass(frozen=True, slots=True)
class RawCall:
    """A judgment with all attempts and the prompt of the call.

    Only the template ``prompt`` of the judge version is stored. The code that sends messages
    rebuilds ``messages`` from version and answer. ``messages`` is empty if the result could differ
    from the messages that were sent; ``note`` is then the reason.
    """

    judgment: ItemJudgment
    messages: tuple[Message, ...]
    note: str | None
    prompt: str | None


def raw_calls(
    connection: Connection, response_id: int, judgment_ids: Sequence[int]
) -> list[RawCall]:
    """Return the calls behind these judgments of an answer, in the same order, without hidden judgments."""
    item = judge_inputs(connection, [response_id]).get(response_id)
    judgments = load_calls(connection, judgment_ids)
    raw = []
    for judgment in (judgments[id_] for id_ in judgment_ids if id_ in judgments):
        version = get_version(connection, judgment.judge_version_id)
        asks = asks_model(version.kind)
        messages = sent_messages(connection, version, item) if asks and item is not None else ()
        note = (
            NO_CALL
            if not kind_of(version.kind).calls_host
            else NOT_REBUILT
            if asks and not messages
            else None
        )
        raw.append(RawCall(judgment, messages, note, version.prompt))
    return raw


def sent_messages(
    connection: Connection, version: StoredVersion, item: JudgeInput
) -> tuple[Message, ...]:
    """Return the messages that a judge version sends for an answer, without sending anything.

    The result is empty if the stored version cannot be made again, because its prompt could be
    different.
    """
    try:
        options = options_of_version(connection, version)
        kind = options.pop("kind")
        judge = JUDGES[kind].make(JudgeOptions(**options, api_key="none"))
        [unsent, *_] = run_blocking(_unsent_requests, judge, item)
    except (JudgeboardError, LookupError, TypeError, ValueError):  # parameters of another release
        return ()
    return tuple(unsent.request.messages)


async def _unsent_requests(judge: Judge, item: JudgeInput) -> list[UnsentRequest]:
    with unsent_requests() as requests:
        await judge.judge(item)
    return requests
