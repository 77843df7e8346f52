"""The raw call behind a judgment: the prompt as it was sent, each reply, tokens, cost and time."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

from sqlalchemy import Connection

from judgeboard.domain import JudgeInput
from judgeboard.errors import JudgeboardError
from judgeboard.judges.judge import JudgeOptions, fingerprint, judge_with_requests
from judgeboard.judges.kinds import JUDGES, OFFLINE
from judgeboard.judges.rubric_file import Rubric, stored_dimensions
from judgeboard.llm.chat import Message, RecordedChat
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


class _UnsentOptions(JudgeOptions):
    def endpoint(self, asker: str) -> ModelEndpoint:  # noqa: ARG002 - as `JudgeOptions` has it
        return ModelEndpoint(RecordedChat({}), self.model or "")  # it answers nothing


def sent_messages(version: StoredVersion, item: JudgeInput) -> tuple[Message, ...]:
    """Return the messages that a judge version sends for an answer, by the judge itself; sends nothing.

    Empty if the judge made of the stored parameters is not this version, so that it could send another prompt.
    """
    names = {each.name for each in fields(JudgeOptions)}
    options: dict[str, Any] = {name: value for name, value in version.params.items() if name in names - {"examples"}}
    try:
        if "dimensions" in version.params:
            options["rubric"] = Rubric(stored_dimensions(version.params), domain=options.pop("domain", None))
        judge = JUDGES[version.kind](_UnsentOptions(name=version.name, model=version.model, **options))
        if fingerprint(judge.version) != version.fingerprint:
            return ()
        _, requests = asyncio.run(judge_with_requests(judge, item))
    except (JudgeboardError, LookupError, TypeError, ValueError):  # parameters of another release
        return ()
    return tuple(requests[0].messages)
