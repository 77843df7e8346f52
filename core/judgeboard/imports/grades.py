"""People's grades of responses, and their preferences between the answers of pairs."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from enum import StrEnum
from typing import Any, ClassVar

from sqlalchemy import Connection

from judgeboard.domain import (
    GRADE_TEXTS,
    NOTES,
    ClaimMark,
    ClaimStatus,
    Decision,
    FlagState,
    GivenPreference,
    Grade,
    Label,
    Shown,
    Stage,
    WhyDiffers,
    checked_quality,
)
from judgeboard.errors import BadInput, NotFound
from judgeboard.imports import known_names
from judgeboard.imports.fields import (
    MAX_ID,
    OWN_EXPORT_ONLY,
    Cells,
    ColumnNames,
    ColumnUse,
    Unusable,
    checked,
)
from judgeboard.imports.kinds import ImportKind, RowOutcomes, Stored
from judgeboard.imports.labels import label_set_field, no_option
from judgeboard.imports.preferences import aspects_in
from judgeboard.imports.scales import (
    Dimensions,
    groundedness_in,
    own_scale,
    scale_of_pairs,
    scores_in,
)
from judgeboard.registry.masks import masks_in_force
from judgeboard.store.grades import (
    ImportedGrade,
    author_spellings,
    imported_reviewers,
    insert_grades,
    one_spelling,
    review_of_grade,
    several_of_spelling,
)
from judgeboard.store.imported_reviews import FileReviews
from judgeboard.store.issues import ensure_modes
from judgeboard.store.label_schemas import schema_named
from judgeboard.store.pairs import pairs_named
from judgeboard.store.preferences import ImportedPreference, review_of_preference, store_preferences
from judgeboard.store.queue_items import answer_texts
from judgeboard.store.reviews import ReviewRecord
from judgeboard.store.tables import SchemaVersion
from judgeboard.text import counted

# In exports: the number of the review, the number of the replaced review, and values that are no
# grade.
_OF_REVIEWS = (
    "review",
    "replaces",
    "decision",
    "stage",
    "seconds",
    "seen",
    "flags",
    "why_differs",
    "claim_marks",
    "in_suite",
)


# Of pairs, these columns are aspects like the columns that are no fields.
_ASPECTS = ("groundedness", "quality", "dimension", "score")


class GradeImport(ImportKind[ImportedGrade | ImportedPreference]):
    """Grades and preferences by people. In one file, a person can give each part of a grade of a response only once.

    A grade adds to the person's grades from earlier imports. The new grade replaces only the parts
    that it has, also if a part changes back to an earlier value. But a grade that another file has
    changed stays changed if this file had the same grade before.

    A grade needs a label, groundedness, quality, scores, ``fields`` of a label schema, or failure
    modes. A ``scale`` is the scale of all numbers of the row: groundedness is converted, and
    quality and the numbers in ``aspects`` are scores on the scale. `Dimensions` reads other scores.
    A row of an export has the number of its ``review``. Then a person may have several reviews, and
    a review may be a decision without a grade.
    """

    columns: ClassVar[ColumnNames] = {
        "pair_id": ("pair_id",),
        "external_id": known_names.RESPONSE_ID,
        "source": ("source",),
        "annotator": (
            "annotator",
            "reviewer",
            "grader",
            "rater",
            "labeler",
            "annotator_id",
            "reviewer_id",
            "completed_by",
            "author",
            "annotated_by",
        ),
        "label": ("label", "human_label", "gold_label", "verdict"),
        "label_implied": ("label_implied",),
        "groundedness": (
            "groundedness",
            "human_groundedness",
            "faithfulness",
            "groundedness_score",
        ),
        "quality": ("quality", "human_quality", "quality_score"),
        "spans": ("spans", "highlights"),
        "aspects": ("aspects", "scores", "dimensions"),
        "scale": ("scale",),
        "dimension": (
            "dimension",
            "dimension_name",
            "metric",
            "metric_name",
            "criterion",
            "aspect",
        ),
        "score": ("score", "rating", "value"),
        "failure_modes": ("failure_modes", "failure_mode"),
        "label_schema": ("label_schema", "schema"),
        "fields": ("fields",),
        # For pairs only: the preferred answer, and the order in which the answers were shown.
        "preference": ("preference", "preferred", "winner"),
        "shown": ("shown", "order", "order_shown"),
        **{name: (name, *text.names) for name, text in GRADE_TEXTS.items()},
        "at": (
            "at",
            "graded_at",
            "reviewed_at",
            "annotated_at",
            "created_at",
            "timestamp",
            "ts",
            "time",
            "date",
            "updated_at",
        ),
        **{name: (name,) for name in _OF_REVIEWS},
    }
    needed = ("annotator",)
    choices: ClassVar[Mapping[str, type[StrEnum]]] = {
        "label": Label,
        "shown": Shown,
        "decision": Decision,
        "stage": Stage,
        "why_differs": WhyDiffers,
    }
    own_export_only = OWN_EXPORT_ONLY.union(_OF_REVIEWS)

    def __init__(self, source: str | None, actor: str = "library") -> None:
        super().__init__(source, actor)
        self._spellings: dict[str, set[str]] = {}
        self._authors: dict[str, set[str]] | None = (
            None  # the reviewers before this import, by spelling
        )
        self._respelled: set[tuple[str, str]] = (
            set()
        )  # ids and reviewers graded before in another spelling
        self._reviews = FileReviews()
        self._dimensions = Dimensions()
        self._changes = 0

    @classmethod
    def required(cls, fields: Collection[str]) -> tuple[str, ...]:
        """Return the required fields: the id of a pair or a response, and the annotator."""
        return ("pair_id" if "pair_id" in fields else "external_id", *cls.needed)

    @classmethod
    def reads_left_over(cls, fields: Collection[str]) -> bool:
        """Whether other columns are read.

        In a file of preferences without ``aspects``, each other column is an aspect.
        """
        return "pair_id" in fields and "aspects" not in fields

    def look(self, rows: Sequence[Cells]) -> dict[str, str]:
        """Find the dimensions and scales of grades of answers."""
        of_others = any(field in cells.taken for cells in rows for field in ("pair_id", "review"))
        return {} if of_others else self._dimensions.look(rows)

    def uses(self, columns: Sequence[ColumnUse]) -> Sequence[ColumnUse]:
        """Return the report on the columns, with the columns of scores."""
        return self._dimensions.uses(columns)

    def build(self, cells: Cells) -> ImportedGrade | ImportedPreference:
        """Return the grade in a row, or a preference if the row has a ``pair_id``."""
        if cells.get("pair_id") is not None:
            return self._of_pair(cells)
        cells = self._dimensions.read(cells)
        response_id = cells.required_name("external_id", MAX_ID)
        annotator = self._annotator(cells)
        scale = own_scale(cells)
        scores = scores_in(cells, scale, "aspects")
        # The marks on statements. Ids of judgments belong to another database and are left out.
        marks = []
        for mark in cells.objects("claim_marks") or ():
            text, ends = mark.get("text", ""), (mark.get("start"), mark.get("end"))
            if not isinstance(text, str) or not all(
                end is None or isinstance(end, int) for end in ends
            ):
                raise Unusable(
                    "claim_marks", "each mark needs a text, and start and end as whole numbers"
                )
            marks.append(
                ClaimMark(checked("claim_marks", ClaimStatus, mark.get("status")), text, *ends)
            )
        grade = Grade(
            label=self.labels.read(cells),
            label_implied=_is_true(cells, "label_implied"),
            groundedness=groundedness_in(cells),
            quality=None if scale else checked("quality", checked_quality, cells.number("quality")),
            spans=_spans(cells),
            **_texts(cells, GRADE_TEXTS),
            modes=_modes(cells),
            claim_marks=tuple(marks),
            why_differs=cells.choice("why_differs", WhyDiffers),
            in_suite=_is_true(cells, "in_suite"),
        )
        review = _review_record(cells)
        schema, fields = cells.text("label_schema"), cells.object("fields") or {}
        label_set, word = self.labels.label_set, self.labels.word(cells)
        if label_set is not None and word is not None:
            if schema is not None:
                raise Unusable(
                    "label_schema", "a row of a label set cannot have another label schema"
                )
            schema, fields = label_set, {**fields, label_set: word}
        if fields and schema is None:
            raise Unusable("label_schema", "fields need the name of their label schema")
        has_grade = (grade.label, grade.groundedness, grade.quality) != (None, None, None)
        if not (scores or fields or grade.modes or has_grade or review):
            raise Unusable(None, "no grade: give label, groundedness, quality or failure_modes")
        at = cells.time("at")
        source = cells.name("source") or self.source
        if review is not None:
            self._check_number(review)
        else:
            parts = {*grade.graded, *fields, *(score.dimension for score in scores)}
            content = [cells.raw(field) for field in cells.taken]
            if not self._is_first(
                f"{source or ''}\0{response_id}", response_id, annotator, parts, content
            ):
                raise Unusable(
                    "external_id",
                    f"{annotator} has graded {response_id!r} in an earlier row of this file",
                )
        return ImportedGrade(
            response_id, annotator, grade, source, at, scores, schema, fields, review
        )

    def store(
        self,
        connection: Connection,
        records: Sequence[ImportedGrade | ImportedPreference],
        now: datetime,
    ) -> Stored:
        """Store the grades and preferences whose response or pair is stored."""
        rows = RowOutcomes(len(records))
        self._authors = author_spellings(connection) if self._authors is None else self._authors
        grades = {
            index: record
            for index, record in enumerate(records)
            if isinstance(record, ImportedGrade)
        }
        preferences = {
            index: record
            for index, record in enumerate(records)
            if isinstance(record, ImportedPreference)
        }
        names = {index: (record.external_id, record.annotator) for index, record in grades.items()}
        for index in self._refuse_respelled(connection, rows, "external_id", names):
            del grades[index]
        of_pairs = {
            index: (record.external_id, record.preference.annotator)
            for index, record in preferences.items()
        }
        for index in self._refuse_respelled(connection, rows, "pair_id", of_pairs):
            del preferences[index]
        grade_names = {
            index: (record.external_id, record.source) for index, record in grades.items()
        }
        answers = self.find_answers(connection, rows, grade_names)
        if (label_set := self.labels.label_set) is not None:
            words = {
                i: grades[i].fields[label_set]
                for i in answers
                if i in grades and label_set in grades[i].fields
            }
            options = set(
                label_set_field(connection, label_set, words.values(), self.actor, now).values
            )
            for index, word in words.items():
                if word not in options:
                    rows.refuse(index, "label", no_option(label_set, word))
                    del grades[index]
        _add_fields(connection, rows, grades)
        self._place_spans(connection, {index: each.id for index, each in answers.items()}, grades)
        grade_rows = [
            replace(grades[index], response_id=response.id, source=response.source)
            for index, response in answers.items()
            if index in grades
        ]
        ensure_modes(
            connection,
            {mode for each in grade_rows for mode in each.grade.modes},
            self.actor,
            now,
        )
        new = self._insert_grades(connection, grade_rows, now) if grade_rows else 0
        pair_names = {
            index: (record.external_id, record.source) for index, record in preferences.items()
        }
        pairs = (
            pairs_named(connection, {name for name, _ in pair_names.values()})
            if preferences
            else {}
        )
        preference_rows = {
            index: replace(preferences[index], pair_id=pair.id, source=pair.source)
            for index, pair in rows.find("pair", "pair_id", pair_names, pairs).items()
        }
        rows.new |= self._insert_preferences(connection, preference_rows, now)
        outcome = rows.stored()
        outcome.new += new
        outcome.unchanged -= new
        return outcome

    def _place_spans(
        self, connection: Connection, ids: Mapping[int, int], grades: dict[int, Any]
    ) -> None:
        """Move the spans of grades, by row, in answers that are longer or shorter because of masks."""
        masks = masks_in_force()
        if masks is None:
            return
        with_spans = {
            index: id_
            for index, id_ in ids.items()
            if index in grades and grades[index].grade.spans
        }
        texts = answer_texts(connection, [*with_spans.values()])
        for index, id_ in with_spans.items():
            answer = texts[id_].answer or ""
            first = min(
                (answer.index(mask) for mask in masks.masks_in(answer)), default=len(answer)
            )
            grade = grades[index].grade
            spans = tuple(_placed(span, answer, first) for span in grade.spans)
            grades[index] = replace(grades[index], grade=replace(grade, spans=spans))

    def _insert_grades(
        self, connection: Connection, grades: Sequence[ImportedGrade], now: datetime
    ) -> int:
        """Store grades, and return how many are new."""
        plain = [each for each in grades if each.review is None]
        new, changes = insert_grades(connection, plain, self.batch_id, now)
        self._changes += changes
        with_review = [(each.review, each) for each in grades if each.review is not None]
        if with_review:
            reviewers = imported_reviewers(connection, {each.annotator for _, each in with_review})
            reviews = [
                (record, review_of_grade(each, reviewers, self.batch_id, now))
                for record, each in with_review
            ]
            new += len(self._reviews.store(connection, reviews))
        return new

    def _insert_preferences(
        self, connection: Connection, preferences: Mapping[int, ImportedPreference], now: datetime
    ) -> set[int]:
        """Store preferences, and return the rows of the new ones."""
        plain = {index: each for index, each in preferences.items() if each.review is None}
        are_new = (
            store_preferences(connection, list(plain.values()), self.batch_id, now) if plain else []
        )
        new = {index for index, is_new in zip(plain, are_new, strict=True) if is_new}
        with_review = {index: each for index, each in preferences.items() if index not in plain}
        if with_review:
            names = {each.preference.annotator for each in with_review.values()}
            reviewers = imported_reviewers(connection, names)
            reviews = {
                index: review_of_preference(each, reviewers, self.batch_id, now)
                for index, each in with_review.items()
            }
            records = [(each.review, reviews[index]) for index, each in with_review.items()]
            keys = self._reviews.store(
                connection, [(record, review) for record, review in records if record]
            )
            new |= {index for index, review in reviews.items() if review.request_key in keys}
        return new

    def messages(self) -> Iterator[str]:
        """Yield scales, how many earlier grades changed, and names in several spellings that are one person."""
        yield from self._dimensions.messages()
        if self._changes:
            yield f"{counted(self._changes, 'earlier grade')} of the same people changed"
        for spelling, file_names in self._spellings.items():
            stored_names = (self._authors or {}).get(spelling, set())
            names = file_names | stored_names
            if (
                len(names) > 1 and len(stored_names) < 2
            ):  # people who are stored in two spellings are two people
                yield f"one reviewer: {' and '.join(map(repr, sorted(names)))}"

    def _annotator(self, cells: Cells) -> str:
        annotator = cells.required_name("annotator")
        self._spellings.setdefault(one_spelling(annotator), set()).add(annotator)
        return annotator

    def _is_first(
        self, key: str, graded_id: str, annotator: str, parts: Collection[str], content: object
    ) -> bool:
        """Whether the reviewer gives these parts of a grade of ``key`` first, or again in an equal row.

        Notes whether another spelling of the reviewer's name has given one of the parts.
        """
        equal, *keys = (f"{key}\0{annotator}\0{name}" for name in (content, *parts))
        if equal in self.seen:
            return True
        others = self._spellings[one_spelling(annotator)] - {annotator}
        if any(f"{key}\0{name}\0{part}" in self.seen for name in others for part in parts):
            self._respelled.add((graded_id, annotator))
        return not any(each in self.seen for each in keys) and all(
            map(self.seen.add, (equal, *keys))
        )

    def _check_number(self, review: ReviewRecord) -> None:
        if not self.seen.add(f"review\0{review.number}"):
            raise Unusable("review", f"an earlier row of this file has the review {review.number}")

    def _refuse_respelled(
        self,
        connection: Connection,
        rows: RowOutcomes,
        field: str,
        names: Mapping[int, tuple[str, str]],
    ) -> set[int]:
        """Refuse, and return, the rows of a reviewer who graded the same before in another spelling of the name.

        People who are already stored in several spellings are different people.
        """
        again = {index: name for index, name in names.items() if name in self._respelled}
        apart = several_of_spelling(connection) if again else set()
        indexes = {
            index for index, (_, annotator) in again.items() if one_spelling(annotator) not in apart
        }
        for index in indexes:
            graded_id, annotator = again[index]
            reason = f"{annotator!r}, in another spelling, has graded {graded_id!r} in an earlier row of this file"
            rows.refuse(index, field, reason)
        return indexes

    def _of_pair(self, cells: Cells) -> ImportedPreference:
        pair_id, annotator = cells.required_name("pair_id", MAX_ID), self._annotator(cells)
        source = cells.name("source") or self.source
        order, scale = cells.choice("shown", Shown), scale_of_pairs("scale", cells.text("scale"))
        columns = cells.object("aspects")
        if columns is None:
            # The aspects are groundedness, quality and all columns without another meaning.
            names = [cells.taken[field] for field in _ASPECTS if field in cells.taken]
            columns = {
                name: cells.masked(cells.values[name])
                for name in (*cells.extra, *names)
                if not (cells.textual and cells.values[name] == "")
            }
        aspects = aspects_in("", columns, scale, cells.get("preference"))
        review = _review_record(cells)
        if not (aspects or review):
            raise Unusable(
                None,
                "no preference: give preference (A, B or tie), or aspects with sides or grades",
            )
        if review is not None:
            self._check_number(review)
        elif not self._is_first(
            f"pair\0{source or ''}\0{pair_id}\0{order or ''}", pair_id, annotator, [""], aspects
        ):
            raise Unusable(
                "pair_id",
                f"{annotator} has judged the pair {pair_id!r} in an earlier row of this file",
            )
        preference = GivenPreference(
            annotator, aspects, order, Grade(**_texts(cells, NOTES)), cells.time("at")
        )
        return ImportedPreference(pair_id, source, preference, review)


def _texts(cells: Cells, names: Collection[str]) -> dict[str, Any]:
    return {name: cells.text(name) for name in names}


def _review_record(cells: Cells) -> ReviewRecord | None:
    """Return the review of a row of an export, without the grade; None without a number of the review."""
    number, replaces = cells.whole_number("review"), cells.whole_number("replaces")
    if number is None:
        return None
    seconds = cells.number("seconds")
    if seconds is not None and (
        isinstance(seconds, bool) or not isinstance(seconds, int | float) or seconds < 0
    ):
        raise Unusable("seconds", "not a number of seconds")
    seen_texts = cells.json("seen")
    if seen_texts is not None and not (
        isinstance(seen_texts, list) and all(isinstance(each, str) for each in seen_texts)
    ):
        raise Unusable("seen", "not a list of texts")
    flags = cells.objects("flags") or ()
    rules = [flag.get("rule") for flag in flags]
    if not all(isinstance(rule, str) for rule in rules):
        raise Unusable("flags", "each flag needs its rule")
    return ReviewRecord(
        number=number,
        replaces=replaces,
        at=cells.time("at"),
        decision=cells.choice("decision", Decision),
        stage=cells.choice("stage", Stage),
        seconds=None if seconds is None else float(seconds),
        seen=None if seen_texts is None else tuple(seen_texts),
        rules=tuple(map(str, rules)),
        still_open=frozenset(
            str(flag["rule"]) for flag in flags if flag.get("state") == FlagState.OPEN
        ),
    )


def _add_fields(
    connection: Connection, rows: RowOutcomes, grades: dict[int, ImportedGrade]
) -> None:
    """Add the fields of label schemas, and the ids of the schemas, to the grades. Refuse invalid fields.

    In an export, a span of a field has the field's name. Such a span becomes a value of the field.
    """
    schemas: dict[str, SchemaVersion] = {}
    for index, record in list(grades.items()):
        if record.schema is None:
            continue
        try:
            schema = schemas[record.schema] = schemas.get(record.schema) or schema_named(
                connection, record.schema
            )
            values = schema.content.values(record.grade) | dict(record.fields)
            grade = schema.content.grade(values, record.grade)
        except NotFound as error:
            rows.refuse(index, "label_schema", str(error))
            del grades[index]
        except BadInput as error:
            rows.refuse(index, "fields", str(error))
            del grades[index]
        else:
            scores = *record.scores, *grade.scores
            grades[index] = replace(record, grade=grade, scores=scores, label_schema_id=schema.id)


def _is_true(cells: Cells, field: str) -> bool:
    """Whether a field is true; a text, as in CSV, may be in upper or lower case."""
    value = cells.get(field)
    words = "false" if value is None else str(value).casefold()
    if words not in {"true", "false"}:
        raise Unusable(field, f"{words[:40]!r} is not true or false")
    return words == "true"


def _modes(cells: Cells) -> tuple[str, ...]:
    """Return the failure modes. The cell has a list, or names that are separated by semicolons."""
    modes = cells.get("failure_modes")
    if isinstance(modes, str):
        modes = cells.json("failure_modes") if modes.startswith("[") else modes.split(";")
    if not isinstance(modes or [], list) or not all(
        isinstance(mode, str) and len(mode) <= 60 for mode in modes or ()
    ):
        raise Unusable("failure_modes", "not a list of names with at most 60 characters")
    return tuple(sorted({name for mode in modes or () if (name := " ".join(mode.split()))}))


def _placed(span: dict[str, Any], answer: str, first_mask: int) -> dict[str, Any]:
    """Return a span with the place of its text in the masked answer, without a place if the text is not found."""
    start, end, text = span.get("start"), span.get("end"), span.get("text")
    if start is None or end is None or end <= first_mask or span.get("passage") is not None:
        return span
    if not isinstance(text, str) or not text:
        return span
    places = (match.start() for match in re.finditer(re.escape(text), answer))
    nearest = min(places, key=lambda place: abs(place - start), default=None)
    return span | {"start": nearest, "end": None if nearest is None else nearest + len(text)}


def _spans(cells: Cells) -> tuple[dict[str, Any], ...] | None:
    """Return the marked parts of the answer; ``start`` and ``end`` are offsets into the answer."""
    spans = cells.objects("spans")
    for number, span in enumerate(spans or (), start=1):
        ends: list[Any] = [span.get("start"), span.get("end")]
        are_offsets = all(isinstance(value, int) and not isinstance(value, bool) for value in ends)
        if ends != [None, None] and not (are_offsets and 0 <= ends[0] <= ends[1]):
            raise Unusable(
                "spans",
                f"span {number} needs start and end as whole numbers from 0, and end must not be below start",
            )
    return spans
