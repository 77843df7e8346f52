"""Logs of conversations: every reply is an answer, with what its messages carry, and repeats are read once."""

import json
from datetime import UTC, datetime

import pytest

from engines import on_sqlite
from judgeboard.imports.importing import import_file
from judgeboard.imports.responses import NO_PASSAGES
from judgeboard.store.responses import judge_inputs
from judgeboard.store.tables import FEEDBACK, RESPONSE
from stored_rows import read, row_count, rows_of
from tool_files import counts


def user(text, **more):
    return {"role": "user", "content": text, **more}


def reply(text, **more):
    return {"role": "assistant", "content": text, **more}


def turns(*numbers, **more):
    return [
        each for number in numbers for each in (user(f"q{number}"), reply(f"a{number}", **more))
    ]


def conversation(messages, id_="c", **more):
    return {"id": id_, "messages": messages, **more}


def request(id_, *numbers):
    """Return a logged request whose history has the turns before the last one."""
    *messages, last = turns(*numbers)
    return {
        "request": {"model": "m", "messages": messages},
        "response": {"id": id_, "choices": [{"message": last}], "usage": {"prompt_tokens": 7}},
    }


def earlier_row(messages, number):
    """Return what earlier releases stored of a conversation: its last reply."""
    answer = {"query": f"q{number}", "answer": f"a{number}"}
    return {"external_id": "c", "messages": messages[:-1], **answer}


def stored(store):
    """Return the stored answers by id."""
    return {row["external_id"]: row for row in rows_of(store, RESPONSE)}


def ids(store):
    return list(stored(store))


def texts(store):
    return [(id_, row["query"], row["answer"]) for id_, row in stored(store).items()]


def feedback(store, *names):
    return [tuple(row[name] for name in names) for row in rows_of(store, FEEDBACK)]


def test_every_reply_is_an_answer_with_its_own_passages_time_feedback_and_id(store, bring_answers):
    messages = [
        {"role": "system", "content": "Be brief."},
        user("q1", ts="2026-10-01T10:00:00Z"),
        reply(
            "a1",
            id="m-1",
            ts="2026-10-01T10:00:05Z",
            docs=["p1", {"text": "p2", "id": "d2"}],
            thumbs="down",
        ),
        user("q2"),
        reply("a2", id="m-2", ts="2026-10-01T10:01:05Z", docs=[], rating=4, meta={"lang": "de"}),
        user("thanks"),
    ]
    summary = bring_answers(
        {"conversation_id": "c1", "channel": "web", "messages": messages},
        {"conversation_id": "c2", "messages": turns(1)},
    )
    assert counts(summary) == (3, 0, 0)
    first, second, alone = stored(store).values()
    assert texts(store)[:2] == [("m-1", "q1", "a1"), ("m-2", "q2", "a2")]
    assert [row["passages"] for row in (first, second, alone)] == [("p1", "p2"), (), None]
    assert first["asked_at"] == datetime(2026, 10, 1, 10, 0, 5, tzinfo=UTC)
    assert {"conversation": "c1", "turn": 1, "channel": "web"}.items() <= first["extra"].items()
    assert {"conversation": "c1", "turn": 2, "lang": "de"}.items() <= second["extra"].items()
    assert "turn" not in alone["extra"]
    assert feedback(store, "kind", "value") == [("thumbs", 0), ("stars", 4)]
    assert summary.not_read == {"conversation_id": 3, "channel": 2}
    seen = read(store, judge_inputs, [first["id"], second["id"]])
    assert [[turn.text for turn in each.turns] for each in seen.values()] == [[], ["q1", "a1"]]


@on_sqlite
def test_an_object_of_feedback_in_a_message_is_the_feedback_of_its_turn(store, bring_answers):
    rated = {"rating": "up", "comment": "Helped me.", "at": "2026-10-01T10:00:00Z"}
    objects = [
        rated,
        {"rating": 2, "comment": None},
        {"thumbs": "down", "user": "ann"},
        {"rating": 1},
        {"rating": "meh"},
    ]
    messages = [each for number, own in enumerate(objects) for each in turns(number, feedback=own)]
    summary = bring_answers(conversation(messages))
    assert (counts(summary), summary.feedback_added) == ((5, 0, 0), 3)
    assert feedback(store, "kind", "value", "user", "at", "comment") == [
        ("thumbs", 1, None, datetime(2026, 10, 1, 10, tzinfo=UTC), "Helped me."),
        ("stars", 2, None, None, None),
        ("thumbs", 0, "ann", None, None),
    ]
    extra = [row["extra"] for row in stored(store).values()]
    # A 1 may be thumbs or stars, and "meh" is neither.
    assert [each.get("feedback") for each in extra] == [
        None,
        None,
        None,
        {"rating": 1},
        {"rating": "meh"},
    ]
    assert {theirs: each.times for theirs, each in summary.unread.items()} == {"feedback": 2}
    assert summary.messages == (NO_PASSAGES,)


