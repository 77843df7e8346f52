"""Turns a row into a person's grade that still names its response, or its pair, by the outside id."""

from collections.abc import Collection
from typing import Any, ClassVar

from judgeboard.domain import Grade, ImportedGrade, Label, checked_groundedness, checked_quality
from judgeboard.importers.cells import MAX_ID, Cells, Unusable, checked
from judgeboard.importers.column_names import GRADE_FIELDS
from judgeboard.importers.json_text import json_kind
from judgeboard.importers.preferences import aspects_in, preference_word, shown_word, with_preference
from judgeboard.importers.record_rows import RecordRows
from judgeboard.importers.scales import scale_of_pairs
from judgeboard.importers.scores import own_scale, scores_in
from judgeboard.importers.seen_ids import SeenIds
from judgeboard.pair_records import GivenPreference, ImportedPreference


class GradeRows(RecordRows[ImportedGrade | ImportedPreference]):
    """Builds the grades of one file; a person grades a response once in it.

    A grade has a label, a groundedness or a quality, or several; a note, spans and a corrected answer come beside.
    With a ``scale`` of its own its quality is a score on that scale, as are the numbers by name in ``aspects``.
    ``source`` None means that the response is looked for in all sources.
    """

    kind = "grades"
    fields = GRADE_FIELDS
    needed: ClassVar[tuple[str, ...]] = ("annotator",)
    left_over = "not stored"

    def __init__(self, source: str | None) -> None:
        self._source = source
        self._seen = SeenIds()

    def build(self, cells: Cells) -> ImportedGrade | ImportedPreference:
        """Return the grade of a row; one that names a ``pair_id`` is what a person said of that pair.

        Raises:
            Unusable: A field is missing or has a value that no grade can have.
        """
        if cells.get("pair_id") is not None:
            return self._of_pair(cells)
        response_id = cells.required_name("external_id", MAX_ID)
        annotator = cells.required_name("annotator")
        scale = own_scale(cells)
        scores = scores_in(cells, scale, "aspects")
        grade = Grade(
            label=cells.choice("label", Label),
            groundedness=checked("groundedness", checked_groundedness, cells.number("groundedness")),
            quality=None if scale else checked("quality", checked_quality, cells.number("quality")),
            spans=_spans(cells),
            note=cells.text("note"),
            corrected_answer=cells.text("corrected_answer"),
        )
        if not scores and (grade.label, grade.groundedness, grade.quality) == (None, None, None):
            raise Unusable(None, "no grade: give label, groundedness or quality")
        at = cells.time("at")
        source = cells.name("source") or self._source
        if not self._seen.add(f"{source or ''}\0{response_id}\0{annotator}"):
            raise Unusable("external_id", f"{annotator} has graded {response_id!r} before in the file")
        return ImportedGrade(response_id, annotator, grade, source, at, scores)

    def reads_left_over(self, fields: Collection[str]) -> bool:
        """Whether further columns are read: of what people said of pairs each is an aspect, unless one names them."""
        return "pair_id" in fields and "aspects" not in fields

    def _of_pair(self, cells: Cells) -> ImportedPreference:
        pair_id, annotator = cells.required_name("pair_id", MAX_ID), cells.required_name("annotator")
        source = cells.name("source") or self._source
        preference, shown = cells.get("preference"), shown_word("shown", cells.get("shown"))
        aspects = with_preference(
            aspects_in("", _aspect_columns(cells), scale_of_pairs("scale", cells.text("scale"))),
            None if preference is None else preference_word("preference", preference),
        )
        if not aspects:
            raise Unusable(None, "no preference: give preference (A, B or tie), or aspects with sides or grades")
        if not self._seen.add(f"pair\0{source or ''}\0{pair_id}\0{annotator}\0{shown or ''}"):
            raise Unusable("pair_id", f"{annotator} has judged the pair {pair_id!r} before in the file")
        given = GivenPreference(annotator, aspects, shown, cells.text("note"), cells.time("at"))
        return ImportedPreference(pair_id, given, source)


def _aspect_columns(cells: Cells) -> dict[str, Any]:
    """Return the columns that are aspects of a pair: those of ``aspects``, else every column that is no other field."""
    given = cells.json("aspects")
    if given is not None:
        if not isinstance(given, dict):
            raise Unusable("aspects", f"{json_kind(given)} where an object should be")
        return given
    names = (*cells.extra, *(cells.taken[field] for field in ("groundedness", "quality") if field in cells.taken))
    return {name: cells.values[name] for name in names if not (cells.textual and cells.values[name] == "")}


def _spans(cells: Cells) -> tuple[dict[str, Any], ...] | None:
    """Return the marked parts of the answer; ``start`` and ``end`` are offsets into it."""
    spans = cells.objects("spans")
    for number, span in enumerate(spans or (), start=1):
        ends = (span.get("start"), span.get("end"))
        if ends != (None, None) and not _is_part(*ends):
            raise Unusable("spans", f"span {number} does not run from one character of the answer to a later one")
    return spans


def _is_part(start: Any, end: Any) -> bool:
    whole = all(isinstance(value, int) and not isinstance(value, bool) for value in (start, end))
    return whole and 0 <= start <= end
