"""The commands that a check names: they measure what is not measured yet."""

import shlex

from judgeboard.domain import JURY, RECORDED, REPEATS, Status
from judgeboard.health.record import Check, JudgeRecord, not_measured, state_of
from judgeboard.judges.kinds import OFFLINE
from judgeboard.runs.judging import judge_options
from judgeboard.stats.estimates import percent_words, surely_above
from judgeboard.stats.proportions import ratio_of_totals, share_intervals
from judgeboard.store.judge_versions import StoredVersion

_ENOUGH = 12  # digits of a fingerprint, as the pages show them


def make_and_judge(record: JudgeRecord, *kinds: str) -> str:
    """Return the commands that make controls of these kinds and ask the judge about them."""
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
    """Return the command that asks the judge about answers, or imports more verdicts of a recorded one."""
    if record.version.kind == RECORDED:
        return "judgeboard import FILE --kind verdicts"
    if record.version.kind == JURY:
        return _combine(record.version)
    if record.version.kind == REPEATS:
        return _of_member(record.version)
    return " ".join(("judgeboard judge", _asked(record.version), *more))


def import_log(column: str) -> str:
    """Return the command that brings in what the log says of its answers in a column."""
    return f"judgeboard import LOG  # with a column {column}"


def asks_nobody(version: StoredVersion) -> str | None:
    """Return why no model stands behind a judge, so that none of its own can be at fault; None where one does."""
    if version.kind == JURY:
        return f"{version.title} asks no model itself; each of its members has checks of its own."
    return f"{version.title} asks no model." if version.kind in OFFLINE else None


def _combine(version: StoredVersion) -> str:
    """A jury is never asked: what its members said of answers is combined, once each of them was asked."""
    named = "" if version.name == JURY else f" --name {shlex.quote(version.name)}"
    members = ",".join(str(member)[:_ENOUGH] for member in version.params.get("members", ())) or "A,B,C"
    return f"judgeboard jury --recorded --members {members}{named}"


def _of_member(version: StoredVersion) -> str:
    """Repeats are summed up, not asked: what there is to measure is the judge that was repeated."""
    members = version.params.get("members") or ("NAME",)
    return f"judgeboard health --judge-version {shlex.quote(str(members[0]))}"


def _asked(version: StoredVersion) -> str:
    """The options of the judge itself; of one that compares pairs, those of its model as a judge."""
    return judge_options(version) or shlex.join(["--judge", "rag", "--model", version.model or "MODEL"])


def with_families(record: JudgeRecord) -> str:
    """Return the command that reads a table of models of the user's own."""
    return f"judgeboard health --judge-version {shlex.quote(record.version.title)} --families FILE"


LEAST = 10
HARMLESS = 0.05
"""Share that may go unjudged. Source: "LLM-as-Judge", AI Engineering Patterns (2026), as the gate of a suite."""
BUDGET = 0.4
"""Above this share of the generator's cost it is noted. Source: "LLM-as-Judge", AI Engineering Patterns (2026)."""
MOST = 1.0
"""Above this share it is warned: to judge costs more than to answer."""


def unusable(record: JudgeRecord) -> Check:
    """Warn where surely more than 5 % of all requests gave no usable verdict."""
    asked = sum(record.asked.values())
    if asked < LEAST:
        why = f"It takes {LEAST} requests, and it was asked {asked:,} times."
        return not_measured("unusable", why, judge_answers(record), asked)
    failed = {status: n for status, n in record.asked.items() if status != Status.OK.value and n}
    found = share_intervals(sum(failed.values()), asked)[0]
    warns = surely_above(found, HARMLESS)
    parts = ", ".join(f"{n:,} {status}" for status, n in sorted(failed.items()))
    said = f"{percent_words(found)} of {asked:,} requests gave no usable verdict" + (f": {parts}." if parts else ".")
    if warns:
        said += " What is missing is seldom missing at random."
    command = judge_answers(record) if record.version.kind == RECORDED else judge_answers(record, "--rejudge failed")
    return Check("unusable", state_of(warns=warns), found, said, command, share=True)


def cost(record: JudgeRecord) -> Check:
    """Warn where judging costs more than the answers did; above 40 % it is noted. One currency is taken for granted."""
    command = judge_answers(record, "--prices FILE") if record.version.model else import_log("generator_cost")
    found = ratio_of_totals(record.costs)
    if found.value is None:
        why = "For no answer both costs are known: the generator's stands in the log, the judge's comes from its price."
        return not_measured("cost", why, command, record.costs.n)
    said = f"It costs {percent_words(found)} of what the answers cost, on {found.n:,} answers"
    if found.value > MOST:
        said += ": more than the answers themselves. Judge a sample, or use a cheaper judge."
    elif found.value > BUDGET:
        said += f": above the usual {BUDGET:.0%}.".replace("%", " %")
    else:
        said += "."
    return Check("cost", state_of(warns=found.value > MOST), found, said, command, share=True)
