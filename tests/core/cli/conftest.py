"""A terminal whose commands are about the database of a test."""

import json

import pytest

from judging_log import address


@pytest.fixture
def typed(own_store, shell):
    """Run a command on the database of the test: ``typed("stats --json")``.

    Returns what it printed, parsed where it is asked for JSON, or what it was refused with (code 2).
    """

    def type_(line, *more, code=0):
        printed = shell(line, *more, "--db", address(own_store), code=code)
        return json.loads(printed) if "--json" in line and code != 2 else printed

    return type_
