"""Answers about crags: one fact, several facts, or two crags compared."""

from typing import Any

from sample_source.crag_text import TERSE, falsified, other_pages, pages_on, say, say_of_two
from sample_source.dice import Dice
from sample_source.draft import MOODS, Draft, Sentence, quality_of_a_bare_value
from sample_source.inventor import Inventor
from sample_source.library import Crag, Side, crags, read, sides


class CragWriter:
    """Writes questions and answers about the crags of the guide."""

    def __init__(self, dice: Dice, inventor: Inventor) -> None:
        self._dice = dice
        self._inventor = inventor
        self._questions = read("crag_questions")
        self._refusals: list[str] = read("refusals")["text"]
        self._leads: list[str] = read("refusals")["lead_list"]

    def simple(self, mood: str) -> Draft:
        """Return a question for one fact, answered in ``mood``."""
        crag = self._dice.pick(crags())
        known = [side for side in sides().values() if side.known_for(crag)]
        side, other = self._dice.several(known, 2)
        ask = say(self._dice.pick(side.ask), crag)
        if mood == "refusal":
            return self._refusal(ask, "simple", crag, side)
        pages = pages_on(crag, (side.key,)) + other_pages(
            self._dice, self._dice.between(1, 3), (crag,)
        )
        right = Sentence(say(self._short(side), crag), supported=True, about=side.about)
        quality = MOODS[mood]
        if mood == "terse":
            sentences = [Sentence(say(TERSE[side.key], crag), supported=True, about=side.about)]
            quality = quality_of_a_bare_value(ask)
        elif mood == "wrong":
            wrong = falsified(self._dice, crag, side, (side.twist,))
            sentences = [Sentence(say(self._short(side), wrong), supported=False, about=side.about)]
        elif mood == "padded":
            sentences = [right, self._inventor.sentence("crag")]
        elif mood == "beside":
            pages = pages_on(crag, (other.key,), frozenset({side.key})) + pages[-1:]
            sentences = [
                Sentence(say(self._dice.pick(other.short), crag), supported=True, about=other.about)
            ]
        else:
            sentences = [right]
        return Draft(ask, "simple", mood, self._dice.shuffled(pages), sentences, quality)

    def complex(self, mood: str, kind: str, crowd: int) -> Draft:
        """Return a question for several facts (``kind`` one, two or long) with ``crowd`` pages of no use."""
        question = self._dice.pick(self._questions[kind])
        first, second = self._dice.several(
            [crag for crag in crags() if crag["rope"] and crag["draws"]], 2
        )
        about = (first, second) if kind == "two" else (first,)
        asked = tuple(question["sides"])
        ask = self._ask(question, about)
        if mood == "refusal":
            return self._refusal(ask, "complex", first, sides()[asked[0]])
        if mood == "beside":
            asked = tuple(self._dice.several([key for key in sides() if key not in asked], 1))
        told, withheld = self._split(mood, asked, long=kind == "long")
        pages = [page for crag in about for page in pages_on(crag, asked, frozenset(withheld))]
        pages += other_pages(self._dice, crowd, about)
        sentences = [
            self._sentence(key, about, supported=key not in withheld)
            for key in asked
            if key in told + withheld
        ]
        extra = {
            "slip": 1,
            "mixed": self._dice.between(0, 1),
            "made_up": self._dice.between(1, 2),
        }.get(mood, 0)
        for _ in range(extra):
            place = self._dice.between(1, len(sentences))
            sentences.insert(place, self._inventor.sentence("crag"))
        quality = MOODS[mood]
        if mood == "made_up" and len(told + withheld) < len(asked):
            quality = 2
        draft = Draft(ask, "complex", mood, self._dice.shuffled(pages), sentences, quality)
        if mood != "beside" and self._dice.chance(0.25):
            draft.glue = "\n- "
            draft.sentences.insert(
                0, Sentence(self._dice.pick(self._leads), supported=True, about="the opening")
            )
        return draft

    def _short(self, side: Side) -> str:
        """Return a phrase for a short answer, mostly one that says what it is about."""
        naming = [phrase for phrase in side.short if "{name}" in phrase or "{route}" in phrase]
        return self._dice.pick(naming if self._dice.chance(0.7) else side.short)

    def _ask(self, question: dict[str, Any], about: tuple[Crag, ...]) -> str:
        phrase = self._dice.pick(question["ask"])
        return say(phrase, about[0]) if len(about) == 1 else say_of_two(phrase, *about)

    def _split(
        self, mood: str, asked: tuple[str, ...], *, long: bool
    ) -> tuple[list[str], list[str]]:
        """Return the sides told from the passages, and those that the passages lack but the answer states."""
        order = self._dice.shuffled(asked)
        if mood in {"gap", "mixed"} and long:
            order = order[:8]
        if mood == "gap":
            return order[:-1] or order, []
        if mood == "mixed":
            half = (len(order) + 1) // 2
            return order[:half], order[half:]
        if mood == "made_up":
            kept = len(order) // 4 + (1 if len(order) > 2 else 0)
            stated = order[kept:-1] if len(order) > 3 and self._dice.chance(0.5) else order[kept:]
            return order[:kept], stated
        return order, []

    def _sentence(self, key: str, about: tuple[Crag, ...], *, supported: bool) -> Sentence:
        side = sides()[key]
        if not supported:
            about = tuple(falsified(self._dice, crag, side) for crag in about)
        if len(about) == 1:
            text = say(self._dice.pick(side.full), about[0])
        elif side.pair:
            text = say_of_two(self._dice.pick(side.pair), *about)
        else:
            text = say(self._dice.pick(side.full), self._dice.pick(about))
        return Sentence(text, supported=supported, about=side.about)

    def _refusal(self, ask: str, query_type: str, crag: Crag, side: Side) -> Draft:
        what = f"{side.about} at {crag['name']}"
        words = {"about": what, "about_cap": what[0].upper() + what[1:]}
        text = self._dice.pick(self._refusals).format(**words)
        pages = other_pages(self._dice, self._dice.between(2, 4), (crag,))
        said = Sentence(text, supported=True, about="the refusal")
        return Draft(ask, query_type, "refusal", pages, [said], MOODS["refusal"])
