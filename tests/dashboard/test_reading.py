"""What a page shows is read as the person at the browser may see it."""

import re
from pathlib import Path

import pytest

import judgeboard_dashboard
from judgeboard_dashboard.session import as_now, reading, seen

DASHBOARD = Path(judgeboard_dashboard.__file__).parent


def test_no_page_reads_the_whole_database():
    """A place that does belongs into this list only with a reason."""
    known = {
        "session.py",  # whether the person was removed in the meantime; whether anything has changed
        "review/again.py",  # judge versions and their last settings; they name no answer
        "review/queues.py",  # the draw of the first random sample, which shows no answer
        "review/actions.py",  # the gold label of a training item that was just reviewed
        "review/drafts.py",  # the drafts of the person
        "review/leases.py",  # the leases of the person
        "views/queues.py",  # the draw of a planned queue, which shows no answer
        "widgets/import_form.py",  # how many rows an undo withdraws; it shows no text
        "views/judges.py",  # whether anything has changed
        "passwords.py",  # accounts, links and sessions: nobody has signed in yet
        "review/schema_form.py",  # the failure modes that may be chosen; they name no answer
    }
    whole = {
        path.relative_to(DASHBOARD).as_posix()
        for path in DASHBOARD.rglob("*.py")
        if re.search(r"store(\(\))?\.reading\(|\bread_all\(", path.read_text(encoding="utf-8"))
    }
    assert whole == known


def test_outside_of_a_session_nobody_is_known_and_nothing_is_read():
    for ask in (seen, reading, lambda: as_now(bytes)):
        with pytest.raises(RuntimeError, match="no browser session"):
            ask()
