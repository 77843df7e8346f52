"""The view Versions: the judge versions, the differences between two versions, and retiring a version."""

import json
from typing import Any

import streamlit as st

from judgeboard.domain import Action
from judgeboard.formats.output import Column, Columns, Table
from judgeboard.people.roster import restore_version, retire_version
from judgeboard.store.judge_versions import list_versions, retired_versions
from judgeboard.store.tables import StoredVersion
from judgeboard_dashboard.evidence import show_div
from judgeboard_dashboard.gate import demand
from judgeboard_dashboard.session import ask_reviewer, button, in_row, page, reading, saving, store
from judgeboard_dashboard.widgets.navigation import Rows, open_button
from judgeboard_dashboard.widgets.tables import choose_row, table
from judgeboard_dashboard.widgets.texts import (
    UNKNOWN,
    caption,
    empty,
    heading,
    show_difference,
    when,
)


def versions() -> None:
    """Show the versions, and the prompt of one version or the difference from another. Admins can retire a version."""
    demand(Action.SEE_MANAGED)
    with reading() as connection:
        all_versions, retired = list_versions(connection), retired_versions(connection)
    if not all_versions:
        empty("No judge yet.", "`judgeboard judge --judge lexical`")
        return
    newest_first = sorted(all_versions, key=lambda version: -version.id)
    columns: Columns[StoredVersion] = {
        Column("Judge version", width=190): lambda each: (
            f"{each.title}{' (retired)' if each.id in retired else ''}"
        ),
        Column("Kind", width=85): lambda each: each.kind,
        Column("Model", width=190): lambda each: each.model,
        Column("Since", width=115): lambda each: when(each.created_at),
        Column("Fingerprint", width=125): lambda each: each.fingerprint[:12],
    }
    key = f"versions_{newest_first[0].id}_{len(all_versions)}"
    selected_version = newest_first[choose_row(Table.of(newest_first, columns), key=key, most=6)]
    fact = retired.get(selected_version.id)
    with in_row("versions_retiring"):
        if fact is not None:
            state = f"{selected_version.title} was retired by {fact.actor}, {when(fact.at)}: it makes no new judgments."
            show_div("jb-cap", state)
        admin = ask_reviewer("Your name is stored with the change.", to=Action.RETIRE_VERSIONS)
        is_pressed = button(
            "Restore version" if fact is not None else "Retire version",
            key="version_retire",
            type="tertiary",
            icon=":material/unarchive:" if fact is not None else ":material/archive:",
            disabled=admin is None,
            help="A retired version makes no new judgments. Existing ones are kept.",
        )
    if is_pressed and admin is not None:
        with saving("Not changed"):
            change = retire_version if fact is None else restore_version
            change(store(), selected_version.id, admin)
    others = {version.id: version for version in newest_first if version.id != selected_version.id}
    other = None
    if others:
        other = st.selectbox(
            "Compare with",
            list(others),
            index=None,
            format_func=lambda version_id: others[version_id].title,
            placeholder="Another version",
            key=f"versions_other_{selected_version.id}",
            width=260,
        )
    if other is not None:
        both = Rows("verdicts", {"old": others[other].title, "new": selected_version.title})
        open_button("Compare verdicts", both, key="versions_compare", icon=":material/difference:")
    # The prompt and the parameters of the version, or the differences from the other version.
    old, new = selected_version if other is None else others[other], selected_version
    lines = param_lines(old, new)
    if old is new:
        heading(f"{new.title}: prompt and parameters")
        params = Table((Column("Parameter"), Column("Value")), tuple(line[:2] for line in lines))
        show_div("jb-raw jb-prompt", new.prompt) if new.prompt else caption(
            "This version has no prompt."
        )
    else:
        heading(f"From {old.title} to {new.title}")
        params = Table(
            (Column("Parameter"), Column("Old"), Column("New"), Column("Differs")),
            tuple((*line, None if line[1] == line[2] else "differs") for line in lines),
        )
        show_difference(old.prompt, new.prompt)
    table(params, key=f"params_{old.id}_{new.id}", name="parameters", most=10, placeholder=UNKNOWN)


def param_lines(old: StoredVersion, new: StoredVersion) -> list[tuple[str, str | None, str | None]]:
    """Return name, old and new value of each parameter (also kind, model, scale); parameters that differ come first."""
    before, after = _params(old), _params(new)
    lines = [(name, before.get(name), after.get(name)) for name in dict.fromkeys((*before, *after))]
    return sorted(lines, key=lambda line: line[1] == line[2])


def _params(version: StoredVersion) -> dict[str, str]:
    fixed: dict[str, Any] = {"kind": version.kind, "model": version.model, "scale": version.scale}
    return {
        name: value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        for name, value in (fixed | version.params).items()
        if value is not None
    }


with page(answers=False):
    versions()
