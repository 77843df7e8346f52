"""Bounds what is read of a reply: the bytes as sent and decompressed, before a client has all bytes in memory."""

import asyncio
import zlib
from collections.abc import AsyncIterator, Iterator
from typing import cast

import httpx2

MB = 2**20
ENCODINGS = "gzip, deflate"
"""The accepted encodings, which can be decompressed in small pieces."""
LARGE = MB
LARGE_AT_ONCE = 2
"""Replies of more than ``LARGE`` bytes are read two at a time: a run reads many replies at once."""
_PIECE = 2**16
_AUTOMATIC, _RAW = (
    47,
    -15,
)  # zlib finds out whether the data are gzip or zlib; some servers send neither header


class UnreadableReply(Exception):
    """The body of a reply is too large, or is compressed in another way than asked for. The text is the reason."""


class BodyLimit:
    """Counts and decompresses the bytes of one reply, at most ``limit`` bytes before and after decompression."""

    def __init__(self, encoding: str, limit: int) -> None:
        self._limit = limit
        self._byte_count = self.size = 0
        names = [name.strip().lower() for name in encoding.split(",")]
        self._compressed = [name for name in names if name not in {"", "identity"}]
        if len(self._compressed) > 1 or not set(self._compressed) <= {"gzip", "x-gzip", "deflate"}:
            raise UnreadableReply(
                f"its reply is compressed with {encoding[:40]!r}, and the request asked for gzip"
            )
        self._inflate = zlib.decompressobj(_AUTOMATIC) if self._compressed else None
        self._prefix = (
            b""  # what came before the first decompressed byte, to see whether there is a header
        )

    def pieces(self, part: bytes) -> Iterator[bytes]:
        """Yield the decompressed form of the next bytes. Raises UnreadableReply."""
        self._byte_count += len(part)
        if self._byte_count > self._limit:
            raise self._too_large()
        if self._inflate is None:
            self.size = self._byte_count
            yield part
            return
        if not self.size:
            self._prefix += part
        while part and not self._inflate.eof:
            try:
                piece = self._inflate.decompress(part, _PIECE)
            except zlib.error:
                if not self._prefix:
                    raise UnreadableReply("its reply cannot be decompressed") from None
                part, self._prefix, self._inflate = self._prefix, b"", zlib.decompressobj(_RAW)
                continue
            if piece:
                self._prefix = b""
                self.size += len(piece)
                if self.size > self._limit:
                    raise self._too_large()
                yield piece
            part = self._inflate.unconsumed_tail

    def _too_large(self) -> UnreadableReply:
        return UnreadableReply(f"reply over {self._limit / MB:.3g} MB")


class _BoundedStream(httpx2.AsyncByteStream):
    def __init__(
        self, stream: httpx2.AsyncByteStream, limit: BodyLimit, turns: asyncio.Semaphore
    ) -> None:
        self._stream, self._limit, self._turns = stream, limit, turns
        self._has_turn = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for part in self._stream:
            for piece in self._limit.pieces(part):
                if self._limit.size > LARGE and not self._has_turn:
                    await self._turns.acquire()
                    self._has_turn = True
                yield piece

    async def aclose(self) -> None:
        if self._has_turn:
            self._has_turn = False
            self._turns.release()
        await self._stream.aclose()


class ReplyLimit:
    """A response hook of an asynchronous client, which limits every reply to ``max_bytes``.

    A body that is larger, or compressed in another way than ``ENCODINGS``, raises UnreadableReply
    during reading.
    """

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._turns = asyncio.Semaphore(LARGE_AT_ONCE)

    async def __call__(self, response: httpx2.Response) -> None:
        """Replace the stream of a response, before the body is read."""
        limit = BodyLimit(
            response.headers.pop("content-encoding", ""), self._max_bytes
        )  # or it is decompressed twice
        stream = cast("httpx2.AsyncByteStream", response.stream)
        response.stream = _BoundedStream(stream, limit, self._turns)