@on_sqlite
def test_a_message_with_a_rating_that_an_earlier_release_stored_gets_its_feedback(
    store, bring_answers
):
    """Earlier releases kept an object with a rating in the metadata."""
    rated = turns(1, feedback={"rating": 4, "comment": "fine", "by": {"name": "ann"}})
    old = earlier_row(rated, 1) | {"metadata": {"feedback": rated[1]["feedback"]}}
    bring_answers(old, source="openai")
    again = bring_answers(conversation(rated))
    assert (counts(again), again.feedback_added) == ((0, 1, 0), 1)
    assert feedback(store, "value") == [(4,)]


@on_sqlite
def test_a_rating_of_the_last_reply_that_comes_later_is_added_to_it(store, bring_answers):
    messages = turns(1, 2, lang="de")
    bring_answers(conversation(messages))
    messages[-1] |= {"feedback": {"rating": "down", "comment": "wrong"}}
    later = bring_answers(conversation(messages))
    assert (counts(later), later.feedback_added) == ((0, 2, 0), 1)


@on_sqlite
def test_a_rating_that_is_mapped_is_read_once(store, bring_answers):
    rated = [
        each
        for number, rating in ((1, 1), (2, "down"))
        for each in turns(number, feedback={"rating": rating, "at": "2026-10-01"})
    ]
    mapping = {"feedback.rating": "thumbs"}
    bring_answers(conversation(rated), mapping=mapping)
    assert feedback(store, "value") == [(1,), (0,)]


@on_sqlite
def test_a_number_without_end_in_the_feedback_of_a_message_rejects_its_row(store, bring_answers):
    huge = turns(1, feedback={"kind": "stars", "value": 10**400})
    summary = bring_answers(conversation(huge), conversation(turns(2), "d"))
    assert counts(summary) == (1, 0, 1)
    assert "beyond 64 bits" in summary.first_rejected[0].reason


@on_sqlite
def test_the_result_of_a_tool_is_the_passages_and_a_call_is_no_answer(store, bring_answers):
    call = {"tool_calls": [{"id": "1", "function": {"name": "search", "arguments": "{}"}}]}
    found = json.dumps(
        [{"page_content": "p1", "metadata": {"source": "s1"}}, {"page_content": "p2"}]
    )
    messages = [
        reply("Hello, what can I do?"),
        user("q1"),
        reply(None, **call),
        {"role": "tool", "content": found},
        reply("a1"),
        user("q2"),
        reply("Let me look.", **call),
        {"role": "tool", "content": "42 in stock"},
        reply("a2"),
        user("q3"),
        {"role": "tool", "content": "x"},
        reply("a3", context=["own"]),
    ]
    bring_answers(conversation(messages))
    assert [
        (row["external_id"], row["answer"], row["passages"]) for row in stored(store).values()
    ] == [
        ("c-1", "a1", ("p1", "p2")),
        ("c-2", "a2", ("42 in stock",)),
        ("c-3", "a3", ("own",)),
    ]
    assert stored(store)["c-1"]["extra"]["context_details"] == [{"source": "s1"}, {}]


@on_sqlite
def test_a_conversation_that_grows_keeps_the_ids_of_its_turns(store, bring_answers):
    bring_answers(conversation(turns(1)))
    # The only turn of a row has its id, as a stored completion has.
    assert texts(store) == [("c", "q1", "a1")]
    assert counts(bring_answers(conversation(turns(1, 2)))) == (1, 1, 0)
    assert counts(bring_answers(conversation(turns(1, 2, 3)))) == (1, 2, 0)
    assert ids(store) == ["c", "c-2", "c-3"]
    bring_answers({"messages": turns(4, 5)})
    assert counts(bring_answers({"messages": turns(4, 5, 6)})) == (1, 2, 0)


@on_sqlite
def test_a_file_of_an_earlier_release_keeps_the_answers_that_are_stored(store, bring_answers):
    """Earlier releases stored the last reply, with the id of the conversation and nothing from its messages."""
    messages = turns(1, 2, context=["p"], ts=1_700_000_000, thumbs=1)
    bring_answers(earlier_row(messages, 2) | {"metadata": {"channel": "web"}}, source="openai")
    before = stored(store)["c"]
    assert counts(bring_answers(conversation(messages, channel="web"))) == (1, 1, 0)
    assert ids(store) == ["c", "c-1"]
    assert stored(store)["c"] == before
    assert row_count(store, FEEDBACK) == 2


@on_sqlite
def test_the_only_turn_of_a_row_that_an_earlier_release_stored_changes_nothing(
    store, bring_answers
):
    messages = turns(1, context=["p"])
    bring_answers(earlier_row(messages, 1), source="default")
    assert counts(bring_answers(conversation(messages))) == (0, 1, 0)


