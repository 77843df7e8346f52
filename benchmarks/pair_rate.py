"""Measures the rate of comparing and storing pairs, compared with a plain client that makes as many calls.

Each pair is asked in both orders, which is two calls. A mock endpoint (200 ms per call) gets the
same questions in turn from the plain client and from Judgeboard. `rates` and `judging_rate`
describe the measurement.

    python benchmarks/pair_rate.py [--mock URL] [--rows 2048] [--concurrency 64 256] [--rounds 3]

``--rows`` is the number of calls. The limit is 0.95 of the rate of the plain client.
"""

import asyncio
import json
import sys
import tempfile
from pathlib import Path

from rates import MODEL, Clock, Turn, endpoint, parsed, plain, take_turns

from judgeboard.domain import OVERALL, Pair, PairItem, Shown
from judgeboard.judges.pairwise import TIE, Comparison, PairwiseJudge
from judgeboard.llm.chat import ChatRequest
from judgeboard.runs.judging import make_endpoint
from judgeboard.runs.pairwise import compare_pairs_async
from judgeboard.store.engine import Store
from judgeboard.store.opening import open_store
from judgeboard.store.pairs import load_pairs, store_pairs

SENTENCE = "The north face at Sonnstein has routes of up to {} metres, and a rope of {} metres is enough for each. "


class Timed(PairwiseJudge):
    """The pairwise judge, which starts a clock with its first call."""

    clock: Clock

    async def compare(
        self, pair: PairItem, shown: Shown, reference: str | None = None
    ) -> Comparison:
        """Pass the call on."""
        self.clock.start()
        return await super().compare(pair, shown, reference)


def judgeboard(pairs: list[Pair]) -> Turn:
    """Return the turn that compares the pairs from a fresh database, storing every verdict."""

    def turn(base_url: str, concurrency: int) -> Clock:
        with tempfile.TemporaryDirectory() as folder:
            store, pair_ids = filled(Path(folder), pairs)
            judge = Timed(
                make_endpoint(
                    "the benchmark", model=MODEL, base_url=base_url, concurrency=concurrency
                )
            )
            judge.clock = Clock(2 * len(pairs))
            compared = asyncio.run(
                compare_pairs_async(store, judge, pair_ids, concurrency=concurrency)
            )
            judge.clock.stop()
            store.close()
        if compared.account.ok != 2 * len(pairs):
            sys.exit(
                f"of {2 * len(pairs)} calls {compared.account.ok} gave a verdict: {compared.account}"
            )
        return judge.clock

    return turn


def questions(pairs: list[Pair]) -> list[ChatRequest]:
    """Return what the judge asks about the pairs, in both orders."""
    judge = PairwiseJudge(
        make_endpoint("the benchmark", model=MODEL, base_url="http://localhost/v1")
    )
    with tempfile.TemporaryDirectory() as folder:
        store, pair_ids = filled(Path(folder), pairs)
        with store.reading() as connection:
            items = load_pairs(connection, pair_ids)
        store.close()
    return [judge.request(item, shown) for item in items for shown in Shown]


def filled(folder: Path, pairs: list[Pair]) -> tuple[Store, list[int]]:
    """Return a fresh database with the pairs, and their ids."""
    store = open_store(folder / "rate.db", create=True)
    with store.writing() as connection:
        return store, store_pairs(connection, pairs).new


def made_pairs(count: int) -> list[Pair]:
    """Make pairs of answers of 700 characters each, no two alike."""
    return [
        Pair(
            "rate",
            f"pair-{number}",
            f"How long a rope do I need for route {number} at Sonnstein?",
            (SENTENCE.format(number % 40 + 20, number) * 8)[:700],
            (SENTENCE.format(number % 40 + 21, number) * 8)[:700],
        )
        for number in range(count)
    ]


def main() -> None:
    """Measure and print."""
    chosen = parsed(__doc__)
    pairs = made_pairs(chosen.rows // 2)
    turns = {"plain": plain(questions(pairs)), "judgeboard": judgeboard(pairs)}
    with endpoint(
        chosen.mock, json.dumps({OVERALL: {"reasoning": "alike", "verdict": TIE}})
    ) as base_url:
        take_turns(turns, chosen, base_url, "call")


if __name__ == "__main__":
    main()
