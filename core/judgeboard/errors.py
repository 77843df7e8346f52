"""The exceptions of Judgeboard; the text of each is the message for the user.

JudgeboardError                 base class; exit code 2
├── BadInput                    a value, filter, file or option cannot be used
├── MissingDatabase             there is no database at this place
├── SchemaMismatch              the database has another schema revision
├── NotFound                    there is no response, flag, judge version, run or job with this id
├── DecisionRefused             a review cannot be stored, because something changed in the meantime
├── NotAllowed                  the person's role lacks the permission
├── EndpointRefused             the endpoint refuses all calls (401, 403, 404), or asks for a long wait
└── UnknownPrice                there is a cost limit, but the model has no price
"""


class JudgeboardError(Exception):
    """Base of all expected errors; the text is one line for the user."""

    exit_code = 2


class BadInput(JudgeboardError):
    """A value, a filter, a file or an option cannot be used."""


class MissingDatabase(JudgeboardError):
    """There is no database at this place."""


class SchemaMismatch(JudgeboardError):
    """The database has another schema revision."""


class NotFound(JudgeboardError):
    """There is no row with this id."""


class DecisionRefused(JudgeboardError):
    """A decision was not stored; the text is the reason."""


class NotAllowed(JudgeboardError):
    """The person's role lacks the permission; the text names the roles that have it."""


class EndpointRefused(JudgeboardError):
    """The endpoint answered 401, 403 or 404, or asked for a long wait: no call can succeed now."""


class UnknownPrice(JudgeboardError):
    """The cost limit cannot be kept, because the price of the model is not known."""
