"""An endpoint of a chat model whose answers a test can keep waiting."""

import asyncio
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from judgeboard.llm.recording_endpoint import RecordingEndpoint, Script, ScriptedReply, verdict
from judging_log import asked


@dataclass
class HeldEndpoint:
    """Answers the first ``free`` requests at once and keeps the others waiting until `release`.

    The answers are those of ``script``; without a script, each is ``reply``.
    """

    server: RecordingEndpoint
    script: Script | None = None
    free: int = 10**9
    reply: ScriptedReply = field(default_factory=verdict)

    @property
    def url(self):
        return self.server.base_url

    @property
    def asked(self):
        """How often each answer was asked about, by its number."""
        return asked(self.server)

    def hold_after(self, free):
        self.free = free

    def release(self, *, slowly=False):
        """Let everything go; slowly is with a latency, so that what is asked of the client meanwhile reaches it."""
        if slowly:
            self.reply = replace(self.reply, delay_s=0.3)
        self.free = 10**9

    async def answer(self, request, number):
        while number >= self.free:  # noqa: ASYNC110 - another thread sets it
            await asyncio.sleep(0.01)
        answer = self.script(request, number) if self.script else self.reply
        return answer if isinstance(answer, ScriptedReply) else await answer


@contextmanager
def held_endpoint(script=None):
    """Serve it."""
    with RecordingEndpoint() as server:
        held = HeldEndpoint(server, script)
        server.script = held.answer
        yield held
        held.release()
