"""The start of a response's texts, as much as a list shows: a page of fifty answers must not read 100 kB of each."""

from typing import Any

from sqlalchemy import ColumnElement, case, func

from judgeboard.store.schema.tables import ResponseRow

_LENGTH = 300


def _start(text: ColumnElement[Any]) -> ColumnElement[str | None]:
    """A longer text ends with "…": half a word would else pass for what was written."""
    longer = func.length(func.substr(text, 1, _LENGTH + 1)) > _LENGTH
    return case((longer, func.rtrim(func.substr(text, 1, _LENGTH - 1)) + "…"), else_=text)


QUESTION: ColumnElement[str | None] = _start(ResponseRow.__table__.c.query).label("question")
ANSWER: ColumnElement[str | None] = _start(ResponseRow.__table__.c.answer).label("answer")
