"""Answers from the topics of the library: one fact, or several facts of one topic."""

import re

from sample_source.dice import Dice
from sample_source.draft import MOODS, Draft, Sentence, quality_of_a_bare_value
from sample_source.inventor import Inventor
from sample_source.library import Fact, Topic, read, topics

PAUSE = re.compile(r"[,;:.]\s")


def pages_on(topic: Topic, wanted: tuple[int, ...], without: tuple[int, ...] = ()) -> list[str]:
    """Return pages of one or two facts that hold the ``wanted`` ones and none of ``without``."""
    pages = []
    placed: set[int] = set()
    for number in wanted:
        if number in placed:
            continue
        pair = (
            [number, number + 1]
            if number + 1 < len(topic.facts) and number + 1 not in without
            else [number]
        )
        pair = [fact for fact in pair if fact not in placed]
        placed.update(pair)
        text = " ".join(topic.facts[fact].passage for fact in pair)
        pages.append(f"{topic.name[0].upper()}{topic.name[1:]}. {text}")
    return pages


class TopicWriter:
    """Writes questions and answers about gear, knots, training, weather, safety and places."""

    def __init__(self, dice: Dice, inventor: Inventor) -> None:
        self._dice = dice
        self._inventor = inventor
        self._refusals: list[str] = read("refusals")["text"]
        self._leads: list[str] = read("refusals")["lead_list"]
        self._deck = dice.shuffled(
            [(topic, number) for topic in topics() for number in range(len(topic.questions))]
        )

    def simple(self, mood: str) -> Draft:
        """Return a question for one fact, answered in ``mood``."""
        topic = self._dice.pick(topics())
        number, other = self._dice.several(range(len(topic.facts)), 2)
        fact = topic.facts[number]
        pages = pages_on(topic, (number,)) + self._other_pages(topic, self._dice.between(1, 3))
        right = Sentence(fact.short, supported=True, about=fact.about)
        quality = MOODS[mood]
        if mood == "refusal":
            return self._refusal(fact.ask, "simple", topic, fact)
        if mood == "wrong" and fact.swap is None:
            return self.simple(mood)
        if mood == "terse":
            head = PAUSE.split(fact.short)[0].rstrip(".") + "."
            sentences = [Sentence(head, supported=True, about=fact.about)]
            quality = quality_of_a_bare_value(fact.ask)
        elif mood == "wrong":
            sentences = [Sentence(fact.wrong, supported=False, about=fact.about)]
        elif mood == "padded":
            sentences = [right, self._inventor.sentence(topic.area)]
        elif mood == "beside":
            beside = topic.facts[other]
            pages = pages_on(topic, (other,), (number,)) + pages[-1:]
            sentences = [Sentence(beside.short, supported=True, about=beside.about)]
        else:
            sentences = [right]
        return Draft(fact.ask, "simple", mood, self._dice.shuffled(pages), sentences, quality)

    def complex(self, mood: str, crowd: int) -> Draft | None:
        """Return a question for several facts with ``crowd`` pages of no use; None when all have been asked."""
        if not self._deck:
            return None
        topic, number = self._deck.pop()
        ask, asked = topic.questions[number]
        if mood == "refusal":
            return self._refusal(ask, "complex", topic, topic.facts[asked[0]])
        if mood == "beside":
            beside = self._dice.pick(
                [place for place in range(len(topic.facts)) if place not in asked]
            )
            pages = pages_on(topic, (beside,), asked) + self._other_pages(topic, crowd)
            fact = topic.facts[beside]
            sentences = [Sentence(fact.short, supported=True, about=fact.about)]
            return Draft(ask, "complex", mood, self._dice.shuffled(pages), sentences, MOODS[mood])
        told, withheld = self._split(mood, asked)
        shown = (
            [place for place in range(len(topic.facts)) if place not in asked]
            if not told
            else list(told)
        )
        pages = pages_on(topic, tuple(shown[:3]), withheld) + self._other_pages(topic, crowd)
        sentences = [
            Sentence(
                topic.facts[place].full, supported=place in told, about=topic.facts[place].about
            )
            for place in asked
            if place in told + withheld
        ]
        extra = {
            "slip": 1,
            "mixed": self._dice.between(0, 1),
            "made_up": self._dice.between(1, 2),
        }.get(mood, 0)
        for _ in range(extra):
            sentences.insert(
                self._dice.between(1, len(sentences)), self._inventor.sentence(topic.area)
            )
        quality = 2 if mood == "made_up" and len(told + withheld) < len(asked) else MOODS[mood]
        draft = Draft(ask, "complex", mood, self._dice.shuffled(pages), sentences, quality)
        if self._dice.chance(0.15):
            draft.glue = "\n- "
            draft.sentences.insert(
                0, Sentence(self._dice.pick(self._leads), supported=True, about="the opening")
            )
        return draft

    def give_back(self, query: str) -> None:
        """Put a question that was not used under the deck."""
        found = [(t, n) for t in topics() for n, (ask, _) in enumerate(t.questions) if ask == query]
        self._deck[:0] = found

    def _split(self, mood: str, asked: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return the facts told from the passages, and those that the passages lack but the answer states."""
        order = self._dice.shuffled(asked)
        kept = {
            "gap": len(order) - 1,
            "mixed": (len(order) + 1) // 2,
            "made_up": 1 if len(order) > 2 else 0,
        }.get(mood)
        if kept is None:
            return tuple(order), ()
        if mood == "made_up" and len(order) > 2 and self._dice.chance(0.5):
            order = order[:-1]
        return tuple(order[:kept]), () if mood == "gap" else tuple(order[kept:])

    def _other_pages(self, topic: Topic, count: int) -> list[str]:
        others = self._dice.several([other for other in topics() if other is not topic], count)
        return [pages_on(other, (self._dice.below(len(other.facts)),))[0] for other in others]

    def _refusal(self, ask: str, query_type: str, topic: Topic, fact: Fact) -> Draft:
        words = {"about": fact.about, "about_cap": fact.about[0].upper() + fact.about[1:]}
        text = self._dice.pick(self._refusals).format(**words)
        pages = self._other_pages(topic, self._dice.between(2, 4))
        said = Sentence(text, supported=True, about="the refusal")
        return Draft(ask, query_type, "refusal", pages, [said], MOODS["refusal"])
