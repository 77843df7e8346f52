"""People's grades on a rubric: given on the item page, beside the judge's, only where a rubric judge judged."""

from types import SimpleNamespace

import pytest

from app_pages import click, texts
from graded_log import GradedLog
from judgeboard.domain import DimensionScore, JudgeVersion
from judgeboard.errors import BadInput
from judgeboard.formats.label_schema import FieldType, LabelSchema, Option, SchemaField
from judgeboard.store.judge_versions import ensure_version
from judgeboard.store.queues import new_queue
from judgeboard.store.tables import REVIEW_SCORE
from judgeboard.store.verdicts import load_rubric_scores
from judgeboard_dashboard.review.drafts import Draft, ReviewSession
from judgeboard_dashboard.review.schema_form import SchemaActions, rubric_schema
from judgeboard_dashboard.widgets.keys import Keyboard, Press, Turn
from queue_case import queue_case
from stored_rows import read, rows_of, write_to

UNSCORED = "Not scored by the judge: tone."
SCORES = (
    DimensionScore("accuracy", 2, "1-5", "One <b>figure</b> is wrong."),
    DimensionScore("tone", None, "1-5"),
    DimensionScore("overall", 2.0, "1-5"),
)


@pytest.fixture
def judged(page_rows, sqlite_store):
    """An answer without a flag that a rubric judge judged."""
    levels = ["bad", "poor", "fair", "good", "best"]
    params = {
        "dimensions": [
            {"name": name, "weight": 1.0, "levels": levels} for name in ("accuracy", "tone")
        ]
    }
    log = GradedLog(sqlite_store)
    (response_id,) = log.answers()
    house = JudgeVersion("house", "rubric", params=params, scale="1-5")
    version = write_to(sqlite_store, ensure_version, house)
    log.say(version, {response_id: {"scores": SCORES, "reasoning": UNSCORED}})
    return response_id


def test_the_judges_scores_are_shown_with_their_sentences(open_page, judged):
    (pane,) = texts(open_page("item", response=judged), "jb-pane jb-signals")
    assert "house v1" in pane
    assert "2.00 overall" in pane
    assert "2 / 5" in pane
    assert all(score.reasoning in pane for score in SCORES if score.reasoning)
    assert "not scored" in pane
    assert UNSCORED in pane


def test_a_person_grades_on_the_same_rubric(open_page, judged, sqlite_store):
    app = open_page("item", response=judged)
    fields = [each for each in app.button_group if str(each.key).startswith("rubric")]
    assert [each.label for each in fields] == ["accuracy", "tone"]
    assert "1: bad" in fields[0].help
    fields[0].set_value(4)
    fields[1].set_value(5)
    app.run()
    app.session_state["keyboard"].appeared -= 10  # in the first moment a press is not taken
    click(app, "save")
    given = [
        (row["dimension"], row["value"], row["scale"])
        for row in rows_of(sqlite_store, REVIEW_SCORE)
    ]
    assert given == [("accuracy", 4.0, "1-5"), ("tone", 5.0, "1-5")]
    (pane,) = texts(open_page("item", response=judged), "jb-pane jb-signals")
    assert "Mara 4" in pane
    assert "2 on a" in pane


def test_without_a_rubric_judgment_there_is_no_field(open_answer):
    app = open_answer("claims")
    assert not any(str(each.key).startswith("rubric") for each in app.button_group)
    assert "Rubric" not in texts(app, "jb-pane jb-signals")[0]


def test_only_standing_grades_count_and_only_levels_are_taken(judged, sqlite_store):
    case = queue_case(sqlite_store)

    def say(*scores):
        grade = tuple(DimensionScore("tone", *each) for each in scores)
        return case.grade(judged, case.mara, scores=grade)

    def of_people():
        return read(sqlite_store, load_rubric_scores, judged).people

    say((1, "1-5"))
    last = say((5, "1-5"))
    assert of_people() == {"tone": (("Mara", 5.0),)}
    case.undo(last, case.mara)
    assert of_people() == {}
    for wrong in ((3.5, "1-5"), (6, "1-5"), (3, "1-9")):
        with pytest.raises(BadInput, match="1 to 5"):
            say(wrong)
    with pytest.raises(BadInput, match="scored twice"):
        say((3, "1-5"), (4, "1-5"))


