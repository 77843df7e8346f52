"""Turns a row into a logged response, and gives an id to a row that has none."""

from dataclasses import replace
from typing import Any, ClassVar

from judgeboard.content_hash import content_hash
from judgeboard.domain import Response, ResponseKind
from judgeboard.importers.cells import MAX_ID, Cells, Unusable
from judgeboard.importers.column_names import RESPONSE_FIELDS
from judgeboard.importers.feedback import feedback_in
from judgeboard.importers.left_over import metadata_in
from judgeboard.importers.passages import passages_in
from judgeboard.importers.record_rows import RecordRows
from judgeboard.importers.seen_ids import SeenIds

MAX_COST = 1_000_000.0


class ResponseRows(RecordRows[Response]):
    """Builds the responses of one file.

    A row names its own source only beside an ``external_id``, as exports do; all others get ``source``. An id may
    occur once in a file. Without an id it is the content hash, and the k-th equal row gets ``hash-k``.
    """

    kind = "responses"
    fields = RESPONSE_FIELDS
    needed: ClassVar[tuple[str, ...]] = ("query", "answer")
    left_over = "kept in metadata"

    def __init__(self, source: str | None) -> None:
        self._source = source or ""
        self._seen = SeenIds()

    def build(self, cells: Cells) -> Response:
        """Return the response of a row.

        Raises:
            Unusable: A field is missing or has a value that no response can have.
        """
        passages, details = passages_in(cells)
        response = Response(
            source=cells.name("source") or self._source,
            external_id=cells.name("external_id", MAX_ID) or "",
            query=cells.required_text("query"),
            answer=cells.required_text("answer"),
            passages=passages,
            query_type=cells.name("query_type") or "unspecified",
            generator_model=cells.name("generator_model"),
            generator_cost=_cost(cells),
            messages=_messages(cells),
            reference=_reference(cells),
            asked_at=cells.time("asked_at"),
            metadata=metadata_in(cells, context_details=details),
            kind=cells.choice("kind", ResponseKind) or ResponseKind.LOG,
            feedback=feedback_in(cells),
        )
        return self._identified(response)

    def _identified(self, response: Response) -> Response:
        if not response.external_id:
            return replace(response, external_id=self._free_id(response))
        if not self._seen.add(f"{response.source}\0{response.external_id}"):
            raise Unusable("external_id", f"the id {response.external_id!r} is in the file before, too")
        return response

    def _free_id(self, response: Response) -> str:
        """Return the hash, or hash-k for the k-th equal row; k is found by doubling and halving, not by counting."""
        digest = content_hash(response)

        def key(number: int) -> str:
            return f"{response.source}\0{digest}" + (f"-{number}" if number > 1 else "")

        high = 1
        while key(high) in self._seen:
            high *= 2
        low = high // 2
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if key(middle) in self._seen else (low, middle)
        self._seen.add(key(high))
        return key(high).partition("\0")[2]


def _cost(cells: Cells) -> float | None:
    """Return the cost in whole millionths, as it is stored."""
    value = cells.number("generator_cost")
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= MAX_COST:
        raise Unusable("generator_cost", f"not a cost from 0 to {MAX_COST:,.0f}")
    return round(value * 1_000_000) / 1_000_000


def _messages(cells: Cells) -> tuple[dict[str, Any], ...] | None:
    messages = cells.objects("messages")
    for number, message in enumerate(messages or (), start=1):
        if not isinstance(message.get("role"), str):
            raise Unusable("messages", f"message {number} has no role")
    return messages


def _reference(cells: Cells) -> str | None:
    """Return the reference answer; of several, each stands on a line of its own."""
    value = cells.get("reference")
    if isinstance(value, list) and value and all(isinstance(item, str) for item in value):
        return "\n".join(value)
    return cells.text("reference")
