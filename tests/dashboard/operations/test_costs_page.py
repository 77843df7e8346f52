"""The page Cost."""

from app_pages import OpenPage, text_with, texts
from graded_log import GradedLog
from judgeboard.store.engine import Store


def test_the_cost_of_all_calls_and_of_each_judge_is_shown(open_page: OpenPage, page_store: Store) -> None:
    log = GradedLog(page_store)
    version, ids = log.version("rag"), log.answers(4)
    log.run(version, {each: {"groundedness": 0.5} for each in ids[:2]})
    assert "$" not in texts(open_page("costs"), "jb-say")[0]
    log.run(version, {each: {"groundedness": 0.5, "cost_micro": 1_500_000} for each in ids[2:]})
    app = open_page("costs")
    assert "$ 3.00" in texts(app, "jb-say")[0]
    assert "2 calls" in texts(app, "jb-say")[0]
    assert list(app.dataframe[0].value["Judge version"]) == ["all", "rag v1"]


def test_calls_of_unknown_cost_are_not_called_free(open_page: OpenPage, page_store: Store) -> None:
    log = GradedLog(page_store)
    version, ids = log.version("rag"), log.answers(3)
    log.run(version, {each: {"groundedness": 0.5, "cost_micro": 0} for each in ids[:2]})
    assert "unknown" not in text_with(open_page("costs"), "cost nothing")
    log.run(version, {ids[2]: {"groundedness": 0.5}})
    words = text_with(open_page("costs"), "cost nothing")
    assert words.startswith("2 of ")
    assert "unknown" in words
