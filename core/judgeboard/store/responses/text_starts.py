"""The start of a response's texts, as much as a list shows: a page of fifty answers must not read 100 kB of each."""

from typing import Any

from sqlalchemy import ColumnElement, case, func

from judgeboard.store.schema.tables import RESPONSE

_LENGTH = 300


def text_start(text: ColumnElement[Any]) -> ColumnElement[str | None]:
    """Return the first 300 characters; a longer text ends with "…", or half a word would pass for what was written."""
    longer = func.length(func.substr(text, 1, _LENGTH + 1)) > _LENGTH
    return case((longer, func.rtrim(func.substr(text, 1, _LENGTH - 1)) + "…"), else_=text)


QUESTION: ColumnElement[str | None] = text_start(RESPONSE.c.query).label("question")
ANSWER: ColumnElement[str | None] = text_start(RESPONSE.c.answer).label("answer")
