"""What the address of the Rejudge page says beside its filter."""

from dataclasses import dataclass

import streamlit as st

from judgeboard.filters import RowFilter
from judgeboard_dashboard.address import Query
from judgeboard_dashboard.rejudge.rows import RowsName, names

PARAMETERS = ("response", "rows", "job", "run")


@dataclass(frozen=True, slots=True)
class Place:
    """Which rows are to be asked about, and the job or run whose outcome is shown."""

    response_id: int | None
    rows: RowsName | None
    job: str | None
    run: int | None

    def query(self) -> Query:
        """Return it as the address carries it."""
        given = zip(PARAMETERS, (self.response_id, self.rows, self.job, self.run), strict=True)
        return {name: [str(value)] for name, value in given if value is not None}


def place_in_address() -> Place:
    """Read the address; what cannot be used is left out."""
    rows = st.query_params.get("rows")
    known = next((name for name in names(RowFilter()) if name == rows), None)
    return Place(_number("response"), known, st.query_params.get("job"), _number("run"))


def _number(name: str) -> int | None:
    given = st.query_params.get(name, "")
    return int(given) if given.isdecimal() and len(given) < 19 else None
