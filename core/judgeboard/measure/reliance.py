"""How far people may rely on a judge: the one conclusion of a page, a report or a command.

Each of them draws it with `reliance`, so that none says more than another.
"""

from collections.abc import Mapping
from enum import IntEnum

from judgeboard.domain import Estimate
from judgeboard.measure.agreement_result import HEADLINES, AgreementResult
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

    Figures of chosen answers alone (not ``of_all`` answers) allow no conclusion: it is `Reliance.UNKNOWN`.
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


_NOT_REPLACED = {
    Reliance.DO_NOT: "judge and people agree too little",
    Reliance.UNKNOWN: "there is no figure of all answers yet",
    Reliance.NOT_CONCLUSIVE: "how far judge and people agree is not conclusive",
    Reliance.HELPS: "judge and people may agree only moderately",
}
"""Why a judge that passed the test replaces nobody."""


def stand_in_sentence(test: AlternativeAnnotatorTest, allowed: Reliance) -> str:
    """Return the result of the alternative annotator test.

    ``allowed`` is the conclusion from all figures of the judge. Only if it is `Reliance.CAN`, a judge that passed for
    everybody may replace a person. People who could not be tested are in the conclusion.
    """
    if test.omega.value is None:
        return f"The test whether the judge may replace a person is not available: {test.omega.reason}."
    everybody, passed = len(test.people), sum(person.rejected for person in test.people)
    tested = sum(person.p is not None for person in test.people)
    people = "1 person" if everybody == 1 else f"{everybody:,} people"
    if tested < everybody:
        of_them = "that person" if tested == 1 else f"{passed:,} of them"
        result = "did not pass" if tested == 1 and not passed else "passed"
        return (
            f"It is not shown that the judge can replace a person: only {tested:,} of {people} could be tested. The "
            f"judge {result} the test for {of_them} (ε = {test.epsilon:g})."
        )
    start = f"The judge passed the test for {passed:,} of {people} (ε = {test.epsilon:g})."
    if not test.passed:
        return f"{start} It is not shown that it can replace a person."
    if passed < everybody:
        return f"{start} That is not enough to replace a person."
    if allowed is not Reliance.CAN:
        return f"{start} That alone is not enough to replace a person: {_NOT_REPLACED[allowed]}."
    return f"{start} It may replace a person here, as far as this test shows."


def epsilon_sentence(epsilon: float) -> str:
    """Return what ε means."""
    return (
        f"On each answer, whoever is nearer to the other people wins. With ε = {epsilon:g}, the judge may win on up to "
        f"{round(epsilon * 100, 6):g} fewer answers per 100 than the person. Use 0.2 for experts, 0.15 for trained "
        "annotators, 0.1 for a crowd."
    )
