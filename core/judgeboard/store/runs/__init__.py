"""Runs, what they still have to ask, and the jobs and workers behind them."""
