"""Turns a row into one answer that a judge scored several times by one rubric."""

from typing import ClassVar

from judgeboard.domain import Response, ResponseKind
from judgeboard.importers.cells import MAX_ID, Cells, Unusable
from judgeboard.importers.left_over import metadata_in
from judgeboard.importers.pair_columns import REPEAT_FIELDS
from judgeboard.importers.pairs import raw_text
from judgeboard.importers.record_rows import RecordRows
from judgeboard.importers.samples import listed
from judgeboard.importers.scales import scale_in
from judgeboard.importers.seen_ids import SeenIds
from judgeboard.pair_records import ImportedRepeats


class RepeatRows(RecordRows[ImportedRepeats]):
    """Builds the repeatedly scored answers of one file; a null among the scores is a repeat without a usable one."""

    kind = "repeats"
    fields = REPEAT_FIELDS
    needed: ClassVar[tuple[str, ...]] = ("question", "answer", "rubric", "samples")
    left_over = "kept in metadata"

    def __init__(self, source: str | None) -> None:
        self._source = source or ""
        self._seen = SeenIds()

    def build(self, cells: Cells) -> ImportedRepeats:
        """Return the answer of a row with its scores.

        Raises:
            Unusable: A field is missing or has a value that no repeat can have.
        """
        scale = scale_in("scale", cells.required_text("scale"))
        scores = listed(cells, "samples", lambda value: None if value is None else scale.checked("samples", value))
        if not scores:
            raise Unusable("samples", "no samples: give a list of scores, null for one that could not be read")
        response = Response(
            source=cells.name("source") or self._source,
            external_id=cells.required_name("external_id", MAX_ID),
            query=cells.required_text("question"),
            answer=cells.required_text("answer"),
            query_type=cells.name("query_type") or "unspecified",
            generator_model=cells.name("generator_model"),
            reference=cells.text("reference"),
            metadata=metadata_in(cells),
            kind=ResponseKind.CANDIDATE,
        )
        judge, rubric = cells.required_name("judge"), cells.required_text("rubric")
        raws = listed(cells, "raw", raw_text, len(scores)) or [None] * len(scores)
        if not self._seen.add(f"{response.source}\0{response.external_id}\0{judge}\0{rubric}"):
            raise Unusable("external_id", f"{judge} has scored {response.external_id!r} by this rubric before")
        return ImportedRepeats(response, judge, rubric, str(scale), tuple(scores), tuple(raws))
