"""An endpoint of a chat model whose answers a test can keep waiting."""

import asyncio
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from judgeboard.llm.recording_endpoint import RecordingEndpoint, ScriptedReply, verdict


@dataclass
class HeldEndpoint:
    """Answers the first ``free`` requests at once and keeps the others waiting until `release`."""

    server: RecordingEndpoint
    free: int = 10**9
    reply: ScriptedReply = field(default_factory=verdict)

    @property
    def url(self) -> str:
        return self.server.base_url

    @property
    def asked(self) -> Counter[str]:
        """How often each answer was asked about, by its number."""
        return Counter(
            next(word for word in request.body["messages"][1]["content"].split() if word.startswith("number-"))
            for request in self.server.requests
        )

    def hold_after(self, free: int) -> None:
        self.free = free

    def release(self, *, slowly: bool = False) -> None:
        """Let everything go; slowly is with a latency, so that what is asked of the client meanwhile reaches it."""
        if slowly:
            self.reply = replace(self.reply, delay_s=0.3)
        self.free = 10**9

    async def answer(self, number: int) -> ScriptedReply:
        while number >= self.free:  # noqa: ASYNC110 - another thread sets it
            await asyncio.sleep(0.01)
        return self.reply


@contextmanager
def held_endpoint() -> Iterator[HeldEndpoint]:
    """Serve it."""
    with RecordingEndpoint() as server:
        held = HeldEndpoint(server)
        server.script = lambda _request, number: held.answer(number)
        yield held
        held.release()
