"""Reviewed answers as datasets in the shapes that other tools read."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from sqlalchemy import Connection

from judgeboard.domain import Label, Response
from judgeboard.errors import BadInput
from judgeboard.formats.files import Column, ColumnType, write_rows
from judgeboard.llm.chat import last_of_user, text_of
from judgeboard.measure.ratings import column_of, gold, people_values, person_grades
from judgeboard.registry.methods import Registration, load_object, with_methods
from judgeboard.reviews.outcome import GROUNDEDNESS_CONFLICT, QUALITY_CONFLICT
from judgeboard.runs.generation import rebuilt_messages
from judgeboard.stats.arrays import among
from judgeboard.stats.ratings import SCALES, positions_of_codes
from judgeboard.store.filters import RowFilter
from judgeboard.store.grades import ADJUDICATION, graded_reviews
from judgeboard.store.hidden_rows import Seen
from judgeboard.store.responses import responses_by_id
from judgeboard.store.reviews import corrections
from judgeboard.store.verdicts import matching_answers

Target = str | Path | BinaryIO
_APPROVED_QUALITY = 3


@dataclass(frozen=True, slots=True)
class ReviewedAnswer:
    """A logged answer with its gold ``grades`` (label, groundedness, quality) and its ``corrected`` answer.

    A grade is the adjudicated one, otherwise the grade on which people agree. ``is_case`` is true
    if the corrected answer belongs in a suite.
    """

    response: Response
    grades: Mapping[str, Any]
    corrected: str | None = None
    is_case: bool = False

    @property
    def expected(self) -> str | None:
        """The corrected answer, otherwise the logged reference, otherwise the answer itself if people approved it."""
        if self.corrected is not None or self.response.reference is not None:
            return self.corrected or self.response.reference
        is_approved = self.grades.get("label") == Label.GROUNDED
        return (
            self.response.answer
            if is_approved and self.grades.get("quality", 4) >= _APPROVED_QUALITY
            else None
        )

    @property
    def facts(self) -> dict[str, Any]:
        """The answer's source and id, and its grades."""
        return {
            "source": self.response.source,
            "external_id": self.response.external_id,
            **self.grades,
        }


def reviewed_answers(
    connection: Connection, where: RowFilter | None = None, left_out: Counter[str] | None = None
) -> Iterator[ReviewedAnswer]:
    """Yield the logged answers that people graded or corrected, by id.

    Answers on which people differ, as in a queue, are left out until a lead adjudicates;
    ``left_out`` counts these answers.
    """
    # The grades that are adjudicated or agreed, by answer; a conflict needs an adjudication.
    reviews = graded_reviews(connection)
    grades: dict[int, dict[str, Any]] = defaultdict(dict)
    conflicts: set[int] = set()
    for name, limit in (
        ("label", 1),
        ("quality", QUALITY_CONFLICT),
        ("groundedness", GROUNDEDNESS_CONFLICT),
    ):
        scale, grades_by_answer = SCALES[name], defaultdict[int, list[float]](list)
        own, people = person_grades(reviews, name), people_values(reviews, scale)
        for response_id, value in zip(
            own.response_ids.tolist(), column_of(own, name).tolist(), strict=True
        ):
            grades_by_answer[response_id].append(value)
        differing = {
            each
            for each, values in grades_by_answer.items()
            if round(max(values) - min(values), 9) >= limit
        }
        differing -= set(gold(reviews, name).response_ids.tolist())
        conflicts |= differing
        values = scale.named(positions_of_codes(people.values, scale))
        for response_id, value in zip(people.response_ids.tolist(), values.tolist(), strict=True):
            if response_id not in differing:
                grades[response_id][name] = value
    conflicts -= set(reviews.response_ids[reviews.stages == ADJUDICATION].tolist())
    answer_corrections = corrections(connection)
    ids = np.array(sorted({*grades, *answer_corrections, *conflicts}), dtype=np.int64)
    matching = ids[among(ids, matching_answers(connection, where or RowFilter()))].tolist()
    if left_out is not None:
        left_out["people differ, not adjudicated"] += len(conflicts.intersection(matching))
    for response_id, response in responses_by_id(
        connection, [each for each in matching if each not in conflicts]
    ):
        yield ReviewedAnswer(
            response, grades.get(response_id, {}), *answer_corrections.get(response_id, ())
        )


_ROLES = frozenset({"system", "developer", "user", "assistant"})


def _prompt(response: Response) -> list[dict[str, Any]]:
    """Return the logged messages up to the user's last one, otherwise messages made of the question and passages."""
    messages = response.messages or ()
    place = last_of_user(messages)
    if place is None:
        return [dict(message) for message in rebuilt_messages(response.query, response.passages)]
    prompt = [
        {"role": message["role"], "content": text_of(message.get("content"))}
        for message in messages[: place + 1]
        if message.get("role") in _ROLES
    ]
    return [message for message in prompt if message["content"].strip()]


def _passages(response: Response) -> list[str] | None:
    return None if response.passages is None else list(response.passages)


# The tag of a labelling configuration that has each grade, and its value in a result.
_TAGS: Mapping[str, tuple[str, Callable[[Any], dict[str, Any]]]] = {
    "label": ("choices", lambda value: {"choices": [value]}),
    "quality": ("rating", lambda value: {"rating": value}),
    "groundedness": ("number", lambda value: {"number": value}),
    "corrected_answer": ("textarea", lambda value: {"text": [value]}),
}


