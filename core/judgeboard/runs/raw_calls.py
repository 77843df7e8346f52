"""The raw call behind a judgment: the prompt as it was sent, each reply, tokens, cost and time."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from sqlalchemy import Connection

from judgeboard.domain import JudgeInput
from judgeboard.errors import JudgeboardError
from judgeboard.judges.judge import JudgeOptions, fingerprint
from judgeboard.judges.kinds import JUDGES, OFFLINE
from judgeboard.judges.rubric_file import Rubric, stored_dimensions
from judgeboard.llm.chat import ChatRequest, Message, NoReply
from judgeboard.llm.endpoint import ModelEndpoint
from judgeboard.store.items import StoredCall, load_calls
from judgeboard.store.judge_versions import StoredVersion, get_version
from judgeboard.store.responses import judge_inputs

NO_CALL = "This verdict needed no model call."
NOT_REBUILT = (
    "The prompt cannot be rebuilt: the answer was removed, the judge shows examples, or another release made this "
    "judge version."
)


@dataclass(frozen=True, slots=True)
class RawCall:
    """A stored call with its prompt.

    The prompt is not stored. ``messages`` are rebuilt from the judge version and the answer by the code that sends
    them. They are empty if that could give another prompt; ``note`` is the reason. ``prompt`` is the template of the
    judge version.
    """

    call: StoredCall
    messages: tuple[Message, ...]
    note: str | None
    prompt: str | None


def raw_calls(connection: Connection, response_id: int, judgment_ids: Sequence[int]) -> list[RawCall]:
    """Return the calls behind these judgments of an answer, in their order; hidden ones are left out."""
    item = judge_inputs(connection, [response_id]).get(response_id)
    calls = load_calls(connection, judgment_ids)
    raw = []
    for call in (calls[id_] for id_ in judgment_ids if id_ in calls):
        version = get_version(connection, call.judge_version_id)
        asks = version.kind in JUDGES and version.kind not in OFFLINE
        messages = sent_messages(version, item) if asks and item is not None else ()
        note = NO_CALL if version.kind in OFFLINE else NOT_REBUILT if asks and not messages else None
        raw.append(RawCall(call, messages, note, version.prompt))
    return raw


@dataclass(slots=True)
class _Unsent:
    """A chat model that keeps the first request and sends nothing."""

    host: str | None = None
    request: ChatRequest | None = None

    async def complete(self, request: ChatRequest) -> NoReply:
        self.request = self.request or request
        return NoReply("not sent", ())

    async def aclose(self) -> None:
        """Hold nothing, release nothing."""


@dataclass(frozen=True, slots=True)
class _UnsentOptions(JudgeOptions):
    chat: _Unsent = field(default_factory=_Unsent)

    def endpoint(self, asker: str) -> ModelEndpoint:  # noqa: ARG002 - as `JudgeOptions` has it
        return ModelEndpoint(self.chat, self.model or "")


def sent_messages(version: StoredVersion, item: JudgeInput) -> tuple[Message, ...]:
    """Return the messages that a judge version sends for an answer, by the judge itself; sends nothing.

    Empty if the judge made of the stored parameters is not this version, so that it could send another prompt.
    """
    names = {each.name for each in fields(JudgeOptions)}
    options: dict[str, Any] = {name: value for name, value in version.params.items() if name in names - {"examples"}}
    try:
        if "dimensions" in version.params:
            options["rubric"] = Rubric(stored_dimensions(version.params), domain=options.pop("domain", None))
        chat = _Unsent()
        judge = JUDGES[version.kind](_UnsentOptions(name=version.name, model=version.model, chat=chat, **options))
        if fingerprint(judge.version) != version.fingerprint:
            return ()
        asyncio.run(judge.judge(item))
    except (JudgeboardError, LookupError, TypeError, ValueError):  # parameters of another release
        return ()
    return () if chat.request is None else tuple(chat.request.messages)
