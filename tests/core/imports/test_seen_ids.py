"""Ids of a file are remembered."""

from hypothesis import given
from hypothesis import strategies as st

from judgeboard.imports.kinds import SeenIds


@given(st.lists(st.text(max_size=3)))
def test_it_remembers_as_a_set_does(keys):
    seen, expected = SeenIds(), set()
    for key in keys:
        assert seen.add(key) == (key not in expected)
        expected.add(key)
