"""Wilson's interval for a share.

Source: E. B. Wilson, "Probable inference, the law of succession, and statistical inference" (JASA, 1927).
"""

import numpy as np
import numpy.typing as npt

from judgeboard.stats.arrays import FloatArray
from judgeboard.stats.student import Z


def wilson(share: npt.ArrayLike, n: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Return the bounds of the 95 % interval of shares (0 to 1) of ``n`` > 0 rows each, any shapes that broadcast."""
    p, size = np.asarray(share, dtype=np.float64), np.asarray(n, dtype=np.float64)
    spread = Z * np.sqrt(p * (1 - p) / size + (Z / (2 * size)) ** 2)
    centre, scale = p + Z**2 / (2 * size), 1 + Z**2 / size
    # At 0 and at 1 the formula gives that very number; floats would miss it by one bit.
    low = np.where(p == 0, 0.0, np.maximum((centre - spread) / scale, 0))
    high = np.where(p == 1, 1.0, np.minimum((centre + spread) / scale, 1))
    return low, high
