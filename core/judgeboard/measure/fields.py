"""Agreement of people, and of judges with people, on each field of a label schema."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sqlalchemy import Connection

from judgeboard.formats.label_schema import FieldType, SchemaField
from judgeboard.measure.agreement_result import Statistics, of_raters, with_accuracy, with_alpha
from judgeboard.measure.choice import AgreementChoice
from judgeboard.measure.ratings import RESAMPLED, ItemRatings, item_ratings, values_at
from judgeboard.stats.alternative_annotator import (
    AlternativeAnnotatorTest,
    Small,
    alternative_annotator_test,
)
from judgeboard.stats.arrays import AnyArray, grouping
from judgeboard.stats.chance_corrected import ranking_agreement, set_alpha, span_f1
from judgeboard.stats.pair_statistics import pair_statistics
from judgeboard.stats.rater_agreement import overall_agreement
from judgeboard.stats.ratings import Scale, positions
from judgeboard.store.filters import RowFilter
from judgeboard.store.judge_versions import get_version
from judgeboard.store.label_schemas import FieldReview, field_reviews, schema_named
from judgeboard.store.queue_items import answer_texts
from judgeboard.store.reviewers import reviewer_names
from judgeboard.store.verdicts import current_verdicts

_WORD = re.compile(r"\S+")
Values = Mapping[int, Mapping[int, Any]]
"""The value of each person, by response and reviewer."""


@dataclass(frozen=True, slots=True)
class FieldAgreement:
    """Agreement of people on one field. ``n`` answers have values from at least two people.

    ``options`` has one alpha per option if several options may be chosen. ``judges`` has each judge
    version's agreement with people, by title. ``tests`` has the alternative annotator tests of the
    versions, by the same title.
    """

    field: str
    type: FieldType
    n: int
    statistics: Statistics
    options: Statistics
    judges: Mapping[str, Statistics]
    tests: Mapping[str, AlternativeAnnotatorTest]


def field_agreement(
    connection: Connection,
    schema: str,
    *,
    epsilon: float | None = None,
    small: Small = "skip",
    implied_labels: bool = True,
    where: RowFilter | None = None,
) -> list[FieldAgreement]:
    """Return the agreement on each field of a label schema, in the reviews with any version of the schema.

    The fields are those of ``schema`` ("support v2", or a name for its newest version). Each
    person's latest review of an answer counts, without adjudications and without reviews after the
    reveal. If several categories may be chosen, the statistic is alpha with the MASI distance of
    sets. Spans have F1 by character and alpha by word, rankings have Kendall's tau-b, texts have
    none, and all other fields have the statistics of grades. A judge made from the schema
    (`rubric_of`) is compared with people on the fields that it scored, without the answers that are
    examples in its prompt. With ``epsilon``, the alternative annotator test decides whether the
    judge may replace a person. The options are as in `measure_agreement`. Raises NotFound if there
    is no such schema.
    """
    stored_schema = schema_named(connection, schema)
    reviews = field_reviews(
        connection, stored_schema.content, where or RowFilter(), implied_labels=implied_labels
    )
    names = reviewer_names(connection)
    fields = [field for field in stored_schema.content.fields if field.type != FieldType.TEXT]
    return [_of_field(connection, field, reviews, names, epsilon, small) for field in fields]


def _of_field(
    connection: Connection,
    field: SchemaField,
    reviews: Iterable[FieldReview],
    names: dict[int, str],
    epsilon: float | None,
    small: Small,
) -> FieldAgreement:
    values: dict[int, dict[int, Any]] = {}
    groups: dict[int, int] = {}
    for review in reviews:
        value = review.values.get(field.name, [] if field.type is FieldType.SPANS else None)
        if value is not None:
            values.setdefault(review.response_id, {})[review.reviewer_id] = value
            groups[review.response_id] = review.evidence_group
    ids = sorted(response_id for response_id, of_people in values.items() if len(of_people) >= 2)
    of_items = np.array([groups[each] for each in ids], dtype=np.int64)
    items = [list(values[each].values()) for each in ids]
    options: Statistics = {}
    judges: dict[str, Statistics] = {}
    tests: dict[str, AlternativeAnnotatorTest] = {}
    if field.many:
        statistics = {
            "set_alpha": set_alpha([[frozenset(each) for each in sets] for sets in items], of_items)
        }
        for option in field.values:
            choices = {
                item: {who: option in options_of for who, options_of in of_people.items()}
                for item, of_people in values.items()
            }
            ratings = _rated(Scale(option, (False, True)), choices, groups, names).ratings
            options[option] = with_alpha(overall_agreement(ratings), ratings.scale)["alpha"]
    elif field.type is FieldType.SPANS:
        statistics = _of_spans(connection, ids, items, of_items)
    elif field.type is FieldType.RANKING:
        texts = answer_texts(connection, ids)
        lengths = [len(texts[each].passages or ()) for each in ids]
        has_passages = [bool(length) for length in lengths]
        items = [item for item, is_known in zip(items, has_passages, strict=True) if is_known]
        statistics = {
            "ranking_tau": ranking_agreement(
                items, [each for each in lengths if each], of_items[has_passages]
            )
        }
    else:
        scale = _scale(field, values)
        all_ratings = _rated(scale, values, groups, names)
        statistics = of_raters(AgreementChoice("people"), all_ratings.ratings).statistics
        for title, verdicts in _verdicts(connection, field, values).items():
            # The agreement with people. Each value from a person is one row.
            rows = [
                (verdict, value, groups[item])
                for item, verdict in verdicts.items()
                for value in values[item].values()
            ]
            of_judge, people, of_rows = (np.array(each) for each in zip(*rows, strict=True))
            by_group = grouping(of_rows, len(rows), row="grade", group=RESAMPLED["responses"][1])
            judges[title] = with_accuracy(pair_statistics(of_judge, people, scale, by_group))
            if epsilon is not None:
                judged_ids = sorted(verdicts)
                codes = positions(np.array([verdicts[each] for each in judged_ids]), scale)
                judge = values_at(all_ratings.ids, np.array(judged_ids, dtype=np.int64), codes)
                tests[title] = alternative_annotator_test(
                    judge, all_ratings.ratings, epsilon, small=small
                )
    return FieldAgreement(field.name, field.type, len(ids), statistics, options, judges, tests)


def _verdicts(
    connection: Connection, field: SchemaField, values: Values
) -> dict[str, dict[int, Any]]:
    """Return the values of each judge version in a field, by title and by response, for answers with reviews."""
    if not field.numbered:
        return {}
    stored_verdicts = current_verdicts(connection, field.name, of_reviewed=True)
    by_version: dict[int, dict[int, Any]] = {}
    for version, item, score in zip(
        stored_verdicts.version_ids.tolist(),
        stored_verdicts.response_ids.tolist(),
        stored_verdicts.scores.tolist(),
        strict=True,
    ):
        value = field.numbered.get(score)
        if value is not None and item in values:
            by_version.setdefault(version, {})[item] = value
    return {
        get_version(connection, version).title: verdicts for version, verdicts in by_version.items()
    }


def _scale(field: SchemaField, values: Values) -> Scale:
    """Return the scale of a field. Values from other schema versions are categories too."""
    if field.type is FieldType.NUMBER:
        return Scale(field.name)
    occurring = {value for of_people in values.values() for value in of_people.values()}
    if field.type is FieldType.SCALE:
        return Scale(field.name, tuple(sorted({*field.values, *occurring})), weights="quadratic")
    return Scale(field.name, (*field.values, *sorted(occurring - set(field.values))))


def _rated(
    scale: Scale, values: Values, groups: Mapping[int, int], names: dict[int, str]
) -> ItemRatings:
    rows = [
        (item, who, value) for item, of_people in values.items() for who, value in of_people.items()
    ]
    ids, raters = (np.array([row[at] for row in rows], dtype=np.int64) for at in (0, 1))
    ratings: AnyArray = np.array(
        [row[2] for row in rows], dtype=np.float64 if scale.categories is None else None
    )
    of_rows = np.array([groups[row[0]] for row in rows], dtype=np.int64)
    return item_ratings(ids, raters, positions(ratings, scale), scale, of_rows, names)


def _of_spans(
    connection: Connection,
    ids: list[int],
    items: list[list[list[dict[str, Any]]]],
    groups: AnyArray,
) -> Statistics:
    """Return F1 by character, and alpha by word. The value of a word is the set of span types on any part of it."""
    texts = answer_texts(connection, ids)
    characters, words, of_words = [], [], []
    for response_id, people, group in zip(ids, items, groups.tolist(), strict=True):
        characters.append(
            [
                frozenset(
                    (span["type"], span.get("passage", 0), at)
                    for span in spans
                    for at in range(span["start"], span["end"])
                )
                for spans in people
            ]
        )
        of_answer = texts[response_id]
        on_passages = any("passage" in span for spans in people for span in spans)
        for number, text in enumerate(
            (of_answer.passages if on_passages else [of_answer.answer]) or (), start=1
        ):
            of_text = [
                [span for span in spans if span.get("passage", 1) == number] for spans in people
            ]
            for word in _WORD.finditer(text or ""):
                start, end = word.span()
                types = [
                    frozenset(
                        span["type"]
                        for span in spans
                        if span["start"] < end and start < span["end"]
                    )
                    for spans in of_text
                ]
                words.append(types)
                of_words.append(group)
    return {
        "span_f1": span_f1(characters, groups),
        "word_alpha": set_alpha(words, np.array(of_words, dtype=np.int64)),
    }
