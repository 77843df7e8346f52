"""Remembers which ids a file has had, in 16 bytes each and the free room of one hash table."""

from hashlib import blake2b

_DIGEST = 16
_FREE = bytes(_DIGEST)
_FIRST_SLOTS = 1024


class SeenIds:
    """A set of texts kept as 128-bit digests in one open-addressing table, which is at most two thirds full.

    That is 24 to 48 bytes an id, where a set of digests takes more than 100. Two ids share a digest once in about
    10^26 files of a million ids.
    """

    def __init__(self) -> None:
        self._table = bytearray(_FIRST_SLOTS * _DIGEST)
        self._slots = _FIRST_SLOTS
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def __contains__(self, key: str) -> bool:
        digest = _digest(key)
        return self._held(self._place(digest)) == digest

    def add(self, key: str) -> bool:
        """Remember an id and return whether it is new."""
        digest = _digest(key)
        place = self._place(digest)
        if self._held(place) == digest:
            return False
        self._table[place : place + _DIGEST] = digest
        self._count += 1
        if self._count * 3 > self._slots * 2:
            self._grow()
        return True

    def _held(self, place: int) -> bytes:
        return bytes(self._table[place : place + _DIGEST])

    def _place(self, digest: bytes) -> int:
        """Return where the digest stands, or the free place where it belongs."""
        slot = int.from_bytes(digest[:8], "little") % self._slots
        while self._held(slot * _DIGEST) not in {digest, _FREE}:
            slot = (slot + 1) % self._slots
        return slot * _DIGEST

    def _grow(self) -> None:
        old = self._table
        self._slots *= 2
        self._table = bytearray(self._slots * _DIGEST)
        for start in range(0, len(old), _DIGEST):
            digest = bytes(old[start : start + _DIGEST])
            if digest != _FREE:
                place = self._place(digest)
                self._table[place : place + _DIGEST] = digest


def _digest(key: str) -> bytes:
    return blake2b(key.encode("utf-8", "surrogatepass"), digest_size=_DIGEST).digest()
