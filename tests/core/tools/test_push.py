"""A push sends each judgment, review and gold label once, to every tool the same scores."""

import json
from typing import Any, NamedTuple

import pytest

import recording_tool as fakes
from graded_log import BAD, GOOD, NOON
from judgeboard.domain import ResponseKind
from judgeboard.errors import BadInput, NotFound
from judgeboard.store.events import EventFilter, latest_events
from judgeboard.store.reviews import is_current
from judgeboard.store.tables import REVIEW
from judgeboard.store.tools import What, target_states
from judgeboard.tools.http import Http
from judgeboard.tools.push import push
from judgeboard.tools.target import Access, Refused
from judging_log import address
from stored_rows import read, values_of

TRACE, OTHER, UNKNOWN = "ab" * 16, "cd" * 16, "ef" * 16
SPAN = "12" * 8


class Pushed(NamedTuple):
    """A score that a tool has: on which answer, of whom, and its comment."""

    subject: str
    name: str
    value: Any
    person: bool
    comment: str | None


def of_phoenix(each):
    given = each["result"]
    subject = each.get("span_id") or each["trace_id"]
    value = given.get("label", given.get("score"))
    is_human = each["annotator_kind"] == "HUMAN"
    return subject, each["name"], value, is_human, given.get("explanation")


def of_mlflow(each):
    value = (each.get("feedback") or each.get("expectation"))["value"]
    is_human = each["source"]["source_type"] == "HUMAN"
    return each["trace_id"], each["assessment_name"], value, is_human, each.get("rationale")


def of_langfuse(each):
    author = each["metadata"]["author"]
    is_human = "/" in author or author == "gold"
    return each["traceId"], each["name"], each["value"], is_human, each.get("comment")


def of_langsmith(each):
    value = each.get("value") or each.get("score")
    is_human = each["feedback_source"]["type"] != "model"
    return each["run_id"], each["key"], value, is_human, each.get("comment")


def of_collector(record):
    values = {each["key"]: next(iter(each["value"].values())) for each in record["attributes"]}
    score = "gen_ai.evaluation"
    value = values.get(f"{score}.score.label", values.get(f"{score}.score.value"))
    is_human = values["judgeboard.kind"] != "judgments"
    name, comment = values[f"{score}.name"], values.get(f"{score}.explanation")
    return record["traceId"], name, value, is_human, comment


def of_label_studio(tool):
    for (kind, _), each in tool.scores.items():
        texts = [
            region["value"]["text"][0] for region in each["result"] if region["from_name"] == "note"
        ]
        for region in each["result"]:
            (value,) = region["value"].values()
            if region["type"] != "textarea":
                plain = value[0] if isinstance(value, list) else float(value)
                comment = (texts or [None])[0]
                is_human = kind == "annotations"
                yield str(each["task"]), region["from_name"], plain, is_human, comment


# A fake of each tool, what it calls the two answers, and what one of its scores is.
TOOLS = {
    "phoenix": (fakes.FakePhoenix, (SPAN, OTHER), of_phoenix),
    "mlflow": (fakes.FakeMlflow, (f"tr-{TRACE}", f"tr-{OTHER}"), of_mlflow),
    "langfuse": (fakes.FakeLangfuse, (TRACE, OTHER), of_langfuse),
    "langsmith": (
        fakes.FakeLangsmith,
        ("abababab-abab-abab-abab-abababababab", "cdcdcdcd-cdcd-cdcd-cdcd-cdcdcdcdcdcd"),
        of_langsmith,
    ),
    "label-studio": (fakes.FakeLabelStudio, ("1", "2"), of_label_studio),
    "otlp": (fakes.FakeCollector, (TRACE, OTHER), of_collector),
}


