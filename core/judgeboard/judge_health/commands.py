"""The commands that a check names: they measure what is not measured yet."""

import shlex

from judgeboard.judge_health.record import JudgeRecord
from judgeboard.judges import JUDGES
from judgeboard.judges.options import DEFAULT_DOMAIN, DEFAULT_MAX_OUTPUT
from judgeboard.store.judgments.judge_versions import StoredVersion

RECORDED = "replay"
"""The kind of judge whose verdicts are read from files: nobody can be asked."""


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
    make = f"judgeboard controls make --kinds {kind}"
    if record.version.kind == RECORDED:
        return f"{make} && judgeboard export responses -o FILE"
    return f"{make} && judgeboard controls judge --kinds {kind} {_asked(record.version)}"


def judge_answers(record: JudgeRecord, *more: str) -> str:
    """Return the command that asks the judge about answers, or imports more verdicts of a recorded one."""
    if record.version.kind == RECORDED:
        return "judgeboard import FILE --kind verdicts"
    return " ".join(("judgeboard judge", _asked(record.version), *more))


def import_log(column: str) -> str:
    """Return the command that brings in what the log says of its answers in a column."""
    return f"judgeboard import LOG  # with a column {column}"


def _asked(version: StoredVersion) -> str:
    """The options of the judge itself; of one that compares pairs or sums others up, those of its model as a judge."""
    return judge_options(version) or shlex.join(["--judge", "rag", "--model", version.model or "MODEL"])


def with_families(record: JudgeRecord) -> str:
    """Return the command that reads a table of models of the user's own."""
    return f"judgeboard health --judge-version {shlex.quote(record.version.title)} --families FILE"
