"""The tab Judge versions: which answers two judge versions judge differently, and which verdict people agree with."""

from collections.abc import Sequence

from judgeboard.errors import BadInput
from judgeboard.measure.result import Result
from judgeboard.measure.samples import judging_version
from judgeboard.measure.versus import compare_versions
from judgeboard.store.judge_versions import StoredVersion
from judgeboard.store.verdict_pairs import pairs_of_versions, versions_with_verdicts
from judgeboard.store.verdicts import count_verdicts
from judgeboard_dashboard.session import page, reading, stacking_columns
from judgeboard_dashboard.widgets.filters import choose
from judgeboard_dashboard.widgets.first_steps import empty_page
from judgeboard_dashboard.widgets.navigation import follow
from judgeboard_dashboard.widgets.texts import caption, sentence
from judgeboard_dashboard.widgets.verdict_changes import requested, show_changes

PAGE = "verdicts"
PURPOSE = "This page compares the verdicts of two judge versions on the same answers, once two versions judged them."


def verdicts() -> None:
    """Show the fields for both versions, and the list of their verdicts."""
    follow(PAGE, own=("old", "new"))
    with reading() as connection:
        judged = versions_with_verdicts(connection)
        newest = judging_version(connection)
    if len(judged) < 2:
        empty_page(PAGE, PURPOSE, command="judgeboard judge --judge NAME")
        return
    old_place, new_place, _ = stacking_columns("verdicts_versions", [1, 1, 2])
    with new_place:
        new = choose("New verdicts", _by_title(judged, newest or judged[-1]), key="new")
    others = [version for version in judged if version.id != new.id]
    same_judge = [version for version in others if version.name == new.name]
    with old_place:
        old = choose("Old verdicts", _by_title(others, (same_judge or others)[-1]), key="old")
    with reading() as connection:
        verdicts = count_verdicts(connection, old.id)
    if not requested(f"{old.id}_{new.id}", verdicts, f"of {old.title} with those of {new.title}"):
        return
    contrast = _contrast(old, new)
    if contrast is not None:
        sentence(contrast.sentence)
        caption(*contrast.next)
    titles = {version.id: version.title for version in judged}
    shown = show_changes(
        lambda connection: pairs_of_versions(connection, old.id, new.id),
        {"versions": [str(old.id), str(new.id)]},
        titles,
        file=f"{old.title} {new.title}",
    )
    if not shown.comparison.rows:
        sentence(f"No answer was judged by both {old.title} and {new.title}.")


def _contrast(old: StoredVersion, new: StoredVersion) -> Result | None:
    """Return which version is right more often; None for a person from whom answers are hidden."""
    try:
        with reading() as connection:
            return compare_versions(connection, old.id, new.id)
    except BadInput:
        return None


def _by_title(versions: Sequence[StoredVersion], first: StoredVersion) -> dict[str, StoredVersion]:
    """Return the versions by title, ``first`` first."""
    return {first.title: first, **{version.title: version for version in versions}}


with page():
    verdicts()
