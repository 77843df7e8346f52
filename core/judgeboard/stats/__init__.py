"""Pure statistics: NumPy arrays in, estimates with n and 95 % interval out, undefined ones with their reason.

A statistic is one function here and one row in the report that shows it (``pair_statistics``).
"""
