"""Turns a row into a verdict that was recorded elsewhere and still names its response by the outside id."""

from typing import ClassVar

from judgeboard.domain import (
    ImportedVerdict,
    Label,
    Status,
    Verdict,
    checked_groundedness,
    checked_quality,
)
from judgeboard.importers.cells import MAX_ID, Cells, Unusable, checked
from judgeboard.importers.column_names import VERDICT_FIELDS
from judgeboard.importers.pairs import raw_text
from judgeboard.importers.record_rows import RecordRows
from judgeboard.importers.scores import own_scale, scores_in
from judgeboard.importers.seen_ids import SeenIds


class VerdictRows(RecordRows[ImportedVerdict]):
    """Builds the verdicts of one file; a judge judges a response once in it.

    A verdict has a label, a groundedness or a quality, or several; one without any says by its ``status`` why
    (unparsable, refused, error). With a ``scale`` of its own its quality is a score on that scale, as are the numbers
    by name in ``scores``: never a quality from 1 to 4. ``source`` None means that the response is looked for in all
    sources.
    """

    kind = "verdicts"
    fields = VERDICT_FIELDS
    needed: ClassVar[tuple[str, ...]] = ("external_id", "judge")
    left_over = "not stored"

    def __init__(self, source: str | None) -> None:
        self._source = source
        self._seen = SeenIds()

    def build(self, cells: Cells) -> ImportedVerdict:
        """Return the verdict of a row.

        Raises:
            Unusable: A field is missing or has a value that no verdict can have.
        """
        response_id = cells.required_name("external_id", MAX_ID)
        judge = cells.required_name("judge")
        status = cells.choice("status", Status) or Status.OK
        label = cells.choice("label", Label)
        groundedness = checked("groundedness", checked_groundedness, cells.number("groundedness"))
        scale = own_scale(cells)
        quality = None if scale else checked("quality", checked_quality, cells.number("quality"))
        scores = scores_in(cells, scale, "scores")
        has_verdict = bool(scores) or (label, groundedness, quality) != (None, None, None)
        if has_verdict and status is not Status.OK:
            raise Unusable("status", f"a judgment that is {status} carries no verdict")
        if not has_verdict and status is Status.OK:
            raise Unusable(None, "no verdict: give label, groundedness or quality, or a status that says why not")
        verdict = Verdict(
            status=status,
            groundedness=groundedness,
            quality=quality,
            label=label,
            reasoning=cells.text("reasoning"),
            raw=raw_text(cells.get("raw")),
            error=cells.text("error"),
            scores=scores,
        )
        source = cells.name("source") or self._source
        if not self._seen.add(f"{source or ''}\0{response_id}\0{judge}"):
            raise Unusable("external_id", f"{judge} has judged {response_id!r} before in the file")
        return ImportedVerdict(response_id, judge, verdict, source)
