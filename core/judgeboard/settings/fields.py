"""Types of the fields that people write, in the project file and in YAML files."""

from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Strict

from judgeboard.text import unstorable


@dataclass(frozen=True, slots=True)
class Option:
    """The option of a command that sets a field; `cli.drawn_options` makes it.

    The name of the option is the name of the field in the project file, the help is the description
    of the field.

    Attributes:
        group: Title of the options in the help, such as "Judge"; None for an option of one command.
        metavar: Word for the value in the help, such as ``NAME``.
        names: More names, such as ``--n``.
        off: Name of the flag that says no, such as ``--no-reveal``.
        several: Whether the option is repeated for several values; otherwise commas separate them.
    """

    group: str | None = None
    metavar: str | None = None
    names: tuple[str, ...] = ()
    off: str | None = None
    several: bool = False


CLOSED = ConfigDict(extra="forbid", allow_inf_nan=False)
"""The ``__pydantic_config__`` of a dataclass that is read from a file. Unknown fields are typos, and are refused."""


def _text(value: str) -> str:
    if not value.strip():
        raise ValueError("a text must not be blank")
    if fault := unstorable(value):
        raise ValueError(f"the text contains {fault}")
    return value


def listed(value: Any) -> Any:
    """Return one text as a list."""
    return [value] if isinstance(value, str) else value


def assigned(value: Any) -> Any:
    """Return a table as texts: ``{rule = "low_quality", query_type = ["QA", "sql"]}`` is three conditions."""
    if isinstance(value, dict):
        return [
            each if isinstance(each, dict | list) else f"{name}={each}"
            for name, entry in value.items()
            for each in (entry if isinstance(entry, list) else [entry])
        ]
    return listed(value)


def _rates(value: Any) -> Any:
    """Return rates such as 0.1 and "QA=0.5" as texts."""
    texts = [str(each) for each in (value if isinstance(value, list) else [value])]
    for text in texts:
        try:
            is_rate = 0 <= float(text.rpartition("=")[2]) <= 1
        except ValueError:
            is_rate = False
        if not is_rate:
            raise ValueError(f'must have rates from 0 to 1, such as 0.1 or "QA=0.5", not {text!r}')
    return texts


Text = Annotated[str, Strict(), AfterValidator(_text)]
"""A text that is not blank and can be stored."""

Number = Annotated[float, Strict()]
"""A finite number; ``true`` and ``"1"`` are refused."""

Texts = Annotated[tuple[Text, ...], BeforeValidator(listed)]
"""Several texts, or one."""

Assignments = Annotated[tuple[Text, ...], BeforeValidator(assigned)]
"""Texts such as "rule=low_quality", or a table of names and values."""

Rates = Annotated[tuple[Text, ...], BeforeValidator(_rates)]
"""Sampling rates as texts, such as "0.1" for all and "QA=0.5" for a query type."""
