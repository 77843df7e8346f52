"""Tables hold whatever a file may hold."""

from judgeboard.reports.output import Column, Table
from judgeboard_dashboard.widgets.tables import table_frame


def test_half_a_character_is_shown_as_one_that_is_not_known() -> None:
    shown = table_frame(Table((Column("Query"), Column("n", "count")), (("rock \ud800 face", 1), (None, None))))
    assert shown["Query"][0] == "rock \ufffd face"
    assert shown["Query"].isna()[1]
