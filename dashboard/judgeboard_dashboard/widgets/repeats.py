"""The section of repeats on the page Judges."""

from judgeboard.domain import JURY
from judgeboard.errors import NotFound
from judgeboard.measure.agreement_result import left_out_words
from judgeboard.methods.repeats.run import version_report
from judgeboard.registry.judge_kinds import kind_of
from judgeboard.store.tables import StoredVersion
from judgeboard_dashboard.session import read
from judgeboard_dashboard.widgets.tables import table
from judgeboard_dashboard.widgets.texts import caption, heading


def repeats_section(version: StoredVersion) -> None:
    """Show how far the repeats of a judge agree, or why the agreement is not available."""
    if (
        version.kind == JURY or not kind_of(version.kind).calls_host
    ):  # such a judge is deterministic
        return
    heading("Repeats")
    try:
        report = read(version_report, version)
    except NotFound as error:
        reason = str(error)
        caption(reason if reason.endswith((".", "`")) else f"{reason}.")
        return
    left_out = left_out_words(report.main.left_out.items())
    table(report.table(), key="repeats", under=(*(each.text for each in report.caveats), left_out))
