"""What the overview says in words: the sentence, and the small line of each card."""

import math
from collections.abc import Mapping, Sequence
from datetime import timedelta

from judgeboard.stats.words import percent, percent_interval
from judgeboard.store.desk.desk_days import JudgeDay
from judgeboard.store.desk.overview import Overview
from judgeboard_dashboard.amounts import money
from judgeboard_dashboard.words import count, day

LONGEST_PACE = 60  # days ahead; beyond that a date would be a promise
FEW = 10
TOO_FEW = f"too few to say (under {FEW})"


def waiting_words(found: Overview) -> str:
    """Return "212 flags wait for a person."."""
    if not found.waiting:
        return "Nothing waits for a person."
    return f"{count(found.waiting, 'flag')} {'waits' if found.waiting == 1 else 'wait'} for a person."


def done_words(found: Overview, *, named: bool) -> str:
    """Return "You decided 37 today, the desk 118. At this week's pace the queue is empty on Thursday."."""
    if not found.decided_today:
        said = "Nothing was decided today yet."
    elif named:
        said = f"You decided {found.decided_today_by_me:,} today, the desk {found.decided_today:,}."
    else:
        said = f"The desk decided {found.decided_today:,} today."
    pace = pace_words(found)
    return f"{said} {pace}" if pace else said


def pace_words(found: Overview) -> str | None:
    """Return when the queue is empty if every day goes as the last seven did, None where it does not get shorter."""
    shorter = sum(each.decided - each.raised for each in found.days) / len(found.days)
    if not found.waiting or shorter <= 0:
        return None
    days = math.ceil(found.waiting / shorter - 1e-9)
    if days > LONGEST_PACE:
        return None
    on = found.days[-1].day + timedelta(days=days)
    when = "tomorrow" if days == 1 else f"on {on:%A}" if days < 7 else f"on {day(on)}"
    return f"At this week’s pace the queue is empty {when}."


def since_yesterday(found: Overview) -> str | None:
    """Return how many more flags wait than yesterday evening ("-31", "+1,850"), None without a yesterday."""
    if len(found.days) < 2:
        return None
    more = found.waiting - found.days[-2].waiting
    return f"{more:+,}" if more else "0"


def usual_words(found: Overview) -> str | None:
    """Return "+12 on a usual day": today against the mean of the days before, None where nothing was decided then."""
    before = [each.decided for each in found.days[:-1]]
    if not any(before):
        return None
    return f"{found.decided_today - round(sum(before) / len(before)):+,} on a usual day"


def confirmed_words(found: Overview) -> tuple[str, str]:
    """Return the share of confirmed flags and what it rests on: ("64 %", "n = 611, [60, 68]")."""
    each = found.confirmed
    if each.value is None or each.n < FEW:
        return "–", TOO_FEW if each.n else "none decided yet"
    return percent(each.value), ", ".join(filter(None, (f"n = {each.n:,}", percent_interval(each))))


def confirmed_days(found: Overview) -> list[float]:
    """Return the share confirmed of each day on which anything was decided."""
    return [each.confirmed / each.decided * 100 for each in found.days if each.decided]


def usable_words(judged: JudgeDay) -> tuple[str, str]:
    """Return the share of usable verdicts and the others: ("98.7 %", "39 of 3,012 not")."""
    if not judged.asked:
        return "–", "nothing asked in 7 days"
    not_usable = judged.asked - judged.ok
    share = f"{judged.ok / judged.asked:.1%}".replace("%", " %")
    if not_usable and share == "100.0 %":
        share = "over 99.9 %"
    return share.replace("100.0 %", "100 %"), f"{not_usable:,} of {judged.asked:,} not"


def usable_help(judged: JudgeDay) -> str:
    """Return how the number of requests adds up."""
    return (
        f"Last 7 days: {judged.asked:,} asked = {judged.ok:,} ok + {judged.unparsable:,} unparsable + "
        f"{judged.refused:,} refused + {judged.error:,} error"
    )


def usable_days(days: Sequence[JudgeDay]) -> list[float]:
    """Return the usable share of each day on which anything was asked."""
    return [each.ok / each.asked * 100 for each in days if each.asked]


def cost_words(judged: JudgeDay) -> tuple[str, str]:
    """Return what the judge cost in 7 days and an answer: ("$ 4.18", "$ 0.0014 an answer"); unknown is never 0."""
    if not judged.asked:
        return "–", "nothing asked in 7 days"
    if judged.cost_micro is None:
        return "unknown", "no price known"
    priced = judged.asked - judged.unpriced
    each = f"{money(round(judged.cost_micro / priced))} an answer" if judged.cost_micro and priced else "no cost"
    return money(judged.cost_micro), f"{each}, {judged.unpriced:,} unknown" if judged.unpriced else each


def signals_words(counts: Mapping[tuple[str, str], int]) -> str:
    """Return what the quadrant means, and which answers stand in its last row."""
    without = sum(n for (judge, _), n in counts.items() if judge == "none")
    said = "A problem is corroborated when judge and user both say so, confirmed when a person does."
    if without:
        said += f" {count(without, 'answer')} without a usable verdict {'stands' if without == 1 else 'stand'} below."
    return f"{said} Click a cell to open its answers."
