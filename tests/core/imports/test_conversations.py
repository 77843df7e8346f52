"""Logs of conversations: every reply is an answer, with what its messages carry, and repeats are read once."""

import json
from datetime import UTC, datetime

import pytest

from engines import on_sqlite
from judgeboard.imports.importing import import_file
from judgeboard.imports.responses import NO_PASSAGES
from judgeboard.store.responses import judge_inputs
from judgeboard.store.tables import FEEDBACK, RESPONSE
from stored_rows import rows_of


def user(text, **more):
    return {"role": "user", "content": text, **more}


def reply(text, **more):
    return {"role": "assistant", "content": text, **more}


def turns(*numbers, **more):
    return [
        each for number in numbers for each in (user(f"q{number}"), reply(f"a{number}", **more))
    ]


def request(id_, *numbers):
    """Return a logged request whose history has the turns before the last one."""
    *messages, last = turns(*numbers)
    return {
        "request": {"model": "m", "messages": messages},
        "response": {"id": id_, "choices": [{"message": last}], "usage": {"prompt_tokens": 7}},
    }


def stored(store):
    """Return the stored answers by id."""
    return {row["external_id"]: row for row in rows_of(store, RESPONSE)}


def texts(store):
    return [(id_, row["query"], row["answer"]) for id_, row in stored(store).items()]


def counts(summary):
    return summary.new, summary.unchanged, summary.rejected


def test_every_reply_is_an_answer_with_its_own_passages_time_feedback_and_id(store, bring):
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
    conversation = {"conversation_id": "c1", "channel": "web", "messages": messages}
    summary = bring(conversation, {"conversation_id": "c2", "messages": turns(1)}, kind="responses")
    assert counts(summary) == (3, 0, 0)
    first, second, alone = stored(store).values()
    assert [
        (each["external_id"], each["query"], each["answer"], each["passages"])
        for each in (first, second)
    ] == [
        ("m-1", "q1", "a1", ("p1", "p2")),
        ("m-2", "q2", "a2", ()),
    ]
    assert first["asked_at"] == datetime(2026, 10, 1, 10, 0, 5, tzinfo=UTC)
    assert {"conversation": "c1", "turn": 1, "channel": "web"}.items() <= first["extra"].items()
    assert {"conversation": "c1", "turn": 2, "lang": "de"}.items() <= second["extra"].items()
    assert (alone["passages"], "turn" in alone["extra"]) == (None, False)
    assert [(each["kind"], each["value"]) for each in rows_of(store, FEEDBACK)] == [
        ("thumbs", 0),
        ("stars", 4),
    ]
    assert summary.not_read == {"conversation_id": 3, "channel": 2}
    with store.reading() as connection:
        seen = judge_inputs(connection, [first["id"], second["id"]])
    assert [[turn.text for turn in each.turns] for each in seen.values()] == [[], ["q1", "a1"]]


