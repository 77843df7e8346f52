"""What is exported of responses comes back equal from JSON lines and Parquet."""

import io
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgeboard.domain import Feedback, FeedbackKind, Response, ResponseKind
from judgeboard.formats.files import write_rows
from judgeboard.imports.importing import read_records
from judgeboard.store.export import RESPONSE_COLUMNS, response_row

TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)
SPOKEN = TEXT.filter(str.strip)
MOMENT = st.datetimes(datetime(1970, 1, 1), datetime(2199, 12, 31), timezones=st.just(UTC))  # noqa: DTZ001 - bounds are naive by contract
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=5,
)
FEEDBACK = st.builds(
    Feedback, st.just(FeedbackKind.THUMBS), st.sampled_from([0, 1]), st.none() | TEXT, st.none() | MOMENT
) | st.builds(Feedback, st.just(FeedbackKind.STARS), st.floats(1, 5), st.none() | TEXT, st.none() | MOMENT)
RESPONSE = st.builds(
    Response,
    source=SPOKEN,
    external_id=SPOKEN,
    query=SPOKEN,
    answer=SPOKEN,
    passages=st.none() | st.lists(TEXT, max_size=3).map(tuple),
    query_type=SPOKEN,
    generator_model=st.none() | SPOKEN,
    generator_cost=st.none() | st.integers(0, 10**9).map(lambda millionths: millionths / 1_000_000),
    messages=st.none() | st.lists(st.fixed_dictionaries({"role": TEXT, "content": JSON}), max_size=2).map(tuple),
    reference=st.none() | TEXT,
    asked_at=st.none() | MOMENT,
    metadata=st.dictionaries(TEXT, JSON, max_size=3),
    kind=st.sampled_from(ResponseKind),
    feedback=st.lists(FEEDBACK, max_size=2).map(tuple),
)


@pytest.mark.parametrize("format_name", ["jsonl", "parquet"])
@settings(max_examples=80, deadline=None)
@given(st.lists(RESPONSE, max_size=4, unique_by=lambda response: (response.source, response.external_id)))
def test_an_export_of_responses_imports_as_the_same_responses(format_name, responses):
    stream = io.BytesIO()
    count = write_rows((response_row(one) for one in responses), RESPONSE_COLUMNS, stream, format_name)
    assert count == len(responses)
    if not responses:
        return
    stream.seek(0)
    assert list(read_records(stream, name=f"export.{format_name}")) == responses


def test_csv_of_plain_responses_comes_back_too():
    response = Response("default", "1", "why?", "because", ("a", "b"), asked_at=datetime(2026, 3, 1, tzinfo=UTC))
    stream = io.BytesIO()
    write_rows([response_row(response)], RESPONSE_COLUMNS, stream, "csv")
    stream.seek(0)
    assert list(read_records(stream, name="export.csv")) == [response]
