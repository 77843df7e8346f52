"""What people ask of the tables of gym visits and new boulders, worked out from their rows."""

from collections import Counter

from sample_source.dice import Dice
from sample_source.logbook import GYMS, WEEKDAYS, Logbook, month_key, month_name, months
from sample_source.logbook_queries import Finding, placed, ranked


def month_totals(book: Logbook, gym: str, month: tuple[int, int]) -> tuple[int, int]:
    """Return visits by members and day tickets of a gym in one (year, month)."""
    rows = [row for row in book.visits if row.gym == gym and (row.day.year, row.day.month) == month]
    return sum(row.members for row in rows), sum(row.day_tickets for row in rows)


def weekday(dice: Dice, book: Logbook) -> Finding:
    """Return the mean visits of a gym by weekday in one month."""
    gym, month = dice.pick(GYMS), dice.pick(months())
    visits = [
        row for row in book.visits if row.gym == gym and (row.day.year, row.day.month) == month
    ]
    rows = []
    for number, name in enumerate(WEEKDAYS):
        counts = [row.members + row.day_tickets for row in visits if row.day.weekday() == number]
        rows.append((name, round(sum(counts) / len(counts))))
    order = sorted(rows, key=lambda row: -row[1])
    words = {"gym": gym, "period": month_name(month), "month": month_key(month), "day": order[0][0]}
    words |= {"n": str(order[0][1]), "low": order[-1][0], "low_n": str(order[-1][1])}
    return Finding("weekday", words, tuple(rows))


def month_pair(dice: Dice, book: Logbook) -> Finding:
    """Return the visits of a gym in two months."""
    gym = dice.pick(GYMS)
    earlier, later = sorted(dice.several(months(), 2))
    rows = []
    for month in (earlier, later):
        members, tickets = month_totals(book, gym, month)
        rows.append((month_name(month), members + tickets, tickets))
    words = {"gym": gym, "month": month_key(earlier), "month2": month_key(later)}
    for end, row in zip(("", "2"), rows, strict=True):
        words |= {f"period{end}": row[0], f"n{end}": str(row[1]), f"t{end}": str(row[2])}
    return Finding("months", words, tuple(rows))


def setters(dice: Dice, book: Logbook) -> Finding | None:
    """Return the boulders per setter at a gym in one month; None where the first three tie."""
    gym, month = dice.pick(GYMS), dice.pick(months())
    key = month_key(month)
    rows = ranked(
        Counter(
            {
                row.setter: row.boulders
                for row in book.boulders
                if (row.gym, row.month) == (gym, key)
            }
        )
    )
    if len({count for _, count in rows[:3]}) < 3:
        return None
    return Finding(
        "setters",
        {"gym": gym, "period": month_name(month), "month": key} | placed(rows),
        tuple(rows),
    )


def share(dice: Dice, book: Logbook) -> Finding:
    """Return members and day tickets of a gym in one month."""
    gym, month = dice.pick(GYMS), dice.pick(months())
    members, tickets = month_totals(book, gym, month)
    percent = round(100 * members / (members + tickets))
    words = {"gym": gym, "period": month_name(month), "month": month_key(month)}
    words |= {"m": str(members), "t": str(tickets), "p": str(percent)}
    return Finding("share", words, ((members, tickets, percent),))
