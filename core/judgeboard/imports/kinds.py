"""KINDS lists the kinds of files that can be imported. `ImportKind` is the base class of a kind.

The help lists the kinds, and `judgeboard --help` loads no SQLAlchemy: the store is imported where
rows are stored.
"""

import re
from abc import ABC, abstractmethod
from array import array
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from judgeboard.domain import Rejected
from judgeboard.errors import check_known
from judgeboard.imports.fields import OWN_EXPORT_ONLY, Cells, ColumnNames, ColumnUse
from judgeboard.imports.labels import LabelWords
from judgeboard.registry.methods import Kind, with_methods

DEFAULT_SOURCE = "default"
SPAN_DIGITS = 16  # of the id of a span, in hexadecimal digits
_OWN_ID_OF_TRACE = re.compile("(tr-)?[0-9a-f]{32}")
"""The id of a trace as SDKs draw ids: unique."""

if TYPE_CHECKING:  # listing the kinds loads no database library
    from sqlalchemy import Connection

    from judgeboard.domain import Response
    from judgeboard.store.responses import Named, StoredContent


# Pages and help list the kinds in this order.
_OURS: dict[str, Kind] = {
    "responses": Kind(
        "judgeboard.imports.responses:ResponseImport",
        "Answers",
        "answer",
        "logged answers: question, answer, passages, ...",
    ),
    "grades": Kind(
        "judgeboard.imports.grades:GradeImport",
        "People's grades",
        "grade",
        "people's grades of answers (by response_id) or of pairs (by pair_id, per aspect)",
    ),
    "verdicts": Kind(
        "judgeboard.imports.recorded:VerdictImport",
        "Verdicts",
        "verdict",
        "a judge's verdicts, by response_id; with a column `scale`, each row is a score on that scale",
    ),
    "feedback": Kind(
        "judgeboard.imports.responses:FeedbackImport",
        "Users' feedback",
        "user rating",
        "users' feedback on stored answers: thumbs or stars, by response_id",
    ),
    "pairs": Kind(
        "judgeboard.imports.pairs:PairImport",
        "Pairs of answers",
        "row",
        "two answers to a question, with a judge's verdicts in both orders and people's preferences",
        "judgeboard compare --recorded --judge-version NAME",
    ),
    "comparisons": Kind(
        "judgeboard.imports.pairs:ComparisonImport",
        "Verdicts on pairs",
        "verdict",
        "a judge's verdicts on pairs, by pair_id, with one order per row",
        "judgeboard compare --recorded --judge-version NAME",
    ),
    "audits": Kind(
        "judgeboard.imports.audits:AuditImport",
        "Audits",
        "audit",
        "reviews of a judge's verdicts by a second judge (supreme judge), as `judgeboard export audits` writes them",
    ),
}

KINDS = with_methods("kind of import", _OURS, lambda each: each.imports)


def kind_class(kind: str) -> type["ImportKind[Any]"]:
    """Return the class of a kind."""
    check_known("--kind", kind, KINDS)
    module, _, name = KINDS[kind].home.partition(":")
    class_: type[ImportKind[Any]] = getattr(import_module(module), name)
    return class_


Record = TypeVar("Record")


@dataclass(slots=True)
class Stored:
    """The result of storing one batch; ``imports`` are the earlier imports of the rows from which some records differ.

    The line of a problem is the place of the record in the batch, from 0.
    """

    new: int = 0
    unchanged: int = 0
    feedback_added: int = 0
    problems: list[Rejected] = field(default_factory=list)
    imports: set[int] = field(default_factory=set)


