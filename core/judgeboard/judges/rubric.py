"""The rubric judge: an answer scored 1 to 5 on each dimension of a rubric, by a chat model."""

import json
import re
from dataclasses import replace
from pathlib import Path

from judgeboard.domain import DimensionScore, JudgeInput, JudgeVersion, Verdict
from judgeboard.judges.examples import example_params, examples_part, examples_prompt
from judgeboard.judges.expected_score import expected_scores
from judgeboard.judges.fences import fence_token, fenced
from judgeboard.judges.model_judge import ModelJudge
from judgeboard.judges.options import DEFAULT_DOMAIN, DEFAULT_MAX_OUTPUT, JudgeOptions
from judgeboard.judges.prompt_file import fill, load_prompt
from judgeboard.judges.rubric_file import LEVELS, OVERALL, SCALE, Dimension, Rubric, default_rubric, read_rubric
from judgeboard.judges.rubric_form import ScoredRubric, parse_scores, rubric_reply_example, rubric_schema
from judgeboard.llm.asking import Asked, ask
from judgeboard.llm.chat import ChatRequest
from judgeboard.llm.endpoint import ModelEndpoint

_TEMPERATURE = 0


class RubricJudge(ModelJudge):
    """Asks a chat model for an integer and a sentence on each dimension of a rubric.

    Source: "LLM-as-Judge", AI Engineering Patterns (2026). A verdict is in ``Verdict.scores``: one entry a dimension
    and one named "overall", their weighted mean; groundedness and quality stay None.
    """

    def __init__(
        self,
        endpoint: ModelEndpoint,
        rubric: Rubric,
        *,
        name: str | None = None,
        domain: str | None = None,
        max_output: int = DEFAULT_MAX_OUTPUT,
        logprobs: bool = False,
    ) -> None:
        """Make a judge of a model and a rubric.

        Args:
            endpoint: Who is asked; closed with the judge.
            rubric: What is scored; all of it but its name is part of the version.
            name: What people call the judge; the rubric's name by default.
            domain: What the prompt says the judge is an evaluator of; the rubric's own by default.
            max_output: Tokens a reply may have.
            logprobs: Also keep expected scores, where the endpoint gives token probabilities.
        """
        self._logprobs = logprobs
        self.rubric = rubric
        super().__init__(endpoint)
        self._max_output = max_output
        field = domain or rubric.domain or DEFAULT_DOMAIN
        self._instructions = _instructions(rubric, field)
        self.version = JudgeVersion(
            name=name or rubric.name,
            kind="rubric",
            model=endpoint.model,
            params={
                "temperature": _TEMPERATURE,
                "max_output": max_output,
                "domain": field,
                "dimensions": [dimension.as_json() for dimension in rubric.dimensions],
                **example_params(rubric.examples),
                **({"logprobs": True} if logprobs else {}),
            },
            prompt=load_prompt("rubric").text + examples_prompt(rubric.examples),
            scale=SCALE,
        )

    async def judge(self, item: JudgeInput) -> Verdict:
        """Ask for the scores of ``item``, with one repair where the reply cannot be used.

        Raises:
            EndpointRefused: No row can succeed until the key, the address or the model's name is mended.
        """
        request = ChatRequest(
            messages=[{"role": "system", "content": self._instructions}, {"role": "user", "content": _task(item)}],
            schema=rubric_schema(self.rubric),
            schema_name="scores",
            max_output=self._max_output,
            parameters={"temperature": _TEMPERATURE},
            subject=item.external_id,
            logprobs=self._logprobs,
        )
        asked = await ask(self._endpoint.chat, request, lambda text: parse_scores(text, self.rubric), repair=_repair)
        return _verdict(asked, self._endpoint)


def make_rubric_judge(options: JudgeOptions) -> RubricJudge:
    """Make the judge of ``options``; without a rubric the default one is used.

    Raises:
        BadInput: The rubric file cannot be used, no model, no key for OpenAI's own endpoint, an address that is none.
    """
    given = options.rubric
    rubric = read_rubric(given) if isinstance(given, Path) else given or default_rubric()
    return RubricJudge(
        options.endpoint("the rubric judge"),
        replace(rubric, examples=(*rubric.examples, *options.examples)),
        name=options.name,
        domain=None if options.domain == DEFAULT_DOMAIN else options.domain,
        max_output=options.max_output,
        logprobs=options.logprobs,
    )


def _instructions(rubric: Rubric, domain: str) -> str:
    sections = load_prompt("rubric").sections
    fields = ", ".join(f'"{dimension.name}"' for dimension in rubric.dimensions)
    return "\n\n".join(
        [
            fill(sections["Role"], domain=domain),
            sections["Scale"],
            *(_words(dimension) for dimension in rubric.dimensions),
            sections["Reference"],
            sections["Passages"],
            *([examples_part(rubric.examples)] if rubric.examples else []),
            fill(sections["Reply"], fields=fields, example=rubric_reply_example(rubric)),
        ]
    )


def _words(dimension: Dimension) -> str:
    head = dimension.name if dimension.description is None else f"{dimension.name}: {dimension.description}"
    levels = zip(reversed(LEVELS), reversed(dimension.levels), strict=True)
    return "\n".join([f"## {head}", *(f"- {level}: {words}" for level, words in levels)])


def _task(item: JudgeInput) -> str:
    reference = [] if item.reference is None else [item.reference]
    passages = item.passages or ()
    token = fence_token((item.query, item.answer, *reference, *passages))
    material = [
        fenced("QUESTION", item.query, token),
        *(fenced(f"PASSAGE {number}", passage, token) for number, passage in enumerate(passages, start=1)),
        *(fenced("REFERENCE ANSWER", text, token) for text in reference),
        fenced("ANSWER", item.answer, token),
    ]
    return fill(load_prompt("rubric").sections["Task"], fence=token, material="\n\n".join(material))


def _repair(error: str) -> str:
    return fill(load_prompt("rubric").sections["Repair"], error=error)


def _verdict(asked: Asked[ScoredRubric], endpoint: ModelEndpoint) -> Verdict:
    scored = asked.value
    attempts = asked.attempts
    if scored is not None and scored.replaced:
        *earlier, last = attempts
        attempts = (*earlier, replace(last, detail="characters that cannot be stored became U+FFFD"))
    return Verdict.of(
        replace(asked, attempts=attempts).record(endpoint.price),
        reasoning=scored.note if scored else None,
        scores=(*scored.scores, *_expected(asked, scored)) if scored else (),
    )


def _expected(asked: Asked[ScoredRubric], scored: ScoredRubric) -> tuple[DimensionScore, ...]:
    """The expected score of each dimension that has an integer, by the digit behind its name in the reply."""
    digits = [
        (score.dimension, int(score.value), rf'{re.escape(json.dumps(score.dimension))}\s*:\s*{{.*?"score"\s*:\s*')
        for score in scored.scores
        if score.value is not None and score.dimension != OVERALL
    ]
    return expected_scores(asked.tokens, digits, low=min(LEVELS), high=max(LEVELS))
