"""What agents draft counts nowhere until a person confirms it, and runs start only with somebody's consent."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from agent_client import Agent
from engines import on_sqlite
from judgeboard.domain import Role
from judgeboard.errors import BadInput, JudgeboardError, NotAllowed
from judgeboard.mcp import drafts, tools
from judgeboard.mcp.drafts import confirm, dismiss, list_drafts
from judgeboard.mcp.tables import MACHINE_DRAFT, DraftState
from judgeboard.people.permissions import ENTERED, SIGNED_IN
from judgeboard.people.roster import add_person, ensure_reviewer
from judgeboard.receiving.keys import Sender, create_key
from judgeboard.reports.stats import measure_log
from judgeboard.store.api_keys import key_of_token
from judgeboard.store.events import EventFilter, latest_events
from judgeboard.store.export import exports
from judgeboard.store.forgetting import forget_response
from judgeboard.store.hidden_rows import Seen
from judgeboard.store.issues import list_modes
from judgeboard.store.label_schemas import list_schemas
from judgeboard.store.tables import FLAG, JOB, REVIEW
from queue_case import queue_case
from stored_rows import read, row_count, rows_of, write_to

YAML = "name: tone\nfields:\n- name: polite\n  type: yes_no\n"


@pytest.fixture
def case(store):
    case = queue_case(store)
    case.flagged(0.1, 0.9)
    return case


@pytest.fixture
def agent(store):
    return Agent(store)


def sender(store, *scopes, **options):
    token = create_key(store, " ".join((*scopes, *options)), scopes=scopes, by="test", **options)
    return Sender(read(store, key_of_token, token))


def draft_of(agent, answer="1", **review):
    return int(agent.data("draft_review", answer=answer, review=review)["draft"])


def seen_by(person, store):
    """The drafts that a person sees."""
    return [each.id for each in read(Seen(store, person.id), list_drafts)]


def refuses(store, number, person, match=None, error=BadInput):
    """Check that this person can neither confirm nor dismiss a draft."""
    for decide in (confirm, dismiss):
        with pytest.raises(error, match=match):
            decide(store, number, person)


def test_a_drafted_review_counts_nowhere_until_a_person_confirms_it(case, store, agent):
    def counted():
        tables = [
            read(store, lambda connection, table=name: [*exports()[table].read(connection, None)])
            for name in ("reviews", "flags", "responses")
        ]
        return measure_log(store), tables, rows_of(store, FLAG)

    before = counted()
    flag = case.flags()[0]["id"]
    number = draft_of(agent, flag=flag, decision="confirm", quality=1, note="14, not 30 days")
    assert counted() == before
    assert row_count(store, REVIEW) == 0
    words = confirm(store, number, case.mara)
    [review] = case.reviews()
    assert str(review["id"]) in words
    assert (review["reviewer_id"], review["quality"]) == (case.mara.id, 1)
    assert case.flag_states()[0] == "confirmed"
    [draft] = rows_of(store, MACHINE_DRAFT)
    assert (draft["state"], draft["review_id"]) == (DraftState.CONFIRMED, review["id"])
    [event] = read(store, latest_events, EventFilter("decide_draft"), limit=9)
    assert event.details["review"] == review["id"]
    assert event.details["by"].startswith("cli:")
    refuses(store, number, case.jon, "confirmed already")


def test_a_confirmation_that_was_interrupted_is_completed_by_the_same_person(
    case, store, agent, monkeypatch
):
    number = draft_of(agent, label="grounded")
    with monkeypatch.context() as patched:
        patched.setattr(drafts, "_decide", interrupted)
        with pytest.raises(KeyboardInterrupt):
            confirm(store, number, case.mara)
    with pytest.raises(BadInput):
        confirm(store, number, case.jon)
    confirm(store, number, case.mara)
    assert row_count(store, REVIEW) == 1
    assert read(store, list_drafts) == []


def interrupted(*_):
    raise KeyboardInterrupt


def test_a_dismissed_draft_stores_nothing(case, store, agent):
    number = draft_of(agent, label="grounded")
    dismiss(store, number, case.mara)
    assert row_count(store, REVIEW) == 0
    assert read(store, list_drafts) == []
    with pytest.raises(BadInput, match="dismissed already"):
        confirm(store, number, case.mara)


def test_a_draft_is_not_shown_nor_confirmed_before_a_blind_review(case, store, agent):
    case.queue(blind_judge=True, assigned=(case.mara,))
    number = draft_of(agent, label="hallucinated")
    assert seen_by(case.mara, store) == []
    with pytest.raises(JudgeboardError):
        confirm(store, number, case.mara)
    assert row_count(store, REVIEW) == 0
    case.review(case.mara, groundedness=0.2)
    assert seen_by(case.mara, store) == [number]


def test_a_draft_is_hidden_while_what_others_said_is_hidden(case, store, agent):
    case.grade(1, case.jon, quality=2)
    number = draft_of(agent, quality=2)
    assert seen_by(case.mara, store) == []
    assert seen_by(case.jon, store) == [number]


def test_schemas_and_failure_modes_are_stored_by_the_person_who_confirms(case, store, agent):
    schema = agent.data("draft_label_schema", yaml=YAML)["draft"]
    modes = agent.data("draft_failure_modes", modes=[{"name": "Wrong number"}])["draft"]
    assert "polite" not in str(read(store, list_schemas))
    assert "Wrong number" not in read(store, list_modes)
    confirm(store, schema, case.lead)
    confirm(store, modes, case.lead)
    assert [each.created_by for each in read(store, list_schemas)] == [case.lead.name]
    assert read(store, list_modes)["Wrong number"].by == case.lead.name
    assert "already" in agent.error("draft_failure_modes", modes=[{"name": "wrong NUMBER"}])


@on_sqlite
def test_only_who_may_confirms(case, store, agent):
    reviewer = add_person(store, "rae@example.org", Role.REVIEWER, "cli:test")
    viewer = add_person(store, "vic@example.org", Role.VIEWER, "cli:test")
    review = draft_of(agent, quality=2)
    others = (
        agent.data("draft_label_schema", yaml=YAML)["draft"],
        agent.data("draft_failure_modes", modes=[{"name": "Wrong number"}])["draft"],
    )
    assert reviewer.origin == SIGNED_IN != ENTERED
    for number in (review, *others):
        refuses(store, number, viewer, error=NotAllowed)
    for number in others:
        with pytest.raises(NotAllowed):
            confirm(store, number, reviewer)
    confirm(store, review, reviewer)
    assert len(read(store, list_drafts)) == 2


def test_forgetting_an_answer_deletes_what_was_drafted_about_it(case, store, agent):
    number = draft_of(agent, note="hunter2")
    assert read(store, list_drafts)[0].response_id == 1
    write_to(store, forget_response, "a0", actor="test")
    assert rows_of(store, MACHINE_DRAFT)[0]["content"] is None
    with pytest.raises(BadInput, match="deleted"):
        confirm(store, number, case.mara)


@on_sqlite
def test_an_agent_cannot_fill_the_database(case, agent, monkeypatch):
    monkeypatch.setattr(drafts, "MOST_OPEN", 2)
    draft_of(agent, quality=1)
    draft_of(agent, quality=2)
    assert "person" in agent.error("draft_review", answer="1", review={"quality": 3})


# Runs.


@pytest.fixture
def lexical(store):
    """A database with a judge that a job can use, and two answers that it has not judged."""
    from judgeboard.runs.judging import judge_pending, make_judge

    case = queue_case(store)
    case.add("x", "y")
    judge_pending(store, make_judge("lexical", name="lexical"), limit=1)
    case.add("z")
    return store


def token_for(agent, **options):
    """The token of an estimate, which starts a run."""
    return agent.data("estimate_run", judge="lexical", **options)["token"]


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_run_starts_when_the_person_at_the_terminal_accepts(lexical, mode):
    agent = Agent(lexical, answer="accept", mode=mode)
    estimate = agent.data("estimate_run", judge="lexical")
    assert (estimate["estimate"]["calls"], row_count(lexical, JOB)) == (2, 0)
    started = agent.data("start_run", token=estimate["token"])
    [job] = rows_of(lexical, JOB)
    assert (started["state"], started["job"]) == ("started", job["id"])
    [question] = agent.asked
    assert "2 calls" in question
    # The token starts one run.
    assert "token" in agent.error("start_run", token=estimate["token"])
    assert row_count(lexical, JOB) == 1


@on_sqlite
def test_only_the_newest_estimates_are_kept(lexical, agent, monkeypatch):
    monkeypatch.setattr(tools, "MOST_ESTIMATES", 1)
    older, newer = token_for(agent), token_for(agent)
    assert "token" in agent.error("start_run", token=older)
    assert agent.data("start_run", token=newer)["state"] == "waiting"


@on_sqlite
def test_of_several_calls_at_once_with_a_token_one_starts_the_run(store, lexical):
    judge = sender(store, "read", "draft", "judge")
    token = token_for(Agent(store, judge))
    start = Barrier(4)

    def started(_number):
        start.wait()
        return not Agent(store, judge).call("start_run", token=token).is_error

    with ThreadPoolExecutor(4) as threads:
        assert sum(threads.map(started, range(4))) == 1
    assert row_count(store, JOB) == 1


@on_sqlite
@pytest.mark.parametrize("answer", ["decline", "cancel"])
def test_a_run_that_the_person_declines_does_not_start(store, lexical, answer):
    agent = Agent(lexical, answer=answer)
    token = token_for(agent)
    assert "declined" in agent.error("start_run", token=token)
    assert row_count(lexical, JOB) == row_count(lexical, MACHINE_DRAFT) == 0


def test_without_a_client_that_asks_a_person_confirms_the_run(lexical, agent):
    token = token_for(agent, mode="all", max_cost=1.5)
    waiting = agent.data("start_run", token=token)
    assert (waiting["state"], row_count(lexical, JOB)) == ("waiting", 0)
    confirm(lexical, waiting["draft"], ensure_reviewer(lexical, ENTERED, "Mara"))
    [job] = rows_of(lexical, JOB)
    assert (job["actor"], job["filter"]["max_cost"], job["filter"]["mode"]) == ("Mara", 1.5, "all")


@on_sqlite
def test_a_key_starts_a_run_only_with_the_scope_judge(store, lexical):
    judge = sender(store, "read", "draft", "judge")
    agent = Agent(store, sender(store, "read"))
    assert "draft" in agent.error("start_run", token=token_for(agent))
    for tool, arguments in (
        ("draft_review", {"answer": "1", "review": {"quality": 1}}),
        ("draft_label_schema", {"yaml": YAML}),
        ("draft_failure_modes", {"modes": [{"name": "m"}]}),
    ):
        assert "scope" in agent.error(tool, **arguments)
    assert row_count(store, MACHINE_DRAFT) == 0
    # A question to the client of a key is no consent.
    drafter = Agent(store, sender(store, "read", "draft"), answer="accept")
    assert drafter.data("start_run", token=token_for(drafter))["state"] == "waiting"
    assert (drafter.asked, row_count(store, JOB)) == ([], 0)
    # A token of another key is not known.
    agent = Agent(store, judge)
    assert "token" in agent.error("start_run", token=token_for(drafter))
    assert agent.data("start_run", token=token_for(agent))["state"] == "started"
    assert [each["actor"] for each in rows_of(store, JOB)] == [judge.actor]
