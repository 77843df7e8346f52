"""The command line. ``app.COMMANDS`` names the file of each command."""

import gc
import sys


def main() -> None:
    """Run ``judgeboard`` and exit. An error is one line on stderr; only ``--debug`` shows a traceback."""
    gc.set_threshold(50_000)  # collecting garbage while modules load takes a tenth of a short command
    from judgeboard.cli.app import run

    sys.exit(run(sys.argv[1:]))
