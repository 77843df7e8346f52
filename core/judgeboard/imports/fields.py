"""The fields of a row: `Columns` chooses the column of each field, and `Cells` checks the type of its value."""

import json
import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Any, TypeVar

from judgeboard.errors import BadInput
from judgeboard.formats.jsonl import json_kind
from judgeboard.imports.dates import DateOrder, read_time
from judgeboard.imports.values import MISSING, Meanings, is_missing, spelled_number, word_of
from judgeboard.registry.masks import masks_in_force
from judgeboard.store.filters import metadata_field, metadata_path, value_at
from judgeboard.text import MAX_NAME

ColumnNames = Mapping[str, tuple[str, ...]]
Plan = tuple[Mapping[str, str], tuple[str, ...]]
"""For rows with one set of columns: the column of each field, and the other columns."""

EXTRA = "extra"  # with --map COLUMN=extra, the column is not recognised as a field
# These names are fields only in files with a column `external_id`, such as Judgeboard's own
# exports. In other files, a "source" can be the address of a document, and a "kind" can be
# anything. A kind of files may have more such fields.
OWN_EXPORT_ONLY = frozenset({"source", "kind"})

PER_PERSON = frozenset({"human"})
"""Fields with one column per person: --map COLUMN=human.NAME."""

MAX_COLUMNS = 1000  # limits memory if every row has other keys; the report can have one more, to show the excess
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_NOT_WORD = re.compile(r"\W+")
_BY_MAP, _BY_NAME = "mapped", "recognised by name"


@dataclass(slots=True)
class ColumnUse:
    """The use of a column: ``ours`` is the field, ``how`` the reason for the choice, ``example`` a first value.

    A column that is not a field has ``ours`` None. A field without a column has ``theirs`` None.
    ``sure`` is False if a person must choose the meaning of the column. ``unasked`` is True if the
    column has values, is not read, and no mapping excludes it. ``times`` is the number of values in
    the column.
    """

    ours: str | None
    theirs: str | None
    how: str
    example: Any = None
    sure: bool = True
    unasked: bool = False
    times: int = 0


def parse_mapping(pairs: Iterable[str]) -> dict[str, str]:
    """Return ``{theirs: ours}`` from texts like ``THEIRS=ours``."""
    mapping: dict[str, str] = {}
    for pair in pairs:
        theirs, equals, ours = pair.rpartition("=")
        if not equals or not theirs or not ours:
            raise BadInput(f"--map {pair}: write it as THEIRS=ours, for example --map Frage=query")
        if theirs in mapping:
            raise BadInput(f"--map names the column {theirs!r} twice")
        mapping[theirs] = ours
    return mapping


NESTED_DEPTH = 4
MAX_NESTED = 200


def nested_names(values: Mapping[str, Any]) -> list[str]:
    """Return the names of values inside objects and in the first items of lists, such as ``input.question``."""
    waiting: list[tuple[tuple[str | int, ...], Any]] = [
        ((name,), value) for name, value in values.items() if name
    ]
    names: list[str] = []
    while waiting and len(names) < MAX_NESTED:
        path, value = waiting.pop(0)
        first = enumerate(value[:1]) if isinstance(value, list) else ()
        inner = value.items() if isinstance(value, dict) else first
        if len(path) > 1 and value is not None:
            names.append(metadata_field(path))
        if len(path) < NESTED_DEPTH:
            waiting += [((*path, key), each) for key, each in inner if key != ""]
    return names


def _without(values: dict[str, Any], path: Sequence[Any]) -> dict[str, Any]:
    """Return an object without the value at a path of keys. Objects that become empty are removed too."""
    key, *inner_path = path
    if key not in values or (inner_path and not isinstance(values[key], dict)):
        return values
    inner = _without(values[key], inner_path) if inner_path else {}
    return {
        name: inner if name == key else value
        for name, value in values.items()
        if name != key or inner
    }


