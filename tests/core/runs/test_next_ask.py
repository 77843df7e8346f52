"""Which ask comes next, over every state of the one before."""

from itertools import product
from typing import NamedTuple

from judgeboard.runs.method import Again, next_ask


class Asked(NamedTuple):
    ask: int
    usable: bool
    run_id: int | None


def test_what_was_never_asked_is_asked_and_what_is_usable_never_again() -> None:
    for again in (None, Again(), Again(7)):
        assert next_ask(None, again) == 0
        assert next_ask(Asked(2, usable=True, run_id=1), again) is None


def test_what_failed_is_asked_again_where_that_was_wanted_once_in_a_run() -> None:
    for run_id, own in product((None, 1, 7), (None, 7)):
        failed = Asked(2, usable=False, run_id=run_id)
        assert next_ask(failed, None) is None
        done_in_this_run = own is not None and run_id == own
        assert next_ask(failed, Again(own)) == (None if done_in_this_run else 3)
