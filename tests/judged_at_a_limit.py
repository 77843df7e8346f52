"""A run whose minute is short; a module of its own, because a forked process imports it."""

import os
import sys
from threading import Barrier

from judgeboard.llm import rate_limits
from judgeboard.runs.judging import judge_pending, make_judge
from judgeboard.store.filters import RowFilter
from judgeboard.store.opening import open_store


def judge_at_a_limit(
    database: str,
    url: str,
    part: str,
    period: float,
    together: Barrier,
    environment: dict[str, str],
) -> None:
    """Judge the answers of a query type beside another process; the exit code is how many were judged."""
    os.environ.update(environment)
    rate_limits.PERIOD_SECONDS, rate_limits.BLOCK_SECONDS = period, period / 60
    judge = make_judge("rag", name=part, model="limited", base_url=url)
    together.wait()
    summary = judge_pending(open_store(database), judge, where=RowFilter(query_types=(part,)))
    sys.exit(summary.ok)
