"""Checks of a judge's calls (unusable replies, cost, repeats, order of pairs), and commands that checks suggest."""

import shlex
from collections import Counter

import numpy as np

from judgeboard.domain import COMBINED_KINDS, JURY, PAIRWISE, RECORDED, REPEATS, Status
from judgeboard.health.record import Check, JudgeRecord, half_widths, not_applicable, not_measured, state_of
from judgeboard.judges.kinds import JUDGES, calls_host
from judgeboard.runs.judging import judge_options
from judgeboard.stats.estimates import percent, percent_words, surely_above, surely_below
from judgeboard.stats.intervals import share_intervals
from judgeboard.stats.pair_orders import ONE_ORDER
from judgeboard.stats.proportions import ratio_of_totals, share
from judgeboard.store.judge_versions import StoredVersion
from judgeboard.text import counted

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
    named = "" if version.name == JURY else f" --name {shlex.quote(version.name)}"
    members = " ".join(str(member)[:_ENOUGH] for member in version.params.get("members", ())) or "A B C"
    return f"judgeboard compare judges {members}{named}"


def _of_member(version: StoredVersion) -> str:
    members = version.params.get("members") or ("NAME",)
    return f"judgeboard test health {shlex.quote(str(members[0]))}"


def _asked(version: StoredVersion) -> str:
    return judge_options(version) or shlex.join(["--judge", "rag", "--model", version.model or "MODEL"])


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

    A jury gives verdicts, not replies. Its ties are unusable, and are named as ties.
    """
    asked = sum(record.asked.values())
    if asked < LEAST:
        why = f"Too few calls (n = {asked:,}, at least {LEAST} needed)."
        return not_measured("unusable", why, judge_answers(record), asked)
    failed = Counter({status: n for status, n in record.asked.items() if status != Status.OK.value})
    failed += Counter(ties=record.ties)
    failed[Status.UNPARSABLE.value] -= record.ties
    without = share_intervals(failed.total(), asked)[0]
    warns = surely_above(without, HARMLESS)
    parts = ", ".join(f"{n:,} {'tie' if (why, n) == ('ties', 1) else why}" for why, n in sorted(failed.items()) if n)
    replies = "verdicts" if record.version.kind in COMBINED_KINDS else "replies"
    sentence = f"{failed.total():,} of {asked:,} {replies} are unusable"
    sentence += f": {parts}." if parts else "."
    if warns:
        sentence += " Missing verdicts are seldom missing at random."
    mended = share_intervals(record.mended, asked)[0]
    if record.mended:
        sentence += f" {percent(record.mended / asked)} of the replies were mended."
    sentence += _without_groundedness(record)
    command = judge_answers(record) if record.version.kind == RECORDED else judge_answers(record, "--rejudge failed")
    also = {"mended": mended} if record.mended else {}
    return Check("unusable", state_of(warns=warns), without, sentence, command, share=True, also=also)


def _without_groundedness(record: JudgeRecord) -> str:
    """Return how many judged answers have no verdict, because they have other scores only; "" if none."""
    scores = record.scored.scores
    if not {"groundedness", "label"} <= scores.keys():
        return ""
    without = np.isnan(scores["groundedness"]) & np.isnan(scores["label"])
    n = int(without.sum())
    if n in {0, len(without)}:  # a judge of quality alone gives no groundedness at all
        return ""
    have = "has" if n == 1 else "have"
    return f" {n:,} of {len(without):,} judged answers {have} neither groundedness nor a label, so no verdict."


def cost(record: JudgeRecord) -> Check:
    """Warn if judging costs more than the answers; above 40 %, add a note. All costs are in one currency."""
    command = judge_answers(record, "--prices FILE") if record.version.model else import_log("generator_cost")
    ratio = ratio_of_totals(record.costs)
    if ratio.value is None and record.version.kind == RECORDED:
        return not_applicable("cost", "recorded verdicts have no cost", "recorded verdicts have no cost.")
    if ratio.value is None:
        why = "No answer has both costs: the generator's cost from the log, and the judge's cost from its price."
        return not_measured("cost", why, command, record.costs.n)
    sentence = f"Judging costs {percent_words(ratio)} of the cost of the answers (n = {ratio.n:,})"
    if ratio.value > MOST:
        sentence += ". That is more than the answers. Judge a sample, or use a cheaper judge."
    elif ratio.value > BUDGET:
        sentence += f". That is above the usual {percent(BUDGET)}."
    else:
        sentence += "."
    return Check("cost", state_of(warns=ratio.value > MOST), ratio, sentence, command, share=True)


SOUND = 0.9
"""Minimum share of answers with equal repeats. Our own limit: if one verdict in ten changes in a repeat, the noise is
as large as most differences between two systems."""


def self_consistency(record: JudgeRecord) -> Check:
    """Warn if the share of answers with equal values in all repeats is significantly below 90 %.

    `judgeboard test repeats` shows the same share as its first figure. The measure is the one with the most answers. A
    recorded judge has one version per rubric, and the repeats of all its versions count.
    """
    n = len(record.repeats.same)
    if not calls_host(record.version.kind):
        sentence = f"{record.version.title} is deterministic."
        return not_applicable("self_consistency", "it is deterministic", sentence, share=True, n=n)
    if record.version.kind == JURY:
        sentence = f"{record.version.title} makes no calls: it combines the verdicts of its members."
        return not_applicable("self_consistency", "it makes no calls", sentence, share=True, n=n)
    recorded = record.version.kind == RECORDED
    command = "judgeboard import FILE --kind repeats" if recorded else judge_answers(record, "--repeats 3")
    if n < LEAST:
        why = f"Too few answers with repeats (n = {n:,}, at least {LEAST} needed)."
        return not_measured("self_consistency", why, command, n)
    estimate = share(record.repeats.same, record.repeats.groups)
    warns = surely_below(estimate, SOUND)
    temperature = record.version.params.get("temperature")
    at = "" if temperature is None else f" at temperature {temperature:g}"
    answers = f"{percent_words(estimate)} of {counted(n, 'answer')}"
    sentence = f"Repeats{at} give the same {record.repeats.measure} on {answers}."
    if record.repeats.incomplete:
        sentence += f" Left out: {counted(record.repeats.incomplete, 'answer')} without a value in every repeat."
    if temperature == 0:
        sentence += " At temperature 0 this measures the server more than the judge."
    if warns:
        sentence += " A single verdict is not reliable. Combine several repeats, or use a jury."
    unstable = tuple(record.repeats.response_ids[~record.repeats.same].tolist())
    state = state_of(warns=warns)
    return Check("self_consistency", state, estimate, sentence, command, share=True, response_ids=unstable)


LEAST_PAIRS = 30
"""Minimum number of pairs with a usable verdict in both orders."""
NO_BIAS = 0.5


def position(record: JudgeRecord) -> Check:
    """Warn if the share of verdicts that prefer the answer shown first differs significantly from ½.

    Source: "LLM-as-Judge", AI Engineering Patterns (2026), pairwise. Only pairs with a usable verdict in both orders
    count; the interval resamples questions. If there are several aspects, the most biased one is shown.
    """
    if record.version.kind == JURY:
        sentence = f"{record.version.title} compares no pairs. Check its members instead."
        return not_applicable("position", "it compares no pairs", sentence, share=True)
    if not calls_host(record.version.kind):
        sentence = f"{record.version.title} calls no model, so the order of the answers has no influence."
        return not_applicable("position", "it compares no pairs", sentence, share=True)
    command = _command(record)
    rates = {aspect: (verdicts.first_position(), int(verdicts.both.sum())) for aspect, verdicts in record.pairs.items()}
    if rates and all(rate.reason == ONE_ORDER for rate, _ in rates.values()):
        why = "It compared the pairs in one order only, so position bias cannot be measured."
        return not_measured("position", why, command)
    enough = {aspect: rate for aspect, (rate, n) in rates.items() if n >= LEAST_PAIRS and rate.value is not None}
    if not enough:
        pairs = max((n for _, n in rates.values()), default=0)
        why = f"Too few pairs compared in both orders (n = {pairs:,}, at least {LEAST_PAIRS} needed)."
        if record.version.kind in JUDGES:
            why = "It judges one answer at a time. To compare pairs, its model needs a pairwise judge version."
        return not_measured("position", why, command, pairs)
    aspect = max(enough, key=lambda name: half_widths(enough[name], NO_BIAS))
    rate = enough[aspect]
    first, last = surely_above(rate, NO_BIAS), surely_below(rate, NO_BIAS)
    on = f" on {aspect}" if len(rates) > 1 else ""
    bias = "The judge prefers the answer shown first" if first else "The judge prefers the answer shown last"
    if not first and not last:
        bias = "No significant position bias"
    share_of_first = f"{percent_words(rate)} of the verdicts prefer the first answer"
    sentence = f"{bias}{on}: {share_of_first} (ties excluded, {counted(rates[aspect][1], 'pair')})."
    return Check("position", state_of(warns=first or last), rate, sentence, command, share=True)


def _command(record: JudgeRecord) -> str:
    if record.version.kind == RECORDED:
        return "judgeboard import FILE --kind comparisons"
    compare = shlex.join(["judgeboard", "compare", "--pairs", "FILE", "--model", record.version.model or "MODEL"])
    if record.version.kind in JUDGES:
        return f"{compare} && judgeboard test health {PAIRWISE}"
    return compare
