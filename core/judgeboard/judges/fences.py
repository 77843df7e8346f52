"""Fences around untrusted text that cannot be closed from inside."""

import hashlib
from collections.abc import Iterable
from itertools import count

from judgeboard.storable_text import storable


def fence_token(texts: Iterable[str]) -> str:
    """Return a token of 16 hexadecimal digits that stands in none of ``texts``, whatever their case.

    It is derived from the texts, so that the same item gives the same prompt and a recording can be replayed; and
    since it hangs on every character of them, nobody can write it into one of them beforehand.
    """
    folded = [text.casefold() for text in texts]
    digest = hashlib.sha256()
    for text in folded:
        raw = text.encode("utf-8", "surrogatepass")
        digest.update(len(raw).to_bytes(8, "big") + raw)
    for turn in count():
        token = hashlib.sha256(digest.digest() + turn.to_bytes(8, "big")).hexdigest()[:16]
        if not any(token in text for text in folded):
            return token
    raise AssertionError("unreachable: count() does not end")


def fenced(title: str, text: str, token: str) -> str:
    """Return ``text`` between a line that opens and a line that closes the fence ``token``.

    The text itself is unchanged but for characters that JSON over HTTP cannot carry.
    """
    return f"[BEGIN {title} {token}]\n{storable(text)[0]}\n[END {title} {token}]"
