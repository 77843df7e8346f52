"""Juries: several judge versions asked of the same answers, and the one verdict made of theirs."""

from collections.abc import Sequence
from dataclasses import replace

from sqlalchemy import Connection

from judgeboard.combining.jury_report import JuryReport, jury_report
from judgeboard.combining.keeping import keep_combined
from judgeboard.combining.rule import RULE
from judgeboard.domain import FlagState, JudgeVersion
from judgeboard.errors import BadInput
from judgeboard.filters import RowFilter
from judgeboard.flags import judges_disagree
from judgeboard.judge_kinds import JURY
from judgeboard.store.engine import Store
from judgeboard.store.flags.flag_rows import count_flags
from judgeboard.store.judgments.judge_versions import StoredVersion, ensure_version, get_version
from judgeboard.store.judgments.member_verdicts import by_version


def jury_version(members: Sequence[StoredVersion], name: str | None = None) -> JudgeVersion:
    """Return the version of a jury: its members by fingerprint, in no order, and the rule it combines by.

    Raises:
        BadInput: Fewer than two different members.
    """
    addresses = sorted({member.fingerprint for member in members})
    if len(addresses) < 2:
        raise BadInput("a jury has two different members at least: --members a,b,c")
    params = {"members": addresses, "rule": RULE}
    return JudgeVersion(name or JURY, JURY, params=params, scale="as its members give it")


def judge_by_jury(
    store: Store,
    members: Sequence[int | str],
    *,
    name: str | None = None,
    where: RowFilter | None = None,
    actor: str = "library",
) -> JuryReport:
    """Combine what is stored of several judge versions, store it, and say how far they agree (methods.md §6).

    An answer is combined once every member was asked about it; the current verdict of each counts. Nobody is asked,
    and a second time stores nothing.

    Args:
        store: Where the judgments are.
        members: The judge versions, as `get_version` takes them.
        name: What people call the jury; ``jury`` by default.
        where: Which answers; all of the log by default.
        actor: Who has them combined.

    Raises:
        NotFound: There is no such judge version.
        BadInput: Fewer than two different members.
    """
    with store.writing() as connection:
        versions = [get_version(connection, member) for member in members]
        return combine_jury(connection, versions, name=name, where=where, actor=actor)


def combine_jury(
    connection: Connection, members: Sequence[StoredVersion], *, name: str | None, where: RowFilter | None, actor: str
) -> JuryReport:
    """Do the same for members that were read already, within a writing transaction."""
    version = ensure_version(connection, jury_version(members, name))
    distinct = list({member.id: member for member in members}.values())
    judged = by_version(connection, [member.id for member in distinct], where)
    complete = {id_: one for id_, one in judged.items() if len(one.opinions) == len(distinct)}
    opinions = {id_: [one.opinions[member.id].verdict for member in distinct] for id_, one in sorted(complete.items())}
    before = _superseded(connection)
    verdicts = keep_combined(connection, version, opinions, actor)
    closed = _superseded(connection) - before
    report = jury_report(connection, version, distinct, complete, verdicts, not_reached=len(judged) - len(complete))
    return report if not closed else replace(report, notes=(*report.notes, members_are_one(closed)))


def members_are_one(closed: int) -> str:
    """Say why flags went: the members of a jury speak with one voice."""
    flags = "1 open flag" if closed == 1 else f"{closed:,} open flags"
    return f"{flags} of {judges_disagree.NAME} superseded: the members of a jury count as one judge, the jury."


def _superseded(connection: Connection) -> int:
    """Superseded flags never come back: what is more of them was closed meanwhile."""
    return count_flags(connection, judges_disagree.NAME, FlagState.SUPERSEDED)
