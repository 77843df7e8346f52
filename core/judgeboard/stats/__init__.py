"""Pure statistics: functions of NumPy arrays that return estimates with n and a 95 % interval, or with a reason.

Each statistic of agreement is one function, and one row of ``STATISTICS`` in ``pair_statistics``.
"""
