"""Limits of requests: the size of a body, also after decompression, and the rate of a key."""

import asyncio
import threading
import time
import zlib
from collections.abc import AsyncIterator, Callable, Iterator

RETRY_SECONDS = 2  # exporters drop a batch at once if they are told to wait for long
STALLED_SECONDS = 20.0  # exporters give up after 10 s
MOST_MEMBERS = 1_000  # of gzip in one body
_PIECE = 1 << 16
_PROGRESS = 1 << 14  # bytes of a body that must come in time: a sender of single bytes would hold its memory for hours
_AUTOMATIC = 47  # zlib finds out whether the data are gzip or zlib
_ENCODINGS = {"": False, "identity": False, "gzip": True, "deflate": True}
_FIRST_BYTES = (b"\x1f\x8b", b"\x78")  # of gzip and zlib; no message of OTLP begins so


class Refused(Exception):
    """A request is refused with a status of HTTP; the text is for the sender. ``key`` is the name of a refused key."""

    def __init__(self, status: int, reason: str, key: str | None = None) -> None:
        super().__init__(reason)
        self.key = key
        self.status = status
        self.reason = reason

    @property
    def retry_seconds(self) -> int | None:
        """After how many seconds the sender may send the same again; None if that would not help."""
        return RETRY_SECONDS if self.status in {429, 503} else None


class Memory:
    """The bytes of all bodies that are under way, up to a limit."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = threading.Lock()  # bodies grow on the event loop and, while they are decompressed, in threads
        self.used = 0

    def take(self, size: int) -> None:
        """Take some bytes. Raises Refused if there is no room."""
        with self._lock:
            if self.used + size > self._most:
                raise Refused(503, "too many or too large requests at once, try again")
            self.used += size

    def release(self, size: int) -> None:
        """Give bytes back."""
        with self._lock:
            self.used -= size


class Body:
    """The body of a request, of at most ``most`` bytes before and after decompression.

    Its bytes are counted while they come, so that a body of unknown length or a bomb is never whole in memory. They
    count in ``memory`` until it is closed.
    """

    def __init__(self, *, most: int, memory: Memory) -> None:
        self._compressed = False
        self._most = most
        self._memory = memory
        self._taken = 0
        self._sent = bytearray()

    async def read(self, chunks: AsyncIterator[bytes], encoding: str | None) -> None:
        """Read the body as it was sent; without an encoding (None), its first bytes tell whether it is compressed.

        Raises Refused, also if for 20 seconds less than 16 KiB of it came.
        """
        if encoding is not None and encoding.strip().lower() not in _ENCODINGS:
            raise Refused(415, f"the content encoding {encoding!r} is not supported: use gzip")
        now, enough = asyncio.get_running_loop().time, _PROGRESS
        try:
            async with asyncio.timeout(STALLED_SECONDS) as limit:
                async for chunk in chunks:
                    self._append(self._sent, chunk)
                    if len(self._sent) >= enough:
                        enough = len(self._sent) + _PROGRESS
                        limit.reschedule(now() + STALLED_SECONDS)
        except TimeoutError:
            raise Refused(408, f"the body did not come on for {STALLED_SECONDS:g} s: send it again") from None
        if encoding is None:
            self._compressed = self._sent.startswith(_FIRST_BYTES)
        else:
            self._compressed = _ENCODINGS[encoding.strip().lower()]

    def whole(self) -> bytes:
        """Return the decompressed body. A large one takes long, so call it in a thread. Raises Refused."""
        if not self._compressed:
            return bytes(self._sent)
        whole = bytearray()
        for part in _decompressed(self._sent):
            self._append(whole, part)
        return bytes(whole)

    def close(self) -> None:
        """Release the memory."""
        self._memory.release(self._taken)
        self._taken = 0
        self._sent = bytearray()

    def _append(self, to: bytearray, part: bytes) -> None:
        if len(to) + len(part) > self._most:
            raise Refused(413, f"the body has more than {self._most / 2**20:g} MiB: send smaller batches")
        self._memory.take(len(part))
        self._taken += len(part)
        to += part


def _decompressed(body: bytearray) -> Iterator[bytes]:
    """Yield the parts of a compressed body. A gzip file may have several members, but each of them costs time."""
    members, stream = 1, zlib.decompressobj(_AUTOMATIC)
    for start in range(0, len(body), _PIECE):
        data = bytes(body[start : start + _PIECE])
        while data:
            if stream.eof:
                members, stream = members + 1, zlib.decompressobj(_AUTOMATIC)
            if members > MOST_MEMBERS:
                raise Refused(400, f"the body has more than {MOST_MEMBERS:,} members of gzip: compress it as one")
            try:
                yield stream.decompress(data, _PIECE)
            except zlib.error:
                raise Refused(400, "the body cannot be decompressed") from None
            data = stream.unused_data if stream.eof else stream.unconsumed_tail
    if body and not stream.eof:
        raise Refused(400, "the compressed body ends too early")


class Rates:
    """Limits the requests per second of each key: a token bucket of one second, in the memory of this process."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._buckets: dict[str, tuple[float, float]] = {}
        self._lock = threading.Lock()

    def take(self, name: str, rate: float | None) -> bool:
        """Take one request of a key; return False if it has none left. A rate of None has no limit."""
        if rate is None:
            return True
        now, most = self._clock(), max(1.0, rate)
        with self._lock:
            left, at = self._buckets.get(name, (most, now))
            left = min(most, left + (now - at) * rate)
            allowed = left >= 1
            self._buckets[name] = (left - 1 if allowed else left, now)
        return allowed
