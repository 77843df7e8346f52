"""The latest change, and what else changed at that time."""

import numpy as np
import pytest

from engines import on_sqlite
from graded_log import GradedLog, labels_in
from judgeboard.measure.corrected_trend import corrected_trend
from judgeboard.measure.news import accounted, news
from judgeboard.measure.notes import note

MONDAY = 20_003  # 2024-10-07
CHANGE = MONDAY + 28


def latest(store):
    with store.reading() as connection:
        return news(connection, corrected_trend(connection))


def fill(log, *, bad_since, **since):
    """Nine weeks of two query types; from the fifth on, ``bad_since`` of 30 sql answers are bad and have ``since``."""
    version = log.version()
    for week in range(9):
        for query_type in ("sql", "prose"):
            changed = query_type == "sql" and week > 3
            fields = {
                "query_type": query_type,
                "generator_model": "small-1",
                "answer": "yes",
                "metadata": {"tenant": f"t{week % 2}"},
            } | (since if changed else {})
            ids = log.answers(30, day=MONDAY + 7 * week, **fields)
            labels = labels_in(ids, ids[: bad_since if changed else 3])
            log.say(version, labels)
            log.reviews(labels)


def test_the_news_are_the_type_the_day_and_the_model_that_came(store):
    fill(GradedLog(store), bad_since=27, generator_model="small-2")
    result = latest(store)
    model = "generator model small-2"
    assert result.headline == note(
        "more_bad_with", day=CHANGE, part="sql answers", coincidence=model
    )
    assert result.about.where == {"query_types": ["sql"], "day_from": CHANGE}
    figures = {(row.figure, row.slice): row.value for row in result.rows}
    expected = {
        ("bad_before", "sql"): 0.1,
        ("bad_since", "sql"): 0.9,
        ("bad_since", None): 0.5,
        ("share_before", model): 0,
        ("share_since", model): 1,
        ("accounts", model): 1,
    }
    assert {key: figures[key] for key in expected} == pytest.approx(expected)
    assert [each for each in result.slices if "tenant" in each] == []


@on_sqlite
@pytest.mark.parametrize(
    ("bad_since", "since", "code"),
    [(27, {}, "more_bad"), (3, {"generator_model": "small-2"}, None)],
)
def test_without_a_coincidence_none_is_named_and_without_a_change_there_is_no_news(
    store, bad_since, since, code
):
    fill(GradedLog(store), bad_since=bad_since, **since)
    result = latest(store)
    assert (result and (result.headline.code, result.caveats)) == (code and (code, ()))


def test_a_group_accounts_for_the_change_that_its_share_makes():
    # Half of the later answers are of a group in which all are bad; the other group stays good.
    groups = np.array([0] * 100 + [0] * 50 + [1] * 50)
    badness = np.array([0.0] * 150 + [1.0] * 50)
    is_since = np.arange(200) >= 100
    assert accounted(groups, is_since, badness) == pytest.approx(1)
    # As bad in both groups: the shares of the groups explain only what their meeting with the time
    # explains.
    assert accounted(groups, is_since, is_since.astype(float)) < 0.5
    assert abs(accounted(np.arange(200) % 2, is_since, is_since.astype(float))) < 0.01
    assert accounted(groups, is_since, np.zeros(200)) == 0
