"""The judges of pairs: `PairwiseJudge`, and `SelfReferenceJudge`, which first answers the question."""

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import NamedTuple

from judgeboard.domain import (
    OVERALL,
    PAIRWISE,
    SELF_REFERENCE,
    PairItem,
    Preference,
    Shown,
    StepRecord,
)
from judgeboard.errors import BadInput
from judgeboard.judges.judge import DEFAULT_DOMAIN, JudgeOptions, ModelJudge
from judgeboard.judges.prompt import chat, earlier_parts, fence_token, fenced_parts, fill, numbered
from judgeboard.judges.replies import REASONING, TEXT, Form, choice_field, entry_field, letters_of
from judgeboard.llm.asking import Replied
from judgeboard.llm.chat import ChatRequest
from judgeboard.llm.endpoint import ModelEndpoint

FIRST, SECOND, TIE = "first", "second", "tie"
LONGEST_ASPECT = 60

_MEANS = {
    Shown.AB: {FIRST: Preference.A, SECOND: Preference.B, TIE: Preference.TIE},
    Shown.BA: {FIRST: Preference.B, SECOND: Preference.A, TIE: Preference.TIE},
}


_NOUN = "(?:answer|response|assistant|option|model|output|one)"
_EQUAL = "equal|equally good|the same"
_TIE = rf"(?:it(?:'s| is) )?(?:an? )?(?:tie|draw|tied|{_EQUAL})|both (?:are )?(?:{_EQUAL})|neither is better|\[\[c\]\]"


def _side(names: str) -> str:
    """Return the pattern of what models write for one of two answers: "A", "the first answer", "Model A is better"."""
    better = rf"wins|is (?:the )?(?:much |clearly |slightly )?(?:better|best|winner)(?: {_NOUN})?(?: overall)?"
    return rf"(?:the )?(?:{_NOUN} )?(?:{names})(?: {_NOUN})?(?: (?:{better})(?: than (?:the )?\w+(?: \w+)?)?)?"


def checked_aspects(aspects: Sequence[str]) -> tuple[str, ...]:
    """Return the aspects of a comparison."""
    if not aspects or len(set(aspects)) < len(aspects):
        raise BadInput("a comparison needs at least one aspect, and no aspect twice")
    for aspect in aspects:
        if not aspect.strip() or len(aspect) > LONGEST_ASPECT or not aspect.isprintable():
            raise BadInput(
                f"an aspect must be a name of 1 to {LONGEST_ASPECT} printable characters, not {aspect!r}"
            )
    return tuple(aspects)


class Comparison(NamedTuple):
    """A comparison in one order. ``preferences`` (by aspect) is empty unless the status of ``record`` is ok."""

    record: StepRecord
    preferences: dict[str, Preference]
    reasoning: str | None


class PairwiseJudge(ModelJudge):
    """Judges which of two answers is better. The caller compares each pair in both orders.

    Source: "LLM-as-Judge", AI Engineering Patterns (2026), pairwise comparison.
    """

    prompt_name = kind = PAIRWISE
    scale = "a, b or tie"

    def __init__(
        self,
        endpoint: ModelEndpoint,
        options: JudgeOptions | None = None,
        *,
        aspects: Sequence[str] = (OVERALL,),
    ) -> None:
        """Make a judge of a chat model, which compares each aspect separately. The temperature is 0."""
        options = options or JudgeOptions()
        self.aspects = checked_aspects(aspects)
        domain = options.domain or DEFAULT_DOMAIN
        super().__init__(
            endpoint,
            options.model_copy(update={"temperature": 0, "dialogue": "last"}),
            params={"domain": domain, "aspects": list(self.aspects)},
        )
        self._domain = domain
        self._schema = self._form(letters=True).schema

    def _form(self, *, letters: bool) -> Form:
        """Return the form of a reply. If the question has options with letters, A and B are none of the two answers."""
        of_one = len(self.aspects) == 1
        names = ("better", "winner", "verdict", "preference", "choice", "result") if of_one else ()
        spellings = {
            FIRST: _side("first|1|a" if letters else "first|1"),
            SECOND: _side("second|2|b" if letters else "second|2"),
        }
        side = choice_field({**spellings, TIE: _TIE}, names=names)
        return Form(dict.fromkeys(self.aspects, entry_field("verdict", side)))

    async def compare(
        self, pair: PairItem, shown: Shown, reference: str | None = None
    ) -> Comparison:
        """Ask which answer is better; ``reference`` is a correct answer. Raises ValueError if a text is missing."""
        form = self._form(letters=not pair.options)
        reply = await self._ask(self.request(pair, shown, reference), form.parse)
        record = reply.record
        if reply.value is None:
            return Comparison(record, {}, None)
        values, reasons, _ = reply.value
        preferences = {aspect: _MEANS[shown][values[aspect]] for aspect in self.aspects}
        if len(self.aspects) == 1:
            return Comparison(record, preferences, reasons.get(self.aspects[0]))
        lines = [f"{aspect}: {reason}" for aspect, reason in reasons.items() if reason]
        return Comparison(record, preferences, "\n".join(lines) or None)

    def request(self, pair: PairItem, shown: Shown, reference: str | None = None) -> ChatRequest:
        """Return the request of `compare`. Arguments and errors are the same."""
        if pair.question is None or pair.answer_a is None or pair.answer_b is None:
            raise ValueError(f"the pair {pair.external_id!r} lacks a text to compare")
        answers = (pair.answer_a, pair.answer_b)
        first, second = answers if shown is Shown.AB else answers[::-1]
        references = [] if reference is None else [reference]
        turns = earlier_parts(self._prompt, pair)
        parts = [
            *turns,
            *_question_parts(pair.question, pair),
            *(("CORRECT ANSWER", text) for text in references),
            ("FIRST ANSWER", first),
            ("SECOND ANSWER", second),
        ]
        token = fence_token(text for _, text in parts)
        sections = self._prompt.sections
        example = {
            aspect: {"reasoning": "…", "verdict": TIE} for aspect in self.aspects
        }  # some models take no schema
        shown_parts = {
            "Dialogue": turns,
            "Options": pair.options,
            "Passages": pair.passages,
            "Reference": references,
        }
        instructions = (
            fill(sections["Role"], domain=self._domain),
            sections["Comparing"],
            *(sections[name] for name, texts in shown_parts.items() if texts),
            fill(sections["Aspects"], aspects=", ".join(f'"{aspect}"' for aspect in self.aspects)),
            fill(sections["Reply"], example=json.dumps(example, ensure_ascii=False)),
        )
        messages = chat(
            instructions, fill(sections["Task"], fence=token, material=fenced_parts(token, *parts))
        )
        subject = f"{pair.external_id}:{shown.value}"
        return self._request(messages, subject, self._schema, "comparison")


