"""What a job says of itself: how far it is, how fast, what became of it, what to do."""

from dataclasses import dataclass

from judgeboard.jobs import JobProgress
from judgeboard_dashboard.amounts import duration, money
from judgeboard_dashboard.words import count

TALLY = ("ok", "unparsable", "refused", "error")


@dataclass(frozen=True, slots=True)
class Seen:
    """When somebody began to watch a job (seconds of a clock that only rises) and how far it was then."""

    at: float
    asked: int


def rate(job: JobProgress, seen: Seen, now: float) -> float | None:
    """Return verdicts a second since somebody watches, None before the first."""
    if job.state != "running" or job.asked <= seen.asked or now <= seen.at:
        return None
    return (job.asked - seen.asked) / (now - seen.at)


def bar_text(job: JobProgress, verdicts_a_second: float | None) -> str:
    """Return "38 of 61 · 4.1 a second · 6 s left · $ 0.056"."""
    parts = [f"{job.asked:,} of {job.selected:,}"]
    if verdicts_a_second:
        parts += [f"{verdicts_a_second:,.1f} a second", f"{duration(job.waiting / verdicts_a_second)} left"]
    if job.asked:
        parts.append("cost unknown" if job.cost_micro is None else money(job.cost_micro))
    return " · ".join(parts)


def share(job: JobProgress) -> float:
    """Return how much is done, 0 to 1."""
    return min(1.0, job.asked / job.selected) if job.selected else float(job.state == "done")


def sum_words(job: JobProgress) -> str:
    """Return the tally as a sum, so that everybody sees that nothing is missing."""
    numbers = [job.ok, job.unparsable, job.refused, job.error, job.waiting]
    return f"{' + '.join(f'{number:,}' for number in numbers)} = {sum(numbers):,}."


def state_words(job: JobProgress) -> str:
    """Return what is going on, or what became of it and what to do."""
    so_far = f"{job.asked:,} of {job.selected:,}"
    began = job.run_id is not None
    words = {
        "running": "You may leave this page: the job goes on without it.",
        "stopping": "Stopping: the calls in flight are finished and stored.",
        "cancelled": f"Cancelled at {so_far}. Asking for the same again goes on from there.",
        "stopped": f"Stopped at {so_far}: {job.why}.",
        "failed": f"Stopped at {so_far}: {job.why}." if began else f"Could not begin: {job.why}.",
    }
    if job.state == "waiting":
        no_worker = "Waits for a worker: no process takes jobs now. Start one: `judgeboard worker`"
        return "Waits for its turn." if job.worker_alive else no_worker
    return words.get(job.state) or _done_words(job)


def _done_words(job: JobProgress) -> str:
    took = ""
    if job.started_at is not None and job.finished_at is not None:
        took = f" in {duration((job.finished_at - job.started_at).total_seconds())}"
    said = [f"Done{took}."]
    if failed := job.asked - job.ok:
        said.append(f"{count(failed, 'answer')} without a usable verdict.")
    if job.waiting:
        said.append(f"{count(job.waiting, 'answer')} not reached: no longer selected when their turn came.")
    return " ".join(said)