class ImportKind(ABC, Generic[Record]):
    """Builds the records of one file and stores them.

    ``source`` is the source of rows that name no source. For kinds that refer to stored responses
    or pairs, ``source`` is the source of the stored rows (None: any). ``columns`` has the other
    names of each field. The fields ``needed`` show the kind of a row. ``left_over`` tells people
    how columns that are not fields are handled. ``brings_answers`` is False for kinds that only
    refer to stored responses or pairs. ``choices`` has the values of fields with few values. Fields
    in ``own_export_only`` are read only in files with a column ``external_id``. ``labels`` counts
    the words for labels. With ``newer_counts``, a verdict that differs from the stored one is a
    newer one. ``batch_id`` is the import batch of the records that are stored next, None without a
    file. ``runs`` has the runs of recorded judges by judge version. With ``of_traces``, the answers
    come from traces: a trace is one answer, whatever the source. ``tool_source`` is the source of
    the tool whose export is read, if no source was chosen. ``file_answers`` has the answers in the
    file, by id, to which the records that are stored next belong. ``row_ids`` has the ids of the
    rows with the conversations of these answers. ``aspects_added`` counts the stored verdicts on
    pairs that got further aspects.
    """

    columns: ClassVar[ColumnNames]
    needed: ClassVar[tuple[str, ...]]
    left_over: ClassVar[str] = "not stored"
    brings_answers: ClassVar[bool] = False
    choices: ClassVar[Mapping[str, type[StrEnum]]] = {}
    own_export_only: ClassVar[frozenset[str]] = OWN_EXPORT_ONLY
    batch_id: int | None = None

    def __init__(self, source: str | None, actor: str = "library") -> None:
        self.source = source
        self.actor = actor
        self.seen = SeenIds()
        self.labels = LabelWords()
        self.newer_counts = False
        self.runs: dict[int, int] = {}
        self.aspects_added = 0
        self.of_traces = False
        self.tool_source: str | None = None
        self.file_answers: dict[str, Response] = {}
        self.row_ids: dict[str, str] = {}

    def messages(self) -> Iterator[str]:
        """Yield messages about the rows so far, apart from rejected rows."""
        yield from ()

    @classmethod
    def required(cls, fields: Collection[str]) -> tuple[str, ...]:  # noqa: ARG003 - grades depend on them
        """Return the required fields of a file with columns for ``fields``."""
        return cls.needed

    @classmethod
    def other_step(cls, fields: Collection[str]) -> str | None:  # noqa: ARG003 - pairs depend on them
        """Return the next step for a file with columns for ``fields`` but not for all required fields, if known."""
        return None

    @classmethod
    def reads_left_over(cls, fields: Collection[str]) -> bool:  # noqa: ARG003 - grades depend on them
        """Whether other columns are read too, in a file with columns for ``fields``."""
        return False

    def look(self, rows: Sequence[Cells]) -> dict[str, str]:  # noqa: ARG002 - for kinds that look
        """Learn from the first rows what other rows do not show. Return likely values of all rows, to be confirmed."""
        return {}

    def uses(self, columns: Sequence[ColumnUse]) -> Sequence[ColumnUse]:
        """Return the report on the columns, with columns that the kind reads although no field names them."""
        return columns

    @abstractmethod
    def build(self, cells: Cells) -> Record:
        """Return the record of a row. Raises Unusable if a field is missing or has a wrong value."""

    @abstractmethod
    def store(self, connection: "Connection", records: Sequence[Record], now: datetime) -> Stored:
        """Store the new records of a batch in the caller's transaction."""

    def responses_named(
        self, connection: "Connection", ids: Collection[str]
    ) -> dict[str, list["Named"]]:
        """Return the responses with these external ids; responses of traces also by the id of the answer's span."""
        from judgeboard.store.responses import responses_named, responses_of_spans

        responses = responses_named(connection, ids)
        # Only ids of spans are looked for: the search reads all responses, and ids of traces
        # without an answer are common.
        others = {
            id_ for id_ in set(ids) - responses.keys() if self.of_traces and len(id_) == SPAN_DIGITS
        }
        return responses | (responses_of_spans(connection, others) if others else {})

    def find_answers(
        self,
        connection: "Connection",
        rows: "RowOutcomes",
        names: Mapping[int, tuple[str, str | None]],
    ) -> dict[int, "Named"]:
        """Return the stored response of each row (`RowOutcomes.find`).

        A row of an export belongs to an answer in the file. The row is refused if the answer is
        stored with other content.
        """
        from judgeboard.store.responses import stored_contents

        responses = self.responses_named(
            connection, {external_id for external_id, _ in names.values()}
        )
        in_file = responses.keys() & self.file_answers.keys()
        with_answer = [each.id for external_id in in_file for each in responses[external_id]]
        contents = stored_contents(connection, with_answer) if with_answer else {}
        same_answers = {
            external_id: self._of_tool(
                [each for each in same_id if self._is_same(external_id, contents.get(each.id))]
            )
            for external_id, same_id in responses.items()
        }
        for index, (external_id, source) in names.items():
            of_source = [
                each
                for each in responses.get(external_id, ())
                if source is None or each.source == source
            ]
            if of_source and not set(of_source) & set(same_answers[external_id]):
                reason = f"its answer is rejected: {external_id!r} is stored with other content"
                rows.refuse(index, "external_id", reason, differs=True)
        remaining = {index: name for index, name in names.items() if index not in rows.problems}
        return rows.find(
            "response", "external_id", remaining, same_answers, of_traces=self.of_traces
        )

    def _is_same(self, external_id: str, content: "StoredContent | None") -> bool:
        answer = self.file_answers.get(external_id)
        return answer is None or content is None or self.is_same(answer, content)

    def is_same(self, answer: "Response", content: "StoredContent") -> bool:
        """Whether a stored answer with the id of an answer in the file is this answer.

        The answer of a trace may differ. But an id that an application chose, such as "chat-1", may
        be another trace's. Then the question differs.
        """
        from judgeboard.store.responses import content_hash

        if self.of_traces and (
            _OWN_ID_OF_TRACE.fullmatch(answer.external_id) or content.query in {None, answer.query}
        ):
            return True
        return content.content_hash == content_hash(answer)

    def _of_tool(self, responses: list["Named"]) -> list["Named"]:
        """Return the responses in the source of the tool, else in the default source, which earlier imports used."""
        if self.tool_source is None or len(responses) < 2:
            return responses
        sources = [self.tool_source, DEFAULT_SOURCE]
        return next(
            (
                of_source
                for name in sources
                if (of_source := [each for each in responses if each.source == name])
            ),
            responses,
        )

    def finish(self, connection: "Connection", now: datetime) -> int:  # noqa: ARG002 - most kinds have nothing open
        """Finish after the last batch. Return how many rows are new that `store` counted as unchanged."""
        return 0


