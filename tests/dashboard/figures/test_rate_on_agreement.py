"""The rate of bad answers at the top of Agreement."""

from datetime import UTC, datetime

import pytest
from sqlalchemy import insert

from app_pages import OpenPage, texts
from graded_log import BAD, GOOD, GradedLog
from judgeboard.agreement.rates import measure_rate
from judgeboard.store.engine import Store
from judgeboard.store.tables import FLAG

NOW = datetime(2026, 3, 1, tzinfo=UTC)


@pytest.fixture
def ids(sqlite_store: Store) -> list[int]:
    log = GradedLog(sqlite_store)
    made = [*log.answers(30, query_type="sql"), *log.answers(30, query_type="simple")]
    verdicts = {
        each: {"label": BAD if place % 4 == 0 else GOOD, "groundedness": 0.9} for place, each in enumerate(made)
    }
    log.say(log.version(), verdicts)
    return made


def draw(store: Store, ids: list[int]) -> None:
    row = {"query_type": "", "source": "log", "rule": "random_sample", "severity": 0.0, "created_at": NOW}
    with store.writing() as connection:
        connection.execute(insert(FLAG), [row | {"response_id": each, "raise_key": f"r{each}"} for each in ids])


def test_the_first_line_is_the_rate_of_the_command(open_page: OpenPage, sqlite_store: Store, ids: list[int]) -> None:
    draw(sqlite_store, ids[::2])
    GradedLog(sqlite_store).reviews({each: {"label": BAD if each < 10 else GOOD} for each in ids[::2]})
    app = open_page("agreement")
    (line,) = texts(app, "jb-rate")
    assert line == measure_rate(sqlite_store).sentence
    assert line.startswith("About ")
    rates = next(table.value for table in app.dataframe if "Judge alone" in table.value)
    assert rates["Query type"].tolist() == ["simple", "sql", "all answers"]
    assert any("In all answers" in table.value for table in app.dataframe)


@pytest.mark.parametrize("labels", [0, 20])
def test_where_the_rate_is_not_known_a_button_opens_the_plan(
    open_page: OpenPage, sqlite_store: Store, ids: list[int], labels: int
) -> None:
    GradedLog(sqlite_store).reviews({each: {"label": GOOD} for each in ids[:labels]})
    app = open_page("agreement")
    (line,) = texts(app, "jb-rate")
    assert "has a label from a random sample" in line
    assert app.button(key="rate_plan").label == "Plan the labels"


def test_one_person_alone_has_no_rate(open_page: OpenPage, sqlite_store: Store, ids: list[int]) -> None:
    GradedLog(sqlite_store).reviews({each: {"label": GOOD} for each in ids[:20]})
    assert texts(open_page("agreement", people="mara"), "jb-rate") == []
    assert texts(open_page("agreement", grade="Quality"), "jb-rate") == []
