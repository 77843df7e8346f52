"""Measures the rate of judging and storing, compared with a plain client that stores nothing.

A mock endpoint (200 ms per call) gets the same rows in turn from a plain client and from
Judgeboard. The time of the plain client ends when its last reply is parsed. The time of Judgeboard
ends with the last commit to a new SQLite file, including current judgments and flags. Both include
making the client. The plain client is ``AsyncOpenAI`` as in its documentation:
``chat.completions.create`` for all rows at once, limited by a semaphore. Prints rows/s and CPU
milliseconds per row of each turn, and the ratios of the medians, per concurrency. CPU time is that
of the whole process; the endpoint runs in its own process.

    python benchmarks/judging_rate.py [--mock URL] [--rows 2048] [--concurrency 64 256] [--rounds 3]

URL is that of a running endpoint, with its ``/v1``; without it the project's own recording endpoint
is started, which needs more of the machine itself. On a shared machine the ratio of CPU is steadier
than that of rows/s.
"""

import asyncio
import sys
import tempfile
from pathlib import Path

from rates import MODEL, Clock, Turn, endpoint, parsed, plain, take_turns

from judgeboard.domain import JudgeInput, JudgeVersion, Response, Verdict
from judgeboard.judges.judge import Judge
from judgeboard.judges.rag import VerdictForm, rag_messages
from judgeboard.llm.chat import ChatRequest
from judgeboard.runs.judging import judge_pending_async, make_judge
from judgeboard.store.opening import open_store
from judgeboard.store.storing import store_responses

PASSAGES, PASSAGE_LENGTH = 3, 500
SENTENCE = "The north face at Sonnstein has routes of up to {} metres, and a rope of {} metres is enough for each. "


class Timed:
    """A judge that starts a clock with its first call."""

    def __init__(self, judge: Judge, clock: Clock) -> None:
        self._judge = judge
        self._clock = clock
        self.version: JudgeVersion = judge.version
        self.address = judge.address
        self.priced = judge.priced

    async def judge(self, item: JudgeInput) -> Verdict:
        """Pass the call on."""
        self._clock.start()
        return await self._judge.judge(item)

    async def aclose(self) -> None:
        """Pass it on."""
        await self._judge.aclose()


def judgeboard(rows: list[Response]) -> Turn:
    """Return the turn that judges the rows from a fresh database, storing every verdict."""

    def turn(base_url: str, concurrency: int) -> Clock:
        return _judged(rows, base_url, concurrency)

    return turn


def _judged(rows: list[Response], base_url: str, concurrency: int) -> Clock:
    clock = Clock(len(rows))
    with tempfile.TemporaryDirectory() as folder:
        store = open_store(Path(folder) / "rate.db", create=True)
        with store.writing() as connection:
            store_responses(connection, rows)
        judge = make_judge("rag", model=MODEL, base_url=base_url, concurrency=concurrency)
        summary = asyncio.run(
            judge_pending_async(store, Timed(judge, clock), concurrency=concurrency)
        )
        clock.stop()
        store.close()
    if summary.ok != len(rows):
        sys.exit(f"of {len(rows)} rows {summary.ok} have a verdict: {summary}")
    return clock


def questions(rows: list[Response]) -> list[ChatRequest]:
    """Return what the judge asks about the rows."""
    form = VerdictForm()
    items = [
        JudgeInput(number, row.query, row.answer, row.passages) for number, row in enumerate(rows)
    ]
    return [
        ChatRequest(
            rag_messages(item, domain="general knowledge", form=form),
            form.schema,
            "verdict",
            max_output=512,
        )
        for item in items
    ]


def made_rows(count: int, *, source: str = "rate") -> list[Response]:
    """Make answers over passages of 1,500 characters in all, no two alike."""
    return [
        Response(
            source=source,
            external_id=f"row-{number}",
            query=f"How long a rope do I need for route {number} at Sonnstein?",
            answer=f"A rope of {number % 40 + 40} metres is enough for it.",
            passages=tuple(
                (SENTENCE.format(number % 40 + 20 + part, number % 40 + 40) * 6)[:PASSAGE_LENGTH]
                for part in range(PASSAGES)
            ),
        )
        for number in range(count)
    ]


def main() -> None:
    """Measure and print."""
    chosen = parsed(__doc__)
    rows = made_rows(chosen.rows)
    with endpoint(chosen.mock) as base_url:
        take_turns(
            {"plain": plain(questions(rows)), "judgeboard": judgeboard(rows)},
            chosen,
            base_url,
            "row",
        )


if __name__ == "__main__":
    main()