class Columns:
    """Decides which column is which field, for each set of columns in the rows of a file.

    ``fields`` has the other names of each field. ``mapping``, ``{theirs: ours}``, takes precedence
    over names; with dots, ``theirs`` may be the path to a value inside a column, and ``ours`` the
    name of a value in a field of `PARTS`. ``constants`` has the values of fields that are the same
    in all rows. ``left_over`` is the report's text for columns that are not fields.
    ``reads_left_over`` returns whether such columns are read anyway, given the fields that have a
    column. Feedback with one of the ``meanings`` is not ambiguous. ``own_export_only`` are fields
    that only files with a column `external_id` have.
    """

    def __init__(
        self,
        fields: ColumnNames,
        mapping: Mapping[str, str] | None = None,
        *,
        left_over: str,
        reads_left_over: Callable[[Collection[str]], bool] = lambda _fields: False,
        meanings: Meanings | None = None,
        constants: Mapping[str, str] | None = None,
        own_export_only: Collection[str] = OWN_EXPORT_ONLY,
    ) -> None:
        self._fields = fields
        self._own_export_only = own_export_only
        self._parts = {
            theirs: part
            for theirs, ours in (mapping or {}).items()
            if (part := _part(fields, ours))
        }
        whole_columns = {
            theirs: ours for theirs, ours in (mapping or {}).items() if theirs not in self._parts
        }
        self._mapping = {
            theirs: field_meant(fields, theirs, ours) for theirs, ours in whole_columns.items()
        }
        # The names that may mean a value inside a column.
        self._nested: dict[str, tuple[str | int, ...]] = {}
        for theirs in (*self._mapping, *self._parts):
            with suppress(BadInput):
                if len(path := metadata_path(theirs)) > 1:
                    self._nested[theirs] = path
        self._constants = {
            field_meant(fields, ours, ours, "--set"): value
            for ours, value in (constants or {}).items()
        }
        self._unseen_parts = set(self._parts)
        if doubled := self._constants.keys() & {*self._mapping.values()}:
            raise BadInput(f"--set and --map both give {min(doubled)}: keep one")
        self._left_over = left_over
        self._reads_left_over = reads_left_over
        self._feedback_words = (meanings or {}).get("feedback", {})
        self._plans: dict[tuple[str, ...], Plan] = {}
        self._uses: dict[str, ColumnUse] = {}
        self._unsure: dict[
            str, set[int]
        ] = {}  # values of columns of feedback that may be thumbs or stars
        targets = [ours for ours in self._mapping.values() if ours != EXTRA]
        if twice := next((ours for ours in targets if targets.count(ours) > 1), None):
            names = " and ".join(
                repr(theirs) for theirs, ours in self._mapping.items() if ours == twice
            )
            raise BadInput(f"--map maps two columns to {twice}, {names}: keep one")

    @property
    def unseen(self) -> list[str]:
        """The columns in the mapping that are in no row so far."""
        return [
            *(theirs for theirs in self._mapping if theirs not in self._uses),
            *sorted(self._unseen_parts),
        ]

    def known(self, *, nested: bool) -> list[str]:
        """Return the first columns of the rows so far. With ``nested``, add the names of nested values."""
        examples = {name: column.example for name, column in self._uses.items()}
        return [*list(examples)[:30], *(nested_names(examples)[:30] if nested else ())]

    def unfolded(self, values: dict[str, Any]) -> dict[str, Any]:
        """Return a row with a separate column for each value inside a column that the mapping names.

        Columns that are parts of a field become the object of the field. A constant becomes a
        column with the name of the field.
        """
        row = values
        for theirs, path in self._nested.items():
            value = None if theirs in values else value_at(values, path)
            if value is not None:
                row = {**_without(row, path), theirs: value}
        for theirs, (ours, name) in self._parts.items():
            if theirs in row:
                self._unseen_parts.discard(theirs)
                inner, value = _object_in(row.get(ours)), row[theirs]
                if not is_missing(value):
                    inner = {
                        **inner,
                        name: spelled_number(value) if isinstance(value, str) else value,
                    }
                row = {
                    **{
                        each: cell
                        for each, cell in row.items()
                        if each != theirs or is_beside(ours)
                    },
                    ours: inner,
                }
        return {**row, **self._constants} if self._constants else row

    def parts_of(self, row: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
        """Yield the values in fields of `PARTS`, such as ``scores.fluency``, of an unfolded row."""
        for ours, name in self._parts.values():
            value = _object_in(row.get(ours)).get(name)
            if value is not None:
                yield f"{ours}.{name}", value

    def plan(self, values: Mapping[str, Any], *, counts: bool = True) -> Plan:
        """Return the plan for a row with these columns, and add the row to the report.

        Without ``counts``, the values are not counted: reading the row plans the row again.
        """
        names = tuple(values)
        plan = self._plans.get(names)
        if plan is None:
            if len(self._plans) == MAX_COLUMNS:
                self._plans.clear()
            plan = self._plans[names] = self._decide(names)
        self._note(values, 1 if counts else 0)
        return plan

    def report(self) -> tuple[ColumnUse, ...]:
        """Return a line for every field, and for every column that is not a field."""
        lines: list[ColumnUse] = []
        folded = {ours for ours, _ in self._parts.values()}
        persons = [
            ours for ours in self._mapping.values() if ours != EXTRA and ours not in self._fields
        ]
        for ours in (*self._fields, *persons):
            uses = [
                self._line(column)
                for column in self._uses.values()
                if column.ours == ours and ours not in folded
            ]
            lines += uses or (
                [ColumnUse(ours, None, "not in the file")] if self._fields.get(ours) else []
            )
        parts = {
            theirs: part for theirs, part in self._parts.items() if theirs not in self._unseen_parts
        }
        lines += [
            ColumnUse(f"{ours}.{name}", theirs, _BY_MAP) for theirs, (ours, name) in parts.items()
        ]
        read = self._reads_left_over(
            {column.ours for column in self._uses.values() if column.ours is not None}
        )
        for theirs, column in self._uses.items():
            if column.ours is None and theirs not in parts:
                unasked = column.example is not None and theirs not in self._mapping and not read
                lines.append(replace(column, unasked=unasked))
        return tuple(lines)

    def _line(self, column: ColumnUse) -> ColumnUse:
        if column.ours in self._constants:
            return replace(column, how="the same in all rows")
        if (unsure := self._unsure.get(column.theirs or "")) is None:
            return replace(column)
        *others, last = map(str, sorted(unsure, reverse=True))
        values = f"{', '.join(others)} and {last}" if others else last
        how = f"{'values' if others else 'value'} {values} left out: thumbs or stars?"
        return replace(column, how=how, sure=False)

    def _decide(self, names: tuple[str, ...]) -> Plan:
        column_of = {
            self._mapping[name]: name for name in names if self._mapping.get(name, EXTRA) != EXTRA
        }
        how = dict.fromkeys(column_of.values(), _BY_MAP)
        how |= {
            name: f"{_BY_MAP}: {self._left_over}"
            for name in names
            if self._mapping.get(name) == EXTRA
        }
        simple: dict[str, str] = {}
        for name in names:
            if name not in self._mapping:
                simple.setdefault(simple_name(name), name)
        own_export = "external_id" in simple
        for ours, other_names in self._fields.items():
            candidates = [
                simple[name]
                for name in other_names
                if name in simple and simple[name] not in column_of.values()
            ]
            if not candidates or (ours in self._own_export_only and not own_export):
                continue
            if ours not in column_of:
                column_of[ours] = candidates.pop(0)
                how[column_of[ours]] = _BY_NAME
            for name in candidates:
                how.setdefault(name, f"{self._left_over}: {ours} is taken from {column_of[ours]!r}")
        uses = {theirs: ours for ours, theirs in column_of.items()}
        for name in names:
            use = self._uses.get(name)
            if use is None and len(self._uses) <= MAX_COLUMNS:
                self._uses[name] = ColumnUse(uses.get(name), name, how.get(name, self._left_over))
            elif use is not None and use.ours is None and name in uses:
                use.ours, use.how = uses[name], how[name]
        # The metadata of an answer also keep the columns of verdicts and grades, so that another
        # mapping gives the same answer.
        return column_of, tuple(
            name
            for name in names
            if (name not in uses or is_beside(uses[name])) and not is_beside(name)
        )

    def _note(self, values: Mapping[str, Any], times: int) -> None:
        for name, value in values.items():
            column = self._uses.get(name)
            if column is None or value is None or value == "":
                continue
            column.times += times
            if column.example is None:
                column.example = value if not isinstance(value, str) else value[:200]
            if (
                column.ours == "feedback"
                and may_be_either(value)
                and word_of(value) not in self._feedback_words
            ):
                self._unsure.setdefault(name, set()).add(int(spelled_number(str(value))))


def _object_in(value: Any) -> dict[str, Any]:
    """Return an object, also from a JSON text; an empty object for other values."""
    if isinstance(value, str):
        with suppress(Unusable):
            value = parsed_json("", value)
    return value if isinstance(value, dict) else {}


BESIDE = ("verdicts", "grades")
"""The kinds of rows that a file may have beside answers. The names of these fields start with the kind."""


def is_beside(ours: str) -> bool:
    """Whether a field is one of a verdict or a grade beside an answer, such as ``verdicts.label``."""
    return ours.startswith(tuple(f"{kind}." for kind in BESIDE))


PARTS = ("verdicts.scores", "grades.aspects", "aspects", "scores", "fields")
"""Fields with values by name."""


def _part(fields: ColumnNames, ours: str) -> tuple[str, str] | None:
    """Return the field and the name of a value in the field, such as ``scores.fluency``; None for a whole field."""
    for part in PARTS:
        field = next((each for each in fields if part == each or part in fields[each]), None)
        if field is not None and ours.startswith(f"{part}."):
            return field, ours.removeprefix(f"{part}.")
    return None


def field_meant(fields: ColumnNames, theirs: str, ours: str, option: str = "--map") -> str:
    """Return the field that ``ours`` names in an option. Raises BadInput if there is none."""
    if ours in fields or (ours == EXTRA and option == "--map"):
        return ours
    field, _, person = ours.partition(".")
    if field in PER_PERSON and field in fields and person.strip():
        return ours
    matches = [name for name, names in fields.items() if ours in names]
    if not matches:
        words = f"--map {theirs}={ours}" if option == "--map" else f"{option} {ours}=…"
        others = f" or {EXTRA}" if option == "--map" else ""
        choices = ", ".join(name for name, names in fields.items() if names)
        raise BadInput(f"{words}: there is no field {ours!r}; choose {choices}{others}")
    return matches[0]


def simple_name(name: str) -> str:
    """Return a name in snake case, such as retrieved_contexts for ``retrievedContexts`` or ``Retrieved Contexts``."""
    return _NOT_WORD.sub("_", _CAMEL.sub("_", name.strip())).strip("_").lower()


MAX_NUMBER = 2**31 - 2  # the next number also fits a column of PostgreSQL
MAX_ID = 512  # characters; an index entry with source and external id has at most 2,704 bytes on PostgreSQL
NOT_JSON = "a text that is not JSON"

Choice = TypeVar("Choice", bound=StrEnum)
Value = TypeVar("Value")
Default = TypeVar("Default")


class Unusable(Exception):
    """A row cannot be stored because of one field. `Reading` makes it a rejected row."""

    def __init__(self, field: str | None, reason: str) -> None:
        super().__init__(reason)
        self.field = field
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Cells:
    """One row, with the column of each field. The methods raise Unusable for a value of the wrong type.

    ``textual`` is True for a format that has only texts (CSV): an empty cell is an absent value.
    ``parsed`` has the values read from texts, by column. ``meanings`` has the values that replace
    words. With ``dates``, dates with the year last are read in this order. ``unread`` has, by
    column, the field and the reason of optional values that cannot be read. An answer is ``judged``
    if a verdict or a grade comes with the answer. Texts and JSON values are masked with ``masks``;
    ids, names, numbers and times are not.
    """

    values: Mapping[str, Any]
    taken: Mapping[str, str]
    extra: tuple[str, ...] = ()
    textual: bool = False
    parsed: dict[str, Any] = field(default_factory=dict)
    meanings: Meanings = field(default_factory=dict)
    dates: DateOrder | None = None
    unread: dict[str, tuple[str, str]] = field(default_factory=dict)
    judged: bool = False
    masks: Any = field(default_factory=masks_in_force)

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> "Cells":
        """Return a row whose columns have the names of our fields."""
        return cls(values, {name: name for name in values})

    def as_json(self) -> dict[str, Any]:
        """Return the row as a JSON object. Reading this object gives the same values."""
        if not self.textual:
            return dict(self.values)
        return {
            name: self.parsed.get(name, None if value == "" else value)
            for name, value in self.values.items()
        }

    def masked(self, value: Any) -> Any:
        """Return a value of the row as it may be stored."""
        return value if self.masks is None else self.masks.masked(value)

    def raw(self, field: str) -> Any:
        """Return the value of a field without meanings, None if absent."""
        return self.masked(self._written(field))

    def get(self, field: str) -> Any:
        """Return the value of a field, None if absent. The meaning of a word replaces the word."""
        return self.masked(self.unmasked(field))

    def _written(self, field: str) -> Any:
        if (
            field not in self.taken
        ):  # a default name would not be safe: a column can have any name, even ""
            return None
        value = self.values.get(self.taken[field])
        return None if value == "" and self.textual else value

    def unmasked(self, field: str) -> Any:
        """Return the value of a field with meanings but without masks, for values that are parsed before masking."""
        value, meanings = self._written(field), self.meanings.get(field.partition(".")[0], {})
        value = meanings.get(word_of(value) or "", value) if meanings else value
        return None if meanings and value == "" else value

    def optional(
        self, field: str, read: Callable[[str], Value], default: Default
    ) -> Value | Default:
        """Return an optional field, or the ``default`` for an unreadable value, which `metadata_in` then keeps."""
        if field not in self.taken:
            return default
        try:
            return read(field)
        except Unusable as error:
            self.unread[self.taken[field]] = (field, error.reason)
            return default

    def text(self, field: str) -> str | None:
        """Return a text, unchanged."""
        value = self.get(field)
        if value is not None and not isinstance(value, str):
            raise Unusable(field, f"expected a text, found {json_kind(value)}")
        return value

    def required_text(self, field: str) -> str:
        """Return a text that is neither absent nor blank, unchanged."""
        return _required(field, self.text(field))

    def name(self, field: str, limit: int = MAX_NAME) -> str | None:
        """Return an id or a name: a text or a whole number; None if absent or blank."""
        value = self.unmasked(field)
        if isinstance(value, float) and value.is_integer():
            value = int(value)  # pandas writes 3 as 3.0 in a column with missing values
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        if value is not None and not isinstance(value, str):
            raise Unusable(field, f"expected a text or whole number, found {json_kind(value)}")
        if value is None or not value.strip():
            return None
        if len(value) > limit:
            raise Unusable(field, f"longer than {limit} characters")
        return value

    def required_name(self, field: str, limit: int = MAX_NAME) -> str:
        """Return an id or a name that is neither absent nor blank."""
        return _required(field, self.name(field, limit))

    def number(self, field: str) -> Any:
        """Return a value that the caller checks as a number. A text that consists of a number is this number."""
        value = self.unmasked(field)
        if isinstance(value, str) and (not value.strip() or value.strip().casefold() in MISSING):
            self.parsed[self.taken.get(field, field)] = None
            return None
        if isinstance(value, str):
            value = spelled_number(value)
            if self.textual and _fault(value) is None:
                self.parsed[self.taken[field]] = value
        return self.masked(value)

    def whole_number(self, field: str) -> int | None:
        """Return a whole number from 0 that the database can store, or raise Unusable."""
        value = self.number(field)
        if isinstance(value, float) and value.is_integer():
            value = int(value)  # pandas writes 3 as 3.0 in a column with missing values
        if value is None:
            return None
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_NUMBER:
            return value
        raise Unusable(field, f"not a whole number from 0 to {MAX_NUMBER:,}")

    def time(self, field: str) -> datetime | None:
        """Return a moment in UTC."""
        value = self.unmasked(field)
        if value is None:
            return None
        return checked(field, lambda time: read_time(time, self.dates), value)

    def choice(self, field: str, choices: type[Choice]) -> Choice | None:
        """Return the member of an enumeration for a word in upper or lower case."""
        return chosen(field, self.unmasked(field), choices)

    def json(self, field: str) -> Any:
        """Return a JSON value; a text is parsed."""
        value = self.unmasked(field)
        return self.masked(parsed_json(field, value) if isinstance(value, str) else value)

    def object(self, field: str) -> dict[str, Any] | None:
        """Return a JSON object."""
        value = self.json(field)
        if value is not None and not isinstance(value, dict):
            raise Unusable(field, f"expected an object, found {json_kind(value)}")
        return value

    def objects(self, field: str) -> tuple[dict[str, Any], ...] | None:
        """Return a list of objects."""
        value = self.json(field)
        if value is None:
            return None
        if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
            raise Unusable(field, "not a list of objects")
        return tuple(value)


def _required(field: str, value: str | None) -> str:
    if value is None or not value.strip():
        raise Unusable(field, f"no {field.replace('_', ' ')}")
    return value


def chosen(field: str, value: Any, choices: type[Choice]) -> Choice | None:
    """Return the member of an enumeration for a word in upper or lower case; None for None."""
    if value is None:
        return None
    try:
        return choices(value.strip().lower() if isinstance(value, str) else value)
    except ValueError:
        text = repr(value) if isinstance(value, str) else json_kind(value)
        raise Unusable(field, f"{text[:60]} is not one of {', '.join(choices)}") from None


def checked(field: str, check: Callable[[Any], Value], value: Any) -> Value:
    """Return ``check(value)``; a ValueError, or an OverflowError for a huge number, becomes Unusable."""
    try:
        return check(value)
    except (ValueError, OverflowError) as error:
        raise Unusable(field, str(error)) from None


def may_be_either(value: Any) -> bool:
    """Whether a number is ambiguous without a scale: 0 and 1 may be thumbs or stars, and thumbs beside -1."""
    number = spelled_number(value) if isinstance(value, str) else value
    return type(number) in {int, float} and number in {-1, 0, 1}


def parsed_json(field: str, text: str) -> Any:
    """Return the JSON value in a cell's text. Raises Unusable if the text is not JSON, or cannot be stored."""
    try:
        value = json.loads(text)
    except ValueError:
        raise Unusable(field, NOT_JSON) from None
    except RecursionError:
        raise Unusable(field, "nested too deeply") from None
    if fault := fault_in({field: value}):
        raise Unusable(*fault)
    return value


MAX_DEPTH = 100
_SMALLEST, _LARGEST = -(2**63), 2**64 - 1


def fault_in(values: dict[str, Any]) -> tuple[str, str] | None:
    """Return the first column with a value that cannot be stored, and the reason; None if there is none."""
    for name, value in values.items():
        if reason := _fault(name):
            return name, f"the column's name {reason}"
        if reason := _fault(value):
            return name, reason
    return None


def _fault(value: Any) -> str | None:
    waiting = [(value, 0)]
    while waiting:
        item, depth = waiting.pop()
        if isinstance(item, str):
            if "\0" in item:
                return "contains a NUL character"
            if not item.isascii():
                try:
                    item.encode("utf-8")
                except UnicodeEncodeError as error:
                    # Readers keep a byte that is not UTF-8 as U+DC80 to U+DCFF (surrogateescape).
                    is_byte = 0xDC80 <= ord(item[error.start]) <= 0xDCFF
                    return "is not UTF-8" if is_byte else "contains half a character"
        elif isinstance(item, float):
            if not math.isfinite(item):
                return "contains a number that is not finite"
        elif isinstance(item, int):
            if not _SMALLEST <= item <= _LARGEST:
                return "contains a number beyond 64 bits: write it as a text"
        elif isinstance(item, list | dict):
            if depth == MAX_DEPTH:
                return "is nested too deeply"
            inner = [*item, *item.values()] if isinstance(item, dict) else item
            waiting.extend((part, depth + 1) for part in inner)
    return None


def json_text(value: Any) -> str | None:
    """Return a text unchanged, None for None, and the JSON text of any other value."""
    return (
        value if value is None or isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    )


def metadata_in(cells: Cells, more: Mapping[str, object] | None = None) -> dict[str, Any]:
    """Return the row's metadata, with the columns that are not fields or not readable, and the values of ``more``."""
    values: dict[str, Any] | None = cells.optional("metadata", cells.object, None)
    metadata = dict(values or {})
    for name, value in {
        **{name: cells.masked(cells.values[name]) for name in (*cells.extra, *cells.unread)},
        **(more or {}),
    }.items():
        if value is not None and not (cells.textual and value == ""):
            key = name
            while key in metadata:
                key += " (column)"
            metadata[key] = value
    return metadata
