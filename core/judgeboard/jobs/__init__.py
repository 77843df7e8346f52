"""Long work that a page or another machine asks for: requested, watched and cancelled here, done by a worker."""

from judgeboard.jobs.estimate import CallEstimate, estimate_calls
from judgeboard.jobs.judge_spec import judge_spec
from judgeboard.jobs.requests import JobProgress, cancel_job, job_progress, recent_jobs, request_rejudge

__all__ = [
    "CallEstimate",
    "JobProgress",
    "cancel_job",
    "estimate_calls",
    "job_progress",
    "judge_spec",
    "recent_jobs",
    "request_rejudge",
]
