"""The filter fields of a page. Fields and address always have the same values."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from types import MappingProxyType
from typing import Any, Literal, TypeVar

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from judgeboard.errors import BadInput
from judgeboard.flags.rules import RULES
from judgeboard.measure.choice import GRADES, GradeName
from judgeboard.store.filters import (
    DAY_FIELDS,
    MANY_FIELDS,
    METADATA,
    METADATA_FIELD,
    MISSING,
    OWN_LABEL,
    PARTS,
    WHERE_FIELDS,
    Facets,
    RowFilter,
    describe,
    from_dict,
    metadata_condition,
    parse_where,
)
from judgeboard.store.judge_versions import version_titles
from judgeboard.store.metadata import MetadataField
from judgeboard.store.response_pages import response_facets
from judgeboard.store.responses import last_logged_id
from judgeboard.store.tables import StoredVersion
from judgeboard_dashboard.evidence import as_label
from judgeboard_dashboard.session import as_id, current_query, in_row, problem, read
from judgeboard_dashboard.widgets.texts import capital, caption, rule_words

Query = dict[str, list[str]]
Value = TypeVar("Value")
Name = TypeVar("Name", bound=str)

_VERSION = "judge_version"
FIELDS: tuple[str, ...] = (*WHERE_FIELDS, _VERSION)


def filter_in(query: Mapping[str, Sequence[str]]) -> tuple[RowFilter, list[str]]:
    """Return the filter in an address, and the invalid parts of the address, which are ignored."""
    good: list[tuple[str, str]] = []
    ignored: list[str] = []
    names = (*FIELDS, *(name for name in query if name.startswith(METADATA)))
    for field, value in [(name, text) for name in names for text in query.get(name, ()) if text]:
        try:
            _parsed([*good, (field, value)])
            good.append((field, value))
        except BadInput:
            ignored.append(f"{field}={value}")
    return _parsed(good), ignored


def filter_in_address() -> RowFilter:
    """Return the filter in the address. Show the invalid parts, which are ignored, and the allowed values."""
    where, ignored = filter_in(current_query())
    if ignored:
        parts = (f"{part} ({_allowed(part.partition('=')[0])})" for part in ignored)
        problem(f"These filters are not valid and are ignored: {'; '.join(parts)}")
    return where


def _allowed(field: str) -> str:
    if field == _VERSION:
        return "id of one judge version"
    return WHERE_FIELDS[METADATA_FIELD if field.startswith(METADATA) else field]


def query_of(where: RowFilter) -> Query:
    """Return the filter for an address; `filter_in` is the inverse. ``response_ids`` are left out."""
    query = {field: _texts(where, field) for field in FIELDS if not field.startswith(METADATA)}
    for condition in map(metadata_condition, where.metadata):
        query.setdefault(_name_of(condition.field, condition.operator), []).append(condition.text)
    return {field: texts for field, texts in query.items() if texts}


def _name_of(field: str, operator: str) -> str:
    """Return a parameter's name in the address. The name, "=" and the value are a condition as in ``--where``."""
    return f"{METADATA}{field}{operator.removesuffix('=')}"


def only(where: RowFilter, *fields: str) -> RowFilter:
    """Return only these fields of the filter, named as in an address."""
    names = {_name(field) for field in fields}
    part = from_dict({name: value for name, value in where.as_dict().items() if name in names})
    conditions = tuple(
        f"{field.removeprefix(METADATA)}={text}"
        for field in fields
        for text in query_of(where).get(field, ())
    )
    return replace(part, metadata=tuple(each for each in where.metadata if each in conditions))


def as_date(day: int | None) -> date | None:
    """Return the date of a day number (1970-01-01 is 0)."""
    return None if day is None else date(1970, 1, 1) + timedelta(days=day)


def _parsed(pairs: Sequence[tuple[str, str]]) -> RowFilter:
    plain = parse_where([f"{field}={value}" for field, value in pairs if field != _VERSION])
    versions = {value for field, value in pairs if field == _VERSION}
    if not versions:
        return plain
    version = as_id(versions.pop())
    if versions or version is None:
        raise BadInput("judge_version must be the id of one judge version")
    return replace(plain, judge_version=version)


