"""Answers made from others, attempt by attempt."""
