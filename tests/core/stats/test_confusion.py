import numpy as np
import pytest

from judgeboard.stats.confusion import confusion


def test_people_stand_in_the_rows_and_every_declared_category_is_there():
    table = confusion(np.array(["bad", "bad", "good"]), np.array(["bad", "good", "good"]), ("bad", "good", "unclear"))
    assert table.categories == ("bad", "good", "unclear")
    assert table.counts == ((1, 1, 0), (0, 1, 0), (0, 0, 0))
    assert table.n == 3
    assert table.row_shares == ((0.5, 0.5, 0), (0, 1, 0), (None, None, None))


def test_objects_from_a_database_are_categories_too():
    values = np.array(["bad", "good"], dtype=object)
    assert confusion(values, values, ("bad", "good")).counts == ((1, 0), (0, 1))


def test_a_value_outside_the_declaration_is_refused_not_dropped():
    with pytest.raises(ValueError, match="7 is none of the declared categories 1, 2, 3, 4"):
        confusion(np.array([1, 7]), np.array([1, 2]), (1, 2, 3, 4))


def test_unequal_lengths_are_refused():
    with pytest.raises(ValueError, match="unequal length"):
        confusion(np.array([1, 2]), np.array([1]), (1, 2))
