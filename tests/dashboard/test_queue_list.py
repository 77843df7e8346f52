"""What the list of queues says of one: how far it is, who did what, what its random sample lacks."""

import pytest

from judgeboard.domain import QueueOrder
from judgeboard.reports.output import Table
from judgeboard.store.engine import Store
from judgeboard_dashboard.review.queues import PEOPLE_COLUMNS, list_table, progress_words, sample_words
from judgeboard_dashboard.widgets.tables import table_frame
from queue_case import CONFIRM, DISMISS, UNSURE, QueueCase, queue_case


@pytest.fixture
def case(sqlite_store: Store) -> QueueCase:
    return queue_case(sqlite_store)


def test_one_line_shows_the_progress_of_a_queue_and_ones_own(case) -> None:
    case.flagged(0.1, 0.2, 0.3, 0.4)
    case.queue(needed=2, order=QueueOrder.OLDEST, assigned=(case.mara, case.jon))
    for who, said in ((case.mara, CONFIRM), (case.jon, DISMISS), (case.mara, CONFIRM), (case.jon, CONFIRM)):
        case.review(who, said)
    case.review(case.mara, UNSURE)
    case.lease(case.mara)
    one = case.progress()
    (row,) = table_frame(list_table([one], case.mara.id)).to_dict("records")
    assert (row["Queue"], row["Items"], row["You"], row["Reviews"]) == ("q", 4, 3, "5 / 8")
    assert (row["Open"], row["Leased"], row["Conflicts"], row["Finished"]) == (1, 1, 1, 25)
    assert row["Assigned to"] == "Jon, Mara"
    assert "oldest first · 2 reviews of each answer" in row["Rules"]
    assert progress_words(one) == "1 of 4 answers open, 1 leased, 1 conflict, 1 finished."
    assert table_frame(list_table([one], case.ada.id))["You"].tolist() == [0]
    people = table_frame(Table.of(one.people, PEOPLE_COLUMNS)).set_index("Person")
    assert people.loc["Mara", ["Done", "Unsure", "Leased"]].tolist() == [3, 1, 1]


def test_what_is_finished_is_told_in_whole_per_cent_and_all_of_it_once_all_is(case) -> None:
    case.flagged(0.1, 0.2, 0.3)
    case.queue()
    shares = []
    for _ in range(3):
        case.review(case.mara, CONFIRM)
        shares.append(table_frame(list_table([case.progress()], case.mara.id))["Finished"].item())
    assert shares == [33, 66, 100]


def test_a_random_sample_that_is_short_is_explained(case) -> None:
    case.flagged(0.1, 0.2, 0.3, 0.4)
    case.queue(sampling_rate=0.5)
    words = sample_words(case.progress())
    assert words is not None
    assert words.startswith("0 answers in the random sample. 4 more were requested")
    case.queue("plain")
    assert sample_words(case.progress("plain")) is None
