"""What a response says, and hashes of it: one finds conflicting imports, one groups answers on equal evidence."""

import hashlib
import json
from collections.abc import Sequence
from typing import Any, NamedTuple, Self

from judgeboard.domain import Response
from judgeboard.pair_records import Pair
from judgeboard.times import iso_z


def content(response: Response) -> dict[str, Any]:
    """Return what a response says, as JSON values: every stored field but its feedback and ``derived_from``.

    An inner id differs from database to database. Source and external id are left out too: they are what the content is
    looked up by, and a row without an id takes the hash of its content for one. The keys are hashed: another name for
    one gives every stored response another hash.
    """
    cost = response.generator_cost
    return {
        "query": response.query,
        "answer": response.answer,
        "passages": None if response.passages is None else list(response.passages),
        "query_type": response.query_type,
        "generator_model": response.generator_model,
        # In whole millionths: a cost that the database rounds is the same cost.
        "generator_cost_micro": None if cost is None else round(cost * 1_000_000),
        "messages": None if response.messages is None else list(response.messages),
        "reference": response.reference,
        "asked_at": None if response.asked_at is None else iso_z(response.asked_at),
        "metadata": response.metadata,
        "kind": response.kind.value,
    }


def content_hash(response: Response) -> str:
    """Return the SHA-256 (64 hex digits) of a response's content: equal content has equal hashes under different ids.

    Raises:
        ValueError: The metadata or messages hold a number that is not finite.
    """
    return hashlib.sha256(_canonical(content(response))).hexdigest()


def evidence_hash(query: str, passages: Sequence[str] | None) -> str:
    """Return the SHA-256 (64 hex digits) of a query with its passages; passages that are absent differ from none."""
    return hashlib.sha256(_canonical([query, None if passages is None else list(passages)])).hexdigest()


def evidence_group(query: str, passages: Sequence[str] | None) -> int:
    """Return the first 8 bytes of `evidence_hash` as a signed integer, which fits a BIGINT column."""
    return int.from_bytes(bytes.fromhex(evidence_hash(query, passages)[:16]), "big", signed=True)


class PairHash(NamedTuple):
    """What a pair says, in two hashes: a row without answers can still be told to ask the same question."""

    question: str
    answers: str | None

    @property
    def stored(self) -> str:
        """Both in one text, for the column."""
        return f"{self.question}:{self.answers or ''}"

    @classmethod
    def read(cls, stored: str) -> Self:
        """Return what `stored` wrote."""
        question, _, answers = stored.partition(":")
        return cls(question, answers or None)


def pair_hash(pair: Pair) -> PairHash:
    """Return the SHA-256 of a pair's question with its options and reference, and that of its answers."""
    question = [pair.question, None if pair.options is None else list(pair.options), pair.reference]
    answers = None if pair.answer_a is None else hashlib.sha256(_canonical([pair.answer_a, pair.answer_b])).hexdigest()
    return PairHash(hashlib.sha256(_canonical(question)).hexdigest(), answers)


def _canonical(value: Any) -> bytes:
    # Escaped to ASCII, so that a lone surrogate from a library caller cannot break the encoding.
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False).encode("ascii")