def scores_of(name, tool):
    """The scores that a tool has of the two answers."""
    _, known, score_of = TOOLS[name]
    read = score_of(tool) if name == "label-studio" else map(score_of, tool.scores.values())
    subjects = dict(zip(known, ("first", "second"), strict=True))
    return [Pushed(subjects[subject], *score) for subject, *score in read if subject in subjects]


@pytest.fixture
def reviewed(sqlite_log):
    """A log with two answers that the tools know, and what was said of them."""
    judged_and_reviewed(sqlite_log)
    return sqlite_log


def judged_and_reviewed(log):
    """Two answers that the tools know, one that they do not know, one without a trace, and what nobody gets back."""
    first, second, unknown, without = (
        log.answers(metadata=metadata)[0]
        for metadata in (
            {"trace_id": f"tr-{TRACE}", "span_id": SPAN, "task_id": 1},
            {"trace_id": OTHER.upper(), "task_id": "2"},
            {"trace_id": UNKNOWN, "task_id": 99},
            {},
        )
    )
    judge, imported = log.version("lexical"), log.version("replay")
    log.say(judge, {first: {"groundedness": 0.2, "quality": 1, "reasoning": "old"}})
    log.say(judge, {first: {"groundedness": 0.9, "label": GOOD, "reasoning": "cited"}})
    log.say_all(judge, (second, unknown, without), quality=3)
    log.say(judge, {second: {"status": "error"}})
    log.say(imported, {first: {"groundedness": 0.5}})
    log.say_all(
        judge,
        log.answers(kind=ResponseKind.CONTROL, metadata={"trace_id": TRACE}),
        groundedness=0.1,
    )
    early = log.review(first, "mara", label=GOOD.value)
    log.review(first, "mara", label=BAD.value, quality=2, note="nylon is wrong", replaces=early)
    log.review(first, "jon", label=GOOD.value)
    log.review(first, "jon", label=BAD.value, request_key="import:1")
    log.withdraw(log.review(second, "mara", quality=1), second)
    log.review(second, "lea", label=BAD.value, stage="adjudication", corrected_answer="250 °C")
    return first, second


NOTE = "nylon is wrong"
JUDGMENTS = [
    Pushed("first", "groundedness", 0.9, False, "cited"),
    Pushed("first", "label", "grounded", False, "cited"),
    Pushed("second", "quality", 3.0, False, None),
]
REVIEWS = [
    Pushed("first", "label", "grounded", True, None),
    Pushed("first", "label", "hallucinated", True, NOTE),
    Pushed("first", "quality", 2.0, True, NOTE),
]
GOLD = [Pushed("second", "label", "hallucinated", True, None)]


def without_comments(scores):
    return in_order(each._replace(comment=None) for each in scores)


def in_order(scores):
    return sorted(
        scores,
        key=lambda each: (each.subject, each.name, str(each.value), each.person, str(each.comment)),
    )


def pushed_to(tool, name, log, **options):
    where = {"address": tool.address, "environment": tool.environment}
    return push(log.store, name, wait=lambda _: None, actor="test", **(where | options))