@on_sqlite
def test_ids_that_count_the_messages_of_a_conversation_are_no_ids_of_answers(store, bring_answers):
    numbered = [each | {"id": number} for number, each in enumerate(turns(1, 2))]
    bring_answers(conversation(numbered, "c1"), conversation(numbered, "c2"))
    assert ids(store) == ["c1-1", "c1-2", "c2-1", "c2-2"]


@on_sqlite
@pytest.mark.parametrize(
    "first", [conversation([], "c0"), conversation([user("q0")], "c0"), {"id": "c0"}]
)
def test_a_first_conversation_without_a_reply_is_one_rejected_row(store, bring_answers, first):
    summary = bring_answers(first, conversation(turns(1, 2), "c1"), conversation(turns(3), "c2"))
    assert counts(summary) == (3, 0, 1)
    assert ids(store) == ["c1-1", "c1-2", "c2"]
    assert [(each.line, each.reason.partition(":")[0]) for each in summary.first_rejected] == [
        (1, "no answer" if first.get("messages") else "no question")
    ]


@on_sqlite
@pytest.mark.parametrize("first", ["{", "{}", '{"id": "x"}', '{"id": "x", "messages": []}'])
def test_many_first_lines_without_a_conversation_are_rejected_one_by_one(store, tmp_path, first):
    file = tmp_path / "log.jsonl"
    file.write_text(f"{first}\n" * 25 + json.dumps(conversation(turns(1, 2))) + "\n")
    assert counts(import_file(store, file)) == (2, 0, 25)


@on_sqlite
def test_a_first_row_without_an_answer_makes_no_log_of_conversations(store, bring_answers):
    rows = [
        {"id": f"r{n}", "question": f"q{n}", "answer": f"a{n}", "messages": turns(8, 9)}
        for n in range(3)
    ]
    summary = bring_answers(rows[0] | {"answer": None}, *rows[1:])
    assert (counts(summary), summary.export) == ((2, 0, 1), None)
    assert texts(store) == [("r1", "q1", "a1"), ("r2", "q2", "a2")]


@on_sqlite
@pytest.mark.parametrize("order", [1, -1])
def test_replies_in_the_history_of_requests_are_read_once(store, bring_answers, order):
    log = [request("r1", 1), request("r2", 1, 2), request("r3", 1, 2, 3)]
    bring_answers(*log[::order])
    assert sorted(texts(store)) == [("r1", "q1", "a1"), ("r2", "q2", "a2"), ("r3", "q3", "a3")]


@on_sqlite
def test_a_request_with_the_only_log_of_its_history_gives_every_reply(store, bring_answers):
    bring_answers(request("r3", 1, 2, 3))
    rows = {row["answer"]: row for row in stored(store).values()}
    assert {
        answer: (row["extra"]["turn"], "prompt_tokens" in row["extra"])
        for answer, row in rows.items()
    } == {"a1": (1, False), "a2": (2, False), "a3": (3, True)}
    assert rows["a3"]["external_id"] == "r3"


@on_sqlite
def test_later_states_of_a_conversation_in_one_file_repeat_no_answer(store, bring_answers):
    states = [{"conversation_id": "c", "messages": turns(*range(1, last + 1))} for last in (2, 3)]
    assert counts(bring_answers(*states)) == (3, 0, 0)
    assert ids(store) == ["c-1", "c-2", "c-3"]


@on_sqlite
def test_a_mapping_names_keys_of_messages_and_of_the_row(store, bring_answers):
    messages = turns(1, 2, meta={"docs": ["p"], "lang": "de"}, score=1)
    mapping = {"metadata.docs": "context", "score": "thumbs", "kind": "query_type"}
    row = conversation(messages, kind="order", plan="pro")
    summary = bring_answers(row, mapping=mapping)
    assert [(each["passages"], each["query_type"]) for each in stored(store).values()] == [
        (("p",), "order")
    ] * 2
    assert feedback(store, "kind") == [("thumbs",)] * 2
    assert summary.not_read == {"plan": 2}
    assert {use.ours: use.theirs for use in summary.columns}["context"] == "metadata.docs"


@on_sqlite
def test_dates_of_messages_that_may_be_either_are_kept_and_counted(store, bring_answers):
    summary = bring_answers(conversation(turns(1, 2, ts="03/04/2026")))
    assert (counts(summary), summary.unread["ts"].times) == ((2, 0, 0), 2)
    assert [row["extra"]["ts"] for row in stored(store).values()] == ["03/04/2026"] * 2


@on_sqlite
def test_a_mapping_of_question_and_answer_reads_a_conversation_by_its_columns(store, bring_answers):
    row = conversation([user("q1?"), reply("Yes.")])
    mapping = {"messages.0.content": "query", "messages.1.content": "answer"}
    assert bring_answers(row, mapping=mapping).export is None
    assert texts(store) == [("c", "q1?", "Yes.")]
