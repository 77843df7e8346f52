"""The section of audits on the page Judges: the marks of a supreme judge compared with people, and the answers."""

from collections.abc import Mapping, Sequence

from judgeboard.formats.output import Column, Columns, Table
from judgeboard.methods.audits.report import (
    AuditedAnswer,
    audit_caveats,
    audit_report,
    done_audits,
    rates_table,
)
from judgeboard.store.tables import StoredVersion
from judgeboard.store.verdict_pairs import JudgedText, judged_texts
from judgeboard_dashboard.session import reading, stacking_columns
from judgeboard_dashboard.widgets.filters import choose, switch
from judgeboard_dashboard.widgets.navigation import item
from judgeboard_dashboard.widgets.tables import one_line, table
from judgeboard_dashboard.widgets.texts import caption, count, heading, sentence

NO_AUDIT = (
    "In an audit, a stronger judge (the supreme judge) marks the wrong verdicts of a judge.",
    "This version has no audit yet: `judgeboard test audit NAME --model MODEL`",
)
MOST = 500
MEANINGS = {
    "Caught": "The verdict is wrong according to people, and the supreme judge marked it.",
    "Missed": "The verdict is wrong according to people, but the supreme judge did not mark it.",
    "Accused": "The verdict is right according to people, but the supreme judge marked it as wrong.",
}


def audits_section(version: StoredVersion) -> None:
    """Show an audit of this version: four counts, three rates and the answers of the selected list."""
    heading("Audits")
    with reading() as connection:
        audits = {
            supreme.title: supreme
            for judged_version, supreme in done_audits(connection)
            if judged_version.id == version.id
        }
        if not audits:
            caption(*NO_AUDIT)
            return
        supreme = choose("Supreme judge", audits, key="supreme", width=240)
        report = audit_report(connection, version, supreme, reviewed_only=True)
        sentence(report.sentence)
        caption(*audit_caveats(connection, version, supreme, report))
        if report.headline.code == "audit_unusable":
            return
        left, right = stacking_columns("audits", [1, 1.6])
        with left:
            table(report.table("n"), key="audit_counts")
        with right:
            flags = count(report.about.counts["flags_raised"], "flag")
            table(
                rates_table(report),
                key="audit_rates",
                under=("Intervals: 95 % CI.", f"{flags} on marked verdicts for people to review."),
            )
        # No counts in the names: the names are part of the address.
        list_name = switch("Answers", {name: name for name in MEANINGS}, key="list")
        answers = {"Caught": report.caught, "Missed": report.missed, "Accused": report.accused}[
            list_name
        ]
        texts = judged_texts(
            connection, version.id, [answer.response_id for answer in answers[:MOST]]
        )
    _list(answers, texts, list_name)


def _list(
    answers: Sequence[AuditedAnswer], texts: Mapping[int, JudgedText], list_name: str
) -> None:
    """List the answers. An answer without texts has a newer judgment."""
    if not answers:
        caption(f"No answers in this list. {MEANINGS[list_name]}")
        return

    def _text(answer: AuditedAnswer, name: str) -> str | None:
        return one_line(getattr(texts.get(answer.response_id), name, None))

    # The labels and the id are visible at a width of 800 px; the texts follow.
    columns: Columns[AuditedAnswer] = {
        Column("Judge", width=105): lambda answer: answer.judge,
        Column("People", width=105): lambda answer: answer.people,
        Column("Id", width=120): lambda answer: answer.external_id,
        Column("Type", width=100): lambda answer: _text(answer, "query_type"),
        Column("Question", width=330): lambda answer: _text(answer, "question"),
        Column("Answer", width=380): lambda answer: _text(answer, "answer"),
    }
    first_answers = answers[:MOST]
    first = f"The first {len(first_answers):,} of " if len(first_answers) < len(answers) else ""
    table(
        Table.of(first_answers, columns),
        [item(answer.response_id) for answer in first_answers],
        key=f"audit_{list_name.lower()}",
        under=(
            MEANINGS[list_name],
            f"{first}{count(len(answers), 'answer')}.",
            "Click a row to open the answer.",
        ),
    )
