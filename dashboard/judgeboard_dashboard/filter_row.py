"""The row of filter fields above a list, kept equal to the page's address."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from typing import Any, Literal

import streamlit as st

from judgeboard.filter_words import describe
from judgeboard.filters import RowFilter
from judgeboard.times import utc_day
from judgeboard_dashboard.address import Query, as_date, filter_in, only, query_of
from judgeboard_dashboard.errors import problem
from judgeboard_dashboard.evidence import as_label
from judgeboard_dashboard.words import capital, rule_words

# What stands in the row; all others stand behind "More filters".
ROW = ("text", "rule", "query_type")
# Two ends of one thing are one chip.
RANGES: tuple[tuple[str, ...], ...] = (("min_score", "max_score"), ("min_quality", "max_quality"), ("from", "to"))


@dataclass(frozen=True, slots=True)
class Choices:
    """What the fields of a page can be set to; a field without choices is not shown."""

    rules: Sequence[str] = ()
    query_types: Sequence[str] = ()
    sources: Sequence[str] = ()
    judges: Sequence[str] = ()
    models: Sequence[str] = ()
    sorts: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Chosen:
    """What the row says: the filter, the order, and both as an address carries them."""

    where: RowFilter
    sort: str
    query: Query


def filter_row(
    page: str,
    choices: Choices,
    *,
    more: Sequence[str] = ("judge", "source", "score", "days"),
    all_chips: bool = False,
    titles: Mapping[int, str] | None = None,
) -> Chosen:
    """Show the fields and return what they say; the page's address always says the same.

    A field of the address that has none here (it came from a chart) is shown as a chip that takes it away again.

    Args:
        page: The page's file name; keeps its fields apart from those of other pages.
        choices: What there is to choose from.
        more: The fields behind "More filters".
        all_chips: Whether what those narrow is shown as chips too: on a page that charts lead to, it says where one
            came from.
        titles: What the chips call judge versions, by id.
    """
    where, sort = _from_address(page, choices)
    names = _Names(page)
    with st.container(key=f"filters_{page}", horizontal=True, vertical_alignment="bottom", gap="small"):
        where = _in_row(where, names, choices)
        if choices.sorts:
            sort = st.selectbox(
                "Sort", list(choices.sorts), format_func=_sort_words(choices), key=names("sort"), width=200
            )
        with st.popover(_more_label(where, more), icon=":material/tune:"):
            where = _in_popover(where, names, choices, more)
        st.button(
            "Clear", key=f"{page}_clear", type="tertiary", on_click=_clear, args=(page,), disabled=where == RowFilter()
        )
    _chips(page, where, {*ROW, *(() if all_chips else _fields_of(more))}, titles)
    query = query_of(where)
    if choices.sorts and sort != next(iter(choices.sorts)):
        query["sort"] = [sort]
    return Chosen(where, sort, query)


def write_address(page: str, query: Query) -> None:
    """Make the address say what the page shows; a change by the browser (Back, a link) is then seen as one."""
    if _address() != query:
        st.query_params.from_dict(query)
    st.session_state[_seen(page)] = query


class _Names:
    """Keys of the fields of one page."""

    def __init__(self, page: str) -> None:
        self.page = page

    def __call__(self, field: str) -> str:
        return f"{self.page}_{field}"


def _from_address(page: str, choices: Choices) -> tuple[RowFilter, str]:
    """Set the fields by the address where it changed other than through them; return its filter and order."""
    query = _address()
    where, ignored = filter_in(query)
    if ignored:
        problem(f"Not a filter, left out: {', '.join(ignored)}")
    sorts = list(choices.sorts or ())
    asked = query.get("sort", [""])[-1]
    sort = asked if asked in sorts else next(iter(sorts), "")
    if st.session_state.get(_seen(page)) != query or f"{page}_text" not in st.session_state:
        _set_fields(_Names(page), where, sort)
    else:
        _say_again(_Names(page))
    return where, sort


def _set_fields(names: _Names, where: RowFilter, sort: str) -> None:
    st.session_state[names("text")] = where.text or ""
    st.session_state[names("rule")] = list(where.rules)
    st.session_state[names("query_type")] = list(where.query_types)
    st.session_state[names("source")] = list(where.sources)
    st.session_state[names("model")] = list(where.models)
    st.session_state[names("judge")] = where.judge
    st.session_state[names("graded")] = where.graded
    st.session_state[names("min_score")] = where.min_score
    st.session_state[names("max_score")] = where.max_score
    st.session_state[names("from")] = as_date(where.day_from)
    st.session_state[names("to")] = as_date(where.day_to)
    if sort:
        st.session_state[names("sort")] = sort


def _say_again(names: _Names) -> None:
    """Send the chosen values with every run, not once: a field that the browser has not loaded yet would miss them.

    Not what is typed, which would be cut off in the middle of a word.
    """
    chosen = ("rule", "query_type", "source", "model", "judge", "graded", "sort")
    for field in (*chosen, "min_score", "max_score", "from", "to"):
        if names(field) in st.session_state:
            st.session_state[names(field)] = st.session_state[names(field)]


def _in_row(where: RowFilter, names: _Names, choices: Choices) -> RowFilter:
    text = st.text_input(
        "Find", key=names("text"), placeholder="Text in question, answer or id", icon=":material/search:", width=310
    )
    where = replace(where, text=text)
    if choices.rules or where.rules:
        where = replace(
            where, rules=_several("Rule", "All rules", names("rule"), choices.rules, where.rules, rule_words)
        )
    if choices.query_types or where.query_types:
        where = replace(
            where,
            query_types=_several(
                "Query type", "All types", names("query_type"), choices.query_types, where.query_types
            ),
        )
    return where


def _several(
    label: str,
    none: str,
    key: str,
    choices: Sequence[str],
    given: Sequence[str],
    words: Callable[[str], str] = str,
    width: int | Literal["stretch"] = 220,
) -> tuple[str, ...]:
    options = sorted({*choices, *given})
    return tuple(st.multiselect(label, options, key=key, placeholder=none, format_func=words, width=width))


def _in_popover(where: RowFilter, names: _Names, choices: Choices, more: Sequence[str]) -> RowFilter:
    if "judge" in more:
        judges = sorted({*choices.judges, *([where.judge] if where.judge else [])})
        judge = st.selectbox("Judge", judges, index=None, key=names("judge"), placeholder="Any judge")
        where = replace(where, judge=judge)
    if "source" in more:
        where = replace(
            where,
            sources=_several("Source", "All sources", names("source"), choices.sources, where.sources, width="stretch"),
        )
    if "model" in more:
        where = replace(
            where,
            models=_several("Written by", "All models", names("model"), choices.models, where.models, width="stretch"),
        )
    if "score" in more:
        with st.container(horizontal=True, gap="small"):
            low = st.number_input("Groundedness from", 0.0, 1.0, value=None, step=0.05, key=names("min_score"))
            high = st.number_input("up to", 0.0, 1.0, value=None, step=0.05, key=names("max_score"))
        where = _scored(where, low, high)
    if "graded" in more:
        graded = st.selectbox(
            "Graded by a person",
            [True, False],
            index=None,
            key=names("graded"),
            placeholder="Yes or no",
            format_func=_yes,
        )
        where = replace(where, graded=graded)
    if "days" in more:
        with st.container(horizontal=True, gap="small"):
            first = st.date_input("Asked from (UTC)", key=names("from"), format="YYYY-MM-DD")
            last = st.date_input("to", key=names("to"), format="YYYY-MM-DD")
        where = _between(where, first, last)
    return where


def _between(where: RowFilter, first: date | None, last: date | None) -> RowFilter:
    if first is not None and last is not None and first > last:
        problem("The first day is after the last: only the first is used.")
        last = None
    return replace(where, day_from=_as_day(first), day_to=_as_day(last))


def _scored(where: RowFilter, low: float | None, high: float | None) -> RowFilter:
    if low is not None and high is not None and low > high:
        problem("The lowest score is above the highest: only the lowest is used.")
        high = None
    return replace(where, min_score=low, max_score=high)


def _yes(graded: bool) -> str:
    return "Yes" if graded else "No"


def _as_day(shown: date | None) -> int | None:
    return None if shown is None else utc_day(datetime(shown.year, shown.month, shown.day, tzinfo=UTC))


def _chips(page: str, where: RowFilter, shown: set[str], titles: Mapping[int, str] | None) -> None:
    """Show what narrows without a field in sight; a press takes it away."""
    others = [field for field in query_of(where) if field not in shown]
    together = (*RANGES, *_missing(where))
    groups = [group for group in (*together, *((field,) for field in others)) if set(group) & set(others)]
    groups = [group for group in groups if group in together or not any(group[0] in each for each in together)]
    if not groups:
        return
    with st.container(key=f"chips_{page}", horizontal=True, gap="xsmall"):
        for group in groups:
            words = describe(only(where, *group), titles)
            st.button(
                f"{as_label(capital(words))} ✕",
                key=f"{page}_chip_{group[0]}",
                help="Take this away",
                on_click=_take_away,
                args=(group,),
            )


def _missing(where: RowFilter) -> list[tuple[str, ...]]:
    """What a judge did not give is one chip with the judge: neither says by itself what is meant."""
    missing = [*(["judge_side"] if where.judge_side == "none" else []), *(["unscored"] if where.unscored else [])]
    return [(*missing, "judge", "judge_version")] if missing else []


def _take_away(fields: Sequence[str]) -> None:
    """Drop fields from the address; the fields in sight follow it."""
    query = {name: values for name, values in _address().items() if name not in fields}
    st.query_params.from_dict(query)


def _fields_of(more: Sequence[str]) -> set[str]:
    parts: dict[str, tuple[str, ...]] = {"score": ("min_score", "max_score"), "days": ("from", "to")}
    return {field for name in more for field in parts.get(name, (name,))}


def _more_label(where: RowFilter, more: Sequence[str]) -> str:
    used = len(_fields_of(more) & set(query_of(where)))
    return f"More filters · {used}" if used else "More filters"


def _sort_words(choices: Choices) -> Callable[[str], str]:
    words = dict(choices.sorts or {})
    return lambda name: capital(words.get(name, name))


def _clear(page: str) -> None:
    sorts: Any = st.session_state.get(f"{page}_sort", "")
    _set_fields(_Names(page), RowFilter(), sorts)
    st.query_params.clear()
    st.session_state[_seen(page)] = _address()


def _address() -> Query:
    return {name: st.query_params.get_all(name) for name in st.query_params}


def _seen(page: str) -> str:
    return f"{page}_address"
