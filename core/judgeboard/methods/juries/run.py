"""Combines the verdicts of several judge versions, the members of a jury, and measures how far members agree."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Any

import numpy as np
from sqlalchemy import Connection

from judgeboard.domain import JURY, Estimate, JudgeVersion, Status, Verdict
from judgeboard.errors import BadInput, NotFound
from judgeboard.formats.output import Column, Columns, Table
from judgeboard.measure.agreement import AgreedWithPeople, agreed_with_people
from judgeboard.measure.agreement_result import answers_words
from judgeboard.measure.choice import CountedGrades
from judgeboard.measure.notes import Note, note
from judgeboard.measure.ratings import AnswerRatings, PairSource, with_cut
from judgeboard.runs.combining import RULE, combined, store_combined, stored_members
from judgeboard.runs.method import RunAccount
from judgeboard.stats.arrays import FloatArray, IntArray, grouping
from judgeboard.stats.chance_corrected import fleiss_kappa
from judgeboard.stats.estimates import (
    complement,
    no_interval_sentences,
    number_words,
    percent_words,
    unmeasured,
)
from judgeboard.stats.intervals import mean_estimate
from judgeboard.stats.proportions import share
from judgeboard.store.engine import Readable, Store
from judgeboard.store.filters import RowFilter
from judgeboard.store.flags import SPLIT
from judgeboard.store.grades import GROUNDED, HALLUCINATED, LABELS
from judgeboard.store.judge_versions import ensure_version, get_version
from judgeboard.store.tables import StoredVersion
from judgeboard.store.verdicts import Judged, by_version, count_answers, latest_combined


@dataclass(frozen=True, slots=True)
class JuryReport:
    """The figures of a jury on the answers with a verdict of the jury, or a tie.

    The ``jury`` and the ``members`` are compared with people on the answers with a verdict of the
    jury. ``items`` counts the answers that all members judged, also after the jury last ran.
    ``labelled`` counts answers with a label (or one derived from groundedness) from every
    member; ``unanimous_items`` counts labelled answers on which the labels agree.
    ``wrong_together`` is the share of the unanimous answers that people label differently. This
    share describes ``wrong_together_answers`` answers; None: only answers that people graded.
    ``spread`` is the mean distance between the highest and the lowest score of the members.
    ``split`` counts ties of labels, ``answers`` the answers of the log that match ``where``.
    """

    jury: AgreedWithPeople
    members: tuple[AgreedWithPeople, ...]
    account: RunAccount
    items: int
    answers: int
    split: int
    labelled: int
    unanimous_items: int
    fleiss_kappa: Estimate
    unanimous: Estimate
    wrong_together: Estimate
    wrong_together_answers: int | None
    spread: Mapping[str, Estimate]
    notes: tuple[Note, ...] = ()
    where: Mapping[str, Any] = field(default_factory=dict)

    @property
    def left_out(self) -> dict[str, int]:
        """The answers without a verdict of the jury, by reason. The counts and ``account.ok`` add up to ``answers``."""
        counts = {
            "labels tied": self.split,
            "no measure from more than half of the members": self.account.unparsable - self.split,
            "judged by every member, but not combined yet": self.items - self.account.asked,
            "not judged by every member": self.account.not_reached,
            "judged by no member": self.answers - self.items - self.account.not_reached,
        }
        return {reason: n for reason, n in counts.items() if n}

    def judges_table(self) -> Table:
        """Return the agreement of the jury and of each member with people."""
        columns: Columns[AgreedWithPeople] = {
            Column("Judge", width=150): lambda judge: judge.judge_version,
            Column("Agreement with people", "share estimate", width=115): lambda judge: (
                judge.accuracy
            ),
            Column("Kappa", "estimate", width=125): lambda judge: judge.kappa,
            Column("n", "count", width=65, help="Labels behind the figures"): lambda judge: (
                judge.accuracy.n
            ),
            Column("On", width=160): lambda judge: answers_words(judge.accuracy.n, judge.answers),
        }
        return Table.of((self.jury, *self.members), columns)

    def figures_table(self) -> Table:
        """Return how far the members agree with each other."""
        figures: dict[str, tuple[Estimate, Callable[[Estimate], str]]] = {
            "Unanimous": (self.unanimous, percent_words),
            "Unanimous but wrong according to people": (self.wrong_together, percent_words),
            "Fleiss' kappa": (self.fleiss_kappa, number_words),
            **{
                f"Mean range of {name}": (each, number_words)
                for name, each in self.spread.items()
                if each.n
            },
        }
        columns = Column("Members"), Column("Value"), Column("n", "count")
        return Table(
            columns, tuple((name, words(each), each.n) for name, (each, words) in figures.items())
        )

    def headline(self) -> Note:
        """Return how many answers have a verdict of the jury."""
        left_out = [f"{reason} ({n:,})" for reason, n in self.left_out.items()]
        if left_out:
            return note("jury_left_out", ok=self.account.ok, answers=self.answers, reasons=left_out)
        return note("jury", ok=self.account.ok)

    @property
    def without_interval(self) -> tuple[str, ...]:
        """Why figures of agreement with people have no interval, in sentences."""
        judges = self.jury, *self.members
        figures = [
            (each.judge_version, figure)
            for each in judges
            for figure in (each.accuracy, each.kappa)
        ]
        return tuple(
            no_interval_sentences([*figures, ("unanimous but wrong", self.wrong_together)])
        )


def jury_report(
    connection: Connection,
    version: StoredVersion,
    members: Sequence[StoredVersion],
    answer_opinions: Mapping[int, Judged],
    verdicts: Mapping[int, Verdict],
    *,
    not_reached: int,
    answers: int,
    where: RowFilter | None = None,
) -> JuryReport:
    """Return the agreement of a jury and the members on the answers of the jury's ``verdicts``.

    ``answer_opinions`` are the answers that all members judged and that match ``where``. The
    figures with people leave out what is hidden from the viewer of the ``connection``.
    """
    ratings = AnswerRatings(
        PairSource(connection, CountedGrades(where=where or RowFilter())), "label"
    )
    source = ratings.source
    ids = sorted(verdicts)
    # Labels (positions in `LABELS`) by answer and member. A missing label is derived from groundedness.
    labels = _values(
        answer_opinions, ids, members, lambda verdict: LABELS.index(verdict.label or "")
    ).astype(np.int64)
    cut = np.array([source.cuts.of(answer_opinions[id_].query_type) for id_ in ids]).reshape(-1, 1)
    labels, was_cut = with_cut(
        labels, _values(answer_opinions, ids, members, attrgetter("groundedness")), cut
    )
    groups = np.array([answer_opinions[id_].evidence_group for id_ in ids], dtype=np.int64)
    rows = (labels > 0).all(axis=1)
    votes = np.stack(
        [(labels[rows] == code).sum(axis=1) for code in (GROUNDED, HALLUCINATED)], axis=1
    )
    alike = votes.max(axis=1) == len(members)
    ok = sum(verdict.status is Status.OK for verdict in verdicts.values())
    # The answers with a label of the jury, or with a groundedness from which one is derived.
    decided_ids = np.array(
        [
            id_
            for id_ in ids
            if verdicts[id_].status is Status.OK
            and (verdicts[id_].label, verdicts[id_].groundedness) != (None, None)
        ],
        dtype=np.int64,
    )
    # Where all members agree, the label of any member is the label of all.
    together = agreed_with_people(ratings, members[0], np.array(ids, dtype=np.int64)[rows][alike])
    return JuryReport(
        jury=agreed_with_people(ratings, version, decided_ids),
        members=tuple(agreed_with_people(ratings, member, decided_ids) for member in members),
        account=RunAccount(ok=ok, unparsable=len(verdicts) - ok, not_reached=not_reached),
        items=len(answer_opinions),
        answers=answers,
        split=sum(verdict.error == SPLIT for verdict in verdicts.values()),
        labelled=int(rows.sum()),
        unanimous_items=int(alike.sum()),
        fleiss_kappa=fleiss_kappa(votes, grouping(groups[rows], len(votes))),
        unanimous=share(alike, groups[rows]),
        wrong_together=complement(together.accuracy),
        wrong_together_answers=together.answers,
        spread={
            measure: _spread(_values(answer_opinions, ids, members, attrgetter(measure)), groups)
            for measure in ("groundedness", "quality")
        },
        notes=tuple(
            note("votes_on_no_label", judge=member.title, n=n, cut=source.cuts.words)
            for member, n in zip(members, was_cut.sum(axis=0).tolist(), strict=True)
            if n
        ),
    )


def _values(
    answer_opinions: Mapping[int, Judged],
    ids: Sequence[int],
    members: Sequence[StoredVersion],
    value: Callable[[Verdict], Any],
) -> FloatArray:
    """Return one value per answer (row) and member (column); NaN if the verdict has none."""
    rows = [
        [value(answer_opinions[id_].opinions[member.id].verdict) for member in members]
        for id_ in ids
    ]
    return np.array(rows, dtype=np.float64).reshape(len(ids), len(members))


def _spread(values: FloatArray, groups: IntArray) -> Estimate:
    several = (~np.isnan(values)).sum(axis=1) > 1
    if not several.any():
        return unmeasured(0, "no answer has scores of two members")
    apart = np.nanmax(values[several], axis=1) - np.nanmin(values[several], axis=1)
    return mean_estimate(apart, grouping(groups[several], len(apart)))


def jury_version(members: Sequence[StoredVersion], name: str | None = None) -> JudgeVersion:
    """Return the version of a jury, with the sorted fingerprints of the members and the rule; raises BadInput.

    A jury cannot be a member of a jury, because judges could then vote twice.
    """
    for each in members:
        if each.kind == JURY:
            raise BadInput(
                f"{each.title} is a jury, and a jury cannot be a member of a jury. Name its members instead"
            )
    addresses = sorted({member.fingerprint for member in members})
    if len(addresses) < 2:
        raise BadInput("a jury needs at least two different members, for example: A B C")
    params = {"members": addresses, "rule": RULE}
    return JudgeVersion(name or JURY, JURY, params=params, scale="as its members give it")


def judge_by_jury(
    store: Store,
    members: Sequence[int | str],
    *,
    name: str | None = None,
    where: RowFilter | None = None,
    actor: str = "library",
    seen: Readable | None = None,
) -> JuryReport:
    """Combine the stored current verdicts of several judge versions, store the result, and report agreement.

    Answers that not all members judged are left out. The figures with people read from ``seen``
    (default: the whole store). Makes no model calls and is idempotent. Raises NotFound
    for an unknown member, and BadInput for fewer than two different members.
    """
    with store.writing() as connection:
        member_versions = [get_version(connection, member) for member in members]
        version = ensure_version(connection, jury_version(member_versions, name))
        versions = list({member.id: member for member in member_versions}.values())
        answer_opinions = by_version(connection, [member.id for member in versions], where)
        complete = _judged_by_all(answer_opinions, versions)
        opinions = {id_: _verdicts(each, versions) for id_, each in sorted(complete.items())}
        verdicts = store_combined(connection, version, opinions, actor)
        not_reached, answers = (
            len(answer_opinions) - len(complete),
            count_answers(connection, where),
        )
    with (seen or store).reading() as connection:
        report = jury_report(
            connection,
            version,
            versions,
            complete,
            verdicts,
            not_reached=not_reached,
            answers=answers,
            where=where,
        )
    return replace(report, where=(where or RowFilter()).as_dict())


def _judged_by_all(
    answer_opinions: Mapping[int, Judged], members: Sequence[StoredVersion]
) -> dict[int, Judged]:
    return {
        id_: each for id_, each in answer_opinions.items() if len(each.opinions) == len(members)
    }


def _verdicts(answer: Judged, members: Sequence[StoredVersion]) -> list[Verdict]:
    return [answer.opinions[member.id].verdict for member in members]


def stored_jury_report(connection: Connection, version: StoredVersion) -> JuryReport:
    """Return the agreement of a stored jury's members on the answers with a verdict of the jury."""
    members = stored_members(connection, version)
    verdict_ids = latest_combined(connection, version.id)
    answer_opinions = by_version(connection, [member.id for member in members])
    complete = _judged_by_all(answer_opinions, members)
    verdicts = {
        id_: combined(_verdicts(each, members))
        for id_, each in complete.items()
        if id_ in verdict_ids
    }
    if not verdicts:
        names = " ".join(f"'{member.title}'" for member in members)
        raise NotFound(
            f"{version.title} has no verdicts. To combine: `judgeboard compare judges {names}`"
        )
    not_reached, answers = len(answer_opinions) - len(complete), count_answers(connection)
    return jury_report(
        connection, version, members, complete, verdicts, not_reached=not_reached, answers=answers
    )
