"""The commands that checks name, and the checks of calls: unusable verdicts and cost."""

import shlex

from judgeboard.domain import JURY, RECORDED, REPEATS, Status
from judgeboard.health.record import Check, JudgeRecord, not_measured, state_of
from judgeboard.judges.kinds import OFFLINE
from judgeboard.runs.judging import judge_options
from judgeboard.stats.estimates import percent, percent_words, surely_above
from judgeboard.stats.intervals import share_intervals
from judgeboard.stats.proportions import ratio_of_totals
from judgeboard.store.judge_versions import StoredVersion

_ENOUGH = 12  # digits of a fingerprint, as the pages show them


def make_and_judge(record: JudgeRecord, *kinds: str) -> str:
    """Return the commands that make control answers of these kinds and judge them."""
    kind = ",".join(kinds)
    make = f"judgeboard control-answers make --kinds {kind}"
    if record.version.kind == RECORDED:
        return f"{make} && judgeboard export responses -o FILE"
    if record.version.kind == JURY:
        members = f"judgeboard control-answers judge --kinds {kind} --judge KIND --model MEMBER"
        return f"{make} && {members} && {_combine(record.version)}"
    if record.version.kind == REPEATS:
        return _of_member(record.version)
    return f"{make} && judgeboard control-answers judge --kinds {kind} {_asked(record.version)}"


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


def no_model_reason(version: StoredVersion) -> str | None:
    """Return why a judge calls no model; None if it calls one."""
    if version.kind == JURY:
        return f"{version.title} calls no model itself. Check its members instead."
    return f"{version.title} calls no model." if version.kind in OFFLINE else None


def _combine(version: StoredVersion) -> str:
    """A jury makes no calls: the stored verdicts of its members are combined."""
    named = "" if version.name == JURY else f" --name {shlex.quote(version.name)}"
    members = ",".join(str(member)[:_ENOUGH] for member in version.params.get("members", ())) or "A,B,C"
    return f"judgeboard jury --recorded --members {members}{named}"


def _of_member(version: StoredVersion) -> str:
    """Combined repeats make no calls: check the repeated judge instead."""
    members = version.params.get("members") or ("NAME",)
    return f"judgeboard health --judge-version {shlex.quote(str(members[0]))}"


def _asked(version: StoredVersion) -> str:
    return judge_options(version) or shlex.join(["--judge", "rag", "--model", version.model or "MODEL"])


def with_families(record: JudgeRecord) -> str:
    """Return the command that reads the user's own table of models."""
    return f"judgeboard health --judge-version {shlex.quote(record.version.title)} --families FILE"


LEAST = 10
HARMLESS = 0.05
"""Maximum share without a verdict. Source: "LLM-as-Judge", AI Engineering Patterns (2026), as the gate of a suite."""
BUDGET = 0.4
"""Above this share of the generator's cost there is a note. Source: "LLM-as-Judge", AI Engineering Patterns (2026)."""
MOST = 1.0
"""Above this share there is a warning: judging costs more than answering."""


def unusable(record: JudgeRecord) -> Check:
    """Warn if significantly more than 5 % of all calls gave no usable verdict."""
    asked = sum(record.asked.values())
    if asked < LEAST:
        why = f"Too few calls (n = {asked:,}, at least {LEAST} needed)."
        return not_measured("unusable", why, judge_answers(record), asked)
    failed = {status: n for status, n in record.asked.items() if status != Status.OK.value and n}
    share = share_intervals(sum(failed.values()), asked)[0]
    warns = surely_above(share, HARMLESS)
    parts = ", ".join(f"{n:,} {status}" for status, n in sorted(failed.items()))
    sentence = f"{percent_words(share)} of {asked:,} calls gave no usable verdict" + (f": {parts}." if parts else ".")
    if warns:
        sentence += " Missing verdicts are seldom missing at random."
    command = judge_answers(record) if record.version.kind == RECORDED else judge_answers(record, "--rejudge failed")
    return Check("unusable", state_of(warns=warns), share, sentence, command, share=True)


def cost(record: JudgeRecord) -> Check:
    """Warn if judging costs more than the answers did; above 40 % there is a note. All costs are in one currency."""
    command = judge_answers(record, "--prices FILE") if record.version.model else import_log("generator_cost")
    ratio = ratio_of_totals(record.costs)
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
