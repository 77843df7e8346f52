"""The fields of a label schema beside an answer: drawn by type, filled in with keys, required, conditional."""

from dataclasses import replace
from pathlib import Path

import pytest

from app_pages import click, enter, keys, labels, press, shown, texts, with_label
from graded_log import GradedLog
from judgeboard.formats.label_schema import BUILT_IN, FieldType, read_schema, schema_in
from judgeboard.people.roster import ensure_reviewer
from judgeboard.reviews.queues import add_schema, create_queue
from judgeboard.store.items import load_item
from judgeboard.store.label_schemas import list_schemas
from judgeboard.store.queues import new_queue
from judgeboard.store.tables import REVIEW, REVIEW_SCORE
from judgeboard_dashboard.review.actions import MarkActions, deciding_field
from judgeboard_dashboard.review.claims import statements_of
from judgeboard_dashboard.review.drafts import Draft, ReviewSession
from judgeboard_dashboard.review.schema_form import SELECT_FIRST, SchemaActions
from stored_rows import read, rows_of

SCHEMA = read_schema(Path("examples/schema.yaml"))


def stored_choices(store):
    """The reviews that fill in a field."""
    return [each for each in rows_of(store, REVIEW) if each["choices"]]


@pytest.fixture
def queue_with(page_rows, page_store):
    """Return ``queue_with(schema)``: a queue ``q`` whose reviewers fill in this schema."""

    def created(schema):
        lead = ensure_reviewer(page_store, "page", "Mara")
        add_schema(page_store, schema, by=lead)
        create_queue(page_store, new_queue("q", order="oldest"), by=lead, schema=schema.name)

    return created


def test_the_fields_of_a_queue_are_filled_in_required_shown_and_filtered(
    open_page, queue_with, page_store
):
    queue_with(SCHEMA)
    app = open_page("item", queue="q")
    assert "causes" not in shown(app)
    press(app, "field_next")
    assert "Not skipped" in shown(app)
    press(app, "confirm")
    assert "requires verdict" in shown(app)
    assert not stored_choices(page_store)
    press(app, "field_verdict_1")  # fix
    assert "causes" in shown(app)
    for key in ("field_causes_0", "field_next", "field_tone_3", "field_policy_0", "confirm"):
        press(app, key)
    assert "Saved: confirmed" in shown(app)
    (row,) = stored_choices(page_store)
    assert row["choices"] == {"verdict": "fix", "causes": ["retrieval"], "policy": True}
    (score,) = rows_of(page_store, REVIEW_SCORE)
    of_review = score["review_id"], score["dimension"], score["value"], score["scale"]
    assert of_review == (row["id"], "tone", 4, "1-5")
    item = shown(open_page("item", response=row["response_id"]))
    for words in ("verdict: fix", "causes: retrieval", "policy: yes", "tone: 4"):
        assert words in item
    assert "verdict: fix" not in shown(
        open_page("item", reviewer="Jon", response=row["response_id"])
    )
    app = open_page("responses", reviewer="Jon")
    field = with_label(app.multiselect, "Own labels")
    app = field.select("tone: 4 friendly").run()
    assert texts(app, "jb-say")[0].split(" · ")[:2] == ["1 answer", "tone 4"]


PASSES = "type: category, required: true, options: [pass, not passed]}"


@pytest.mark.parametrize(
    ("fields", "decides"),
    [
        (f"{{name: facts, {PASSES}", "facts"),
        (f"{{name: facts, {PASSES}, {{name: problem, type: yes_no}}", None),
        ("{name: facts, type: category, options: [pass, fail]}", None),
        ("{name: problem, type: category, options: [small, large]}", None),
        ("{name: toxic, type: category, required: true, options: ['yes', 'no']}", None),
        ("{name: causes, type: category, required: true, options: [unsupported, incorrect]}", None),
    ],
)
def test_one_field_with_words_for_good_and_bad_is_the_decision(fields, decides):
    field = deciding_field(Draft(schema=schema_in(f"{{name: s, fields: [{fields}]}}")))
    assert (field and field.name) == decides


