"""Metadata as filter, order, index and offered names: the same on both engines, read by an index where there is one."""

import re
from functools import partial

import pytest

from judgeboard.domain import Response
from judgeboard.errors import BadInput
from judgeboard.store.filters import RowFilter, describe, metadata_field, metadata_path, parse_where
from judgeboard.store.metadata import index_metadata, indexed_fields, metadata_fields
from judgeboard.store.response_pages import response_page
from judgeboard.store.storing import store_responses
from query_plans import plans_of
from stored_rows import read, write_to

VALUES = {
    "acme": {
        "tenant": "acme",
        "n": 3,
        "on": True,
        "user": {"plan": "free"},
        "tags": ["x", "y"],
        "llm.model": "m'1",
    },
    "globex": {"tenant": "globex", "n": 3.0, "on": False, "user": {"plan": "pro"}, "tags": ["y"]},
    "text": {"tenant": "Zoë", "n": "3", "on": "true", "user": None},
    "one": {"tenant": "none", "n": 1, "on": 1, "café": "y"},
    "many": {"tenant": 'say "hi"', "n": 12.5, "long": "x" * 3_000},
    "bare": {},
    "null": {"tenant": None, "n": None},
}
MATCHES = [
    (["tenant=acme"], {"acme"}),
    (["tenant=acme", "tenant=globex"], {"acme", "globex"}),
    (["tenant=acme", "n=1"], set()),
    (["tenant=none"], {"bare", "null"}),
    (['tenant="none"'], {"one"}),
    (["tenant=none", "tenant=acme"], {"acme", "bare", "null"}),
    (["tenant=Zoë"], {"text"}),
    (['tenant=say "hi"'], {"many"}),
    (["n=3"], {"acme", "globex", "text"}),
    (["n=3.0"], {"acme", "globex"}),
    (['n="3"'], {"text"}),
    (["n=1"], {"one"}),
    (["n>=3"], {"acme", "globex", "many"}),
    (["n<=3", "n>=2"], {"acme", "globex"}),
    (["on=true"], {"acme", "text"}),
    (["on=1"], {"one"}),
    (["on=false"], {"globex"}),
    (["on>=0"], {"one"}),
    (["user.plan=free"], {"acme"}),
    (["user.plan=none"], {"text", "one", "many", "bare", "null"}),
    (["tags.0=y"], {"globex"}),
    (['"llm.model"=m\'1'], {"acme"}),
    (["café=y"], {"one"}),
    (["absent=1"], set()),
]
SORTED_IN_MEMORY = r"TEMP B-TREE|Sort Key: \(CASE"
FIELDS = ("tenant", "n", "on", "user.plan", "tags.0", '"llm.model"', "café", "long")


@pytest.fixture
def filled(store):
    add(store, VALUES)
    return store


def add(store, values_by_name):
    answers = [
        Response("log", name, "query", f"answer of {name}", metadata=values)
        for name, values in values_by_name.items()
    ]
    write_to(store, store_responses, answers)


def listed(store, where, sort="newest", limit=50):
    """The ids of all pages."""
    names, key = [], None
    while True:
        page = read(store, response_page, where, sort, after=key, limit=limit)
        names += [line.external_id for line in page.lines]
        key = page.next_key
        if key is None:
            assert len(names) == page.total
            return names


@pytest.mark.parametrize("indexed", [False, True])
def test_conditions_match_by_value_with_and_without_an_index(filled, indexed):
    if indexed:
        assert all(index_metadata(filled, field) for field in FIELDS)
        # It is there already.
        assert not index_metadata(filled, "tenant")
        add(filled, {"long": {"long": "y" * 9_000}})
    for conditions, expected in MATCHES:
        where = parse_where([f"metadata.{condition}" for condition in conditions])
        assert set(listed(filled, where)) - {"long"} == expected, conditions
        assert where == RowFilter(metadata=tuple(conditions))
        assert describe(where) != "all answers"


@pytest.mark.parametrize("indexed", [False, True])
def test_a_list_is_sorted_by_a_field_page_by_page(filled, indexed):
    if indexed:
        index_metadata(filled, "n")
        index_metadata(filled, "tenant")
    up = listed(filled, RowFilter(), "metadata.n", limit=2)
    assert [name for name in up if name != "text"] == ["one", "acme", "globex", "many"]
    # Only answers that have it.
    assert sorted(up) == ["acme", "globex", "many", "one", "text"]
    assert listed(filled, RowFilter(), "-metadata.n", limit=2) == up[::-1]
    tenants = listed(filled, RowFilter(metadata=("n>=0",)), "metadata.tenant", limit=1)
    assert tenants == ["acme", "globex", "one", "many"]
    page = partial(read, filled, response_page, RowFilter(), "metadata.tenant", limit=2)
    first = page()
    assert page(before=page(after=first.next_key).previous_key) == first


def test_names_and_frequent_values_are_offered(filled):
    index_metadata(filled, "tenant")
    fields = {each.field: each for each in read(filled, metadata_fields)}
    assert read(filled, indexed_fields) == {"tenant"}
    assert set(fields) == {"tenant", "n", "on", "user.plan", '"llm.model"', "café"}
    assert fields["tenant"].indexed
    assert set(fields["tenant"].values) == {"acme", "globex", "Zoë", '"none"', 'say "hi"'}
    for field, offered in fields.items():
        for value in offered.values:
            assert listed(filled, RowFilter(metadata=(f"{field}={value}",))), (field, value)
    assert index_metadata(filled, "tenant", drop=True)
    assert not index_metadata(filled, "tenant", drop=True)


@pytest.mark.parametrize(
    "condition", ["metadata.=1", "metadata.a..b=1", "metadata.a", "metadata.n>=many", "metadata.a="]
)
def test_a_condition_that_names_no_field_is_refused(condition):
    with pytest.raises(BadInput, match=r"metadata|needs a value"):
        parse_where([condition])


def test_a_name_is_written_as_it_is_read():
    for path in (("a",), ("a", "b"), ("tags", 0, "x"), ("a.b", "3"), ('say "x"', "é="), ("a<b",)):
        assert metadata_path(metadata_field(path)) == path


def test_an_indexed_field_is_filtered_and_sorted_by_its_index(store):
    add(store, {str(n): {"tenant": f"t{n % 1_000}", "n": n} for n in range(3_000)})
    for field in ("tenant", "n"):
        index_metadata(store, field)
    for where, sort in (
        (RowFilter(metadata=("tenant=t7", "tenant=t8")), "newest"),
        (RowFilter(metadata=("n>=2990",)), "newest"),
        (RowFilter(), "metadata.n"),
        (RowFilter(), "-metadata.tenant"),
    ):
        with store.reading() as connection, plans_of(store) as plans:
            page = response_page(connection, where, sort, limit=5)
            if not where.metadata:
                response_page(connection, where, sort, after=page.next_key, limit=5)
        assert len(page.lines) == 5
        assert any("ix_metadata" in plan for plan in plans), (where, sort)
        if not where.metadata:
            for plan in plans:
                assert "ix_metadata" not in plan or not re.search(SORTED_IN_MEMORY, plan)
        whole = ("SCAN response",) if store.is_sqlite else ("response with_metadata", "Seq Scan")
        assert not [plan for plan in plans if all(part in plan for part in whole)]
