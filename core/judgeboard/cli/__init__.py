"""The command line: a file per noun, its commands listed in ``app.COMMANDS``."""

import gc
import sys


def main() -> None:
    """Run ``judgeboard``; every expected error is one line on stderr and an exit code, never a traceback."""
    gc.set_threshold(50_000)  # loading makes what stays: looking for garbage in it is a tenth of a short command
    from judgeboard.cli.app import run

    sys.exit(run(sys.argv[1:]))
