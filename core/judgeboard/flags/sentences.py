"""Numbers as the why-sentences show them."""


def shown(value: float, beside: float | None = None) -> str:
    """Return a number with two decimals at most; with more where two would make it look equal to ``beside``."""
    for digits in range(2, 9):
        text = f"{value:.{digits}f}".rstrip("0").rstrip(".")
        if beside is None or float(text) != beside or value == beside:
            return text
    return f"{value:.9g}"


def percent(share: float) -> str:
    """Return a share as people write it: 0.02 is "2 %"."""
    return f"{shown(share * 100)} %"
