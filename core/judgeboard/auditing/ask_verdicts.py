"""Approach 2: a supreme judge scores the answers itself; where it is far from the audited verdict, that is a mark."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Unpack

from judgeboard.auditing.audit_run import start_audit
from judgeboard.auditing.compare import compare_versions
from judgeboard.auditing.report import AuditReport
from judgeboard.auditing.sample import AuditSample
from judgeboard.errors import BadInput
from judgeboard.judge_work import Answered, Ask, asking
from judgeboard.judges.independent import IndependentSupreme
from judgeboard.run_account import RunAccount, account_of
from judgeboard.step_run import RunKeywords, RunOptions, require_price, run_steps
from judgeboard.store.audits.judgment_reviews import audited_judgments, measures_given
from judgeboard.store.engine import Store
from judgeboard.store.judgments.judge_inputs import judge_inputs
from judgeboard.store.judgments.judge_versions import StoredVersion, get_version
from judgeboard.store.landing import LandedVerdict, land_judgments
from judgeboard.store.runs.latest_asks import LatestAsk, latest_asks
from judgeboard.store.runs.runs import StoredRun


def audit_independently(
    store: Store,
    supreme: IndependentSupreme,
    audited: int | str,
    *,
    sample: AuditSample | None = None,
    again: bool = False,
    **options: Unpack[RunKeywords],
) -> AuditReport:
    """Score a judge's answers with a supreme judge and wait for it; Ctrl-C finishes the calls in flight.

    Arguments and errors as `audit_independently_async`.
    """
    how: RunKeywords = {"stop_on_ctrl_c": True, **options}
    return asyncio.run(audit_independently_async(store, supreme, audited, sample=sample, again=again, **how))


async def audit_independently_async(
    store: Store,
    supreme: IndependentSupreme,
    audited: int | str,
    *,
    sample: AuditSample | None = None,
    again: bool = False,
    **options: Unpack[RunKeywords],
) -> AuditReport:
    """Let a supreme judge score the answers that a judge version judged, and compare both (methods.md §4).

    A verdict is marked wrong where both differ by the thresholds of the rule judges_disagree. Each answer is asked
    about once by a version of the supreme judge; a stopped audit goes on where it ended, with the answers that had
    landed at its start.

    Args:
        store: Where the judgments are.
        supreme: Who scores; closed at the end.
        audited: The judge version, as `get_version` takes it.
        sample: Which of its judgments; all by default.
        again: Also ask again where the supreme judge's latest verdict is not usable.
        options: Fields of `RunOptions`: concurrency, max_cost, actor, …

    Raises:
        NotFound: There is no such judge version.
        UnknownPrice: A cost limit is given and the model has no price.
        BadInput: The audited verdicts and those of the supreme judge have nothing in common to compare.
    """
    how, sample = RunOptions(**options), sample or AuditSample()
    try:
        require_price(how, priced=supreme.priced, model=supreme.version.model)
        with store.writing() as connection:
            version = get_version(connection, audited)
            drawn = [each.response_id for each in sample.drawn(audited_judgments(connection, version.id, sample.where))]
            if drawn:
                _check_comparable(supreme, version, measures_given(connection, version.id))

            def waiting(own: StoredVersion) -> int:
                return len(_unasked(drawn, latest_asks(connection, own.id), again=again, run_id=None))

            own, run = start_audit(
                connection,
                supreme.version,
                version,
                sample,
                how,
                waiting,
                again=again,
                endpoint_host=supreme.endpoint_host,
            )
        account = RunAccount()
        if run is not None:
            account = await _ask(store, supreme, own, run, drawn, how, again=again)
    finally:
        await supreme.aclose()
    return compare_versions(store, own, version, sample, "thresholds", account)


def _check_comparable(supreme: IndependentSupreme, audited: StoredVersion, given: frozenset[str]) -> None:
    """Refuse to pay for verdicts that have nothing in common with the audited ones."""
    if given & supreme.measures:
        return
    none = "no groundedness, quality or label"
    theirs, own = (" and ".join(sorted(one)) or none for one in (given, supreme.measures))
    raise BadInput(
        f"{audited.title} gives {theirs}, the supreme judge {own}: nothing to compare. "
        "Choose another kind with --judge, or let it review the verdicts: --approach 1"
    )


async def _ask(
    store: Store,
    supreme: IndependentSupreme,
    own: StoredVersion,
    run: StoredRun,
    drawn: Sequence[int],
    how: RunOptions,
    *,
    again: bool,
) -> RunAccount:
    def write(batch: list[Answered]) -> None:
        items = [LandedVerdict(one.ask.item.response_id, one.ask.number, 0, one.verdict) for one in batch]
        with store.writing() as connection:
            land_judgments(connection, own, run.id, items, datetime.now(UTC))

    drawn = [response_id for response_id in drawn if response_id <= run.question["up_to"]]
    with store.reading() as connection:
        to_ask = _unasked(drawn, latest_asks(connection, own.id), again=again, run_id=run.id)
    asks = _Asks(store, list(reversed(to_ask)) if run.shared else to_ask)
    ended = await run_steps(store, run.id, asking(supreme), asks.read, write, options=how, expected=len(to_ask))
    return account_of(store, run.id, ended)


class _Asks:
    """Hands out the answers that are to be scored, each once."""

    def __init__(self, store: Store, to_ask: list[tuple[int, int]]) -> None:
        self._store = store
        self._left = to_ask

    def read(self, limit: int) -> list[Ask]:
        """Return up to ``limit`` further asks; fewer only at the end."""
        found: list[Ask] = []
        while self._left and len(found) < limit:
            batch, self._left = self._left[: limit - len(found)], self._left[limit - len(found) :]
            with self._store.reading() as connection:
                items = judge_inputs(connection, [response_id for response_id, _ in batch])
            found += [Ask(items[response_id], ask) for response_id, ask in batch if response_id in items]
        return found


def _unasked(
    drawn: Sequence[int], asked: dict[int, LatestAsk], *, again: bool, run_id: int | None
) -> list[tuple[int, int]]:
    """Return the responses that are to be scored and the number of each ask."""
    found = []
    for response_id in drawn:
        latest = asked.get(response_id)
        if latest is None:
            found.append((response_id, 0))
        elif again and not latest.ok and (run_id is None or latest.run_id != run_id):
            found.append((response_id, latest.ask + 1))
    return found
