"""The exceptions of Judgeboard; the text of each is the message for the user."""


class JudgeboardError(Exception):
    """Base of all expected errors; commands end with its exit code."""

    exit_code = 2


class BadInput(JudgeboardError):
    """A value, a filter, a file or an option cannot be used."""


class MissingDatabase(JudgeboardError):
    """There is no database at this place."""


class SchemaMismatch(JudgeboardError):
    """The database has another schema revision."""


class NotFound(JudgeboardError):
    """There is no response, flag, judge version, run or job with this id."""


class DecisionRefused(JudgeboardError):
    """A review was not stored, because something changed in the meantime."""


class NotAllowed(JudgeboardError):
    """The person's role lacks the permission; the text names the roles that have it."""


class EndpointRefused(JudgeboardError):
    """The endpoint answered 401, 403 or 404, or asked for a long wait: no call can succeed now."""


class UnknownPrice(JudgeboardError):
    """The cost limit cannot be kept, because the price of the model is not known."""
