"""The report of agreement as a download: one HTML file, or the same as JSON."""

import json
from collections.abc import Callable
from functools import partial

import streamlit as st

from judgeboard.agreement import AgreementResult, report_results
from judgeboard.agreement.report_page import report_page
from judgeboard.answer_pairs import GradeName
from judgeboard.stats.people import Human
from judgeboard_dashboard.session import as_now, reading

Make = Callable[[list[AgreementResult]], bytes]


def report_buttons(grade: GradeName, version_id: int | None, human: Human) -> None:
    """Show both downloads; they are made when they are pressed.

    Args:
        grade: The grade that the page shows.
        version_id: The judge version that it shows; None where it shows none.
        human: What that is held against.
    """
    with st.popover("Report", icon=":material/download:"):
        for label, ending, mime, make in (
            ("As one HTML file", "html", "text/html", _html),
            ("As JSON", "json", "application/json", _json),
        ):
            st.download_button(
                label,
                data=as_now(partial(_made, make, grade, version_id, human)),
                file_name=f"judgeboard-agreement.{ending}",
                mime=mime,
                on_click="ignore",
                key=f"report_{ending}",
                width="stretch",
            )


def _made(make: Make, grade: GradeName, version_id: int | None, human: Human) -> bytes:
    with reading() as connection:
        return make(report_results(connection, grade, version_id, human))


def _html(results: list[AgreementResult]) -> bytes:
    return report_page(results).encode()


def _json(results: list[AgreementResult]) -> bytes:
    return json.dumps([each.as_json() for each in results], ensure_ascii=False, indent=2).encode()
