"""Decides which column of a file is which field, by name or by ``--map``, and reports how."""

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from judgeboard.errors import BadInput

ColumnNames = Mapping[str, tuple[str, ...]]

EXTRA = "extra"  # what --map calls a column that is kept as it is instead of being recognised
# A column of this name means the field only beside `external_id`, as in Judgeboard's own exports: elsewhere a
# "source" is a document's address or a score's origin, and a "kind" anything.
OWN_EXPORT_ONLY = frozenset({"source", "kind"})

# Names that several kinds of files share, most telling first.
QUESTION = (
    *("query", "question", "user_input", "user_query", "user_question", "input", "prompt", "input_text"),
    *("input_value", "attributes_input_value", "instruction", "search_query"),
)
ANSWER = (
    *("answer", "response", "output", "prediction", "completion", "generated_answer", "actual_output"),
    *("model_answer", "model_response", "model_output", "generated_text", "generation", "final_answer"),
    *("llm_answer", "llm_response", "llm_output", "bot_answer", "reply", "output_text", "output_value"),
    "attributes_output_value",
)
REFERENCE = (
    *("reference", "ground_truth", "ideal", "expected_output", "expected_answer", "expected_response"),
    *("reference_answer", "gold_answer", "golden_answer", "ground_truths", "target"),
)
QUERY_TYPE_OF_PAIR = ("query_type", "subset", "category", "task_type", "question_type", "type", "domain")
RESPONSE_ID = (
    *("external_id", "response_id", "record_id", "trace_id", "request_id", "sample_id", "span_id", "answer_id"),
    "id",
)
JUDGE = ("judge", "judge_name", "evaluator", "scorer", "detector", "judge_model", "evaluator_name")
MODEL_AS_JUDGE = ("judge", "judge_name", "model", "judge_model", "model_name")
JUDGE_VERSION = ("judge_version", "fingerprint")
REASONING = ("reasoning", "explanation", "rationale", "reason", "critique", "comment")
RAW = ("raw", "raw_output", "raw_reply", "raw_response", "judge_output")
ERROR = ("error", "error_message")
METADATA = ("metadata", "meta")

MAX_COLUMNS = 1000  # in the report; a file whose every row has other keys must not fill the memory
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_NOT_WORD = re.compile(r"\W+")
_BY_MAP, _BY_NAME = "--map", "recognised by name"


@dataclass(frozen=True, slots=True)
class ColumnUse:
    """One line of the report: a field, the column it is taken from, how that was decided, and a first value.

    ``ours`` None is a column that is no field; ``theirs`` None a field that no column holds. ``sure`` is False where
    a person has to say what a column means, ``unasked`` True of a column with values that is not read, though nobody
    said to leave it out.
    """

    ours: str | None
    theirs: str | None
    how: str
    example: Any = None
    sure: bool = True
    unasked: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """For rows with one set of columns: which column each field is taken from, and the columns left over."""

    taken: Mapping[str, str]
    extra: tuple[str, ...]


@dataclass(slots=True)
class _Column:
    use: str | None = None
    how: str = ""
    example: Any = None
    unsure: set[int] = field(default_factory=set)


def parse_mapping(pairs: Iterable[str]) -> dict[str, str]:
    """Return ``{theirs: ours}`` from texts like ``THEIRS=ours``.

    Raises:
        BadInput: A text without ``=``, or one column named twice.
    """
    mapping: dict[str, str] = {}
    for pair in pairs:
        theirs, equals, ours = pair.rpartition("=")
        if not equals or not theirs or not ours:
            raise BadInput(f"--map {pair}: write it as THEIRS=ours, for example --map Frage=query")
        if theirs in mapping:
            raise BadInput(f"--map names the column {theirs!r} twice")
        mapping[theirs] = ours
    return mapping


