"""The section of juries on the page Judges."""

from judgeboard.domain import JURY
from judgeboard.errors import NotFound
from judgeboard.formats.output import Column, Columns, Table
from judgeboard.measure.agreed_with_people import AgreedWithPeople, described_words
from judgeboard.measure.agreement_result import left_out_words
from judgeboard.methods.juries.run import stored_jury_report
from judgeboard.stats.estimates import number_words, percent_words
from judgeboard.store.judge_versions import StoredVersion
from judgeboard_dashboard.session import reading
from judgeboard_dashboard.widgets.tables import table
from judgeboard_dashboard.widgets.texts import caption, count, heading

JURY_COLUMNS: Columns[AgreedWithPeople] = {
    Column("Judge", width=150): lambda member: member.judge_version,
    Column("Agreement with people", "share estimate", width=115): lambda member: member.accuracy,
    Column("Kappa", "estimate", width=125): lambda member: member.kappa,
    Column("n", "count", width=65, help="Labels behind the figures"): lambda member: member.accuracy.n,
}


def jury_section(version: StoredVersion) -> None:
    """Show the agreement of the members of a jury; another judge has none."""
    if version.kind != JURY:
        return
    try:
        with reading() as connection:
            report = stored_jury_report(connection, version)
    except NotFound as error:
        reason = str(error)
        heading("Members")
        caption(reason if reason.endswith("`") else f"{reason}.")
        return
    heading(f"{len(report.members)} members")
    left_out = f" {left_out_words(report.left_out.items())}" if report.left_out else ""
    unanimous = f"Unanimous on {report.unanimous_items:,} of {count(report.labelled, 'answer')} judged by all members"
    wrong_of = described_words(report.wrong_together, report.wrong_together_answers)
    for text in (
        f"{unanimous}: {percent_words(report.unanimous)}.",
        f"Fleiss' kappa of the members: {number_words(report.fleiss_kappa)}.",
        f"{report.account.ok:,} of {count(report.answers, 'answer')} have a verdict of the jury.{left_out}",
        f"Unanimous but wrong according to people{wrong_of}: {percent_words(report.wrong_together)}.",
        *(
            f"Mean difference between the highest and the lowest {measure}: {number_words(spread)}."
            for measure, spread in report.spread.items()
            if spread.value is not None
        ),
    ):
        caption(text)
    described = report.jury.described.strip()
    under = (
        f"The agreement with people holds {described}. n counts the labels behind it." if described else None,
        *report.without_interval,
        *report.notes,
    )
    table(Table.of((report.jury, *report.members), JURY_COLUMNS), key="jury_members", under=under)
