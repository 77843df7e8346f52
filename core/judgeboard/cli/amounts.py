"""Amounts in words for a terminal."""


def cost_text(cost_micro: int | None) -> str:
    """Return a cost in dollars from millionths; None is unknown, never 0."""
    if cost_micro is None:
        return "unknown"
    return f"$ {cost_micro / 1e6:.4f}" if cost_micro else "$ 0"
