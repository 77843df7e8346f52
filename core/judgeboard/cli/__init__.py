"""The command line. ``app.COMMANDS`` names the file of each command."""

import gc
import sys


def main() -> None:
    """Run ``judgeboard`` and exit. An error is one line on stderr; only ``--debug`` shows a traceback."""
    gc.set_threshold(500_000)  # not while modules load: they are no garbage (`options.open_store` lowers it again)
    from judgeboard.cli.app import run

    sys.exit(run(sys.argv[1:]))
