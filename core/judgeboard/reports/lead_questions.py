"""Notes that answer a lead's questions on the answers, the judge and the work, with the figures of other pages."""

import math

from judgeboard.domain import Estimate
from judgeboard.health.failures import DAYS
from judgeboard.measure.agreement_result import AgreementResult, answers_words, shown_statistics
from judgeboard.measure.label_plans import time_words
from judgeboard.measure.notes import Note, note
from judgeboard.measure.rates import Rate
from judgeboard.measure.result import Result
from judgeboard.stats.estimates import MIN_PAIRS, complement, percent_words, unmeasured
from judgeboard.stats.intervals import share_intervals
from judgeboard.store.overview import Overview
from judgeboard.store.runs import Counts
from judgeboard.text import EPOCH

_MOST_TYPES = 4  # in a sentence
LONGEST_PACE = 60  # days ahead; later dates are too uncertain


def now_note(rate: Rate, changes: Result) -> Note:
    """Return the share of bad answers since the latest change (`CorrectedTrend.changes`), then of all time."""
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
        if (
            part.low is not None
            and part.high is not None
            and (part.low > whole.high or part.high < whole.low)
        ):
            apart.append((-(part.value or 0.0), name))
    return [name for _, name in sorted(apart)]


def trust_note(judge: AgreementResult) -> Note:
    """Return how often a judge version and people agree, and on which answers."""
    agreement = judge.statistics.get("agreement")
    if agreement is None or agreement.value is None:
        return judge.headline
    on = answers_words(judge.n, judge.answers)
    return note("judge_and_people", judge=judge.title or "", agreement=agreement, on=on)


def beside_people(judge: AgreementResult, people: AgreementResult) -> Note | None:
    """Return whether judge and people agree less often than two people do; None if one figure is not available."""
    with_judge, among_people = (
        each.statistics.get("agreement", unmeasured(0, "")) for each in (judge, people)
    )
    if None in {with_judge.low, with_judge.high, among_people.low, among_people.high}:
        return None
    if (with_judge.high or 0) < (among_people.low or 0):
        return note("less_than_people")
    return note(
        "more_than_people" if (with_judge.low or 0) > (among_people.high or 0) else "like_people"
    )


def misses_note(judge: AgreementResult) -> Note:
    """Return the share of bad answers that the judge misses, and of good answers that the judge calls bad."""
    errors = shown_statistics(judge.statistics)
    missed, false_alarms = (
        errors.get(name, unmeasured(0, "too few labels")) for name in ("missed", "false_alarms")
    )
    on = answers_words(judge.n, judge.answers)
    if missed.value is None:
        return note("misses_unknown", missed=missed)
    if false_alarms.value is None:
        return note("misses", on=on, missed=missed)
    return note("misses_and_alarms", on=on, missed=missed, false_alarms=false_alarms)


def missed_types_note(result: Rate) -> Note | None:
    """Return the query types in which the judge misses clearly more or fewer bad answers than in all answers."""
    apart = differing(result, "sensitivity")[::-1]
    types = [
        f"{name} {percent_words(complement(result.figure('sensitivity', name)))}"
        for name in apart[:_MOST_TYPES]
    ]
    more = len(apart) - len(types)
    return (
        note("missed_types", types=[*types, f"{more} more"] if more else types) if apart else None
    )


def labels_note(labels: int, time: Estimate) -> Note:
    """Return how many labels are missing and how long the labels take."""
    if time.value is None:
        return note("labels_missing", labels=labels)
    return note("labels_missing_time", labels=labels, time=time_words(labels * time.value / 60))


def overlap_note(people: AgreementResult, time: Estimate) -> Note | None:
    """Return how many answers need a second reviewer before people's agreement is known; None if none do."""
    answers = MIN_PAIRS - people.n
    if answers <= 0:
        return None
    if time.value is None:
        return note("overlap_missing", answers=answers)
    return note(
        "overlap_missing_time", answers=answers, time=time_words(2 * answers * time.value / 60)
    )


def reading_note(answers: int, time: Estimate) -> Note:
    """Return how long it takes to review these answers."""
    if time.value is None:
        return note("reading_unknown")
    return note(
        "reading",
        time=time_words(answers * time.value / 60),
        reviews=time.n,
        seconds=time.value,
    )


def judge_share_note(result: Rate) -> Note | None:
    """Return the judge's own share of bad answers, for a log whose rate is not known yet; None without a judge."""
    if result.share.low is not None or not result.has("judge_alone"):
        return None
    share = result.figure("judge_alone")
    return (
        None
        if share.value is None
        else note("judge_share", judge=result.about.judges[0], share=share)
    )


def pace_note(state: Overview) -> Note | None:
    """Return when the queue is empty at the pace of the last seven days; None if the queue does not become shorter."""
    shorter = sum(each.decided - each.flagged for each in state.days) / len(state.days)
    if not state.today.open_answers or shorter <= 0:
        return None
    days = math.ceil(state.today.open_answers / shorter - 1e-9)
    last = (state.days[-1].day - EPOCH.date()).days
    return None if days > LONGEST_PACE else note("pace", day=last + days)


def unusable_note(counts: Counts) -> Note | None:
    """Return how many replies of the last days were unusable, None without unusable replies."""
    unusable = counts.asked - counts.ok
    if not unusable:
        return None
    parts = {"unparsable": counts.unparsable, "refused": counts.refused, "error": counts.error}
    kinds = [f"{n:,} {name}" for name, n in parts.items() if n]
    return note(
        "unusable_replies", share=share_intervals(unusable, counts.asked)[0], days=DAYS, kinds=kinds
    )
