"""What measuring agreement gives: one shape for pages, charts, CSV files, commands, JSON and reports."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from judgeboard.agreement.choice import By, Of, Unit
from judgeboard.agreement.statistics import Statistics
from judgeboard.domain import Estimate
from judgeboard.stats.alternative_annotator import AlternativeAnnotatorTest
from judgeboard.stats.calibration import Tenth
from judgeboard.stats.confusion import Confusion
from judgeboard.stats.people import Human
from judgeboard.stats.rater_agreement import RaterAgainstGold, RaterPair


@dataclass(frozen=True, slots=True)
class Note:
    """One thing to know beside the figures; ``code`` names its kind, ``text`` is the sentence."""

    code: str
    text: str


@dataclass(frozen=True, slots=True)
class MeasuredVersion:
    """A judge version whose agreement was measured."""

    title: str
    fingerprint: str


@dataclass(frozen=True, slots=True)
class AgreementSlice:
    """Agreement on the ``n`` items of one slice; ``alt_test`` has the correction over all slices."""

    name: str
    n: int
    statistics: Statistics
    alt_test: AlternativeAnnotatorTest | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AgreementResult:
    """Agreement of people, of a judge with people, of judges, or of a judge with itself; its fields are its JSON.

    ``title`` names who was measured. ``n`` items (stacked people: grades) carry the statistics, ``left_out`` counts the
    others by why; a statistic that the grade does not have is not there. ``human`` and ``people_say`` name what a judge
    is compared with. ``rater_pairs`` are two raters each, ``self_agreement`` people who rated items twice,
    ``against_gold`` each person beside what was adjudicated. ``anchoring`` is how far people moved to the judge's
    verdicts after these were shown to them, by grade.
    """

    of: Of
    unit: Unit
    grade: str
    aspect: str | None = None
    human: Human | None = None
    people_say: str | None = None
    title: str
    judge_versions: tuple[MeasuredVersion, ...] = ()
    sentence: str
    n: int
    left_out: Mapping[str, int]
    statistics: Statistics
    rater_pairs: tuple[RaterPair, ...] = ()
    self_agreement: tuple[RaterPair, ...] = ()
    against_gold: tuple[RaterAgainstGold, ...] = ()
    confusion: Confusion | None = None
    calibration: tuple[Tenth, ...] | None = None
    alt_test: AlternativeAnnotatorTest | None = None
    by: By | None = None
    slices: tuple[AgreementSlice, ...] = ()
    anchoring: Mapping[str, Estimate] = field(default_factory=dict)
    notes: tuple[Note, ...] = ()
