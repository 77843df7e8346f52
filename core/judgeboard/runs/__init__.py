"""Runs of a method: select, ask, store, summarise; jobs and the worker that runs them."""
