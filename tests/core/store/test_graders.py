from graded_log import GOOD, GradedLog
from judgeboard.store.reviewers import list_graders


def test_graders_are_those_whose_grades_stand(store) -> None:
    log = GradedLog(store)
    first, second = log.answers(2)
    log.review(first, "mara", label=GOOD)
    log.review(first, "jon", decision="confirm")
    log.withdraw(log.review(second, "lee", quality=3), second, "lee")
    with store.reading() as connection:
        assert [grader.name for grader in list_graders(connection)] == ["mara"]
