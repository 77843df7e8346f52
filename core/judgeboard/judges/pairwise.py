"""The judge that compares two answers in one order."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple, Protocol

from judgeboard.domain import OVERALL, JudgeVersion, Preference, Shown, StepRecord
from judgeboard.errors import BadInput
from judgeboard.judges.judge import DEFAULT_DOMAIN, DEFAULT_MAX_OUTPUT, ModelJudge
from judgeboard.judges.material import fence_token, fenced, fill, load_prompt
from judgeboard.judges.reply_forms import closed, require_exactly
from judgeboard.llm.asking import Asked, UnusableReply, ask, read_json_object
from judgeboard.llm.chat import ChatRequest
from judgeboard.llm.endpoint import ModelEndpoint


class SolvedQuestion(Protocol):
    """All that a solver reads of a stored pair: it never sees the two answers."""

    @property
    def external_id(self) -> str:
        """What a recording is looked up by."""
        ...

    @property
    def question(self) -> str | None:
        """None only after forgetting."""
        ...

    @property
    def options(self) -> tuple[str, ...] | None:
        """The options that the question asks about."""
        ...

    @property
    def passages(self) -> tuple[str, ...] | None:
        """The passages that both answers were given."""
        ...


FIRST, SECOND, TIE = "first", "second", "tie"
LONGEST_ASPECT = 60

_FIELDS = ("reasoning", "verdict")
_MEANS = {
    Shown.AB: {FIRST: Preference.A, SECOND: Preference.B, TIE: Preference.TIE},
    Shown.BA: {FIRST: Preference.B, SECOND: Preference.A, TIE: Preference.TIE},
}


@dataclass(frozen=True, slots=True)
class ParsedComparison:
    """A reply that passed validation: the verdict (first, second, tie) and the reasoning of each aspect."""

    verdicts: Mapping[str, str]
    reasonings: Mapping[str, str]
    replaced: bool = False

    def preferences(self, shown: Shown) -> dict[str, Preference]:
        """Return the verdicts in terms of the stored answers, which were shown in this order."""
        return {aspect: _MEANS[shown][verdict] for aspect, verdict in self.verdicts.items()}

    @property
    def reasoning(self) -> str:
        """The reasoning as one text; of several aspects each in a line that names it."""
        if len(self.reasonings) == 1:
            return next(iter(self.reasonings.values()))
        return "\n".join(f"{aspect}: {said}" for aspect, said in self.reasonings.items())


def checked_aspects(aspects: Sequence[str]) -> tuple[str, ...]:
    """Return the aspects of a comparison.

    Raises:
        BadInput: There is none, one is named twice, or a name is empty, too long or cannot be shown.
    """
    if not aspects or len(set(aspects)) < len(aspects):
        raise BadInput("a comparison needs at least one aspect, each of them named once")
    for aspect in aspects:
        if not aspect.strip() or len(aspect) > LONGEST_ASPECT or not aspect.isprintable():
            raise BadInput(f"an aspect is a name of 1 to {LONGEST_ASPECT} characters that can be shown, not {aspect!r}")
    return tuple(aspects)


def comparison_schema(aspects: Sequence[str]) -> dict[str, Any]:
    """Return the strict JSON schema of a verdict on these aspects; reasons come before verdicts."""
    verdict = {"type": "string", "enum": [FIRST, SECOND, TIE]}
    entry = closed({"reasoning": {"type": "string"}, "verdict": verdict})
    return closed(dict.fromkeys(aspects, entry))


def comparison_example(aspects: Sequence[str]) -> str:
    """Return a verdict of this form as JSON, for models that are asked in words alone."""
    return json.dumps({aspect: {"reasoning": "…", "verdict": TIE} for aspect in aspects}, ensure_ascii=False)


def parse_comparison(text: str, aspects: Sequence[str]) -> ParsedComparison:
    """Read and validate a reply; one bad field makes the whole of it unusable.

    Strictly: "First" and "A" are no verdicts, and every aspect must be there: half a verdict would make the two orders
    of a pair differ in what they speak of.

    Raises:
        UnusableReply: With the reason, like "overall: verdict must be one of first, second, tie, not 'A'".
    """
    reply = read_json_object(text)
    require_exactly(reply.content, aspects, "")
    entries = {aspect: _entry(reply.content[aspect], aspect) for aspect in aspects}
    return ParsedComparison(
        {aspect: verdict for aspect, (verdict, _) in entries.items()},
        {aspect: reasoning for aspect, (_, reasoning) in entries.items()},
        reply.replaced,
    )


def _entry(given: Any, aspect: str) -> tuple[str, str]:
    if not isinstance(given, dict):
        raise UnusableReply(f"{aspect} must be an object with reasoning and verdict, not {given!r}")
    require_exactly(given, _FIELDS, f"{aspect}: ")
    reasoning, verdict = given["reasoning"], given["verdict"]
    if not isinstance(reasoning, str):
        raise UnusableReply(f"{aspect}: reasoning must be a text, not {reasoning!r}")
    if not isinstance(verdict, str) or verdict not in _MEANS[Shown.AB]:
        raise UnusableReply(f"{aspect}: verdict must be one of first, second, tie, not {verdict!r}")
    return verdict, reasoning


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
