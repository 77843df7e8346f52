"""One decision on many answers: what it refuses, its undo, its repetition after an interruption, its statements."""

import pytest

from engines import on_sqlite
from judgeboard.domain import Role
from judgeboard.errors import BadInput, DecisionRefused, NotAllowed, NotFound
from judgeboard.people.roster import change_settings, raise_flags
from judgeboard.reviews import bulk
from judgeboard.reviews.bulk import BulkAdded, BulkDecided, add_many, decide_many, undo_many
from judgeboard.reviews.decisions import remember_implied
from judgeboard.reviews.failure_modes import save_mode
from judgeboard.reviews.queue_work import own_queues
from judgeboard.reviews.queues import assign_queue
from judgeboard.store.filters import RowFilter
from judgeboard.store.open_flags import listed_answers
from judgeboard.store.reviewers import store_reviewer
from judgeboard.store.tables import EVENT
from query_plans import statements_of
from queue_case import CONFIRM, DISMISS, UNSURE
from stored_rows import columns, write_to


def decide(case, ids, bulk_id="b1", who=None, decision=CONFIRM, **more):
    about = {"reviewer": who or case.mara, "decision": decision, "bulk_id": bulk_id}
    return decide_many(case.store, ids, **about, now=case.now, **more)


def undo(case, bulk_id, who=None):
    return undo_many(case.store, bulk_id, reviewer=who or case.mara, now=case.now)


def blind_queue(case, answer):
    """Let Mara review an answer without the judge."""
    where, rules = RowFilter(response_ids=(answer,)), {"blind_judge": True, "order": "oldest"}
    case.queue("blind", where=where, assigned=(case.mara,), **rules)


def states(case):
    return dict(columns(case.flags(), "response_id", "state"))


def standing(case):
    rows = case.reviews()
    replaced = set(columns(rows, "replaces"))
    return [row for row in rows if row["decision"] != "withdrawn" and row["id"] not in replaced]


def test_many_answers_are_decided_as_one_is_and_one_undo_opens_all(case):
    remember_implied(case.store, case.mara, implied=True)
    plain, unsure, graded, held, done, blind = case.flagged(0.1, 0.12, 0.14, 0.16, 0.18, 0.2)
    unflagged = case.flagged(0.9)
    of_answer = dict(columns(case.flags(), "response_id", "id"))
    case.decide(of_answer[unsure], case.mara, UNSURE)
    case.grade(graded, case.mara, label="grounded")
    case.queue("held", where=RowFilter(response_ids=(held,)))
    case.queue("two", where=RowFilter(response_ids=(done,)), needed=2)
    case.review(case.mara, DISMISS, "two")
    blind_queue(case, blind)

    ids = [*case.read(listed_answers, RowFilter(), most=100), *unflagged]
    done_to = decide(case, ids)
    assert done_to == BulkDecided(CONFIRM, decided=4, held=1, blind=1, in_queue=1, closed=1)
    assert states(case) == {
        **dict.fromkeys((plain, unsure, graded), "confirmed"),
        **dict.fromkeys((held, done, blind), "open"),
    }
    reviews = {row["response_id"]: row for row in standing(case) if row["bulk"] == "b1"}
    # A grade that the person gave stands.
    assert {id_: row["label"] for id_, row in reviews.items()} == {
        **dict.fromkeys((plain, unsure, held), "hallucinated"),
        graded: None,
    }
    (event_row,) = (row for row in case.rows(EVENT) if row["kind"] == "bulk_decide")
    assert event_row["details"] == {"bulk": "b1", "decision": "confirm", "answers": 4}

    before = case.reviews()
    assert decide(case, ids).decided == 4
    # The same action again stores nothing.
    assert case.reviews() == before
    for other in ({"decision": DISMISS}, {"who": case.jon}):
        with pytest.raises(BadInput):
            decide(case, ids, **other)

    with pytest.raises(DecisionRefused, match="only Mara"):
        undo(case, "b1", case.jon)
    with pytest.raises(NotFound):
        undo(case, "b2")
    assert undo(case, "b1") == 4
    assert set(states(case).values()) == {"open"}
    assert not [row for row in standing(case) if row["bulk"]]
    assert undo(case, "b1") == 0


@on_sqlite
def test_a_person_who_was_not_asked_stores_no_implied_label(case):
    assert decide(case, case.flagged(0.1, 0.2)).decided == 2
    assert set(columns(standing(case), "label")) == {None}


def test_an_interrupted_action_is_whole_in_parts_and_the_same_again_completes_it(case, monkeypatch):
    ids = case.flagged(*[0.1] * 5)
    monkeypatch.setattr(bulk, "PART", 2)
    update_states, calls = bulk.update_states, iter((1, 2))

    def interrupted(*arguments):
        next(calls)  # the third part fails after its reviews are written
        return update_states(*arguments)

    with monkeypatch.context() as patched:
        patched.setattr(bulk, "update_states", interrupted)
        with pytest.raises(StopIteration):
            decide(case, ids)
    assert columns(case.reviews(), "response_id") == ids[:4]
    assert sorted(states(case).values()) == ["confirmed"] * 4 + ["open"]
    parts = []
    again = decide(case, ids, progress=parts.append)
    assert (again, parts) == (BulkDecided(CONFIRM, decided=5), [2, 4, 5])
    assert columns(case.reviews(), "response_id") == ids
    assert set(states(case).values()) == {"confirmed"}


