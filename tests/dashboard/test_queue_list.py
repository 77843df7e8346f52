"""What the list of queues says of one: how far it is, who did what, what its random sample lacks."""

import pytest

from judgeboard.domain import QueueOrder
from judgeboard.reviews.queues import QueueProgress, queue_progress
from judgeboard.store.engine import Store
from judgeboard_dashboard.review.queues import list_table, people_table, progress_words, sample_words
from judgeboard_dashboard.widgets.tables import table_frame
from queue_desk import CONFIRM, DISMISS, UNSURE, QueueDesk, queue_desk


@pytest.fixture
def desk(sqlite_store: Store) -> QueueDesk:
    return queue_desk(sqlite_store)


def progress(desk: QueueDesk, name: str = "q") -> QueueProgress:
    with desk.store.reading() as connection:
        return queue_progress(connection, name, now=desk.now)


def test_one_line_shows_the_progress_of_a_queue_and_ones_own(desk) -> None:
    desk.flagged(0.1, 0.2, 0.3, 0.4)
    desk.queue(needed=2, order=QueueOrder.OLDEST, assigned=(desk.mara, desk.jon))
    for who, said in ((desk.mara, CONFIRM), (desk.jon, DISMISS), (desk.mara, CONFIRM), (desk.jon, CONFIRM)):
        desk.review(who, said)
    desk.review(desk.mara, UNSURE)
    desk.held(desk.mara)
    one = progress(desk)
    (row,) = table_frame(list_table([one], desk.mara.id)).to_dict("records")
    assert (row["Queue"], row["Items"], row["You"], row["Reviews"]) == ("q", 4, 3, "5 / 8")
    assert (row["Open"], row["Leased"], row["Conflicts"], row["Finished"]) == (1, 1, 1, 0.25)
    assert row["Assigned to"] == "Jon, Mara"
    assert "oldest first · 2 reviews of each answer" in row["Rules"]
    assert progress_words(one) == "1 of 4 answers open, 1 leased, 1 conflict, 1 finished."
    assert table_frame(list_table([one], desk.ada.id))["You"].tolist() == [0]
    people = table_frame(people_table(one)).set_index("Person")
    assert people.loc["Mara", ["Done", "Unsure", "Leased"]].tolist() == [3, 1, 1]


def test_what_is_finished_is_told_in_whole_per_cent_and_all_of_it_once_all_is(desk) -> None:
    desk.flagged(0.1, 0.2, 0.3)
    desk.queue()
    shares = []
    for _ in range(3):
        desk.review(desk.mara, CONFIRM)
        shares.append(table_frame(list_table([progress(desk)], desk.mara.id))["Finished"].item())
    assert shares == [0.33, 0.66, 1.0]


def test_a_random_sample_that_is_short_is_explained(desk) -> None:
    desk.flagged(0.1, 0.2, 0.3, 0.4)
    desk.queue(sampling_rate=0.5)
    said = sample_words(progress(desk))
    assert said is not None
    assert said.startswith("0 answers in the random sample. 4 more were requested")
    desk.queue("plain")
    assert sample_words(progress(desk, "plain")) is None