def _name(field: str) -> str:
    return {**MANY_FIELDS, **DAY_FIELDS, "time": "no_time"}.get(field, field)


def _texts(where: RowFilter, field: str) -> list[str]:
    value = getattr(where, _name(field))
    if value is None or (field == "time" and not value):
        return []
    if field in MANY_FIELDS:
        return list(value)
    if field in DAY_FIELDS:
        return [str(as_date(value))]
    if field == "time":
        return ["none"]
    if field == "graded":
        return ["yes" if value else "no"]
    return [f"{value:g}" if isinstance(value, float) else str(value)]


# The fields in the row; all others are behind "More filters".
ROW = ("text", "rule", "query_type")
# The fields that limit a page to parts of the log.
PART_FIELDS = {each.name: each for each in PARTS.values()}
MORE_PARTS = tuple(name for name in PART_FIELDS if name not in ROW)
# Both ends of a range share a chip.
RANGES: tuple[tuple[str, ...], ...] = (
    ("min_score", "max_score"),
    ("min_quality", "max_quality"),
    ("from", "to"),
)


@dataclass(frozen=True, slots=True)
class Choices:
    """The choices of the fields, ``parts`` by field; a field in the row without choices is not shown."""

    rules: Sequence[str]
    parts: Mapping[str, Sequence[str]]
    judges: Sequence[str] = ()
    sorts: Mapping[str, str] | None = None
    metadata: Sequence[MetadataField] = ()
    failure_modes: Sequence[str] = ()
    own_labels: Mapping[str, str] | None = None

    @classmethod
    def of_answers(cls, facets: Facets, metadata: Sequence[MetadataField]) -> "Choices":
        """Return the choices of a page about all logged answers."""
        return cls(rules=tuple(RULES), parts=facets.parts, judges=facets.judges, metadata=metadata)


@dataclass(frozen=True, slots=True)
class Chosen:
    """The chosen filter and order, and both as in the address."""

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
    own: Mapping[str, str] = MappingProxyType({}),
) -> Chosen:
    """Show the fields of a page and return the filter.

    A filter in the address that has no field (for example from a chart) is shown as a chip. A press
    on the chip removes the filter. ``more`` are the fields behind "More filters". With ``all_chips``
    these fields have chips too, for a page that charts open. ``titles`` maps ids of judge versions
    to titles, for the chips. ``own`` are parameters of the page that stay in the address when the
    filter is cleared.
    """
    where, sort = _from_address(page, choices)
    with in_row(f"filters_{page}", align="bottom"):
        text = st.text_input(
            "Find",
            key=f"{page}_text",
            placeholder="Text in question, answer or id",
            icon=":material/search:",
            width=310,
        )
        where = replace(where, text=text)
        rules, query_types = choices.rules, choices.parts.get("query_type", ())
        if rules or where.rules:
            where = _several(where, page, "rule", "Rule", "All rules", rules, words=rule_words)
        if query_types or where.query_types:
            where = _several(where, page, "query_type", "Query type", "All types", query_types)
        if sorts := choices.sorts:
            sort = st.selectbox(
                "Sort",
                list(sorts),
                format_func=lambda name: capital(sorts.get(name, name)),
                key=f"{page}_sort",
                width=200,
            )
        number = len({*_fields_of(more), OWN_LABEL} & set(query_of(where))) + len(where.metadata)
        with st.popover(
            f"More filters · {number}" if number else "More filters", icon=":material/tune:"
        ):
            where = _in_popover(where, page, choices, more)
        st.button(
            "Clear",
            key=f"{page}_clear",
            type="tertiary",
            on_click=_clear,
            args=(page, own),
            disabled=where == RowFilter(),
        )
    _chips(page, where, {*ROW, *(() if all_chips else _fields_of(more))}, titles)
    query = {name: [value] for name, value in own.items()} | query_of(where)
    if choices.sorts and sort != next(iter(choices.sorts)):
        query["sort"] = [sort]
    return Chosen(where, sort, query)