def test_statements_grow_with_the_parts_not_with_the_answers(case, monkeypatch):
    ids = case.flagged(*[0.1] * 24)
    case.queue("held", where=RowFilter(response_ids=tuple(ids[::2])))

    def statements_for(act, *args):
        with statements_of(case.store) as statements:
            act(case, *args)
        return len(statements)

    many = statements_for(decide, ids[4:], "many")
    assert many == statements_for(decide, ids[:4], "few")
    assert statements_for(undo, "many") == statements_for(undo, "few")
    with monkeypatch.context() as patched:
        patched.setattr(bulk, "PART", 5)
        assert statements_for(decide, ids[4:], "parts") == 4 * many
    case.queue("other", where=RowFilter(query_types=("other",)))
    save_mode(case.store, "m", by=case.lead)

    def tag_and_add(case, some):
        added = f"add{len(some)}"
        decide(case, some, f"tag{len(some)}", case.lead, None, modes=("m",))
        add_many(case.store, some, reviewer=case.lead, now=case.now, queue="other", bulk_id=added)
        undo(case, added, case.lead)

    few = statements_for(tag_and_add, ids[:4])
    assert statements_for(tag_and_add, ids[4:]) <= few


@on_sqlite
def test_answers_are_tagged_alone_and_a_later_grade_leaves_the_tag(case):
    save_mode(case.store, "off topic", by=case.lead)
    flagged, blind = case.flagged(0.1, 0.2)
    (fine,) = case.flagged(0.9)
    blind_queue(case, blind)
    with pytest.raises(BadInput):
        decide(case, [flagged], "t", decision=None)
    done = decide(case, [flagged, fine, blind], "t", decision=None, modes=("off topic",))
    assert done == BulkDecided(None, decided=2, blind=1)
    assert set(states(case).values()) == {"open"}
    for _ in range(2):
        case.grade(fine, case.mara, quality=2)
    of_fine = [row for row in standing(case) if row["response_id"] == fine]
    assert columns(of_fine, "bulk", "quality") == [("t", None), (None, 2)]
    assert undo(case, "t") == 2
    assert columns(standing(case), "quality") == [2]


def test_answers_are_added_to_a_queue_or_to_a_person_and_leave_it_by_one_undo(case):
    ids = [*case.flagged(0.1, 0.2), *case.flagged(0.9)]
    case.queue("legal", where=RowFilter(query_types=("legal",)))

    def add(bulk_id, **goal):
        goal = {"reviewer": case.lead} | goal
        return add_many(case.store, ids, bulk_id=bulk_id, now=case.now, **goal)

    for _ in range(2):
        assert add("one", queue="legal") == BulkAdded("legal", added=3, left=0)
    assert add("two", queue="legal") == BulkAdded("legal", added=0, left=3)
    for _ in range(2):
        assert add("mine", person="Mara") == BulkAdded("For Mara", added=3, left=0)
    (own,) = case.read(own_queues, case.mara.id, case.now)
    assert (own.queue.name, own.left) == ("For Mara", 3)
    assert case.review(case.mara, name="legal").state == "agreed"
    change_settings(case.store, {"low_groundedness": 0.01}, "test")
    raise_flags(case.store, now=case.now)
    # What was added stays, whatever its flags become.
    assert case.take(case.mara, "For Mara")
    # What was reviewed stays. Queues are the work of all leads.
    other_lead = write_to(case.store, store_reviewer, "page", "Other lead", role=Role.LEAD)
    assert undo(case, "one", other_lead) == 2
    assert case.take(case.jon, "legal") is None
    # What is leased stays.
    assert undo(case, "mine", case.lead) == 2
    case.queue("practice", subject="pairs", order="random")
    with pytest.raises(BadInput, match="takes no answers"):
        add("three", queue="practice")
    viewer = write_to(case.store, store_reviewer, "oidc", "viewer@example.org", role=Role.REVIEWER)
    with pytest.raises(NotAllowed):
        add("x", queue="legal", reviewer=viewer)


def test_answers_for_a_person_go_to_an_open_queue_of_this_person_alone(case):
    answers = case.flagged(0.1)
    long_name = "a name that is as long as the longest name of any queue can be"
    namesakes = [
        write_to(case.store, store_reviewer, "page", f"{long_name} {each}", role=Role.REVIEWER)
        for each in ("A", "B")
    ]

    def queue_for(who):
        add = {"reviewer": case.lead, "bulk_id": "b", "now": case.now}
        return add_many(case.store, answers, person=who.name, **add).queue

    assert [queue_for(case.mara) for _ in range(2)] == ["For Mara"] * 2
    case.close("For Mara")
    assert [queue_for(case.mara) for _ in range(2)] == ["For Mara-2"] * 2
    assign_queue(case.store, "For Mara-2", by=case.lead, add=[case.jon], remove=[case.mara])
    assert [queue_for(each) for each in (case.mara, case.jon)] == ["For Mara-3", "For Jon"]
    for person in namesakes:
        name = queue_for(person)
        assert [each.queue.name for each in case.read(own_queues, person.id, case.now)] == [name]


def test_each_event_of_an_action_counts_the_answers_of_its_part(case, monkeypatch):
    ids = case.flagged(0.1, 0.2, 0.3)
    monkeypatch.setattr(bulk, "PART", 2)
    add_many(case.store, ids, reviewer=case.lead, bulk_id="b", person="Mara", now=case.now)
    assert undo(case, "b", case.lead) == 3
    parts = [row for row in case.rows(EVENT) if row["kind"] in ("bulk_add", "bulk_undo")]
    assert [row["details"]["answers"] for row in parts] == [2, 1, 2, 1]
