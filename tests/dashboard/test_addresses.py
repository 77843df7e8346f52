"""Addresses of pages: filters come back as they were."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app_pages import shown
from judgeboard.store.filters import RowFilter
from judgeboard_dashboard.widgets.filters import filter_in, only, query_of

words = (
    st.text(st.characters(categories=["L", "N", "P", "Zs"]), min_size=1, max_size=12)
    .map(str.strip)
    .filter(bool)
)
scores = st.integers(0, 1000).map(lambda thousandth: thousandth / 1000)


@st.composite
def filters(draw):
    low, high = sorted((draw(scores), draw(scores)))
    first, last = sorted((draw(st.integers(0, 40_000)), draw(st.integers(0, 40_000))))
    maybe = st.booleans()
    return RowFilter(
        rules=tuple(draw(st.lists(st.sampled_from(["low_quality", "feedback_gap"]), max_size=2))),
        query_types=tuple(draw(st.lists(words, max_size=2))),
        judge=draw(st.none() | words),
        judge_version=draw(st.none() | st.integers(1, 99)),
        min_score=low if draw(maybe) else None,
        max_score=high if draw(maybe) else None,
        day_from=first if draw(maybe) else None,
        day_to=last if draw(maybe) else None,
        text=draw(st.none() | words),
        graded=draw(st.none() | maybe),
        user=draw(st.sampled_from([None, "up", "down", "none"])),
        unscored=draw(st.sampled_from([None, "groundedness", "quality"])),
        no_time=draw(maybe),
        metadata=tuple(
            f"tenant={value}" if value != "." else "user.tokens>=3"
            for value in draw(st.lists(words, max_size=2))
        ),
    )


@given(filters())
@settings(max_examples=150)
def test_every_filter_survives_its_address(where):
    assert filter_in(query_of(where)) == (where, [])


@given(filters())
@settings(max_examples=50)
def test_a_field_taken_away_is_gone_and_alone_it_is_all(where):
    for field in query_of(where):
        others = {name: values for name, values in query_of(where).items() if name != field}
        assert query_of(filter_in(others)[0]) == others
        assert set(query_of(only(where, field))) == {field}


def test_a_bad_part_is_named_and_the_rest_counts():
    where, ignored = filter_in(
        {"rule": ["low_quality"], "min_score": ["7"], "graded": ["perhaps"], "utm": ["x"]}
    )
    assert where == RowFilter(rules=("low_quality",))
    assert ignored == ["graded=perhaps", "min_score=7"] or sorted(ignored) == [
        "graded=perhaps",
        "min_score=7",
    ]


@pytest.mark.parametrize("values", [["v2"], ["9" * 30], ["-1"], ["1", "2"], ["1.0"]])
def test_what_is_no_id_of_a_judge_version_is_ignored(values):
    where, ignored = filter_in({"judge_version": values})
    assert where == RowFilter(judge_version=1 if "1" in values else None)
    assert ignored == [f"judge_version={values[-1]}"]


def test_a_range_upside_down_keeps_its_first_end():
    where, ignored = filter_in({"min_score": ["0.8"], "max_score": ["0.2"]})
    assert where == RowFilter(min_score=0.8)
    assert ignored == ["max_score=0.2"]


@pytest.mark.parametrize(
    ("name", "query"), [("queues", {"new": "every"}), ("item", {}), ("responses", {})]
)
def test_a_page_names_a_filter_that_it_cannot_read_and_what_is_allowed(
    page_rows, open_page, name, query
):
    bad = {"min_score": "abc", "state": "opened", "metadata.tokens>": "many", "judge_version": "v2"}
    sentence = (
        "These filters are not valid and are ignored: state=opened (state of the answer's flag: open, confirmed, "
        "dismissed, superseded); min_score=abc (lowest groundedness, 0 to 1); judge_version=v2 (id of one judge "
        "version); metadata.tokens>=many (value of a metadata field"
    )
    assert sentence in shown(open_page(name, source="log", **query, **bad))
    assert "not valid" not in shown(open_page(name, source="log", **query))
