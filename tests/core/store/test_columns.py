"""Rows of tables as they are made, read and passed on."""

import pytest

from judgeboard.store.tables import Pull


def test_a_column_of_a_row_is_set_once():
    pull = Pull(tool="langfuse", project="shop")

    with pytest.raises(AttributeError, match=r"Pull\.position has a value"):
        pull.position = "page 2"

    assert pull.position is None


def test_a_changed_row_is_another_row():
    pull = Pull(tool="langfuse", project="shop")

    later = pull.changed(position="page 2")

    assert (pull.position, later.position, later.tool) == (None, "page 2", "langfuse")
