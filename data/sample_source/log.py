"""Writes the ten weeks of answers."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from sample_source.crag_answers import CragWriter
from sample_source.dice import Dice
from sample_source.draft import Draft
from sample_source.inventor import Inventor
from sample_source.logbook import fill
from sample_source.logbook_answers import LogbookWriter
from sample_source.manners import typed
from sample_source.overlap import Originality
from sample_source.plan import WEEKS, Answer, model_of, moment, moods
from sample_source.topic_answers import TopicWriter

CRAG_KINDS = (
    "two",
    "one",
    "two",
    "one",
    "two",
    "one",
    "one",
    "long",
)  # half of a week's complex questions
# (week, place among the simple questions): the mood of an answer without any passage
NOTHING_RETRIEVED = {
    (0, 2): "refusal",
    (2, 3): "wrong",
    (4, 2): "refusal",
    (5, 3): "wrong",
    (7, 2): "refusal",
    (8, 3): "wrong",
}
# the same: answers whose passages the log does not have
NOT_LOGGED = {(1, 0), (3, 0), (4, 6), (6, 0), (8, 0), (9, 6)}


class Log:
    """Everything that the assistant was asked, in order of time."""

    def __init__(self, seed: int) -> None:
        self._dice = Dice(seed)
        inventor = Inventor(self._dice)
        self._crags = CragWriter(self._dice, inventor)
        self._topics = TopicWriter(self._dice, inventor)
        self._logbook = LogbookWriter(self._dice, inventor, fill(self._dice))
        self._originality = Originality()
        self._asked: set[str] = set()

    def answers(self) -> list[Answer]:
        """Return the answers of all weeks, numbered in order of time."""
        drafts = [(week, draft) for week in range(WEEKS) for draft in self._week(week)]
        for _, draft in drafts:
            draft.query = typed(self._dice, draft.query)
        timed = sorted(
            ((moment(self._dice, week), week, draft) for week, draft in drafts),
            key=lambda item: item[0],
        )
        return [
            Answer(f"belay-{number:04}", draft, week, asked_at, model_of(draft.query_type, week))
            for number, (asked_at, week, draft) in enumerate(timed, start=1)
        ]

    def _week(self, week: int) -> list[Draft]:
        simple = self._dice.shuffled(moods("simple", week))
        sql = self._dice.shuffled(moods("sql", week))
        several = self._dice.shuffled(moods("complex", week))
        return [
            *(self._simple(week, place, mood) for place, mood in enumerate(simple)),
            *(self._original(partial(self._logbook.answer, mood)) for mood in sql),
            *(self._complex(place, mood) for place, mood in enumerate(several)),
        ]

    def _simple(self, week: int, place: int, mood: str) -> Draft:
        mood = NOTHING_RETRIEVED.get((week, place), mood)
        write = self._crags.simple if place % 2 else self._topics.simple
        draft = self._original(partial(write, mood))
        if (week, place) in NOTHING_RETRIEVED:
            return replace(draft, passages=[])
        return replace(draft, passages=None) if (week, place) in NOT_LOGGED else draft

    def _complex(self, place: int, mood: str) -> Draft:
        crowd = self._dice.between(4, 5) if self._dice.chance(0.16) else self._dice.between(0, 2)
        if place % 2 == 0:
            draft = self._attempt(
                partial(self._topics.complex, mood, crowd), 40, self._topics.give_back
            )
            if draft is not None:
                return draft
        kind = CRAG_KINDS[place // 2]
        return self._original(partial(self._crags.complex, mood, kind, crowd))

    def _original(self, write: Callable[[], Draft]) -> Draft:
        draft = self._attempt(write, 400, lambda _: None)
        if draft is None:
            raise RuntimeError(
                "400 drafts in a row repeat earlier answers: the library is too small for this plan"
            )
        return draft

    def _attempt(
        self, write: Callable[[], Draft | None], times: int, give_back: Callable[[str], None]
    ) -> Draft | None:
        """Return the first draft whose question is new and whose answer repeats no earlier one."""
        for _ in range(times):
            draft = write()
            if draft is None:
                return None
            if draft.query not in self._asked and self._originality.accepts(draft.answer):
                self._asked.add(draft.query)
                self._originality.add(draft.answer)
                return draft
            give_back(draft.query)
        return None
