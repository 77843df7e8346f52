"""How a judge version is asked for again: the fields of a job's judge that make the same version."""

from typing import Any

from sqlalchemy import Connection

from judgeboard.judge_choice import make_judge
from judgeboard.judges.kinds import JUDGES
from judgeboard.judges.version import fingerprint
from judgeboard.store.judgments.judge_versions import StoredVersion, find_version
from judgeboard.store.runs.job_rows import last_job_of_version

_ADDRESS = ("provider", "base_url")
_PARAMS = ("max_output", "domain", "claims")


def judge_spec(connection: Connection, version: StoredVersion) -> dict[str, Any] | None:
    """Return what a job carries to ask this version again, None for one that cannot be asked.

    That is one recorded elsewhere, or one whose prompt or formula this release no longer has. The address is that of
    the version's last job; without one the environment's counts.
    """
    if version.kind not in JUDGES:
        return None
    spec: dict[str, Any] = {"kind": version.kind, "name": version.name}
    if version.model is not None:
        spec |= {"model": version.model, **{name: version.params.get(name) for name in _PARAMS}}
        if version.params.get("logprobs"):
            spec["logprobs"] = True
    if fingerprint(make_judge(**{"api_key": "none", **spec}).version) != version.fingerprint:
        return None
    last = last_job_of_version(connection, version.id)
    if last is not None:
        spec |= {name: last.judge[name] for name in _ADDRESS if last.judge.get(name)}
    return spec


def spec_as_set_up(connection: Connection, judge: dict[str, Any]) -> dict[str, Any] | None:
    """Return what a job carries to ask the stored version that these fields make, None where they ask another thing.

    That is a judge which judged nothing here, or one at another address than it is asked at.

    Raises:
        BadInput: The fields make no judge.
    """
    version = find_version(connection, fingerprint(make_judge(**{"api_key": "none", **judge}).version))
    known = None if version is None else judge_spec(connection, version)
    if known is None or any(judge.get(name) not in (None, known.get(name)) for name in _ADDRESS):
        return None
    return known
