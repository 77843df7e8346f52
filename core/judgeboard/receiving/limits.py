"""Limits of requests: the size of a body, also after decompression, and the rate of a key."""

import threading
import time
import zlib
from collections.abc import AsyncIterator, Callable

RETRY_SECONDS = 2  # exporters drop a batch at once if they are told to wait for long
_PIECE = 1 << 20
_AUTOMATIC = 47  # zlib finds out whether the data are gzip or zlib
_ENCODINGS = {"": False, "identity": False, "gzip": True, "deflate": True}


class Refused(Exception):
    """A request is refused with an HTTP status; the text is for the sender. ``key`` is the name of its key."""

    def __init__(self, status: int, reason: str, key: str = "unknown") -> None:
        super().__init__(reason)
        self.key = key
        self.status = status
        self.reason = reason


async def read_body(chunks: AsyncIterator[bytes], encoding: str, *, most: int) -> bytes:
    """Return the decompressed body of a request of at most ``most`` bytes, before and after decompression.

    Bytes are counted while they come, so that a body of unknown length or a bomb is never whole in memory. Raises
    Refused.
    """
    compressed = _ENCODINGS.get(encoding.strip().lower())
    if compressed is None:
        raise Refused(415, f"the content encoding {encoding!r} is not supported: use gzip")
    body = Body(most, compressed=compressed)
    async for chunk in chunks:
        body.add(chunk)
    return body.whole()


class Body:
    """Collects a body and decompresses it on the way."""

    def __init__(self, most: int, *, compressed: bool) -> None:
        self._most = most
        self._received = 0
        self._parts: list[bytes] = []
        self._size = 0
        self._compressed = compressed
        self._stream = zlib.decompressobj(_AUTOMATIC)

    def add(self, chunk: bytes) -> None:
        """Add a chunk as received."""
        self._received += len(chunk)
        if self._received > self._most:
            raise self._too_large()
        if self._compressed:
            self._decompress(chunk)
        else:
            self._keep(chunk)

    def whole(self) -> bytes:
        """Return the body, after its last chunk."""
        if self._compressed and self._received and not self._stream.eof:
            raise Refused(400, "the compressed body ends too early")
        return b"".join(self._parts)

    def _decompress(self, chunk: bytes) -> None:
        data = chunk
        while data:
            if self._stream.eof:  # a gzip file may have several parts
                self._stream = zlib.decompressobj(_AUTOMATIC)
            try:
                self._keep(self._stream.decompress(data, _PIECE))
            except zlib.error:
                raise Refused(400, "the body cannot be decompressed") from None
            data = self._stream.unused_data if self._stream.eof else self._stream.unconsumed_tail

    def _keep(self, part: bytes) -> None:
        self._size += len(part)
        if self._size > self._most:
            raise self._too_large()
        if part:
            self._parts.append(part)

    def _too_large(self) -> Refused:
        return Refused(413, f"the body has more than {self._most / 2**20:g} MiB: send smaller batches")


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
