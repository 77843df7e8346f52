"""Text that both engines can hold, and times of a log as aware UTC."""

import re
import shlex
from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgeboard.domain import Feedback, FeedbackKind, Grade
from judgeboard.errors import BadInput
from judgeboard.store.queues import new_queue
from judgeboard.text import as_utc, iso_z, seconds_of, storable, unstorable, utc_day, with_db

ANY_TEXT = st.text(st.characters(exclude_categories=[]) | st.just("\x00"))


@settings(max_examples=60, deadline=None)
@given(ANY_TEXT)
def test_what_was_made_storable_is_storable_and_as_long(text):
    changed, replaced = storable(text)
    assert unstorable(changed) is None
    assert changed.encode().decode() == changed
    assert len(changed) == len(text)
    assert replaced == (unstorable(text) is not None)


@pytest.mark.parametrize(
    "make",
    [
        lambda number: Grade(groundedness=number),
        lambda number: Grade(quality=number),
        lambda number: Feedback(FeedbackKind.STARS, number),
        lambda number: new_queue("q", sampling_rate=number),
    ],
)
def test_an_integer_that_no_float_can_hold_is_refused_like_any_other(make):
    with pytest.raises((ValueError, BadInput), match=r"1\.00e\+5000"):
        make(10**5000)


def test_the_character_is_named():
    nul, surrogate = unstorable("ab\x00"), unstorable("\udc00")
    assert re.findall(r"NUL|\d+$", nul) == ["NUL", "3"]
    assert re.findall(r"U\+\w+|\d+$", surrogate) == ["U+DC00", "1"]
    assert unstorable("plain 🧗 text") is None


MOMENTS = st.datetimes(datetime(1970, 1, 1), datetime(2199, 12, 31), timezones=st.just(UTC))  # noqa: DTZ001 - bounds are naive by contract


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("2026-03-01T09:30:00Z", "2026-03-01T09:30:00Z"),
        ("2026-03-01T09:30:00+05:30", "2026-03-01T04:00:00Z"),
        ("2026-03-01 09:30:00", "2026-03-01T09:30:00Z"),
        ("2026-03-01 09:30:00.123456 UTC", "2026-03-01T09:30:00.123456Z"),
        ("2026-03-01", "2026-03-01T00:00:00Z"),
        ("20260301", "2026-03-01T00:00:00Z"),
        (20260301, "2026-03-01T00:00:00Z"),
        (0, "1970-01-01T00:00:00Z"),
        (1_700_000_000, "2023-11-14T22:13:20Z"),
        ("1700000000", "2023-11-14T22:13:20Z"),
        (1_700_000_000.25, "2023-11-14T22:13:20.250000Z"),
        (1_700_000_000_123, "2023-11-14T22:13:20.123000Z"),
        (" 1700000000123 ", "2023-11-14T22:13:20.123000Z"),
        (date(2026, 3, 1), "2026-03-01T00:00:00Z"),
        (datetime(2026, 3, 1, 9, 30), "2026-03-01T09:30:00Z"),  # noqa: DTZ001 - a naive time is UTC
        (datetime(2026, 3, 1, 9, 30, tzinfo=timezone(timedelta(hours=2))), "2026-03-01T07:30:00Z"),
    ],
)
def test_a_time_comes_in_as_utc(value, expected):
    moment = as_utc(value)
    assert moment.tzinfo is UTC
    assert iso_z(moment) == expected


@pytest.mark.parametrize(
    "value",
    [
        True,
        None,
        [],
        {},
        "",
        "yesterday",
        "2026",
        2026,
        -1,
        "-1",
        float("nan"),
        float("inf"),
        10**30,
        "9" * 5000,
        "2200-01-01",
        "1969-12-31T23:59:59Z",
        "0001-01-01T00:00:00+14:00",
        "9999-12-31T23:59:59-14:00",
        1e15,
    ],
)
def test_what_is_no_time_is_refused_in_one_line(value):
    with pytest.raises(ValueError, match=r"^[^\n]+$"):
        as_utc(value)


@given(MOMENTS)
def test_iso_text_and_datetime_give_the_same_time_back(moment):
    assert as_utc(iso_z(moment)) == moment
    assert as_utc(moment) == moment


@given(MOMENTS)
def test_a_day_is_counted_in_utc(moment):
    elsewhere = moment.astimezone(timezone(timedelta(hours=-11)))
    assert utc_day(elsewhere) == (moment.date() - date(1970, 1, 1)).days


@pytest.mark.parametrize("text", ["", "0s", "5 weeks", "-1h", "9999999d"])
def test_a_duration_can_be_taken_from_the_time_of_today(text):
    assert (seconds_of("30min", "after"), seconds_of(" 2 d", "after")) == (1_800, 172_800)
    assert datetime.now(UTC) - timedelta(seconds=seconds_of("36500d", "after")) < datetime.now(UTC)
    with pytest.raises(BadInput, match=r"^after: .*(duration|100 years)"):
        seconds_of(text, "after")


@pytest.mark.parametrize("name", ["a && touch X", "a  # b", "--db", "it's --help", 'a "b" && c'])
def test_a_command_gets_the_database_whatever_is_in_a_quoted_name(name):
    command = f"judgeboard labels rate --where {shlex.quote(f'query_type={name}')}"
    words = shlex.split(with_db(command, "my log.db"))
    assert words[-4:] == ["--where", f"query_type={name}", "--db", "my log.db"]
    twice = with_db(f"{command} && {command}  # don't", "x.db")
    assert twice == f"{command} --db x.db && {command} --db x.db  # don't"
