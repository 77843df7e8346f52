"""Suites and what came of their cases."""
