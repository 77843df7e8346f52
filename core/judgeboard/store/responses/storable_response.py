"""Refuses a response that one of the engines cannot hold, before it reaches either."""

from judgeboard.domain import Response
from judgeboard.errors import BadInput
from judgeboard.storable_text import unstorable

_TEXTS = ("source", "external_id", "query_type", "query", "answer", "generator_model", "reference")


def check_storable(response: Response) -> None:
    """Check every text of a response; an import has rejected such a row long before.

    Raises:
        BadInput: A text holds NUL or a lone surrogate; the message names the response and the field.
    """
    texts = [(name, getattr(response, name)) for name in _TEXTS]
    texts += [("passages", passage) for passage in response.passages or ()]
    for name, text in texts:
        # Faster by far than the search that says where: almost every text is good.
        if text is not None and ("\x00" in text or not _encodes(text)):
            raise BadInput(f"{name} of {response.external_id!r} holds {unstorable(text)}")


def _encodes(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
