"""Columns of whole numbers that are read as one text each."""

from sqlalchemy import select

from graded_log import GradedLog
from judgeboard.store.statements import read_columns, read_numbers
from judgeboard.store.tables import RESPONSE


def test_numbers_read_as_texts_are_those_that_rows_have(log: GradedLog) -> None:
    ids = log.answers(30)
    few, others = RESPONSE.c.id.in_(ids[:3]), RESPONSE.c.id.not_in(ids[:3])
    columns = RESPONSE.c.external_id, RESPONSE.c.id, -RESPONSE.c.id
    with log.store.reading() as connection:
        names, numbers = read_numbers(connection, *(select(*columns).where(part) for part in (few, others)))
        texts, *rows = read_columns(connection, select(*columns).order_by(RESPONSE.c.id))
        nothing = read_numbers(connection, select(*columns).where(RESPONSE.c.id < 0))
    order = numbers[0].argsort()
    assert [column[order].tolist() for column in numbers] == [column.tolist() for column in rows]
    assert names.names == texts.names
    assert names.codes[order].tolist() == texts.codes.tolist()
    assert nothing[0].names == ()
    assert [len(column) for column in nothing[1]] == [0, 0]
