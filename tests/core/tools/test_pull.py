"""A pull brings each trace once with its passages and scores, and goes on where an earlier one ended."""

import os
import signal
from datetime import timedelta

import pytest
from sqlalchemy import select

from forked_commands import ReadCommand
from judgeboard.cli.app import run
from judgeboard.domain import Role
from judgeboard.errors import BadInput, NotAllowed
from judgeboard.imports.exports.traced import OWN, SENT_BY
from judgeboard.people.roster import add_person, admit
from judgeboard.store.storing import list_batches
from judgeboard.store.tables import FEEDBACK, JUDGMENT, PULL, RESPONSE, REVIEW, RUN
from judgeboard.text import as_utc
from judgeboard.tools.history import Names, whole_traces
from judgeboard.tools.pull import pull
from judging_log import address
from recording_tool import Reply
from stored_rows import read, row_count, values_of
from tool_histories import TOOLS as FAKES
from tool_histories import OldLangfuseWithHistory, PhoenixWithHistory, time_of, trace_of

COUNT = 8
LATER = as_utc(time_of(600))


class _Killed(BaseException):
    """Ends a pull as a kill does."""


def pulled(store, name, tool, **options):
    return pull(
        store,
        name.split(maxsplit=1)[0],
        address=tool.address,
        environment=tool.environment,
        **{"wait": lambda _seconds: None, "now": LATER, "actor": "test"} | options,
    )


def phoenix(store, tool, **options):
    return pulled(store, "phoenix", tool, **options)


def counts(store):
    return {table.name: row_count(store, table) for table in (RESPONSE, JUDGMENT, REVIEW, FEEDBACK)}


def answers(store):
    with store.reading() as connection:
        rows = connection.execute(select(RESPONSE).order_by(RESPONSE.c.asked_at)).all()
    return [(row.query, row.answer, row.passages, row.source) for row in rows]


def questions(store):
    """The numbers of the pulled questions, oldest first."""
    return [int(query.removeprefix("question ")) for query, *_ in answers(store)]


@pytest.mark.parametrize("name", FAKES)
def test_history_comes_once_with_its_scores(name, sqlite_store):
    with FAKES[name](COUNT) as tool:
        tool.given = [
            (2, "groundedness", 0.2, None, {}),
            (3, "label", "grounded", "mara", {}),
            (4, "user_thumbs", 1, None, {}),
            (5, "groundedness", 0.9, None, {SENT_BY: OWN}),
        ]
        tool.bad = {7}
        tool.failing = [429, 503]
        result = pulled(sqlite_store, name, tool)
        assert result.stopped is None
        kind = name.split(maxsplit=1)[0]
        project = {"langfuse": "shop", "mlflow": "Default"}.get(kind, "default")
        source = f"{kind}:{project}"
        numbers = [number for number in range(1, COUNT + 1) if number != 7]
        assert answers(sqlite_store) == [
            (f"question {n}", f"answer {n}", (f"passage {n}",), source) for n in numbers
        ]
        assert [*counts(sqlite_store).values()] == [COUNT - 1, 1, 1, 1]
        assert result.traces == COUNT
        assert sum(result.rejected.values()) == 1
        assert result.differing == 0
        assert int(next(iter(result.examples.values())).replace("-", ""), 16) == 7

        before = counts(sqlite_store)
        again = pulled(sqlite_store, name, tool, now=LATER + timedelta(minutes=1))
        assert counts(sqlite_store) == before
        assert sum(again.new.values()) == 0
        assert again.traces == COUNT

        tool.count += (
            1  # a new trace, a changed score, and a score on a trace that was pulled before
        )
        tool.given[0] = (2, "groundedness", 0.7, None, {})
        tool.given.append((8, "groundedness", 0.5, None, {}))
        later = pulled(sqlite_store, name, tool, now=LATER + timedelta(minutes=2))
        assert {kind: count for kind, count in later.new.items() if count} == {
            "responses": 1,
            "verdicts": 2,
        }
        newest = (
            select(JUDGMENT.c.groundedness).join(RESPONSE).where(RESPONSE.c.query == "question 2")
        )
        with sqlite_store.reading() as connection:
            assert list(connection.execute(newest.order_by(JUDGMENT.c.id)).scalars()) == [0.2, 0.7]
        requests = len(tool.requests)
        pulled(sqlite_store, name, tool, now=LATER + timedelta(days=9), again_s=0)
        few = [each.path for each in tool.requests[requests:]]
        assert len(few) <= 3, few  # a pull without news reads no trace again


