"""How far people may rely on a judge: the one conclusion of a page, a report or a command.

Page, report and command all take the conclusion from `reliance`, so that none says more than
another.
"""

from collections.abc import Mapping
from enum import IntEnum

from judgeboard.domain import Estimate
from judgeboard.measure.agreement_result import HEADLINES, AgreementResult
from judgeboard.measure.notes import Note, note
from judgeboard.stats.alternative_annotator import AlternativeAnnotatorTest

_SURE, _HELPFUL = 0.6, 0.4  # substantial and moderate agreement


class Reliance(IntEnum):
    """How far people may rely on a judge, the most cautious conclusion first."""

    DO_NOT = 0
    UNKNOWN = 1
    NOT_CONCLUSIVE = 2
    HELPS = 3
    CAN = 4


def headline(statistics: Mapping[str, Estimate]) -> Estimate | None:
    """Return the statistic that decides how far people may rely on a judge; None if there is none."""
    return next((statistics[name] for name in HEADLINES if name in statistics), None)


def reliance(statistics: Mapping[str, Estimate], *, of_all: bool = True) -> Reliance:
    """Return how far people may rely on a judge with these statistics: what the whole interval allows.

    Figures of chosen answers alone (not ``of_all`` answers) allow no conclusion:
    `Reliance.UNKNOWN`.
    """
    if not of_all:
        return Reliance.UNKNOWN
    figure = headline(statistics)
    if figure is None or figure.low is None or figure.high is None:
        return Reliance.NOT_CONCLUSIVE
    if figure.low >= _SURE:
        return Reliance.CAN
    if figure.high < _HELPFUL:
        return Reliance.DO_NOT
    return Reliance.HELPS if figure.low >= _HELPFUL else Reliance.NOT_CONCLUSIVE


def reliance_of(result: AgreementResult) -> Reliance:
    """Return how far people may rely on the judge of a result; figures of pairs are of no sample of answers."""
    return reliance(result.statistics, of_all=result.unit == "pairs" or result.answers is not None)


_VERDICTS = {
    Reliance.DO_NOT: "do_not_rely",
    Reliance.UNKNOWN: "no_verdict",
    Reliance.HELPS: "helps",
    Reliance.CAN: "can_rely",
}


def verdict(result: AgreementResult) -> Note | None:
    """Return how far people may rely on the judge; None for other raters and for a result without a headline figure."""
    figure = headline(result.statistics) if result.of == "judge" else None
    if figure is None:
        return None
    conclusion = reliance_of(result)
    if conclusion is not Reliance.NOT_CONCLUSIVE:
        return note(_VERDICTS[conclusion])
    if figure.low is None or figure.high is None:
        return note("too_few_grades")
    return note("not_conclusive", low=figure.low, high=figure.high)


def stand_in_note(test: AlternativeAnnotatorTest, conclusion: Reliance) -> Note:
    """Return the result of the alternative annotator test.

    ``conclusion`` comes from all figures of the judge. A judge that passed for everybody may
    replace a person only if the conclusion is `Reliance.CAN`. People who could not be tested are in
    the conclusion.
    """
    if test.omega.value is None:
        return note("stand_in_unknown", reason=test.omega.reason or "")
    people, passes = len(test.people), sum(person.rejected for person in test.people)
    tests = sum(person.p is not None for person in test.people)
    if tests < people:
        return note("stand_in_untested", tested=tests, people=people)
    if passes < people:
        return note("stand_in_failed", passed=passes, people=people)
    return note("stand_in_passed" if conclusion is Reliance.CAN else "stand_in_not_alone")
