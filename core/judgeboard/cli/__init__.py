"""The command line. ``app.GROUPS`` names the file of each command."""

import sys

from judgeboard.cli.loading import begin_loading


def main() -> None:
    """Run ``judgeboard`` and exit. An error is one line on stderr; only ``--debug`` shows a traceback."""
    begin_loading()
    from judgeboard.cli.app import run

    sys.exit(run(sys.argv[1:]))