def _question_parts(question: str, pair: PairItem) -> list[tuple[str, str]]:
    options = pair.options or ()
    names = letters_of(options) or range(1, len(options) + 1)
    option_parts = ((f"OPTION {name}", option) for name, option in zip(names, options, strict=True))
    return [("QUESTION", question), *option_parts, *numbered("PASSAGE", pair.passages)]


DEFAULT_SAMPLES = 5
SAMPLE_TEMPERATURE = 0.7
DEFAULT_SOLVE_OUTPUT = 1024


@cache
def solution_form(options: tuple[str, ...]) -> Form:
    """Return the form of an answer to a question: the letter of an option if there are options, otherwise a text."""
    names = ("final answer", "solution", "option", "choice", "result")
    letters = letters_of(options)
    spellings = {
        letter: rf"(?:option )?{letter}|{re.escape(option)}|{letter}[).:]? {re.escape(option)}"
        for letter, option in zip(letters, options, strict=False)
    }
    free = replace(TEXT, read=lambda value, mends: TEXT.read(value, mends).strip(" *_`\n"))
    answer = choice_field(spellings, names=names, labelled=False) if letters else free
    return Form({"reasoning": REASONING, "answer": answer})


class SelfReferenceJudge(ModelJudge):
    """Answers a question ``k`` times, and compares a pair with or without the resulting answer as reference.

    Source: "Selective Self-Reference for LLM-as-a-Judge" (FARS, Analemma): k = 5 samples at T =
    0.7. Samples and verdicts belong to one judge version, because other samples can give another
    reference.
    """

    prompt_name = "self_solve"
    kind = SELF_REFERENCE

    def __init__(
        self,
        endpoint: ModelEndpoint,
        options: JudgeOptions | None = None,
        *,
        k: int = DEFAULT_SAMPLES,
    ) -> None:
        """Make a judge that takes ``k`` samples per question at the temperature of the options; verdicts use 0.

        ``max_output`` is the maximum number of tokens in a verdict and in a sample (default: 512 in
        a verdict, 2048 in a sample).
        """
        if k < 1:
            raise BadInput(f"--k must be at least 1, not {k}")
        options = options or JudgeOptions()
        usual = {"temperature": SAMPLE_TEMPERATURE, "max_output": DEFAULT_SOLVE_OUTPUT}
        sampling_options = JudgeOptions.model_validate(usual | options.given())
        super().__init__(
            endpoint, sampling_options.model_copy(update={"prompt": None, "dialogue": "last"})
        )
        self.k = k
        self.price = endpoint.price
        self._domain = options.domain or DEFAULT_DOMAIN
        pairwise_options = options.model_copy(update={"name": options.name or SELF_REFERENCE})
        self.pairwise = PairwiseJudge(endpoint, pairwise_options)
        verdicts = self.pairwise.version
        sampling = {
            "samples": k,
            "sample_temperature": self._temperature,
            "sample_max_output": sampling_options.max_output,
        }
        prompts = f"{self._prompt.text}\n{verdicts.prompt}"
        self.version = replace(
            verdicts, kind=SELF_REFERENCE, params={**verdicts.params, **sampling}, prompt=prompts
        )

    async def solve(self, item: PairItem, number: int) -> Replied[str]:
        """Sample an answer; ``number`` (from 0) selects a recorded sample. Raises ValueError without a question."""
        return await self._ask(
            self.solve_request(item, number), solution_form(tuple(item.options or ())).parse_value
        )

    def solve_request(self, item: PairItem, number: int) -> ChatRequest:
        """Return the request of `solve`. Arguments and errors are the same."""
        if item.question is None:
            raise ValueError(f"the question of {item.external_id!r} is forgotten")
        letters = letters_of(item.options or ())
        parts = _question_parts(item.question, item)
        token = fence_token(text for _, text in parts)
        sections = self._prompt.sections
        example = json.dumps(
            {"reasoning": "…", "answer": letters[0] if letters else "…"}, ensure_ascii=False
        )
        instructions = (
            fill(sections["Role"], domain=self._domain),
            *([sections["Passages"]] if item.passages else []),
            fill(sections["Options"], letters=", ".join(letters)) if letters else sections["Free"],
            fill(sections["Reply"], example=example),
        )
        messages = chat(
            instructions, fill(sections["Task"], fence=token, material=fenced_parts(token, *parts))
        )
        return self._request(
            messages,
            f"{item.external_id}:sample:{number}",
            solution_form(tuple(item.options or ())).schema,
            "solution",
        )