class Columns:
    """The decision for one file, made anew for every set of columns that its rows have.

    Args:
        fields: The fields of this kind of file and their other names.
        mapping: What the user said, ``{theirs: ours}``; it comes before any name.
        left_over: What becomes of a column that is no field, in words.
        reads_left_over: Whether such a column is read all the same, told the fields that have one.

    Raises:
        BadInput: The mapping names an unknown field, or one field for two columns.
    """

    def __init__(
        self,
        fields: ColumnNames,
        mapping: Mapping[str, str] | None = None,
        *,
        left_over: str,
        reads_left_over: Callable[[Collection[str]], bool] = lambda _fields: False,
    ) -> None:
        self._fields = fields
        self._mapping = {theirs: _field(fields, theirs, ours) for theirs, ours in (mapping or {}).items()}
        self._left_over = left_over
        self._reads_left_over = reads_left_over
        self._plans: dict[tuple[str, ...], Plan] = {}
        self._seen: dict[str, _Column] = {}
        given = [ours for ours in self._mapping.values() if ours != EXTRA]
        if len(set(given)) < len(given):
            twice = next(ours for ours in given if given.count(ours) > 1)
            both = " and ".join(repr(theirs) for theirs, ours in self._mapping.items() if ours == twice)
            raise BadInput(f"--map gives {twice} to two columns, {both}: keep one")

    @property
    def unseen(self) -> list[str]:
        """The columns that the mapping names and no row has had."""
        return [theirs for theirs in self._mapping if theirs not in self._seen]

    @property
    def names(self) -> list[str]:
        """The columns that were seen, in the order of the file."""
        return list(self._seen)

    def plan(self, values: Mapping[str, Any]) -> Plan:
        """Return the decision for a row with these columns, and note the row for the report."""
        names = tuple(values)
        plan = self._plans.get(names)
        if plan is None:
            if len(self._plans) == MAX_COLUMNS:
                self._plans.clear()
            plan = self._plans[names] = self._decide(names)
        self._note(values)
        return plan

    def report(self, where: str = "not in the file") -> tuple[ColumnUse, ...]:
        """Return a line for every field and for every column that is none; ``where`` words a field without column."""
        lines = []
        for ours in self._fields:
            held = [(theirs, column) for theirs, column in self._seen.items() if column.use == ours]
            lines += [_line(ours, theirs, column) for theirs, column in held] or [ColumnUse(ours, None, where)]
        read = self._reads_left_over({column.use for column in self._seen.values() if column.use is not None})
        for theirs, column in self._seen.items():
            if column.use is None:
                unasked = column.example is not None and theirs not in self._mapping and not read
                lines.append(replace(_line(None, theirs, column), unasked=unasked))
        return tuple(lines)

    def _decide(self, names: tuple[str, ...]) -> Plan:
        taken = {self._mapping[name]: name for name in names if self._mapping.get(name, EXTRA) != EXTRA}
        how = dict.fromkeys(taken.values(), _BY_MAP)
        how |= {name: f"{_BY_MAP}: {self._left_over}" for name in names if self._mapping.get(name) == EXTRA}
        simple: dict[str, str] = {}
        for name in names:
            if name not in self._mapping:
                simple.setdefault(simple_name(name), name)
        own_export = "external_id" in simple
        for ours, called in self._fields.items():
            found = [simple[name] for name in called if name in simple]
            if not found or (ours in OWN_EXPORT_ONLY and not own_export):
                continue
            if ours not in taken:
                taken[ours] = found.pop(0)
                how[taken[ours]] = _BY_NAME
            for name in found:
                how.setdefault(name, f"{self._left_over}: {ours} is taken from {taken[ours]!r}")
        plan = Plan(taken, tuple(name for name in names if name not in set(taken.values())))
        self._record(names, plan, how)
        return plan

    def _record(self, names: tuple[str, ...], plan: Plan, how: Mapping[str, str]) -> None:
        uses = {theirs: ours for ours, theirs in plan.taken.items()}
        for name in names:
            known = self._seen.get(name)
            if known is None and len(self._seen) < MAX_COLUMNS:
                self._seen[name] = _Column(uses.get(name), how.get(name, self._left_over))
            elif known is not None and known.use is None and name in uses:
                known.use, known.how = uses[name], how[name]

    def _note(self, values: Mapping[str, Any]) -> None:
        for name, value in values.items():
            column = self._seen.get(name)
            if column is None or value is None or value == "":
                continue
            if column.example is None:
                column.example = value if not isinstance(value, str) else value[:200]
            if column.use == "feedback" and str(value) in {"0", "1"}:
                column.unsure.add(int(value))


def _field(fields: ColumnNames, theirs: str, ours: str) -> str:
    if ours in fields or ours == EXTRA:
        return ours
    meant = [name for name, called in fields.items() if ours in called]
    if not meant:
        raise BadInput(f"--map {theirs}={ours}: there is no field {ours!r}; choose {', '.join(fields)} or {EXTRA}")
    return meant[0]


def _line(ours: str | None, theirs: str, column: _Column) -> ColumnUse:
    if not column.unsure:
        return ColumnUse(ours, theirs, column.how, column.example)
    values = " and ".join(str(value) for value in sorted(column.unsure, reverse=True))
    how = f"not sure: {'values' if len(column.unsure) > 1 else 'value'} {values}. Thumbs or stars?"
    return ColumnUse(ours, theirs, how, column.example, sure=False)


def simple_name(name: str) -> str:
    """Return a name in small letters with underscores: ``retrievedContexts`` and ``Retrieved Contexts`` alike."""
    return _NOT_WORD.sub("_", _CAMEL.sub("_", name.strip())).strip("_").lower()
