"""The supreme judge: reviews the verdict of another judge, by a chat model."""

from dataclasses import dataclass

from judgeboard.domain import JudgeInput, JudgeVersion, StepRecord, Verdict
from judgeboard.judge_kinds import AUDIT
from judgeboard.judges.answer_material import answer_material
from judgeboard.judges.binary_mark import parse_mark
from judgeboard.judges.model_judge import ModelJudge
from judgeboard.judges.options import DEFAULT_MAX_OUTPUT
from judgeboard.judges.prompt_file import fill, load_prompt
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
