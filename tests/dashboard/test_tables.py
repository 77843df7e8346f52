"""A table in a narrow window: texts get less room, then the last columns are hidden."""

from hypothesis import given
from hypothesis import strategies as st

from judgeboard.formats.output import Column, Table
from judgeboard_dashboard.widgets.tables import fitted

FORMATS = ("text", "count", "share")
WIDTHS = st.lists(
    st.tuples(st.integers(40, 400), st.sampled_from(FORMATS)), min_size=1, max_size=12
)


@given(WIDTHS, st.integers(100, 1600))
def test_what_is_shown_fits_and_only_texts_shrink(columns, room):
    table = Table(
        tuple(Column(str(n), shape, width=width) for n, (width, shape) in enumerate(columns)), ()
    )
    narrow, titles = fitted(table, room)
    if sum(width for width, _ in columns) <= room:
        assert narrow == table
        assert titles is None
        return
    assert titles == [
        column.title for column in table.columns[: len(titles or ())]
    ]  # the first ones, at least one
    shown = narrow.columns[: len(titles)]
    assert len(shown) == 1 or sum(column.width or 0 for column in shown) <= room
    for column, (width, shape) in zip(shown, columns, strict=False):
        assert (
            column.width == width
            if shape != "text"
            else min(width, 160) <= (column.width or 0) <= width
        )


def test_a_table_whose_texts_decide_its_widths_stays_as_it_is():
    table = Table((Column("File", width=900), Column("Kind")), ())
    assert fitted(table, 500) == (table, None)
