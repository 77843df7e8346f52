"""Disagreement: where judge and people differ, worst first, with the texts of both."""

from collections.abc import Mapping
from typing import Any

import streamlit as st

from judgeboard.agreement.answer_pairs import GradeName
from judgeboard.agreement.cells import cell_names
from judgeboard.agreement.disagreement import Direction, Disagreement, DisagreementPage, disagreement_page
from judgeboard.agreement.ratings import PairSource
from judgeboard.store.judge_versions import list_versions
from judgeboard.store.metadata import metadata_fields
from judgeboard.store.reviewers import graders_by_name
from judgeboard.store.settings import primary_judge
from judgeboard.store.verdict_pairs import why_counts
from judgeboard_dashboard.session import page, reading
from judgeboard_dashboard.widgets.disagreement import (
    SIZE,
    disagreement_table,
    export_table,
    picture,
    two_texts,
    why_table,
)
from judgeboard_dashboard.widgets.filters import choose, grade_field, implied_field, people_field, version_field
from judgeboard_dashboard.widgets.first_steps import STEPS, empty_page
from judgeboard_dashboard.widgets.navigation import follow
from judgeboard_dashboard.widgets.texts import sentence

DIRECTIONS: dict[str, Direction | None] = {"Both": None, "Judge too kind": "too_kind", "Judge too harsh": "too_harsh"}
CELL = "cell"
FIELDS = ("version", "grade", "people", "types", "having", "direction", "table", "implied", CELL)
EXPORT_MOST = 20_000


def disagreement() -> None:
    """Show a chart of all pairs, the worst of them as rows, and both texts of the selected one."""
    follow("disagreement", own=FIELDS)
    asked, figures, as_table = _load()
    if figures.version is None or figures.pairs == 0:
        empty_page("disagreement", figures.sentence, among=STEPS)
        return
    sentence(figures.sentence)
    with st.container(key="stack_disagreement"):
        left, right = st.columns([1, 1.35], gap="medium")
    with left:
        cell = asked["cell"]
        whose = {name: asked[name] for name in ("reviewer_id", "implied_labels")}
        picture(figures, **whose, cell=cell, as_table=as_table, choose=_choose)
    with right:
        _cell_chip(cell, figures)
        chosen = disagreement_table(figures, lambda: export_table(_rows(asked)))
        if chosen is not None:
            two_texts(chosen, figures.version.title, figures.grade)
    with reading() as connection:
        why_table(why_counts(connection))


def _load() -> tuple[dict[str, Any], DisagreementPage, bool]:
    """Show the filter row; return the arguments of `disagreement_page`, the page, and whether to show a table."""
    with reading() as connection:
        fields = metadata_fields(connection)
        with st.container(key="filters_disagreement", horizontal=True, vertical_alignment="bottom", gap="small"):
            place = st.container(width=170)
            types_place = st.container(width=130)
            people_place = st.container(width=255)
            grade = grade_field("groundedness")
            implied_labels = implied_field(disabled=grade != "label")
            with people_place:
                reviewer_id = people_field(graders_by_name(connection), grade)
            source = PairSource.open(connection, reviewer_id, implied_labels=implied_labels)
            with types_place:
                types = st.multiselect(
                    "Query type",
                    source.graded.query_type_names,
                    placeholder="All types",
                    key="types",
                    bind="query-params",
                )
            values = {f"{each.field} = {value}": (each.field, value) for each in fields for value in each.values}
            having = st.selectbox(
                "Metadata",
                list(values),
                index=None,
                placeholder="Any",
                key="having",
                bind="query-params",
                width=130,
                disabled=not values,
            )
            direction = choose("Direction", DIRECTIONS, key="direction", width=140)
            as_table = st.toggle("Table", key="table", bind="query-params", width="content")
        version = version_field(place, source.paired(list_versions(connection), grade, primary_judge(connection)))
        pairs: dict[str, Any] = {
            "version_id": version.id if version else None,
            "grade": grade,
            "query_types": tuple(types),
            "metadata": values.get(having or ""),
            "reviewer_id": reviewer_id,
            "direction": direction,
            "cell": _cell(grade),
            "implied_labels": implied_labels,
        }
        return pairs, disagreement_page(connection, source=source, limit=SIZE, **pairs), as_table


def _rows(asked: Mapping[str, Any]) -> tuple[Disagreement, ...]:
    with reading() as connection:
        return disagreement_page(connection, limit=EXPORT_MOST, **asked).rows


def _cell(grade: GradeName) -> tuple[int, int] | None:
    """Return the cell in the address, "grade:people:judge"."""
    cell_grade, *names = st.query_params.get(CELL, "").split(":")
    known = cell_names(grade)
    if cell_grade != grade or len(names) != 2 or not set(names) <= set(known):
        return None
    return known.index(names[0]), known.index(names[1])


def _choose(grade: GradeName, cell: tuple[int, int] | None) -> None:
    if cell is None:
        st.query_params.pop(CELL, None)
        return
    names = cell_names(grade)
    st.query_params[CELL] = f"{grade}:{names[cell[0]]}:{names[cell[1]]}"


def _cell_chip(cell: tuple[int, int] | None, figures: DisagreementPage) -> None:
    if cell is None:
        return
    people, judge = (cell_names(figures.grade)[place] for place in cell)
    from_ = "from " if figures.grade == "groundedness" else ""
    with st.container(key="chips_disagreement", horizontal=True, gap="xsmall"):
        st.button(
            f"People {from_}{people}, judge {from_}{judge}: {figures.total:,} ✕",
            key="disagreement_cell",
            help="Remove this filter",
            on_click=_choose,
            args=(figures.grade, None),
        )


with page("Disagreement"):
    disagreement()
