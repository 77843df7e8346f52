"""The page Verdicts: two judge versions on the same answers, row by row."""

from app_pages import labels, texts, with_label
from graded_log import BAD, GOOD


def test_the_verdicts_of_two_versions_are_listed_by_direction(open_page, log):
    old, new = log.version("rag"), log.version("rag", prompt="new")
    towards, away, same = log.answers(3)
    log.say_all(old, [towards, away, same], groundedness=0.1)
    log.say_all(new, [towards, away], groundedness=0.9)
    log.say_all(new, [same], groundedness=0.2)
    log.review_all([towards], label=GOOD)
    log.review_all([away], label=BAD)

    app = open_page("verdicts", new=new.title)
    assert [field.value for field in app.selectbox] == [old.title, new.title]
    (contrast,) = texts(app, "jb-say")
    assert old.title in contrast
    counts, table = app.dataframe
    assert counts.value.iloc[0].tolist() == [3, 2, 0, 2, 1, 1]
    assert list(table.value["Direction"].dropna()) == ["towards people", "away from people"]

    switch = with_label(app.get("button_group"), "Verdicts")
    app = switch.set_value("away").run()
    (_, table) = app.dataframe
    assert list(table.value["Direction"]) == ["away from people"]


def test_the_verdicts_of_a_run_are_compared_with_those_before_it(open_page, log):
    version, (first, second) = log.version("rag"), log.answers(2)
    log.say_all(version, [first, second], groundedness=0.1)
    run = log.run(version, {first: {"groundedness": 0.9}})

    app = open_page("verdicts", run=run)
    assert app.dataframe[0].value.iloc[0].tolist()[:2] == [1, 1]
    assert any(label.startswith(f"Run {run} of rag v1") for label in labels(app))
    assert not app.selectbox