def test_a_trace_at_the_border_of_a_page_is_read_by_its_id():
    def span(trace, parent, begin, end):
        ended = None if end is None else time_of(end)
        return {"trace": trace, "parent": parent, "start": time_of(begin), "end": ended}

    rows = [
        span("newer", "r", 9, 10),  # its root is on an older page
        span("until the top", None, 6, 9),
        span("running", None, 5, None),
        span("inside", "r", 4, 5),
        span("inside", None, 3, 5),
        span("at the bottom", None, 2, 4),  # a passage that began with it may be on the next page
    ]
    whole, divided = whole_traces(rows, Names("trace", "parent", "start", "end"))
    assert whole == {"inside": rows[3:5]}
    assert divided == ["until the top", "at the bottom"]


@pytest.mark.parametrize("name", ["phoenix", "langsmith"])
def test_a_killed_pull_goes_on_at_its_page(name, store):
    with FAKES[name](COUNT) as tool:
        traces = []

        def kill(number):
            traces.append(number)
            if len(traces) == 2:
                raise _Killed

        with pytest.raises(_Killed):
            pulled(store, name, tool, progress=kill)
        assert values_of(store, PULL.c.position) != [None]
        stored = counts(store)["response"]
        assert 0 < stored <= tool.count
        result = pulled(store, name, tool, now=LATER + timedelta(minutes=1), again_s=0)
        assert len(answers(store)) == len(set(answers(store))) == tool.count
        assert result.new["responses"] == tool.count - stored
        assert result.traces < tool.count + result.unchanged["responses"] + 1
        print(  # noqa: T201
            f"{name}: {stored} answers before the kill, {result.new['responses']} after it, {tool.count} in all"
        )


class KillingPhoenix(PhoenixWithHistory):
    """Phoenix that kills who pulls, as it asks for the annotations of its second page."""

    victim: int | None = None

    def reply(self, path, query, request):
        if (
            self.victim
            and path.endswith("/span_annotations")
            and f"{5 << 8 | 1:016x}" in query["span_ids"]
        ):
            os.kill(self.victim, signal.SIGKILL)
        return super().reply(path, query, request)


def test_a_pull_whose_process_is_killed_brings_everything_once(store):
    with KillingPhoenix(COUNT) as tool:
        scores = (
            ("groundedness", 0.2, None),
            ("label", "grounded", "mara"),
            ("user_thumbs", 1, None),
        )
        tool.given = [(number, *score, {}) for number in range(1, COUNT + 1) for score in scores]
        command = ("pull", "phoenix", "--url", tool.address, "--db", address(store))
        with ReadCommand(*command) as process:
            tool.victim = process.pid
        assert process.returncode == -signal.SIGKILL
        before = counts(store)
        # The page before the kill is stored.
        assert set(before.values()) == {tool.page_size}
        tool.victim = None
        assert run([*command]) == 0
        assert set(counts(store).values()) == {COUNT}
        assert len({*questions(store)}) == COUNT
        print(  # noqa: T201
            f"{store.engine.dialect.name}: before the kill {before}, after the next pull {counts(store)}"
        )


def test_a_tool_that_does_not_answer_stops_the_pull_and_the_wait_is_what_it_asks_for(sqlite_store):
    waits = []
    with PhoenixWithHistory(COUNT) as tool:
        tool.retry_after = 7
        tool.failing = [429] * 6
        result = phoenix(sqlite_store, tool, wait=waits.append)
        assert "429" in str(result.stopped)
        assert waits == [7] * 5
        tool.failing = [401]
        assert "401" in str(phoenix(sqlite_store, tool).stopped)
        assert len(answers(sqlite_store)) == 0
        assert phoenix(sqlite_store, tool, since=as_utc(time_of(6))).traces == COUNT - 5
        assert phoenix(sqlite_store, tool, since=as_utc(time_of(1))).new["responses"] == 5


