"""The command line: one command per file, listed in ``app.COMMANDS``."""

import sys


def main() -> None:
    """Run ``judgeboard``; every expected error is one line on stderr and an exit code, never a traceback."""
    from judgeboard.cli.app import run

    sys.exit(run(sys.argv[1:]))
