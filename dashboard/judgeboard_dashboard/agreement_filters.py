"""The controls of the agreement page: who is compared, whose grades count, which slices, and the report to download."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import streamlit as st

from judgeboard.agreement.choice import By, Of
from judgeboard.agreement.report_page import report_page, report_results
from judgeboard.agreement.slices import SLICES
from judgeboard.agreement.words import PEOPLE_SAY
from judgeboard.answer_pairs import GradeName
from judgeboard.reports.json_output import to_json
from judgeboard.stats.people import Human
from judgeboard.store.reviews.reviewers import Reviewer
from judgeboard_dashboard.graded_filter import EVERYBODY, people_names
from judgeboard_dashboard.session import as_now, reading

OF_NAMES: dict[Of, str] = {
    "judge": "Judge and people",
    "people": "People and people",
    "judges": "Judge and judge",
    "repeats": "Judge and its repeats",
}
BY_NAMES: dict[By, str] = {
    by: {"time": "Month", "length": "Length"}.get(by, by.replace("_", " ").capitalize())
    for by in SLICES
    if by != "judge_version"  # these have a table of their own
}
_EVERYBODY, _WITHOUT_GOLD, _EACH = "Everybody", "Everybody, gold aside", "Each by themselves"
_HUMANS: dict[str, Human] = {_EVERYBODY: "gold", _WITHOUT_GOLD: "majority", _EACH: "each"}


@dataclass(frozen=True, slots=True)
class Whose:
    """Whose word counts as people's: one reviewer's, or everybody's as ``human`` says; ``chosen`` as in the address."""

    reviewer_id: int | None
    human: Human
    chosen: str

    @property
    def query(self) -> dict[str, str]:
        """What an address carries of it."""
        return {} if self.chosen == _EVERYBODY else {"people": self.chosen}


def of_field() -> Of:
    """Ask who is compared with whom."""
    names = {name: of for of, name in OF_NAMES.items()}
    chosen = st.selectbox("Compare", list(names), key="compare", bind="query-params", width=195)
    return names.get(chosen, "judge")


def whose_field(graders: Sequence[Reviewer], grade: GradeName, *, disabled: bool) -> Whose:
    """Ask whose word counts as people's."""
    names = people_names(graders)
    together = PEOPLE_SAY["majority"][grade].removeprefix("the ")
    words = {_EVERYBODY: EVERYBODY[grade], _WITHOUT_GOLD: together.capitalize()} if len(graders) > 1 else {}
    chosen = st.selectbox(
        "People",
        [*_HUMANS, *names],
        key="people",
        bind="query-params",
        width=215,
        disabled=disabled,
        format_func=lambda name: words.get(name, name),
        help="What a lead settled stands before what people say together. Without it, or with each person's grade as a "
        "row of its own, the same answers may say something else.",
    )
    return Whose(names.get(chosen), _HUMANS.get(chosen, "gold"), chosen)


def by_field(*, disabled: bool) -> By:
    """Ask for the slices."""
    names = {name: by for by, name in BY_NAMES.items()}
    chosen = st.selectbox("By", list(names), key="by", bind="query-params", width=125, disabled=disabled)
    return names.get(chosen, "query_type")


def report_buttons(grade: GradeName, version_id: int | None, human: Human) -> None:
    """Show both downloads; they are made when they are pressed.

    Args:
        grade: The grade that the page shows.
        version_id: The judge version that it shows; None where it shows none.
        human: What that is compared with.
    """
    with st.popover("Report", icon=":material/download:"):
        for label, ending, mime in (
            ("As one HTML file", "html", "text/html"),
            ("As JSON", "json", "application/json"),
        ):
            st.download_button(
                label,
                data=as_now(partial(_report, ending, grade, version_id, human)),
                file_name=f"judgeboard-agreement.{ending}",
                mime=mime,
                on_click="ignore",
                key=f"report_{ending}",
                width="stretch",
            )


def _report(ending: str, grade: GradeName, version_id: int | None, human: Human) -> bytes:
    with reading() as connection:
        results = report_results(connection, grade, version_id, human)
    return (report_page(results) if ending == "html" else to_json(results)).encode()
