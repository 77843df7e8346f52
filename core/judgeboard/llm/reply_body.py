"""Bounds what is read of a reply: its bytes as sent and decompressed, before a client has them in memory."""

import asyncio
import zlib
from collections.abc import AsyncIterator, Iterator
from typing import cast

import httpx2

MB = 2**20
ENCODINGS = "gzip, deflate"
"""What a request accepts: encodings that can be decompressed in small pieces."""
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
    """Counts and decompresses the bytes of one reply, at most ``most`` of them before and after decompression."""

    def __init__(self, encoding: str, most: int) -> None:
        self._most = most
        self._sent = self.size = 0
        names = [name.strip().lower() for name in encoding.split(",")]
        self._compressed = [name for name in names if name not in {"", "identity"}]
        if len(self._compressed) > 1 or not set(self._compressed) <= {"gzip", "x-gzip", "deflate"}:
            raise UnreadableReply(
                f"its reply is compressed with {encoding[:40]!r}, and the request asked for gzip"
            )
        self._inflate = zlib.decompressobj(_AUTOMATIC) if self._compressed else None
        self._begun = (
            b""  # what came before the first decompressed byte: it shows whether there is a header
        )

    def pieces(self, sent: bytes) -> Iterator[bytes]:
        """Yield what the next bytes are when they are decompressed. Raises UnreadableReply."""
        self._sent += len(sent)
        if self._sent > self._most:
            raise self._too_large()
        if self._inflate is None:
            self.size = self._sent
            yield sent
            return
        if not self.size:
            self._begun += sent
        while sent and not self._inflate.eof:
            try:
                piece = self._inflate.decompress(sent, _PIECE)
            except zlib.error:
                if not self._begun:
                    raise UnreadableReply("its reply cannot be decompressed") from None
                sent, self._begun, self._inflate = self._begun, b"", zlib.decompressobj(_RAW)
                continue
            if piece:
                self._begun = b""
                self.size += len(piece)
                if self.size > self._most:
                    raise self._too_large()
                yield piece
            sent = self._inflate.unconsumed_tail

    def _too_large(self) -> UnreadableReply:
        return UnreadableReply(f"reply over {self._most / MB:.3g} MB")


class _BoundedStream(httpx2.AsyncByteStream):
    def __init__(
        self, sent: httpx2.AsyncByteStream, limit: BodyLimit, turns: asyncio.Semaphore
    ) -> None:
        self._sent, self._limit, self._turns = sent, limit, turns
        self._has_turn = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for part in self._sent:
            for piece in self._limit.pieces(part):
                if self._limit.size > LARGE and not self._has_turn:
                    await self._turns.acquire()
                    self._has_turn = True
                yield piece

    async def aclose(self) -> None:
        if self._has_turn:
            self._has_turn = False
            self._turns.release()
        await self._sent.aclose()


class ReplyLimit:
    """A response hook of an asynchronous client, which limits every reply to ``most`` bytes.

    A body that is larger, or compressed in another way than ``ENCODINGS``, raises UnreadableReply
    while it is read.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._turns = asyncio.Semaphore(LARGE_AT_ONCE)

    async def __call__(self, response: httpx2.Response) -> None:
        """Replace the stream of a response, before its body is read."""
        limit = BodyLimit(
            response.headers.pop("content-encoding", ""), self._most
        )  # or it is decompressed twice
        sent = cast("httpx2.AsyncByteStream", response.stream)
        response.stream = _BoundedStream(sent, limit, self._turns)