@pytest.mark.parametrize("name", TOOLS)
def test_every_tool_gets_the_same_scores_once_and_again_only_what_changed(name, sqlite_log):
    fake, known, _ = TOOLS[name]
    first, _ = judged_and_reviewed(sqlite_log)
    with fake(*known) as tool:
        tool.failing = [503, 429]
        result = pushed_to(tool, name, sqlite_log)
        expected = JUDGMENTS + REVIEWS + GOLD
        assert [each for each in scores_of(name, tool) if each.comment == NOTE] == []
        assert without_comments(scores_of(name, tool)) == without_comments(expected)
        if name != "label-studio":
            assert {each.comment for each in scores_of(name, tool)} == {None, "cited"}
        unknown = name == "langfuse"  # it stores scores of traces that it does not have
        assert result.sent == {"judgments": 2 + unknown, "reviews": 2, "gold": 1}
        assert sum(result.refused.values()) == 2 - unknown
        assert result.stopped is None

        before = len(tool.requests)
        again = pushed_to(tool, name, sqlite_log, what=(What.REVIEWS, What.GOLD))
        assert again.sent == {"reviews": 0, "gold": 0}
        assert len(tool.requests) == before

        of_mara = REVIEW.c.reviewer_id == sqlite_log.reviewers["mara"]
        (mara,) = values_of(
            sqlite_log.store, REVIEW.c.id, REVIEW.c.response_id == first, of_mara, is_current()
        )
        sqlite_log.review(first, "mara", label=GOOD.value, quality=4, note=NOTE, replaces=mara)
        sqlite_log.say(sqlite_log.version("lexical"), {first: {"groundedness": 0.7, "label": GOOD}})
        assert pushed_to(tool, name, sqlite_log, with_notes=True).sent == {
            "judgments": 1,
            "reviews": 1,
            "gold": 0,
        }
        changed = [
            Pushed("first", "groundedness", 0.7, False, None),
            Pushed("first", "label", "grounded", False, None),
            JUDGMENTS[2],
            REVIEWS[0],
            Pushed("first", "label", "grounded", True, NOTE),
            Pushed("first", "quality", 4.0, True, NOTE),
            *GOLD,
        ]
        if name == "otlp":  # a log has no rows to overwrite: the newest record counts
            newest = scores_of(name, tool)[len(expected) :]
            assert without_comments(newest) == without_comments([*changed[:2], *changed[4:6]])
        else:
            assert in_order(scores_of(name, tool)) == in_order(changed)
            # By another address nothing is known of what it has, as after a push that was killed.
            elsewhere = tool.address.replace("127.0.0.1", "localhost")
            again = pushed_to(tool, name, sqlite_log, address=elsewhere, with_notes=True)
            assert again.sent == result.sent
            has = [
                score for score in scores_of(name, tool) if score.name != "expected_response"
            ]  # the only one that is new
            assert in_order(has) == in_order(changed)


def test_the_database_knows_what_each_tool_has(log):
    judged_and_reviewed(log)
    with fakes.FakePhoenix(SPAN, OTHER) as tool:
        name = f"phoenix {tool.address}"
        tool.failing = [503] * 6
        stopped = pushed_to(tool, "phoenix", log)
        assert "503" in str(stopped.stopped)
        result = pushed_to(tool, "phoenix", log, since=NOON, judges=("lexical", "replay"))
        assert result.sent == {"judgments": 3, "reviews": 2, "gold": 1}
        assert any("no trace id" in reason for reason in result.refused)
        assert any(UNKNOWN in reason for reason in result.refused)
        with pytest.raises(NotFound, match="lexical"):
            pushed_to(tool, "phoenix", log, judges=("lexicl",))
        tool.known.add(UNKNOWN)
        assert pushed_to(tool, "phoenix", log).sent["judgments"] == 1
    states = {
        (state.target, state.what, state.sent, state.refused)
        for state in read(log.store, target_states)
    }
    assert states == {(name, "judgments", 4, 1), (name, "reviews", 2, 0), (name, "gold", 1, 0)}
    event, *_ = read(log.store, latest_events, EventFilter(kind="push"), limit=10)
    sent = {"judgments": 1, "reviews": 0, "gold": 0}
    assert event.details == sent | {"target": name, "refused": 1, "with_notes": False}


def test_a_missing_key_or_a_wrong_one_is_named(reviewed):
    with fakes.FakeLangfuse(TRACE) as tool:
        with pytest.raises(BadInput, match="LANGFUSE_SECRET_KEY"):
            pushed_to(tool, "langfuse", reviewed, environment={})
        wrong = dict.fromkeys(tool.environment, "wrong") | {"LANGFUSE_HOST": tool.address}
        stopped = push(reviewed.store, "langfuse", environment=wrong).stopped
        assert "401: Invalid credentials" in str(stopped)
        assert len(tool.requests) == 1
    with pytest.raises(BadInput, match="http"):
        push(reviewed.store, "mlflow", address="databricks", environment={})


