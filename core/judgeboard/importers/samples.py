"""Turns a row into a question with the answers that a model gave in several tries."""

from collections.abc import Callable
from typing import Any, ClassVar, TypeVar

from judgeboard.domain import Preference, Shown, Status
from judgeboard.importers.cells import Cells, Unusable
from judgeboard.importers.json_text import json_kind
from judgeboard.importers.pair_columns import SAMPLE_FIELDS
from judgeboard.importers.pairs import pair_in, raw_text
from judgeboard.importers.preferences import preference_word
from judgeboard.importers.record_rows import RecordRows
from judgeboard.pair_records import ImportedSamples, RecordedJudge, Try

Value = TypeVar("Value")
_CONDITIONS = {"A": "plain", "B": "reference"}
NO_NAME = "recorded samples"


class SampleRows(RecordRows[ImportedSamples]):
    """Builds the sampled questions of one file; a null among the samples is a try without a readable answer.

    ``verdicts`` holds, for the conditions A (no reference) and B (always its own answer as reference), what the same
    model preferred in both orders; a null there was asked without a usable verdict.
    """

    kind = "samples"
    fields = SAMPLE_FIELDS
    needed: ClassVar[tuple[str, ...]] = ("question", "samples")
    left_over = "kept with the question"

    def __init__(self, source: str | None) -> None:
        self._source = source or ""

    def build(self, cells: Cells) -> ImportedSamples:
        """Return the question and the tries of a row.

        Raises:
            Unusable: A field is missing or has a value that no sample can have.
        """
        judge = RecordedJudge(cells.name("judge") or NO_NAME, cells.name("judge_version"))
        return ImportedSamples(pair_in(cells, self._source, answers=False), judge, _tries(cells), _verdicts(cells))


def listed(cells: Cells, field: str, read: Callable[[Any], Value], length: int | None = None) -> list[Value] | None:
    """Return a list, its items read one by one, None where it is absent.

    Raises:
        Unusable: It is no list, or not of ``length`` items.
    """
    value = cells.json(field)
    if value is None:
        return None
    if not isinstance(value, list):
        raise Unusable(field, f"{json_kind(value)} where a list should be")
    if length is not None and len(value) != length:
        raise Unusable(field, f"{len(value)} items beside {length} samples")
    return [read(item) for item in value]


def _tries(cells: Cells) -> tuple[Try, ...]:
    answers = listed(cells, "samples", _answer)
    if not answers:
        raise Unusable("samples", "no samples: give a list of answers, null for one that could not be read")
    n = len(answers)
    models = listed(cells, "models", lambda value: value if isinstance(value, str) else None, n) or [None] * n
    raws = listed(cells, "raw", raw_text, n) or [None] * n
    given = listed(cells, "statuses", _status, n)
    statuses = given or [Status.UNPARSABLE if answer is None else Status.OK for answer in answers]
    if any(answer is not None and status is not Status.OK for answer, status in zip(answers, statuses, strict=True)):
        raise Unusable("statuses", "a sample has an answer only where it is ok")
    return tuple(Try(*one) for one in zip(answers, models, raws, statuses, strict=True))


def _answer(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, int | float) and not isinstance(value, bool):
        return f"{value:g}" if isinstance(value, float) else str(value)
    raise Unusable("samples", f"{json_kind(value)} where an answer or null should be")


def _status(value: Any) -> Status:
    if value not in set(Status):
        raise Unusable("statuses", f"{str(value)[:60]!r} is not one of {', '.join(Status)}")
    return Status(value)


def _verdicts(cells: Cells) -> dict[str, dict[Shown, Preference | None]]:
    given = cells.json("verdicts")
    if given is None:
        return {}
    if not isinstance(given, dict) or not given.keys() <= _CONDITIONS.keys():
        raise Unusable("verdicts", "not an object with the conditions A and B")
    found = {}
    for name, orders in given.items():
        if orders is None:
            continue
        if not isinstance(orders, dict) or not orders.keys() <= set(Shown):
            raise Unusable("verdicts", f"{name} is no object with the orders ab and ba")
        found[_CONDITIONS[name]] = {
            shown: None if orders.get(shown) is None else preference_word("verdicts", orders[shown]) for shown in Shown
        }
    return found
