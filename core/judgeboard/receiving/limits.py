"""Limits of requests: the size and the elements of a body, also after decompression, and the rate of a key."""

import asyncio
import ctypes
import threading
import time
import zlib
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress

from starlette.concurrency import run_in_threadpool

from judgeboard.traces.elements import PIECE, Elements

RETRY_SECONDS = 2  # exporters drop a batch at once if the wait is long
STALLED_SECONDS = 20.0  # exporters give up after 10 s
MOST_MEMBERS = 1_000  # of gzip in one body
_FREED_SECONDS = 0.5  # after which the objects of a request are freed
LARGE_BYTES = 1 << 20  # of a body; so many are counted together during the transfer
_PROGRESS = (
    1 << 14
)  # bytes of a body that must come in time: a sender of single bytes would hold the memory for hours
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
        """After how many seconds the sender may send the same again; None if a repeat would not help."""
        return RETRY_SECONDS if self.status in {429, 503} else None


class Memory:
    """The bytes of all bodies that are under way, up to a limit."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = (
            threading.Lock()
        )  # bodies grow on the event loop and, during decompression, in threads
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

    Bytes and elements are counted during the transfer, so that a body of unknown length or a bomb
    is never whole in memory. The bytes count in ``memory`` until the body is closed.
    """

    def __init__(self, *, most: int, memory: Memory) -> None:
        self._is_compressed = False
        self._most = most
        self._memory = memory
        self._taken = self._sent = 0
        self._chunks: deque[bytes] = deque()  # as sent, until decompressed and counted
        self._pieces = self._unpacked()
        self._stream: zlib._Decompress | None = None
        self._members = 0
        self._content = bytearray()
        self._closed = False

    async def read(
        self, chunks: AsyncIterator[bytes], encoding: str | None, elements: Elements
    ) -> None:
        """Read the body as sent; without an encoding (None), the first bytes tell whether the body is compressed.

        Raises Refused, also if less than 16 KiB came within 20 seconds, and the errors of
        ``elements``.
        """
        if encoding is not None and encoding.strip().lower() not in _ENCODINGS:
            raise Refused(415, f"the content encoding {encoding!r} is not supported: use gzip")
        self._elements = elements
        self._is_compressed = encoding is not None and _ENCODINGS[encoding.strip().lower()]
        now, enough = asyncio.get_running_loop().time, _PROGRESS
        try:
            async with asyncio.timeout(STALLED_SECONDS) as limit:
                async for chunk in chunks:
                    if encoding is None and not self._sent:
                        self._is_compressed = chunk.startswith(_FIRST_BYTES)
                    self._take(self._sent, chunk)
                    self._sent += len(chunk)
                    self._chunks.append(chunk)
                    del chunk  # over gRPC, a chunk is the whole body
                    if self._sent >= enough:
                        if sum(map(len, self._chunks)) >= LARGE_BYTES:
                            await run_in_threadpool(self.is_unpacked)
                        enough = self._sent + _PROGRESS
                        limit.reschedule(now() + STALLED_SECONDS)
        except TimeoutError:
            raise Refused(
                408, f"the body did not come on for {STALLED_SECONDS:g} s: send it again"
            ) from None

    def is_unpacked(self, most: int = 2**63) -> bool:
        """Decompress and count the body up to about ``most`` bytes, and return whether the body has no more bytes.

        Call this method in a thread. Raises Refused, and the errors of the elements.
        """
        for piece in self._pieces:
            if self._closed:
                raise Refused(400, "the sender has not waited for the reply")
            self._elements.count(piece)
            if self._is_compressed:
                self._take(len(self._content), piece)
            self._content += piece
            if len(self._content) > most:
                return False
        self._pieces = self._unpacked()  # of later chunks
        return len(self._content) <= most

    def whole(self) -> bytes:
        """Return the decompressed body. A large body takes long, so call this method in a thread.

        Raises Refused, and the errors of the elements.
        """
        self.is_unpacked()
        if self._stream is not None and not self._stream.eof:
            raise Refused(400, "the compressed body ends too early")
        return bytes(self._content)

    def close(self) -> None:
        """Release the memory; nobody waits for the body any more."""
        self._memory.release(self._taken)
        was_large = self._taken > LARGE_BYTES
        self._taken, self._closed = 0, True
        self._chunks, self._content, self._pieces = deque(), bytearray(), iter(())
        if was_large:
            timer = threading.Timer(_FREED_SECONDS, return_freed_memory)
            timer.daemon = True
            timer.start()

    def _take(self, before: int, part: bytes) -> None:
        if before + len(part) > self._most:
            raise Refused(
                413, f"the body has more than {self._most / 2**20:g} MiB: send smaller batches"
            )
        self._memory.take(len(part))
        self._taken += len(part)

    def _unpacked(self) -> Iterator[bytes]:
        """Yield the pieces of the chunks, decompressed."""
        while self._chunks:
            chunk = self._chunks.popleft()
            for start in range(0, len(chunk), PIECE):
                piece = chunk[start : start + PIECE]
                yield from self._decompressed(piece) if self._is_compressed else (piece,)

    def _decompressed(self, data: bytes) -> Iterator[bytes]:
        """Yield the parts of compressed data. A gzip file may have several members, but each member costs time."""
        while data:
            if self._stream is None or self._stream.eof:
                self._members, self._stream = self._members + 1, zlib.decompressobj(_AUTOMATIC)
            if self._members > MOST_MEMBERS:
                raise Refused(
                    400,
                    f"the body has more than {MOST_MEMBERS:,} members of gzip: compress it as one",
                )
            try:
                yield self._stream.decompress(data, PIECE)
            except zlib.error:
                raise Refused(400, "the body cannot be decompressed") from None
            data = self._stream.unused_data if self._stream.eof else self._stream.unconsumed_tail


def return_freed_memory() -> None:
    """Return freed memory to the system: the allocator of Linux keeps freed memory for each thread."""
    with suppress(OSError, AttributeError):  # another system
        ctypes.CDLL(None).malloc_trim(0)


class Rates:
    """Limits the requests per second of each key: a token bucket of one second, in the memory of this process."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._buckets: dict[str, tuple[float, float]] = {}
        self._lock = threading.Lock()

    def take(self, name: str, rate: float | None) -> bool:
        """Take one request of a key; return False if the key has none left. A rate of None has no limit."""
        if rate is None:
            return True
        now, most = self._clock(), max(1.0, rate)
        with self._lock:
            tokens, at = self._buckets.get(name, (most, now))
            tokens = min(most, tokens + (now - at) * rate)
            is_allowed = tokens >= 1
            self._buckets[name] = (tokens - 1 if is_allowed else tokens, now)
        return is_allowed
