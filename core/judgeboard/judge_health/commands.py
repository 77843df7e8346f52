"""The commands that a check names: they measure what is not measured yet."""

import shlex

from judgeboard.judge_health.record import JudgeRecord
from judgeboard.judge_kinds import JURY, RECORDED, REPEATS
from judgeboard.judges.kinds import JUDGES, OFFLINE
from judgeboard.judges.options import DEFAULT_DOMAIN, DEFAULT_MAX_OUTPUT
from judgeboard.store.judgments.judge_versions import StoredVersion

_ENOUGH = 12  # digits of a fingerprint, as the pages show them


def judge_options(version: StoredVersion) -> str | None:
    """Return the options that name this judge to a command that asks, None where nobody can be asked by name.

    That is a judge whose verdicts were recorded, and one that sums up what others said (a jury, repeats).
    """
    if version.kind not in JUDGES:
        return None
    words = ["--judge", version.kind]
    if version.model is not None:
        words += ["--model", version.model]
    if version.kind == "rubric":
        words += ["--rubric", "FILE"]
    if version.name != version.kind:
        words += ["--name", version.name]
    domain, most = version.params.get("domain"), version.params.get("max_output")
    if isinstance(domain, str) and domain != DEFAULT_DOMAIN:
        words += ["--domain", domain]
    if most not in {None, DEFAULT_MAX_OUTPUT}:
        words += ["--max-output", str(most)]
    words += [f"--{switch}" for switch in ("claims", "logprobs") if version.params.get(switch)]
    return shlex.join(words)


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
