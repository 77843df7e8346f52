"""Recognises exports of other tools, and reads the rows of one kind.

A file is recognised by content, never by name: by the keys of the records, and where keys do not
suffice, by values.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from judgeboard.domain import Rejected, Response
from judgeboard.formats.files import Row
from judgeboard.imports.exports.entry import ContentIds, Entries, Entry
from judgeboard.imports.fields import Cells, Columns, Unusable, fault_in, simple_name
from judgeboard.imports.kinds import DEFAULT_SOURCE, kind_class
from judgeboard.imports.responses import ResponseImport
from judgeboard.imports.shapes import Shape
from judgeboard.registry.masks import masks_in_force
from judgeboard.registry.tools import tools
from judgeboard.text import counted


class Keys:
    """The keys, or columns, that a record must have.

    A record needs one of several names in parentheses. The record must have none of the keys
    ``without``. If other records have such keys too, ``holds`` decides; ``holds`` is called only
    for records with the keys.
    """

    def __init__(
        self,
        *names: str | tuple[str, ...],
        without: tuple[str, ...] = (),
        holds: Callable[[Mapping[str, Any]], bool] | None = None,
    ) -> None:
        self._every = {name for name in names if isinstance(name, str)}
        self._one_of = [each for each in names if not isinstance(each, str)]
        self._without = without
        self._holds = holds

    def fit(self, row: Mapping[str, Any]) -> bool:
        """Whether a record has the keys."""
        keys = row.keys()
        if (
            not keys >= self._every
            or any(map(keys.isdisjoint, self._one_of))
            or not keys.isdisjoint(self._without)
        ):
            return False
        return self._holds is None or self._holds(row)


@dataclass(frozen=True, slots=True)
class Export:
    """An export of a tool: the keys by which records are recognised, and the functions that read records.

    A record with any of the ``keys`` comes from the tool. ``read`` makes entries of rows, or
    ``shape`` makes rows of answers that are read by columns. ``source`` is the source of the
    answers, unless another one is chosen, so that ids of different tools do not meet. With
    ``of_traces``, the id of an answer is the id of the trace, which may also be received or pulled.
    With ``of_scores``, there are no answers: the scores belong to stored answers.
    """

    title: str
    source: str
    keys: tuple[Keys, ...]
    read: Callable[[Iterable[Row]], Entries] = lambda _rows: iter(())
    of_traces: bool = False
    of_scores: bool = False
    shape: Shape | None = None

    def matches(self, row: Mapping[str, Any]) -> bool:
        """Whether a row has one or several records of the tool."""
        return any(keys.fit(row) for keys in self.keys)


def known_exports() -> tuple[Export, ...]:
    """Return the exports of all tools in the order of recognition: exports with answers come first.

    A row of an answer may also have the few keys of a score; read as a score, the row would lose
    the answer.
    """
    return tuple(
        sorted(
            (export for tool in tools() for export in tool.exports), key=lambda each: each.of_scores
        )
    )


KINDS_OF_EXPORTS = ("responses", "verdicts", "grades")


def recognised(
    rows: Sequence[Mapping[str, Any]], kind: str, *, with_mapping: bool = False
) -> Export | None:
    """Return the export with these first rows, None if there is none.

    The rows decide together, because single rows may be empty or damaged. An export is recognised
    if more rows match the export than have columns for the required fields of the kind.
    ``with_mapping``, only exports whose columns can be mapped are tried.
    """
    if kind not in (*KINDS_OF_EXPORTS, "audits", "feedback"):
        return None
    exports = [export for export in known_exports() if export.shape is not None or not with_mapping]
    looks = [next((export for export in exports if export.matches(row)), None) for row in rows]
    counts = Counter(export for export in looks if export is not None)
    plain = sum(
        look is None and has_needed(row, kind) for row, look in zip(rows, looks, strict=True)
    )
    export, times = next(iter(counts.most_common(1)), (None, 0))
    return None if times <= plain else export


def has_needed(row: Mapping[str, Any], kind: str) -> bool:
    """Whether a row has values in columns for all required fields of a kind."""
    names = {simple_name(name) for name, value in row.items() if value not in (None, "")}
    class_ = kind_class(kind)
    return not any(names.isdisjoint(class_.columns[ours]) for ours in class_.needed)


@dataclass(frozen=True, slots=True)
class ExportedRow(Row):
    """A row of an export with its answer.

    ``answer`` is the row of the answer to which a row of another kind belongs. A row is ``judged``
    if the answer has a verdict or a grade.
    """

    answer: dict[str, Any] | None = None
    judged: bool = True


class ExportRows:
    """Reads the rows of one kind from another tool's export.

    ``others`` counts the rows of other kinds.
    """

    def __init__(self, export: Export, kind: str) -> None:
        self.others: Counter[str] = Counter()
        self._export = export
        self._kind = kind
        self._ids = ContentIds()
        self._rejected: list[Rejected] = []
        self._of_session: Counter[str] = Counter()

    def messages(self) -> Iterator[str]:
        """Yield messages about the rows so far."""
        if self._of_session:
            names = ", ".join(
                f"{name} ({counted(times, 'time')})"
                for name, times in self._of_session.most_common(30)
            )
            yield f"not read, because they are about sessions and not about answers: {names}"

    def rows(self, items: Iterable[Row | Rejected]) -> Iterator[Row | Rejected]:
        """Yield rows with the names of our fields, and rejected rows."""
        for row, entry in self._export.read(self._usable(items)):
            yield from self._waiting()
            if entry.answer is None:
                if self._kind == "responses":
                    yield Rejected(row.line, None, entry.reason or "no answer", row.values)
                continue
            self._of_session.update(entry.of_session)
            answer: dict[str, Any] | None = None
            for kind, values in self._with_id(entry):
                if (
                    kind == "responses" and "external_id" in entry.answer
                ):  # other ids are derived from the content
                    answer = values
                if kind != self._kind:
                    self.others[kind] += 1
                elif kind == "responses":
                    yield ExportedRow(row.line, values, None, bool(entry.verdicts or entry.grades))
                else:
                    yield ExportedRow(row.line, values, answer)
        yield from self._waiting()

    def _usable(self, items: Iterable[Row | Rejected]) -> Iterator[Row]:
        for item in items:
            if isinstance(item, Rejected):
                self._rejected.append(item)
            else:
                yield item

    def _waiting(self) -> Iterator[Rejected]:
        yield from self._rejected
        self._rejected.clear()

    def _with_id(self, entry: Entry) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield the kind and the row of everything in an entry, all with the id of the answer.

        An answer without an id gets an id from the content, which the verdicts share.
        """
        answer = dict(entry.answer or {})
        if self._export.of_scores:
            if "feedback" in answer:
                yield (
                    "feedback",
                    {"external_id": answer["external_id"], "feedback": answer["feedback"]},
                )
            yield from self._beside(entry, answer["external_id"])
            return
        own_id = answer.pop("external_id", None)
        if own_id is None:
            own_id = self._ids.of(answer)
        yield "responses", {"external_id": own_id, **answer}
        yield from self._beside(entry, own_id)

    @staticmethod
    def _beside(entry: Entry, own_id: str) -> Iterator[tuple[str, dict[str, Any]]]:
        for kind, rows in (
            ("verdicts", entry.verdicts),
            ("audits", entry.audits),
            ("grades", entry.grades),
        ):
            for values in rows:
                yield kind, {"external_id": own_id, **values}


class AnswersOfExport:
    """Builds the answers to which the rows of another kind belong, exactly like an import of the answers."""

    def __init__(self, textual: bool) -> None:
        self._kind = ResponseImport(DEFAULT_SOURCE)
        self._columns = Columns(self._kind.columns, left_over=self._kind.left_over)
        self._textual = textual
        self._masks = masks_in_force()
        self._row: Mapping[str, Any] | None = None
        self._answer: Response | Rejected = Rejected(0, None, "", None)

    def of(self, row: dict[str, Any], line: int) -> Response | Rejected:
        """Return the answer of a row. The rows of an answer come one after the other."""
        if row is not self._row:
            self._row, self._answer = row, self._built(row, line)
        return self._answer

    def _built(self, row: dict[str, Any], line: int) -> Response | Rejected:
        if fault := fault_in(row):
            return Rejected(line, *fault, row)
        values = self._columns.unfolded(row)
        try:
            return self._kind.build(
                Cells(
                    values,
                    *self._columns.plan(values),
                    self._textual,
                    judged=True,
                    masks=self._masks,
                )
            )
        except Unusable as error:
            return Rejected(line, error.field, error.reason, row)
