"""The page Cost."""

from app_pages import OpenPage, shown, texts
from graded_log import GradedLog
from judgeboard.store.engine import Store


def test_the_cost_of_all_calls_and_of_each_judge_is_shown(open_page: OpenPage, page_store: Store) -> None:
    log = GradedLog(page_store)
    version, ids = log.version("rag"), log.answers(4)
    log.run(version, {each: {"groundedness": 0.5} for each in ids[:2]})
    assert texts(open_page("costs"), "jb-say")[0].endswith("because their models have no price.")
    log.run(version, {each: {"groundedness": 0.5, "cost_micro": 1_500_000} for each in ids[2:]})
    app = open_page("costs")
    assert texts(app, "jb-say")[0].endswith("cost $ 3.00. This leaves out 2 calls of unknown cost.")
    assert list(app.dataframe[0].value["Judge version"]) == ["all", "rag v1"]


def test_calls_of_unknown_cost_are_not_called_free(open_page: OpenPage, page_store: Store) -> None:
    log = GradedLog(page_store)
    version, ids = log.version("rag"), log.answers(3)
    log.run(version, {each: {"groundedness": 0.5, "cost_micro": 0} for each in ids[:2]})
    assert "These calls cost nothing." in shown(open_page("costs"))
    log.run(version, {ids[2]: {"groundedness": 0.5}})
    assert "2 of these calls cost nothing. The cost of the others is unknown." in shown(open_page("costs"))
