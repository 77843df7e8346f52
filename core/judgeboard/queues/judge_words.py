"""What the judges said of an answer, for a reviewer from whom it is not (or no more) hidden."""

from sqlalchemy import Connection

from judgeboard.store.hidden_rows import hidden_of_response
from judgeboard.store.responses.item_parts import ItemFlag, ItemJudgment
from judgeboard.store.responses.items import load_item


def judges_on(
    connection: Connection, response_id: int, reviewer_id: int
) -> tuple[tuple[ItemFlag, ...], tuple[ItemJudgment, ...]]:
    """Return the open flags of an answer and the judges' current verdicts, the primary judge's first.

    Both are empty where the reviewer is to review the answer blind and has not.
    """
    if hidden_of_response(connection, reviewer_id, response_id).judge:
        return (), ()
    item = load_item(connection, response_id)
    return tuple(flag for flag in item.flags if flag.state == "open"), item.currents
