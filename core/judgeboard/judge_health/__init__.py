"""A judge's own faults: one check per file over what is stored of a judge version."""

from judgeboard.judge_health.check import Check, State
from judgeboard.judge_health.checks import CHECKS
from judgeboard.judge_health.report import HealthReport, health

__all__ = ["CHECKS", "Check", "HealthReport", "State", "health"]
