"""Rate limits of providers: each call waits for a turn on a timeline that all workers and processes share.

A call takes as many seconds of the timeline as the limits require: half a second with 120 requests
per minute. Parts of the timeline never overlap, so no minute has more calls than the limits allow.
A process takes a block for about a second of calls at a time, so that the calls share one
transaction of the database.
"""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from threading import Lock
from typing import Any

from judgeboard.errors import BadInput
from judgeboard.settings.model import LIMITS, Settings, variable_of

PERIOD_SECONDS = 60.0
BLOCK_SECONDS = (
    1.0  # the longest block, and the longest delay of a call after the place on the timeline
)
# The blocks of a minute may serve the calls of a minute and a second: without this margin, a minute
# had more calls.
MARGIN = 1.02
ROUNDING = 1e-6  # seconds

Reserve = Callable[[str, float, float], float]
"""Takes seconds of the timeline of a name, and returns the seconds until the taken part begins.

The last argument is what earlier calls took too little (above 0) or too much, in seconds.
"""


class OwnTimelines:
    """The timelines of a process that shares no timeline."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = Lock()
        self._taken_until: dict[str, float] = {}

    def __call__(self, name: str, seconds: float, owed: float) -> float:
        """Take a part of a timeline, as `Reserve` says."""
        with self._lock:
            now = self._clock()
            begin = max(self._taken_until.get(name, now) + owed, now)
            self._taken_until[name] = begin + seconds
        return begin - now


RESERVE: ContextVar[Reserve] = ContextVar("reserve", default=OwnTimelines())  # noqa: B039 - the process shares the default
"""Where calls take parts: runs use the timelines of the database."""


@dataclass(frozen=True, slots=True)
class RateLimit:
    """The limits of a model at an address; None means no limit."""

    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None

    def seconds(self, tokens: int) -> float:
        """Return the part of the timeline that a call with this number of tokens takes."""
        seconds = (
            0.0 if limit is None else count * PERIOD_SECONDS / limit
            for count, limit in ((1, self.requests_per_minute), (tokens, self.tokens_per_minute))
        )
        return max(seconds) * MARGIN


NO_LIMIT = RateLimit()


def rate_limit(model: str, settings: Settings) -> RateLimit:
    """Return the limits of a model. Raises BadInput if a setting cannot be read."""
    limits: list[float | None] = []
    for name in LIMITS:
        by_pattern: dict[str, float] = {}
        for text in settings.limits(name):
            pattern, _, number = text.rpartition("=")
            try:
                limit = float(number)
            except ValueError:
                limit = 0.0
            if not 0 < limit < float("inf"):
                raise BadInput(
                    f"{variable_of(name)}: {text!r} is not a number above 0, or MODEL=NUMBER, for example gpt-4o*=500"
                )
            by_pattern[pattern.strip().casefold() or "*"] = limit
        fitting = [pattern for pattern in by_pattern if fnmatchcase(model.casefold(), pattern)]
        limits.append(by_pattern[max(fitting, key=len)] if fitting else None)
    return RateLimit(*limits)


@dataclass(eq=False)
class CallPace:
    """Makes each call of one client wait for a turn. Used in one event loop."""

    name: str
    limit: RateLimit
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    clock: Callable[[], float] = time.monotonic
    _output: float | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self._turn = asyncio.Lock()
        self._next = self._end = 0.0  # the rest of the block
        self._block = 0.0  # its length
        self._owed = 0.0

    def estimate(self, body: Mapping[str, Any], max_output: int) -> int:
        """Return about how many tokens a call will use; `used` corrects this estimate."""
        if self.limit.tokens_per_minute is None:
            return 0
        return len(json.dumps(body)) // 4 + round(
            max_output if self._output is None else self._output
        )

    def used(self, estimate: int, prompt_tokens: int | None, completion_tokens: int | None) -> None:
        """Correct the estimate of a call by the tokens that the provider counted."""
        if (
            self.limit.tokens_per_minute is None
            or prompt_tokens is None
            or completion_tokens is None
        ):
            return
        self._owed += self.limit.seconds(prompt_tokens + completion_tokens) - self.limit.seconds(
            estimate
        )
        mean = self._output
        self._output = completion_tokens if mean is None else 0.9 * mean + 0.1 * completion_tokens

    async def wait(self, tokens: int) -> None:
        """Wait for the turn of a call."""
        seconds = self.limit.seconds(tokens)
        if seconds == 0:
            return
        async with (
            self._turn
        ):  # in the order of the calls; the next block is taken only once this block has begun
            begin = max(self._next, self.clock() - BLOCK_SECONDS)
            if begin + seconds > self._end + ROUNDING:
                begin = await self._take_block(seconds)
            self._next = begin + seconds
            await self.sleep(max(0.0, begin - self.clock()))

    async def _take_block(self, least: float) -> float:
        # Twice as long if the last block was used up, otherwise as long as the used part.
        unused = max(0.0, self._end - self._next)
        block_seconds = self._block - unused if unused > 2 * least else 2 * self._block
        self._block = least * max(
            1, int(min(block_seconds, BLOCK_SECONDS) / least)
        )  # of whole calls, so that none is lost
        owed, self._owed = self._owed, 0.0
        delay = await asyncio.to_thread(RESERVE.get(), self.name, self._block, owed)
        begin = self.clock() + delay
        self._end = begin + self._block
        return begin