def test_a_pull_since_a_day_leaves_no_gap_before_it(sqlite_store):
    def at(number):
        return as_utc(time_of(number))

    def kill(_traces):
        raise _Killed

    with PhoenixWithHistory(COUNT) as tool:
        assert phoenix(sqlite_store, tool, now=at(4), again_s=0).traces == 2
        with pytest.raises(_Killed):  # before it has stored its first page
            phoenix(sqlite_store, tool, since=at(4), now=at(20), again_s=0, progress=kill)
        phoenix(sqlite_store, tool, since=at(5), now=at(30), again_s=0)
        assert len(answers(sqlite_store)) == COUNT - 1
        phoenix(sqlite_store, tool, now=at(40), again_s=0)
    assert questions(sqlite_store) == [*range(1, COUNT + 1)]


def test_a_pull_is_one_import_of_each_kind(sqlite_store):
    with PhoenixWithHistory(COUNT) as tool:
        tool.given = [(number, "groundedness", 0.2, None, {}) for number in (1, COUNT)]
        phoenix(sqlite_store, tool)
    batches = read(sqlite_store, list_batches)
    assert sorted((batch.kind, batch.counts["new"]) for batch in batches) == [
        ("responses", 8),
        ("verdicts", 2),
    ]
    assert row_count(sqlite_store, RUN) == 1
    assert {batch.file for batch in batches} == {"pull phoenix default"}
    assert all(batch.finished_at for batch in batches)


class PhoenixWithABadPage(PhoenixWithHistory):
    def reply(self, path, query, request):
        return (
            Reply(500, {"detail": "defect"})
            if query.get("cursor") == "4"
            else super().reply(path, query, request)
        )


def test_a_page_that_is_always_refused_ends_the_pull(sqlite_store):
    with PhoenixWithABadPage(COUNT) as tool, pytest.raises(BadInput, match="500"):
        phoenix(sqlite_store, tool)


class PhoenixWithARunningTrace(PhoenixWithHistory):
    def reply(self, path, query, request):
        reply = super().reply(path, query, request)
        for row in reply[1]["data"] if path.endswith(("/traces", "/spans")) else ():
            row["start_time"] = (LATER - timedelta(minutes=5)).isoformat()
            if path.endswith("/spans") and row["context"]["trace_id"] == f"{3:032x}":
                row["parent_id"] = row["parent_id"] or "00000000000000aa"
        return reply


def test_a_young_trace_is_not_read_before_its_root_has_ended(sqlite_store):
    with PhoenixWithARunningTrace(3) as tool:
        assert phoenix(sqlite_store, tool).traces == 2
    assert questions(sqlite_store) == [1, 2]


class LangfuseThatRefusesATrace(OldLangfuseWithHistory):
    refused: str | None = trace_of(2)

    def reply(self, path, query, request):
        if self.refused is not None and path.endswith(self.refused):
            return Reply(500, {"message": "defect"})
        return super().reply(path, query, request)


def test_a_trace_that_is_refused_by_its_id_gives_no_answer_without_passages(sqlite_store):
    with LangfuseThatRefusesATrace(3) as tool:
        result = pulled(sqlite_store, "langfuse", tool)
        assert result.stopped is None
        assert [*result.rejected.values(), *result.examples.values()] == [1, trace_of(2)]
        assert questions(sqlite_store) == [1, 3]
        tool.refused = None
        later = pulled(sqlite_store, "langfuse", tool, now=LATER + timedelta(minutes=1))
        assert later.new["responses"] == 1
    assert [passages for *_, passages, _ in answers(sqlite_store)] == [
        (f"passage {n}",) for n in (1, 2, 3)
    ]


def test_only_leads_pull(sqlite_store):
    add_person(sqlite_store, "eve@example.org", Role.REVIEWER, "cli:root")
    with PhoenixWithHistory(1) as tool, pytest.raises(NotAllowed):
        phoenix(sqlite_store, tool, actor=admit(sqlite_store, "eve@example.org"))
