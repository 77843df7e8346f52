"""Judge versions of verdicts that were recorded elsewhere."""

from judgeboard.domain import JudgeVersion
from judgeboard.judge_kinds import RECORDED


def replay_version(judge: str, *, model: str | None = None, recorded: str | None = None) -> JudgeVersion:
    """Return the version under which the verdicts of ``judge``, as their file names it, are kept.

    Nobody asks it again: what it was told and how is not known here, so its name (and model, where given) is all
    that tells it from others. ``recorded`` is the fingerprint that it had in the database it was exported from.
    """
    params = {} if recorded is None else {"recorded": recorded}
    return JudgeVersion(name=judge, kind=RECORDED, model=model, params=params, scale="as recorded")