def corrected_in_mlflow(each):
    return each["assessment_name"] == "expected_response" and each["expectation"]["value"]


def corrected_in_langsmith(each):
    return "correction" in each and each["correction"]["corrected_answer"]


def corrected_in_label_studio(each):
    regions = {region["from_name"]: region["value"] for region in each["result"]}
    return "corrected_answer" in regions and regions["corrected_answer"]["text"][0]


@pytest.mark.parametrize(
    ("name", "corrected"),
    [
        ("mlflow", corrected_in_mlflow),
        ("langsmith", corrected_in_langsmith),
        ("label-studio", corrected_in_label_studio),
    ],
)
def test_the_corrected_answer_goes_where_a_tool_has_a_place_if_texts_are_sent(
    name, corrected, reviewed
):
    fake, known, _ = TOOLS[name]
    for with_notes, expected in ((False, []), (True, ["250 °C"])):
        with fake(*known) as tool:
            pushed_to(tool, name, reviewed, with_notes=with_notes)
            assert [*filter(None, map(corrected, tool.scores.values()))] == expected
            sent = "250 °C" in json.dumps(list(tool.scores.values()), ensure_ascii=False)
            assert sent is with_notes


def test_requests_have_the_fields_of_captured_ones(shared, reviewed):
    captures = shared / "captures"
    files = sorted(captures.glob("langfuse_v5/*scores.json"))
    scores = [score for file in files for score in json.loads(file.read_text())]

    def fields(scores):
        return {
            (name, type(value))
            for score in scores
            for name, value in score.items()
            if name != "value"
        }

    with fakes.FakeLangfuse(TRACE, OTHER) as tool:
        pushed_to(tool, "langfuse", reviewed)
    assert fields(tool.scores.values()) <= fields(scores)

    (file,) = captures.glob("genai_evaluation_event/*logs.json")
    captured = json.loads(file.read_text())["resourceLogs"][0]["scopeLogs"][0]["logRecords"][0]
    with fakes.FakeCollector(TRACE, OTHER) as tool:
        pushed_to(tool, "otlp", reviewed)
        records = list(tool.scores.values())
    assert {record["eventName"] for record in records} == {captured["eventName"]}
    kinds = {each["key"]: set(each["value"]) for each in captured["attributes"]}
    for record in records:
        assert record.keys() <= captured.keys() | {"timeUnixNano"}
        named = {each["key"]: set(each["value"]) for each in record["attributes"]}
        assert {
            name: kind for name, kind in named.items() if name.startswith("gen_ai")
        }.items() <= kinds.items()


def test_the_command_says_what_was_sent_and_what_each_tool_has(sqlite_log, shell, monkeypatch):
    first, _ = judged_and_reviewed(sqlite_log)
    db = f"--db {address(sqlite_log.store)}"
    with fakes.FakePhoenix(SPAN, OTHER) as tool:
        monkeypatch.setenv("PHOENIX_API_KEY", "key")
        to_phoenix = f"push phoenix --url {tool.address} {db}"
        sent = shell(f"{to_phoenix} --what reviews,gold")
        assert sent.startswith(f"phoenix {tool.address}: 2 reviews, 1 gold")
        refused = json.loads(shell(f"{to_phoenix} --json", code=1))
        assert refused["sent"] == {"judgments": 2, "reviews": 0, "gold": 0}
        shell(f"{to_phoenix} --what golds", code=2)

        def review_meanwhile(seconds):
            if seconds != 60 or sqlite_log.reviewers.get("eve"):
                raise KeyboardInterrupt
            sqlite_log.review(first, "eve", quality=1)
            tool.requests.clear()

        monkeypatch.setattr("judgeboard.cli.push.time.sleep", review_meanwhile)
        repeated = shell(f"{to_phoenix} --every 60", code=130)
        assert repeated.count("1 reviews, 0 gold") == 1
        assert len(tool.requests) == 1  # what it refused a moment ago is not sent
    assert "2 sent, 2 refused" in shell(f"push {db}")


