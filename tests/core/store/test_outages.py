"""How long the threads of a run wait for a database that is away, and what they say."""

import time

import pytest
from sqlalchemy.exc import OperationalError

from judgeboard.store.outages import Patience

REFUSED = OperationalError("SELECT", {}, Exception("connection refused"))


def test_an_outage_is_said_once_whatever_the_order_in_which_its_tries_end(caplog: pytest.LogCaptureFixture) -> None:
    patience = Patience(60)
    before, away = time.monotonic(), time.monotonic()
    assert patience.wait(REFUSED, away)
    patience.end_wait(before)  # a slow try that had its connection before the outage
    assert patience.wait(REFUSED, away)
    late = time.monotonic()  # begins in the outage, and fails after its end
    patience.end_wait(time.monotonic())
    assert patience.wait(REFUSED, late)
    assert [record.getMessage().partition(",")[0] for record in caplog.records] == [
        "the database cannot be used: connection refused; waiting up to 60 s",
        "the database can be used again",
    ]
    assert patience.wait(REFUSED, time.monotonic())
    assert "cannot be used" in caplog.records[-1].getMessage()


def test_who_gives_up_waits_for_no_outage() -> None:
    patience = Patience(60)
    patience.end_wait(time.monotonic())
    patience.give_up()
    assert not patience.wait(REFUSED, time.monotonic())
    assert not patience.wait(REFUSED, 0.0)
