"""Turns a row into a pair of answers, with what one judge and several people said of it."""

import json
from typing import Any, ClassVar

from judgeboard.domain import Preference, Shown
from judgeboard.importers.cells import MAX_ID, Cells, Unusable, parsed_json
from judgeboard.importers.json_text import json_kind
from judgeboard.importers.left_over import metadata_in
from judgeboard.importers.pair_columns import PAIR_FIELDS
from judgeboard.importers.preferences import human_in, preference_word, verdict_in
from judgeboard.importers.record_rows import RecordRows
from judgeboard.pair_records import ImportedPair, Pair

_ORDERS = {"verdict_order_ab": Shown.AB, "verdict_order_ba": Shown.BA}
_RAWS = {"raw_ab": Shown.AB, "raw_ba": Shown.BA}


class PairRows(RecordRows[ImportedPair]):
    """Builds the pairs of one file, in which a pair has a row for every judge.

    ``verdict_order_ab`` is what the judge preferred when A was shown first, ``verdict_order_ba`` when B was; both
    speak of the stored answers A and B, whatever the order shown.
    """

    kind = "pairs"
    fields = PAIR_FIELDS
    needed: ClassVar[tuple[str, ...]] = ("question", "answer_a", "answer_b")
    left_over = "kept with the pair"

    def __init__(self, source: str | None) -> None:
        self._source = source or ""

    def build(self, cells: Cells) -> ImportedPair:
        """Return the pair of a row.

        Raises:
            Unusable: A field is missing or has a value that no pair can have.
        """
        letter, people = human_in(cells)
        pair = pair_in(cells, self._source, letter)
        judge = cells.name("judge")
        verdicts = {shown: said for name, shown in _ORDERS.items() if (said := verdict_in(cells, name))}
        if verdicts and judge is None:
            raise Unusable("judge", "a verdict without its judge")
        return ImportedPair(pair, judge, verdicts, _raws(cells), people)


def pair_in(cells: Cells, source: str, letter: Preference | None = None, *, answers: bool = True) -> Pair:
    """Return the pair that a row speaks of.

    Args:
        cells: The row.
        source: The source of a row without its own.
        letter: The gold of a row without its own.
        answers: Whether it must have two answers; else both or none.

    Raises:
        Unusable: A field is missing or has a value that no pair can have.
    """
    a, b = cells.text("answer_a"), cells.text("answer_b")
    for field, text in (("answer_a", a), ("answer_b", b)):
        if text is None and (answers or (a, b) != (None, None)):
            raise Unusable(field, f"no {field.replace('_', ' ')}")
    gold = cells.get("gold")
    return Pair(
        source=cells.name("source") or source,
        external_id=cells.required_name("external_id", MAX_ID - len("pair::a")),
        question=cells.required_text("question"),
        answer_a=a,
        answer_b=b,
        query_type=cells.name("query_type") or "unspecified",
        options=_options(cells),
        reference=cells.text("reference"),
        model_a=cells.name("model_a"),
        model_b=cells.name("model_b"),
        response_a=cells.name("response_a", MAX_ID),
        response_b=cells.name("response_b", MAX_ID),
        gold=letter if gold is None else preference_word("gold", gold),
        metadata=metadata_in(cells),
    )


def raw_text(value: Any) -> str | None:
    """Return what a judge really said: a text as it stands, any other JSON value as its JSON text."""
    return value if value is None or isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _raws(cells: Cells) -> dict[Shown, str]:
    """Return the raw texts by order; ``raw`` is an object by order (ab, ba), or one text for whichever was asked."""
    given = cells.get("raw")
    if isinstance(given, dict) and given.keys() <= set(Shown):
        raws = {Shown(shown): raw_text(value) for shown, value in given.items()}
    else:
        raws = dict.fromkeys(Shown, raw_text(given))
    raws |= {shown: raw_text(cells.get(name)) for name, shown in _RAWS.items() if cells.get(name) is not None}
    return {shown: text for shown, text in raws.items() if text is not None}


def _options(cells: Cells) -> tuple[str, ...] | None:
    value = cells.get("options")
    if isinstance(value, str):
        value = parsed_json("options", value)
    if value is None:
        return None
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise Unusable("options", f"{json_kind(value)} where a list of texts should be")
    return tuple(value)
