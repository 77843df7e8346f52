"""The panel of a jury's members, or of a judge's repeats."""

from collections.abc import Sequence

import streamlit as st

from judgeboard.methods.jury import JuryReport
from judgeboard.methods.repeats import RepeatsReport
from judgeboard.reports.tables import Column, Table
from judgeboard.stats.estimates import number_words, percent_words
from judgeboard_dashboard.widgets.tables import table
from judgeboard_dashboard.widgets.texts import caption, heading

_ANSWERS = Column("Answers", "count")
_WORDS = st.column_config.TextColumn(width=115)
_COUNT = st.column_config.NumberColumn(format="localized", width=65)
JURY_COLUMNS = {
    "Judge": st.column_config.TextColumn(width=150),
    "With people": _WORDS,
    "Kappa": st.column_config.TextColumn(width=125),
    "Answers": _COUNT,
}
REPEATS_COLUMNS = {
    "Measure": st.column_config.TextColumn(width=110),
    "All the same": _WORDS,
    "Alpha": st.column_config.TextColumn(width=125),
    "Spread": st.column_config.TextColumn(width=125),
    "Answers": _COUNT,
}


def combined_panel(report: JuryReport | RepeatsReport | str) -> None:
    """Show how far members or repeats agree; a text says why there is nothing, with the command."""
    if isinstance(report, str):
        heading("Asked again")
        caption(_sentence(report))
    elif isinstance(report, JuryReport):
        _jury(report)
    else:
        _repeats(report)


def _jury(report: JuryReport) -> None:
    heading(f"Its {len(report.members)} members")
    all_of_one_mind = f"Unanimous on {report.unanimous_items:,} of {report.labelled:,} labelled answers"
    unanimous = f"{all_of_one_mind}: {percent_words(report.unanimous)}."
    _lines(
        [
            unanimous,
            f"Fleiss' kappa among them {number_words(report.fleiss_kappa)}.",
            f"Split: {report.split:,} of {report.items:,} answers, which have no verdict.",
            f"Unanimous and wrong by people's grades: {percent_words(report.wrong_together)}.",
            *(
                f"Mean distance of the highest and the lowest {measure}: {number_words(spread)}."
                for measure, spread in report.spread.items()
                if spread.value is not None
            ),
        ]
    )
    rows = Table(
        (Column("Judge"), Column("With people", "share estimate"), Column("Kappa", "estimate"), _ANSWERS),
        tuple(
            (each.judge_version, each.accuracy, each.kappa, each.accuracy.n) for each in (report.jury, *report.members)
        ),
    )
    table(rows, [None] * len(rows.rows), key="jury_members", under=report.notes, columns=JURY_COLUMNS)


def _repeats(report: RepeatsReport) -> None:
    heading("Asked again")
    main = report.main
    caption(
        f"{report.judge} was asked up to {report.repeats} times about an answer; on {main.measure} it gives the same "
        f"every time on {percent_words(main.self_consistency)} of {main.items:,} answers."
    )
    rows = Table(
        (
            Column("Measure"),
            Column("All the same", "share estimate"),
            Column("Alpha", "estimate"),
            Column("Spread", "estimate"),
            _ANSWERS,
        ),
        tuple(
            (each.measure, each.self_consistency, each.krippendorff_alpha, each.spread, each.items)
            for each in report.measures
        ),
    )
    incomplete = (
        f"{main.incomplete:,} answers without a value in every repeat are left out." if main.incomplete else None
    )
    table(rows, [None] * len(rows.rows), key="repeats", under=(*report.notes, incomplete), columns=REPEATS_COLUMNS)


def _lines(said: Sequence[str]) -> None:
    for text in said:
        caption(text)


def _sentence(text: str) -> str:
    """A sentence that begins with a judge's name, which stays as it is written."""
    return text + ("" if text.endswith(".") else ".")
