"""Measures self-reference from what is stored of a judge version; nothing is asked."""

from collections.abc import Collection
from dataclasses import replace

from sqlalchemy import Connection

from judgeboard.errors import BadInput, NotFound
from judgeboard.run_account import RunAccount
from judgeboard.self_reference.gate import SAMPLES, TAU, samples_needed
from judgeboard.self_reference.items import UNKNOWN, items_of
from judgeboard.self_reference.load import Loaded, load_items
from judgeboard.self_reference.result import SelfReferenceReport
from judgeboard.self_reference.scores import (
    calibration,
    categories,
    condition_scores,
    gain,
    gate_scores,
    slices,
    sweep,
)
from judgeboard.self_reference.tuning import tuned_by_category
from judgeboard.store.engine import Readable
from judgeboard.store.judgments.judge_versions import StoredVersion, get_version
from judgeboard.store.pairs.self_reference_steps import sampling_versions

CONDITIONS = ("A", "B", "C")
"""Without a reference; always with its own answer as reference; only where the gate is on."""


def measure_self_reference(
    store: Readable,
    judge_version: int | str | None = None,
    *,
    k: int | None = None,
    tau: float = TAU,
    conditions: Collection[str] = CONDITIONS,
    tau_by_category: bool = False,
    source: str | None = None,
    pair_ids: Collection[int] | None = None,
    calls_planned: int = 0,
    account: RunAccount | None = None,
) -> SelfReferenceReport:
    """Measure what a judge version sampled and judged; nothing is asked.

    Args:
        store: Where the samples are.
        judge_version: As `get_version` takes it; not needed where only one has sampled.
        k: The first so many samples of a question count; by default as many as the version takes, else 5.
        tau: The gate is on from this agreement on, above 0 and at most 1.
        conditions: Which of A, B, C.
        tau_by_category: Also tune the threshold of each category on other items.
        source: Only questions of this source.
        pair_ids: Only these questions.
        calls_planned: What a run said before it began; 0 where only what is stored is read.
        account: What became of its steps; by default those of the version on these questions.

    Raises:
        BadInput: ``tau`` or a condition is none, or no question has ``k`` samples.
        NotFound: There is no such version, or none has sampled.
    """
    named = checked_conditions(conditions)
    with store.reading() as connection:
        version = chosen_version(connection, judge_version)
        used = samples_used(version, k)
        needed = samples_needed(tau, used)
        loaded = load_items(connection, version.id, used, source=source, pair_ids=pair_ids)
    if not loaded.items and account is None and not calls_planned:
        raise BadInput(_nothing(version, loaded, used))
    report = report_of(version, loaded, used, needed, account or RunAccount.of(loaded.steps))
    return replace(
        report,
        tau=tau,
        conditions={name: report.conditions[name] for name in named},
        tuned=tuned_by_category(items_of(loaded.items, used)) if tau_by_category else None,
        calls_planned=calls_planned,
    )


def report_of(
    version: StoredVersion, loaded: Loaded, k: int, needed: int, account: RunAccount | None = None
) -> SelfReferenceReport:
    """Return the figures of items that were read, with the gate on from ``needed`` of ``k`` samples."""
    items = items_of(loaded.items, k)
    on, selective = items.gate(needed), items.selective(needed)
    verdicts = {"A": items.without, "B": items.always, "C": selective}
    no_answer = ~items.answered
    return SelfReferenceReport(
        judge=version.title,
        model=version.model,
        k=k,
        tau=needed / k,
        needed=needed,
        items=items.n,
        conditions={name: condition_scores(items, each, on) for name, each in verdicts.items()},
        gain={name: gain(items, verdicts[name], selective) for name in ("A", "B")},
        gate=gate_scores(items, on),
        slices=slices(items, on),
        calibration=calibration(items),
        categories=categories(items, on, needed),
        sweep=sweep(items),
        ties=int(items.tie.sum()),
        ties_on=int((items.tie & on).sum()),
        no_answer=int(no_answer.sum()),
        from_without=int((no_answer & items.always.usable).sum()),
        no_reference=int((items.answered & (items.right == UNKNOWN)).sum()),
        no_gold=int((~items.gold).sum()),
        fewer_samples=loaded.fewer_samples,
        failed_samples=loaded.failed_samples,
        forgotten=loaded.forgotten,
        other_reference=loaded.other_reference,
        account=account or RunAccount(),
    )


def checked_conditions(conditions: Collection[str]) -> tuple[str, ...]:
    """Return conditions in their order.

    Raises:
        BadInput: One is not A, B or C, or there is none.
    """
    unknown = sorted(set(conditions) - set(CONDITIONS))
    if unknown or not conditions:
        raise BadInput(f"--conditions takes A, B and C, not {unknown[0] if unknown else 'nothing'!r}")
    return tuple(name for name in CONDITIONS if name in conditions)


def samples_used(version: StoredVersion, k: int | None = None) -> int:
    """Return how many samples of a question count: ``k``, else as many as the version takes, else 5."""
    return k or int(version.params.get("samples") or SAMPLES)


def chosen_version(connection: Connection, which: int | str | None) -> StoredVersion:
    """Return the judge version that is asked for; without a name the only one that has sampled.

    Raises:
        BadInput: Several have sampled and none is named.
        NotFound: There is no such version, or none has sampled.
    """
    if which is not None:
        return get_version(connection, which)
    known = sampling_versions(connection)
    if not known:
        raise NotFound(
            "no judge has sampled answers yet: `judgeboard ssr --pairs FILE --model M`, or bring recorded samples with "
            "`judgeboard import --kind samples FILE`"
        )
    if len(known) > 1:
        raise BadInput(f"several judges have sampled: choose one with --judge-version: {_titles(known)}")
    return known[0]


def _titles(versions: list[StoredVersion]) -> str:
    return ", ".join(sorted(version.title for version in versions))


def _nothing(version: StoredVersion, loaded: Loaded, k: int) -> str:
    if loaded.forgotten:
        return f"all questions that {version.title} has {k} samples of were forgotten"
    if loaded.failed_samples:
        return f"calls for samples of all questions with {k} failed: ask {version.title} again with --rejudge failed"
    if not loaded.fewer_samples:
        return f"{version.title} has no samples of these questions"
    most = loaded.most_samples
    return f"{version.title} has no question with {k} samples, at most {most}: give --k {most}"
