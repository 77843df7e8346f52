"""The command line. ``app.GROUPS`` names the file of each command.

Python searches for garbage rarely while the modules of a command load, more often after that.
"""

import gc
import os
import sys

# New objects between two searches. Python's default costs a short command 40 % more processor time.
_LOADING, _RUNNING = 500_000, 50_000


def main() -> None:
    """Run ``judgeboard`` and exit. An error is one line on stderr; only ``--debug`` shows a traceback."""
    begin_loading()
    # Pydantic reads the entry points of all packages for plugins, and one malformed package would
    # stop a command.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    # The matrices are narrow: more threads of NumPy would only wait for each other, and a server
    # has many readers.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from judgeboard.cli.app import run

    sys.exit(run(sys.argv[1:]))


def begin_loading() -> None:
    """Search rarely: modules are no garbage."""
    gc.set_threshold(_LOADING)


def end_loading() -> None:
    """Search more often, but never among the modules that are loaded by now.

    Changes nothing in a program that calls a command itself: the program's objects may become
    garbage.
    """
    if gc.get_threshold()[0] == _LOADING:
        gc.freeze()
        gc.set_threshold(_RUNNING)
