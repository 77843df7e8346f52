"""The judge that scores the groundedness and quality of an answer."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache, partial
from typing import Annotated, ClassVar

from pydantic import ConfigDict

from judgeboard.domain import Claim, ClaimStatus, JudgeInput, Verdict
from judgeboard.formats.yaml_file import read_yaml, unless_null
from judgeboard.judges.expected_scores import expected_scores
from judgeboard.judges.judge import DEFAULT_DOMAIN, JudgeOptions, ModelJudge
from judgeboard.judges.prompt import (
    Dialogue,
    Example,
    Prompt,
    added_sections,
    chat,
    check_examples,
    example_params,
    examples_part,
    fill,
    item_task,
    load_prompt,
)
from judgeboard.judges.replies import (
    PASSAGE_NUMBER,
    QUALITY,
    QUOTE,
    REASONING,
    TEXT,
    Form,
    choice_field,
    list_field,
    number_field,
)
from judgeboard.llm.chat import Message
from judgeboard.llm.endpoint import ModelEndpoint
from judgeboard.settings.fields import CLOSED, Text

GROUNDEDNESS = number_field(0, 1, {"description": "from 0.0 to 1.0", "type": "number"}, share=True)


class VerdictForm(Form):
    """The form of a verdict. Reasons come before scores. The schema has no ranges, which some servers refuse."""

    def __init__(self, *, groundedness: bool = True, claims: bool = False) -> None:
        status = choice_field({each: each.value for each in ClaimStatus})
        claim = {"text": TEXT, "status": status, "answer_quote": QUOTE}
        claim |= {"passage": PASSAGE_NUMBER, "passage_quote": QUOTE}
        fields = {"claims": list_field(claim)} if claims else {}
        fields["reasoning"] = REASONING
        if groundedness:
            fields["groundedness"] = GROUNDEDNESS
        super().__init__({**fields, "quality": QUALITY})

    @property
    def example(self) -> str:
        """A verdict of this form as JSON, for models that do not take a schema."""
        claim = {
            "text": "the wall is 30 m high",
            "status": ClaimStatus.SUPPORTED,
            "answer_quote": "30 m",
            "passage": 1,
            "passage_quote": "a wall of 30 m",
        }
        values = {"claims": [claim], "reasoning": "…", "groundedness": 0.65, "quality": 3}
        return json.dumps({name: values[name] for name in self.fields}, ensure_ascii=False)


verdict_form = cache(VerdictForm)


class RagJudge(ModelJudge):
    """Judges how far the passages support an answer and how well the answer fits the question.

    Source: "Self-Reflection + LLM-as-Judge: Having AI Evaluate Its Own Answers" (2026). If no
    passages were logged, the judge gives quality only.
    """

    prompt_name = kind = "rag"

    def __init__(
        self,
        endpoint: ModelEndpoint,
        options: JudgeOptions | None = None,
    ) -> None:
        """Make a judge of a chat model. The examples of the judge file come before the examples of the options."""
        options = options or JudgeOptions()
        file = JudgeFile()
        if options.judge_file is not None:
            content = read_yaml(options.judge_file)
            file = content.read(JudgeFile)
            check_examples(content, file.examples, RAG_SCORES)
        domain = options.domain or file.domain or DEFAULT_DOMAIN
        examples = (*file.examples, *options.examples)
        params = {"domain": domain, "claims": options.claims, **example_params(examples)}
        if options.logprobs:
            params["logprobs"] = True
        super().__init__(endpoint, options, params=params)
        self._messages = partial(
            rag_messages,
            domain=domain,
            examples=examples,
            prompt=self._prompt,
            dialogue=options.dialogue,
        )

    async def judge(self, item: JudgeInput) -> Verdict:
        """Return the verdict on ``item``."""
        form = verdict_form(groundedness=item.passages is not None, claims=self.options.claims)
        request = self._request(
            self._messages(item, form=form),
            item.external_id,
            form.schema,
            "verdict",
            logprobs=self.options.logprobs,
        )
        reply = await self._ask(request, form.parse, item)
        if reply.value is None:
            return Verdict.of(reply.record)
        values = reply.value.values
        if self.options.claims:
            values["claims"] = tuple(
                located(Claim(**claim), item.answer, item.passages) for claim in values["claims"]
            )
        quality = [("quality", values["quality"], r'"quality"\s*:\s*')]
        return Verdict.of(
            reply.record, **values, scores=expected_scores(reply.tokens, quality, low=1, high=4)
        )


def rag_messages(
    item: JudgeInput,
    *,
    domain: str,
    form: VerdictForm,
    examples: tuple[Example, ...] = (),
    prompt: Prompt | None = None,
    dialogue: Dialogue = "last",
) -> list[Message]:
    """Return the system and the user message that ask for a verdict on ``item``, with the texts in fences."""
    prompt = prompt or load_prompt(RagJudge.prompt_name)
    sections = added_sections(prompt, item, dialogue)
    instructions = [_instructions(prompt, domain, form, item.passages == (), sections)]
    if examples:
        instructions.append(examples_part(examples, score_names=tuple(form.fields)))
    return chat(instructions, item_task(prompt, item))


@lru_cache(maxsize=32)
def _instructions(
    prompt: Prompt, domain: str, form: VerdictForm, nothing_retrieved: bool, texts: tuple[str, ...]
) -> str:
    sections = prompt.sections
    parts = [
        fill(sections["Role"], domain=domain),
        sections["Groundedness"]
        if "groundedness" in form.fields
        else sections["No passages logged"],
        *([sections["Nothing retrieved"]] if nothing_retrieved else []),
        sections["Quality"],
        *([sections["Claims"]] if "claims" in form.fields else []),
        *texts,
        fill(sections["Reply"], fields=", ".join(form.fields), example=form.example),
    ]
    return "\n\n".join(parts)


def _span(quote: str | None, text: str | None) -> tuple[int | None, int | None]:
    start = text.find(quote) if quote and text is not None else -1
    return (None, None) if start < 0 else (start, start + len(quote or ""))


def located(claim: Claim, answer: str, passages: Sequence[str] | None) -> Claim:
    """Return ``claim`` with the character offsets of the quotes; None if a text does not contain the quote.

    The first occurrence is used. Only the passage with the number that the judge gave (from 1) is
    searched.
    """
    number = claim.passage
    passage = (
        passages[number - 1]
        if passages and number is not None and 1 <= number <= len(passages)
        else None
    )
    answer_start, answer_end = _span(claim.answer_quote, answer)
    start, end = _span(claim.passage_quote, passage)
    return replace(
        claim,
        answer_start=answer_start,
        answer_end=answer_end,
        passage_start=start,
        passage_end=end,
    )


RAG_SCORES = {"groundedness": (0.0, 1.0, False), "quality": (1.0, 4.0, True)}
"""For each score of an example: the lowest value, the highest value, and whether the score is an integer."""


@dataclass(frozen=True, slots=True)
class JudgeFile:
    """The content of a judge file."""

    __pydantic_config__: ClassVar[ConfigDict] = CLOSED

    domain: Text | None = None
    examples: Annotated[tuple[Example, ...], unless_null(())] = ()