def _label_studio(answer: ReviewedAnswer) -> dict[str, Any]:
    response = answer.response
    grades = {
        **answer.grades,
        **({} if answer.corrected is None else {"corrected_answer": answer.corrected}),
    }
    result = [
        {"from_name": name, "to_name": "answer", "type": tag, "value": value_of(grades[name])}
        for name, (tag, value_of) in _TAGS.items()
        if name in grades
    ]
    data = {
        "id": response.external_id,
        "source": response.source,
        "question": response.query,
        "answer": response.answer,
        "context": _passages(response),
        "reference": response.reference,
    }
    return {"data": data, "annotations": [{"result": result, "ground_truth": True}]}


def _dpo(answer: ReviewedAnswer) -> dict[str, Any] | None:
    correction, original = answer.corrected, answer.response.answer
    if correction is None or correction.strip() == original.strip():
        return None
    preferred, rejected = (
        [{"role": "assistant", "content": text}] for text in (correction, original)
    )
    return {"prompt": _prompt(answer.response), "chosen": preferred, "rejected": rejected}


_JSON = ColumnType.JSON
_NOT_CORRECTED = "not corrected"


@dataclass(frozen=True, slots=True)
class Shape:
    """One shape: the file format, the fields, and the row of an answer. Without a row (None), ``lacks`` says why.

    ``write`` writes the rows in another way than `write_rows`. ``write`` returns the number of
    written rows, and counts the rows left out, by reason. Without rows, ``write`` writes no file;
    ``empty`` says why there are none, and what to do.
    """

    format: str
    columns: tuple[Column, ...]
    row: Callable[[ReviewedAnswer], dict[str, Any] | None]
    lacks: str = ""
    write: Callable[[Iterator[dict[str, Any]], Target, Counter[str]], int] | None = None
    empty: str | None = None


def _columns(texts: str, json: str) -> tuple[Column, ...]:
    return (*map(Column, texts.split()), *(Column(name, _JSON) for name in json.split()))


SHAPES: Mapping[str, Shape] = {
    "ragas": Shape(
        "jsonl",
        _columns("user_input response reference", "retrieved_contexts metadata"),
        lambda answer: {
            "user_input": answer.response.query,
            "retrieved_contexts": _passages(answer.response),
            "response": answer.response.answer,
            "reference": answer.expected,
            "metadata": answer.facts,
        },
    ),
    "deepeval": Shape(
        "json",
        _columns(
            "input actual_output expected_output name", "retrieval_context additional_metadata"
        ),
        lambda answer: {
            "input": answer.response.query,
            "actual_output": answer.response.answer,
            "expected_output": answer.expected,
            "retrieval_context": _passages(answer.response),
            "name": answer.response.external_id,
            "additional_metadata": answer.facts,
        },
    ),
    "phoenix": Shape(
        "jsonl",
        _columns("", "input output metadata"),
        lambda answer: {
            "input": {
                "question": answer.response.query,
                "passages": _passages(answer.response),
            },
            "output": {} if answer.expected is None else {"answer": answer.expected},
            "metadata": {**answer.facts, "logged_answer": answer.response.answer},
        },
    ),
    "label-studio": Shape("json", _columns("", "data annotations"), _label_studio),
    "openai-evals": Shape(
        "jsonl",
        _columns("", "input ideal"),
        lambda answer: (
            None
            if answer.expected is None
            else {"input": _prompt(answer.response), "ideal": answer.expected}
        ),
        "no expected answer",
    ),
    "dpo": Shape("jsonl", _columns("", "prompt chosen rejected"), _dpo, _NOT_CORRECTED),
}
"""The shapes of other tools. Label Studio's file is a list of tasks; ``dpo`` is the preference format of TRL."""


@cache
def shapes() -> Mapping[str, Shape]:
    """Return all shapes by name: the shapes of other tools, then those of methods."""

    def loaded(method: Registration) -> Mapping[str, Shape]:
        return {name: load_object(dataset.shape) for name, dataset in method.datasets.items()}

    return with_methods("dataset", SHAPES, loaded)


@dataclass(frozen=True, slots=True)
class WrittenDataset:
    """How many rows a dataset has, and how many reviewed answers are left out, by reason."""

    rows: int
    left_out: Mapping[str, int] = field(default_factory=dict)

    @property
    def words(self) -> str:
        """The reasons with their numbers, empty if nothing is left out."""
        return "; ".join(f"{reason} ({n:,})" for reason, n in self.left_out.items() if n)


def write_dataset(
    seen: Seen, shape: str | Shape, target: Target, where: RowFilter | None = None
) -> WrittenDataset:
    """Write the reviewed answers that match in a shape, or in one of `shapes` by its name.

    ``target`` is a path, which is replaced after all rows are written, or a binary stream. Raises
    BadInput if the shape is unknown.
    """
    if isinstance(shape, str):
        if shape not in shapes():
            raise BadInput(f"there is no shape {shape!r}; choose {', '.join(shapes())}")
        shape = shapes()[shape]
    left_out = Counter[str]()
    with seen.reading() as connection:
        rows = _rows(connection, shape, where, left_out)
        if shape.write is not None:
            return WrittenDataset(shape.write(rows, target, left_out), left_out)
        return WrittenDataset(write_rows(rows, shape.columns, target, shape.format), left_out)


def _rows(
    connection: Connection, form: Shape, where: RowFilter | None, left_out: Counter[str]
) -> Iterator[dict[str, Any]]:
    for answer in reviewed_answers(connection, where, left_out):
        row = form.row(answer)
        if row is None:
            left_out[form.lacks] += 1
        else:
            yield row
