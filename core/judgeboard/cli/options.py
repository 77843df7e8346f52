"""Options that several commands share, worded once."""

import math
import textwrap
from typing import Any

import click

from judgeboard.filters import WHERE_FIELDS

_HELP_COLUMNS = 44  # what the longest option of a command leaves of 80 columns


class FiniteRange(click.FloatRange):
    """A number within bounds; nan and inf, which pass any comparison with them, are none."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the number, or fail with the option's name."""
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value} is not a finite number.", param, ctx)
        return float(number)


# The id of a row, as both engines can hold it.
ROW_ID = click.IntRange(1, 2**63 - 1)

database = click.option(
    "--db",
    metavar="PATH|URL",
    help="The database: a file (SQLite) or an SQLAlchemy URL. Default: JUDGEBOARD_DB, else data/judgeboard.db.",
)


def _field_lines() -> str:
    """The fields of --where as a paragraph that click leaves as it is: a line each, its further lines set in."""
    lines = (
        textwrap.fill(f"{field}: {words}", _HELP_COLUMNS, subsequent_indent="  ", break_on_hyphens=False)
        for field, words in WHERE_FIELDS.items()
    )
    return "\n".join(("\b", *lines))


where = click.option(
    "--where",
    multiple=True,
    metavar="FIELD=VALUE",
    help=f"Only these answers; repeat to narrow. Fields:\n\n{_field_lines()}",
)

host = click.option(
    "--host",
    default="localhost",
    show_default=True,
    help="The address to listen on. Anything but localhost lets others on the network in.",
)

port = click.option("--port", default=8501, show_default=True, type=click.IntRange(1, 65535), help="The port.")


def example(*lines: str) -> str:
    """The closing lines of a command's help."""
    return "\b\nExample:\n" + "\n".join(f"  {line}" for line in lines)


def listed(names: str) -> list[str]:
    """Return the names in a list with commas."""
    return [name.strip() for name in names.split(",") if name.strip()]
