"""What ``judgeboard judge`` writes: lines as they come, or one JSON value at the end."""

from collections.abc import Iterable
from typing import Any

import click

from judgeboard.cli.asking import show_json


class JudgeOutput:
    """Collects what a command found out; JSON stands alone on standard output, whatever happened."""

    def __init__(self, *, as_json: bool) -> None:
        self._as_json = as_json
        self._values: dict[str, Any] = {}

    def say(self, lines: Iterable[str]) -> None:
        """Write lines for a person."""
        if not self._as_json:
            for line in lines:
                click.echo(line)

    def keep(self, **values: Any) -> None:
        """Keep JSON values for the end; those of a list are added to it."""
        for name, value in values.items():
            self._values[name] = self._values.get(name, []) + value if isinstance(value, list) else value

    def end(self) -> None:
        """Write the JSON value, where it is wanted."""
        if self._as_json:
            show_json(self._values)
