"""Judges of judgments: one marks a judgment, one judges the answer again."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from judgeboard.domain import AUDIT, JudgeInput, JudgeVersion, StepRecord, Verdict
from judgeboard.judges.judge import DEFAULT_MAX_OUTPUT, Judge, ModelJudge
from judgeboard.judges.material import answer_material, fill, load_prompt
from judgeboard.judges.reply_forms import parse_mark
from judgeboard.llm.asking import ask
from judgeboard.llm.chat import ChatRequest, Message
from judgeboard.llm.endpoint import ModelEndpoint

_TEMPERATURE = 0


@dataclass(frozen=True, slots=True)
class Mark:
    """What a supreme judge said of a verdict: ``correct`` where the record's status is ok, else None."""

    correct: bool | None
    record: StepRecord


class SupremeJudge(ModelJudge):
    """Asks a chat model whether a judge's verdict on an answer is correct (of the verdict, not of the answer).

    Source: Daniel Le, "LLM judge evaluates another LLM judge" (2024), approach 1; reference-free.
    """

    def __init__(self, endpoint: ModelEndpoint, *, name: str = "supreme", max_output: int = DEFAULT_MAX_OUTPUT) -> None:
        """Make a supreme judge of a chat model, which is closed with it; ``max_output`` is in tokens."""
        super().__init__(endpoint)
        self._max_output = max_output
        self.version = JudgeVersion(
            name=name,
            kind=AUDIT,
            model=endpoint.model,
            params={"temperature": _TEMPERATURE, "max_output": max_output, "approach": 1},
            prompt=load_prompt("supreme").text,
            scale="of a verdict: correct 1, incorrect 0",
        )

    async def review(self, item: JudgeInput, verdict: Verdict) -> Mark:
        """Ask whether ``verdict`` on ``item`` is correct, with one repair where the reply is not in its strict form.

        Raises:
            EndpointRefused: No row can succeed until the key, the address or the model's name is mended.
        """
        request = ChatRequest(
            messages=_messages(item, verdict),
            schema=None,
            schema_name="",
            max_output=self._max_output,
            parameters={"temperature": _TEMPERATURE},
            subject=item.external_id,
        )
        asked = await ask(self._endpoint.chat, request, parse_mark, repair=_repair)
        return Mark(asked.value, asked.record(self._endpoint.price))


def verdict_text(verdict: Verdict) -> str:
    """Return a verdict as the supreme judge reads it: a line for each thing that was given."""
    given = {
        "groundedness": None if verdict.groundedness is None else f"{verdict.groundedness:g}",
        "quality": None if verdict.quality is None else str(verdict.quality),
        "label": None if verdict.label is None else verdict.label.value,
        **{
            score.dimension: f"{score.value:g} (of {score.scale})"
            for score in verdict.scores
            if score.value is not None
        },
        "reasoning": verdict.reasoning,
    }
    return "\n".join(f"{name}: {value}" for name, value in given.items() if value is not None)


def _messages(item: JudgeInput, verdict: Verdict) -> list[Message]:
    sections = load_prompt("supreme").sections
    token, material = answer_material(item, VERDICT=verdict_text(verdict))
    return [
        {"role": "system", "content": sections["System"]},
        {"role": "user", "content": fill(sections["Task"], fence=token, material=material)},
    ]


def _repair(error: str) -> str:
    return fill(load_prompt("supreme").sections["Repair"], error=error)


MEASURES: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "rag": frozenset({"groundedness", "quality"}),
        "lexical": frozenset({"groundedness"}),
        "rating": frozenset({"quality"}),
        "grade": frozenset({"label"}),
        "rubric": frozenset(),
    }
)
"""What the verdicts of each kind of judge say, dimensions apart."""


class IndependentSupreme:
    """Judges answers as ``judge`` does, as a version of kind audit; approach 2 of methods.md §4.

    Source: Daniel Le, "LLM judge evaluates another LLM judge" (2024).
    """

    def __init__(self, judge: Judge, *, name: str = "supreme") -> None:
        """Take a judge of any kind; it is closed with this one."""
        self._judge = judge
        version = judge.version
        params = {**version.params, "approach": 2, "judge": version.kind}
        self.version: JudgeVersion = replace(version, name=name, kind=AUDIT, params=params)

    @property
    def measures(self) -> frozenset[str]:
        """What its verdicts can be compared on; of a kind that is not known here, all that a verdict may have."""
        return MEASURES.get(str(self.version.params["judge"]), frozenset({"groundedness", "quality", "label"}))

    @property
    def endpoint_host(self) -> str | None:
        """Host and port that the texts are sent to."""
        return self._judge.endpoint_host

    @property
    def priced(self) -> bool:
        """Whether the cost of a call is known."""
        return self._judge.priced

    async def judge(self, item: JudgeInput) -> Verdict:
        """Return the verdict on ``item``.

        Raises:
            EndpointRefused: No row can succeed until the key, the address or the model's name is mended.
        """
        return await self._judge.judge(item)

    async def aclose(self) -> None:
        """Close the judge."""
        await self._judge.aclose()
