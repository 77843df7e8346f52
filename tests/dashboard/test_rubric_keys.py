"""Grading on a rubric with keys, one dimension after the other, in any tempo."""

import pytest

from judgeboard_dashboard.review.actions import RubricActions
from judgeboard_dashboard.review.drafts import Draft, ReviewSession
from judgeboard_dashboard.widgets.keys import Keyboard, Press, Turn

THREE = ("accuracy", "tone", "safety")


@pytest.fixture
def actions() -> RubricActions:
    session = ReviewSession()
    session.put_draft(1, Draft(dimensions=THREE))
    return RubricActions(session, 1)


def test_each_level_is_given_to_the_dimension_after_the_one_before(actions: RubricActions) -> None:
    for level in (4, 2, 5):  # bound to one drawing: the page was not drawn in between
        actions.give(level)
    assert actions.draft.scores == {"accuracy": 4, "tone": 2, "safety": 5}
    actions.give(1)
    assert actions.draft.scores == {"accuracy": 4, "tone": 2, "safety": 1}, "the last one is mended, not the first"


def test_one_key_in_quick_succession_gives_two_dimensions_their_level(actions: RubricActions) -> None:
    keyboard = Keyboard(row="row")
    for number, level in enumerate((4, 4, 3)):
        act = Press(Turn.GIVE, lambda level=level: actions.give(level), each=True)
        assert keyboard.press(str(level), act, 10 + number / 10)
    for press in keyboard.work_off():
        press.act()
    assert actions.draft.scores == {"accuracy": 4, "tone": 4, "safety": 3}


def test_the_same_level_again_takes_it_back(actions: RubricActions) -> None:
    actions.draft.dimension_at = 2
    actions.give(3)
    actions.give(3)
    assert actions.draft.scores == {}
    assert actions.at == 2


def test_next_goes_round(actions: RubricActions) -> None:
    places = []
    for _ in range(4):
        places.append(actions.at)
        actions.next()
    assert places == [0, 1, 2, 0]


def test_a_place_left_by_a_longer_rubric_is_inside_of_this_one(actions: RubricActions) -> None:
    actions.draft.dimension_at = 7
    assert actions.at == 1
