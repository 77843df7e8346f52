"""The first steps of a database follow what is in it, and are read from few rows."""

from engines import on_sqlite
from judgeboard.domain import Decision, Grade, Label
from judgeboard.reviews.decisions import decide
from judgeboard.store import first_steps as steps_module
from judgeboard.store.engine import Store
from judgeboard.store.first_steps import FirstSteps, first_steps
from judgeboard.store.tables import FLAG
from queue_case import QueueCase, queue_case
from stored_rows import rows_of


def steps(store: Store) -> FirstSteps:
    with store.reading() as connection:
        return first_steps(connection)


def review(case: QueueCase, flag_id: int, grade: Grade | None = None) -> None:
    decide(
        case.store,
        flag_id=flag_id,
        decision=Decision.DISMISS,
        reviewer=case.mara,
        request_key=f"{flag_id}",
        now=case.now,
        **({} if grade is None else {"grade": grade}),
    )


@on_sqlite
def test_the_steps_are_done_one_after_the_other(store: Store) -> None:
    assert steps(store) == FirstSteps(imported=False, judged=False, reviewed=0, compared=0)
    assert steps(store).next == "import"
    case = queue_case(store)
    case.add("plain")
    assert steps(store).next == "judge"
    case.flagged(*[0.1] * 22)
    assert steps(store).next == "review"
    flags = [row["id"] for row in rows_of(store, FLAG)]
    for flag_id in flags[:4]:
        review(case, flag_id)
    assert (steps(store).reviewed, steps(store).compared) == (4, 0)
    for flag_id in flags[4:20]:
        review(case, flag_id, Grade(label=Label.GROUNDED) if flag_id in flags[4:10] else None)
    assert steps(store) == FirstSteps(imported=True, judged=True, reviewed=20, compared=6)
    assert steps(store).next == "agree"


def test_a_database_with_many_reviews_is_not_new(store: Store, monkeypatch) -> None:
    case = queue_case(store)
    case.flagged(0.1, 0.2)
    review(case, rows_of(store, FLAG)[0]["id"])
    assert steps(store).next == "review"
    monkeypatch.setattr(steps_module, "_NEW", 0)
    assert steps(store).next is None
