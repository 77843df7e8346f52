"""Makes the pairwise judge that a command or a library call names, and reads what is stored of one."""

from collections.abc import Collection, Sequence
from typing import Any

from judgeboard.judge_choice import make_endpoint
from judgeboard.judges.pairwise import PairwiseJudge
from judgeboard.pairs.report import PairReport, pair_report
from judgeboard.stats.both_orders import UnusableAs
from judgeboard.store.engine import Readable
from judgeboard.store.judgments.judge_versions import get_version


def make_pairwise_judge(**chosen: Any) -> PairwiseJudge:
    """Return a pairwise judge; what is not chosen comes from the environment, then from `PairwiseJudge`.

    Args:
        chosen: Keywords of `PairwiseJudge` (name, aspects, domain, max_output) and of `model_endpoint` (model,
            base_url, …); None, and no aspects, count as not chosen.

    Raises:
        BadInput: No model, no key for OpenAI's own endpoint, an address that is none, an aspect that cannot be used.
    """
    own = {name: chosen[name] for name in ("name", "aspects", "domain", "max_output") if chosen.get(name)}
    return PairwiseJudge(make_endpoint("the pairwise judge", **chosen), **own)


def measure_pairs(
    store: Readable,
    judge_version: int | str,
    *,
    pair_ids: Collection[int] | None = None,
    by_query_type: bool = False,
    aspects: Sequence[str] = (),
    unusable: UnusableAs = "drop",
) -> PairReport:
    """Measure a judge version, asked here or recorded elsewhere, on the pairs that it compared.

    Args:
        store: Where they are.
        judge_version: As `get_version` takes it: an id, a name, a title or a fingerprint.
        pair_ids: Only these pairs.
        by_query_type: Also one group for each query type.
        aspects: Only these; by default all that it speaks of.
        unusable: What an unusable verdict counts as against gold or people: left out (``drop``), ``tie``, ``wrong``.

    Raises:
        NotFound: There is no such version, or it compared none of these pairs.
    """
    with store.reading() as connection:
        return pair_report(
            connection,
            get_version(connection, judge_version),
            pair_ids=pair_ids,
            by_query_type=by_query_type,
            aspects=aspects,
            unusable=unusable,
        )
