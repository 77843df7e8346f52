"""The latest change, and what else changed at that time."""

import numpy as np
import pytest

from engines import on_sqlite
from graded_log import GradedLog, labels_in, read
from judgeboard.measure.corrected_trend import corrected_trend
from judgeboard.measure.news import accounted, news

MONDAY = 20_003  # 2024-10-07
CHANGE = MONDAY + 28


def latest(store):
    return read(store, lambda connection: news(connection, corrected_trend(connection)))


def fill(log, *, bad_since, **since):
    """Nine weeks of two query types; from the fifth on, ``bad_since`` of 30 sql answers are bad and have ``since``."""
    version = log.version()
    for week in range(9):
        for query_type in ("sql", "prose"):
            changed = query_type == "sql" and week > 3
            day, fields = (
                MONDAY + 7 * week,
                {
                    "generator_model": "small-1",
                    "answer": "yes",
                    "metadata": {"tenant": f"t{week % 2}"},
                },
            )
            ids = log.answers(
                30, day=day, query_type=query_type, **fields | (since if changed else {})
            )
            bad = set(ids[: bad_since if changed else 3])
            labels = labels_in(ids, bad)
            log.say(version, labels)
            log.reviews(labels)


def test_the_news_are_the_type_the_day_and_the_model_that_came(store):
    fill(GradedLog(store), bad_since=27, generator_model="small-2")
    result = latest(store)
    assert result.headline.code == "more_bad_with"
    assert result.headline.values == {
        "day": CHANGE,
        "part": "sql answers",
        "coincidence": "generator model small-2",
    }
    assert result.about.where == {"query_types": ["sql"], "day_from": CHANGE}
    assert result.figure("bad_before", "sql").value == pytest.approx(0.1)
    assert result.figure("bad_since", "sql").value == pytest.approx(0.9)
    assert result.figure("bad_since").value == pytest.approx(0.5)
    assert result.figure("share_before", "generator model small-2").value == 0
    assert result.figure("share_since", "generator model small-2").value == 1
    assert result.figure("accounts", "generator model small-2").value == pytest.approx(1)
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
