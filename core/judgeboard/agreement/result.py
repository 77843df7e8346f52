"""What came of measuring agreement, typed, and as the JSON that the command and the report give."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from judgeboard.agreement.choice import AgreementChoice
from judgeboard.agreement.notes import Note
from judgeboard.agreement.statistics import of_grade
from judgeboard.domain import Estimate
from judgeboard.stats.alternative_annotator import AlternativeAnnotatorTest
from judgeboard.stats.calibration import Tenth
from judgeboard.stats.confusion import Confusion
from judgeboard.stats.estimates import as_json
from judgeboard.stats.rater_agreement import RaterAgainstGold, RaterPair
from judgeboard.store.judgments.judge_versions import StoredVersion

Statistics = Mapping[str, Estimate]


@dataclass(frozen=True, slots=True)
class AgreementSlice:
    """Agreement on the ``n`` items of one slice; ``alt_test`` has the correction over all slices."""

    name: str
    n: int
    statistics: Statistics
    alt_test: AlternativeAnnotatorTest | None = None


@dataclass(frozen=True, slots=True)
class Anchored:
    """How far people moved to the judge's score after it was shown to them, on one grade."""

    grade: str
    share: Estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class AgreementResult:
    """Agreement of people, of a judge with people, of judges, or of a judge with itself.

    ``title`` names who was measured. ``n`` items (stacked people: grades) carry the statistics, ``left_out`` counts the
    others by why. ``raters`` are pairs of raters, ``themselves`` people who rated items twice, ``against_gold`` each
    person beside what was adjudicated. ``people_say`` names what a judge is held against.
    """

    choice: AgreementChoice
    grade: str
    title: str
    sentence: str
    n: int
    left_out: Mapping[str, int]
    statistics: Statistics
    aspect: str | None = None
    versions: tuple[StoredVersion, ...] = ()
    people_say: str | None = None
    raters: tuple[RaterPair, ...] = ()
    themselves: tuple[RaterPair, ...] = ()
    against_gold: tuple[RaterAgainstGold, ...] = ()
    confusion: Confusion | None = None
    calibration: tuple[Tenth, ...] | None = None
    alt_test: AlternativeAnnotatorTest | None = None
    slices: tuple[AgreementSlice, ...] = ()
    anchoring: tuple[Anchored, ...] = ()
    notes: tuple[Note, ...] = field(default=())

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON values; a statistic that a grade does not have is not there."""
        return {
            "of": self.choice.of,
            "unit": self.choice.unit,
            "grade": self.grade,
            "aspect": self.aspect,
            "human": self.choice.human if self.choice.of == "judge" else None,
            "title": self.title,
            "judge_versions": [{"title": each.title, "fingerprint": each.fingerprint} for each in self.versions],
            "sentence": self.sentence,
            "n": self.n,
            "left_out": dict(self.left_out),
            "stats": statistics_json(self.statistics),
            "people_pairs": [_pair(each) for each in self.raters],
            "self_agreement": [_pair(each) for each in self.themselves],
            "against_gold": [_gold(each) for each in self.against_gold],
            "confusion": _confusion(self.confusion),
            "calibration": None if self.calibration is None else [_tenth(each) for each in self.calibration],
            "alt_test": None if self.alt_test is None else alt_test_json(self.alt_test),
            "by": self.choice.by,
            "slices": [_slice(each) for each in self.slices],
            "anchoring": {each.grade: as_json(each.share) for each in self.anchoring},
            "warnings": [{"code": each.code, "text": each.text} for each in self.notes],
        }


def statistics_json(statistics: Statistics) -> dict[str, Any]:
    """Return statistics as JSON values, by name."""
    return {name: as_json(each) for name, each in statistics.items()}


def alt_test_json(test: AlternativeAnnotatorTest) -> dict[str, Any]:
    """Return the alternative annotator test as JSON values."""
    return {
        "epsilon": test.epsilon,
        "omega": test.omega.value,
        "rho": test.rho.value,
        "rho_interval": [test.rho.low, test.rho.high],
        "passed": test.passed,
        "n": test.n,
        "tests": test.tests,
        "left_out": dict(test.left_out),
        "reason": test.omega.reason if test.omega.value is None else None,
        "people": [
            {
                "name": each.name,
                "n": each.n,
                "advantage": each.advantage,
                "p": each.p,
                "test": each.test,
                "rejected": each.rejected,
            }
            for each in test.people
        ],
    }


def _pair(pair: RaterPair) -> dict[str, Any]:
    return {"first": pair.first, "second": pair.second, "n": pair.n, **statistics_json(pair.statistics)}


def _gold(rater: RaterAgainstGold) -> dict[str, Any]:
    return {"name": rater.name, "n": rater.n, "left_out": rater.left_out, **statistics_json(of_grade(rater.statistics))}


def _confusion(table: Confusion | None) -> dict[str, Any] | None:
    if table is None:
        return None
    shares = [list(row) for row in table.row_shares]
    return {"labels": list(table.categories), "counts": [list(row) for row in table.counts], "row_shares": shares}


def _tenth(tenth: Tenth) -> dict[str, Any]:
    named = {"low": tenth.low, "high": tenth.high, "mean_score": tenth.mean_score, "n": tenth.share_grounded.n}
    return named | {"share_grounded": as_json(tenth.share_grounded)}


def _slice(one: AgreementSlice) -> dict[str, Any]:
    named: dict[str, Any] = {"value": one.name, "n": one.n, "stats": statistics_json(one.statistics)}
    return named if one.alt_test is None else named | {"alt_test": alt_test_json(one.alt_test)}
