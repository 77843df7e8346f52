"""How far one judge agrees with itself: the same question asked several times (methods.md §6)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sqlalchemy import Connection

from judgeboard.agreement import PairSource
from judgeboard.agreement.own_repeats import temperature_note
from judgeboard.answer_pairs import GradeName
from judgeboard.domain import Estimate, Status
from judgeboard.errors import NotFound
from judgeboard.judge_health.commands import judge_options
from judgeboard.judge_kinds import RECORDED
from judgeboard.run_account import RunAccount
from judgeboard.stats.estimates import as_json, unmeasured
from judgeboard.stats.proportions import share
from judgeboard.store.judgments.judge_versions import (
    StoredVersion,
    get_version,
    list_versions,
    not_found,
    versions_asked_again,
)
from judgeboard.store.judgments.member_verdicts import Judged
from judgeboard.store.judgments.repeated_answers import repeated_answers

_ASKED_AGAIN = "asked more than once"
_GRADES: tuple[GradeName, ...] = ("quality", "groundedness", "label")


@dataclass(frozen=True, slots=True)
class Repeated:
    """One measure over the repeats: ``items`` have a value in every one, ``incomplete`` in some but not all."""

    measure: str
    items: int
    incomplete: int
    self_consistency: Estimate
    krippendorff_alpha: Estimate
    spread: Estimate
    accuracy: Estimate

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON values."""
        estimates = ("self_consistency", "krippendorff_alpha", "spread", "accuracy")
        return {
            **{name: getattr(self, name) for name in ("measure", "items", "incomplete")},
            **{name: as_json(getattr(self, name)) for name in estimates},
        }


@dataclass(frozen=True, slots=True)
class RepeatsReport:
    """A judge's repeats on every measure that it gives; ``main`` is the one with the most items.

    ``temperature`` is None where it is not known, or not the same in all versions.
    """

    name: str
    versions: tuple[StoredVersion, ...]
    repeats: int
    account: RunAccount
    temperature: float | None
    measures: tuple[Repeated, ...]
    notes: tuple[str, ...]

    @property
    def main(self) -> Repeated:
        """The measure that the report leads with."""
        return self.measures[0]

    def as_json(self) -> dict[str, Any]:
        """Return all of it as JSON values, the main measure first and by itself."""
        return {
            "judge": self.name,
            "versions": len(self.versions),
            "repeats": self.repeats,
            **self.account.as_json(),
            **self.main.as_json(),
            "temperature": self.temperature,
            "measures": [measure.as_json() for measure in self.measures],
            "notes": list(self.notes),
        }


def repeats_report(
    connection: Connection, *, version: int | str | None = None, name: str | None = None
) -> RepeatsReport:
    """Return how far a judge agrees with itself on the answers that it was asked about more than once.

    An item is an answer judged by one version; items of several versions are pooled. Where a repeat has no value on a
    measure, the item is incomplete and left out there.

    Args:
        connection: An open transaction.
        version: One judge version, as `get_version` takes it.
        name: All versions of a judge's name instead.

    Raises:
        NotFound: There is no such judge (those that were asked more than once are named), or nothing of it was asked
            twice.
    """
    versions = _versions(connection, name or "") if version is None else [_version(connection, version)]
    repeated = repeated_answers(connection, [each.id for each in versions])
    title = name or versions[0].title
    if not repeated.answers:
        raise NotFound(f"{title} was not asked twice about any answer{_again(versions[0])}")
    source = PairSource.open(connection)
    measures = [
        Repeated(
            each.measure,
            len(each.rows),
            each.incomplete,
            each.self_consistency,
            each.krippendorff_alpha,
            each.spread,
            _accuracy(source, versions, each.measure),
        )
        for each in repeated.measures()
    ]
    if not measures:
        raise NotFound(f"{title} gave no usable verdict in any repeat")
    temperatures = {each.params.get("temperature") for each in versions}
    temperature = temperatures.pop() if len(temperatures) == 1 else None
    return RepeatsReport(
        name=title,
        versions=tuple(versions),
        repeats=max(len(one.opinions) for one in repeated.answers),
        account=_account(repeated.answers),
        temperature=temperature,
        measures=tuple(measures),
        notes=(temperature_note(versions).text,),
    )


def _version(connection: Connection, which: int | str) -> StoredVersion:
    try:
        return get_version(connection, which)
    except NotFound:
        raise not_found(connection, which, versions_asked_again(connection), _ASKED_AGAIN) from None


def _versions(connection: Connection, name: str) -> list[StoredVersion]:
    versions = [each for each in list_versions(connection) if each.name == name]
    if not versions:
        raise not_found(connection, name, versions_asked_again(connection), _ASKED_AGAIN, what="judge")
    return versions


def _again(version: StoredVersion) -> str:
    """Which command asks a judge again, or reads that it was; of a judge that sums others up there is none."""
    if version.kind == RECORDED:
        return ": `judgeboard import FILE --kind repeats` brings in what it said again"
    options = judge_options(version)
    return "" if options is None else f": `judgeboard judge {options} --repeats 3` asks it"


def _accuracy(source: PairSource, versions: Sequence[StoredVersion], measure: str) -> Estimate:
    """How often repeat 0, the judge's current verdict, is what people say: by quality, else by label."""
    grade: GradeName = "quality" if measure == "quality" else "label"
    if measure not in _GRADES:
        return unmeasured(0, f"people gave no grades that compare with {measure}")
    pairs = [source.pairs(version.id, grade) for version in versions]
    hits = np.concatenate([each.judge == each.people for each in pairs])
    if not hits.size:
        return unmeasured(0, "people graded none of these answers")
    return share(hits, np.concatenate([each.groups for each in pairs]))


def _account(judged: Sequence[Judged]) -> RunAccount:
    counts = dict.fromkeys(Status, 0)
    for one in judged:
        for opinion in one.opinions.values():
            counts[opinion.verdict.status] += 1
    return RunAccount(
        ok=counts[Status.OK],
        unparsable=counts[Status.UNPARSABLE],
        refused=counts[Status.REFUSED],
        error=counts[Status.ERROR],
    )
