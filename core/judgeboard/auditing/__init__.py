"""Audits: a supreme judge's look at the judgments of another judge, measured against people (methods.md §4)."""

from judgeboard.auditing.asking import audit, audit_async, audit_independently, audit_independently_async
from judgeboard.auditing.compare import audit_recorded
from judgeboard.auditing.report import AuditReport, audit_report
from judgeboard.auditing.sample import AuditSample

__all__ = [
    "AuditReport",
    "AuditSample",
    "audit",
    "audit_async",
    "audit_independently",
    "audit_independently_async",
    "audit_recorded",
    "audit_report",
]
