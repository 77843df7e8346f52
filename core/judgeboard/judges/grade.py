"""The judge of correct or incorrect."""

from judgeboard.domain import DimensionScore, JudgeInput, JudgeVersion, Label, Verdict
from judgeboard.judges.judge import DEFAULT_MAX_OUTPUT, JudgeOptions, ModelJudge
from judgeboard.judges.material import answer_material, fill, load_prompt
from judgeboard.judges.reply_forms import parse_mark
from judgeboard.llm.asking import ask
from judgeboard.llm.chat import ChatRequest, Message
from judgeboard.llm.endpoint import ModelEndpoint

_TEMPERATURE = 0
DIMENSION = "correct"
SCALE = "correct 1, incorrect 0; correct is kept as the label grounded, incorrect as hallucinated"


class GradeJudge(ModelJudge):
    """Asks a chat model whether an answer, its reasons included, is correct.

    Source: Daniel Le, "LLM judge evaluates another LLM judge" (2024), the teacher of its three: a binary grade in
    strict form. What it says is kept as a label, so that it can be compared with people, and as the score itself.
    """

    def __init__(self, endpoint: ModelEndpoint, *, name: str = "grade", max_output: int = DEFAULT_MAX_OUTPUT) -> None:
        """Make a judge of a chat model, which is closed with the judge; ``max_output`` is in tokens."""
        super().__init__(endpoint)
        self._max_output = max_output
        self.version = JudgeVersion(
            name=name,
            kind="grade",
            model=endpoint.model,
            params={"temperature": _TEMPERATURE, "max_output": max_output},
            prompt=load_prompt("grade").text,
            scale=SCALE,
        )

    async def judge(self, item: JudgeInput) -> Verdict:
        """Ask for the grade of ``item``, with one repair where the reply is anything but a label and its digit.

        Raises:
            EndpointRefused: No row can succeed until the key, the address or the model's name is mended.
        """
        request = ChatRequest(
            messages=_messages(item),
            schema=None,
            schema_name="",
            max_output=self._max_output,
            parameters={"temperature": _TEMPERATURE},
            subject=item.external_id,
        )
        asked = await ask(self._endpoint.chat, request, parse_mark, repair=_repair)
        record = asked.record(self._endpoint.price)
        if asked.value is None:
            return Verdict.of(record)
        return Verdict.of(
            record,
            label=Label.GROUNDED if asked.value else Label.HALLUCINATED,
            scores=(DimensionScore(DIMENSION, float(asked.value), "0-1"),),
        )


def _messages(item: JudgeInput) -> list[Message]:
    sections = load_prompt("grade").sections
    token, material = answer_material(item)
    return [
        {"role": "system", "content": sections["System"]},
        {"role": "user", "content": fill(sections["Task"], fence=token, material=material)},
    ]


def _repair(error: str) -> str:
    return fill(load_prompt("grade").sections["Repair"], error=error)


def make_grade_judge(options: JudgeOptions) -> GradeJudge:
    """Make the judge of ``options``: over its endpoint, or from its recorded replies.

    Raises:
        BadInput: No model, no key for OpenAI's own endpoint, an address that is none, unreadable replies.
    """
    endpoint = options.endpoint("the grade judge")
    return GradeJudge(endpoint, name=options.name or "grade", max_output=options.max_output)
