"""Sentences that answer a lead's questions on the answers, the judge and the work, with the figures of other pages."""

from collections.abc import Callable

from judgeboard.domain import Estimate
from judgeboard.measure.agreement_result import AgreementResult, answers_words, shown_statistics
from judgeboard.measure.label_plans import time_words
from judgeboard.measure.notes import Note, note
from judgeboard.measure.rates import Rate
from judgeboard.measure.result import Result
from judgeboard.stats.estimates import (
    MIN_PAIRS,
    complement,
    number_words,
    percent_words,
    unmeasured,
)
from judgeboard.store.strata import ReviewTime
from judgeboard.text import counted

_MOST_TYPES = 4  # in a sentence


def now_note(rate: Rate, changes: Result) -> Note:
    """Return the share of bad answers since its latest change (`CorrectedTrend.changes`), then of all time."""
    if rate.share.value is None or not changes.has("changed"):
        return rate.headline
    day = int(changes.figure("changed").value or 0)
    return note("rate_since", now=changes.figure("bad_since"), day=day, all=rate.share)


def differing(result: Rate, figure: str) -> list[str]:
    """Return the slices whose interval has no value in common with that of all answers, the largest figure first."""
    if not result.has(figure) or (whole := result.figure(figure)).low is None or whole.high is None:
        return []
    apart = []
    for name in result.slices:
        part = result.figure(figure, name)
        if part.low is not None and part.high is not None and (part.low > whole.high or part.high < whole.low):
            apart.append((-(part.value or 0.0), name))
    return [name for _, name in sorted(apart)]


def _listed(slices: list[str], figure: Callable[[str], Estimate]) -> list[str]:
    words = [f"{name} {_with_n(figure(name))}" for name in slices[:_MOST_TYPES]]
    more = len(slices) - len(words)
    return [*words, f"{more} more"] if more else words


def _with_n(share: Estimate) -> str:
    """Return "36 % [26, 48] (n = 52)", or the reason why there is no value."""
    return percent_words(share) if share.value is None else f"{percent_words(share)} (n = {share.n:,})"


def trust_sentence(judge: AgreementResult) -> str:
    """Return how often a judge version and people agree, and which answers this describes."""
    agreement = judge.statistics.get("agreement")
    if agreement is None or agreement.value is None:
        return judge.sentence
    kappa = judge.statistics["kappa"]
    chance = f"is {number_words(kappa)}" if kappa.value is not None else f"is not available: {kappa.reason}"
    return (
        f"{judge.title} and people agree on {percent_words(agreement)} of {answers_words(judge.n, judge.answers)}; "
        f"Cohen's kappa {chance} (n = {agreement.n:,})."
    )


def beside_people(judge: AgreementResult, people: AgreementResult) -> str | None:
    """Return whether judge and people agree less often than two people do; None if one of both is not known.

    People's own figure includes the answers on which they tied; there is no label to compare a judge with.
    """
    with_judge, among_people = (each.statistics.get("agreement", unmeasured(0, "")) for each in (judge, people))
    if None in {with_judge.low, with_judge.high, among_people.low, among_people.high}:
        return None
    words = "The two intervals overlap: it is not shown that two people agree more often than judge and people."
    if (with_judge.high or 0) < (among_people.low or 0):
        words = "Judge and people agree less often than two people do."
    elif (with_judge.low or 0) > (among_people.high or 0):
        words = "Judge and people agree more often than two people do."
    if not (ties := judge.left_out.get("ties", 0)):
        return words
    tied = "the answer" if ties == 1 else f"the {ties:,} answers"
    return f"{words} Only the figure of two people includes {tied} on which people tied."


def misses_sentence(judge: AgreementResult) -> str:
    """Return the share of bad answers that the judge misses, and of good ones that it calls bad."""
    errors = shown_statistics(judge.statistics)
    missed, false_alarms = (errors.get(name, unmeasured(0, "too few labels")) for name in ("missed", "false_alarms"))
    parts = []
    if missed.value is not None:
        parts.append(f"misses {_with_n(missed)} of the bad answers")
    if false_alarms.value is not None:
        parts.append(f"raises a false alarm on {_with_n(false_alarms)} of the good ones")
    if not parts:
        return f"What {judge.title or 'the judge'} misses is not known: {missed.reason}."
    where = "" if judge.answers is not None else f"On {answers_words(judge.n, judge.answers)}: "
    subject = judge.title or "the judge"
    return f"{where}{subject} {' and '.join(parts)}."


def missed_types_note(result: Rate) -> Note | None:
    """Return the query types in which the judge misses clearly more or fewer bad answers than in all answers."""
    apart = differing(result, "sensitivity")[::-1]
    missed = _listed(apart, lambda name: complement(result.figure("sensitivity", name)))
    return note("missed_types", types=missed) if apart else None


def labels_sentence(labels: int, time: ReviewTime | None) -> str:
    """Return how many labels are missing and how long they take: "14 more labels are missing, about 12 minutes."."""
    missing = f"{counted(labels, 'more label')} {'is' if labels == 1 else 'are'} missing"
    return f"{missing}." if time is None else f"{missing}, about {time_words(labels * time.seconds / 60)}."


def overlap_sentence(people: AgreementResult, time: ReviewTime | None) -> str | None:
    """Return how many answers need a second reviewer before people's agreement is known; None if none do."""
    answers = MIN_PAIRS - people.n
    if answers <= 0:
        return None
    need = "1 more answer needs" if answers == 1 else f"{answers:,} more answers need"
    second = f"{need} labels of two people"
    return f"{second}." if time is None else f"{second}, about {time_words(2 * answers * time.seconds / 60)}."


def reading_sentence(answers: int, time: ReviewTime | None) -> str:
    """Return how long it takes to review these answers."""
    if time is None:
        return "How long they take is known once some reviews have a measured time."
    takes = "It takes" if answers == 1 else "All of them take"
    of_reviews = f"the median of {counted(time.n, 'review')} is {time.seconds:.0f} s"
    return f"{takes} about {time_words(answers * time.seconds / 60)}: {of_reviews}."


def judge_share_note(result: Rate) -> Note | None:
    """Return the judge's own share of bad answers, for a log whose rate is not known yet; None without a judge."""
    if result.share.low is not None or not result.has("judge_alone"):
        return None
    share = result.figure("judge_alone")
    return None if share.value is None else note("judge_share", judge=result.about.judges[0], share=share)
