"""The section of repeats on the page Judges."""

from judgeboard.domain import JURY
from judgeboard.errors import NotFound
from judgeboard.formats.output import Column, Columns, Table
from judgeboard.judges.kinds import calls_host
from judgeboard.measure.agreement_result import left_out_words
from judgeboard.methods.repeats.run import Repeated, version_report
from judgeboard.stats.estimates import percent_words
from judgeboard.store.judge_versions import StoredVersion
from judgeboard_dashboard.session import reading
from judgeboard_dashboard.widgets.tables import table
from judgeboard_dashboard.widgets.texts import caption, heading

REPEATS_COLUMNS: Columns[Repeated] = {
    Column("Measure", width=110): lambda repeated: repeated.measure,
    Column("All repeats equal", "share estimate", width=115): lambda repeated: repeated.self_consistency,
    Column("Alpha", "estimate", width=125): lambda repeated: repeated.krippendorff_alpha,
    Column("Spread", "estimate", width=125): lambda repeated: repeated.spread,
    Column("ICC(1)", "estimate", width=125, help="Intraclass correlation: reliability of one repeat"): (
        lambda repeated: repeated.icc
    ),
    Column("Cronbach's alpha", "estimate", width=125, help="Reliability of the mean of all repeats"): (
        lambda repeated: repeated.cronbach_alpha
    ),
    Column("Answers", "count", width=65): lambda repeated: repeated.items,
}


def repeats_section(version: StoredVersion) -> None:
    """Show how far the repeats of a judge agree, or the reason why it is not available."""
    if version.kind == JURY or not calls_host(version.kind):  # such a judge is deterministic
        return
    heading("Repeats")
    try:
        with reading() as connection:
            report = version_report(connection, version)
    except NotFound as error:
        reason = str(error)
        caption(reason if reason.endswith((".", "`")) else f"{reason}.")
        return
    main = report.main
    caption(
        f"{report.judge} has up to {report.repeats} repeats per answer. All repeats have the same {main.measure} on "
        f"{percent_words(main.self_consistency)} of {main.items:,} answers."
    )
    left_out = left_out_words(main.left_out.items())
    table(Table.of(report.measures, REPEATS_COLUMNS), key="repeats", under=(*report.notes, left_out))
