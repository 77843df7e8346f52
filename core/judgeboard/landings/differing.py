"""What tells a response from the stored one of its id: a conflict is only of use where its fields are named."""

from judgeboard.content_hash import content
from judgeboard.domain import Response

# Where a column of a file is mapped to another name than the content has.
_MAPPED = {"passages": "context", "generator_cost_micro": "generator_cost"}


def differing(response: Response, stored: Response) -> list[str]:
    """Return the fields, by the names that a file's columns are mapped to, in which the two differ."""
    other = content(stored)
    return [_MAPPED.get(name, name) for name, value in content(response).items() if value != other[name]]
