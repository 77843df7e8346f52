"""What the page of judges shows of a jury's members, or of a judge's repeats."""

from sqlalchemy import Connection

from judgeboard.combining.jury_report import JuryReport, jury_report
from judgeboard.combining.repeats_report import RepeatsReport, repeats_report
from judgeboard.combining.rule import combined
from judgeboard.errors import NotFound
from judgeboard.judge_kinds import JURY, RECORDED, REPEATS
from judgeboard.store.judgments.judge_versions import StoredVersion, list_versions
from judgeboard.store.judgments.member_verdicts import by_version, latest_combined


def combined_report(connection: Connection, version: StoredVersion) -> JuryReport | RepeatsReport:
    """Return how far the members of a jury agree, or how far any other version agrees with itself.

    Nothing is stored: a jury is shown on the answers that it has a verdict on. Repeats are the version's own, those of
    its member where it sums some up, and for a recorded judge those of all its rubrics.

    Raises:
        NotFound: There is nothing to show; the message names the command.
    """
    if version.kind == JURY:
        return _jury(connection, version)
    if version.kind == RECORDED:
        return repeats_report(connection, name=version.name)
    if version.kind == REPEATS:
        return repeats_report(connection, version=_members(connection, version)[0].id)
    return repeats_report(connection, version=version.id)


def _jury(connection: Connection, version: StoredVersion) -> JuryReport:
    members = _members(connection, version)
    said = latest_combined(connection, version.id)
    judged = by_version(connection, [member.id for member in members])
    complete = {id_: one for id_, one in judged.items() if id_ in said and len(one.opinions) == len(members)}
    if not complete:
        names = ",".join(f"'{member.title}'" for member in members)
        raise NotFound(f"{version.title} has combined no answer: `judgeboard jury --recorded --members {names}` does")
    verdicts = {id_: combined([one.opinions[member.id].verdict for member in members]) for id_, one in complete.items()}
    return jury_report(connection, version, members, complete, verdicts, not_reached=len(judged) - len(complete))


def _members(connection: Connection, version: StoredVersion) -> list[StoredVersion]:
    named = set(version.params.get("members") or ())
    members = [each for each in list_versions(connection) if each.fingerprint in named]
    if not members:
        raise NotFound(f"{version.title} names no member that is stored")
    return members
