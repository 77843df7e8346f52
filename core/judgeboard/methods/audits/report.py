"""The report of an audit: a supreme judge's marks compared with people's grades."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import compress
from typing import Any

import numpy as np
import numpy.typing as npt
from sqlalchemy import Connection

from judgeboard.domain import AUDIT, Estimate
from judgeboard.errors import BadInput
from judgeboard.flags.rules import sampling_number
from judgeboard.formats.output import Column, Columns, Table
from judgeboard.measure.notes import Note, note
from judgeboard.measure.ratings import PairSource, RatingPairs
from judgeboard.measure.result import ALL, About, Result, Row
from judgeboard.measure.words import FIGURES
from judgeboard.methods.audits import queries
from judgeboard.methods.audits.queries import AuditedJudgment
from judgeboard.runs.method import RunAccount
from judgeboard.stats.arrays import AnyArray
from judgeboard.stats.estimates import percent, unmeasured
from judgeboard.stats.proportions import share
from judgeboard.store.filters import RowFilter
from judgeboard.store.judge_versions import list_versions
from judgeboard.store.tables import StoredVersion
from judgeboard.store.verdicts import count_verdicts

CAUGHT, MISSED = "wrong, marked wrong", "wrong, not marked"
ACCUSED, RIGHTLY_UNMARKED = "right, marked wrong", "right, not marked"


@dataclass(frozen=True, slots=True)
class AuditSample:
    """A share (above 0, at most 1) of the answers in ``where``; the same seed selects the same answers.

    Only seed, source and external id decide. So with the same seed, a larger share contains the
    smaller one.
    """

    share: float = 1.0
    seed: int = 0
    where: RowFilter = field(default_factory=RowFilter)

    def __post_init__(self) -> None:
        if not 0 < self.share <= 1:
            raise BadInput(f"--sample must be above 0 and at most 1, not {self.share:g}")

    def drawn(self, judgments: list[AuditedJudgment]) -> list[AuditedJudgment]:
        """Return the judgments in the sample."""
        seed = str(self.seed)
        return [
            judgment
            for judgment in judgments
            if sampling_number(seed, judgment.source, judgment.external_id) < self.share
        ]

    def as_dict(self) -> dict[str, Any]:
        """Return the sample as JSON values."""
        return {"where": self.where.as_dict(), "sample": self.share, "seed": self.seed}


@dataclass(frozen=True, slots=True)
class AuditedAnswer:
    """An answer whose verdict is reviewed, with the judge's label and people's label."""

    response_id: int
    source: str
    external_id: str
    judge: str
    people: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditReport(Result):
    """An audit compared with people. A verdict is wrong if it differs from people's label; a mark predicts this.

    ``about.judges`` are the audited version and the supreme judge. ``about.counts``: ``audited``
    verdicts have a usable review, ``marked`` verdicts are wrong according to the review,
    ``graded`` verdicts have a label of people, and ``flags_raised`` counts flags on marked
    verdicts, including decided flags. The slices of the figure ``n`` are the graded verdicts by
    people's label and mark. ``caught`` are marked wrong verdicts, ``missed`` unmarked wrong
    verdicts, ``accused`` marked right verdicts.
    """

    sample: float
    seed: int
    account: RunAccount
    caught: tuple[AuditedAnswer, ...]
    missed: tuple[AuditedAnswer, ...]
    accused: tuple[AuditedAnswer, ...]


def audit_report(
    connection: Connection,
    audited: StoredVersion,
    supreme: StoredVersion,
    sample: AuditSample | None = None,
    account: RunAccount | None = None,
    *,
    reviewed_only: bool = False,
    not_comparable: int = 0,
) -> AuditReport:
    """Return the report on the stored reviews of one version's verdicts by another version.

    For each current verdict of the audited version, the latest review by the supreme version
    counts. People's majority label is compared with the judge's label, or with the label derived
    from groundedness. With ``reviewed_only``, verdicts without a review are left out and do not
    count as not reached. ``not_comparable`` is for a note.
    """
    sample = sample or AuditSample()
    reviews = queries.latest_reviews(connection, supreme.id, audited.id)
    judgments = (
        queries.reviewed_judgments(connection, reviews)
        if reviewed_only
        else sample.drawn(queries.audited_judgments(connection, audited.id, sample.where))
    )
    usable = {
        judgment_id: review for judgment_id, review in reviews.items() if review.correct is not None
    }
    reviewed_judgments = {
        each.response_id: each for each in judgments if each.judgment_id in usable
    }
    wrong_by_mark = {
        id_ for id_, each in reviewed_judgments.items() if not usable[each.judgment_id].correct
    }
    source = PairSource(connection)
    pairs = source.pairs(audited.id, "label")
    pairs = pairs.at(
        np.isin(pairs.response_ids, np.array(sorted(reviewed_judgments), dtype=np.int64))
    )
    marked = np.isin(pairs.response_ids, np.array(sorted(wrong_by_mark), dtype=np.int64))
    wrong = pairs.judge != pairs.people
    answers = [
        AuditedAnswer(
            id_, reviewed_judgments[id_].source, reviewed_judgments[id_].external_id, judge, people
        )
        for id_, judge, people in zip(
            pairs.response_ids.tolist(),
            *(pairs.scale.named(side).tolist() for side in (pairs.judge, pairs.people)),
            strict=True,
        )
    ]

    caught, missed, accused = (
        tuple(compress(answers, rows))
        for rows in (wrong & marked, wrong & ~marked, ~wrong & marked)
    )
    flags = queries.count_flagged(connection, audited.fingerprint, wrong_by_mark)
    reason = None if pairs.n else "people graded none of the audited answers"
    if not reviewed_judgments:
        reason = "no verdict has a usable review"
    draw_counts = Counter(
        reviews[each.judgment_id].inclusion_probability for each in reviewed_judgments.values()
    )
    account = account or account_of_audit(
        judgments, {id_: review.status for id_, review in reviews.items()}
    )
    counts = {CAUGHT: len(caught), MISSED: len(missed), ACCUSED: len(accused)}
    counts[RIGHTLY_UNMARKED] = int((~wrong & ~marked).sum())
    why_no_precision = reason or "no verdict that people graded is marked"
    why_no_recall = reason or "no audited verdict is wrong according to people"
    why_no_alarms = reason or "no audited verdict is right according to people"
    rates = {
        "marks_precision": _share(wrong, marked, pairs.groups, why_no_precision),
        "marks_recall": _share(marked, wrong, pairs.groups, why_no_recall),
        "false_alarm_rate": _share(marked, ~wrong, pairs.groups, why_no_alarms),
    }
    if account.asked and not reviewed_judgments:
        headline = note("audit_unusable", supreme=supreme.title, reviews=account.asked)
    elif not pairs.n:
        headline = note(
            "audit_ungraded",
            supreme=supreme.title,
            marked=len(wrong_by_mark),
            verdicts=len(reviewed_judgments),
        )
    else:
        headline = note(
            "audit", supreme=supreme.title, caught=len(caught), wrong=len(caught) + len(missed)
        )
    unflagged, draws = len(wrong_by_mark) - flags, sorted(draw_counts.items())
    caveats = _caveats(pairs, source.cuts.words, unflagged, not_comparable, sample, draws, rates)
    return AuditReport(
        about=About(
            judges=(audited.title, supreme.title),
            where=sample.where.as_dict(),
            by="verdict",
            unit="verdicts",
            counts={
                "audited": len(reviewed_judgments),
                "marked": len(wrong_by_mark),
                "graded": pairs.n,
                "flags_raised": flags,
            },
        ),
        headline=headline,
        rows=(
            *(Row("n", name, n, None, None, pairs.n, None) for name, n in counts.items()),
            *(Row.of(name, ALL, rate) for name, rate in rates.items()),
        ),
        caveats=tuple(caveats),
        sample=sample.share,
        seed=sample.seed,
        account=account,
        caught=caught,
        missed=missed,
        accused=accused,
    )


def _share(hits: AnyArray, of: AnyArray, groups: npt.NDArray[Any], undefined: str) -> Estimate:
    """Return the share of ``hits`` in the rows ``of``, by evidence group; by answer if there is only one group."""
    if not of.any():
        return unmeasured(0, undefined)
    of_these = groups[of]
    return share(hits[of], of_these if len(np.unique(of_these)) > 1 else None)


def account_of_audit(
    judgments: Sequence[AuditedJudgment], statuses: Mapping[int, str]
) -> RunAccount:
    """Return the counts of an audit from the status of each review, by judgment id."""
    counts = Counter(
        statuses[each.judgment_id] for each in judgments if each.judgment_id in statuses
    )
    return replace(RunAccount.of(counts), not_reached=len(judgments) - counts.total())


def _caveats(
    pairs: RatingPairs,
    cut_at: str,
    unflagged: int,
    not_comparable: int,
    sample: AuditSample,
    draws: Sequence[tuple[float, int]],
    rates: Mapping[str, Estimate],
) -> Iterator[Note]:
    if cut := int(pairs.cut.sum()):
        yield note("cut", n=cut, cut=cut_at)
    if unflagged:
        yield note("marks_without_flag", n=unflagged)
    if not_comparable:
        yield note("nothing_to_compare", n=not_comparable)
    if any(share != sample.share for share, _ in draws):
        yield note("audit_draws", draws=[f"{n:,} at {percent(share)}" for share, n in draws])
    if reasons := dict.fromkeys(rate.reason or "" for rate in rates.values() if rate.value is None):
        yield note("not_available", why="; ".join(reasons))


def rates_table(report: AuditReport) -> Table:
    """Return the rates of all verdicts. A cell is too narrow for a reason, which a caveat gives."""
    columns: Columns[Row] = {
        Column("Rate"): lambda row: FIGURES[row.figure].title,
        Column("Value", "share estimate"): lambda row: None if row.value is None else row.estimate,
        Column("Of", "count"): lambda row: row.n,
        Column("Meaning"): lambda row: FIGURES[row.figure].help,
    }
    return Table.of((row for row in report.rows if row.slice is ALL), columns)


def done_audits(connection: Connection) -> list[tuple[StoredVersion, StoredVersion]]:
    """Return the audited version and the supreme judge of every audit with reviews, the latest first.

    Audits without usable reviews come last.
    """
    versions = {version.id: version for version in list_versions(connection)}
    return [
        (versions[audited], versions[supreme])
        for audited, supreme in queries.audits_done(connection)
    ]


def audit_caveats(
    connection: Connection, audited: StoredVersion, supreme: StoredVersion, report: AuditReport
) -> Iterator[Note]:
    """Yield what the supreme judge saw, the number of reviewed verdicts, and what limits the figures."""
    approach = supreme.params.get("approach") if supreme.kind == AUDIT else "alone"
    yield note(
        {"alone": "audit_of_two_judges", 1: "audit_of_verdicts"}.get(
            approach, "audit_by_own_scores"
        )
    )
    n = report.about.counts["audited"]
    yield note("audit_usable", n=n, verdicts=count_verdicts(connection, audited.id))
    if report.account.asked > n and supreme.model is not None:
        yield note("audit_again", n=report.account.asked - n)
    yield from report.caveats
