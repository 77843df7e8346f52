"""The exceptions of Judgeboard. The text of an exception is the message for the user."""

from collections.abc import Collection


class JudgeboardError(Exception):
    """Base of all expected errors; commands end with its exit code."""

    exit_code = 2


class BadInput(JudgeboardError):
    """A value, a filter, a file or an option cannot be used."""


class Contradiction(BadInput):
    """The label of a review contradicts its decision."""


class MissingDatabase(JudgeboardError):
    """There is no database at this path or URL."""


class SchemaMismatch(JudgeboardError):
    """The database does not have the schema revision that this release needs."""


class NotFound(JudgeboardError):
    """There is no response, flag, judge version, run or job with this id."""


class DecisionRefused(JudgeboardError):
    """A review was not stored, because something changed in the meantime."""


class NotAllowed(JudgeboardError):
    """The person's role lacks the permission; the text names the roles that have it."""


class EndpointRefused(JudgeboardError):
    """No call can succeed now: the endpoint refused the key or the model, asks for a long wait, or does not answer."""


class UnknownPrice(JudgeboardError):
    """A cost limit cannot be applied, because the price of the model is unknown."""


class NotSent(JudgeboardError):
    """An answer, feedback or a score did not reach a server; the text says why."""


def check_known(name: str, value: str | None, known: Collection[str]) -> None:
    """Raise BadInput if a value is neither None nor one of the known values."""
    if value is not None and value not in known:
        raise BadInput(f"{name} must be one of {', '.join(known)}, not {value!r}")
