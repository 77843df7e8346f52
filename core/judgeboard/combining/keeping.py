"""Stores combined verdicts as judgments of a version of their own; a second time stores nothing."""

from collections.abc import Mapping, Sequence

from sqlalchemy import Connection

from judgeboard.combining.rule import combined
from judgeboard.domain import Verdict
from judgeboard.store.events import record_event
from judgeboard.store.judgments.judge_versions import StoredVersion
from judgeboard.store.judgments.member_verdicts import latest_combined
from judgeboard.store.judgments.retired_versions import refuse_retired
from judgeboard.store.landing import LandedVerdict, land_judgments


def keep_combined(
    connection: Connection, version: StoredVersion, opinions: Mapping[int, Sequence[Verdict]], actor: str
) -> dict[int, Verdict]:
    """Combine and store what several members said of each answer, by response; return the combined verdicts.

    An answer on which the members say what they said before is left as it is; otherwise its new combined verdict is
    one more ask of the version.

    Raises:
        BadInput: The version is retired.
    """
    verdicts = {response_id: combined(given) for response_id, given in opinions.items()}
    known = latest_combined(connection, version.id)
    items = []
    for response_id, verdict in verdicts.items():
        before = known.get(response_id)
        if before is None:
            items.append(LandedVerdict(response_id, 0, 0, verdict))
        elif (before.status, before.reasoning, before.error) != (verdict.status, verdict.reasoning, verdict.error):
            items.append(LandedVerdict(response_id, before.ask + 1, 0, verdict))
    if items:
        refuse_retired(connection, version)
        record_event(connection, "combine", actor, details={"version": version.id, "answers": len(items)})
        land_judgments(connection, version, None, items)
    return verdicts
