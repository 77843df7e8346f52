"""Ids of a file are remembered in little room."""

from hypothesis import given
from hypothesis import strategies as st

from judgeboard.imports.kinds import SeenIds


@given(st.lists(st.text(max_size=3)))
def test_it_remembers_as_a_set_does(keys):
    seen, expected = SeenIds(), set()
    for key in keys:
        assert (key in seen) == (key in expected)
        assert seen.add(key) == (key not in expected)
        expected.add(key)
    assert len(seen) == len(expected)


def test_it_grows_and_stays_small():
    seen = SeenIds()
    assert all(seen.add(f"id-{number}") for number in range(20_000))
    assert not any(seen.add(f"id-{number}") for number in range(20_000))
    assert "id-20000" not in seen
    assert len(seen._table) <= 48 * 20_000
