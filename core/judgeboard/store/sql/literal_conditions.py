"""Conditions of SQL written out, not bound: a partial index serves only a query that says so at planning."""

from sqlalchemy import ColumnElement, literal_column

LOGGED: ColumnElement[bool] = literal_column("response.kind = 'log'")

OPEN: ColumnElement[bool] = literal_column("flag.state = 'open'")

NOT_OK: ColumnElement[bool] = literal_column("judgment.status <> 'ok'")

CURRENT_OF_VERSION: ColumnElement[bool] = literal_column("current_judgment.response_kind = 'log'")
"""Rows of current_judgment on the log: each judge version's current verdict."""

CURRENT_OF_NAME: ColumnElement[bool] = literal_column(
    "current_judgment.is_current AND current_judgment.response_kind = 'log'"
)
"""Rows of current_judgment on the log: each judge's current verdict, of whichever version."""
