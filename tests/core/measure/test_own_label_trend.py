"""The trend of an own label: the mean or the share over labelled answers, by the path of the other measures."""

from datetime import UTC, datetime, timedelta

import pytest

from engines import on_sqlite
from judgeboard.errors import BadInput, NotFound
from judgeboard.formats.label_schema import schema_in
from judgeboard.measure.trend import trend
from judgeboard.reports.trends import trend_lines
from judgeboard.reviews.queues import add_schema, create_queue
from judgeboard.store.filters import RowFilter
from judgeboard.store.hidden_rows import Seen
from judgeboard.store.queues import new_queue
from judgeboard.store.response_pages import response_page
from queue_case import CONFIRM, queue_case

MONDAY = datetime(2026, 1, 5, tzinfo=UTC)
SCHEMA = schema_in("""
name: s
fields:
  - {name: tone, type: scale, levels: {1: rude, 2: neutral, 3: warm}}
  - {name: causes, type: category, many: true, options: [x, y]}
  - {name: minutes, type: number, low: 0}
  - {name: unused, type: scale, levels: {0: low, 1: high}}
""")


@pytest.fixture
def labelled(store):
    """Two weeks of four answers each, three of them labelled, in two tenants; Jon labels one of them later."""
    case = queue_case(store)
    for week in range(2):
        for number in range(4):
            asked_at = MONDAY + timedelta(days=7 * week + number)
            case.add(f"{week}{number}", metadata={"tenant": "ab"[number % 2]}, asked_at=asked_at)
    add_schema(store, SCHEMA, by=case.lead)
    ids = tuple(f"{week}{number}" for week in range(2) for number in range(3))
    rules = new_queue("q", RowFilter(ids=ids), order="oldest", needed=2, blind_people=True)
    rules = rules.changed(flagged_only=False, max_items=6)
    create_queue(store, rules, by=case.lead, assigned=case.people, schema="s", now=case.now)
    labels = [(case.mara, tone) for tone in (1, 2, 3, 3, 3, 3)]
    for who, tone in [*labels, (case.jon, 3)]:
        grade = SCHEMA.grade(
            {"tone": tone, "causes": ["x", "y"] if tone == 3 else ["y"], "minutes": 4}
        )
        case.review(who, CONFIRM, scores=grade.scores, choices=grade.choices)
    return case


def shown(case, own_label, viewer=None, by="query_type"):
    with Seen(case.store, viewer).reading() as connection:
        drawn = trend(connection, own_label=own_label, by=by)
        for panel in drawn.panels:
            for point in panel.points:
                assert response_page(connection, point.where).total == point.estimate.n
    return drawn


def test_the_latest_label_of_each_answer_makes_the_mean_or_the_share(labelled):
    for own_label, title, figures in (
        ("tone", "tone", [8 / 3, 3]),  # Jon's 3 replaces Mara's 1
        ("tone=3", "Share of tone=3", [2 / 3, 1]),
        ("causes=x", "Share of causes=x", [2 / 3, 1]),
    ):
        drawn = shown(labelled, own_label)
        names = (drawn.measure, drawn.name, drawn.of_measure.title)
        assert names == (None, f"own label {own_label}", title)
        points = [point.estimate for point in drawn.panels[0].points]
        assert [each.value for each in points] == pytest.approx(figures)
        assert [each.n for each in points] == [3, 3]
        assert any("3" in line for line in trend_lines(drawn))
    panels = shown(labelled, "tone", by="metadata.tenant").panels
    assert {panel.group: panel.n for panel in panels} == {"All answers": 6, "a": 4, "b": 2}


@on_sqlite
def test_a_blind_reviewer_sees_no_label_of_an_open_answer(labelled):
    # Jon has labelled one answer. It is finished, so Ada sees it too.
    for viewer, n in ((labelled.mara, 6), (labelled.jon, 1), (labelled.ada, 1)):
        assert [panel.n for panel in shown(labelled, "tone", viewer.id).panels] == [n]
    assert shown(labelled, "unused").changes.headline.code == "no_own_label"


@on_sqlite
def test_a_label_without_a_figure_is_refused_with_the_next_step(labelled):
    for own_label, error, reason in (
        ("causes", BadInput, r"causes .*causes=x"),
        ("minutes", BadInput, "minutes "),
        ("causes=z", BadInput, r"causes: .*'z'"),
        ("mood", NotFound, "'mood'; known: tone,"),
    ):
        with pytest.raises(error, match=reason):
            shown(labelled, own_label)
