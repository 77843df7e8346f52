"""Grading on a rubric with keys, one dimension after the other, in any tempo."""

import pytest

from judgeboard_dashboard.review.drafts import Desk, Draft
from judgeboard_dashboard.review.queue_bar import RubricPresses
from judgeboard_dashboard.widgets.keys import Keyboard, Press, Turn

THREE = ("accuracy", "tone", "safety")


@pytest.fixture
def presses() -> RubricPresses:
    here = Desk()
    here.put_draft(1, Draft(dimensions=THREE))
    return RubricPresses(here, 1)


def test_each_level_is_given_to_the_dimension_after_the_one_before(presses: RubricPresses) -> None:
    for level in (4, 2, 5):  # bound to one drawing: the page was not drawn in between
        presses.give(level)
    assert presses.draft.scores == {"accuracy": 4, "tone": 2, "safety": 5}
    presses.give(1)
    assert presses.draft.scores == {"accuracy": 4, "tone": 2, "safety": 1}, "the last one is mended, not the first"


def test_one_key_in_quick_succession_gives_two_dimensions_their_level(presses: RubricPresses) -> None:
    held = Keyboard(row="row")
    for number, level in enumerate((4, 4, 3)):
        act = Press(Turn.GIVE, lambda level=level: presses.give(level), each=True)
        assert held.press(str(level), act, 10 + number / 10)
    for press in held.work_off():
        press.act()
    assert presses.draft.scores == {"accuracy": 4, "tone": 4, "safety": 3}


def test_the_same_level_again_takes_it_back(presses: RubricPresses) -> None:
    presses.draft.dimension_at = 2
    presses.give(3)
    presses.give(3)
    assert presses.draft.scores == {}
    assert presses.at == 2


def test_next_goes_round(presses: RubricPresses) -> None:
    places = []
    for _ in range(4):
        places.append(presses.at)
        presses.next()
    assert places == [0, 1, 2, 0]


def test_a_place_left_by_a_longer_rubric_is_inside_of_this_one(presses: RubricPresses) -> None:
    presses.draft.dimension_at = 7
    assert presses.at == 1
