"""Pure statistics: functions of NumPy arrays that return estimates with n and a 95 % interval, or with a reason.

Each statistic of agreement is one function, and one row of ``STATISTICS`` in ``pair_statistics``.
SciPy is imported in the functions that use it: it loads slowly, and most commands compute nothing
with it.
"""
