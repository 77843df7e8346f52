"""The judge that rates an answer from 1 to 4 and gives feedback, for refining."""

import json
from dataclasses import dataclass

from judgeboard.domain import JudgeInput, StepRecord, Verdict
from judgeboard.judges.judge import ModelJudge
from judgeboard.judges.prompt import Prompt, added_sections, chat, fill, item_task, load_prompt
from judgeboard.judges.reply_forms import RATING, TEXT, Form
from judgeboard.llm.asking import Replied
from judgeboard.llm.chat import Message

KIND = "rating"
# Reasons before the rating: a model that gives its reasons first rates better.
FORM = Form({"evaluation": TEXT, "rating": RATING, "feedback": TEXT})
_EXAMPLE = json.dumps({"evaluation": "…", "rating": 2, "feedback": "…"}, ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class Rating:
    """A rating from 1 (terrible) to 4 (excellent), its reason, and what to change; ``feedback`` may be empty."""

    rating: int
    evaluation: str
    feedback: str


def read_rating(text: str) -> Rating:
    """Return the rating of a reply; raises UnusableReply with the reason, like "rating 5 is above 4"."""
    return Rating(**FORM.parse(text).content)


def rating_verdict(rating: Rating | None, record: StepRecord) -> Verdict:
    """Return a rating as a verdict: quality is the rating, reasoning the evaluation."""
    if rating is None:
        return Verdict.of(record)
    return Verdict.of(record, quality=rating.rating, reasoning=rating.evaluation)


class RatingJudge(ModelJudge):
    """Rates an answer from 1 to 4 and says what to change.

    Source: Spring AI, "LLM-as-a-Judge with recursive advisors" (2025), after an idea from the Hugging Face cookbook.
    It never sees a reference answer, because its feedback would reveal that answer to the generator.
    """

    prompt_name = "refine"
    kind = KIND
    scale = "quality 1-4"

    async def rate(self, item: JudgeInput) -> Replied[Rating]:
        """Ask for the rating of ``item``."""
        request = self._request(rating_messages(item, self._prompt), item.external_id, FORM.schema, "rating")
        return await self._ask(request, read_rating)

    async def judge(self, item: JudgeInput) -> Verdict:
        """Return the rating of ``item`` as a verdict."""
        rated = await self.rate(item)
        return rating_verdict(rated.value, rated.record)


def rating_messages(item: JudgeInput, prompt: Prompt | None = None) -> list[Message]:
    """Return the system and the user message that ask for a rating of ``item``, with its texts in fences."""
    prompt = prompt or load_prompt(RatingJudge.prompt_name)
    sections = prompt.sections
    reply = fill(sections["Reply"], fields=", ".join(FORM.fields), example=_EXAMPLE)
    return chat(
        (sections["Role"], sections["Rating"], *added_sections(prompt, item), reply), item_task(prompt, item, "REQUEST")
    )