@on_sqlite
def test_an_object_of_feedback_in_a_message_is_the_feedback_of_its_turn(store, bring):
    rated = {"rating": "up", "comment": "Helped me.", "at": "2026-10-01T10:00:00Z"}
    objects = [
        rated,
        {"rating": 2, "comment": None},
        {"thumbs": "down", "user": "ann"},
        {"rating": 1},
        {"rating": "meh"},
    ]
    messages = [each for number, own in enumerate(objects) for each in turns(number, feedback=own)]
    summary = bring({"id": "c", "messages": messages}, kind="responses")
    assert (counts(summary), summary.feedback_added) == ((5, 0, 0), 3)
    names = ("kind", "value", "user", "at", "comment")
    assert [tuple(each[name] for name in names) for each in rows_of(store, FEEDBACK)] == [
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
def test_a_message_with_a_rating_that_an_earlier_release_stored_gets_its_feedback(store, bring):
    """Earlier releases kept an object with a rating in the metadata."""
    rated = turns(1, feedback={"rating": 4, "comment": "fine", "by": {"name": "ann"}})
    old = {"external_id": "c", "query": "q1", "answer": "a1", "messages": rated[:-1]}
    old["metadata"] = {"feedback": rated[1]["feedback"]}
    bring(old, kind="responses", source="openai")
    again = bring({"id": "c", "messages": rated}, kind="responses")
    assert (counts(again), again.feedback_added) == ((0, 1, 0), 1)
    assert [each["value"] for each in rows_of(store, FEEDBACK)] == [4]


@on_sqlite
def test_a_rating_of_the_last_reply_that_comes_later_is_added_to_it(store, bring):
    messages = turns(1, 2, lang="de")
    bring({"id": "c", "messages": messages}, kind="responses")
    messages[-1] |= {"feedback": {"rating": "down", "comment": "wrong"}}
    later = bring({"id": "c", "messages": messages}, kind="responses")
    assert (counts(later), later.feedback_added) == ((0, 2, 0), 1)


@on_sqlite
def test_a_rating_that_is_mapped_is_read_once(store, bring):
    rated = [
        each
        for number, rating in ((1, 1), (2, "down"))
        for each in turns(number, feedback={"rating": rating, "at": "2026-10-01"})
    ]
    mapping = {"feedback.rating": "thumbs"}
    bring({"id": "c", "messages": rated}, kind="responses", mapping=mapping)
    assert [each["value"] for each in rows_of(store, FEEDBACK)] == [1, 0]


@on_sqlite
def test_a_number_without_end_in_the_feedback_of_a_message_rejects_its_row(store, bring):
    huge = turns(1, feedback={"kind": "stars", "value": 10**400})
    summary = bring(
        {"id": "c", "messages": huge}, {"id": "d", "messages": turns(2)}, kind="responses"
    )
    assert counts(summary) == (1, 0, 1)
    assert "beyond 64 bits" in summary.first_rejected[0].reason


@on_sqlite
def test_the_result_of_a_tool_is_the_passages_and_a_call_is_no_answer(store, bring):
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
    bring({"id": "c", "messages": messages}, kind="responses")
    assert [
        (row["external_id"], row["answer"], row["passages"]) for row in stored(store).values()
    ] == [
        ("c-1", "a1", ("p1", "p2")),
        ("c-2", "a2", ("42 in stock",)),
        ("c-3", "a3", ("own",)),
    ]
    assert stored(store)["c-1"]["extra"]["context_details"] == [{"source": "s1"}, {}]


@on_sqlite
def test_a_conversation_that_grows_keeps_the_ids_of_its_turns(store, bring):
    bring({"id": "c", "messages": turns(1)}, kind="responses")
    assert texts(store) == [
        ("c", "q1", "a1")
    ]  # the only turn of a row has its id, as a stored completion has
    assert counts(bring({"id": "c", "messages": turns(1, 2)}, kind="responses")) == (1, 1, 0)
    assert counts(bring({"id": "c", "messages": turns(1, 2, 3)}, kind="responses")) == (1, 2, 0)
    assert [id_ for id_, *_ in texts(store)] == ["c", "c-2", "c-3"]
    bring({"messages": turns(4, 5)}, kind="responses")
    assert counts(bring({"messages": turns(4, 5, 6)}, kind="responses")) == (1, 2, 0)


@on_sqlite
def test_a_file_of_an_earlier_release_keeps_the_answers_that_are_stored(store, bring):
    """Earlier releases stored the last reply, with the id of the conversation and nothing from its messages."""
    messages = turns(1, 2, context=["p"], ts=1_700_000_000, thumbs=1)
    old = {
        "external_id": "c",
        "query": "q2",
        "answer": "a2",
        "messages": messages[:-1],
        "metadata": {"channel": "web"},
    }
    bring(old, kind="responses", source="openai")
    before = stored(store)["c"]
    assert counts(bring({"id": "c", "channel": "web", "messages": messages}, kind="responses")) == (
        1,
        1,
        0,
    )
    assert [id_ for id_, *_ in texts(store)] == ["c", "c-1"]
    assert stored(store)["c"] == before
    assert len(rows_of(store, FEEDBACK)) == 2


@on_sqlite
def test_the_only_turn_of_a_row_that_an_earlier_release_stored_changes_nothing(store, bring):
    messages = turns(1, context=["p"])
    old = {"external_id": "c", "query": "q1", "answer": "a1", "messages": messages[:-1]}
    bring(old, kind="responses", source="default")
    assert counts(bring({"id": "c", "messages": messages}, kind="responses")) == (0, 1, 0)


@on_sqlite
def test_ids_that_count_the_messages_of_a_conversation_are_no_ids_of_answers(store, bring):
    numbered = [each | {"id": number} for number, each in enumerate(turns(1, 2))]
    bring({"id": "c1", "messages": numbered}, {"id": "c2", "messages": numbered}, kind="responses")
    assert [id_ for id_, *_ in texts(store)] == ["c1-1", "c1-2", "c2-1", "c2-2"]


@on_sqlite
@pytest.mark.parametrize(
    "first", [{"id": "c0", "messages": []}, {"id": "c0", "messages": [user("q0")]}, {"id": "c0"}]
)
def test_a_first_conversation_without_a_reply_is_one_rejected_row(store, bring, first):
    summary = bring(
        first,
        {"id": "c1", "messages": turns(1, 2)},
        {"id": "c2", "messages": turns(3)},
        kind="responses",
    )
    assert counts(summary) == (3, 0, 1)
    assert [id_ for id_, *_ in texts(store)] == ["c1-1", "c1-2", "c2"]
    assert [(each.line, each.reason.partition(":")[0]) for each in summary.first_rejected] == [
        (1, "no answer" if first.get("messages") else "no question")
    ]


@on_sqlite
@pytest.mark.parametrize("first", ["{", "{}", '{"id": "x"}', '{"id": "x", "messages": []}'])
def test_many_first_lines_without_a_conversation_are_rejected_one_by_one(store, tmp_path, first):
    file = tmp_path / "log.jsonl"
    file.write_text(f"{first}\n" * 25 + json.dumps({"id": "c1", "messages": turns(1, 2)}) + "\n")
    summary = import_file(store, file)
    assert counts(summary) == (2, 0, 25)


@on_sqlite
def test_a_first_row_without_an_answer_makes_no_log_of_conversations(store, bring):
    rows = [
        {"id": f"r{n}", "question": f"q{n}", "answer": f"a{n}", "messages": turns(8, 9)}
        for n in range(3)
    ]
    summary = bring(rows[0] | {"answer": None}, *rows[1:], kind="responses")
    assert (counts(summary), summary.export) == ((2, 0, 1), None)
    assert texts(store) == [("r1", "q1", "a1"), ("r2", "q2", "a2")]


@on_sqlite
@pytest.mark.parametrize("order", [1, -1])
def test_replies_in_the_history_of_requests_are_read_once(store, bring, order):
    log = [request("r1", 1), request("r2", 1, 2), request("r3", 1, 2, 3)]
    bring(*log[::order], kind="responses")
    assert sorted(texts(store)) == [("r1", "q1", "a1"), ("r2", "q2", "a2"), ("r3", "q3", "a3")]


@on_sqlite
def test_a_request_with_the_only_log_of_its_history_gives_every_reply(store, bring):
    bring(request("r3", 1, 2, 3), kind="responses")
    rows = {row["answer"]: row for row in stored(store).values()}
    assert {answer: row["extra"]["turn"] for answer, row in rows.items()} == {
        "a1": 1,
        "a2": 2,
        "a3": 3,
    }
    assert rows["a3"]["external_id"] == "r3"
    assert ["prompt_tokens" in rows[name]["extra"] for name in ("a1", "a2", "a3")] == [
        False,
        False,
        True,
    ]


@on_sqlite
def test_later_states_of_a_conversation_in_one_file_repeat_no_answer(store, bring):
    states = [{"conversation_id": "c", "messages": turns(*range(1, last + 1))} for last in (2, 3)]
    assert counts(bring(*states, kind="responses")) == (3, 0, 0)
    assert [id_ for id_, *_ in texts(store)] == ["c-1", "c-2", "c-3"]


@on_sqlite
def test_a_mapping_names_keys_of_messages_and_of_the_row(store, bring):
    messages = turns(1, 2, meta={"docs": ["p"], "lang": "de"}, score=1)
    mapping = {"metadata.docs": "context", "score": "thumbs", "kind": "query_type"}
    row = {"id": "c", "kind": "order", "plan": "pro", "messages": messages}
    summary = bring(row, kind="responses", mapping=mapping)
    assert [(each["passages"], each["query_type"]) for each in stored(store).values()] == [
        (("p",), "order")
    ] * 2
    assert [each["kind"] for each in rows_of(store, FEEDBACK)] == ["thumbs", "thumbs"]
    assert summary.not_read == {"plan": 2}
    assert {use.ours: use.theirs for use in summary.columns}["context"] == "metadata.docs"


@on_sqlite
def test_dates_of_messages_that_may_be_either_are_kept_and_counted(store, bring):
    summary = bring({"id": "c", "messages": turns(1, 2, ts="03/04/2026")}, kind="responses")
    assert (counts(summary), summary.unread["ts"].times) == ((2, 0, 0), 2)
    assert [row["extra"]["ts"] for row in stored(store).values()] == ["03/04/2026"] * 2


@on_sqlite
def test_a_mapping_of_question_and_answer_reads_a_conversation_by_its_columns(store, bring):
    row = {"id": "c", "messages": [user("q1?"), reply("Yes.")]}
    mapping = {"messages.0.content": "query", "messages.1.content": "answer"}
    assert bring(row, kind="responses", mapping=mapping).export is None
    assert texts(store) == [("c", "q1?", "Yes.")]
