"""Answers that a judge gave no such score, in an address: ``?unscored=quality&unscored_judge=rag``.

Or of one version: ``&unscored_version=3``.
"""

from collections.abc import Mapping
from typing import cast, get_args

from judgeboard.errors import BadInput
from judgeboard.store.figures.unscored_answers import ScoreName, unscored_answers
from judgeboard.store.judgments.judge_versions import get_version
from judgeboard_dashboard.drill import Drilled
from judgeboard_dashboard.picking import Rows
from judgeboard_dashboard.session import store

UNSCORED_FIELDS = ("unscored", "unscored_judge", "unscored_version")


def unscored_rows(score: ScoreName, judge: str | int) -> Rows:
    """Return them on the Responses page; the judge by name, or a version by its id."""
    of = "unscored_version" if isinstance(judge, int) else "unscored_judge"
    return Rows("responses", {"unscored": score, of: str(judge)})


def unscored_in(address: Mapping[str, list[str]]) -> Drilled | None:
    """Return those that an address names, None where it names none.

    Raises:
        JudgeboardError: There is no such score or judge version.
    """
    given = {name: address[name][-1] for name in UNSCORED_FIELDS if address.get(name)}
    if "unscored" not in given:
        return None
    score, version = given["unscored"], given.get("unscored_version", "")
    named = "unscored_judge" in given or (version.isdecimal() and len(version) <= 18)
    if score not in get_args(ScoreName) or not named:
        raise BadInput(f"this address names no score that a judge left out: {score}")
    with store().reading() as connection:
        judge = given.get("unscored_judge") or get_version(connection, int(version))
        title, key = (judge, judge) if isinstance(judge, str) else (judge.title, judge.id)
        found = unscored_answers(connection, key, cast("ScoreName", score))
    return Drilled(found, f"judged by {title} without a {score}", {name: [value] for name, value in given.items()})
