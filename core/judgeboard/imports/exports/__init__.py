"""Exports of other tools: the rows become answers, verdicts and grades."""
