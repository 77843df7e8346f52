"""What a typed name or number finds: little, by index, and nothing that is hidden."""

from engines import on_sqlite
from judgeboard.domain import QueueOrder, Response
from judgeboard.reviews.queues import assign_queue
from judgeboard.store.engine import Store
from judgeboard.store.hidden_rows import Seen
from judgeboard.store.named_rows import NamedRow, named_rows
from judgeboard.store.storing import store_responses
from query_plans import plans_of, whole_tables
from queue_case import queue_case


def found(store: Store, text: str, viewer: int | None = None, *, all_queues: bool = True) -> list[NamedRow]:
    with Seen(store, viewer).reading() as connection:
        return named_rows(connection, text, reviewer_id=viewer, all_queues=all_queues)


def names(rows: list[NamedRow]) -> list[tuple[str, str]]:
    return [(row.kind, row.name) for row in rows]


@on_sqlite
def test_a_name_finds_answers_by_their_start_and_queues_and_people_within(store: Store) -> None:
    case = queue_case(store)
    case.flagged(0.1, 0.2)
    with store.writing() as connection:
        responses = [Response("log", f"march-{number:02}", "q", "a") for number in range(9)]
        store_responses(connection, [*responses, Response("log", "10%_off", "q", "a")])
    case.queue("The march audit")
    assert names(found(store, "march")) == [
        *(("answer", f"march-{number:02}") for number in range(5)),
        ("queue", "The march audit"),
    ]
    assert names(found(store, "march-08")) == [("answer", "march-08")]
    assert names(found(store, "10%_o")) == [("answer", "10%_off")]
    assert ("person", "Mara") in names(found(store, "mar"))
    assert found(store, "  ") == found(store, "nothing of this") == []


def test_a_number_finds_the_answer_and_the_flag(store: Store) -> None:
    case = queue_case(store)
    [response_id] = case.flagged(0.1)
    kinds = {row.kind: row.id for row in found(store, str(response_id))}
    assert kinds["answer"] == response_id
    [flag] = [row for row in found(store, "1") if row.kind == "flag"]
    assert flag.name == "Flag 1"
    assert found(store, "9" * 30) == []


def test_what_is_to_be_reviewed_blind_is_not_found(store: Store) -> None:
    case = queue_case(store)
    [response_id] = case.flagged(0.1)
    case.queue("secret", blind_judge=True, order=QueueOrder.OLDEST, assigned=(case.mara,))
    assert names(found(store, str(response_id), case.lead.id))
    assert [row for row in found(store, str(response_id), case.mara.id) if row.kind in {"answer", "flag"}] == []


def test_a_queue_of_others_is_found_by_leads_only(store: Store) -> None:
    case = queue_case(store)
    case.flagged(0.1)
    case.queue("night shift", assigned=(case.mara,))
    assert names(found(store, "night", case.mara.id, all_queues=False)) == [("queue", "night shift")]
    assert found(store, "night", case.jon.id, all_queues=False) == []
    assert names(found(store, "night", case.jon.id)) == [("queue", "night shift")]
    assign_queue(store, "night shift", by=case.lead, add=[case.jon], remove=[case.mara])
    assert found(store, "night", case.mara.id, all_queues=False) == []


def test_no_table_of_answers_is_read_whole(sqlite_store: Store) -> None:
    queue_case(sqlite_store).flagged(0.1, 0.2)
    with sqlite_store.reading() as connection, plans_of(sqlite_store) as plans:
        named_rows(connection, "12", reviewer_id=None, all_queues=False)
    assert whole_tables(plans) == []
    assert any("ix_response_external_id (external_id>?)" in plan for plan in plans)
    assert len(plans) == 5