def write_address(page: str, query: Query) -> None:
    """Write the filter to the address. Remember the filter, to notice a change by the browser (Back, a link)."""
    if current_query() != query:
        st.query_params.from_dict(query)
    st.session_state[_seen(page)] = query


def _from_address(page: str, choices: Choices) -> tuple[RowFilter, str]:
    """Return the filter and order of the address; set the fields if the browser has changed the address."""
    query, where = current_query(), filter_in_address()
    sorts = list(choices.sorts or ())
    requested_sort = query.get("sort", [""])[-1]
    sort = requested_sort if requested_sort in sorts else next(iter(sorts), "")
    if st.session_state.get(_seen(page)) != query or f"{page}_text" not in st.session_state:
        _set_fields(page, where, sort)
    else:
        # Send the chosen values with every run. A field that the browser has not loaded yet would
        # miss the values. Do not send typed text, which would overwrite what a person is typing.
        for key in (f"{page}_{field}" for field in (*_SHOWN, "sort")):
            if key in st.session_state:
                st.session_state[key] = st.session_state[key]
    return where, sort


_SHOWN = (
    *("rule", *PART_FIELDS, OWN_LABEL, "failure_mode", "judge", "graded"),
    *("min_score", "max_score", "from", "to"),
)


def _set_fields(page: str, where: RowFilter, sort: str) -> None:
    st.session_state[f"{page}_text"] = where.text or ""
    for field in _SHOWN:
        value = getattr(where, _name(field))
        if field in MANY_FIELDS:
            value = list(value)
        elif field in DAY_FIELDS:
            value = as_date(value)
        st.session_state[f"{page}_{field}"] = value
    if sort:
        st.session_state[f"{page}_sort"] = sort


def _several(
    where: RowFilter,
    page: str,
    field: str,
    label: str,
    none: str,
    choices: Sequence[str],
    *,
    words: Callable[[str], str] = str,
    width: int | Literal["stretch"] = 220,
) -> RowFilter:
    options = sorted({*choices, *getattr(where, MANY_FIELDS[field])})
    values = st.multiselect(
        label, options, key=f"{page}_{field}", placeholder=none, format_func=words, width=width
    )
    changes: dict[str, Any] = {MANY_FIELDS[field]: tuple(values)}
    return replace(where, **changes)


def _in_popover(where: RowFilter, page: str, choices: Choices, more: Sequence[str]) -> RowFilter:
    if "judge" in more:
        judges = sorted({*choices.judges, *([where.judge] if where.judge else [])})
        judge = st.selectbox(
            "Judge", judges, index=None, key=f"{page}_judge", placeholder="Any judge"
        )
        where = replace(where, judge=judge)
    parts = [
        (
            name,
            capital(PART_FIELDS[name].words),
            f"All {MANY_FIELDS[name]}",
            choices.parts.get(name, ()),
        )
        for name in MORE_PARTS
    ]
    for field, label, none, values in (
        *parts,
        ("failure_mode", "Failure mode", "Any or none", choices.failure_modes),
    ):
        if field in more:
            where = _several(where, page, field, label, none, values, width="stretch")
    if "score" in more:
        with in_row():
            low, high = (
                st.number_input(label, 0.0, 1.0, value=None, step=0.05, key=f"{page}_{end}_score")
                for end, label in (("min", "Groundedness from"), ("max", "up to"))
            )
        if low is not None and high is not None and low > high:
            problem("The lowest score is above the highest score. Only the lowest score is used.")
            high = None
        where = replace(where, min_score=low, max_score=high)
    if "graded" in more:
        is_graded = st.selectbox(
            "Graded by a person",
            [True, False],
            index=None,
            key=f"{page}_graded",
            placeholder="Yes or no",
            format_func=lambda is_graded: "Yes" if is_graded else "No",
        )
        where = replace(where, graded=is_graded)
    where = _own_labels(where, page, choices.own_labels or {})
    if "days" in more:
        with in_row():
            first = as_day(
                st.date_input("Asked from (UTC)", key=f"{page}_from", format="YYYY-MM-DD")
            )
            last = as_day(st.date_input("to", key=f"{page}_to", format="YYYY-MM-DD"))
        if first is not None and last is not None and first > last:
            problem("The first day is after the last day. Only the first day is used.")
            last = None
        where = replace(where, day_from=first, day_to=last)
    if choices.metadata:
        _metadata_fields(page, choices.metadata)
    return where


