"""Rate limits hold in all processes together, whichever command or rule calls."""

import asyncio
import os
import sys
from bisect import bisect_left
from itertools import accumulate
from time import monotonic

import pytest

from forked_commands import PipedPython
from judgeboard.errors import BadInput
from judgeboard.llm.rate_limits import RESERVE, CallPace, OwnTimelines, RateLimit, rate_limit
from judgeboard.llm.recording_endpoint import RecordingEndpoint, completion
from judgeboard.settings.model import load_settings
from judging_log import address, asked, store_answers

PERIOD_S, REQUESTS, TOKENS = 1.6, 60, 4_000
JUDGE = f"""
import sys
from judgeboard.llm import rate_limits
from judgeboard.runs.judging import judge_pending, make_judge
from judgeboard.store.opening import open_store
from judgeboard.store.filters import RowFilter
rate_limits.PERIOD_SECONDS, rate_limits.BLOCK_SECONDS = {PERIOD_S}, {PERIOD_S / 60}
database, url, part, model = sys.argv[1:]
judge = make_judge("rag", name=part, model=model, base_url=url)
print("ready", flush=True)
sys.stdin.readline()
summary = judge_pending(open_store(database), judge, where=RowFilter(query_types=(part,)))
print(summary.ok)
"""


@pytest.mark.parametrize(
    ("store", "variable", "limit", "per_call"),
    [
        ("sqlite", "TOKENS", TOKENS, 120),
        pytest.param("postgres", "REQUESTS", REQUESTS, 1, marks=pytest.mark.postgres),
    ],
    indirect=["store"],
)
def test_two_processes_keep_one_limit_together(
    store, monkeypatch, tmp_path, variable, limit, per_call
):
    monkeypatch.setenv(f"JUDGEBOARD_{variable}_PER_MINUTE", f"1000000,limited={limit}")
    arrived = []

    def note(_request, _number):
        arrived.append(monotonic())
        return completion('{"reasoning": "r", "groundedness": 1.0, "quality": 4}', usage=(100, 20))

    parts = {"short": 40, "long": 60}
    for part, count in parts.items():
        store_answers(store, count, first=1_000 * len(part), query_type=part)
    with RecordingEndpoint(note) as endpoint:
        words, place = (
            [JUDGE, address(store), endpoint.base_url],
            {"folder": tmp_path, **os.environ},
        )
        processes = [
            PipedPython(*words, part, "limited", errors=sys.__stderr__, **place) for part in parts
        ]
        assert [process.stdout.readline() for process in processes] == ["ready\n"] * 2
        for process in processes:
            print("go", file=process.stdin, flush=True)
        assert [process.communicate() for process in processes] == [
            f"{count}\n" for count in parts.values()
        ]
        assert set(asked(endpoint).values()) == {1}
    used = [0, *accumulate(per_call for _ in arrived)]
    in_a_period = [
        used[bisect_left(arrived, at + PERIOD_S)] - used[place] for place, at in enumerate(arrived)
    ]
    # The "minute" is shortened, the delays of a busy machine are not: some calls arrive late,
    # beside those after them. Processes that keep a limit each have 1.4 times as many.
    assert max(in_a_period) <= 1.2 * limit


class Clock:
    """A clock that only sleeping moves, and the timelines that it measures."""

    def __init__(self):
        self.now = 0.0
        self.blocks = 0
        self._timelines = OwnTimelines(lambda: self.now)

    async def sleep(self, seconds):
        self.now += seconds

    def reserve(self, name, seconds, owed):
        self.blocks += 1
        return self._timelines(name, seconds, owed)

    def pace(self, limit):
        RESERVE.set(self.reserve)
        return CallPace("model", limit, sleep=self.sleep, clock=lambda: self.now)


def test_calls_are_spread_over_the_minute_and_share_transactions():
    clock = Clock()

    async def call_often():
        pace = clock.pace(RateLimit(requests_per_minute=600))
        for _ in range(600):
            await pace.wait(0)

    asyncio.run(call_often())
    assert 60 <= clock.now <= 62
    assert clock.blocks <= 75


def test_the_estimate_of_tokens_is_corrected_by_what_the_provider_counts():
    clock = Clock()

    async def call_often():
        pace = clock.pace(RateLimit(tokens_per_minute=6_000))
        for _ in range(60):
            tokens = pace.estimate({"messages": "x" * 280}, max_output=900)
            await pace.wait(tokens)
            await clock.sleep(0.1)
            pace.used(tokens, 75, 25)

    asyncio.run(call_often())
    assert 55 <= clock.now <= 75  # 100 tokens of 6,000 take a second


def test_the_most_specific_pattern_of_a_model_is_its_limit(monkeypatch):
    monkeypatch.setenv("JUDGEBOARD_REQUESTS_PER_MINUTE", "500, claude-*=50, Claude-Opus*=5")
    limits = [
        rate_limit(model, load_settings()) for model in ("gpt-4o", "claude-haiku", "claude-opus-4")
    ]
    assert limits == [RateLimit(500), RateLimit(50), RateLimit(5)]
    assert rate_limit("gpt-4o", load_settings()).tokens_per_minute is None
    for text in ("many", "gpt-4o=0", "-1"):
        monkeypatch.setenv("JUDGEBOARD_TOKENS_PER_MINUTE", text)
        with pytest.raises(BadInput, match="JUDGEBOARD_TOKENS_PER_MINUTE"):
            rate_limit("gpt-4o", load_settings())
