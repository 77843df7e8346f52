"""The judge that compares the two answers of a pair, in one order."""

import json
from collections.abc import Sequence
from typing import NamedTuple

from judgeboard.domain import OVERALL, PairItem, Preference, Shown, StepRecord
from judgeboard.errors import BadInput
from judgeboard.judges.judge import DEFAULT_DOMAIN, DEFAULT_MAX_OUTPUT, ModelJudge
from judgeboard.judges.material import chat, fence_token, fenced_parts, fill, numbered
from judgeboard.judges.reply_forms import TEXT, Form, choice_field, entry
from judgeboard.llm.chat import ChatRequest
from judgeboard.llm.endpoint import ModelEndpoint

FIRST, SECOND, TIE = "first", "second", "tie"
LONGEST_ASPECT = 60

_MEANS = {
    Shown.AB: {FIRST: Preference.A, SECOND: Preference.B, TIE: Preference.TIE},
    Shown.BA: {FIRST: Preference.B, SECOND: Preference.A, TIE: Preference.TIE},
}


def checked_aspects(aspects: Sequence[str]) -> tuple[str, ...]:
    """Return the aspects of a comparison."""
    if not aspects or len(set(aspects)) < len(aspects):
        raise BadInput("a comparison needs at least one aspect, each of them named once")
    for aspect in aspects:
        if not aspect.strip() or len(aspect) > LONGEST_ASPECT or not aspect.isprintable():
            raise BadInput(f"an aspect is a name of 1 to {LONGEST_ASPECT} characters that can be shown, not {aspect!r}")
    return tuple(aspects)


PAIRWISE = "pairwise"
"""The kind of judge versions that compare pairs."""


class Comparison(NamedTuple):
    """A judge's comparison of a pair in one order.

    ``preferences`` has the preferred stored answer by aspect; it is empty unless the status of ``record`` is ok.
    """

    record: StepRecord
    preferences: dict[str, Preference]
    reasoning: str | None


class PairwiseJudge(ModelJudge):
    """Judges which of two answers is better; the caller asks in both orders.

    Source: "LLM-as-Judge", AI Engineering Patterns (2026), pairwise comparison. The model replies first, second or tie,
    which becomes a preference for a stored answer.
    """

    prompt_name = kind = PAIRWISE
    scale = "a, b or tie"

    def __init__(
        self,
        endpoint: ModelEndpoint,
        *,
        name: str | None = None,
        aspects: Sequence[str] = (OVERALL,),
        domain: str = DEFAULT_DOMAIN,
        max_output: int = DEFAULT_MAX_OUTPUT,
    ) -> None:
        """Make a judge of a chat model; it compares each of the ``aspects`` separately."""
        self.aspects = checked_aspects(aspects)
        super().__init__(endpoint, name=name, max_output=max_output, domain=domain, aspects=list(self.aspects))
        self._domain = domain
        # Reasons come before verdicts.
        aspect = entry({"reasoning": TEXT, "verdict": choice_field((FIRST, SECOND, TIE))})
        self._form = Form(dict.fromkeys(self.aspects, aspect))

    async def compare(self, pair: PairItem, shown: Shown, reference: str | None = None) -> Comparison:
        """Ask which answer of ``pair`` is better; the judge sees ``reference`` as the correct answer.

        Raises ValueError if a text of the pair is missing.
        """
        asked = await self._ask(self.request(pair, shown, reference), self._form.parse)
        record = asked.record
        if asked.value is None:
            return Comparison(record, {}, None)
        entries = asked.value.content
        preferences = {aspect: _MEANS[shown][entries[aspect]["verdict"]] for aspect in self.aspects}
        if len(self.aspects) == 1:
            return Comparison(record, preferences, entries[self.aspects[0]]["reasoning"])
        return Comparison(
            record, preferences, "\n".join(f"{aspect}: {entries[aspect]['reasoning']}" for aspect in self.aspects)
        )

    def request(self, pair: PairItem, shown: Shown, reference: str | None = None) -> ChatRequest:
        """Return the request of `compare`; arguments and errors as there."""
        if pair.question is None or pair.answer_a is None or pair.answer_b is None:
            raise ValueError(f"the pair {pair.external_id!r} lacks a text to compare")
        answers = (pair.answer_a, pair.answer_b)
        first, second = answers if shown is Shown.AB else answers[::-1]
        options, passages = pair.options or (), pair.passages or ()
        references = [] if reference is None else [reference]
        token = fence_token((pair.question, *options, *passages, *references, first, second))
        material = fenced_parts(
            token,
            ("QUESTION", pair.question),
            *((f"OPTION {_letter(place)}", option) for place, option in enumerate(options)),
            *numbered("PASSAGE", passages),
            *(("CORRECT ANSWER", text) for text in references),
            ("FIRST ANSWER", first),
            ("SECOND ANSWER", second),
        )
        sections = self._prompt.sections
        example = {aspect: {"reasoning": "…", "verdict": TIE} for aspect in self.aspects}  # some models take no schema
        parts = {"Options": options, "Passages": passages, "Reference": references}
        instructions = (
            fill(sections["Role"], domain=self._domain),
            sections["Comparing"],
            *(sections[name] for name, texts in parts.items() if texts),
            fill(sections["Aspects"], aspects=", ".join(f'"{aspect}"' for aspect in self.aspects)),
            fill(sections["Reply"], example=json.dumps(example, ensure_ascii=False)),
        )
        messages = chat(instructions, fill(sections["Task"], fence=token, material=material))
        subject = f"{pair.external_id}:{shown.value}"
        return self._request(messages, subject, self._form.schema, "comparison")


def _letter(place: int) -> str:
    return chr(ord("A") + place) if place < 26 else str(place + 1)
