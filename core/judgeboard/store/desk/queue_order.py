"""The orders of the queue, each as an index of open flags holds it."""

from sqlalchemy import literal_column

from judgeboard.errors import BadInput
from judgeboard.store.listing import Order
from judgeboard.store.schema.tables import FLAG

# A missing score or time comes last on both engines, which place NULLs differently: hence coalesce, as in the indexes.
ORDERS: dict[str, Order] = {
    order.name: order
    for order in (
        Order("worst", "worst first", FLAG.c.severity, FLAG.c.id, "ix_flag_open_severity", descending=True),
        Order(
            "lowest",
            "lowest groundedness first",
            literal_column("coalesce(flag.groundedness, 2)"),
            FLAG.c.id,
            "ix_flag_open_groundedness",
        ),
        Order(
            "oldest",
            "oldest first",
            literal_column("coalesce(flag.asked_day, 9999999)"),
            FLAG.c.id,
            "ix_flag_open_asked",
        ),
        Order(
            "newest",
            "newest flag first",
            FLAG.c.id,
            FLAG.c.id,
            "ix_flag_open_newest",
            descending=True,
            id_descending=True,
        ),
    )
}


def order_named(name: str) -> Order:
    """Return an order of the queue.

    Raises:
        BadInput: There is none of this name.
    """
    if name not in ORDERS:
        raise BadInput(f"the queue is sorted by one of {', '.join(ORDERS)}, not {name!r}")
    return ORDERS[name]
