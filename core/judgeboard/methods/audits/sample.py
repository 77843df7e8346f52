"""The audit of the sample log, which compares recorded verdicts."""

from collections.abc import Iterator
from pathlib import Path

from judgeboard.cli.demo import ACTOR, SECOND_JUDGE
from judgeboard.methods.audits.run import audit_recorded
from judgeboard.store.engine import Store


def add_sample(store: Store, _folder: Path) -> Iterator[str]:
    """Let the second judge audit the verdicts of the first; a finished audit is not repeated."""
    audit_recorded(store, SECOND_JUDGE, "lexical", actor=ACTOR)
    yield f"lexical audited by {SECOND_JUDGE}"
