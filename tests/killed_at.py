"""Processes that are killed at a chosen moment: before a statement of SQL, a commit, or a change of a folder."""

import os
import signal
import sys
from contextlib import closing
from itertools import count

from sqlalchemy import Engine, event

from judgeboard.store import copying, retention, traces
from judgeboard.store.clock import utc_now
from judgeboard.store.copying import copy_database
from judgeboard.store.engine import Store, connect, database_url
from judgeboard.store.opening import open_store
from served import fork_server

_OF_FILES = {"os.rename", "os.remove", "os.link", "os.truncate", "sqlite3.connect"}


def count_moments(function, *arguments):
    """Call a function in a process that ends normally, and return at how many moments it can be killed."""
    receiving, sending = fork_server().Pipe(duplex=False)
    assert _ended(None, sending, function, arguments) == 0
    return int(receiving.recv())


def kill_at(moment, function, *arguments):
    """Call a function in a process that is killed at this moment (from 1 on); False if it ends before."""
    _receiving, sending = fork_server().Pipe(duplex=False)
    exit_code = _ended(moment, sending, function, arguments)
    assert exit_code in {0, -signal.SIGKILL}
    return exit_code != 0


def _ended(moment, pipe, function, arguments):
    process = fork_server().Process(target=_run, args=(moment, pipe, function, arguments))
    process.start()
    process.join()
    return process.exitcode


def _run(moment, pipe, function, arguments):
    numbers, last = count(1), 0

    def pass_moment(*_, **_options):
        nonlocal last
        last = next(numbers)
        if last == moment:
            os.kill(os.getpid(), signal.SIGKILL)

    event.listen(Engine, "before_cursor_execute", pass_moment)
    event.listen(Engine, "commit", pass_moment)
    sys.addaudithook(lambda name, _: pass_moment() if name in _OF_FILES else None)
    function(*arguments)
    pipe.send(last)


# What is killed. A process imports these functions, so this file has them, and not the tests.


def copy(source, target):
    """Copy as the command does."""
    with (
        closing(open_store(source)) as original,
        closing(Store(connect(database_url(target), create=True))) as copied,
    ):
        return copy_database(original, copied)


def copy_in_small_batches(source, target):
    copying.AT_ONCE = 100
    copy(source, target)


def open_and_close(path):
    open_store(path).close()


def expire_in_small_batches(database):
    retention.AT_ONCE = traces.AT_ONCE = 2
    os.environ["JUDGEBOARD_KEEP_TEXTS"] = "90 days"
    with closing(open_store(database)) as store:
        retention.forget_expired(store, utc_now())
