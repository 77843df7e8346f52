"""Commands of Judgeboard, written as people type them."""

import shlex

from judgeboard.cli.app import run


def run_line(line, *more):
    """Run a command, with ``more`` words after those of the line, and return its exit code."""
    return run([*shlex.split(line), *more])


class Shell:
    """A shell whose output is kept."""

    def __init__(self, capsys):
        self._capsys = capsys

    def __call__(self, line, *more, code=0):
        """Run a command that ends with this exit code; return what it printed, or what it was refused with (code 2)."""
        self._capsys.readouterr()
        assert run_line(line, *more) == code, self._capsys.readouterr().err
        output = self._capsys.readouterr()
        return output.err if code == 2 else output.out
