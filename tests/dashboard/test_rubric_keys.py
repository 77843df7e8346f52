"""Grading on a rubric with keys, one dimension after the other, in any tempo."""

from types import SimpleNamespace

import pytest

from judgeboard.domain import DimensionScore
from judgeboard_dashboard.review.drafts import Draft, ReviewSession
from judgeboard_dashboard.review.schema_form import SchemaActions, rubric_schema
from judgeboard_dashboard.widgets.keys import Keyboard, Press, Turn

QUEUE = SimpleNamespace(asked=("label", "accuracy", "tone", "safety"), grades=("label", "accuracy"))


@pytest.fixture
def actions() -> SchemaActions:
    session = ReviewSession()
    schema = rubric_schema(QUEUE, {"tone": ("rude", "cold", "fair", "warm", "kind")})
    session.put_draft(1, Draft(schema=schema))
    return SchemaActions(session, 1, schema, None)


def test_each_level_is_given_to_the_dimension_after_the_one_before(actions: SchemaActions) -> None:
    for number in (3, 1, 4):  # bound to one drawing: the page was not drawn in between
        actions.pick(number)
    assert actions.draft.values == {"accuracy": 4, "tone": 2, "safety": 5}
    actions.pick(0)
    assert actions.draft.values == {"accuracy": 4, "tone": 2, "safety": 1}, "the last one is mended, not the first"
    assert actions.draft.grade().scores[1] == DimensionScore("tone", 2, "1-5")


def test_one_key_in_quick_succession_gives_two_dimensions_their_level(actions: SchemaActions) -> None:
    keyboard = Keyboard(row="row")
    for number, level in enumerate((4, 4, 3)):
        act = Press(Turn.GIVE, lambda level=level: actions.pick(level - 1), each=True)
        assert keyboard.press(str(level), act, 10 + number / 10)
    for press in keyboard.work_off():
        press.act()
    assert actions.draft.values == {"accuracy": 4, "tone": 4, "safety": 3}


def test_the_same_level_again_takes_it_back(actions: SchemaActions) -> None:
    actions.draft.field_at = "safety"
    actions.pick(2)
    actions.pick(2)
    assert actions.draft.values == {}
    assert actions.current.name == "safety"


def test_next_goes_round(actions: SchemaActions) -> None:
    places = []
    for _ in range(4):
        places.append(actions.current.name)
        actions.next()
    assert places == ["accuracy", "tone", "safety", "accuracy"]


def test_the_queue_says_what_is_required_and_the_judge_what_a_level_means(actions: SchemaActions) -> None:
    assert actions.draft.missing() == ("accuracy",)
    assert [dict(field.levels)[5] for field in actions.fields] == [None, "kind", None]


def test_values_of_another_queue_are_left_out(actions: SchemaActions) -> None:
    actions.draft.values["warmth"] = 5
    actions.pick(0)
    assert [score.dimension for score in actions.draft.grade().scores] == ["accuracy"]
