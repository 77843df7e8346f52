"""The judge that rates an answer from 1 to 4 and gives feedback, for refining."""

import json
from dataclasses import dataclass
from functools import cache, partial

from judgeboard.domain import JudgeInput, StepRecord, Verdict
from judgeboard.errors import BadInput
from judgeboard.judges.judge import JudgeOptions, ModelJudge
from judgeboard.judges.prompt import Prompt, added_sections, chat, fill, item_task, load_prompt
from judgeboard.judges.replies import NOTE, QUALITY, Form, number_field
from judgeboard.llm.asking import Reading, Replied
from judgeboard.llm.chat import Message
from judgeboard.llm.endpoint import ModelEndpoint

KIND = "rating"
RATING_WORD = "Total rating"
"""The words before a rating in free text, in the prompt of the Hugging Face cookbook."""
_EXAMPLE = json.dumps({"evaluation": "…", "rating": 2, "feedback": "…"}, ensure_ascii=False)


@cache
def rating_form(word: str | None = None) -> Form:
    """Return the form of a rating. With a ``word``, the model is asked for free text that ends in "WORD: 3"."""
    names = ("total rating", "score", "result", "quality")
    rating = number_field(1, 4, QUALITY.schema, names=names, word=word or RATING_WORD)
    # Reasons before the rating: a model that gives its reasons first rates better.
    in_text = word and f'free text that ends in "{word}: 1-4"'
    return Form({"evaluation": NOTE, "rating": rating, "feedback": NOTE}, in_text=in_text)


@dataclass(frozen=True, slots=True)
class Rating:
    """A rating from 1 (terrible) to 4 (excellent), the reason, and what to change; ``feedback`` may be empty."""

    rating: int
    evaluation: str
    feedback: str


def read_rating(text: str, word: str | None = None) -> Reading[Rating]:
    """Return the rating of a reply (`rating_form`). Free text is both the evaluation and the feedback.

    Raises UnusableReply with the reason, also if the reply gives different ratings.
    """
    reading = rating_form(word).parse(text)
    values = reading.value.values
    rating = Rating(values["rating"], values["evaluation"] or "", values["feedback"] or "")
    return Reading(rating, reading.notes)


def rating_verdict(rating: Rating | None, record: StepRecord) -> Verdict:
    """Return a rating as a verdict: quality is the rating, reasoning the evaluation."""
    if rating is None:
        return Verdict.of(record)
    return Verdict.of(record, quality=rating.rating, reasoning=rating.evaluation)


class RatingJudge(ModelJudge):
    """Rates an answer from 1 to 4 and says what to change.

    Source: Spring AI, "LLM-as-a-Judge with recursive advisors" (2025), after an idea from the
    Hugging Face cookbook. The judge never sees a reference answer, because the feedback would
    reveal that answer to the generator.
    """

    prompt_name = "refine"
    kind = KIND
    scale = "quality 1-4"

    def __init__(
        self,
        endpoint: ModelEndpoint,
        options: JudgeOptions | None = None,
    ) -> None:
        """Make a judge of a chat model. With a ``rating_word``, the judge asks for free text that ends in "WORD: 3"."""
        rating_word = None if options is None else options.rating_word
        if rating_word is not None and (
            not rating_word.strip() or len(rating_word) > 60 or not rating_word.isprintable()
        ):
            raise BadInput(
                f"--rating-word must have 1 to 60 printable characters, not {rating_word!r}"
            )
        self.rating_word = rating_word
        params = {} if rating_word is None else {"rating_word": rating_word}
        super().__init__(endpoint, options, params=params)

    async def rate(self, item: JudgeInput) -> Replied[Rating]:
        """Ask for the rating of ``item``."""
        messages, schema = (
            rating_messages(item, self._prompt, self.rating_word),
            rating_form().schema,
        )
        request = self._request(
            messages, item.external_id, None if self.rating_word else schema, "rating"
        )
        return await self._ask(request, partial(read_rating, word=self.rating_word), item)

    async def judge(self, item: JudgeInput) -> Verdict:
        """Return the rating of ``item`` as a verdict."""
        rated = await self.rate(item)
        return rating_verdict(rated.value, rated.record)


def rating_messages(
    item: JudgeInput, prompt: Prompt | None = None, rating_word: str | None = None
) -> list[Message]:
    """Return the system and the user message that ask for a rating of ``item``, with the texts in fences."""
    prompt = prompt or load_prompt(RatingJudge.prompt_name)
    sections = prompt.sections
    form = (
        {"fields": ", ".join(rating_form().fields), "example": _EXAMPLE}
        if rating_word is None
        else {"word": rating_word}
    )
    reply = fill(sections["Reply"], **form)
    return chat(
        (sections["Role"], sections["Rating"], *added_sections(prompt, item), reply),
        item_task(prompt, item, "REQUEST"),
    )
