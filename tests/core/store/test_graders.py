from engines import on_sqlite
from graded_log import GOOD, GradedLog
from judgeboard.store.reviewers import graders_by_name, reviewer_names, store_reviewer


@on_sqlite
def test_graders_are_those_whose_grades_stand(store) -> None:
    log = GradedLog(store)
    first, second = log.answers(2)
    log.review(first, "mara", label=GOOD)
    log.review(first, "jon", decision="confirm")
    log.withdraw(log.review(second, "lee", quality=3), second, "lee")
    with store.reading() as connection:
        assert list(graders_by_name(connection)) == ["mara"]


@on_sqlite
def test_a_grader_has_the_name_that_figures_use_though_the_namesake_never_graded(store) -> None:
    log = GradedLog(store)
    log.review(*log.answers(1), "mara", label=GOOD)
    with store.writing() as connection:
        store_reviewer(connection, "oidc", "mara")
    with store.reading() as connection:
        ((name, id_),) = graders_by_name(connection).items()
        assert reviewer_names(connection)[id_] == name
        assert name.startswith("mara (")
