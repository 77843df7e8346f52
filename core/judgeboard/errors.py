"""The exceptions of Judgeboard, each carrying the message that its user reads.

JudgeboardError                 base: one line that says what is wrong and what to do; exit code 2
├── BadInput                    a value, filter, file or option cannot be used
├── MissingDatabase             no database where one was expected
├── SchemaMismatch              the database is of another revision than this program
├── NotFound                    no response, flag, judge version, run or job with this id
├── DecisionRefused             a review cannot be stored now; says who or what was first
├── NotAllowed                  a person's role does not allow what they asked for; says whose does
├── EndpointRefused             401, 403 or 404 from the model's endpoint, or a wait that no run sits out
└── UnknownPrice                a cost limit was asked for and the model has no price
"""


class JudgeboardError(Exception):
    """Base of all expected errors: the text is one line for a person, without a traceback."""

    exit_code = 2


class BadInput(JudgeboardError):
    """A value, a filter, a file or an option cannot be used."""


class MissingDatabase(JudgeboardError):
    """There is no database at the place that was named."""


class SchemaMismatch(JudgeboardError):
    """The database was made by another revision of the schema."""


class NotFound(JudgeboardError):
    """No row with this id."""


class DecisionRefused(JudgeboardError):
    """A decision was not stored; the text says what happened meanwhile."""


class NotAllowed(JudgeboardError):
    """The role of the person who asked does not allow it; the text says which one does."""


class EndpointRefused(JudgeboardError):
    """The endpoint answered 401, 403 or 404, or asked for a long wait: no row can succeed until that is over."""


class UnknownPrice(JudgeboardError):
    """A cost limit cannot be kept because the price of the model is not known."""
