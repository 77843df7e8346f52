"""Whether self-refine came to an answer that its judge calls good enough."""

from judgeboard.refining import AttemptSequence, RefineRule
from judgeboard.store.engine import Store
from judgeboard.store.runs.runs import get_run


def has_passed(store: Store, sequence: AttemptSequence) -> bool | None:
    """Return whether the last attempt got the rating that its run asked for; None of reflection."""
    if sequence.method != "refine" or not sequence.attempts:
        return None
    with store.reading() as connection:
        rule = get_run(connection, sequence.run_id).question.get("rule", {})
    wanted = RefineRule(success_rating=rule.get("success_rating", RefineRule().success_rating))
    return wanted.succeeds(sequence.attempts[-1].rating)