def _own_labels(where: RowFilter, page: str, words: Mapping[str, str]) -> RowFilter:
    """Show the field for values of label schemas, if there are any; ``words`` describes each condition."""
    if not words and not where.own_labels:
        return where
    return _several(
        where,
        page,
        OWN_LABEL,
        "Own labels",
        "All",
        tuple(words),
        words=lambda condition: words.get(condition, condition),
        width="stretch",
    )


def _metadata_fields(page: str, fields: Sequence[MetadataField]) -> None:
    """Show the fields that add a condition on metadata to the address; chips show and remove the conditions."""
    values = {each.field: each.values for each in fields}
    with in_row():
        field = st.selectbox(
            "Metadata field",
            list(values),
            index=None,
            key=f"{page}_metadata_field",
            placeholder="Any field",
        )
        st.selectbox(
            "Value",
            [*values.get(field or "", ()), MISSING],
            index=None,
            key=f"{page}_metadata_value",
            placeholder="acme or >=100",
            accept_new_options=True,
            disabled=field is None,
            format_func=lambda value: "(missing)" if value == MISSING else value,
            on_change=_add_metadata,
            args=(page,),
        )


def _add_metadata(page: str) -> None:
    """Add the chosen condition on metadata to the address, and empty the field of the value."""
    field, value = (st.session_state.get(f"{page}_metadata_{part}") for part in ("field", "value"))
    st.session_state[f"{page}_metadata_value"] = None
    if not field or not value:
        return
    operator = value[:2] if value[:2] in {">=", "<="} else "="
    query, name = current_query(), _name_of(field, operator)
    text = value.removeprefix(operator)
    if text not in query.get(name, ()):
        st.query_params.from_dict({**query, name: [*query.get(name, ()), text]})


LARGE = 50_000  # answers; in a larger log, a metadata field without an index is noticeably slow


def without_index(fields_in_use: Collection[str], fields: Sequence[MetadataField]) -> None:
    """Show how to create an index if the log is large and one of ``fields_in_use`` has no index."""
    slow = sorted({*fields_in_use} - {each.field for each in fields if each.indexed})
    if not slow:
        return
    if read(last_logged_id) > LARGE:
        field = f"{METADATA}{slow[0]}"
        caption(
            f"Filters and orders by {field} read the whole log. To make them fast: `judgeboard db index {field}`"
        )


def as_day(day: date | None) -> int | None:
    """Return the day number of a date (1970-01-01 is 0)."""
    return None if day is None else (day - date(1970, 1, 1)).days


def _chips(
    page: str, where: RowFilter, visible_fields: set[str], titles: Mapping[int, str] | None
) -> None:
    """Show a chip for each filter without a visible field. A press on the chip removes the filter."""
    others = [field for field in query_of(where) if field not in visible_fields]
    # Filters for missing judgments share a chip with the filter for the judge.
    missing_filters = [
        *(["judge_side"] if where.judge_side == "none" else []),
        *(["unscored"] if where.unscored else []),
    ]
    together = (
        *RANGES,
        *([(*missing_filters, "judge", "judge_version")] if missing_filters else []),
    )
    group_of = {field: group for group in together for field in group}
    groups = dict.fromkeys(group_of.get(field, (field,)) for field in others)
    if not groups:
        return
    with in_row(f"chips_{page}", gap="xsmall"):
        for group in groups:
            words = describe(only(where, *group), titles)
            chip(as_label(capital(words)), _take_away, group, key=f"{page}_chip_{group[0]}")


