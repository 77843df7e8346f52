"""Tables hold whatever a file may hold."""

from judgeboard_dashboard.widgets.tables import frame


def test_half_a_character_is_shown_as_one_that_is_not_known() -> None:
    shown = frame({"Query": "str", "n": "Int64"}, [("rock \ud800 face", 1), (None, None)])
    assert shown["Query"][0] == "rock \ufffd face"
    assert shown["Query"].isna()[1]
