"""Exports of other tools: their rows become answers, verdicts and grades."""
