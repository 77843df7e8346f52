"""The section of juries on the page Judges."""

from judgeboard.domain import JURY
from judgeboard.errors import NotFound
from judgeboard.methods.juries.run import stored_jury_report
from judgeboard.store.tables import StoredVersion
from judgeboard_dashboard.session import read
from judgeboard_dashboard.widgets.tables import table
from judgeboard_dashboard.widgets.texts import caption, heading


def jury_section(version: StoredVersion) -> None:
    """Show the agreement of the members of a jury; another judge has none."""
    if version.kind != JURY:
        return
    try:
        report = read(stored_jury_report, version)
    except NotFound as error:
        reason = str(error)
        heading("Members")
        caption(reason if reason.endswith("`") else f"{reason}.")
        return
    heading(f"{len(report.members)} members")
    caption(report.headline())
    under = (*report.without_interval, *(each.text for each in report.notes))
    table(report.judges_table(), key="jury_members", under=under)
    table(report.figures_table(), key="jury_figures")