def test_where_a_field_is_the_decision_no_other_is_asked_and_a_later_one_must_agree(
    open_page, queue_with, page_store
):
    field = "{name: verdict, type: category, required: true, options: [good, bad]}"
    queue_with(schema_in(f"{{name: checks, fields: [{field}]}}"))
    app = press(open_page("item", queue="q"), "save")
    assert "requires verdict" in shown(app)
    assert not {"confirm", "dismiss"} & {*keys(app)}
    press(press(app, "field_verdict_1"), "save")  # bad
    (row,) = stored_choices(page_store)
    assert row["decision"] == "confirm"
    assert row["choices"] == {"verdict": "bad"}
    app = press(open_page("item", response=row["response_id"], edit=row["id"]), "dismiss")
    assert "contradicts" in shown(app)
    press(press(app, "field_verdict_0"), "dismiss")
    row = rows_of(page_store, REVIEW)[-1]
    assert row["decision"] == "dismiss"
    assert row["choices"] == {"verdict": "good"}


def test_a_schema_is_checked_saved_and_offered_to_a_new_queue(open_page, page_store):
    ensure_reviewer(page_store, "page", "Mara")
    app = open_page("schemas")
    yaml = app.text_area[0]
    text = yaml.value
    yaml.set_value(text.replace("category", "colour")).run()
    assert "line 5: fields[1].type" in shown(app)
    app.text_area[0].set_value(text).run()
    click(app, "schema_save")
    assert "Saved: support v1." in shown(app)
    queue = open_page("queues", new=1)
    field = queue.selectbox(key="nq_schema")
    assert field.options == ["support v1"]
    field.set_value("support v1").run()
    assert "nq_grades" not in {each.key for each in queue.multiselect}
    assert "Create queue" in labels(queue)


def test_the_menu_adds_a_field_of_each_type(open_page, page_store):
    ensure_reviewer(page_store, "page", "Mara")
    app = open_page("schemas")
    before = schema_in(str(app.text_area[0].value)).fields
    (menu,) = app.menu_button
    # The schema has it.
    assert "Label (built-in)" not in menu.options
    for words in menu.options:
        app.menu_button[0].click(words).run()
    app.menu_button[0].click("Scale").run()  # a second one has a name of its own
    schema = schema_in(str(app.text_area[0].value))
    assert schema.fields[: len(before)] == before
    added = schema.fields[len(before) :]
    assert {field.type for field in added} == set(FieldType)
    assert set(BUILT_IN) <= {field.name for field in schema.fields}
    assert added[-1] == replace(
        next(each for each in added if each.name == "scale"), name="scale 2"
    )
    click(app, "schema_save")
    (stored,) = read(page_store, list_schemas)
    assert stored.content == schema
    enter(app, "version", "New schema")
    # The next schema begins with the example.
    assert schema_in(str(app.text_area[0].value)).fields == before


def actions_on(item):
    session = ReviewSession()
    session.put_draft(1, Draft(schema=SPANS))
    return SchemaActions(session, 1, SPANS, item.response)


SPANS = schema_in("""
name: s
fields:
  - {name: safe, type: yes_no}
  - {name: errors, type: spans, options: [fact, source]}
  - {name: best, type: ranking}
""")


def test_digits_follow_the_fields_and_a_selection_becomes_a_span(sqlite_store):
    log = GradedLog(sqlite_store)
    (response_id,) = log.answers(answer="It is made up. It is not.", passages=("one", "two"))
    actions = actions_on(read(sqlite_store, load_item, response_id))
    actions.pick("2")  # safe: no
    actions.pick("1")
    assert actions.session.message == SELECT_FIRST
    actions.draft.selection = {"start": 0, "end": 5, "passage": 0}
    actions.pick("1")
    actions.draft.selection = {"start": 3, "end": 13, "passage": 0}
    actions.pick("2")
    statements = MarkActions(actions.session, 1, statements_of(actions.response.answer))
    statements.next()
    statements.next()
    actions.pick("1")  # the second sentence, no longer the selection
    actions.next()
    actions.pick("2")
    actions.pick("1")
    assert actions.draft.values == {
        "safe": False,
        "errors": [
            {"type": "fact", "start": 0, "end": 5},
            {"type": "source", "start": 3, "end": 13},
            {"type": "fact", "start": 15, "end": 25},
        ],
        "best": [2, 1],
    }
    actions.pick("2")
    assert actions.draft.values["best"] == [1]