def chip(label: str, remove: Callable[..., None], *args: object, key: str) -> None:
    """Show a filter. A press calls ``remove`` with ``args``, which removes the filter."""
    st.button(f"{label} ✕", key=key, help="Remove this filter", on_click=remove, args=args)


def _take_away(fields: Sequence[str]) -> None:
    """Remove fields from the address; the visible fields follow."""
    query = {name: values for name, values in current_query().items() if name not in fields}
    st.query_params.from_dict(query)


def _fields_of(more: Sequence[str]) -> set[str]:
    parts: dict[str, tuple[str, ...]] = {
        "score": ("min_score", "max_score"),
        "days": ("from", "to"),
    }
    return {field for name in more for field in parts.get(name, (name,))}


def _clear(page: str, own: Mapping[str, str]) -> None:
    _set_fields(page, RowFilter(), st.session_state.get(f"{page}_sort", ""))
    st.query_params.from_dict(dict(own))
    st.session_state[_seen(page)] = current_query()


def _seen(page: str) -> str:
    return f"{page}_address"


def filter_sentence(where: RowFilter) -> str:
    """Return a filter in words; for the empty filter "all answers"."""
    if where.judge_version is None:
        return describe(where)
    return describe(where, read(version_titles))


def choose(
    label: str,
    values: Mapping[str, Value],
    *,
    key: str,
    width: int | Literal["stretch"] = "stretch",
    tip: str | None = None,
    disabled: bool = False,
) -> Value:
    """Show a field with these names, bound to the address; return the value of the chosen name (default: the first)."""
    name = st.selectbox(
        label, list(values), key=key, help=tip, disabled=disabled, width=width, bind="query-params"
    )
    return values.get(name or "", next(iter(values.values())))


def switch(label: str, names: Mapping[Name, str], *, key: str) -> Name:
    """Show a few choices side by side, bound to the address; return the choice (default: the first)."""
    default = next(iter(names))
    name = st.segmented_control(
        label,
        list(names),
        format_func=names.__getitem__,
        default=default,
        required=True,
        key=key,
        bind="query-params",
    )
    return name or default


def table_switch() -> None:
    """Show the switch from the charts of a page to tables, bound to the address."""
    st.toggle("Tables", key="tables", bind="query-params", width="content")


def as_tables() -> bool:
    """Return whether the page shows tables instead of charts, because `table_switch` is on."""
    return bool(st.session_state.get("tables"))


def grade_field() -> GradeName:
    """Show the field for the grade."""
    return switch("Grade", {grade: grade.capitalize() for grade in GRADES}, key="grade")


def part_of_log(*, implied_matter: bool) -> tuple[RowFilter, bool]:
    """Show the fields that limit a page to a part of the log, bound to the address.

    Return the filter, and whether implied labels count. The switch for implied labels is disabled
    unless ``implied_matter``.
    """
    facets = read(response_facets)
    number = sum(bool(st.query_params.get_all(name)) for name in (*PART_FIELDS, "implied"))
    with st.popover(f"Filter · {number}" if number else "Filter", icon=":material/tune:"):
        values: dict[str, Any] = {
            each.plural: tuple(
                st.multiselect(
                    capital(each.words),
                    facets.parts[name],
                    key=name,
                    bind="query-params",
                    placeholder="All",
                )
            )
            for name, each in PART_FIELDS.items()
        }
        implied_labels = st.toggle(
            "Implied labels",
            value=True,
            key="implied",
            bind="query-params",
            disabled=not implied_matter,
            help="Count labels that a decision on a flag implies. Switch off to count given labels only.",
        )
    return RowFilter(**values), implied_labels


def version_field(
    place: DeltaGenerator, versions: Sequence[StoredVersion], *, empty: str = "None graded yet"
) -> StoredVersion | None:
    """Show the field for the judge version at ``place``; return the choice (default: the first).

    Without any version, the field says ``empty``, and the choice is None.
    """
    titles = {version.title: version for version in versions}
    with place:
        title = st.selectbox(
            "Judge version",
            list(titles),
            key="version",
            bind="query-params",
            placeholder=empty,
            disabled=not titles,
        )
    return titles.get(title or "")
