"""Approach 2: a supreme judge scores the answers itself; where it is far from the audited verdict, that is a mark."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Unpack

from sqlalchemy import Connection

from judgeboard.auditing.audit_run import start_audit
from judgeboard.auditing.compare import compare_versions
from judgeboard.auditing.report import AuditReport
from judgeboard.auditing.sample import AuditSample
from judgeboard.blocking import run_blocking
from judgeboard.errors import BadInput
from judgeboard.hand_out import HandOut
from judgeboard.judge_work import Answered, Ask, asking
from judgeboard.judges.independent import IndependentSupreme
from judgeboard.next_ask import Again, next_ask
from judgeboard.run_account import RunAccount, account_of
from judgeboard.step_run import RunKeywords, RunOptions, require_price, run_steps, stoppable
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
    how = stoppable(options)
    return run_blocking(audit_independently_async, store, supreme, audited, sample=sample, again=again, **how)


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
        require_price(how.max_cost, priced=supreme.priced, model=supreme.version.model)
        with store.writing() as connection:
            version = get_version(connection, audited)
            drawn = [each.response_id for each in sample.drawn(audited_judgments(connection, version.id, sample.where))]
            if drawn:
                _check_comparable(supreme, version, measures_given(connection, version.id))

            def waiting(own: StoredVersion) -> int:
                return len(_unasked(drawn, latest_asks(connection, own.id), Again() if again else None))

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
    return compare_versions(store, own, version, sample, "thresholds", how.actor, account)


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
        items = [LandedVerdict(one.task.item.response_id, one.task.number, 0, one.result) for one in batch]
        with store.writing() as connection:
            land_judgments(connection, own, run.id, items, datetime.now(UTC))

    drawn = [response_id for response_id in drawn if response_id <= run.question["up_to"]]
    asked_again = Again(run.id) if again else None
    with store.reading() as connection:
        to_ask = _unasked(drawn, latest_asks(connection, own.id), asked_again)

    def still_open(connection: Connection, some: Sequence[tuple[int, int]]) -> list[Ask]:
        ids = [response_id for response_id, _ in some]
        stored = latest_asks(connection, own.id, ids)  # another process may be at the same run
        return _with_texts(connection, _unasked(ids, stored, asked_again))

    asks = HandOut(store, to_ask, still_open, backwards=run.shared)
    ended = await run_steps(store, run.id, asking(supreme), asks.read, write, options=how, expected=len(to_ask))
    return account_of(store, run.id, ended)


def _with_texts(connection: Connection, to_ask: Sequence[tuple[int, int]]) -> list[Ask]:
    items = judge_inputs(connection, [response_id for response_id, _ in to_ask])
    return [Ask(items[response_id], number) for response_id, number in to_ask if response_id in items]


def _unasked(drawn: Sequence[int], asked: dict[int, LatestAsk], again: Again | None) -> list[tuple[int, int]]:
    """Return the responses that are to be scored and the number of each ask."""
    numbered = [(response_id, next_ask(asked.get(response_id), again)) for response_id in drawn]
    return [(response_id, number) for response_id, number in numbered if number is not None]
