"""The panel of a jury's members or of a judge's repeats."""

from judgeboard.methods.jury import JuryReport
from judgeboard.methods.repeats import RepeatsReport
from judgeboard.reports.tables import Column, Table
from judgeboard.stats.estimates import number_words, percent_words
from judgeboard_dashboard.widgets.tables import table
from judgeboard_dashboard.widgets.texts import caption, heading

_ANSWERS = Column("Answers", "count", width=65)
JURY_COLUMNS = (
    Column("Judge", width=150),
    Column("Agreement with people", "share estimate", width=115),
    Column("Kappa", "estimate", width=125),
    _ANSWERS,
)
REPEATS_COLUMNS = (
    Column("Measure", width=110),
    Column("All repeats equal", "share estimate", width=115),
    Column("Alpha", "estimate", width=125),
    Column("Spread", "estimate", width=125),
    _ANSWERS,
)


def combined_panel(report: JuryReport | RepeatsReport | str) -> None:
    """Show the agreement of members or repeats; a text is the reason why there is none."""
    if isinstance(report, str):
        heading("Repeats")
        caption(report if report.endswith((".", "`")) else f"{report}.")
    elif isinstance(report, JuryReport):
        _jury(report)
    else:
        _repeats(report)


def _jury(report: JuryReport) -> None:
    heading(f"{len(report.members)} members")
    unanimous = f"Unanimous on {report.unanimous_items:,} of {report.labelled:,} labelled answers"
    for text in (
        f"{unanimous}: {percent_words(report.unanimous)}.",
        f"Fleiss' kappa of the members: {number_words(report.fleiss_kappa)}.",
        f"No verdict because of a tie: {report.split:,} of {report.items:,} answers.",
        f"Unanimous but wrong according to people: {percent_words(report.wrong_together)}.",
        *(
            f"Mean distance of the highest and the lowest {measure}: {number_words(spread)}."
            for measure, spread in report.spread.items()
            if spread.value is not None
        ),
    ):
        caption(text)
    rows = Table(
        JURY_COLUMNS,
        tuple(
            (each.judge_version, each.accuracy, each.kappa, each.accuracy.n) for each in (report.jury, *report.members)
        ),
    )
    table(rows, [None] * len(rows.rows), key="jury_members", under=report.notes)


def _repeats(report: RepeatsReport) -> None:
    heading("Repeats")
    main = report.main
    caption(
        f"{report.judge} has up to {report.repeats} repeats per answer. All repeats have the same {main.measure} on "
        f"{percent_words(main.self_consistency)} of {main.items:,} answers."
    )
    rows = Table(
        REPEATS_COLUMNS,
        tuple(
            (each.measure, each.self_consistency, each.krippendorff_alpha, each.spread, each.items)
            for each in report.measures
        ),
    )
    incomplete = f"Left out: {main.incomplete:,} answers without a value in every repeat." if main.incomplete else None
    table(rows, [None] * len(rows.rows), key="repeats", under=(*report.notes, incomplete))