def test_a_key_with_a_line_break_is_used_without_it_or_named_but_not_shown(reviewed):
    with fakes.FakePhoenix(SPAN, OTHER) as tool:

        def stopped(key):
            environment = {"PHOENIX_API_KEY": key}
            return pushed_to(tool, "phoenix", reviewed, environment=environment).stopped

        for key in ("sk-\nsecret", "sk-sécret"):
            words = str(stopped(key))
            assert "line break" in words
            assert "cret" not in words
        assert tool.requests == []
        assert stopped("key\r\n") is None


class SignInPage(fakes.RecordingTool):
    """A server that answers every request with a page."""

    def answer(self, request):
        return fakes.Reply(200, b"<html>Sign in</html>")


@pytest.mark.parametrize("name", TOOLS)
def test_a_page_instead_of_json_does_not_count_as_sent(name, reviewed):
    with SignInPage() as tool:
        keys = TOOLS[name][0].environment
        result = pushed_to(tool, name, reviewed, environment=keys)
    assert sum(result.sent.values()) == 0
    assert result.stopped is not None


def test_an_empty_reply_counts_as_sent(reviewed):

    class Empty(fakes.RecordingTool):
        def answer(self, request):
            return fakes.Reply(200, b"")

    with Empty() as tool:
        result = pushed_to(tool, "otlp", reviewed)
    assert result.sent == {"judgments": 3, "reviews": 2, "gold": 1}
    assert result.stopped is None


class LostReply(fakes.FakeLabelStudio):
    """Label Studio behind a proxy that gives up on the first of each kind of POST, after it was stored."""

    def answer(self, request):
        reply = super().answer(request)
        return (
            fakes.Reply(504, {"detail": "timeout"})
            if reply.status == 201 and len(self.scores) == 1
            else reply
        )


@pytest.mark.parametrize("what", [What.REVIEWS, What.JUDGMENTS])
def test_label_studio_gets_no_second_annotation_when_a_reply_is_lost(what, reviewed):
    with LostReply("1", "2") as tool:
        assert "504" in str(pushed_to(tool, "label-studio", reviewed, what=[what]).stopped)
        assert len(tool.scores) == 1
        assert pushed_to(tool, "label-studio", reviewed, what=[what]).sent == {what.value: 2}
        assert len(tool.scores) == 2


def test_langfuse_gets_scores_only_of_answers_that_have_a_trace(sqlite_log):
    answers = [
        sqlite_log.answers(metadata=metadata)[0]
        for metadata in ({}, {"trace_id": "lf-7"}, {"tool": "Langfuse"})
    ]
    sqlite_log.say_all(sqlite_log.version("lexical"), answers, quality=3)
    with fakes.FakeLangfuse() as tool:
        result = pushed_to(tool, "langfuse", sqlite_log)
        assert sorted(score["traceId"] for score in tool.scores.values()) == ["a3", "lf-7"]
    assert result.sent["judgments"] == 2
    ((reason, count),) = result.refused.items()
    assert "no trace id" in reason
    assert count == 1


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        (b"not for you", "not for you"),
        ({"message": "no", "input": "q"}, "no"),
        ({"input": "q"}, ""),
    ],
)
def test_a_refusal_is_shown_in_the_words_of_the_tool_without_a_text_that_it_repeats(body, shown):
    class Refusing(fakes.RecordingTool):
        def answer(self, _request):
            return fakes.Reply(400, body)

    refused = pytest.raises(Refused, match=f"400: {shown}")
    with Refusing() as tool, Http(Access(tool.address)) as http, refused as error:
        http.send("POST", "/scores", {"input": "q"})
    assert "input" not in str(error.value)
