"""Convert texts and times for storage, read text files, and write numbers as words and commands with the database."""

import math
import re
import shlex
from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

from judgeboard.errors import BadInput

EXPECTED = " (expected: "
"""In the error of an unusable reply: the reason stands before this text, and what differs between replies after it."""
MAX_NAME = 128  # characters of the name of a source, a judge or an aspect
MOST_BYTES = (
    600_000  # of a file that people write; TOML takes a hundred times as much for empty tables
)
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
REPLACEMENT = "\ufffd"
_KELVIN_SIGN = "\u212a"  # the only letter outside ASCII whose lower case, k, is in ASCII


def file_text(path: Path, name: str | None = None, *, most: float = MOST_BYTES) -> str:
    """Return the text of a UTF-8 file of at most ``most`` bytes. Errors show ``name`` instead of the path."""
    try:
        if path.stat().st_size > most:
            raise BadInput(f"{name or path} has more than {most:,} bytes")
        return path.read_text(encoding="utf-8-sig")
    except IsADirectoryError:
        raise BadInput(f"{name or path} is a folder: name the file in it") from None
    except UnicodeDecodeError:
        raise BadInput(f"{name or path} is not encoded in UTF-8: save it as UTF-8") from None
    except OSError as error:
        raise BadInput(f"{name or path} cannot be read: {error.strerror}") from error


def storable(text: str) -> tuple[str, bool]:
    """Replace every NUL and lone surrogate by U+FFFD. Return the text, and whether the text changed.

    The length stays the same, so offsets into the text remain valid.
    """
    if unstorable(text) is None:
        return text, False
    return _UNSTORABLE.sub(REPLACEMENT, text), True


def storable_json(content: Any) -> tuple[Any, bool]:
    """Apply `storable` to every text in a JSON value. Return the value, and whether a text changed."""
    if isinstance(content, str):
        return storable(content)
    if isinstance(content, list):
        entries = [storable_json(entry) for entry in content]
        return [entry for entry, _ in entries], any(is_changed for _, is_changed in entries)
    if isinstance(content, dict):
        pairs = [(storable_json(name), storable_json(value)) for name, value in content.items()]
        return {name[0]: value[0] for name, value in pairs}, any(
            name[1] or value[1] for name, value in pairs
        )
    return content, False


def storable_or_none(text: str | None) -> str | None:
    """Return a text that both engines can store. None stays None."""
    return None if text is None else storable(text)[0]


def unstorable(text: str) -> str | None:
    """Describe the first character of ``text`` that cannot be stored, with its position; None if there is none."""
    with suppress(UnicodeEncodeError):  # far faster than the search: almost every text is fine
        if "\x00" not in text and text.encode():
            return None
    match = _UNSTORABLE.search(text)
    if match is None:
        return None
    name = "NUL" if match[0] == "\x00" else f"lone surrogate U+{ord(match[0]):04X}"
    return f"{name} at character {match.start() + 1}"


def folded_address(address: str) -> str:
    """Return an e-mail address in lower case. A letter outside ASCII never becomes one of ASCII: two mailboxes differ.

    The lower case of the Kelvin sign is k, so this sign is kept.
    """
    return _KELVIN_SIGN.join(part.lower() for part in address.split(_KELVIN_SIGN))


def some_of(names: Iterable[str]) -> str:
    """Return at most 20 names, sorted, for a message about an unknown name."""
    sorted_names = sorted(set(names))
    ending = " and others" if len(sorted_names) > 20 else ""
    return f"{', '.join(sorted_names[:20])}{ending}" or "none yet"


def number_words(value: Any) -> str:
    """Return a value for a message: a number like ``0.5``, or ``1.00e+400`` if no float can hold it."""
    try:
        return (
            f"{value:g}"
            if isinstance(value, int | float) and not isinstance(value, bool)
            else repr(value)
        )
    except OverflowError:
        return f"{Decimal(value):.2e}"


EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
LATEST = datetime(2200, 1, 1, tzinfo=UTC)
_LATEST_SECONDS = (LATEST - EPOCH) // timedelta(seconds=1)
_NUMBER = re.compile(r"[+-]?\d+(\.\d*)?([eE][+-]?\d+)?", re.ASCII)
_COMPACT_DATE = re.compile(
    r"(?:19[7-9]|20\d|21\d)\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])", re.ASCII
)
_YEAR_LAST = re.compile(r"\d{1,2}([./-])\d{1,2}\1\d{2}(\d{2})?(?!\d)", re.ASCII)
_YEAR = re.compile(r"(?:19[7-9]|20\d|21\d)\d", re.ASCII)


def as_utc(value: Any) -> datetime:
    """Return a time from a log as an aware datetime in UTC, with microseconds.

    ``value`` is an ISO 8601 text (``2026-03-01T09:30:00Z``), a datetime, a date, or an epoch as
    number or text. A date means midnight; a time without a zone is UTC. A number means seconds if
    that gives a year before 2200, otherwise milliseconds. Eight digits that form a date (20260301)
    are that date. Raises ValueError, with a message for the user, if ``value`` is not a time in the
    years 1970 to 2199.
    """
    if isinstance(value, datetime):
        return _in_range(value, value)
    if isinstance(value, date):
        return _in_range(datetime(value.year, value.month, value.day, tzinfo=UTC), value)
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError(f"{_shown_value(value)} is not a time")
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{value} is not a time")
    if isinstance(value, int) and abs(value) >= 10**18:
        raise ValueError("a number this large is not a time in seconds or milliseconds since 1970")
    text = value.strip() if isinstance(value, str) else str(value)
    if _COMPACT_DATE.fullmatch(text) or not _NUMBER.fullmatch(text):
        try:
            moment = datetime.fromisoformat(text.removesuffix(" UTC"))
        except ValueError:
            if _YEAR_LAST.match(text):
                raise ValueError(
                    f"{_shown_value(value)} has the year last, so day and month can be confused: write the year first, "
                    "as in 2026-03-01 (in a spreadsheet: number format yyyy-mm-dd)"
                ) from None
            raise ValueError(
                f"{_shown_value(value)} is not a time: write it as 2026-03-01T09:30:00Z"
            ) from None
        return _in_range(moment, value)
    if _YEAR.fullmatch(text):
        raise ValueError(f"{_shown_value(value)} is a year, not a time")
    number = float(text)
    seconds = number if abs(number) <= _LATEST_SECONDS else number / 1000
    if not 0 <= seconds < _LATEST_SECONDS:
        raise ValueError(
            f"{_shown_value(value)} as seconds or milliseconds since 1970 is not between 1970 and 2199"
        )
    return EPOCH + timedelta(microseconds=round(seconds * 1_000_000))


_SECONDS = {"d": 86_400, "h": 3_600, "min": 60, "m": 60, "s": 1, "": 1}
_LONGEST_DURATION = 36_525 * 86_400  # so that a time of today, less a duration, is a time


def seconds_of(text: str, name: str) -> float:
    """Return the seconds of a duration such as "90s", "30min", "24h" or "2d".

    Args:
        text: The duration.
        name: The option or field that has the duration.

    Raises:
        BadInput: The text is no duration; the message begins with the name.
    """
    match = re.fullmatch(r"(\d{1,7})\s*(d|h|min|m|s|)", text.strip(), re.ASCII)
    seconds = 0 if match is None else int(match[1]) * _SECONDS[match[2]]
    if not seconds:
        raise BadInput(
            f"{name}: {text!r} is not a duration: write for example 90s, 30min, 24h or 2d"
        )
    if seconds > _LONGEST_DURATION:
        raise BadInput(f"{name}: {text!r} is longer than 100 years")
    return float(seconds)


def utc_day(moment: datetime) -> int:
    """Return the UTC day of an aware time as a count of days since 1970-01-01."""
    return (moment.astimezone(UTC) - EPOCH).days


