"""The choice of a measurement (whose agreement, on what, in which slices), and the items of each slice."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import pairwise
from typing import Literal, get_args

import numpy as np
from sqlalchemy import Connection

from judgeboard.errors import BadInput, check_known
from judgeboard.stats.alternative_annotator import Small
from judgeboard.stats.arrays import AnyArray, BoolArray, IntArray, among
from judgeboard.stats.pair_orders import INCONSISTENT_AS, UNUSABLE_AS, InconsistentAs, UnusableAs
from judgeboard.stats.ratings import HUMANS, Human
from judgeboard.store.filters import (
    METADATA,
    METADATA_FIELD,
    RowFilter,
    metadata_field,
    metadata_path,
)
from judgeboard.store.health import answer_facts
from judgeboard.store.metadata import NO_VALUE, metadata_of, shown_value
from judgeboard.store.preferences import pair_facts
from judgeboard.store.response_pages import response_facts, rules_of
from judgeboard.store.statements import TextColumn

Unit = Literal["responses", "pairs"]
Of = Literal["people", "judge", "judges", "repeats"]
GradeName = Literal["label", "groundedness", "quality"]
GRADES: tuple[GradeName, ...] = get_args(GradeName)
By = str
"""A field of `SLICES`, or a metadata field as ``metadata.tenant``."""

PREFERENCE = "preference"

SLICES: dict[By, str] = {
    "query_type": "query types",
    "judge_version": "judge versions",
    "generator": "generators",
    "source": "sources",
    "time": "months",
    "length": "lengths",
    "rule": "rules",
}
"""The fields of slices, each with a plural noun for its slices."""

_SLICES_OF_PAIRS: tuple[By, ...] = ("judge_version", "query_type", "source")


@dataclass(frozen=True, slots=True)
class CountedGrades:
    """The grades of people that count: of one reviewer, or of everybody, combined as ``human`` says.

    Without ``implied_labels``, labels that only a decision implies do not count. Grades of answers
    or pairs that do not match ``where`` do not count either. Raises BadInput if ``human`` is
    unknown.
    """

    reviewer_id: int | None = None
    human: Human = "gold"
    implied_labels: bool = True
    where: RowFilter = field(default_factory=RowFilter)

    def __post_init__(self) -> None:
        check_known("human", self.human, HUMANS)

    def of_everybody(self) -> "CountedGrades":
        """Return the grades of everybody on the same answers: gold labels, else people combined."""
        return replace(self, reviewer_id=None, human="gold")


EVERYBODY = CountedGrades()


@dataclass(frozen=True, slots=True)
class AgreementChoice:
    """The arguments of `measure_agreement`: whose agreement is measured, and on what.

    For repeats, a judge's name means all versions of the judge. ``grade`` None means the label of
    answers, the preference of pairs, and the most frequent measure of repeats. A single person of
    ``counted`` can be compared only with a judge. Raises BadInput if a value is unknown or the
    values cannot be combined.
    """

    of: Of = "judge"
    judge_versions: tuple[int | str, ...] = ()
    unit: Unit = "responses"
    aspect: str | None = None
    grade: str | None = None
    counted: CountedGrades = EVERYBODY
    unusable: UnusableAs = "drop"
    inconsistent: InconsistentAs = "net"
    by: By | None = None
    epsilon: float | None = None
    small: Small = "skip"

    def __post_init__(self) -> None:
        check_known("of", self.of, get_args(Of))
        check_known("unit", self.unit, get_args(Unit))
        check_known("unusable", self.unusable, UNUSABLE_AS)
        check_known("inconsistent", self.inconsistent, INCONSISTENT_AS)
        check_known("small", self.small, get_args(Small))
        if self.by is not None:
            sliced_by(self.by)
        of_judge, answers, epsilon = self.of == "judge", self.unit == "responses", self.epsilon
        no_slice = not answers and self.by is not None and self.by not in _SLICES_OF_PAIRS
        not_comparable = self.counted.reviewer_id is not None and not (of_judge and answers)
        several = self.of in {"judge", "repeats"} and len(self.judge_versions) > 1
        for is_wrong, message in (
            (answers and self.aspect is not None, "only pairs have an aspect: add --unit pairs"),
            (
                answers and self.unusable != "drop",
                "--unusable applies to pairs only: add --unit pairs",
            ),
            (
                answers and self.inconsistent != "net",
                "--inconsistent applies to pairs only: add --unit pairs",
            ),
            (
                not answers and not self.counted.implied_labels,
                "--no-implied-labels applies to answers only",
            ),
            (
                answers and self.grade == PREFERENCE,
                "only pairs have a preference: add --unit pairs",
            ),
            (
                not answers and self.grade in GRADES,
                f"pairs have no {self.grade}; they have a preference per --aspect",
            ),
            (
                no_slice,
                f"pairs have no {self.by}: slice them by {', '.join(sorted(_SLICES_OF_PAIRS))}",
            ),
            (
                epsilon is not None and not of_judge,
                "the alternative annotator test needs --of judge",
            ),
            (epsilon is None and self.small != "skip", "--small needs --alt-test"),
            (
                epsilon is not None and not 0 <= epsilon <= 1,
                f"epsilon must be between 0 and 1, not {epsilon}",
            ),
            (
                not_comparable,
                "a single person can be compared only with a judge, and only on answers",
            ),
            (
                self.counted.human == "mean" and (not answers or self.grade in {None, "label"}),
                "only scores of answers have a mean: choose a score with --grade",
            ),
            (
                self.by == "judge_version" and not of_judge,
                "slices by judge version need --of judge",
            ),
            (self.by is not None and self.of == "repeats", "repeats cannot be sliced"),
            (several, f"--of {self.of} takes one judge version, --of judges several"),
        ):
            if is_wrong:
                raise BadInput(message)

    @property
    def things(self) -> str:
        """The rated items, as a plural noun."""
        return "answers" if self.unit == "responses" else "pairs"


def sliced_by(by: By) -> str:
    """Return the slices of a field as a plural noun; raise BadInput if there is no such field."""
    if by.startswith(METADATA):
        return f"values of {metadata_field(metadata_path(by.removeprefix(METADATA)))}"
    if by not in SLICES:
        raise BadInput(f"slices must be by {', '.join(SLICES)} or {METADATA_FIELD}, not {by!r}")
    return SLICES[by]


LENGTH_BANDS = (200, 500, 1_000, 2_000)
"""Upper ends of the bands of length, in characters of the answer."""

NO_TIME, NO_RULE, FORGOTTEN, OTHER_VALUES = "no time", "no rule", "forgotten", "other values"
_MOST_VALUES = 50  # the most frequent values of a metadata field have their own slices

_BANDS = (
    f"under {LENGTH_BANDS[0]:,}",
    *(f"{low:,} to {high - 1:,}" for low, high in pairwise(LENGTH_BANDS)),
    f"{LENGTH_BANDS[-1]:,} and more",
    FORGOTTEN,
)


def slices_of(
    connection: Connection, unit: Unit, by: By, ids: IntArray
) -> Iterator[tuple[str, BoolArray]]:
    """Yield the name of each slice with a mask of its items. An answer is in the slices of all its rules.

    ``by`` cannot be ``judge_version``: each version has its own items. ``ids`` repeat if people are
    stacked.
    """
    item_ids = np.unique(ids)
    if by == "rule":
        has_rule = np.zeros(len(ids), dtype=np.bool_)
        for rule, flagged_ids in rules_of(connection, item_ids).items():
            inside = among(ids, flagged_ids)
            has_rule |= inside
            yield rule, inside
        if not has_rule.all():
            yield NO_RULE, ~has_rule
        return
    # The name of the slice of each item.
    if unit == "pairs":
        pairs = pair_facts(connection)
        of_pairs = _texts(pairs.query_types if by == "query_type" else pairs.sources)
        of_items = of_pairs[np.searchsorted(pairs.ids, item_ids)]
    elif by == "length":
        lengths, _ = answer_facts(connection, item_ids)
        bands = np.searchsorted(LENGTH_BANDS, lengths, side="right")
        bands[np.isnan(lengths)] = _BANDS.index(FORGOTTEN)
        of_items = _texts(TextColumn(_BANDS, bands))
    elif by.startswith(METADATA):
        values = metadata_of(connection, item_ids.tolist(), [by.removeprefix(METADATA)])
        texts = [shown_value(values[id_][0]) or NO_VALUE for id_ in item_ids.tolist()]
        frequent = {text for text, _ in Counter(texts).most_common(_MOST_VALUES)}
        of_items = np.array(
            [text if text in frequent else OTHER_VALUES for text in texts], dtype=np.str_
        )
    elif by == "time":
        months = (
            NO_TIME if day < 0 else datetime.fromtimestamp(day * 86_400, UTC).strftime("%Y-%m")
            for day in response_facts(connection, item_ids).days.tolist()
        )
        of_items = np.array(list(months), dtype=np.str_)
    else:
        facts = response_facts(connection, item_ids)
        columns = {
            "query_type": facts.query_types,
            "generator": facts.generators,
            "source": facts.sources,
        }
        of_items = _texts(columns[by])
    names = of_items[np.searchsorted(item_ids, ids)]
    for name in _BANDS if by == "length" else np.unique(names).tolist():
        inside = names == name
        if inside.any():
            yield str(name), inside


def _texts(column: TextColumn) -> AnyArray:
    return np.array(column.names or ("",), dtype=np.str_)[column.codes]
