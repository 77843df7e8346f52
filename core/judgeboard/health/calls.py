"""Checks of a judge's calls (unusable replies, cost, repeats, order of pairs), and commands that checks suggest."""

import shlex
from collections import Counter

import numpy as np

from judgeboard.domain import AUDIT, JURY, PAIRWISE, RECORDED, REPEATS, Status
from judgeboard.health.record import (
    Check,
    JudgeRecord,
    half_widths,
    not_applicable,
    not_measured,
    state_of,
)
from judgeboard.measure.notes import note
from judgeboard.measure.repeats import temperature_note
from judgeboard.registry.judge_kinds import JUDGES, kind_of
from judgeboard.runs.judging import judge_options
from judgeboard.stats.estimates import surely_above, surely_below
from judgeboard.stats.intervals import share_intervals
from judgeboard.stats.pair_orders import ONE_ORDER
from judgeboard.stats.proportions import ratio_of_totals, share
from judgeboard.store.tables import StoredVersion

_ENOUGH = 12  # digits of a fingerprint, as the pages show them


def make_and_judge(record: JudgeRecord, *kinds: str) -> str:
    """Return the commands that make control answers of these kinds (default: all) and judge them."""
    of_kinds = f" --kinds {','.join(kinds)}" if kinds else ""
    make = f"judgeboard test controls make{of_kinds}"
    if record.version.kind == RECORDED:
        return f"{make} && judgeboard export responses -o FILE"
    if record.version.kind == JURY:
        members = f"judgeboard test controls judge{of_kinds} --judge KIND --model MEMBER"
        return f"{make} && {members} && {_combine(record.version)}"
    if record.version.kind == REPEATS:
        return _of_member(record.version)
    if record.version.kind == PAIRWISE:
        return f"{make} && judgeboard compare controls --model {record.version.model or 'MODEL'}"
    if record.version.kind == AUDIT:
        audit = f"judgeboard test audit JUDGE --controls --model {record.version.model or 'MODEL'}"
        return f"{make} && judgeboard test controls judge{of_kinds} JUDGE && {audit}"
    return f"{make} && judgeboard test controls judge{of_kinds} {_asked(record.version)}"


def judge_answers(record: JudgeRecord, *more: str) -> str:
    """Return the command that judges answers, or imports more verdicts of a recorded judge."""
    if record.version.kind == RECORDED:
        return "judgeboard import FILE --kind verdicts"
    if record.version.kind == JURY:
        return _combine(record.version)
    if record.version.kind == REPEATS:
        return _of_member(record.version)
    return " ".join(("judgeboard judge", _asked(record.version), *more))


def import_log(column: str) -> str:
    """Return the command that imports a column of the log."""
    return f"judgeboard import LOG  # with a column {column}"


def _combine(version: StoredVersion) -> str:
    name_option = "" if version.name == JURY else f" --name {shlex.quote(version.name)}"
    members = (
        " ".join(str(member)[:_ENOUGH] for member in version.params.get("members", ())) or "A B C"
    )
    return f"judgeboard compare judges {members}{name_option}"


def _of_member(version: StoredVersion) -> str:
    members = version.params.get("members") or ("NAME",)
    return f"judgeboard test health {shlex.quote(str(members[0]))}"


def _asked(version: StoredVersion) -> str:
    return judge_options(version) or shlex.join(
        ["--judge", "rag", "--model", version.model or "MODEL"]
    )


def with_families(record: JudgeRecord) -> str:
    """Return the command that reads the user's own table of models."""
    return f"judgeboard test health {shlex.quote(record.version.title)} --families FILE"


LEAST = 10
"""Minimum number of calls, and of answers with repeats."""
HARMLESS = 0.05
"""Maximum share of unusable replies. Source: "LLM-as-Judge", AI Engineering Patterns (2026), gate of a suite."""
BUDGET = 0.4
"""Above this share of the answers' cost, add a note. Source: "LLM-as-Judge", AI Engineering Patterns (2026)."""
MOST = 1.0
"""Above this share of the answers' cost, warn: judging then costs more than answering."""


def unusable(record: JudgeRecord) -> Check:
    """Warn if significantly more than 5 % of all replies are unusable. Names answers without groundedness too.

    A jury gives verdicts, not replies. Ties of a jury are unusable, and are named as ties.
    """
    calls = sum(record.asked.values())
    if calls < LEAST:
        return not_measured(
            "unusable", judge_answers(record), note("few_calls", n=calls, least=LEAST), n=calls
        )
    failures = Counter(
        {status: n for status, n in record.asked.items() if status != Status.OK.value}
    )
    failures += Counter(ties=record.ties)
    failures[Status.UNPARSABLE.value] -= record.ties
    without = share_intervals(failures.total(), calls)[0]
    warns = surely_above(without, HARMLESS)
    kinds = [f"{name} {n:,}" for name, n in sorted(failures.items()) if n]
    notes = [note("unusable_kinds", kinds=kinds) if kinds else note("all_usable")]
    if warns:
        notes.append(note("missing_not_at_random"))
    also = {}
    if record.mended:
        also["mended"] = share_intervals(record.mended, calls)[0]
        notes.append(note("mended", share=record.mended / calls))
    # Some judged answers have other scores only, and so no verdict. A judge of quality alone gives
    # no groundedness at all.
    scores = record.scored.scores
    if {"groundedness", "label"} <= scores.keys():
        is_missing = np.isnan(scores["groundedness"]) & np.isnan(scores["label"])
        if is_missing.any() and not is_missing.all():
            n = int(is_missing.sum())
            notes.append(note("without_groundedness", n=n, judged=len(is_missing)))
    command = (
        judge_answers(record)
        if record.version.kind == RECORDED
        else judge_answers(record, "--rejudge failed")
    )
    return Check(
        "unusable", state_of(warns=warns), without, tuple(notes), command, share=True, also=also
    )


