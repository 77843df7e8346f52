import numpy as np
import pytest

from judgeboard.stats.pair_statistics import pair_statistics
from judgeboard.stats.ratings import QUALITY, Scale


def confusion(people, judge, scale):
    return pair_statistics(np.array(judge), np.array(people), scale, only=()).confusion


def test_people_stand_in_the_rows_and_every_declared_category_is_there():
    table = confusion(["bad", "bad", "good"], ["bad", "good", "good"], Scale("mood", ("bad", "good", "unclear")))
    assert table.categories == ("bad", "good", "unclear")
    assert table.counts == ((1, 1, 0), (0, 1, 0), (0, 0, 0))
    assert table.row_shares == ((0.5, 0.5, 0), (0, 1, 0), (None, None, None))


def test_objects_from_a_database_are_categories_too():
    values = np.array(["bad", "good"], dtype=object)
    assert confusion(values, values, Scale("mood", ("bad", "good"))).counts == ((1, 0), (0, 1))


def test_a_value_outside_the_declaration_is_refused_not_dropped():
    with pytest.raises(ValueError, match="7 is none of the declared categories 1, 2, 3, 4"):
        confusion([1, 7], [1, 2], QUALITY)


def test_unequal_lengths_are_refused():
    with pytest.raises(ValueError, match="unequal length"):
        confusion([1, 2], [1], QUALITY)
