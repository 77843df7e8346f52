"""Aligning judges: the role of each evidence group, and the looks at held-out answers, which are stored as events."""

from dataclasses import asdict, dataclass
from datetime import datetime
from enum import StrEnum
from functools import cache
from typing import Any

from sqlalchemy import Connection, select

from judgeboard.flags.rules import sampling_number
from judgeboard.registry.methods import load_object, registrations
from judgeboard.store.events import record_event
from judgeboard.store.tables import EVENT

LOOKED, ACCEPTED = "align_judge", "accept_aligned_judge"
_HELD_OUT, _DEVELOP = 0.5, 0.8  # the sampling numbers at which the roles end


class EvidenceRole(StrEnum):
    """What the labels of an evidence group are for: to test a changed prompt, to develop the prompt, or as examples."""

    HELD_OUT = "held_out"
    DEVELOP = "develop"
    EXAMPLES = "examples"


@cache
def evidence_role(group: int) -> EvidenceRole:
    """Return the role of an evidence group. The role depends only on question and passages, and never changes."""
    number = sampling_number("align", "default", str(group))
    if number < _HELD_OUT:
        return EvidenceRole.HELD_OUT
    return EvidenceRole.DEVELOP if number < _DEVELOP else EvidenceRole.EXAMPLES


def reserved_groups(connection: Connection) -> frozenset[int]:
    """Return the evidence groups that have no role, because a method needs labels that no prompt was made with."""
    places = [each.reserves for each in registrations() if each.reserves is not None]
    return frozenset[int]().union(*(load_object(place)(connection) for place in places))


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """A comparison of a judge version with a candidate on held-out answers.

    ``number`` counts the looks at these labels, and ``held_out`` the labels. ``mended`` are the ids
    of the answers on which only the candidate agrees with people, ``broken`` of the answers on
    which only the version agrees. ``shown`` are the ids of the answers whose labels chose the
    candidate, or were seen by the model that wrote the candidate.
    """

    version_id: int
    candidate_id: int
    model: str
    number: int
    conclusion: str
    sentence: str
    held_out: int
    mended: tuple[int, ...]
    broken: tuple[int, ...]
    shown: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class StoredLook:
    """A look with id, actor and time; ``accepted_id`` is the judge version of an accepted candidate."""

    id: int
    actor: str
    at: datetime
    look: Look
    accepted_id: int | None


def record_look(connection: Connection, look: Look, actor: str) -> int:
    """Store a look and return its id."""
    return record_event(connection, LOOKED, actor, details=asdict(look))


def record_accepted(connection: Connection, look_id: int, version_id: int, actor: str) -> None:
    """Store that the candidate of a look became a judge version."""
    record_event(connection, ACCEPTED, actor, details={"look": look_id, "version": version_id})


def stored_looks(connection: Connection, version_id: int | None = None) -> list[StoredLook]:
    """Return all looks, or the looks of one judge version, the latest first."""
    query = select(EVENT.c.id, EVENT.c.kind, EVENT.c.actor, EVENT.c.at, EVENT.c.details)
    rows = connection.execute(
        query.where(EVENT.c.kind.in_((LOOKED, ACCEPTED))).order_by(EVENT.c.id.desc())
    ).all()
    accepted_ids = {
        row.details["look"]: row.details["version"] for row in rows if row.kind == ACCEPTED
    }
    looks = []
    for row in rows:
        if row.kind == LOOKED:
            # JSON has a list in place of each tuple.
            fields: dict[str, Any] = {
                name: tuple(value) if isinstance(value, list) else value
                for name, value in row.details.items()
            }
            look = Look(**fields)
            looks.append(StoredLook(row.id, row.actor, row.at, look, accepted_ids.get(row.id)))
    return [each for each in looks if version_id in {None, each.look.version_id}]


def accepted_version(connection: Connection, version_id: int) -> int | None:
    """Return the id of the version that came of a judge version by accepted candidates, None if there is none."""
    next_ids = {
        each.look.version_id: each.accepted_id
        for each in reversed(stored_looks(connection))
        if each.accepted_id
    }
    chain = [version_id]
    while (after := next_ids.get(chain[-1])) is not None and after not in chain:
        chain.append(after)
    return chain[-1] if len(chain) > 1 else None


def shown_answers(connection: Connection) -> dict[int, frozenset[int]]:
    """Return the ids of the answers whose labels shaped or chose a judge version's prompt, by the id of the version."""
    return {
        version_id: frozenset(each.look.shown)
        for each in stored_looks(connection)
        for version_id in (each.look.candidate_id, each.accepted_id)
        if version_id is not None
    }