def iso_z(moment: datetime) -> str:
    """Return an aware time as ISO 8601 in UTC with a final ``Z``; `as_utc` gives the same time back."""
    return moment.astimezone(UTC).isoformat().removesuffix("+00:00") + "Z"


def _in_range(moment: datetime, value: Any) -> datetime:
    aware = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
    # Compare before the conversion: astimezone overflows at both ends of the calendar.
    if not EPOCH <= aware < LATEST:
        raise ValueError(f"{_shown_value(value)} is not between the years 1970 and 2199")
    return EPOCH + (aware - EPOCH)


def _shown_value(value: Any) -> str:
    text = repr(value) if not isinstance(value, datetime | date) else value.isoformat()
    return text if len(text) <= 60 else f"{text[:57]}..."


def half_up(number: float, digits: int) -> float:
    """Return 0.48 for 0.475 and two digits: rounded half up as in browsers, where Python rounds the stored 0.47499."""
    return round(number + math.copysign(10.0 ** -(digits + 7), number), digits) + 0.0


def counted(number: int, noun: str) -> str:
    """Return "1 answer", "2,912 answers"."""
    return f"{number:,} {noun if number == 1 else noun + 's'}"


def listed_words(words: Sequence[str]) -> str:
    """Return "sql", "sql and table", "sql, table and rare"."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def listed_some(names: Sequence[str], limit: int) -> str:
    """Return at most so many names: "sql, table and others"."""
    return ", ".join(names[:limit]) + (" and others" if len(names) > limit else "")


def shown_name(name: str) -> str:
    """Return a name of a file or a column on one line."""
    return (name if name.isprintable() else repr(name)) or "(no name)"


def day_words(day: int, *, year: bool = True) -> str:
    """Return a UTC day (days since 1970-01-01) as "1 Mar 2026", without ``year`` as "1 Mar"."""
    moment = EPOCH + timedelta(days=day)
    return f"{moment.day} {moment:%b %Y}" if year else f"{moment.day} {moment:%b}"


def money(micro: int | None) -> str:
    """Return millionths of a dollar as "$ 4.07", "$ 0.056", "$ 0"; None is "unknown", never 0."""
    if micro is None:
        return "unknown"
    dollars = micro / 1_000_000
    if dollars == 0:
        return "$ 0"
    if dollars >= 0.1:
        return f"$ {dollars:,.2f}"
    return f"$ {dollars:.2g}" if dollars >= 0.0001 else f"$ {dollars:.6f}"


def cost_words(micro: int | None, *, own: bool) -> str:
    """Return a cost as `money` does; ``own`` calls went to own machines only, and "$ 0 (own endpoint)" says why."""
    return f"{money(micro)} (own endpoint)" if own and micro == 0 else money(micro)


def shortened(text: str, longest: int = 200) -> str:
    """Return at most ``longest`` characters of a text, with an ellipsis."""
    return text if len(text) <= longest else f"{text[: longest - 1].rstrip()}…"


_QUOTED = re.compile(r"""'[^']*'|"[^"]*\"""")
# Up to a second command or a comment. A quoted name may have such characters too.
_FIRST_COMMAND = re.compile(rf"""((?:{_QUOTED.pattern}|[^'"])*?)( && |  #)(.*)""", re.DOTALL)
_WITHOUT_DATABASE = ("judgeboard quickstart", "judgeboard compare make-pairs")


def with_db(commands: str, database: str | None) -> str:
    """Return commands of a terminal; commands of this program get ``--db``, unless present or not accepted.

    ``database`` is a path or a URL without a password; None is the default database.
    """
    if database is None:
        return commands
    parts = _FIRST_COMMAND.fullmatch(commands)
    if parts is not None:
        first, between, later_commands = parts.groups()
        return f"{with_db(first, database)}{between}{with_db(later_commands, database)}"
    has_none = not commands.startswith("judgeboard ") or commands.startswith(_WITHOUT_DATABASE)
    words = {word.split("=")[0] for word in _QUOTED.sub("", commands).split()}
    if has_none or words & {"--db", "--help"}:
        return commands
    return f"{commands} --db {shlex.quote(database)}"
