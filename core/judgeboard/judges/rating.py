"""The judge that rates an answer with feedback, for refining."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from judgeboard.domain import JudgeInput, JudgeVersion, Status, StepRecord, Verdict, checked_quality
from judgeboard.judges.judge import DEFAULT_MAX_OUTPUT, JudgeOptions, ModelJudge
from judgeboard.judges.material import fence_token, fenced, fill, load_prompt
from judgeboard.judges.reply_forms import closed, require_exactly
from judgeboard.llm.asking import UnusableReply, ask, read_json_object
from judgeboard.llm.chat import ChatRequest, Message
from judgeboard.llm.endpoint import ModelEndpoint

# Reasons before the rating: a model that has to say why first rates better.
FIELDS = ("evaluation", "rating", "feedback")
SCHEMA: Mapping[str, Any] = closed(
    {
        "evaluation": {"type": "string"},
        "rating": {"type": "integer", "enum": [1, 2, 3, 4]},
        "feedback": {"type": "string"},
    }
)
EXAMPLE = json.dumps({"evaluation": "…", "rating": 2, "feedback": "…"}, ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class Rating:
    """A rating from 1 (terrible) to 4 (excellent), why, and what to change; ``feedback`` may be empty."""

    rating: int
    evaluation: str
    feedback: str


def read_rating(text: str) -> Rating:
    """Read and validate a reply; one bad field makes the whole of it unusable.

    Strictly: true, "4" and 4.0 are no ratings; a field that is missing or was not asked for is an error.

    Raises:
        UnusableReply: With the reason, like "rating 5 is above 4".
    """
    content = read_json_object(text).content
    require_exactly(content, FIELDS)
    try:
        rating = checked_quality(content["rating"])
    except ValueError as error:
        raise UnusableReply(str(error).replace("quality", "rating", 1)) from None
    if rating is None:
        raise UnusableReply("rating is null")
    return Rating(rating, _text(content, "evaluation"), _text(content, "feedback"))


def _text(content: dict[str, Any], name: str) -> str:
    value = content[name]
    if not isinstance(value, str):
        raise UnusableReply(f"{name} must be a text, not {value!r}")
    return value


KIND = "rating"
_TEMPERATURE = 0


@dataclass(frozen=True, slots=True)
class Rated:
    """What one request to the rating judge gave: ``rating`` where the record's status is ok, else None."""

    rating: Rating | None
    record: StepRecord

    @property
    def status(self) -> Status:
        """What became of the request."""
        return self.record.status

    @property
    def verdict(self) -> Verdict:
        """The same as a verdict: quality is the rating, reasoning the evaluation; the feedback has no place in one."""
        if self.rating is None:
            return Verdict.of(self.record)
        return Verdict.of(self.record, quality=self.rating.rating, reasoning=self.rating.evaluation)


class RatingJudge(ModelJudge):
    """Asks a chat model to rate an answer from 1 to 4 and to say what to change.

    Source: Spring AI, "LLM-as-a-Judge with recursive advisors" (2025), after an idea from the Hugging Face cookbook.
    """

    def __init__(
        self,
        endpoint: ModelEndpoint,
        *,
        name: str = "refine",
        max_output: int = DEFAULT_MAX_OUTPUT,
    ) -> None:
        """Make a judge of a chat model.

        Args:
            endpoint: Who is asked; closed with the judge.
            name: What people call the judge.
            max_output: Tokens a reply may have.
        """
        super().__init__(endpoint)
        self._max_output = max_output
        self.version = JudgeVersion(
            name=name,
            kind=KIND,
            model=endpoint.model,
            params={"temperature": _TEMPERATURE, "max_output": max_output},
            prompt=load_prompt("refine").text,
            scale="quality 1-4",
        )

    async def rate(self, item: JudgeInput) -> Rated:
        """Ask for the rating of ``item``, with one repair where the reply cannot be used.

        Raises:
            EndpointRefused: No request can succeed until the key, the address or the model's name is mended.
        """
        request = ChatRequest(
            messages=rating_messages(item),
            schema=SCHEMA,
            schema_name="rating",
            max_output=self._max_output,
            parameters={"temperature": _TEMPERATURE},
            subject=item.external_id,
        )
        asked = await ask(self._endpoint.chat, request, read_rating, repair=_repair)
        return Rated(asked.value, asked.record(self._endpoint.price))

    async def judge(self, item: JudgeInput) -> Verdict:
        """Return the rating of ``item`` as a verdict, its quality.

        Raises:
            EndpointRefused: No request can succeed until the key, the address or the model's name is mended.
        """
        return (await self.rate(item)).verdict


def rating_messages(item: JudgeInput) -> list[Message]:
    """Return the system and the user message that ask for a rating of ``item``, its texts fenced."""
    token = fence_token((item.query, item.answer, *(item.passages or ())))
    passages = [
        fenced(f"PASSAGE {number}", passage, token) for number, passage in enumerate(item.passages or (), start=1)
    ]
    material = "\n\n".join([fenced("REQUEST", item.query, token), *passages, fenced("ANSWER", item.answer, token)])
    sections = load_prompt("refine").sections
    instructions = (
        sections["Role"],
        sections["Rating"],
        fill(sections["Reply"], fields=", ".join(FIELDS), example=EXAMPLE),
    )
    return [
        {"role": "system", "content": "\n\n".join(instructions)},
        {"role": "user", "content": fill(sections["Task"], fence=token, material=material)},
    ]


def _repair(error: str) -> str:
    return fill(load_prompt("refine").sections["Repair"], error=error)


def make_rating_judge(options: JudgeOptions) -> RatingJudge:
    """Make the judge of ``options``: over its endpoint, or from its recorded replies.

    Raises:
        BadInput: No model, no key for OpenAI's own endpoint, an address that is none, unreadable replies.
    """
    endpoint = options.endpoint("the rating judge")
    return RatingJudge(
        endpoint,
        name=options.name or "refine",
        max_output=options.max_output,
    )
