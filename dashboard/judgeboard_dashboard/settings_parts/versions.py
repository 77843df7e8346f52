"""Judge versions: the list, the prompt of one, the difference of two."""

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from judgeboard.store.judgments.judge_versions import StoredVersion
from judgeboard_dashboard.evidence import show, tag
from judgeboard_dashboard.saying import caption, empty, heading
from judgeboard_dashboard.settings_parts.difference import param_lines, prompt_difference
from judgeboard_dashboard.tables import csv_button, frame, height
from judgeboard_dashboard.words import when

COLUMNS = {"Judge version": "str", "Kind": "str", "Model": "str", "Since": "str", "Fingerprint": "str"}
PARAMS = {"Parameter": "str", "Old": "str", "New": "str", "Differs": "str"}
MARKS = {"added": "+", "removed": "−", "same": "", "gap": "…"}


def versions(listed: Sequence[StoredVersion]) -> None:
    """Show them; of the chosen one the prompt, and what differs from another."""
    heading("Judge versions")
    if not listed:
        empty("Nothing has judged yet.", "`judgeboard judge --judge lexical`")
        return
    newest_first = sorted(listed, key=lambda version: -version.id)
    chosen = _table(newest_first)
    other = _other(chosen, newest_first)
    if other is None:
        _prompt(chosen)
    else:
        _difference(other, chosen)


def _table(listed: Sequence[StoredVersion]) -> StoredVersion:
    table = frame(
        COLUMNS,
        ((each.title, each.kind, each.model, when(each.created_at), each.fingerprint[:12]) for each in listed),
    )
    event = st.dataframe(
        table,
        key=f"versions_{listed[0].id}_{len(listed)}",
        hide_index=True,
        placeholder="",
        row_height=36,
        height=height(len(table), most=6),
        selection_mode="single-row-required",
        on_select="rerun",
        column_config={
            "Judge version": st.column_config.TextColumn(width=190),
            "Kind": st.column_config.TextColumn(width=85),
            "Model": st.column_config.TextColumn(width=190),
            "Since": st.column_config.TextColumn(width=115),
            "Fingerprint": st.column_config.TextColumn(width=125),
        },
    )
    csv_button(lambda: _file(listed), "judge-versions", key="versions_csv")
    rows = event.selection.rows
    return listed[rows[0] if rows and rows[0] < len(listed) else 0]


def _file(listed: Sequence[StoredVersion]) -> pd.DataFrame:
    """All there is of every version, for a file."""
    names = ("title", "kind", "model", "scale", "fingerprint", "prompt")
    columns = dict.fromkeys((*names, "params", "created_at"), "str")
    return frame(
        columns,
        ((*(getattr(each, name) for name in names), str(each.params), each.created_at.isoformat()) for each in listed),
    )


def _other(chosen: StoredVersion, listed: Sequence[StoredVersion]) -> StoredVersion | None:
    others = {version.id: version for version in listed if version.id != chosen.id}
    if not others:
        return None
    picked = st.selectbox(
        "Compare with",
        list(others),
        index=None,
        format_func=lambda version_id: others[version_id].title,
        placeholder="an older version",
        key=f"versions_other_{chosen.id}",
        width=260,
    )
    return None if picked is None else others[picked]


def _prompt(version: StoredVersion) -> None:
    heading(f"{version.title}: prompt and parameters")
    if version.prompt is None:
        caption("It has no prompt.")
    else:
        show(tag("div", version.prompt, cls="jb-raw jb-prompt"))
    lines = param_lines(version, version)
    table = frame({"Parameter": "str", "Value": "str"}, ((line.name, line.new) for line in lines))
    _params(table, f"params_{version.id}")


def _difference(old: StoredVersion, new: StoredVersion) -> None:
    heading(f"From {old.title} to {new.title}")
    lines = prompt_difference(old.prompt, new.prompt)
    if lines:
        marked = [
            tag("div", tag("span", MARKS[line.kind]), tag("span", line.text), cls=f"jb-diff jb-{line.kind}")
            for line in lines
        ]
        show(tag("div", *marked, cls="jb-raw jb-prompt"))
    else:
        caption("Their prompts are equal." if old.prompt or new.prompt else "Neither has a prompt.")
    table = frame(
        PARAMS,
        ((line.name, line.old, line.new, "differs" if line.differs else None) for line in param_lines(old, new)),
    )
    _params(table, f"params_{old.id}_{new.id}")


def _params(table: pd.DataFrame, key: str) -> None:
    st.dataframe(table, key=key, hide_index=True, placeholder="–", row_height=36, height=height(len(table), most=10))
    csv_button(table, "parameters", key="params_csv")