class RowOutcomes:
    """The results of the rows of one batch: new, refused, or (the rest) unchanged."""

    def __init__(self, rows: int) -> None:
        self._rows = rows
        self.new: set[int] = set()
        self.problems: dict[int, Rejected] = {}

    def refuse(self, index: int, field_: str | None, reason: str, *, differs: bool = False) -> None:
        """Refuse a row; the first reason is kept."""
        self.problems.setdefault(index, Rejected(index, field_, reason, None, differs))

    def find(
        self,
        what: str,
        field_: str,
        names: Mapping[int, tuple[str, str | None]],
        items: Mapping[str, Sequence["Named"]],
        *,
        of_traces: bool = False,
    ) -> dict[int, "Named"]:
        """Return the stored response or pair of each row. Refuse a row that matches none or several.

        ``what`` is "response" or "pair". ``names`` has, by row, the value of ``field_`` and the
        source (None: any). The answer of a trace may be in another source.
        """
        matches: dict[int, Named] = {}
        for index, (external_id, source) in names.items():
            same_id = items.get(external_id, ())
            candidates = [each for each in same_id if source is None or each.source == source]
            if of_traces:
                candidates = candidates or list(same_id)
            if len(candidates) == 1:
                matches[index] = candidates[0]
                continue
            reason = (
                f"no {what} {external_id!r}{'' if source is None else f' in source {source!r}'}"
            )
            reason += f": import the {what}s first"
            if candidates:
                sources = " and ".join(repr(each.source) for each in candidates)
                reason = (
                    f"{external_id!r} is in the sources {sources}: choose one with --source, or "
                    f"in the field source"
                )
            self.refuse(index, field_, reason)
        return matches

    def stored(self) -> Stored:
        """Return the counts; a row with a problem is neither new nor unchanged."""
        new = len(self.new - self.problems.keys())
        problems = [self.problems[index] for index in sorted(self.problems)]
        return Stored(new, self._rows - new - len(problems), problems=problems)


_CONTENT_BITS = 16


class SeenIds:
    """Texts that were seen, as 64-bit hashes with 16 bits of a content hash: ten bytes for each text.

    A set or a dict of numbers takes a hundred bytes for each. The first bits of a hash select an
    array, which holds the other bits. Two texts share a hash in about one of thirty million files
    with a million texts.
    """

    def __init__(self) -> None:
        from hashlib import blake2b  # it loads OpenSSL, which the list of kinds does not need

        self._arrays: defaultdict[int, array[int]] = defaultdict(partial(array, "Q"))
        self._blake2b = blake2b

    def add(self, key: str) -> bool:
        """Add a text and return whether it is new."""
        return self.same(key, 0) is None

    def same(self, key: str, content: int) -> bool | None:
        """Add a text; None for a new text, otherwise whether the content hash equals the first one."""
        hashes, entry = self._place(key)
        entry |= content % (1 << _CONTENT_BITS)
        for each in hashes:
            if each >> _CONTENT_BITS == entry >> _CONTENT_BITS:
                return each == entry
        hashes.append(entry)
        return None

    def __contains__(self, key: str) -> bool:
        hashes, entry = self._place(key)
        return any(each >> _CONTENT_BITS == entry >> _CONTENT_BITS for each in hashes)

    def _place(self, key: str) -> tuple["array[int]", int]:
        """Return the array of a text, and the entry in the array for a text whose content hash is 0."""
        number = int.from_bytes(
            self._blake2b(key.encode("utf-8", "surrogatepass"), digest_size=8).digest()
        )
        place, bits = divmod(number, 1 << 48)
        return self._arrays[place], bits << _CONTENT_BITS