def cost(record: JudgeRecord) -> Check:
    """Warn if judging costs more than the answers; above 40 %, add a note. All costs are in one currency."""
    command = (
        judge_answers(record, "--prices FILE")
        if record.version.model
        else import_log("generator_cost")
    )
    ratio = ratio_of_totals(record.costs)
    if ratio.value is None and record.version.kind == RECORDED:
        return not_applicable("cost", note("recorded_without_cost"))
    if ratio.value is None:
        return not_measured("cost", command, note("no_costs"), n=record.costs.n)
    finding = note("cost")
    if ratio.value > MOST:
        finding = note("cost_above_answers")
    elif ratio.value > BUDGET:
        finding = note("cost_above_usual", usual=BUDGET)
    return Check("cost", state_of(warns=ratio.value > MOST), ratio, (finding,), command, share=True)


SOUND = 0.9
"""Minimum share of answers with equal repeats.

Our own limit: if one verdict in ten changes in a repeat, the noise is as large as most differences
between two systems.
"""


def self_consistency(record: JudgeRecord) -> Check:
    """Warn if the share of answers with equal values in all repeats is significantly below 90 %.

    `judgeboard test repeats` shows the same share as its first figure. The measure is the one with
    the most answers. A recorded judge has one version per rubric, and the repeats of all versions
    count.
    """
    n = len(record.repeats.same)
    if not kind_of(record.version.kind).calls_host:
        return not_applicable(
            "self_consistency", note("deterministic", judge=record.version.title), share=True, n=n
        )
    if record.version.kind == JURY:
        return not_applicable(
            "self_consistency",
            note("jury_asks_nobody", judge=record.version.title),
            share=True,
            n=n,
        )
    is_recorded = record.version.kind == RECORDED
    command = (
        "judgeboard import FILE --kind repeats"
        if is_recorded
        else judge_answers(record, "--repeats 3")
    )
    if n < LEAST:
        return not_measured(
            "self_consistency", command, note("few_repeated", n=n, least=LEAST), n=n
        )
    estimate = share(record.repeats.same, record.repeats.groups)
    warns = surely_below(estimate, SOUND)
    temperature = record.version.params.get("temperature")
    notes = [note("equal_repeats", measure=record.repeats.measure)]
    if record.repeats.incomplete:
        notes.append(note("incomplete_repeats", n=record.repeats.incomplete))
    if temperature is not None:
        notes.append(temperature_note(temperature))
    if warns:
        notes.append(note("single_verdict_unreliable"))
    unstable = tuple(record.repeats.response_ids[~record.repeats.same].tolist())
    state = state_of(warns=warns)
    return Check(
        "self_consistency",
        state,
        estimate,
        tuple(notes),
        command,
        share=True,
        response_ids=unstable,
    )


LEAST_PAIRS = 30
"""Minimum number of pairs with a usable verdict in both orders."""
NO_BIAS = 0.5


def position(record: JudgeRecord) -> Check:
    """Warn if the share of verdicts that prefer the answer shown first differs significantly from ½.

    Source: "LLM-as-Judge", AI Engineering Patterns (2026), pairwise. Only pairs with a usable
    verdict in both orders count; the interval resamples questions. If there are several aspects,
    the most biased one is shown.
    """
    if record.version.kind == JURY:
        return not_applicable(
            "position", note("jury_compares_no_pairs", judge=record.version.title), share=True
        )
    if not kind_of(record.version.kind).calls_host:
        return not_applicable(
            "position", note("calls_no_model", judge=record.version.title), share=True
        )
    model = record.version.model or "MODEL"
    command = shlex.join(["judgeboard", "compare", "--pairs", "FILE", "--model", model])
    if record.version.kind == RECORDED:
        command = "judgeboard import FILE --kind comparisons"
    elif record.version.kind in JUDGES:
        command = f"{command} && judgeboard test health {PAIRWISE}"
    rates = {
        aspect: (verdicts.first_position(), int(verdicts.both.sum()))
        for aspect, verdicts in record.pairs.items()
    }
    if rates and all(rate.reason == ONE_ORDER for rate, _ in rates.values()):
        return not_measured("position", command, note("compared_in_one_order"))
    enough = {
        aspect: rate
        for aspect, (rate, n) in rates.items()
        if n >= LEAST_PAIRS and rate.value is not None
    }
    if not enough:
        pairs = max((n for _, n in rates.values()), default=0)
        why = note("few_pairs_in_both_orders", n=pairs, least=LEAST_PAIRS)
        if record.version.kind in JUDGES:
            why = note("judges_single_answers")
        return not_measured("position", command, why, n=pairs)
    aspect = max(enough, key=lambda name: half_widths(enough[name], NO_BIAS))
    rate = enough[aspect]
    first, last = surely_above(rate, NO_BIAS), surely_below(rate, NO_BIAS)
    code = "prefers_first" if first else "prefers_last" if last else "no_position_bias"
    finding = note(code, aspect=aspect, pairs=rates[aspect][1])
    return Check("position", state_of(warns=first or last), rate, (finding,), command, share=True)
