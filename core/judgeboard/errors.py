"""The exceptions of Judgeboard. The text of an exception is the message for the user."""

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


class JudgeboardError(Exception):
    """Base of all expected errors; commands end with ``exit_code``."""

    exit_code = 2


class BadInput(JudgeboardError):
    """A value, a filter, a file or an option cannot be used."""


class TooLarge(BadInput):
    """A request has more records or values than one request may have."""


class MissingOption(BadInput):
    """An option is missing. ``add`` are the words with which a command line would work."""

    def __init__(self, message: str, *add: str) -> None:
        """Make the error from the text and these words."""
        super().__init__(message)
        self.add = add


class MissingSetting(BadInput):
    """An environment variable is not set. With the values ``examples``, by variable, a command line would work."""

    def __init__(self, message: str, examples: Mapping[str, str]) -> None:
        """Make the error from the text and the values."""
        super().__init__(message)
        self.examples = examples


class AddressUnknown(MissingOption):
    """The address of a judge version is not stored: no host was used, or an earlier release stored only the host."""

    def __init__(self, version: str, host: str | None) -> None:
        """Make the error from the title of the judge version and the last host, None if no host was used."""
        last_use = "has used no host yet" if host is None else f"last used the host {host}"
        subject = "Its address" if host is None else "The whole address"
        text = f"{version} {last_use}. {subject} is not stored: give it{'' if host is None else ' again'}"
        super().__init__(text, "--base-url", f"http://{host or 'localhost:8000'}/v1")


class OtherHost(BadInput):
    """Texts would go to another host than in the last run of the judge version, and nobody has confirmed this.

    ``subject`` is what would be sent, for example "15 answers". The hosts have a port where the
    address has one.
    """

    def __init__(self, version: str, *, before: str, now: str, subject: str) -> None:
        """Make the error from the title of the judge version, both hosts and what would be sent."""
        super().__init__(
            f"{version} last used the host {before}. Now {subject} would be sent to {now}"
        )
        self.before, self.now, self.subject = before, now, subject


class UnconfirmedFile(BadInput):
    """A project file reaches out of the folder, and nobody has confirmed this. The file ``mark`` confirms."""

    def __init__(self, message: str, mark: "Path") -> None:
        """Make the error from the text and the path of the mark."""
        super().__init__(message)
        self.mark = mark


class Contradiction(BadInput):
    """The label of a review contradicts the decision."""


class MissingDatabase(JudgeboardError):
    """There is no database at this path or URL."""


class UnusableDatabase(BadInput):
    """The database at this path or URL cannot be opened."""


class DatabaseAway(JudgeboardError):
    """The database could not be used for longer than a run waits; ``lost`` replies could not be stored."""

    def __init__(self, text: str, lost: int = 0) -> None:
        """Make the error from the text and the number of replies."""
        super().__init__(text)
        self.lost = lost


class SchemaMismatch(JudgeboardError):
    """The database does not have the schema revision that this release needs."""


class DamagedDatabase(JudgeboardError):
    """The database file is damaged, or is no database."""


class NotFound(JudgeboardError):
    """There is no response, flag, judge version, run or job with this id."""


class UnknownName(NotFound):
    """Nothing has the name ``wanted``. ``known`` is a similar name that exists."""

    def __init__(self, message: str, wanted: str, known: str) -> None:
        """Make the error from the text and both names."""
        super().__init__(message)
        self.wanted, self.known = wanted, known


class DecisionRefused(JudgeboardError):
    """A review was not stored, because something changed in the meantime."""


class NotAllowed(JudgeboardError):
    """The person's role lacks the permission; the text names the roles that have the permission."""


class EndpointRefused(JudgeboardError):
    """No call can succeed now: the endpoint refused the key or the model, asks for a long wait, or does not answer."""


class UnknownPrice(JudgeboardError):
    """A cost limit cannot be applied, because the price of the model is unknown."""


class NotSent(JudgeboardError):
    """An answer, feedback or a score did not reach a server; the text says why."""


def check_known(name: str, value: str | None, choices: Collection[str]) -> None:
    """Raise BadInput if a value is neither None nor one of ``choices``."""
    if value is not None and value not in choices:
        raise BadInput(f"{name} must be one of {', '.join(choices)}, not {value!r}")
