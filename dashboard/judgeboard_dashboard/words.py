"""How numbers, times and names are said on every page."""

from datetime import UTC, date, datetime

from judgeboard.stats.rounding import two_decimals
from judgeboard.store.desk.queue_order import ORDERS

RULES = {
    "low_groundedness": "low groundedness",
    "low_quality": "low quality",
    "feedback_gap": "feedback gap",
    "judge_failed": "judge failed",
    "judges_disagree": "judges disagree",
    "supreme_disagrees": "supreme disagrees",
    "random_sample": "random sample",
    "always_review": "always review",
}
WHY_DIFFERS = {
    "missed_support": "Judge missed support",
    "fluent_text": "Fooled by fluent text",
    "refusal": "Refusal scored wrongly",
    "partial_support": "Partial support",
    "rubric_unclear": "Rubric unclear",
    "person": "Our mistake",
    "other": "Other",
}
SORTS = {name: order.words for name, order in ORDERS.items()}
UNKNOWN = "–"


def rule_words(rule: str) -> str:
    """Return a rule as people say it."""
    return RULES.get(rule, rule.replace("_", " "))


def capital(text: str) -> str:
    """Return a text with its first letter in upper case and the others as they are."""
    return text[:1].upper() + text[1:]


def shortened(text: str, longest: int = 200) -> str:
    """Return the start of a text that was too long, with an ellipsis."""
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def count(number: int, noun: str, plural: str | None = None) -> str:
    """Return "1 answer", "2,912 answers"."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def score(value: float | None) -> str:
    """Return a groundedness with two digits, "–" where there is none."""
    return UNKNOWN if value is None else two_decimals(value)


def short(value: float) -> str:
    """Return a grade as it was given: 0.5, 0.35, 1."""
    return f"{value:.4g}"


def clock(moment: datetime) -> str:
    """Return the time of day in UTC: "09:41"."""
    return f"{moment.astimezone(UTC):%H:%M}"


def day(moment: datetime | date) -> str:
    """Return a day: "12 Mar", with the year where it is not this one."""
    shown = moment.astimezone(UTC).date() if isinstance(moment, datetime) else moment
    this_year = shown.year == datetime.now(UTC).year
    return f"{shown.day} {shown:%b}" if this_year else f"{shown.day} {shown:%b %Y}"


def when(moment: datetime) -> str:
    """Return a moment of the log or of the desk: "12 Mar 09:41"."""
    return f"{day(moment)} {clock(moment)}"


def ago(moment: datetime, now: datetime) -> str:
    """Return how long ago in days: "today", "yesterday", "3 days", later the date."""
    days = (now.astimezone(UTC).date() - moment.astimezone(UTC).date()).days
    if days in {0, 1}:
        return ("today", "yesterday")[days]
    return f"{days} days" if 0 < days < 15 else day(moment)
