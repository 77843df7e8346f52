"""The section of alignment on the page Judges."""

from judgeboard.domain import Action
from judgeboard.formats.output import Column, Columns, Table
from judgeboard.methods.alignment.candidate_prompts import CRITERIA
from judgeboard.methods.alignment.run import AlignmentPage, accept_candidate, alignment_page
from judgeboard.stats.paired import Conclusion
from judgeboard.store.tables import StoredVersion
from judgeboard.store.verdict_pairs import JudgedText
from judgeboard_dashboard.gate import permitted
from judgeboard_dashboard.session import ask_reviewer, button, read, saving, stacking_columns, store
from judgeboard_dashboard.widgets.navigation import item
from judgeboard_dashboard.widgets.tables import table
from judgeboard_dashboard.widgets.texts import (
    caption,
    command_block,
    count,
    heading,
    sentence,
    show_difference,
    when,
)

CHANGED_COLUMNS: Columns[JudgedText] = {
    Column("Answer", width=110): lambda each: each.external_id,
    Column("Question", width=200): lambda each: each.question,
    Column("Judge's reason", width=260): lambda each: each.reasoning,
}


def alignment_section(version: StoredVersion) -> None:
    """Show the latest look at held-out answers for a judge version. Leads can accept a candidate that is better."""
    if version.kind not in CRITERIA:
        return
    heading("Align")
    page = read(alignment_page, version.id)
    if page is None:
        caption(
            "A model can propose better instructions for this judge. Labels of people show if they are better."
        )
        command = f"judgeboard align --judge-version '{version.title}' --model MODEL"
        command_block(command)
        return
    look = page.stored.look
    sentence(look.sentence)
    caption(
        f"{look.model} proposed this change. Held-out labels of {count(look.held_out, 'answer')} tested it, "
        f"{when(page.stored.at)}. Looks for this version: {page.looks}."
    )
    left, right = stacking_columns("alignment", [1, 1])
    with left:
        heading("Prompt")
        show_difference(page.before, page.after)
        if page.accepted is not None:
            caption(
                f"Accepted as {page.accepted}. To judge with it, open Judge answers under Runs & alerts."
            )
        elif page.stored.look.conclusion != Conclusion.BETTER:
            caption("This prompt was not shown to be better, so it cannot be accepted.")
        elif not permitted(Action.CHOOSE_JUDGE):
            caption("A lead accepts a prompt as a new judge version.")
        elif (
            person := ask_reviewer("Your name is stored with the new judge version.")
        ) is not None:
            tip = "Stores a new judge version with this prompt. It judges nothing yet."
            if button(
                "Accept prompt",
                key="align_accept",
                type="primary",
                icon=":material/check:",
                help=tip,
            ):
                with saving("Not accepted"):
                    accept_candidate(store(), page.stored.id, person)
    with right:
        _changed_answers("Mended", look.mended, page)
        _changed_answers("Broken", look.broken, page)


def _changed_answers(title: str, ids: tuple[int, ...], page: AlignmentPage) -> None:
    heading(f"{title}, {len(ids):,}")
    visible_answers = [page.answers[id_] for id_ in ids if id_ in page.answers]
    if not ids:
        caption("No held-out answer.")
    elif not visible_answers:
        caption("You cannot see these answers before you have reviewed them.")
    else:
        links = [item(each.response_id) for each in visible_answers]
        table(
            Table.of(visible_answers, CHANGED_COLUMNS), links, key=f"align_{title.lower()}", most=6
        )