RULES = new_queue("q", grades=("label", "accuracy"), optional_grades=("tone", "safety"))


@pytest.fixture
def actions():
    session = ReviewSession()
    schema = rubric_schema(RULES, {"tone": ("rude", "cold", "fair", "warm", "kind")})
    session.put_draft(1, Draft(schema=schema))
    return SchemaActions(session, 1, schema, None)


def pick(actions, digits):
    for digit in digits:
        actions.pick(digit)


def test_each_level_is_given_to_the_dimension_after_the_one_before(actions):
    pick(actions, "425")  # bound to one drawing: the page was not drawn in between
    assert actions.draft.values == {"accuracy": 4, "tone": 2, "safety": 5}
    actions.pick("1")
    # The last one is mended, not the first.
    assert actions.draft.values == {"accuracy": 4, "tone": 2, "safety": 1}
    assert actions.draft.grade().scores[1] == DimensionScore("tone", 2, "1-5")


def test_one_key_in_quick_succession_gives_two_dimensions_their_level(actions):
    keyboard = Keyboard(row="row")
    for number, level in enumerate((4, 4, 3)):
        act = Press(Turn.GIVE, lambda level=level: actions.pick(str(level)), each=True)
        assert keyboard.press(str(level), act, 10 + number / 10)
    for press in keyboard.work_off():
        press.act()
    assert actions.draft.values == {"accuracy": 4, "tone": 4, "safety": 3}


def test_the_same_level_again_takes_it_back(actions):
    actions.draft.field_at = "safety"
    pick(actions, "33")
    assert actions.draft.values == {}
    assert actions.current.name == "safety"


def test_the_same_digits_after_an_undo_give_the_same_levels(actions):
    for _ in range(2):
        pick(actions, "425")
        assert actions.draft.values == {"accuracy": 4, "tone": 2, "safety": 5}
        actions.session.put_draft(1, actions.draft)
    schema = LabelSchema("list", (SchemaField("order", FieldType.RANKING, on="passages"),))
    ranks = SchemaActions(actions.session, 2, schema, SimpleNamespace(passages=("a", "b", "c")))
    for _ in range(2):
        pick(ranks, "312")
        assert ranks.draft.values == {"order": [3, 1, 2]}
        ranks.session.put_draft(2, ranks.draft)


def test_a_field_named_as_a_part_of_the_draft_keeps_its_own_restored_values(actions):
    draft = Draft(values={"modes": ["made up"]}, modes=["made up"]).brought_back()
    for _ in range(2):  # the first press keeps the failure mode, the second removes it
        draft.choose_mode("made up")
    assert draft.modes == []
    schema = LabelSchema(
        "list",
        (
            SchemaField(
                "modes", FieldType.CATEGORY, options=(Option("made up"), Option("late")), many=True
            ),
        ),
    )
    actions.session.put_draft(3, draft)
    fields = SchemaActions(actions.session, 3, schema, SimpleNamespace(passages=()))
    fields.pick("1")
    assert fields.draft.values == {"modes": ["made up"]}


def test_next_goes_round_and_skips_no_required_field(actions):
    actions.next()
    assert actions.current.name == "accuracy"
    assert actions.session.refused is True
    actions.draft.values["accuracy"] = 2
    places = []
    for _ in range(4):
        places.append(actions.current.name)
        actions.next()
    assert places == ["accuracy", "tone", "safety", "accuracy"]


@pytest.mark.parametrize(
    ("levels", "digits"),
    [
        (range(3), {"0": 0, "1": 1, "2": 2}),
        (range(-1, 2), {"0": 0, "1": 1}),
        (range(1, 11), {**{str(level): level for level in range(1, 10)}, "0": 10}),
    ],
)
def test_a_level_has_its_own_digit(actions, levels, digits):
    field = SchemaField("tone", FieldType.SCALE, levels=tuple((level, None) for level in levels))
    assert actions.digits(field) == digits


def test_the_queue_says_what_is_required_and_the_judge_what_a_level_means(actions):
    assert actions.draft.missing() == ("accuracy",)
    assert [dict(field.levels)[5] for field in actions.fields] == [None, "kind", None]


def test_values_of_another_queue_are_left_out(actions):
    actions.draft.values["warmth"] = 5
    actions.pick("1")
    assert [score.dimension for score in actions.draft.grade().scores] == ["accuracy"]
