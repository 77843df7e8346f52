"""Graded answers that a judge version has not judged: with its verdicts on them, there are enough rating pairs."""

import shlex
from collections.abc import Iterable
from dataclasses import dataclass, replace

from sqlalchemy import Connection

from judgeboard.stats.estimates import MIN_PAIRS
from judgeboard.store.filters import RowFilter, conditions_of
from judgeboard.store.judge_versions import StoredVersion, retired_versions
from judgeboard.store.responses import last_response_id
from judgeboard.store.runs import PLAIN, Selection, count_unasked
from judgeboard.text import counted


@dataclass(frozen=True, slots=True)
class UnjudgedAnswers:
    """The ``answers`` that people graded and the judge version ``title`` has not judged, with the way to figures.

    ``command`` judges them; None if the version cannot judge. ``other`` is the version with the most rating pairs and
    their number, None if all have too few.
    """

    title: str
    answers: int
    command: str | None
    other: tuple[str, int] | None

    def sentence(self, n: int) -> str:
        """Return why ``n`` rating pairs are too few, and what to do."""
        graded = f"{counted(n, 'graded answer')} {'has' if n == 1 else 'have'} a verdict of {self.title}"
        missing = f"It has not judged {counted(self.answers, 'other graded answer' if n else 'graded answer')}"
        steps = [] if self.command is None else ["judge them"]
        if self.other is not None:
            title, pairs = self.other
            steps.append(f"choose {title} ({counted(pairs, 'graded answer')})")
        return f"{graded}; at least {MIN_PAIRS} are needed. {missing}: {', or '.join(steps)}."


def unjudged_answers(
    connection: Connection,
    version: StoredVersion,
    where: RowFilter,
    n: int,
    pairs: Iterable[tuple[StoredVersion, int]],
) -> UnjudgedAnswers | None:
    """Return the graded answers that a version with ``n`` rating pairs has to judge.

    ``pairs`` are all versions with their numbers of rating pairs. Returns None if the version has enough, if the
    verdicts that it lacks are too few, or if neither it can judge nor another version has enough.
    """
    if n >= MIN_PAIRS:
        return None
    from judgeboard.runs.judging import judge_options  # loads all kinds of judges, which few figures need

    graded = replace(where, graded=True)
    answers = count_unasked(connection, version.id, Selection(graded, PLAIN, None, last_response_id(connection)))
    if n + answers < MIN_PAIRS:
        return None
    options = None if version.id in retired_versions(connection) else judge_options(version)
    conditions = shlex.join(word for condition in conditions_of(graded) for word in ("--where", condition))
    command = None if options is None else f"judgeboard judge {options} {conditions}"
    other = max(((count, -each.id, each.title) for each, count in pairs if count >= MIN_PAIRS), default=None)
    if command is None and other is None:
        return None
    return UnjudgedAnswers(version.title, answers, command, None if other is None else (other[2], other[0]))
