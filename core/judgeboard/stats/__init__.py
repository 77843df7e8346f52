"""Pure statistics: functions of NumPy arrays that return estimates with n and a 95 % interval, or with a reason.

Each statistic of agreement is one function, and one row of ``STATISTICS`` in ``pair_statistics``.
Functions that use SciPy import SciPy themselves, because SciPy loads slowly and most commands do
not need SciPy.
"""
