"""The card beside the upload: what would come in with the button that brings it, or what came in."""

from collections.abc import Mapping
from dataclasses import dataclass

import streamlit as st

from judgeboard.importing import ImportSummary
from judgeboard.review import Reviewer
from judgeboard_dashboard.evidence import show, tag
from judgeboard_dashboard.importing.sentences import (
    button_words,
    done_lead,
    dry_details,
    dry_lead,
    has_news,
    not_read_words,
)
from judgeboard_dashboard.importing.trial import Choice, RejectedRows, Trial
from judgeboard_dashboard.picking import Rows, pick_rows
from judgeboard_dashboard.saying import caption
from judgeboard_dashboard.session import ask_reviewer
from judgeboard_dashboard.words import count

NEXT: Mapping[str, tuple[str, Rows, str]] = {
    "responses": ("Judge them", Rows("rejudge", {"rows": "plain"}), "Next: judge them."),
    "grades": ("See the agreement", Rows("agreement", {}), "Next: see how far the judges agree with them."),
    "verdicts": ("See the agreement", Rows("agreement", {}), "Next: see how far they agree with people."),
}
# What is looked at by a command.
COMMANDS: Mapping[str, str] = {
    "pairs": "judgeboard compare --recorded --judge-version NAME",
    "comparisons": "judgeboard compare --recorded --judge-version NAME",
    "samples": "judgeboard ssr --recorded",
    "repeats": "judgeboard health --judge-version NAME",
}


@dataclass(frozen=True, slots=True)
class Done:
    """An import that is done."""

    choice: Choice
    summary: ImportSummary
    rejected: RejectedRows


def trial_card(trial: Trial) -> Reviewer | None:
    """Show what would come in; return who pressed Import, None where nobody did."""
    summary = trial.summary
    with st.container(border=True, key="import_card"):
        show(tag("div", tag("b", dry_lead(summary)), cls="jb-say"))
        _unreadable(summary)
        show(tag("div", dry_details(summary), cls="jb-cap"))
        if not_read_words(summary):
            show(tag("div", not_read_words(summary), cls="jb-cap"))
        reviewer = ask_reviewer("It stands beside the import.") if has_news(summary) else None
        with st.container(horizontal=True, gap="small", vertical_alignment="center"):
            pressed = has_news(summary) and st.button(
                button_words(summary),
                key="import_start",
                type="primary",
                icon=":material/upload:",
                disabled=reviewer is None,
                wrap=False,
            )
            _rejected_rows(summary, trial.rejected)
    return reviewer if pressed else None


def done_card(done: Done) -> None:
    """Show what came in, and what to do next."""
    summary = done.summary
    label, rows, said = NEXT.get(summary.kind, (None, None, ""))
    with st.container(border=True, key="import_card"):
        show(tag("div", tag("b", done_lead(summary)), f" {said}", cls="jb-say"))
        _unreadable(summary)
        with st.container(horizontal=True, gap="small", vertical_alignment="center"):
            if label is not None:
                st.button(label, key="import_next", type="primary", on_click=pick_rows, args=(rows,), wrap=False)
            _rejected_rows(summary, done.rejected)
        if summary.kind in COMMANDS:
            caption(f"Next: `{COMMANDS[summary.kind]}`")


def _unreadable(summary: ImportSummary) -> None:
    if summary.unreadable:
        show(tag("div", f"The file is {summary.unreadable}.", cls="jb-note"))


def _rejected_rows(summary: ImportSummary, rejected: RejectedRows) -> None:
    if not rejected.lines:
        return
    st.download_button(
        count(summary.rejected, "rejected row"),
        data=rejected.file,
        file_name=f"{summary.file}.rejected.jsonl",
        mime="application/x-ndjson",
        key="import_rejected",
        type="tertiary",
        icon=":material/download:",
        on_click="ignore",
        help=f"Line, field, reason and the row{_left_out(rejected)}",
    )


def _left_out(rejected: RejectedRows) -> str:
    return f"; the last {rejected.left_out:,} are left out, there are too many" if rejected.left_out else ""
