"""Judge versions: the list, the prompt of one, the difference of two."""

from collections.abc import Mapping, Sequence

import pandas as pd
import streamlit as st

from judgeboard.errors import JudgeboardError
from judgeboard.people import Action
from judgeboard.retiring import restore_version, retire_version
from judgeboard.store.judgments.judge_versions import StoredVersion
from judgeboard.store.judgments.retired_versions import Retired
from judgeboard_dashboard.errors import problem
from judgeboard_dashboard.evidence import show, tag
from judgeboard_dashboard.gate import permitted
from judgeboard_dashboard.saying import caption, empty, heading
from judgeboard_dashboard.session import current_reviewer, store
from judgeboard_dashboard.settings_parts.difference import param_lines, prompt_difference
from judgeboard_dashboard.tables import csv_button, frame, height
from judgeboard_dashboard.words import when

COLUMNS = {"Judge version": "str", "Kind": "str", "Model": "str", "Since": "str", "Fingerprint": "str"}
PARAMS = {"Parameter": "str", "Old": "str", "New": "str", "Differs": "str"}
_NOT_RETIRED = "version_not_retired"
MARKS = {"added": "+", "removed": "−", "same": "", "gap": "…"}


def versions(listed: Sequence[StoredVersion], retired: Mapping[int, Retired]) -> None:
    """Show them; of the chosen one the prompt, and what differs from another; admins retire it."""
    heading("Judge versions")
    if not listed:
        empty("Nothing has judged yet.", "`judgeboard judge --judge lexical`")
        return
    newest_first = sorted(listed, key=lambda version: -version.id)
    chosen = _table(newest_first, retired)
    _retiring(chosen, retired.get(chosen.id))
    other = _other(chosen, newest_first)
    if other is None:
        _prompt(chosen)
    else:
        _difference(other, chosen)


def _retiring(version: StoredVersion, fact: Retired | None) -> None:
    """Whether the version is asked anything more, and the button that changes it."""
    with st.container(key="versions_retiring", horizontal=True, vertical_alignment="center", gap="small"):
        if fact is not None:
            said = f"{version.title} was retired by {fact.by}, {when(fact.at)}: nothing more is asked of it."
            show(tag("div", said, cls="jb-cap"))
        if not permitted(Action.RETIRE_VERSIONS):
            show(tag("div", "Admins retire judge versions.", cls="jb-cap"))
            return
        admin = current_reviewer()
        st.button(
            "Take back" if fact is not None else "Retire",
            key="version_retire",
            type="tertiary",
            icon=":material/unarchive:" if fact is not None else ":material/archive:",
            disabled=admin is None,
            help="Nothing more is asked of a retired version, and it is not offered. What it said stays."
            if admin is not None
            else "Give your name first: it stands beside the change.",
            on_click=_retire,
            args=(version.id, fact is None),
            wrap=False,
        )
    said = st.session_state.pop(_NOT_RETIRED, None)
    if said is not None:
        problem(f"Not retired: {said}")


def _retire(version_id: int, retire: bool) -> None:
    admin = current_reviewer()
    if admin is None:
        return
    try:
        (retire_version if retire else restore_version)(store(), version_id, admin)
    except JudgeboardError as error:
        st.session_state[_NOT_RETIRED] = str(error)


def _table(listed: Sequence[StoredVersion], retired: Mapping[int, Retired]) -> StoredVersion:
    table = frame(
        COLUMNS,
        (
            (
                f"{each.title} (retired)" if each.id in retired else each.title,
                each.kind,
                each.model,
                when(each.created_at),
                each.fingerprint[:12],
            )
            for each in listed
        ),
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
