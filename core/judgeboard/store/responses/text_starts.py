"""The start of a response's texts, as much as a list shows: a page of fifty answers must not read 100 kB of each."""

from sqlalchemy import ColumnElement, func

from judgeboard.store.schema.tables import ResponseRow

_LENGTH = 300

QUESTION: ColumnElement[str | None] = func.substr(ResponseRow.__table__.c.query, 1, _LENGTH).label("question")
ANSWER: ColumnElement[str | None] = func.substr(ResponseRow.__table__.c.answer, 1, _LENGTH).label("answer")
