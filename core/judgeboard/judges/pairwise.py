"""The pairwise judge: which of two answers is better, shown in one order, by a chat model."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple, Protocol

from judgeboard.domain import JudgeVersion, Preference, Shown, StepRecord
from judgeboard.judges.fences import fence_token, fenced
from judgeboard.judges.model_judge import ModelJudge
from judgeboard.judges.options import DEFAULT_DOMAIN, DEFAULT_MAX_OUTPUT
from judgeboard.judges.pairwise_form import (
    ParsedComparison,
    checked_aspects,
    comparison_example,
    comparison_schema,
    parse_comparison,
)
from judgeboard.judges.prompt_file import fill, load_prompt
from judgeboard.judges.solved_question import SolvedQuestion
from judgeboard.llm.asking import Asked, ask
from judgeboard.llm.chat import ChatRequest
from judgeboard.llm.endpoint import ModelEndpoint
from judgeboard.pair_records import OVERALL

PAIRWISE = "pairwise"
"""The kind of every judge version that compares pairs in both orders."""

_TEMPERATURE = 0


class ComparedPair(SolvedQuestion, Protocol):
    """What the judge reads of a stored pair: the question, and its two answers."""

    @property
    def answer_a(self) -> str | None:
        """None where it was never recorded, or is forgotten."""
        ...

    @property
    def answer_b(self) -> str | None:
        """None where it was never recorded, or is forgotten."""
        ...


class Comparison(NamedTuple):
    """What the judge said of a pair in one order.

    ``preferences`` go by aspect and are in terms of the stored answers; empty where ``record`` is not ok.
    """

    record: StepRecord
    preferences: dict[str, Preference]
    reasoning: str | None


class PairwiseJudge(ModelJudge):
    """Asks a chat model which of two answers is better; whoever asks does so in both orders.

    Source: "LLM-as-Judge", AI Engineering Patterns (2026), pairwise comparison. The model says first, second or tie of
    what it was shown, which is translated back to the stored answers.
    """

    def __init__(
        self,
        endpoint: ModelEndpoint,
        *,
        name: str = PAIRWISE,
        aspects: Sequence[str] = (OVERALL,),
        domain: str = DEFAULT_DOMAIN,
        max_output: int = DEFAULT_MAX_OUTPUT,
    ) -> None:
        """Make a judge of a model.

        Args:
            endpoint: Who is asked; closed with the judge.
            name: What people call the judge.
            aspects: What is compared, each by itself; part of the version.
            domain: What the prompt says the judge is an evaluator of.
            max_output: Tokens a reply may have.

        Raises:
            BadInput: An aspect cannot be used.
        """
        self.aspects = checked_aspects(aspects)
        super().__init__(endpoint)
        self._domain = domain
        self._max_output = max_output
        self._parse = partial(parse_comparison, aspects=self.aspects)
        self.version = JudgeVersion(
            name=name,
            kind=PAIRWISE,
            model=endpoint.model,
            params={
                "temperature": _TEMPERATURE,
                "max_output": max_output,
                "domain": domain,
                "aspects": list(self.aspects),
            },
            prompt=load_prompt("pairwise").text,
            scale="a, b or tie",
        )

    async def compare(self, pair: ComparedPair, shown: Shown, reference: str | None = None) -> Comparison:
        """Ask which answer of ``pair`` is better, with one repair where the reply cannot be used.

        Args:
            pair: A stored pair with both its answers.
            shown: Which stored answer stands first.
            reference: An answer that the judge is shown as the correct one.

        Raises:
            EndpointRefused: No pair can succeed until the key, the address or the model's name is mended.
            ValueError: A text of the pair is missing.
        """
        asked = await ask(self._endpoint.chat, self.request(pair, shown, reference), self._parse, repair=_repair)
        parsed = asked.value
        record = _with_note(asked).record(self._endpoint.price)
        if parsed is None:
            return Comparison(record, {}, None)
        return Comparison(record, parsed.preferences(shown), parsed.reasoning)

    def request(self, pair: ComparedPair, shown: Shown, reference: str | None = None) -> ChatRequest:
        """Return the question that `compare` puts to the model; arguments and errors as there."""
        task, parts = _task(pair, shown, reference)
        return ChatRequest(
            messages=[
                {"role": "system", "content": self._instructions(parts)},
                {"role": "user", "content": task},
            ],
            schema=comparison_schema(self.aspects),
            schema_name="comparison",
            max_output=self._max_output,
            parameters={"temperature": _TEMPERATURE},
            subject=f"{pair.external_id}:{shown.value}",
        )

    def _instructions(self, parts: Sequence[str]) -> str:
        sections = load_prompt("pairwise").sections
        return "\n\n".join(
            [
                fill(sections["Role"], domain=self._domain),
                sections["Comparing"],
                *(sections[part] for part in parts),
                fill(sections["Aspects"], aspects=", ".join(f'"{aspect}"' for aspect in self.aspects)),
                fill(sections["Reply"], example=comparison_example(self.aspects)),
            ]
        )


def _task(pair: ComparedPair, shown: Shown, reference: str | None) -> tuple[str, list[str]]:
    """Return the user's message, and which sections of the instructions its material needs."""
    if pair.question is None or pair.answer_a is None or pair.answer_b is None:
        raise ValueError(f"the pair {pair.external_id!r} lacks a text to compare")
    answers = (pair.answer_a, pair.answer_b)
    first, second = answers if shown is Shown.AB else answers[::-1]
    options, passages = pair.options or (), pair.passages or ()
    references = [] if reference is None else [reference]
    token = fence_token((pair.question, *options, *passages, *references, first, second))
    material = [
        fenced("QUESTION", pair.question, token),
        *(fenced(f"OPTION {_letter(place)}", option, token) for place, option in enumerate(options)),
        *(fenced(f"PASSAGE {number}", passage, token) for number, passage in enumerate(passages, start=1)),
        *(fenced("CORRECT ANSWER", text, token) for text in references),
        fenced("FIRST ANSWER", first, token),
        fenced("SECOND ANSWER", second, token),
    ]
    given = {"Options": options, "Passages": passages, "Reference": references}
    task = fill(load_prompt("pairwise").sections["Task"], fence=token, material="\n\n".join(material))
    return task, [part for part, texts in given.items() if texts]


def _letter(place: int) -> str:
    """Return A, B, … for the place of an option, a number behind Z."""
    return chr(ord("A") + place) if place < 26 else str(place + 1)


def _repair(error: str) -> str:
    return fill(load_prompt("pairwise").sections["Repair"], error=error)


def _with_note(asked: Asked[ParsedComparison]) -> Asked[ParsedComparison]:
    """Note on the last call that characters of its reply could not be stored as they came."""
    if asked.value is None or not asked.value.replaced:
        return asked
    *earlier, last = asked.attempts
    return replace(asked, attempts=(*earlier, replace(last, detail="characters that cannot be stored became U+FFFD")))
