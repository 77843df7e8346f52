"""How far the members of a jury agree with each other, beside how far the jury agrees with people."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sqlalchemy import Connection

from judgeboard.agreement import PairSource
from judgeboard.agreement.statistics import measured
from judgeboard.combining.rule import SPLIT
from judgeboard.domain import Estimate, Label, Status, Verdict
from judgeboard.flags.rule import HALF_STEP
from judgeboard.run_account import RunAccount
from judgeboard.stats.arrays import BoolArray, FloatArray, IntArray
from judgeboard.stats.estimates import as_json, unmeasured
from judgeboard.stats.fleiss import fleiss_kappa
from judgeboard.stats.grouping import grouping
from judgeboard.stats.influence import mean_estimate
from judgeboard.stats.proportions import share
from judgeboard.store.judgments.judge_versions import StoredVersion
from judgeboard.store.judgments.member_verdicts import Judged


@dataclass(frozen=True, slots=True)
class Agreed:
    """A judge version's labels against people's, on the answers about which every member was asked."""

    version: StoredVersion
    accuracy: Estimate
    kappa: Estimate

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            "judge_version": self.version.title,
            "accuracy": as_json(self.accuracy),
            "kappa": as_json(self.kappa),
        }


@dataclass(frozen=True, slots=True)
class JuryReport:
    """A jury on the answers about which all members were asked (``items``).

    ``labelled`` are those that every member labelled (or scored: then cut at the rule's threshold), on ``unanimous``
    of them alike; ``wrong_together`` is the share of those, as far as people graded them, that people call otherwise.
    ``spread`` is the mean distance of the highest and the lowest member. ``split`` counts ties of labels.
    """

    jury: Agreed
    members: tuple[Agreed, ...]
    account: RunAccount
    items: int
    split: int
    labelled: int
    unanimous_items: int
    fleiss_kappa: Estimate
    unanimous: Estimate
    wrong_together: Estimate
    spread: Mapping[str, Estimate]
    notes: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Return all of it as JSON values."""
        return {
            "jury": self.jury.version.title,
            "members": [member.as_json() for member in self.members],
            **self.account.as_json(),
            **{name: getattr(self, name) for name in ("items", "split")},
            "accuracy": as_json(self.jury.accuracy),
            "kappa": as_json(self.jury.kappa),
            "labelled": self.labelled,
            "unanimous_items": self.unanimous_items,
            **{name: as_json(getattr(self, name)) for name in ("fleiss_kappa", "unanimous", "wrong_together")},
            "spread": {measure: as_json(estimate) for measure, estimate in self.spread.items()},
            "notes": list(self.notes),
        }


def jury_report(
    connection: Connection,
    version: StoredVersion,
    members: Sequence[StoredVersion],
    judged: Mapping[int, Judged],
    verdicts: Mapping[int, Verdict],
    *,
    not_reached: int,
) -> JuryReport:
    """Return what a jury comes to.

    Args:
        connection: An open transaction that sees the combined verdicts.
        version: The jury.
        members: Its members.
        judged: The answers about which all members were asked, by response.
        verdicts: The combined verdicts, by response.
        not_reached: Answers about which only some members were asked.
    """
    source = PairSource.open(connection)
    ids = sorted(judged)
    labels, cut = _labels(judged, ids, members, source.cut)
    groups = np.array([judged[id_].evidence_group for id_ in ids], dtype=np.int64)
    labelled = (labels > 0).all(axis=1)
    votes = np.stack([(labels[labelled] == code).sum(axis=1) for code in (1, 2)], axis=1)
    alike = votes.max(axis=1) == len(members)
    ok = sum(verdict.status is Status.OK for verdict in verdicts.values())
    return JuryReport(
        jury=_agreed(source, version, ids),
        members=tuple(_agreed(source, member, ids) for member in members),
        account=RunAccount(ok=ok, unparsable=len(verdicts) - ok, not_reached=not_reached),
        items=len(ids),
        split=sum(verdict.error == SPLIT for verdict in verdicts.values()),
        labelled=int(labelled.sum()),
        unanimous_items=int(alike.sum()),
        fleiss_kappa=fleiss_kappa(votes, grouping(groups[labelled], len(votes))),
        unanimous=share(alike, groups[labelled]),
        wrong_together=_wrong_together(
            source, np.array(ids, dtype=np.int64)[labelled][alike], votes[alike], groups[labelled][alike]
        ),
        spread={measure: _spread(judged, ids, groups, measure) for measure in ("groundedness", "quality")},
        notes=tuple(
            f"{member.title} gives no label on {n:,} answers and has no vote on it there; among the judges and against "
            f"people its groundedness is cut at {source.cut:g}."
            for member, n in zip(members, cut.tolist(), strict=True)
            if n
        ),
    )


def _agreed(source: PairSource, version: StoredVersion, ids: Sequence[int]) -> Agreed:
    """Jury and members on the same answers: a member's other ones are no answers of the jury."""
    pairs = source.pairs(version.id, "label")
    statistics = measured(pairs.at(np.isin(pairs.response_ids, np.array(ids, dtype=np.int64))))
    return Agreed(version, statistics.agreement, statistics.kappa)


def _labels(
    judged: Mapping[int, Judged], ids: Sequence[int], members: Sequence[StoredVersion], cut_at: float
) -> tuple[IntArray, IntArray]:
    """The label of each answer (row) by each member: 1 grounded, 2 hallucinated, 0 none; and how many were cut."""
    labels = np.zeros((len(ids), len(members)), dtype=np.int64)
    cut = np.zeros(len(members), dtype=np.int64)
    for row, id_ in enumerate(ids):
        for column, member in enumerate(members):
            verdict = judged[id_].opinions[member.id].verdict
            bad = verdict.label is Label.HALLUCINATED
            if verdict.label is None:
                if verdict.groundedness is None:
                    continue
                bad = verdict.groundedness < cut_at - HALF_STEP
                cut[column] += 1
            labels[row, column] = 2 if bad else 1
    return labels, cut


def _wrong_together(source: PairSource, unanimous: IntArray, votes: IntArray, groups: IntArray) -> Estimate:
    """The share that people call otherwise of the answers on which all judges agree; by id, as their other columns."""
    people = source.people("label")
    graded = np.isin(people.response_ids, unanimous)
    if not graded.any():
        return unmeasured(0, "people graded none of the answers on which the judges agree")
    at = np.searchsorted(unanimous, people.response_ids[graded])
    wrong: BoolArray = votes.argmax(axis=1)[at] + 1 != people.values[graded]
    return share(wrong, groups[at])


def _spread(judged: Mapping[int, Judged], ids: Sequence[int], groups: IntArray, measure: str) -> Estimate:
    rows, apart = [], []
    for row, id_ in enumerate(ids):
        given = [
            value
            for opinion in judged[id_].opinions.values()
            if (value := getattr(opinion.verdict, measure)) is not None
        ]
        if len(given) > 1:
            rows.append(row)
            apart.append(max(given) - min(given))
    if not rows:
        return unmeasured(0, f"no answer on which two members gave a {measure}")
    values: FloatArray = np.array(apart, dtype=np.float64)
    return mean_estimate(values, grouping(groups[rows], len(rows)))
